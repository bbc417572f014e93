//===- Config.h - The model's config.json -----------------------*- C++ -*-===//
//
// Reads `config.json` and `generation_config.json` of a GLM-5.3-Flash
// checkpoint as they were released, fills what may be left out, and refuses by
// field name and value what this compiler does not do. After a successful parse
// every field is within its limits and the fields agree with each other; nobody
// needs to check them again. Fields carry the names of the file in camelBack.
//
// What this is not: it does not look at weights (Weights.h).
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_CONFIG_H
#define GLM_MODELS_GLM53_CONFIG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace glm::glm53 {

/// How a layer mixes tokens: `layer_types`.
enum class AttentionKind { Kda, Dsa };

/// The feed-forward half of a layer: `mlp_layer_types`.
enum class FfnKind { Dense, Moe };

struct LayerKind {
  AttentionKind attention;
  FfnKind ffn;
};

/// What config.json says about packed weights. The stored tensors decide;
/// this only serves to find contradictions and to plan without weights.
struct Quantization {
  enum class Method { None, Gptq4, Fp8 };
  Method method = Method::None;
  int64_t groupSize = 128; ///< Columns a scale; Gptq4.
  /// `extra_config`: canonical module name (Weights.h) -> bits.
  std::map<std::string, int64_t> moduleBits;
  /// `modules_to_not_convert`, as canonical names.
  std::vector<std::string> notConverted;
};

/// Defaults of sampling, and the ids that end a reply.
struct Generation {
  /// Union of config.json and generation_config.json, each id once.
  std::vector<int32_t> stopIds;
  double temperature = 1.0;
  double topP = 1.0;
};

struct Config {
  /// Parses the text of a config.json; `name` begins every message. The error
  /// lists all faults that were found, one a line.
  static llvm::Expected<Config> parse(llvm::StringRef text,
                                      llvm::StringRef name);

  /// The same for a file of limited size.
  static llvm::Expected<Config> parseFile(llvm::StringRef path);

  /// Reads `dir`/config.json and, where they exist, generation_config.json
  /// and (when config.json has no such block) quantization_config.json.
  static llvm::Expected<Config> load(llvm::StringRef dir);

  /// Merges the text of a generation_config.json into `generation`.
  llvm::Error mergeGeneration(llvm::StringRef text, llvm::StringRef name);

  /// The sizes that one of `ranks` computes with, when heads and the inner
  /// columns of feed-forward layers are divided. Errors name what does not divide.
  llvm::Expected<Config> shard(int64_t ranks) const;

  std::string modelType; ///< glm5_next or glm5_next_text.
  int64_t hiddenSize = 0;
  int64_t numHiddenLayers = 0;
  int64_t numNextnPredictLayers = 0; ///< MTP layers after the trunk: 0 or 1.
  int64_t vocabSize = 0;
  int64_t maxPositionEmbeddings = 0; ///< Tokens.
  double rmsNormEps = 1e-5;

  std::vector<LayerKind> layers; ///< numHiddenLayers entries.

  // KDA.
  int64_t linearNumHeads = 0;
  int64_t linearHeadDim = 0; ///< Of q, k and v.
  int64_t linearConvKernelDim = 0;
  double linearLowerBound = -5.0; ///< gate_lower_bound, < 0.

  // DSA: NoPE MLA and its indexer.
  int64_t numAttentionHeads = 0;
  int64_t qLoraRank = 0;
  int64_t kvLoraRank = 0;
  int64_t qkHeadDim = 0; ///< All of it nope; there is no rope part.
  int64_t vHeadDim = 0;
  int64_t indexNHeads = 0;
  int64_t indexHeadDim = 0;
  int64_t indexTopk = 0;  ///< Tokens, a multiple of indexKpool.
  int64_t indexKpool = 0; ///< Tokens a pool.

  // FFN.
  int64_t intermediateSize = 0;    ///< Dense layers.
  int64_t moeIntermediateSize = 0; ///< Routed and shared experts.
  int64_t nRoutedExperts = 0;
  int64_t numExpertsPerTok = 0;
  int64_t nSharedExperts = 0; ///< Always 1.
  double routedScalingFactor = 1.0;
  double swigluLimit = 0;

  // mHC.
  int64_t hcMult = 0; ///< Residual streams.
  int64_t hcSinkhornIters = 0;
  double hcEps = 0;

  std::vector<int32_t> eosTokenIds;
  int32_t padTokenId = -1;   ///< -1: none.
  int32_t imageTokenId = -1; ///< -1: none; likewise below.
  int32_t imageStartTokenId = -1;
  int32_t imageEndTokenId = -1;
  int32_t videoTokenId = -1;
  int32_t videoStartTokenId = -1;
  int32_t videoEndTokenId = -1;
  bool hasVision = false; ///< A vision_config is there; it is not read.

  Quantization quantization;
  Generation generation;

  /// Rows of an mHC map: n gates in, n gates out, n x n mixing.
  int64_t hcRows() const { return hcMult * (hcMult + 2); }
  /// Channels of q, of k and of v in a KDA layer.
  int64_t linearDim() const { return linearNumHeads * linearHeadDim; }
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_CONFIG_H
