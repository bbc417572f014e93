//===- Config.cpp - The model's config.json -------------------------------===//

#include "models/glm53/Config.h"
#include "models/glm53/ConfigQuantization.h"
#include "models/glm53/FieldReader.h"
#include "models/glm53/JsonText.h"
#include "models/glm53/WeightNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace glm::glm53 {

namespace {

// Far above anything sensible, and low enough that no product of four of them
// leaves 64 bits.
// Rows of this many elements still fit the stack of a kernel (templates/glm/host.h).
constexpr int64_t maxHidden = 1 << 14;
constexpr int64_t maxWidth = 1 << 16;
constexpr int64_t maxIndexTokens = 1 << 13;
constexpr int64_t maxIndexHeads = 128;
constexpr int64_t maxHeads = 1 << 12;
constexpr int64_t maxHeadDim = 1 << 13;
constexpr int64_t maxLayers = 1 << 10;
constexpr int64_t maxExperts = 1 << 12;
constexpr int64_t maxVocab = 1 << 24;
constexpr int64_t maxContext = int64_t(1) << 30;

/// Fills a Config from the text model's object and the object around it.
class ConfigReader {
public:
  ConfigReader(const json::Object &text, const json::Object *outer)
      : fields(faults, text, outer) {}

  Config config;
  std::vector<std::string> faults;

  void read();

private:
  void readSizes();
  void readLinearAttention();
  void readLayerKinds();
  void readFfnKinds(int64_t count);
  void readTokens();
  void refuseUnsupported();
  std::optional<std::vector<AttentionKind>>
  attentionFromLists(const json::Object &block,
                     const std::vector<AttentionKind> &known);
  std::optional<std::vector<int64_t>> indexList(const json::Object &block,
                                                StringRef key);

  FieldReader fields;
};

} // namespace

void ConfigReader::read() {
  readSizes();
  readLinearAttention();
  readLayerKinds();
  readFfnKinds(config.numHiddenLayers);
  readTokens();
  refuseUnsupported();
  if (const json::Object *block = fields.child("quantization_config"))
    config.quantization = readQuantization(*block, faults);
}

void ConfigReader::readSizes() {
  config.hiddenSize = fields.size("hidden_size", maxHidden);
  config.numHiddenLayers = fields.size("num_hidden_layers", maxLayers);
  config.numNextnPredictLayers =
      fields.integer("num_nextn_predict_layers", 0, 1, 0);
  config.vocabSize = fields.size("vocab_size", maxVocab);
  config.maxPositionEmbeddings =
      fields.size("max_position_embeddings", maxContext, 1 << 20);
  config.rmsNormEps = fields.number("rms_norm_eps", 0, 1, 1e-5);

  config.numAttentionHeads = fields.size("num_attention_heads", maxHeads);
  config.qLoraRank = fields.size("q_lora_rank", maxWidth);
  config.kvLoraRank = fields.size("kv_lora_rank", maxWidth);
  config.qkHeadDim = fields.size("qk_nope_head_dim", maxHeadDim);
  config.vHeadDim = fields.size("v_head_dim", maxHeadDim);
  config.indexNHeads = fields.size("index_n_heads", maxIndexHeads);
  config.indexHeadDim = fields.size("index_head_dim", maxHeadDim);
  config.indexTopk = fields.size("index_topk", maxIndexTokens);
  config.indexKpool = fields.integer("index_kpool", 2, 64, 4);
  if (config.indexTopk % config.indexKpool != 0)
    fields.refuse("index_topk", "must be a multiple of index_kpool = " +
                                    Twine(config.indexKpool));

  config.intermediateSize = fields.size("intermediate_size", maxWidth);
  config.moeIntermediateSize = fields.size("moe_intermediate_size", maxWidth);
  config.nRoutedExperts = fields.size("n_routed_experts", maxExperts);
  config.numExpertsPerTok = fields.size("num_experts_per_tok", maxExperts);
  if (config.numExpertsPerTok > config.nRoutedExperts)
    fields.refuse("num_experts_per_tok", "is more than n_routed_experts = " +
                                             Twine(config.nRoutedExperts));
  config.nSharedExperts = fields.integer("n_shared_experts", 1, 1, 1);
  config.routedScalingFactor =
      fields.number("routed_scaling_factor", 0, 1e6, 2.5);
  config.swigluLimit = fields.number("swiglu_limit", 0, 1e6, 10.0);

  config.hcMult = fields.size("hc_mult", 8, 4);
  config.hcSinkhornIters = fields.size("hc_sinkhorn_iters", 1000, 20);
  config.hcEps = fields.number("hc_eps", 0, 1, 1e-6);
}

/// The block `linear_attn_config` of the release, the flat fields that
/// transformers saves, or both when they agree.
void ConfigReader::readLinearAttention() {
  static const json::Object none;
  const json::Object *block = fields.child("linear_attn_config");
  FieldReader nested(faults, block ? *block : none, nullptr,
                     "linear_attn_config.");
  auto either = [&](StringRef nestedKey, StringRef flatKey, int64_t high,
                    std::optional<int64_t> fallback) {
    if (!nested.get(nestedKey))
      return fields.size(flatKey, high, fallback);
    int64_t value = nested.size(nestedKey, high);
    if (fields.get(flatKey) && fields.size(flatKey, high) != value)
      fields.refuse(flatKey, "contradicts linear_attn_config." + nestedKey +
                                 " = " + Twine(value));
    return value;
  };
  config.linearNumHeads =
      either("num_heads", "linear_num_heads", maxHeads, std::nullopt);
  config.linearHeadDim =
      either("head_dim", "linear_head_dim", maxHeadDim, std::nullopt);
  config.linearConvKernelDim =
      either("short_conv_kernel_size", "linear_conv_kernel_dim", 16, 4);
  if (config.linearConvKernelDim == 1)
    fields.refuse("linear_conv_kernel_dim", "a convolution of one token is not "
                                            "supported, 2 to 16 are");

  // null selects another gate formula; leaving the field out does not.
  StringRef boundKeys[] = {"gate_lower_bound", "linear_lower_bound"};
  FieldReader *readers[] = {&nested, &fields};
  std::optional<double> bound;
  for (auto [key, reader] : zip_equal(boundKeys, readers)) {
    if (reader->isNull(key))
      reader->refuse(key, "null (the unbounded gate) is not supported, only a "
                          "negative bound is");
    if (!reader->get(key))
      continue;
    double value = reader->number(key, -1e3, -1e-3, -5.0);
    if (bound && *bound != value)
      reader->refuse(key, "contradicts linear_attn_config.gate_lower_bound");
    bound = value;
  }
  config.linearLowerBound = bound.value_or(-5.0);
}

std::optional<std::vector<int64_t>>
ConfigReader::indexList(const json::Object &block, StringRef key) {
  FieldReader nested(faults, block, nullptr, "linear_attn_config.");
  const json::Value *value = nested.get(key);
  if (!value)
    return std::nullopt;
  std::vector<int64_t> list;
  if (const json::Array *array = value->getAsArray())
    for (const json::Value &entry : *array)
      list.push_back(entry.getAsInteger().value_or(-1));
  if (!value->getAsArray() || is_contained(list, -1)) {
    nested.refuse(key, "must be a list of layer numbers");
    return std::nullopt;
  }
  return list;
}

/// Kinds by the lists of `block`, which count from 0 or from 1: whichever
/// makes them cover the layers and agree with `known`, when that is not empty.
/// nullopt when neither does; `known` when there are no lists.
std::optional<std::vector<AttentionKind>>
ConfigReader::attentionFromLists(const json::Object &block,
                                 const std::vector<AttentionKind> &known) {
  auto kda = indexList(block, "kda_layers");
  auto dsa = indexList(block, "full_attn_layers");
  if (!kda && !dsa)
    return known;
  int64_t count = config.numHiddenLayers;
  std::vector<std::vector<AttentionKind>> readings;
  for (int64_t base : {0, 1}) {
    // With one list the other is the rest.
    AttentionKind rest = kda ? AttentionKind::Dsa : AttentionKind::Kda;
    std::vector<AttentionKind> kinds(count, rest);
    std::vector<bool> seen(count);
    bool fits = true;
    auto mark = [&](const std::vector<int64_t> &list, AttentionKind kind) {
      for (int64_t layer : list) {
        layer -= base;
        if (layer < 0 || layer >= count || seen[layer]) {
          fits = false;
          return;
        }
        seen[layer] = true;
        kinds[layer] = kind;
      }
    };
    if (kda)
      mark(*kda, AttentionKind::Kda);
    if (dsa)
      mark(*dsa, AttentionKind::Dsa);
    if (fits && kda && dsa)
      fits = !is_contained(seen, false);
    if (fits && (known.empty() || kinds == known))
      readings.push_back(std::move(kinds));
  }
  // One list alone may fit both ways; layer_types then has to decide.
  if (readings.empty() || (readings.size() > 1 && known.empty()))
    return std::nullopt;
  return readings[0];
}

void ConfigReader::readLayerKinds() {
  std::vector<AttentionKind> kinds;
  for (int choice : fields.choices(
           "layer_types", {"linear_attention", "deepseek_sparse_attention"},
           config.numHiddenLayers))
    kinds.push_back(choice == 0 ? AttentionKind::Kda : AttentionKind::Dsa);
  if (fields.get("layer_types") && kinds.empty())
    return;

  const json::Value *value = fields.get("linear_attn_config");
  const json::Object *block = value ? value->getAsObject() : nullptr;
  if (block) {
    auto agreed = attentionFromLists(*block, kinds);
    if (!agreed) {
      faults.push_back(
          kinds.empty()
              ? "linear_attn_config.kda_layers / full_attn_layers: do not name "
                "each layer once, counted from 0 or from 1; give layer_types"
              : "linear_attn_config.kda_layers / full_attn_layers: contradict "
                "layer_types, counted from 0 and from 1");
      return;
    }
    kinds = std::move(*agreed);
  }
  for (int64_t layer = 0; layer < config.numHiddenLayers; ++layer) {
    // The release's rule, where the file says nothing.
    AttentionKind kind = !kinds.empty()   ? kinds[layer]
                         : layer % 4 == 3 ? AttentionKind::Dsa
                                          : AttentionKind::Kda;
    config.layers.push_back({kind, FfnKind::Dense});
  }
}

void ConfigReader::readFfnKinds(int64_t count) {
  std::vector<int> kinds =
      fields.choices("mlp_layer_types", {"dense", "sparse"}, count);
  int64_t dense = fields.integer("first_k_dense_replace", 0, maxLayers, 3);
  for (auto [i, layer] : enumerate(config.layers)) {
    bool byCount = static_cast<int64_t>(i) >= dense;
    bool moe = kinds.empty() ? byCount : kinds[i] == 1;
    if (moe != byCount && fields.get("first_k_dense_replace")) {
      fields.refuse("first_k_dense_replace",
                    "contradicts mlp_layer_types at layer " + Twine(i));
      return;
    }
    layer.ffn = moe ? FfnKind::Moe : FfnKind::Dense;
  }
}

void ConfigReader::readTokens() {
  fields.ids("eos_token_id", config.vocabSize, config.eosTokenIds);
  auto id = [&](StringRef key) {
    return static_cast<int32_t>(
        fields.integer(key, -1, config.vocabSize - 1, -1));
  };
  config.padTokenId = id("pad_token_id");
  config.imageTokenId = id("image_token_id");
  config.imageStartTokenId = id("image_start_token_id");
  config.imageEndTokenId = id("image_end_token_id");
  config.videoTokenId = id("video_token_id");
  config.videoStartTokenId = id("video_start_token_id");
  config.videoEndTokenId = id("video_end_token_id");
  config.hasVision = fields.get("vision_config") != nullptr;
  config.generation.stopIds = config.eosTokenIds;
}

void ConfigReader::refuseUnsupported() {
  fields.expect("hidden_act", "silu");
  fields.expect("attention_bias", false);
  fields.expect("tie_word_embeddings", false);
  fields.expect("mla_use_nope", true);
  fields.expect("index_kpool_compress", true);
  fields.expect("index_kpool_always_select_tail", true);
  fields.expect("norm_topk_prob", true);
  fields.expect("n_group", 1);
  fields.expect("topk_group", 1);
  fields.expect("scoring_func", "sigmoid");
  fields.expect("topk_method", "noaux_tc");
  fields.expect("moe_router_dtype", "float32");
  fields.expect("mhc", true);
  fields.expect("num_key_value_heads", config.numAttentionHeads);
  // The trunk rotates nothing. Without rotated dimensions the rope fields have
  // no meaning, but two of them that differ show a damaged file.
  fields.expect("qk_rope_head_dim", 0);
  fields.expect("qk_head_dim", config.qkHeadDim);
  if (const json::Object *rope = fields.child("rope_parameters"))
    if (const json::Value *nested = rope->get("rope_theta"))
      if (const json::Value *theta = fields.get("rope_theta"))
        if (!(*theta == *nested))
          fields.refuse("rope_theta", "contradicts rope_parameters.rope_theta "
                                      "= " +
                                          shortText(*nested));
  fields.choices("indexer_types", {"full"}, config.numHiddenLayers);
}

Expected<Config> Config::parse(StringRef text, StringRef name) {
  Expected<json::Object> file = parseJsonText(text, name);
  if (!file)
    return file.takeError();
  const json::Value *nested = file->get("text_config");
  if (nested && !nested->getAsObject())
    return createStringError(name + ": text_config = " + shortText(*nested) +
                             ": must be an object");

  std::string modelType = file->getString("model_type").value_or("").str();
  if (modelType != (nested ? "glm5_next" : "glm5_next_text") &&
      !(modelType == "glm5_next" && !nested))
    return createStringError(name + ": model_type = \"" + modelType +
                             "\": is not supported, only glm5_next "
                             "(GLM-5.3-Flash) is");
  const json::Object &inner = nested ? *nested->getAsObject() : *file;
  ConfigReader reader(inner, nested ? &*file : nullptr);
  StringRef innerType = inner.getString("model_type").value_or(modelType);
  if (innerType != modelType && innerType != "glm5_next_text")
    reader.faults.push_back(("text_config.model_type = \"" + innerType +
                             "\": is not supported, only glm5_next_text is")
                                .str());
  // Where both levels have the field, the inner one hides the outer.
  if (nested && file->getBoolean("tie_word_embeddings").value_or(false))
    reader.faults.push_back("tie_word_embeddings = true: is not supported, "
                            "only false is");
  reader.config.modelType = std::move(modelType);
  reader.read();
  if (Error error = joinFaults(name, reader.faults))
    return error;
  return std::move(reader.config);
}

} // namespace glm::glm53
