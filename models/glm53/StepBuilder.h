//===- StepBuilder.h - One step of the decoder, op by op --------*- C++ -*-===//
//
// Emits the body of one entry function. Method names and the order of calls
// follow docs/spec/model.md; the attention layers are in StepAttention.cpp, the
// feed-forward layers in StepFfn.cpp.
//
// Shapes in comments: T rows, H hidden, n streams.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_STEPBUILDER_H
#define GLM_MODELS_GLM53_STEPBUILDER_H

#include "models/glm53/Build.h"
#include "models/glm53/RowwiseBuilder.h"

namespace glm::glm53 {

class StepBuilder {
public:
  StepBuilder(mlir::OpBuilder &b, const Config &config,
              const BuildOptions &options, int64_t sequences, int64_t tokens,
              int64_t logitRows)
      : b(b), config(config), options(options), rows(sequences * tokens),
        sequences(sequences), tokens(tokens), logitRows(logitRows) {}

  /// Emits the whole function at the builder's insertion point.
  void emit(llvm::StringRef name, llvm::StringRef kind);

private:
  using Value = mlir::Value;

  // --- names and types
  mlir::Location loc(const llvm::Twine &what);
  mlir::RankedTensorType act(llvm::ArrayRef<int64_t> shape); // f32 or bf16
  mlir::RankedTensorType f32(llvm::ArrayRef<int64_t> shape);
  mlir::FlatSymbolRefAttr symbol(const llvm::Twine &name);
  std::string layerName(const llvm::Twine &what) const;
  Value weight(const llvm::Twine &name);      // of the model
  Value layerWeight(const llvm::Twine &name); // of the current layer
  void tap(llvm::StringRef what, Value v);

  // --- pieces that several layers share
  Value linear(const llvm::Twine &what, Value x, Value w,
               mlir::RankedTensorType type);
  Value rmsNorm(const llvm::Twine &what, Value x, Value w); // [T,W] -> act
  Value swiglu(const llvm::Twine &what, Value gate, Value up);
  /// The sum over ranks of `part`; `part` itself when there is one.
  Value sumOfRanks(const llvm::Twine &what, Value part);
  Value head(Value h); // [R,H] -> logits f32 [R,V]

  // --- residual streams (mHC)
  struct HcMap {
    Value pre;  // [T, n]
    Value post; // [T, n]
    Value comb; // [T, n, n]
  };
  Value expandStreams(Value embedded);                   // [T,H] -> [T,n,H]
  HcMap hcMap(llvm::StringRef which, Value streams);     // "attn" or "ffn"
  Value collapse(llvm::StringRef which, const HcMap &, Value streams);
  Value mix(llvm::StringRef which, const HcMap &, Value y, Value streams);
  Value meanStreams(Value streams);                      // [R,n,H] -> [R,H] f32

  // --- sub-layers: normalised [T,H] -> f32 [T,H]
  Value kda(Value x);
  Value dsa(Value x);
  Value denseFfn(llvm::StringRef prefix, Value x);
  Value moe(Value x);
  std::pair<Value, Value> pagedRows(Value ids); // chosen [T, top_k], arrived [E, 3]

  // StepAttention.cpp
  Value kdaHeads(llvm::StringRef which, Value x, bool normalise, double scale);
  Value kdaGate(Value x);
  Value kdaOutput(Value o, Value x);
  Value selectPools(Value x, Value qr);

  mlir::OpBuilder &b;
  const Config &config;
  const BuildOptions &options;
  int64_t rows, sequences, tokens, logitRows;
  int64_t layer = -1;
  int64_t moeLayer = 0; // MoE layers before this one
  mlir::ModuleOp module;
  Value seqs;
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_STEPBUILDER_H
