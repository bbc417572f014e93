// Compares what a plan computed with a golden case, tensor by tensor.
#ifndef GLM_TOOLS_GLM_CHECK_COMPARISON_H_
#define GLM_TOOLS_GLM_CHECK_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/glm-check/golden_file.h"
#include "tools/glm-check/replay.h"

namespace glm::check {

// The result for one tensor.
struct TensorResult {
  std::string name;        // len200.prefill.layer3.streams
  double rel_l2 = 0;       // |got - want| / |want|, over the whole tensor
  double max_abs = 0;      // largest |got - want|
  std::string worst;       // index of that element: [5, 2, 17]
  int64_t wrong_rows = 0;  // rows whose ids differ as sets (id tensors)
  int64_t rows = 0;
  bool ids = false;        // an id tensor: only wrong_rows counts
};

struct CaseResult {
  std::string name;
  std::vector<TensorResult> tensors;
  int64_t tokens = 0;       // greedy choices compared
  int64_t wrong_tokens = 0; // argmax differs from the recorded token
  int64_t first_wrong = -1; // step of the first
  double step_max_abs = 0;  // over all step logits
  double prefill_rel_l2 = 0;
};

// `pool` is the number of tokens of an index pool (Model.pool_tokens).
absl::StatusOr<CaseResult> Compare(const GoldenCase& golden, const Replay& replay,
                                   int64_t pool);

// |a - b| / |b| of two tensors of equal size.
double RelL2(const std::vector<double>& got, const std::vector<double>& want);

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_COMPARISON_H_
