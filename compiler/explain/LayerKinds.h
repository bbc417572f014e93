//===- LayerKinds.h - Costs by kernel and by layer --------------*- C++ -*-===//
//
// Sums of an EntryCost. Layers that launch the same kernels equally often are
// one kind; which model a layer belongs to plays no part.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_EXPLAIN_LAYERKINDS_H
#define GLM_COMPILER_EXPLAIN_LAYERKINDS_H

#include "compiler/explain/CostModel.h"

#include <map>

namespace glm::explain {

struct NamedCost {
  std::string name;
  uint64_t launches = 0; // of the plan, not of the device
  Work work;
  Time time;
};

/// By op or, with `byKernel`, by kernel; longest first.
std::vector<NamedCost> costsByOp(const plan::Plan &plan, const EntryCost &cost,
                                 bool byKernel);

struct LayerKind {
  std::string stack;                       // layers; empty: outside of all layers
  std::vector<unsigned> layers;            // their numbers, ascending
  std::map<std::string, uint64_t> kernels; // launches of a layer
  // Of all the kind's layers together.
  uint64_t launches = 0;
  uint64_t devices = 0; // a device launch counts where it begins
  Work work;
  Time time; // with all-reduces

  /// "34 layers: 0-2, 4-6, ..., 44" or "outside layers"; with `all` without gap.
  std::string name(bool all = false) const;
  /// Layers, 1 for what is outside.
  size_t count() const { return layers.empty() ? 1 : layers.size(); }
};

/// In order of their first layer; what is in no layer comes last.
std::vector<LayerKind> layerKinds(const plan::Plan &plan, const EntryCost &cost);

/// Of each kind the ops that not every kind of layer has, longest first: what a
/// reader may know it by. Empty for what is outside.
std::vector<std::vector<std::string>> distinctOps(const plan::Plan &plan,
                                                  const EntryCost &cost,
                                                  llvm::ArrayRef<LayerKind> kinds);

} // namespace glm::explain

#endif // GLM_COMPILER_EXPLAIN_LAYERKINDS_H
