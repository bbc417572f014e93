#include "models/glm53/TinyCheckpoint.h"
#include "models/glm53/WeightNames.h"
#include "models/glm53/Weights.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace llvm;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace glm::glm53 {
namespace {

using Form = WeightInfo::Form;
using DType = WeightInfo::DType;

constexpr char mtpIgnored[] = "tensors of the MTP layer";
const std::string trunk = "model.language_model.";

/// Everything that a plan takes over, as text.
std::string dump(const Weights &weights) {
  std::string text;
  raw_string_ostream out(text);
  for (const WeightInfo &info : weights.all()) {
    out << info.name << ' ' << int(info.form) << ' ' << int(info.dtype) << ' '
        << ShapeString(info.shape) << ' ' << info.group;
    for (const WeightInfo::Piece &piece : info.pieces)
      out << ' ' << piece.file << ':' << piece.size;
    out << '\n';
  }
  return text;
}

TEST(WeightNames, WrappersAndSpellings) {
  for (const char *stored :
       {"layers.3.self_attn.q_proj.weight",
        "model.layers.3.self_attn.q_proj.weight",
        "model.language_model.layers.3.self_attn.q_proj.weight",
        "language_model.model.layers.3.self_attn.q_proj.weight",
        "language_model.layers.3.self_attn.q_proj.weight"})
    EXPECT_EQ(canonicalName(stored), "layers.3.self_attn.q_proj");
  EXPECT_EQ(canonicalName("language_model.lm_head.weight"), "lm_head");
  EXPECT_EQ(canonicalName("model.layers.1.attn_hc.fn"), "layers.1.hc_attn_fn");
  EXPECT_EQ(canonicalName("model.layers.1.ffn_hc.base"),
            "layers.1.hc_ffn_base");
  EXPECT_EQ(canonicalName("layers.1.self_attn.forget_gate.A_log"),
            "layers.1.self_attn.A_log");
  EXPECT_EQ(canonicalName("layers.1.mlp.shared_expert.up_proj.weight"),
            "layers.1.mlp.shared_experts.up_proj");
  EXPECT_EQ(canonicalName("layers.3.self_attn.indexer.k_norm.bias"),
            "layers.3.self_attn.indexer.k_norm.bias");
  EXPECT_EQ(canonicalName("x.up_proj.weight_scale_inv"),
            "x.up_proj.weight_scale_inv");
  EXPECT_EQ(layerOf("layers.45.enorm"), 45);
  EXPECT_EQ(layerOf("layers.x.enorm"), std::nullopt);
  EXPECT_EQ(layerOf("norm"), std::nullopt);
  EXPECT_TRUE(isVision(canonicalName("model.visual.downsample.bias")));
}

// The official tensor and byte counts of the int4 release, less what is not
// part of the text model: the vision tower, and the zero points.
TEST(Weights, DeclaresTheReleasedModel) {
  auto buffer = cantFail(errorOrToExpected(MemoryBuffer::getFile(
      GLM_SOURCE_DIR "/models/glm53/glm53-flash-config.json")));
  Config config = cantFail(Config::parse(buffer->getBuffer(), "released"));
  Weights weights = Weights::declare(config, {.mtp = true});
  uint64_t bytes = 0;
  size_t dense = 0, packed = 0;
  for (const WeightInfo &info : weights.all()) {
    bytes += info.bytes();
    (info.form == Form::Dense ? dense : packed) += 1;
    EXPECT_THAT(info.pieces, IsEmpty());
  }
  EXPECT_EQ(dense, 1271u);
  EXPECT_EQ(packed, 43u * 3);
  EXPECT_EQ(bytes, 181'253'290'872u - 1'127'254'016u - 1'217'396'736u);

  const WeightInfo *experts = weights.find("layers.3.mlp.experts.down_proj");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->form, Form::ExpertsGptq4);
  EXPECT_EQ(experts->group, 128);
  EXPECT_THAT(experts->shape, ElementsAre(288, 4096, 2048));
  EXPECT_THAT(weights.find("layers.0.self_attn.q_conv1d")->shape,
              ElementsAre(8192, 4));
  EXPECT_EQ(weights.find("layers.0.self_attn.A_log")->dtype, DType::F32);
  EXPECT_EQ(weights.find("layers.45.eh_proj")->shape[1], 8192);
  EXPECT_EQ(Weights::declare(config).find("layers.45.eh_proj"), nullptr);
}

TEST(Weights, ResolvesNano) {
  const std::string dir = GLM_SOURCE_DIR "/models/glm53/nano/checkpoint";
  Config config = cantFail(Config::load(dir));
  auto checkpoint = Checkpoint::Open(dir);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  Weights weights = accepted(Weights::resolve(config, *checkpoint));
  EXPECT_THAT(weights.warnings(),
              ElementsAre(HasSubstr("tensors of the vision tower"),
                          HasSubstr(mtpIgnored)));
  ASSERT_EQ(weights.files().size(), 1u);
  EXPECT_EQ(weights.all().size(), Weights::declare(config).all().size());
  for (const WeightInfo &info : weights.all()) {
    uint64_t size = 0;
    for (const WeightInfo::Piece &piece : info.pieces) {
      size += piece.size;
      EXPECT_LE(piece.offset + piece.size, weights.files()[0].size);
    }
    EXPECT_EQ(size, info.bytes()) << info.name;
  }
  accepted(Weights::resolve(config, *checkpoint, {.mtp = true}));
}

TEST(Weights, ResolvesTiny) {
  TinyCheckpoint tiny;
  tiny.write();
  Weights weights = accepted(tiny.resolve());
  EXPECT_THAT(weights.warnings(), ElementsAre(HasSubstr(mtpIgnored)));
  const WeightInfo *experts = weights.find("layers.1.mlp.experts.gate_proj");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->form, Form::ExpertsGptq4);
  // 48 columns: six words, and two groups of 32 of which one is partial.
  EXPECT_THAT(experts->shape, ElementsAre(2, 16, 48));
  EXPECT_THAT(
      content(weights, experts->name),
      ElementsAre(
          tiny.tensors[trunk + "layers.1.mlp.experts.0.gate_proj.qweight"]
              .bytes,
          tiny.tensors[trunk + "layers.1.mlp.experts.0.gate_proj.scales"].bytes,
          tiny.tensors[trunk + "layers.1.mlp.experts.1.gate_proj.qweight"]
              .bytes,
          tiny.tensors[trunk + "layers.1.mlp.experts.1.gate_proj.scales"]
              .bytes));
  EXPECT_EQ(experts->pieces[1].size, 2u * 2 * 16);
  EXPECT_EQ(weights.find("nothing"), nullptr);
}

TEST(Weights, AcceptsFloatTypesAsStored) {
  TinyCheckpoint tiny;
  tiny.set(trunk + "norm.weight", StDType::kF32, {48});
  tiny.set("lm_head.weight", StDType::kF16, {64, 48});
  tiny.write();
  Weights weights = accepted(tiny.resolve());
  EXPECT_EQ(weights.find("norm")->dtype, DType::F32);
  EXPECT_EQ(weights.find("lm_head")->dtype, DType::F16);
}

TEST(Weights, AllWrappersGiveTheSameWeights) {
  std::vector<std::string> dumps;
  for (std::string wrapper :
       {"model.language_model.", "model.", "language_model.model.", ""}) {
    TinyCheckpoint tiny;
    tiny.rename([&](StringRef name) {
      bool inside = name.consume_front("model.language_model.");
      if (!inside && wrapper == "language_model.model.")
        return ("language_model." + name).str();
      return (inside ? wrapper : std::string()) + name.str();
    });
    tiny.write();
    dumps.push_back(dump(accepted(tiny.resolve())));
  }
  for (const std::string &other : dumps)
    EXPECT_EQ(other, dumps[0]);
}

TEST(Weights, TransformersNamesGiveTheSameBytes) {
  TinyCheckpoint tiny;
  tiny.write();
  Weights plain = accepted(tiny.resolve());
  std::vector<std::vector<std::string>> convs;
  for (StringRef x : {"q", "k", "v"})
    convs.push_back(
        content(plain, ("layers.0.self_attn." + x + "_conv1d").str()));

  std::string self = trunk + "layers.0.self_attn.";
  TinyCheckpoint::Tensor fused{StDType::kBF16, {48, 1, 4}, ""};
  for (std::string x : {"q", "k", "v"}) {
    auto part = tiny.tensors.extract(self + x + "_conv1d.weight");
    fused.bytes += part.mapped().bytes;
  }
  tiny.tensors[self + "conv1d.weight"] = fused;
  tiny.rename([](std::string name) {
    for (auto [from, to] :
         std::initializer_list<std::pair<std::string, std::string>>{
             {".hc_attn_", ".attn_hc."},
             {".hc_ffn_", ".ffn_hc."},
             {".self_attn.f_", ".self_attn.forget_gate.f_"},
             {".self_attn.A_log", ".self_attn.forget_gate.A_log"},
             {".self_attn.dt_bias", ".self_attn.forget_gate.dt_bias"},
             {".shared_experts.", ".shared_expert."}})
      if (size_t at = name.find(from); at != std::string::npos)
        name.replace(at, from.size(), to);
    return name;
  });
  tiny.write();
  Weights renamed = accepted(tiny.resolve());
  EXPECT_EQ(dump(renamed), dump(plain));
  std::vector<std::vector<std::string>> split;
  for (StringRef x : {"q", "k", "v"})
    split.push_back(
        content(renamed, ("layers.0.self_attn." + x + "_conv1d").str()));
  EXPECT_EQ(split, convs);
}

TEST(Weights, StaleFusedCopiesAreIgnoredAndCounted) {
  TinyCheckpoint tiny;
  tiny.set(trunk + "layers.0.self_attn.conv1d.weight", StDType::kBF16,
           {48, 1, 4});
  tiny.write();
  EXPECT_THAT(accepted(tiny.resolve()).warnings(),
              ElementsAre(HasSubstr(mtpIgnored),
                          HasSubstr("ignored 1 tensors of stale fused")));
}

TEST(Weights, ListsMissingMisshapenAndUnknownTensors) {
  TinyCheckpoint tiny;
  tiny.tensors.erase(trunk + "layers.1.mlp.gate.weight");
  tiny.tensors.erase(trunk + "norm.weight");
  tiny.set("lm_head.weight", StDType::kBF16, {63, 48});
  tiny.set(trunk + "embed_tokens.weight", StDType::kI64, {64, 48});
  tiny.set(trunk + "layers.3.input_layernorm.weight", StDType::kBF16, {48});
  tiny.set(trunk + "layers.0.self_attn.surprise", StDType::kBF16, {1});
  tiny.write();
  EXPECT_THAT(
      faultOf(tiny.resolve()),
      AllOf(HasSubstr("2 expected tensors are missing"),
            HasSubstr("layers.1.mlp.gate [2, 48]"),
            HasSubstr("model.safetensors: tensor 'lm_head.weight' is [63, 48], "
                      "expected [64, 48]"),
            HasSubstr("embed_tokens.weight' is I64"),
            HasSubstr("2 stored tensors have no place"),
            HasSubstr("layers.3.input_layernorm"), HasSubstr("surprise"),
            HasSubstr("num_hidden_layers = 2")));
}

TEST(Weights, LongListsAreCut) {
  TinyCheckpoint tiny;
  for (int i = 0; i < 12; ++i)
    tiny.set("extra." + std::to_string(i), StDType::kU8, {1});
  tiny.write();
  EXPECT_THAT(faultOf(tiny.resolve()),
              AllOf(HasSubstr("12 stored tensors"), HasSubstr("and 2 more")));
}

TEST(Weights, RefusesTwoNamesForOneTensor) {
  TinyCheckpoint tiny;
  tiny.set("model.norm.weight", StDType::kBF16, {48});
  tiny.write();
  EXPECT_THAT(faultOf(tiny.resolve()),
              HasSubstr("1 tensors are stored under two names"));
}

TEST(Weights, LayerKindsMustMatchTheTensors) {
  TinyCheckpoint tiny;
  tiny.write();
  tiny.text()["layer_types"] =
      json::Array{"deepseek_sparse_attention", "linear_attention"};
  EXPECT_THAT(faultOf(tiny.resolve()),
              AllOf(HasSubstr("2 layers are of another kind"),
                    HasSubstr("layers.0 is deepseek_sparse_attention, stored "
                              "is linear_attention"),
                    Not(HasSubstr("missing"))));
  tiny.text()["layer_types"] =
      json::Array{"linear_attention", "deepseek_sparse_attention"};
  tiny.text()["mlp_layer_types"] = json::Array{"sparse", "sparse"};
  EXPECT_THAT(faultOf(tiny.resolve()),
              HasSubstr("layers.0 is sparse, stored is dense"));
}

TEST(Weights, VisionTensorsAreIgnoredUnderAnyWrapper) {
  TinyCheckpoint tiny;
  tiny.set("model.visual.downsample.bias", StDType::kBF16, {4});
  tiny.set("visual.downsample.weight", StDType::kBF16, {4});
  tiny.write();
  EXPECT_THAT(accepted(tiny.resolve()).warnings(),
              ElementsAre(HasSubstr("ignored 2 tensors of the vision tower"),
                          HasSubstr(mtpIgnored)));
}

TEST(Weights, MtpTensorsOutsideTheIndexAreSaid) {
  TinyCheckpoint tiny;
  auto isMtp = [](StringRef name) { return name.contains("layers.2."); };
  tiny.writeShards(
      [&](StringRef name) {
        return isMtp(name) ? "mtp.safetensors"
                           : "model-00001-of-00001.safetensors";
      },
      [&](StringRef name) { return !isMtp(name); });
  EXPECT_THAT(accepted(tiny.resolve()).warnings(),
              ElementsAre(AllOf(HasSubstr("declares an MTP layer (layers.2)"),
                                HasSubstr("are in mtp.safetensors")),
                          HasSubstr("ignored 1 safetensors file")));
  EXPECT_THAT(faultOf(tiny.resolve({.mtp = true})),
              AllOf(HasSubstr("mtp.safetensors"), HasSubstr("to the index")));
}

TEST(Weights, MtpThatIsNowhere) {
  TinyCheckpoint tiny;
  std::erase_if(tiny.tensors, [](auto &tensor) {
    return StringRef(tensor.first).contains("layers.2.");
  });
  tiny.write();
  EXPECT_THAT(accepted(tiny.resolve()).warnings(),
              ElementsAre(HasSubstr("the checkpoint has no tensor")));
  EXPECT_THAT(faultOf(tiny.resolve({.mtp = true})), HasSubstr("no tensor"));
  tiny.text()["num_nextn_predict_layers"] = 0;
  EXPECT_THAT(accepted(tiny.resolve()).warnings(), IsEmpty());
  EXPECT_THAT(faultOf(tiny.resolve({.mtp = true})),
              HasSubstr("num_nextn_predict_layers = 0"));
}

// A stale copy in another shard must not change what is taken.
TEST(Weights, StaleCopiesDoNotWin) {
  std::string name = trunk + "layers.1.mlp.experts.0.up_proj.qweight";
  TinyCheckpoint tiny;
  tiny.writeShards([](StringRef) { return "good.safetensors"; },
                   [](StringRef) { return true; });
  std::string clean = dump(accepted(tiny.resolve()));
  std::string good = tiny.tensors[name].bytes;

  std::string stale(good.size(), 0x11);
  SafetensorsWriter writer;
  writer.Add(name, StDType::kI32, tiny.tensors[name].shape,
             std::as_bytes(std::span(stale)));
  writer.Add("lm_head.weight", StDType::kBF16, {64, 48},
             std::as_bytes(std::span(tiny.tensors["lm_head.weight"].bytes)));
  ASSERT_TRUE(writer.Write(tiny.dir + "/a-first.safetensors").ok());
  Weights weights = accepted(tiny.resolve());
  EXPECT_EQ(dump(weights), clean);
  EXPECT_EQ(content(weights, "layers.1.mlp.experts.up_proj")[0], good);
}

} // namespace
} // namespace glm::glm53
