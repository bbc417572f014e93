//===- Build.h - The decoder as a glm module --------------------*- C++ -*-===//
//
// Emits what the model says, operation by operation, at the granularity of its
// equations (docs/spec/model.md gives them). No fusion is hidden here: every
// line of the specification is one operation, so that the unfused plan is an
// honest baseline and every fusion is the work of a pass.
//
// One function a step: `decode_b<S>` for S sequences of one token and
// `prefill_n<N>` for N tokens of one sequence; `verify_n<N>` as that with logits of
// all rows. Arguments and result are those of
// docs/spec/step.md.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_BUILD_H
#define GLM_MODELS_GLM53_BUILD_H

#include "models/glm53/Config.h"
#include "models/glm53/Weights.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace glm::glm53 {

struct BuildOptions {
  /// Activations, convolution windows and caches; sums are fp32 either way.
  enum class Math { Fp32, Bf16 } math = Math::Bf16;
  std::vector<int64_t> decodeBatches = {1}; ///< S of each decode function.
  std::vector<int64_t> verifyTokens;        ///< N of each verify function.
  int64_t prefillChunk = 256;               ///< N of the prefill function.
  int64_t logitRows = 8;   ///< Rows of a prefill step that may ask for logits.
  int64_t maxContext = 0;  ///< Tokens a slot holds, at least indexKpool.
  /// With more than one, the steps are those of a rank: config and weights are
  /// what Config::shard and Weights::shard leave of the whole model.
  int64_t ranks = 1;
  /// Routed experts come and go as the steps need them (docs/spec/paging.md).
  bool pagedExperts = false;
};

/// A module of the weights alone, for what gives them pieces; takePieces puts
/// those in `weights`, in whose order they are. Some of them may be divided
/// among `ranks`.
mlir::OwningOpRef<mlir::ModuleOp> declareWeights(mlir::MLIRContext *context,
                                                 const Weights &weights,
                                                 int64_t ranks);
void takePieces(Weights &weights, mlir::ModuleOp module);

/// Builds and verifies the module. Module attributes `glm.model`,
/// `glm.generation` and `glm.math` carry what the plan needs besides code.
mlir::OwningOpRef<mlir::ModuleOp> buildModule(mlir::MLIRContext *context,
                                              const Config &config,
                                              const Weights &weights,
                                              const BuildOptions &options);

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_BUILD_H
