// `Scheduler` decides which step comes next: a chunk of one prompt or a token
// of many sequences. Pure policy: it knows entries and slots, no tokens, no
// device and no requests.
//
//   * Sequences that decode take turns: in a round each of them gets one token,
//     in one step where the largest batch of the plan holds them all, else in
//     several. A step has the smallest batch that fits.
//   * After a round comes one chunk of one prompt; prompts take turns too. So a
//     sequence waits for a chunk at most before its next token, and a prompt
//     for one round and a chunk of each other prompt.
//   * A chunk has the smallest entry that takes all that is left, else the
//     largest: it depends on the prompt alone, never on what else is running.
//
// Next does not change anything, so a step that cannot be run yet is simply
// asked for again.
#ifndef GLM_RUNTIME_ENGINE_SCHEDULER_H_
#define GLM_RUNTIME_ENGINE_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/step_runner.h"

namespace glm {

struct StepChoice {
  uint32_t entry = 0;
  bool prompt = false;          // a chunk of a prompt: one slot
  uint32_t length = 1;          // tokens a slot
  std::vector<uint32_t> slots;  // row by row
};

// Not thread-safe.
class Scheduler {
 public:
  // Errors: kFailedPrecondition when no entry decodes.
  static absl::StatusOr<Scheduler> Create(
      const std::vector<EntryInfo>& entries);

  // A sequence begins, `tokens` (> 0) of whose prompt are to be fed. `slot` is
  // that of no other sequence.
  void Add(uint32_t slot, uint32_t tokens);

  // It has ended. A slot without a sequence is no error.
  void Remove(uint32_t slot);

  // nullopt: no sequence is left.
  std::optional<StepChoice> Next() const;

  // What Next gave is running: turns move on, and a sequence whose prompt ends
  // with it decodes from then on.
  void Ran(const StepChoice& choice);

  uint32_t largest_batch() const { return decode_.back().rows; }

 private:
  struct Shape {
    uint32_t rows = 0;  // sequences of a decode step, tokens of a chunk
    uint32_t entry = 0;
  };
  struct Prompt {
    uint32_t slot = 0;
    uint32_t left = 0;
  };

  // Of `shapes`, ascending: the smallest that holds `count`, else the largest.
  static const Shape& Fitting(const std::vector<Shape>& shapes, size_t count);

  std::vector<Shape> decode_, prefill_;
  std::deque<uint32_t> decoding_;  // who waits longest first
  std::deque<Prompt> prompts_;     // the same
  size_t round_left_ = 0;          // of decoding_, in this round
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_SCHEDULER_H_
