// gpu_find_rows.h - the slots that are given up, on a GPU.
#pragma once

#include "glm/pager.h"

#ifdef GLM_GPU

namespace glm::kernel {

// Candidates whose rows are looked at together: loads that depend on others.
inline constexpr int kKeysTogether = 8;
// Victims that one pass looks for, and keys that it may find.
inline constexpr int kVictimsTogether = 64;
inline constexpr int kListedKeys = 512;
// What it uses of the front of Scratch, 4 bytes each.
inline constexpr int kVictimWords = 2 * (kThreads + kListedKeys + 1);

// f(key) for the keys of the work-item's candidates.
template <class F>
GLM_FN void EachKey(const Candidates& candidates, F f) {
  const uint32_t end = candidates.end;
#pragma nounroll
  for (uint32_t first = candidates.begin; first < end;
       first += kKeysTogether * kThreads) {
    uint32_t rows[kKeysTogether];
    RowUse uses[kKeysTogether];
    GLM_UNROLL for (int j = 0; j < kKeysTogether; ++j) {
      const uint32_t slot = first + j * kThreads + Thread();
      rows[j] = candidates.row_of_slot[slot < end ? slot : end - 1];
    }
    GLM_UNROLL for (int j = 0; j < kKeysTogether; ++j) {
      uses[j] = candidates.uses[rows[j] == kNoRow ? 0 : rows[j]];
    }
    GLM_UNROLL for (int j = 0; j < kKeysTogether; ++j) {
      const uint32_t slot = first + j * kThreads + Thread();
      const uint64_t key = candidates.Key(slot, rows[j], uses[j]);
      if (slot < end) f(key);
    }
  }
}

// How many of keys[0 .. n) are less.
GLM_FN int CountLess(const uint64_t* keys, int n, uint64_t key) {
  int less = 0;
#pragma unroll 8
  for (int i = 0; i < n; ++i) less += keys[i] < key;
  return less;
}

// ChooseVictims of at most kThreads candidates, as a layer's own range has: a
// work-item has one, whose place is the number of keys before it.
GLM_FN int64_t ChooseOfFew(const Candidates& candidates, int count,
                           int32_t* slots) {
  uint64_t* keys = reinterpret_cast<uint64_t*>(ScratchWords());
  const int n = int(candidates.end - candidates.begin);
  const uint32_t slot = candidates.begin + uint32_t(Thread());
  uint64_t key = Candidates::kStays;
  if (Thread() < n) {
    const uint32_t row = candidates.row_of_slot[slot];
    key = candidates.Key(slot, row, candidates.uses[row == kNoRow ? 0 : row]);
    keys[Thread()] = key;
  }
  int open;
  VotesBefore(key != Candidates::kStays, open);  // a barrier, too
  if (key != Candidates::kStays) {
    const int place = CountLess(keys, n, key);
    if (place < count) slots[place] = int32_t(slot);
  }
  Barrier();
  return open < count ? open : count;
}

// slots[0 .. count) = those of the `count` least keys, the least first. Returns
// how many there are, less where there are not so many candidates.
//
// The k-th least of what are the work-items' least keys is one that k keys or
// more do not exceed, and mostly few more: those are listed and put in order.
template <int64_t kMost>
GLM_FN int64_t ChooseVictims(Block&, const Candidates& candidates,
                             int64_t count64, int32_t* slots) {
  uint64_t* leasts = reinterpret_cast<uint64_t*>(ScratchWords());
  uint64_t* listed = leasts + kThreads;
  uint64_t* bound = listed + kListedKeys;
  GLM_SHARED(int, listed_count, 1);
  const int count = int(count64);
  if (Uniform(candidates.end - candidates.begin) <= kThreads) {
    return ChooseOfFew(candidates, count, slots);
  }
  int chosen = 0;
  uint64_t from = 0;  // keys below it are chosen
#pragma nounroll
  while (chosen < count) {
    // 1. The work-item's least key, and how many are before it.
    uint64_t least = Candidates::kStays;
    EachKey(candidates, [&](uint64_t key) {
      least = key >= from && key < least ? key : least;
    });
    leasts[Thread()] = least;
    Barrier();
    const int before = CountLess(leasts, kThreads, least);

    // 2. All up to the k-th of them; a k that finds too many is halved. The
    //    least key alone is one.
    int k =
        count - chosen < kVictimsTogether ? count - chosen : kVictimsTogether;
    int found = 0;
#pragma nounroll
    for (;; k /= 2) {
      if (Thread() == 0) {
        bound[0] = Candidates::kStays - 1;
        listed_count[0] = 0;
      }
      Barrier();
      if (least != Candidates::kStays && before == k - 1) bound[0] = least;
      Barrier();
      const uint64_t last = bound[0];
      EachKey(candidates, [&](uint64_t key) {
        if (key < from || key > last) return;
        const int place = __scoped_atomic_fetch_add(
            listed_count, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
        if (place < kListedKeys) listed[place] = key;
      });
      Barrier();
      found = Uniform(listed_count[0]);
      if (found <= kListedKeys) break;
      Barrier();
    }
    if (found == 0) break;

    // 3. In order.
    for (int i = Thread(); i < found; i += kThreads) {
      const int place = chosen + CountLess(listed, found, listed[i]);
      if (place < count) slots[place] = int32_t(candidates.SlotOf(listed[i]));
    }
    from = bound[0] + 1;
    chosen = count - chosen < found ? count : chosen + found;
    Barrier();
  }
  return chosen;
}

}  // namespace glm::kernel

#endif  // GLM_GPU
