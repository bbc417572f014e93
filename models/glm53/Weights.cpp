//===- Weights.cpp - The model's weights ----------------------------------===//

#include "models/glm53/Weights.h"
#include "models/glm53/WeightInventory.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace glm::glm53 {

uint64_t WeightInfo::bytes() const {
  if (form == Form::ExpertsGptq4) {
    uint64_t e = shape[0], n = shape[1], k = shape[2];
    return e * n *
           (4 * divideCeil(k, uint64_t(8)) +
            2 * divideCeil(k, uint64_t(group)));
  }
  uint64_t size = dtype == DType::F32 ? 4 : 2;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

Weights Weights::declare(const Config &config, WeightOptions options) {
  Weights result;
  result.weights = expectedWeights(config, options.mtp);
  result.indexNames();
  return result;
}

const WeightInfo *Weights::find(StringRef name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &weights[it->second];
}

void Weights::indexNames() {
  for (size_t i = 0; i < weights.size(); ++i)
    byName[weights[i].name] = i;
}

} // namespace glm::glm53
