//===- Weights.h - The model's weights and where they lie -------*- C++ -*-===//
//
// The full list of weights that a Config implies, under canonical names, and
// for each of them the bytes of the checkpoint that form it. `WeightInfo` says
// what `Weight` of runtime/plan/plan.fbs says, field by field.
//
// Canonical names are checkpoint names without the wrappers `model.`,
// `model.language_model.`, `language_model.` and `language_model.model.` and
// without a trailing `.weight`: `embed_tokens`, `layers.3.self_attn.q_proj`,
// `layers.3.self_attn.indexer.k_norm` (and `...k_norm.bias`). All experts of a
// layer form one weight: `layers.3.mlp.experts.gate_proj`. The names that
// transformers uses in memory (fused conv1d, gate_up_proj, attn_hc, ...) are
// understood; fused tensors are split by offset, nothing is copied.
//
// How a weight is packed is decided by what is stored, never by config.json;
// contradictions between the two are warnings.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_WEIGHTS_H
#define GLM_MODELS_GLM53_WEIGHTS_H

#include "models/glm53/Config.h"
#include "runtime/safetensors/checkpoint.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace glm::glm53 {

struct WeightInfo {
  enum class Form {
    Dense,        ///< One piece, row-major.
    ExpertsDense, ///< shape [E, N, K]; E pieces [N, K].
    ExpertsGptq4, ///< shape [E, N, K]; per expert qweight, then scales.
    DenseGptq4,   ///< shape [N, K]; qweight, then scales.
    DenseInt8     ///< shape [N, K]; codes, then scales.
  };
  enum class DType { F32, BF16, F16 };

  /// What reads the weight, and so which forms it may have.
  enum class Use {
    Other,      ///< Dense alone, or routed experts.
    Linear,     ///< Any form of one matrix, but never quantised here: router
                ///< and mHC maps, whose errors move whole tokens.
    Projection, ///< Any form; quantised with DenseForm.
    Head        ///< Any form; quantised when the head is asked for too.
  };

  /// How tensor parallelism divides the weight among ranks: not at all, along
  /// its first dimension (N of experts), or along its last.
  enum class Split { None, Rows, Columns };

  /// A piece that is no contiguous range: `rows` ranges of `rowBytes`, the
  /// starts of which are `stride` bytes apart.
  struct Cut {
    uint64_t rows, rowBytes, stride;
  };

  /// A byte range of files()[file].
  struct Piece {
    uint32_t file;
    uint64_t offset;
    uint64_t size;
  };

  std::string name;
  Form form = Form::Dense;
  Use use = Use::Other;
  Split split = Split::None;
  DType dtype = DType::BF16; ///< Of Dense and ExpertsDense, and of `source`.
  /// Outermost first. The depthwise convolutions are [channels, kernel].
  std::vector<int64_t> shape;
  int64_t group = 0;         ///< Coded forms: columns a scale.
  /// Empty when there is no checkpoint. Of one of several ranks (shard): those
  /// of rank 0, then those of rank 1, ...; of all ranks when they are equal.
  std::vector<Piece> pieces;
  /// Empty, or how each piece of a matrix lies in its file (codes, scales).
  std::vector<Cut> cuts;
  /// The stored [N, K] of `dtype` that the weight is to be quantised from;
  /// then it has no pieces yet.
  std::optional<Piece> source;

  bool isExperts() const {
    return form == Form::ExpertsDense || form == Form::ExpertsGptq4;
  }
  /// Integer codes with group scales.
  bool isCoded() const {
    return form != Form::Dense && form != Form::ExpertsDense;
  }
  /// Bytes of all pieces together, from form, dtype and shape alone.
  uint64_t bytes() const;
};

/// What becomes of linears that are stored unquantised.
enum class DenseForm { AsStored, Int8, Int4 };

/// Columns a scale of weights that are quantised here.
inline constexpr int64_t kQuantisedGroup = 128;

struct WeightOptions {
  /// Also take the MTP layer (`layers.<num_hidden_layers>`). Without it its
  /// tensors are known and ignored.
  bool mtp = false;
  /// Form of the projections; those that are stored packed stay as they are.
  DenseForm dense = DenseForm::AsStored;
  bool denseHead = false; ///< And of lm_head.
};

class Weights {
public:
  /// A weight file; only files that a piece lies in are listed.
  struct File {
    std::string path;
    uint64_t size;
  };

  /// Finds every expected weight in the checkpoint and gives every stored
  /// tensor its place: used, known and ignored (vision tower, MTP layer, stale
  /// copies), or unknown, which is an error. Packed zero points are read and
  /// checked. The error names file, tensor, what was found and the remedy; each
  /// kind of fault lists its first ten and a count.
  static llvm::Expected<Weights> resolve(const Config &config,
                                         const Checkpoint &checkpoint,
                                         WeightOptions options = {});

  /// The weights without a checkpoint: BF16 (F32 where the release stores
  /// that), routed experts int4 in groups of the config's size (128 when it
  /// names none), projections as the options say, no pieces.
  static Weights declare(const Config &config, WeightOptions options = {});

  /// What one of `ranks` has of these weights, and where the bytes of each
  /// rank lie. A weight that is still to be quantised loses its source: shard
  /// when it has been. What is divided already stays as it is.
  ///
  /// Errors name the weight and the numbers that do not divide.
  llvm::Expected<Weights> shard(int64_t ranks) const;
  /// The same of the routed experts alone; all other weights stay whole.
  llvm::Expected<Weights> shardExperts(int64_t ranks) const;

  /// nullptr when the model has no weight of that name.
  const WeightInfo *find(llvm::StringRef name) const;

  /// In the order of execution.
  llvm::ArrayRef<WeightInfo> all() const { return weights; }
  llvm::MutableArrayRef<WeightInfo> all() { return weights; }
  llvm::ArrayRef<File> files() const { return weightFiles; }

  /// One line each; includes those of the checkpoint.
  llvm::ArrayRef<std::string> warnings() const { return messages; }

private:
  friend class WeightResolver; // Fills a result piece by piece.
  void indexNames();
  void quantise(const WeightOptions &options);

  std::vector<WeightInfo> weights;
  llvm::StringMap<size_t> byName;
  std::vector<File> weightFiles;
  std::vector<std::string> messages;
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_WEIGHTS_H
