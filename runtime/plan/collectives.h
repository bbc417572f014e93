// Launches that the runtime does itself, between devices: docs/spec/kernels.md,
// Collectives. Their kernels have a name, parameters and no code.
#ifndef GLM_RUNTIME_PLAN_COLLECTIVES_H_
#define GLM_RUNTIME_PLAN_COLLECTIVES_H_

#include <string_view>

#include "runtime/plan/plan_generated.h"

namespace glm::plan {

inline bool IsAllReduce(const Kernel& kernel) {
  return std::string_view(kernel.op()->c_str()) == "all_reduce";
}

inline bool IsCollective(const Kernel& kernel) {
  return IsAllReduce(kernel) ||
         std::string_view(kernel.op()->c_str()) == "all_gather";
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_COLLECTIVES_H_
