// Runs the tokens of a golden case through a plan and keeps what the plan's taps
// and logits hold for the last positions of the prompt and for each step.
#ifndef GLM_TOOLS_GLM_CHECK_REPLAY_H_
#define GLM_TOOLS_GLM_CHECK_REPLAY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"

namespace glm::check {

// One row of a tap: F32 and BF16 widened, I32 as numbers.
using Row = std::vector<double>;

struct Replay {
  // By tap name (layer3.streams): rows of the last positions, oldest first.
  std::map<std::string, std::vector<Row>> prefill;
  std::map<std::string, std::vector<Row>> decode0;  // first decode step
  std::vector<Row> prefill_logits;                  // last positions
  // step_logits[i] chose step token i: the last row of the prompt, then one row
  // for each token fed.
  std::vector<Row> step_logits;
};

// Feeds `prompt` in prefill steps, then `fed` one by one. Keeps the last
// `positions` positions of the prompt. Uses slot 0.
absl::StatusOr<Replay> RunTokens(ObservableRunner& executor,
                                 const std::vector<int32_t>& prompt,
                                 const std::vector<int32_t>& fed,
                                 int64_t positions);

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_REPLAY_H_
