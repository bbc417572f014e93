// Where the weight files of a plan lie.
#ifndef GLM_RUNTIME_EXECUTOR_WEIGHT_PATH_H_
#define GLM_RUNTIME_EXECUTOR_WEIGHT_PATH_H_

#include <string>
#include <vector>

#include "runtime/plan/plan_reader.h"

namespace glm {

// The place of the weight file that the plan calls `path`: the first of the
// folders `weights_dirs` that has a file of its name, or else where the plan
// says. It need not exist.
std::string WeightFilePath(const PlanFile& plan, const std::string& path,
                           const std::vector<std::string>& weights_dirs);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_WEIGHT_PATH_H_
