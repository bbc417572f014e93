#include "models/glm53/Config.h"
#include "models/glm53/TinyCheckpoint.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

using namespace llvm;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace glm::glm53 {
namespace {

using Edit = std::function<void(json::Object &file, json::Object &text)>;

Expected<Config> parseEdited(const Edit &edit) {
  json::Object file = *cantFail(json::parse(tinyConfigText)).getAsObject();
  edit(file, *file.getObject("text_config"));
  return Config::parse(jsonText(file), "c.json");
}

std::string faultOf(Expected<Config> config) {
  return config ? "accepted" : toString(config.takeError());
}

Config accepted(Expected<Config> config) {
  if (!config) {
    ADD_FAILURE() << toString(config.takeError());
    return Config();
  }
  return std::move(*config);
}

std::string kinds(const Config &config) {
  std::string text;
  for (LayerKind layer : config.layers)
    text += layer.attention == AttentionKind::Kda ? 'K' : 'D';
  return text;
}

Config released() {
  auto buffer = cantFail(errorOrToExpected(MemoryBuffer::getFile(
      GLM_SOURCE_DIR "/models/glm53/glm53-flash-config.json")));
  return accepted(Config::parse(buffer->getBuffer(), "released"));
}

TEST(Config, ReadsTheReleasedFile) {
  Config config = released();
  EXPECT_EQ(config.modelType, "glm5_next");
  EXPECT_EQ(config.hiddenSize, 4096);
  EXPECT_EQ(config.numHiddenLayers, 45);
  EXPECT_EQ(config.numNextnPredictLayers, 1);
  EXPECT_EQ(config.vocabSize, 154880);
  EXPECT_EQ(config.maxPositionEmbeddings, 1048576);
  ASSERT_EQ(config.layers.size(), 45u);
  for (int i = 0; i < 45; ++i) {
    EXPECT_EQ(config.layers[i].attention == AttentionKind::Dsa, i % 4 == 3);
    EXPECT_EQ(config.layers[i].ffn == FfnKind::Dense, i < 3);
  }
  EXPECT_EQ(config.linearNumHeads, 64);
  EXPECT_EQ(config.linearHeadDim, 128);
  EXPECT_EQ(config.linearConvKernelDim, 4);
  EXPECT_EQ(config.linearLowerBound, -5.0);
  EXPECT_EQ(config.qkHeadDim, 256);
  EXPECT_EQ(config.indexTopk, 2048);
  EXPECT_EQ(config.indexKpool, 4);
  EXPECT_EQ(config.nRoutedExperts, 288);
  EXPECT_EQ(config.numExpertsPerTok, 8);
  EXPECT_EQ(config.routedScalingFactor, 2.5);
  EXPECT_EQ(config.swigluLimit, 10.0);
  EXPECT_EQ(config.hcRows(), 24);
  EXPECT_EQ(config.hcEps, 1e-6);
  EXPECT_THAT(config.eosTokenIds, ElementsAre(154820, 154827, 154829));
  EXPECT_EQ(config.imageTokenId, 154854);
  EXPECT_EQ(config.videoEndTokenId, 154833);
  EXPECT_TRUE(config.hasVision);
  EXPECT_EQ(config.quantization.method, Quantization::Method::Fp8);
  EXPECT_EQ(config.quantization.notConverted.size(), 1509u);
}

TEST(Config, ReadsTheFlatSpellings) {
  Config config =
      accepted(Config::load(GLM_SOURCE_DIR "/models/glm53/nano/checkpoint"));
  EXPECT_EQ(config.linearNumHeads, 4);
  EXPECT_EQ(config.linearHeadDim, 64);
  EXPECT_EQ(config.linearConvKernelDim, 4);
  EXPECT_EQ(config.linearLowerBound, -5.0);
  EXPECT_EQ(kinds(config), "KKKDKKKD");
  EXPECT_EQ(config.quantization.method, Quantization::Method::Gptq4);
  EXPECT_EQ(config.quantization.groupSize, 128);
  EXPECT_THAT(config.generation.stopIds, ElementsAre(2008, 2015, 2017));
  EXPECT_EQ(config.generation.topP, 0.95);
}

TEST(Config, ReadsATextModelWithoutWrapper) {
  Config config = accepted(parseEdited([](auto &file, auto &text) {
    json::Object inner = text;
    file = std::move(inner);
  }));
  EXPECT_EQ(config.hiddenSize, 48);
  EXPECT_EQ(config.modelType, "glm5_next_text");
}

TEST(Config, FillsWhatMayBeLeftOut) {
  Config config = accepted(parseEdited([](auto &, auto &text) {
    text.erase("index_kpool");
    text.erase("num_nextn_predict_layers");
    text.getObject("linear_attn_config")->erase("gate_lower_bound");
  }));
  EXPECT_EQ(config.indexKpool, 4);
  EXPECT_EQ(config.numNextnPredictLayers, 0);
  EXPECT_EQ(config.linearLowerBound, -5.0);
  EXPECT_EQ(config.rmsNormEps, 1e-5);
  EXPECT_EQ(config.hcMult, 4);
  EXPECT_EQ(config.hcSinkhornIters, 20);
  EXPECT_EQ(config.routedScalingFactor, 2.5);
}

TEST(Config, RefusesByFieldAndValue) {
  const struct {
    const char *field;
    json::Value value;
    const char *message;
  } cases[] = {
      {"qk_rope_head_dim", 64, "qk_rope_head_dim = 64: is not supported"},
      {"qk_head_dim", 16, "qk_head_dim = 16: is not supported, only 8 is"},
      {"hidden_act", "gelu", "hidden_act = \"gelu\": is not supported"},
      {"indexer_types", json::Array{"full", "shared"},
       "entry 1 is \"shared\"; supported: full"},
      {"n_group", 2, "n_group = 2"},
      {"topk_group", 2, "topk_group = 2"},
      {"scoring_func", "softmax", "scoring_func = \"softmax\""},
      {"topk_method", "greedy", "topk_method = \"greedy\""},
      {"attention_bias", true, "attention_bias = true"},
      {"tie_word_embeddings", true, "tie_word_embeddings = true"},
      {"mla_use_nope", false, "mla_use_nope = false"},
      {"mhc", false, "mhc = false"},
      {"index_kpool_compress", false, "index_kpool_compress = false"},
      {"norm_topk_prob", false, "norm_topk_prob = false"},
      {"num_key_value_heads", 1, "num_key_value_heads = 1"},
      {"index_topk", 18, "index_topk = 18: must be a multiple of index_kpool"},
      {"num_experts_per_tok", 3, "is more than n_routed_experts = 2"},
      {"n_shared_experts", 2, "n_shared_experts = 2"},
      {"hidden_size", 0, "hidden_size = 0: must be a whole number"},
      {"hidden_size", -48, "hidden_size = -48"},
      {"hidden_size", int64_t(1) << 40, "hidden_size = 1099511627776"},
      {"hidden_size", "48", "hidden_size = \"48\""},
      {"hidden_size", 48.5, "hidden_size = 48.5"},
      {"hidden_size", nullptr, "hidden_size: is missing"},
      {"num_hidden_layers", 1 << 20, "num_hidden_layers = 1048576"},
      {"num_nextn_predict_layers", 2, "num_nextn_predict_layers = 2"},
      {"rms_norm_eps", "x", "rms_norm_eps = \"x\": must be a number"},
      {"eos_token_id", 64, "must hold token ids below vocab_size = 64"},
      {"eos_token_id", json::Array{1, -1}, "eos_token_id = [1,-1]"},
      {"eos_token_id", "x", "eos_token_id = \"x\""},
      {"first_k_dense_replace", 2, "contradicts mlp_layer_types at layer 1"},
      {"mlp_layer_types", json::Array{"dense", "wide"}, "is \"wide\""},
      {"linear_num_heads", 3, "contradicts linear_attn_config.num_heads = 2"},
      {"linear_attn_config", 3, "linear_attn_config = 3: must be an object"},
      {"model_type", "llama", "text_config.model_type = \"llama\""},
  };
  for (const auto &test : cases)
    EXPECT_THAT(faultOf(parseEdited([&](auto &, auto &text) {
                  text[test.field] = test.value;
                })),
                AllOf(HasSubstr("c.json: "), HasSubstr(test.message)))
        << test.field;
}

TEST(Config, RefusesTiedEmbeddingsOnTheOuterLevel) {
  EXPECT_THAT(faultOf(parseEdited([](auto &file, auto &text) {
                text["tie_word_embeddings"] = false;
                file["tie_word_embeddings"] = true;
              })),
              HasSubstr("tie_word_embeddings = true"));
}

TEST(Config, RefusesTheUnboundedGate) {
  auto withBound = [](json::Value bound) {
    return faultOf(parseEdited([&](auto &, auto &text) {
      (*text.getObject("linear_attn_config"))["gate_lower_bound"] = bound;
    }));
  };
  EXPECT_THAT(withBound(nullptr), HasSubstr("gate_lower_bound: null"));
  EXPECT_THAT(withBound(5.0), HasSubstr("gate_lower_bound = 5"));
}

TEST(Config, RefusesOtherModels) {
  EXPECT_THAT(faultOf(parseEdited(
                  [](auto &file, auto &) { file["model_type"] = "glm4_moe"; })),
              HasSubstr("model_type = \"glm4_moe\": is not supported"));
  EXPECT_THAT(faultOf(Config::parse("{}", "c.json")),
              HasSubstr("model_type = \"\""));
}

TEST(Config, NamesAllFaultsAtOnce) {
  EXPECT_THAT(faultOf(parseEdited([](auto &, auto &text) {
                text["n_group"] = 4;
                text["hidden_act"] = "relu";
              })),
              AllOf(HasSubstr("n_group"), HasSubstr("hidden_act")));
}

// layer_types decides; the lists, counted from 0 or from 1, must agree.
TEST(Config, LayerKinds) {
  auto four = [](json::Value types, json::Value kda, json::Value full) {
    return parseEdited([&](auto &, auto &text) {
      text["num_hidden_layers"] = 4;
      text.erase("mlp_layer_types");
      text["layer_types"] = types;
      auto &block = *text.getObject("linear_attn_config");
      block["kda_layers"] = kda;
      block["full_attn_layers"] = full;
    });
  };
  const char *k = "linear_attention", *d = "deepseek_sparse_attention";
  const json::Value types = json::Array{k, d, k, d};
  EXPECT_EQ(kinds(accepted(four(types, nullptr, nullptr))), "KDKD");
  EXPECT_EQ(kinds(accepted(four(types, json::Array{0, 2}, json::Array{1, 3}))),
            "KDKD");
  EXPECT_EQ(kinds(accepted(four(types, json::Array{1, 3}, json::Array{2, 4}))),
            "KDKD");
  EXPECT_EQ(kinds(accepted(four(types, json::Array{1, 3}, nullptr))), "KDKD");
  EXPECT_THAT(faultOf(four(types, json::Array{0, 1}, json::Array{2, 3})),
              HasSubstr("contradict layer_types"));
  EXPECT_THAT(faultOf(four(types, json::Array{0, 2}, json::Array{2, 4})),
              HasSubstr("contradict layer_types"));
  EXPECT_THAT(faultOf(four(json::Array{k, d, k}, nullptr, nullptr)),
              AllOf(HasSubstr("layer_types"), HasSubstr("has 3")));
  EXPECT_THAT(
      faultOf(four(json::Array{k, d, k, "full_attention"}, nullptr, nullptr)),
      HasSubstr("entry 3 is \"full_attention\""));

  // Without layer_types.
  EXPECT_EQ(kinds(accepted(four(nullptr, nullptr, nullptr))), "KKKD");
  EXPECT_EQ(
      kinds(accepted(four(nullptr, json::Array{0, 3}, json::Array{1, 2}))),
      "KDDK");
  EXPECT_EQ(
      kinds(accepted(four(nullptr, json::Array{1, 4}, json::Array{2, 3}))),
      "KDDK");
  EXPECT_THAT(faultOf(four(nullptr, json::Array{1, 2}, nullptr)),
              HasSubstr("give layer_types"));
  EXPECT_THAT(faultOf(four(nullptr, json::Array{0, 1}, json::Array{1, 2})),
              HasSubstr("do not name each layer once"));
  EXPECT_THAT(faultOf(four(nullptr, json::Array{"0"}, nullptr)),
              HasSubstr("must be a list of layer numbers"));
}

TEST(Config, RopeFieldsAreNotNeededAndMustNotContradict) {
  auto withRope = [](json::Value theta, json::Value nested) {
    return faultOf(parseEdited([&](auto &, auto &text) {
      text["rope_theta"] = theta;
      text["rope_parameters"] = json::Object{{"rope_theta", nested}};
    }));
  };
  EXPECT_EQ(withRope(nullptr, 10000.0), "accepted");
  EXPECT_EQ(withRope(500000, 500000.0), "accepted");
  EXPECT_THAT(withRope(10000, 500000), HasSubstr("rope_theta = 10000"));
}

TEST(Config, Quantization) {
  auto with = [](const char *key, json::Value value) {
    return parseEdited([&](auto &file, auto &) {
      (*file.getObject("quantization_config"))[key] = value;
    });
  };
  const struct {
    const char *key;
    json::Value value;
    const char *message;
  } cases[] = {
      {"quant_method", "awq", "quant_method = \"awq\": is not supported"},
      {"quant_method", nullptr, "quant_method: is not supported"},
      {"bits", 8, "quantization_config.bits = 8"},
      {"bits", nullptr, "bits: is missing"},
      {"sym", false, "sym = false: is not supported"},
      {"group_size", -1, "group_size = -1"},
      {"group_size", 12, "must be a multiple of 8"},
      {"data_type", "nvfp4", "data_type = \"nvfp4\""},
      {"packing_format", "auto_round:awq", "packing_format"},
      {"desc_act", true, "desc_act = true"},
  };
  for (const auto &test : cases)
    EXPECT_THAT(faultOf(with(test.key, test.value)), HasSubstr(test.message))
        << test.key;
  Config config = accepted(with(
      "extra_config",
      json::Object{{"model.language_model.layers.1.mlp.shared_expert.up_proj",
                    json::Object{{"bits", 16}}}}));
  EXPECT_EQ(config.quantization.groupSize, 32);
  EXPECT_EQ(
      config.quantization.moduleBits.at("layers.1.mlp.shared_experts.up_proj"),
      16);
  EXPECT_EQ(accepted(parseEdited([](auto &file, auto &) {
              file.erase("quantization_config");
            })).quantization.method,
            Quantization::Method::None);
}

TEST(Config, StopIdsAreAUnion) {
  auto stops = [](const char *generation) {
    Config config = accepted(
        parseEdited([](auto &, auto &text) { text["eos_token_id"] = 9; }));
    if (Error error = config.mergeGeneration(generation, "g.json"))
      return std::vector<int32_t>{-1 * !toString(std::move(error)).empty()};
    return config.generation.stopIds;
  };
  EXPECT_THAT(stops("{}"), ElementsAre(9));
  EXPECT_THAT(stops(R"({"eos_token_id": 7})"), ElementsAre(9, 7));
  EXPECT_THAT(stops(R"({"eos_token_id": [7, 9, 8]})"), ElementsAre(9, 7, 8));
  EXPECT_THAT(stops(R"({"eos_token_id": [64]})"), ElementsAre(-1));
  EXPECT_THAT(stops("[]"), ElementsAre(-1));
  EXPECT_THAT(stops(R"({"top_p": 2})"), ElementsAre(-1));
}

TEST(Config, LoadsWithoutGenerationConfig) {
  TinyCheckpoint tiny;
  std::ofstream(tiny.dir + "/config.json") << tinyConfigText;
  Config config = accepted(Config::load(tiny.dir));
  EXPECT_THAT(config.generation.stopIds, ElementsAre(1, 2, 3));
  EXPECT_EQ(config.generation.temperature, 1.0);
  EXPECT_THAT(faultOf(Config::load(tiny.dir + "/none")),
              HasSubstr("config.json: no such file"));
}

TEST(Config, LoadsAStandAloneQuantizationFile) {
  TinyCheckpoint tiny;
  json::Object quantization = tiny.quantization();
  tiny.config.erase("quantization_config");
  std::ofstream(tiny.dir + "/config.json") << jsonText(tiny.config);
  std::ofstream(tiny.dir + "/quantization_config.json")
      << jsonText(quantization);
  EXPECT_EQ(accepted(Config::load(tiny.dir)).quantization.groupSize, 32);
}

TEST(Config, RefusesHostileText) {
  EXPECT_THAT(faultOf(Config::parse("", "c.json")), HasSubstr("not JSON"));
  EXPECT_THAT(faultOf(Config::parse("{", "c.json")), HasSubstr("not JSON"));
  EXPECT_THAT(faultOf(Config::parse("[1]", "c.json")),
              HasSubstr("must be a JSON object"));
  EXPECT_THAT(faultOf(Config::parse(std::string(1 << 20, '['), "c.json")),
              HasSubstr("nested more than 32"));
  EXPECT_THAT(faultOf(Config::parse(std::string(9 << 20, ' '), "c.json")),
              HasSubstr("that are allowed"));
  EXPECT_EQ(faultOf(parseEdited([](auto &, auto &text) {
              text["note"] = std::string(100, '[');
            })),
            "accepted");
}

} // namespace
} // namespace glm::glm53
