// `SlotTable` says which slot a new sequence gets and how much of its prompt is
// there already: in a free slot that ended with just these tokens, or in a
// state that was kept in memory of the host. Private to runtime/engine.
//
// A free slot keeps what it holds until another sequence needs it; the state is
// copied to the cache only then, so a chat whose slot stays free costs nothing.
#ifndef GLM_RUNTIME_ENGINE_SLOT_TABLE_H_
#define GLM_RUNTIME_ENGINE_SLOT_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/engine/prefix_cache.h"
#include "runtime/executor/step_runner.h"

namespace glm {

// Not thread-safe.
class SlotTable {
 public:
  struct Place {
    uint32_t slot = 0;
    uint32_t tokens = 0;  // of the prompt, that the slot's state holds
  };

  // `runner` outlives this. States of fewer tokens than `min_tokens` are not
  // worth a copy. Where the runner cannot save states none are kept.
  SlotTable(StepRunner& runner, uint64_t cache_bytes, uint32_t min_tokens);

  uint32_t free() const { return free_; }

  // A slot for a sequence that begins with `prompt`, while one is free; with
  // `reuse` from the longest state there is, less than the whole prompt.
  //
  // Errors: those of SaveState and RestoreState; all slots stay free.
  absl::StatusOr<Place> Take(std::span<const int32_t> prompt, bool reuse);

  // Keeps a copy of the state of `slot`, which holds `tokens`.
  // Errors: those of SaveState.
  absl::Status Keep(uint32_t slot, std::span<const int32_t> tokens);

  // The slot is free and holds `tokens`; empty: nothing of use. `worth`: keep a
  // copy when somebody else gets it.
  void GiveBack(uint32_t slot, std::vector<int32_t> tokens, bool worth);

  // Nothing that is kept may be used any more.
  void Forget();

  const PrefixCache& cache() const { return cache_; }

 private:
  struct Slot {
    bool free = true;
    bool worth = false;
    std::vector<int32_t> tokens;
    uint64_t since = 0;  // GiveBack's number
  };

  uint32_t Longest(std::span<const int32_t> prompt) const;
  uint32_t Oldest() const;

  StepRunner& runner_;
  const uint32_t min_tokens_;
  PrefixCache cache_;
  std::vector<Slot> slots_;
  uint32_t free_;
  uint64_t given_back_ = 0;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_SLOT_TABLE_H_
