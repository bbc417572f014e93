// What `glmc explain --json` says of a step, for comparison with a measurement.
#ifndef GLM_TOOLS_GLMRUN_PREDICTION_H_
#define GLM_TOOLS_GLMRUN_PREDICTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/executor/step_runner.h"

namespace glm::tools {

struct Prediction {
  std::string machine;
  double seconds = 0;        // of a step
  double floor_seconds = 0;  // if every byte moved once at full speed
};

// The prediction of `entry` in the file `path`.
// Errors: kNotFound (file or entry), kInvalidArgument (not explain's JSON, or
// of another plan), each naming the file and the remedy.
absl::StatusOr<Prediction> ReadPrediction(const std::string& path,
                                          const EntryInfo& entry);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_PREDICTION_H_
