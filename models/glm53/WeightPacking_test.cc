#include "models/glm53/TinyCheckpoint.h"
#include "models/glm53/Weights.h"

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

constexpr char mtpIgnored[] = "tensors of the MTP layer";
const std::string trunk = "model.language_model.";

/// Replaces the packed experts of layer 1 by BF16 ones.
void makeExpertsPlain(TinyCheckpoint &tiny, int64_t layer = 1) {
  std::string stack =
      trunk + "layers." + std::to_string(layer) + ".mlp.experts.";
  for (std::string e : {"0", "1"})
    for (std::string x : {"gate", "up", "down"}) {
      std::string name = stack + e + "." + x + "_proj";
      for (const char *suffix : {".qweight", ".qzeros", ".scales"})
        tiny.tensors.erase(name + suffix);
      tiny.set(name + ".weight", StDType::kBF16,
               x == "down" ? std::vector<int64_t>{48, 16}
                           : std::vector<int64_t>{16, 48});
      tiny.tensors[name + ".weight"].bytes[0] = x[0];
      tiny.tensors[name + ".weight"].bytes[1] = e[0];
    }
}

TEST(WeightPacking, StoredFormDecidesAndContradictionsAreCounted) {
  TinyCheckpoint tiny;
  makeExpertsPlain(tiny);
  tiny.write();
  Weights weights = accepted(tiny.resolve());
  const WeightInfo *experts = weights.find("layers.1.mlp.experts.up_proj");
  EXPECT_EQ(experts->form, Form::ExpertsDense);
  EXPECT_EQ(experts->group, 0);
  EXPECT_EQ(experts->pieces.size(), 2u);
  EXPECT_THAT(weights.warnings(),
              ElementsAre(HasSubstr(mtpIgnored),
                          HasSubstr("6 linears are stored unquantised")));
}

TEST(WeightPacking, ExcludedModulesThatArePackedAreCounted) {
  TinyCheckpoint tiny;
  tiny.write();
  tiny.quantization()["modules_to_not_convert"] = json::Array{
      "model.layers.1.mlp.experts.0", "lm_head", "model.layers.1.mlp.gate"};
  EXPECT_THAT(accepted(tiny.resolve()).warnings(),
              ElementsAre(HasSubstr(mtpIgnored),
                          HasSubstr("3 linears are stored as int4")));
  tiny.config.erase("quantization_config");
  // The release's group size is the guess; it does not fit this file.
  EXPECT_THAT(faultOf(tiny.resolve()), HasSubstr("scales' is [2, 16], "
                                                 "expected [1, 16]"));
}

TEST(WeightPacking, ModuleRulesAreChecked) {
  TinyCheckpoint tiny;
  tiny.write();
  tiny.quantization()["extra_config"] = json::Object{
      {trunk + "layers.1.mlp.shared_experts.up_proj",
       json::Object{{"bits", 4}}},
      {trunk + "layers.0.mlp.up_proj", json::Object{{"bits", 16}}}};
  EXPECT_THAT(accepted(tiny.resolve()).warnings(),
              ElementsAre(HasSubstr(mtpIgnored),
                          AllOf(HasSubstr("1 linears are stored unquantised"),
                                HasSubstr("shared_experts.up_proj"))));
}

TEST(WeightPacking, MtpLayerFollowsItsOwnTensors) {
  TinyCheckpoint tiny;
  makeExpertsPlain(tiny, 2);
  tiny.quantization()["modules_to_not_convert"] =
      json::Array{"layers.2.eh_proj", "layers.2.mlp.experts"};
  tiny.write();
  Weights weights = accepted(tiny.resolve({.mtp = true}));
  EXPECT_EQ(weights.find("layers.1.mlp.experts.up_proj")->form,
            Form::ExpertsGptq4);
  EXPECT_EQ(weights.find("layers.2.mlp.experts.up_proj")->form,
            Form::ExpertsDense);
  EXPECT_NE(weights.find("layers.2.shared_head.norm"), nullptr);
  EXPECT_THAT(weights.warnings(), IsEmpty());
}

TEST(WeightPacking, FusedExpertsAreSplitByOffset) {
  TinyCheckpoint tiny;
  makeExpertsPlain(tiny);
  tiny.write();
  std::string stack = "layers.1.mlp.experts.";
  Weights separate = accepted(tiny.resolve());
  std::vector<std::vector<std::string>> expected;
  for (std::string x : {"gate_proj", "up_proj", "down_proj"})
    expected.push_back(content(separate, stack + x));

  TinyCheckpoint::Tensor gateUp{StDType::kBF16, {2, 32, 48}, ""};
  TinyCheckpoint::Tensor down{StDType::kBF16, {2, 48, 16}, ""};
  for (std::string e : {"0", "1"}) {
    for (std::string x : {"gate", "up"})
      gateUp.bytes +=
          tiny.tensors.extract(trunk + stack + e + "." + x + "_proj.weight")
              .mapped()
              .bytes;
    down.bytes += tiny.tensors.extract(trunk + stack + e + ".down_proj.weight")
                      .mapped()
                      .bytes;
  }
  tiny.tensors[trunk + stack + "gate_up_proj"] = gateUp;
  tiny.tensors[trunk + stack + "down_proj"] = down;
  tiny.write();
  Weights fused = accepted(tiny.resolve());
  std::vector<std::vector<std::string>> found;
  for (std::string x : {"gate_proj", "up_proj", "down_proj"})
    found.push_back(content(fused, stack + x));
  EXPECT_EQ(found, expected);
}

// The zero of symmetric int4 is 8, whether it is stored as 7 or as 8.
TEST(WeightPacking, ZeroPointsAreReadAndChecked) {
  auto withZeros = [](char byte, size_t at = 0) {
    TinyCheckpoint tiny;
    std::string name = trunk + "layers.1.mlp.experts.1.down_proj.qzeros";
    for (char &b : tiny.tensors[name].bytes)
      b = 0x77;
    tiny.tensors[name].bytes[at] = byte;
    tiny.write();
    return faultOf(tiny.resolve());
  };
  EXPECT_EQ(withZeros(0x77), "accepted");
  EXPECT_EQ(withZeros(char(0x88)), "accepted");
  EXPECT_EQ(withZeros(char(0x87), 3), "accepted");
  EXPECT_THAT(withZeros(0x67, 3),
              AllOf(HasSubstr("asymmetric int4 is not supported"),
                    HasSubstr("experts.1.down_proj.qzeros'"),
                    HasSubstr("has 6 (group 0, column 7)")));
  EXPECT_THAT(withZeros(0x7F), HasSubstr("has 15 (group 0, column 0)"));

  for (char all : {char(0x88), char(0x66)}) {
    TinyCheckpoint tiny;
    tiny.setPacked(trunk + "layers.1.mlp.experts.0.up_proj", 16, 48, 32, all);
    tiny.write();
    EXPECT_EQ(faultOf(tiny.resolve()) == "accepted", all == char(0x88));
  }
}

TEST(WeightPacking, PaddingOfZeroPointsIsNotRead) {
  TinyCheckpoint tiny;
  tiny.text()["moe_intermediate_size"] = 12;
  for (std::string layer : {"1", "2"})
    for (std::string x : {"gate", "up", "down"}) {
      std::string mlp = trunk + "layers." + layer + ".mlp.";
      int64_t n = x == "down" ? 48 : 12, k = x == "down" ? 12 : 48;
      tiny.set(mlp + "shared_experts." + x + "_proj.weight", StDType::kBF16,
               {n, k});
      for (std::string e : {"0", "1"}) {
        std::string name = mlp + "experts." + e + "." + x + "_proj";
        tiny.setPacked(name, n, k, 32);
        if (n == 12) // columns 12 to 15 of each group
          tiny.tensors[name + ".qzeros"].bytes[6] = 0;
      }
    }
  tiny.write();
  EXPECT_EQ(faultOf(tiny.resolve({.mtp = true})), "accepted");
}

TEST(WeightPacking, RefusesActOrder) {
  TinyCheckpoint tiny;
  tiny.set(trunk + "layers.1.mlp.experts.0.up_proj.g_idx", StDType::kI32, {48});
  tiny.write();
  EXPECT_THAT(faultOf(tiny.resolve()),
              AllOf(HasSubstr("g_idx"), HasSubstr("desc_act = false")));
}

TEST(WeightPacking, RefusesGroupsThatWereRoundedDown) {
  TinyCheckpoint tiny;
  tiny.set(trunk + "layers.1.mlp.experts.0.up_proj.scales", StDType::kF16,
           {1, 16});
  tiny.write();
  EXPECT_THAT(faultOf(tiny.resolve()),
              HasSubstr("up_proj.scales' is [1, 16], expected [2, 16]"));
}

TEST(WeightPacking, RefusesWhatIsPackedOtherwise) {
  {
    TinyCheckpoint tiny;
    makeExpertsPlain(tiny);
    std::string name = trunk + "layers.1.mlp.experts.0.up_proj.weight";
    tiny.set(name, StDType::kF8E4M3, {16, 48});
    tiny.set(name + "_scale_inv", StDType::kF32, {1, 1});
    tiny.write();
    EXPECT_THAT(faultOf(tiny.resolve()),
                AllOf(HasSubstr("2 tensors are fp8"), HasSubstr("AutoRound")));
  }
  {
    TinyCheckpoint tiny;
    tiny.set(trunk + "layers.1.mlp.experts.0.up_proj.weight_packed",
             StDType::kI32, {16, 6});
    tiny.write();
    EXPECT_THAT(faultOf(tiny.resolve()), HasSubstr("compressed-tensors"));
  }
  // No kernel reads codes along both dimensions, as kv_b_proj is read.
  for (std::string name : {"layers.1.self_attn.kv_b_proj", "embed_tokens"}) {
    TinyCheckpoint tiny;
    std::vector<int64_t> shape = tiny.tensors[trunk + name + ".weight"].shape;
    tiny.tensors.erase(trunk + name + ".weight");
    tiny.setPacked(trunk + name, shape[0], shape[1], 32);
    tiny.write();
    EXPECT_THAT(faultOf(tiny.resolve()),
                AllOf(HasSubstr("1 weights are int4 that no int4 kernel reads"),
                      HasSubstr(name), Not(HasSubstr("no place"))));
  }
}

// Shared experts, attention, head and router may be packed as well; the stored
// form decides, and config.json is held against it.
TEST(WeightPacking, PackedLinearsAreTaken) {
  TinyCheckpoint tiny;
  const std::string packed[] = {trunk + "layers.1.mlp.shared_experts.up_proj",
                                trunk + "layers.1.mlp.gate",
                                trunk + "layers.0.self_attn.q_proj", "lm_head"};
  for (const std::string &name : packed) {
    std::vector<int64_t> shape = tiny.tensors[name + ".weight"].shape;
    tiny.tensors.erase(name + ".weight");
    tiny.setPacked(name, shape[0], shape[1], 32);
  }
  tiny.quantization()["modules_to_not_convert"] =
      json::Array{"shared_experts", "lm_head"};
  tiny.write();
  Weights weights = accepted(tiny.resolve());
  const WeightInfo *up = weights.find("layers.1.mlp.shared_experts.up_proj");
  EXPECT_EQ(up->form, Form::DenseGptq4);
  EXPECT_EQ(up->group, 32);
  EXPECT_THAT(content(weights, up->name),
              ElementsAre(tiny.tensors[packed[0] + ".qweight"].bytes,
                          tiny.tensors[packed[0] + ".scales"].bytes));
  EXPECT_EQ(up->bytes(), 16u * (6 * 4 + 2 * 2)); // 48 columns, 2 groups
  EXPECT_EQ(weights.find("layers.1.mlp.gate")->form, Form::DenseGptq4);
  EXPECT_EQ(weights.find("lm_head")->form, Form::DenseGptq4);
  EXPECT_EQ(weights.find("layers.0.self_attn.k_proj")->form, Form::Dense);
  EXPECT_THAT(weights.warnings(),
              ElementsAre(HasSubstr(mtpIgnored),
                          AllOf(HasSubstr("2 linears are stored as int4"),
                                HasSubstr("shared_experts.up_proj"))));
}

TEST(WeightPacking, PackedLinearsAreCheckedAsExpertsAre) {
  std::string name = trunk + "layers.1.mlp.shared_experts.up_proj";
  auto withParts = [&](auto change) {
    TinyCheckpoint tiny;
    tiny.tensors.erase(name + ".weight");
    tiny.setPacked(name, 16, 48, 32);
    change(tiny);
    tiny.write();
    return faultOf(tiny.resolve());
  };
  EXPECT_THAT(withParts([&](TinyCheckpoint &tiny) {
                tiny.tensors[name + ".qzeros"].bytes[0] = 0x17;
              }),
              HasSubstr("has 1 (group 0, column 1)"));
  EXPECT_THAT(withParts([&](TinyCheckpoint &tiny) {
                tiny.set(name + ".g_idx", StDType::kI32, {48});
              }),
              HasSubstr("desc_act = false"));
  EXPECT_THAT(withParts([&](TinyCheckpoint &tiny) {
                tiny.tensors.erase(name + ".scales");
              }),
              HasSubstr("shared_experts.up_proj.scales [2, 16]"));
}

// What is quantised, what is never, and what is only for the asking.
TEST(WeightPacking, DenseFormIsThatOfProjections) {
  TinyCheckpoint tiny;
  std::string packed = trunk + "layers.0.self_attn.v_proj";
  tiny.tensors.erase(packed + ".weight");
  tiny.setPacked(packed, 16, 48, 32);
  tiny.write();
  Weights weights =
      accepted(tiny.resolve({.mtp = true, .dense = DenseForm::Int8}));
  std::vector<std::string> quantised;
  for (const WeightInfo &info : weights.all()) {
    if (info.form != Form::DenseInt8)
      continue;
    quantised.push_back(info.name);
    EXPECT_EQ(info.group, 128);
    EXPECT_TRUE(info.pieces.empty());
    ASSERT_TRUE(info.source.has_value());
    EXPECT_EQ(info.source->size, 2u * info.shape[0] * info.shape[1]);
    EXPECT_EQ(info.bytes(), info.shape[0] * (info.shape[1] + 2u));
  }
  auto has = [&](const char *name) { return is_contained(quantised, name); };
  for (const char *name :
       {"layers.0.self_attn.q_proj", "layers.0.self_attn.f_a_proj",
        "layers.0.self_attn.b_proj", "layers.0.mlp.down_proj",
        "layers.1.self_attn.q_a_proj", "layers.1.self_attn.kv_a_proj_with_mqa",
        "layers.1.self_attn.o_proj", "layers.1.self_attn.indexer.wk",
        "layers.1.self_attn.indexer.index_kpool_compress_gate",
        "layers.1.mlp.shared_experts.gate_proj", "layers.2.eh_proj"})
    EXPECT_TRUE(has(name)) << name;
  for (const char *name :
       {"embed_tokens", "lm_head", "layers.0.hc_attn_fn", "layers.0.hc_ffn_fn",
        "layers.0.self_attn.q_conv1d", "layers.0.self_attn.A_log",
        "layers.0.self_attn.v_proj", "layers.1.mlp.gate",
        "layers.1.self_attn.kv_b_proj", "layers.1.self_attn.indexer.k_norm",
        "layers.1.self_attn.indexer.index_kpool_compress_ape"})
    EXPECT_FALSE(has(name)) << name;
  // Stored packed: as it is.
  EXPECT_EQ(weights.find("layers.0.self_attn.v_proj")->form, Form::DenseGptq4);

  Weights head =
      accepted(tiny.resolve({.dense = DenseForm::Int4, .denseHead = true}));
  EXPECT_EQ(head.find("lm_head")->form, Form::DenseGptq4);
  EXPECT_TRUE(head.find("lm_head")->source.has_value());
  EXPECT_EQ(head.find("layers.1.mlp.gate")->form, Form::Dense);
}

TEST(WeightPacking, RefusesMixedStacks) {
  TinyCheckpoint tiny;
  std::string name = trunk + "layers.1.mlp.experts.1.up_proj";
  for (const char *suffix : {".qweight", ".qzeros", ".scales"})
    tiny.tensors.erase(name + suffix);
  tiny.set(name + ".weight", StDType::kBF16, {16, 48});
  tiny.write();
  EXPECT_THAT(faultOf(tiny.resolve()),
              HasSubstr("experts.up_proj: 1 experts unquantised, 1 int4"));
}

} // namespace
} // namespace glm::glm53
