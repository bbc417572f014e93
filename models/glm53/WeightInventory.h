//===- WeightInventory.h - Every weight that a Config implies ---*- C++ -*-===//

#ifndef GLM_MODELS_GLM53_WEIGHTINVENTORY_H
#define GLM_MODELS_GLM53_WEIGHTINVENTORY_H

#include "models/glm53/Weights.h"

#include <vector>

namespace glm::glm53 {

/// All weights in the order of execution, as the release stores them, routed
/// experts as ExpertsGptq4; no pieces. With `mtp` the MTP layer comes last.
std::vector<WeightInfo> expectedWeights(const Config &config, bool mtp);

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_WEIGHTINVENTORY_H
