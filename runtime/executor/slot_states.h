// Copies what one slot holds to memory of the host and back: states of constant
// size whole, of those that have a row a token the rows of the tokens that
// there are. Private to runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_SLOT_STATES_H_
#define GLM_RUNTIME_EXECUTOR_SLOT_STATES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan_generated.h"

namespace glm {

// Not thread-safe. Functions and errors are those of StepRunner.
class SlotStates {
 public:
  // `states`: all states of all slots, state by state; null where the plan has
  // none. All outlive the result; nobody else uses the queue meanwhile.
  SlotStates(const plan::Plan& plan, uint32_t slots, const Memory* states,
             Device& device, Queue& queue);

  absl::StatusOr<uint64_t> Bytes(uint32_t tokens) const;
  absl::Status Save(uint32_t slot, uint32_t tokens, std::span<std::byte> to);
  absl::Status Restore(uint32_t slot, uint32_t tokens,
                       std::span<const std::byte> from);

 private:
  struct State {
    uint64_t offset = 0;          // of slot 0, in the memory
    uint64_t stride = 0;          // bytes of a slot
    uint64_t row_bytes = 0;       // where it has rows
    uint32_t tokens_per_row = 0;  // 0: constant size

    uint64_t BytesOf(uint32_t tokens) const;
  };
  struct Range {
    uint64_t offset = 0;  // in the memory
    uint64_t bytes = 0;
  };

  absl::StatusOr<std::vector<Range>> RangesOf(uint32_t slot, uint32_t tokens,
                                              uint64_t bytes) const;
  absl::StatusOr<Memory*> Between(uint64_t bytes);

  const uint32_t slots_;
  const uint32_t max_tokens_;
  std::vector<State> layout_;
  const Memory* states_;
  Device& device_;
  Queue& queue_;
  std::unique_ptr<Memory> between_;  // shared, where the host needs it
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_SLOT_STATES_H_
