// The tail of a step that chooses its tokens on the device: the three launches
// of docs/spec/sampling.md, their memory, and the inputs and results of steps
// that are enqueued ahead. Private to runtime/executor.
//
// Two halves of pinned memory take turns, one a step, so that the host can
// write a step's inputs while the step before runs.
#ifndef GLM_RUNTIME_EXECUTOR_TOKEN_SAMPLER_H_
#define GLM_RUNTIME_EXECUTOR_TOKEN_SAMPLER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/executor/bound_entry.h"
#include "runtime/executor/step_runner.h"
#include "runtime/plan/plan_generated.h"

namespace glm {

// Where everything lies: a function of the plan's tables.
struct SamplerLayout {
  std::array<const plan::Kernel*, 3> kernels = {};  // best, weigh, pick
  uint64_t vocab = 0;
  uint32_t parts = 0;
  uint32_t rows = 0;         // most rows of logits of a step that samples
  uint64_t slot_bytes = 0;   // of one slot
  uint64_t half_bytes = 0;   // of a half of the pinned memory
  uint64_t step_tokens = 0;  // most rows of a step
  uint64_t sequences = 0;    // most sequences of a step

  // nullopt: the plan has no kernels that sample.
  static std::optional<SamplerLayout> Of(const plan::Plan& plan);

  uint64_t DeviceBytes(uint32_t slots) const;
  uint64_t PinnedBytes() const { return 2 * half_bytes; }
};

// Not thread-safe.
class TokenSampler {
 public:
  // `queue` and what `module` loaded outlive the result.
  static absl::StatusOr<std::unique_ptr<TokenSampler>> Create(
      const SamplerLayout& layout, Device& device, Queue& queue, Module& module,
      uint32_t slots, bool graphs);

  // Steps of drafted tokens are not sampled: their rows depend on each other.
  static bool Samples(const plan::Entry& entry);

  // Waits for what is enqueued.
  absl::Status Begin(uint32_t slot, const SamplerOptions& options,
                     std::span<const int32_t> tokens);

  // StepRunner's, of checked inputs.
  absl::Status Enqueue(const BoundEntry& bound, const Memory& arena,
                       const StepInputs& inputs);
  absl::StatusOr<std::span<const int32_t>> Take();

 private:
  struct Half {
    std::unique_ptr<Event> done;
    std::vector<uint32_t> positions;  // of the rows that get a token, or ~0
    std::vector<int32_t> tokens;      // taken
  };
  using GraphKey = std::tuple<const BoundEntry*, int, bool>;

  TokenSampler(const SamplerLayout& layout, Device& device, Queue& queue)
      : layout_(layout), device_(device), queue_(queue) {}

  // Offsets inside a half, and inside scratch_.
  uint64_t IdsAt() const { return 0; }
  uint64_t SeqsAt() const;
  uint64_t RowsAt() const;
  uint64_t PicksAt() const;
  uint64_t SampledAt() const;
  std::byte* HalfData(int half, uint64_t offset) const;

  void WriteInputs(int half, const plan::Entry& entry,
                   const StepInputs& inputs);
  absl::Status EnqueueAll(const BoundEntry& bound, const Memory& arena,
                          int half, bool follows);
  absl::Status EnqueueTail(const plan::Entry& entry, const Memory& arena);

  const SamplerLayout layout_;
  Device& device_;
  Queue& queue_;
  std::array<const Kernel*, 3> kernels_ = {};
  bool graphs_ = true;
  std::unique_ptr<Memory> slots_;
  std::unique_ptr<Memory> scratch_;
  std::unique_ptr<Memory> pinned_;
  std::array<Half, 2> halves_;
  std::map<GraphKey, std::unique_ptr<Graph>> captured_;
  int next_ = 0;     // the half of the next step
  int waiting_ = 0;  // steps enqueued and not taken
  uint32_t sampled_ = 0;  // rows of the step enqueued last
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_TOKEN_SAMPLER_H_
