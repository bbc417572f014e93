// One launch of a plan beside its reference function.
//
// Before a launch runs, `Prepare` copies its buffers and states; after it ran,
// `Check` widens the copies to fp32, runs the reference function on them and
// compares every buffer and state as a whole. What the reference leaves alone must
// be as it was, so a kernel that writes where it should not, or does not where it
// should, is found as well.
#ifndef GLM_TOOLS_GLM_CHECK_LAUNCH_CHECK_H_
#define GLM_TOOLS_GLM_CHECK_LAUNCH_CHECK_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/executor/executor.h"

namespace glm::check {

struct LaunchResult {
  uint32_t launch = 0;
  std::string op;
  std::string kernel;
  std::string origin;
  double share = 0;      // worst |got - want| / allowed; > 1 is outside
  double max_abs = 0;
  std::string where;     // argument and element of the worst
  int64_t elements = 0;  // compared
};

class LaunchCheck {
 public:
  // `entry` of the executor's plan; all slots of the executor take part.
  LaunchCheck(Executor& executor, uint32_t entry);

  // Keeps what launch `launch` of the device will touch, before it runs.
  absl::Status Prepare(uint32_t launch);
  // Compares each operation of the prepared launch, after it ran. An operation
  // of a group gets what the group's earlier ones left.
  absl::StatusOr<std::vector<LaunchResult>> Check();

  uint32_t launches() const { return static_cast<uint32_t>(ranges_.size()); }

 private:
  struct Operand;
  absl::StatusOr<LaunchResult> CheckOne(uint32_t launch);
  absl::Status Load(uint32_t launch, uint32_t arg, Operand& operand);
  absl::Status ReadSlots(uint32_t state, std::vector<std::byte>& bytes);
  absl::StatusOr<std::vector<float>*> WeightValues(uint32_t weight);

  Executor& executor_;
  uint32_t entry_;
  std::vector<OperationRange> ranges_;  // the launches of the device
  OperationRange prepared_;
  // What operations of the prepared launch that were compared have touched: a
  // buffer's writer comes before its readers.
  std::set<uint32_t> touched_buffers_, touched_states_;
  // Before the launch, by buffer and by state.
  std::map<uint32_t, std::vector<std::byte>> buffers_;
  std::map<uint32_t, std::vector<std::byte>> states_;
  std::map<uint32_t, std::vector<float>> weights_;      // widened, kept
};

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_LAUNCH_CHECK_H_
