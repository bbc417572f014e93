// Judges a plan by a golden file: feeds the recorded tokens, compares what the
// plan computed, and holds it to bounds. No printing, no choice of a device.
#ifndef GLM_TOOLS_GLM_CHECK_GOLDEN_CHECK_H_
#define GLM_TOOLS_GLM_CHECK_GOLDEN_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"
#include "tools/glm-check/comparison.h"
#include "tools/glm-check/golden_file.h"

namespace glm::check {

struct GoldenBounds {
  // fp32 plans: every tensor on its own.
  double rel_l2 = 5e-5;
  double step_max_abs = 1e-3;  // instead, in files of greedy runs
  // bf16 plans: the mean over cases. A golden file of the reference's own bf16
  // run, when there is one, sets the bound by its own distance.
  double mean_rel_l2 = 0.15;
  std::string baseline;
  // Percent of the greedy tokens that must agree; -1: all of them in seven of
  // eight cases.
  double min_greedy = -1;
  bool mean = false;  // judge fp32 plans as bf16 ones
};

struct GoldenVerdict {
  std::string math;  // of the plan
  double bound = 0;  // of relative L2: each tensor's, or the mean's
  double mean_rel_l2 = 0;
  double greedy_percent = 100;
  std::vector<CaseResult> cases;
  std::vector<std::string> reasons;  // what is outside its bound; empty: pass

  bool pass() const { return reasons.empty(); }
  // The tensor, ids aside, that is furthest off; null when there is none.
  const TensorResult* Worst() const;
};

// `golden` was read from `path`, which texts name. Uses slot 0.
//
// Errors: those of steps and of reading the baseline; kInvalidArgument when the
// file is not of this model or holds nothing to compare.
absl::StatusOr<GoldenVerdict> CheckGolden(ObservableRunner& executor,
                                          const std::vector<GoldenCase>& golden,
                                          const std::string& path,
                                          const GoldenBounds& bounds);

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_GOLDEN_CHECK_H_
