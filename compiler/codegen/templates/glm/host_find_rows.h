// host_find_rows.h - the slots that are given up, on a CPU.
#pragma once

#include "glm/pager.h"

#ifndef GLM_GPU

namespace glm::kernel {

inline constexpr int kVictimWords = 0;

// slots[0 .. count) = those of the `count` least keys, the least first. Returns
// how many there are, less where there are not so many candidates.
template <int64_t kMost>
GLM_FN int64_t ChooseVictims(Block&, const Candidates& candidates,
                             int64_t count, int32_t* slots) {
  uint64_t keys[kMost];
  int64_t found = 0;
  for (uint32_t slot = candidates.begin; slot < candidates.end; ++slot) {
    const uint32_t row = candidates.row_of_slot[slot];
    const uint64_t key =
        candidates.Key(slot, row, candidates.uses[row == kNoRow ? 0 : row]);
    if (key == Candidates::kStays) continue;
    if (found == count && key > keys[count - 1]) continue;
    int64_t at = found < count ? found++ : count - 1;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
  for (int64_t i = 0; i < found; ++i) {
    slots[i] = int32_t(candidates.SlotOf(keys[i]));
  }
  return found;
}

}  // namespace glm::kernel

#endif  // GLM_GPU
