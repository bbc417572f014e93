// Every element of every weight of every rank lies where the whole weight has it.
#include "models/glm53/TinyCheckpoint.h"

#include <gmock/gmock.h>

namespace glm::glm53 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Form = WeightInfo::Form;
using Split = WeightInfo::Split;

/// The tiny model with other sizes: "moe_intermediate_size" and so on.
Config configWith(std::map<std::string, int64_t> sizes, int64_t group = 32) {
  llvm::json::Object config =
      *llvm::cantFail(llvm::json::parse(tinyConfigText)).getAsObject();
  (*config.getObject("quantization_config"))["group_size"] = group;
  llvm::json::Object &text = *config.getObject("text_config");
  for (auto &[name, size] : sizes)
    (name == "num_heads" ? *text.getObject("linear_attn_config") : text)[name] =
        size;
  return llvm::cantFail(Config::parse(jsonText(config), "tiny"));
}

/// Bytes of the pieces of one matrix [n, k] of `info`'s form: codes, scales.
std::vector<uint64_t> pieceBytes(const WeightInfo &info, int64_t n, int64_t k) {
  const uint64_t groups = info.group ? (k + info.group - 1) / info.group : 0;
  if (!info.isCoded())
    return {uint64_t(n * k) * (info.dtype == WeightInfo::DType::F32 ? 4 : 2)};
  if (info.form == Form::DenseInt8)
    return {uint64_t(n * k), groups * n * 2};
  return {uint64_t(k + 7) / 8 * n * 4, groups * n * 2};
}

/// Gives all weights places in one file, one piece after the other.
void place(Weights &weights) {
  uint64_t at = 8;
  for (WeightInfo &info : weights.all()) {
    const int64_t n = info.isExperts() ? info.shape[1] : info.shape[0];
    const int64_t k = info.shape.size() > 1 ? info.shape.back() : 1;
    for (int64_t e = 0; e < (info.isExperts() ? info.shape[0] : 1); ++e)
      for (uint64_t bytes : pieceBytes(info, n, k)) {
        info.pieces.push_back({0, at, bytes});
        at += bytes;
      }
  }
}

/// Where byte `b` of a rank's piece lies in the file.
uint64_t inFile(const WeightInfo &info, size_t piece, uint64_t b) {
  const WeightInfo::Piece &p = info.pieces[piece];
  uint64_t at = p.offset + b;
  if (!info.cuts.empty()) {
    const WeightInfo::Cut &cut = info.cuts[piece % info.cuts.size()];
    at = p.offset + b / cut.rowBytes * cut.stride + b % cut.rowBytes;
  }
  EXPECT_LT(at, p.offset + p.size) << info.name;
  return at;
}

/// The parts of element [n, k] of a matrix [rows, columns]: (piece, byte).
std::vector<std::pair<size_t, uint64_t>> elementParts(const WeightInfo &info,
                                                      int64_t rows,
                                                      int64_t columns,
                                                      int64_t n, int64_t k) {
  if (!info.isCoded()) {
    uint64_t size = info.dtype == WeightInfo::DType::F32 ? 4 : 2;
    return {{0, (n * columns + k) * size}};
  }
  const int64_t groups = (columns + info.group - 1) / info.group;
  if (info.form == Form::DenseInt8)
    return {{0, n * columns + k}, {1, (n * groups + k / info.group) * 2}};
  return {{0, (k / 8 * rows + n) * 4}, {1, (k / info.group * rows + n) * 2}};
}

/// Compares all of `local`, what each of `ranks` has, with the whole weight.
void expectSameElements(const WeightInfo &whole, const WeightInfo &local,
                        int64_t ranks) {
  SCOPED_TRACE(whole.name);
  const bool stack = whole.isExperts(), flat = whole.shape.size() == 1;
  const int64_t N = whole.shape[stack], K = flat ? 1 : whole.shape.back();
  const int64_t n = local.shape[stack], k = flat ? 1 : local.shape.back();
  const bool rows = whole.split == Split::Rows;
  const bool divided = local.shape != whole.shape;
  EXPECT_EQ(n, divided && rows ? N / ranks : N);
  EXPECT_EQ(k, divided && !rows ? K / ranks : K);
  const size_t parts = whole.isCoded() ? 2 : 1, own = local.pieces.size();
  EXPECT_EQ(own, whole.pieces.size() * (divided ? ranks : 1));
  for (int64_t r = 0; r < ranks; ++r)
    for (int64_t e = 0; e < (stack ? whole.shape[0] : 1); ++e)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < k; ++j) {
          auto here = elementParts(local, n, k, i, j);
          auto there =
              elementParts(whole, N, K, i + (divided && rows ? r * n : 0),
                           j + (divided && !rows ? r * k : 0));
          for (size_t p = 0; p < here.size(); ++p) {
            size_t first = divided ? r * whole.pieces.size() : 0;
            ASSERT_EQ(inFile(local, first + e * parts + here[p].first,
                             here[p].second),
                      whole.pieces[e * parts + there[p].first].offset +
                          there[p].second)
                << "rank " << r << " expert " << e << " [" << i << ", " << j
                << "] part " << p;
          }
          // Four bits of a word: the same ones.
          if (whole.isCoded() && whole.form != Form::DenseInt8)
            ASSERT_EQ(j % 8, (j + (divided && !rows ? r * k : 0)) % 8);
        }
}

void expectShards(const Config &config, WeightOptions options, int64_t ranks) {
  Weights whole = Weights::declare(config, options);
  place(whole);
  Weights local = accepted(whole.shard(ranks));
  ASSERT_EQ(local.all().size(), whole.all().size());
  size_t divided = 0;
  for (const WeightInfo &info : whole.all()) {
    const WeightInfo &mine = *local.find(info.name);
    expectSameElements(info, mine, ranks);
    divided += mine.shape != info.shape;
  }
  EXPECT_GT(divided, 20u);
}

TEST(Shards, StoredAsReleased) {
  expectShards(configWith({{"moe_intermediate_size", 64}}), {}, 2);
}

TEST(Shards, ARankInsideAGroupHasItsScale) {
  Config config = configWith({{"moe_intermediate_size", 64}}, 64);
  expectShards(config, {}, 2);
  Weights local = accepted(Weights::declare(config).shard(2));
  EXPECT_EQ(local.find("layers.1.mlp.experts.down_proj")->group, 32);
  EXPECT_EQ(local.find("layers.1.mlp.experts.gate_proj")->group, 64);
}

TEST(Shards, QuantisedHere) {
  Config config = configWith({{"moe_intermediate_size", 512},
                              {"intermediate_size", 256},
                              {"num_heads", 32},
                              {"num_attention_heads", 32},
                              {"v_head_dim", 16}});
  for (DenseForm form : {DenseForm::Int8, DenseForm::Int4})
    expectShards(config, {.dense = form, .denseHead = true}, 2);
}

TEST(Shards, ExpertsMayBeDividedFirst) {
  Weights whole = Weights::declare(configWith({{"moe_intermediate_size", 64}}));
  place(whole);
  Weights once = accepted(whole.shard(2));
  Weights experts = accepted(whole.shardExperts(2));
  Weights twice = accepted(experts.shard(2));
  size_t stacks = 0;
  for (const auto &[all, part, want, got] :
       llvm::zip(whole.all(), experts.all(), once.all(), twice.all())) {
    SCOPED_TRACE(all.name);
    stacks += all.isExperts();
    EXPECT_EQ(part.shape, all.isExperts() ? want.shape : all.shape);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.group, want.group);
    EXPECT_EQ(got.cuts.size(), want.cuts.size());
    ASSERT_EQ(got.pieces.size(), want.pieces.size());
    for (auto [a, b] : llvm::zip(got.pieces, want.pieces)) {
      EXPECT_EQ(a.offset, b.offset);
      EXPECT_EQ(a.size, b.size);
    }
  }
  EXPECT_GT(stacks, 0u);
}

TEST(Shards, OneRankHasEverything) {
  Weights whole = Weights::declare(configWith({}));
  place(whole);
  Weights one = accepted(whole.shard(1));
  for (const WeightInfo &info : whole.all()) {
    EXPECT_EQ(one.find(info.name)->shape, info.shape);
    EXPECT_TRUE(one.find(info.name)->cuts.empty());
  }
}

TEST(Shards, AHeadThatDoesNotDivideStaysWhole) {
  Weights local =
      accepted(Weights::declare(configWith({{"vocab_size", 63}})).shard(2));
  EXPECT_EQ(local.find("lm_head")->shape[0], 63);
}

TEST(Shards, WhatDoesNotDivideIsRefused) {
  auto configFault = [](const Config &config, int64_t ranks) {
    auto local = config.shard(ranks);
    return local ? "accepted" : llvm::toString(local.takeError());
  };
  Config config = configWith({});
  EXPECT_EQ(configFault(config, 2), "accepted");
  EXPECT_EQ(configFault(config, 4),
            "config.json: linear_attn_config.num_heads = 2 does not divide "
            "among 4 ranks");
  EXPECT_THAT(configFault(configWith({{"num_attention_heads", 3}}), 2),
              HasSubstr("num_attention_heads = 3"));
  EXPECT_THAT(configFault(configWith({{"intermediate_size", 39}}), 2),
              HasSubstr("intermediate_size = 39"));
  EXPECT_THAT(configFault(configWith({{"moe_intermediate_size", 15}}), 2),
              HasSubstr("moe_intermediate_size = 15"));
  // 48 columns in groups of 32; words of 8 codes.
  EXPECT_EQ(faultOf(Weights::declare(configWith({{"moe_intermediate_size", 96}}))
                        .shard(2)),
            "layers.1.mlp.experts.down_proj: 96 columns over 2 ranks are 48 "
            "each, which are no whole groups of 32");
  EXPECT_THAT(
      faultOf(Weights::declare(configWith({{"moe_intermediate_size", 8}}))
                  .shard(2)),
      AllOf(HasSubstr("are 4 each"), HasSubstr("take 8 at a time")));
}

} // namespace
} // namespace glm::glm53
