//===- WeightResolver.h - Finds weights in a checkpoint ---------*- C++ -*-===//
//
// The work behind Weights::resolve. One object resolves one checkpoint once.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_WEIGHTRESOLVER_H
#define GLM_MODELS_GLM53_WEIGHTRESOLVER_H

#include "models/glm53/QuantizationClaims.h"
#include "models/glm53/StoredTensors.h"
#include "models/glm53/Weights.h"

namespace glm::glm53 {

class WeightResolver {
public:
  WeightResolver(const Config &config, const Checkpoint &checkpoint,
                 StoredTensors tensors, WeightOptions options);

  llvm::Expected<Weights> run();

private:
  // Before anything is taken: faults that would drown in missing tensors.
  llvm::Error refuseOtherPackings();
  llvm::Error checkLayerKinds();
  llvm::Error checkMtp();

  // Each gives `info` its pieces, or adds a fault.
  void resolveDense(WeightInfo &info);
  void resolveExperts(WeightInfo &info);
  void resolvePlainExperts(WeightInfo &info);
  void resolvePackedExperts(WeightInfo &info);
  bool resolveFusedConv(WeightInfo &info);
  bool resolveFusedExperts(WeightInfo &info);

  /// Takes a tensor whose shape must be `shape` and whose dtype must be one
  /// that we read; sets info.dtype from the first and holds the others to it.
  void takeFloat(StoredTensor &tensor, WeightInfo &info,
                 llvm::ArrayRef<int64_t> shape);
  /// Codes and scales of one int4 [n, k] become two pieces; zero points are
  /// read and checked.
  void takeGptq4(const llvm::Twine &name, int64_t n, int64_t k,
                 WeightInfo &info);
  StoredTensor *takePacked(const llvm::Twine &name, StDType dtype,
                           llvm::ArrayRef<int64_t> shape);
  void checkZeroPoints(const StoredTensor &tensor, int64_t n);
  bool checkShape(const StoredTensor &tensor, llvm::ArrayRef<int64_t> shape);
  bool setDType(const StoredTensor &tensor, WeightInfo &info);
  void addPiece(WeightInfo &info, const StoredTensor &tensor, uint64_t offset,
                uint64_t size);

  // After everything is taken.
  void sortOutTheRest();
  llvm::Error joinFaults();

  std::string mtpPrefix() const;

  const Config &config;
  const Checkpoint &checkpoint;
  StoredTensors stored;
  WeightOptions options;
  QuantizationClaims claims;
  Weights result;
  std::vector<int32_t> fileNumbers; ///< Checkpoint file -> result file, -1.

  FaultList missing, shapes, dtypes, mixed, packedDense, zeroPoints, actOrder,
      unknown;
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_WEIGHTRESOLVER_H
