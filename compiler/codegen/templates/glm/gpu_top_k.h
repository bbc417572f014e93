// gpu_top_k.h - the k largest of a row on a GPU, by the exact rule of top_k.
#pragma once

#include "glm/gpu.h"

#ifdef GLM_GPU

namespace glm::kernel {

// Orders as the rule does: NaN lowest, -0 as +0, else by value.
GLM_FN uint32_t OrderedKey(float v) {
  const uint32_t bits = Bits(v + 0.0f);
  const uint32_t key = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
  return v != v ? 0u : key;
}

// Adds 1 and returns what was there before.
GLM_FN int Increment(int* counter) {
  return __scoped_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_WRKGRP);
}

// The least key of the k largest of n > k keys, 8 bits at a time from the top,
// and how many keys equal to it belong to them.
GLM_FN uint32_t KthKey(Block& block, const float* scores, int64_t n, int64_t k,
                       int64_t& equal) {
  static_assert(kThreads == 256, "a work-item has one digit");
  GLM_SHARED(int, histogram, kThreads);
  GLM_SHARED(int, chosen, 2);
  uint32_t kth = 0;
  int wanted = int(k);
  for (int shift = 24; shift >= 0; shift -= 8) {
    // 1. Digits of the keys that agree with kth above them.
    histogram[Thread()] = 0;
    Barrier();
    Each(block, n, [&](int64_t i) {
      const uint32_t key = OrderedKey(scores[i]);
      if (shift == 24 || key >> (shift + 8) == kth >> (shift + 8)) {
        Increment(&histogram[key >> shift & 255u]);
      }
    });

    // 2. The digit in which the wanted-th largest lies.
    int above = 0;
    for (int d = Thread() + 1; d < 256; ++d) above += histogram[d];
    const int own = histogram[Thread()];
    if (above < wanted && wanted <= above + own) {
      chosen[0] = Thread();
      chosen[1] = wanted - above;
    }
    Barrier();
    kth |= uint32_t(Uniform(chosen[0])) << shift;
    wanted = Uniform(chosen[1]);
  }
  equal = wanted;
  return kth;
}

// ids[0 .. k) = columns of the k largest of scores[0 .. n), largest first,
// equal ones by lower column; -1 where there are fewer.
template <int64_t k>
GLM_FN void SelectTopK(Block& block, const float* scores, int64_t n,
                       int32_t* ids) {
  constexpr int kPlaces = [] {
    int places = 1;
    while (places < k) places *= 2;
    return places;
  }();
  // The low half of an item is the column's complement: the order of items is
  // the rule. 0 is no item.
  GLM_SHARED(uint64_t, items, kPlaces);
  GLM_SHARED(int32_t, last, k);
  GLM_SHARED(int, count, 1);
  const auto item = [](uint32_t key, int64_t column) {
    return uint64_t(key) << 32 | (0xffffffffu - uint32_t(column));
  };

  // 1. The chosen ones in any order; of those equal to the least, the first.
  Each<kPlaces>(block, [&](int64_t i, int64_t) { items[i] = 0; });
  Each<1>(block, [&](int64_t, int64_t) { count[0] = 0; });
  if (n <= k) {
    Each(block, n,
         [&](int64_t i) { items[i] = item(OrderedKey(scores[i]), i); });
  } else {
    int64_t equal;
    const uint32_t kth = KthKey(block, scores, n, k, equal);
    Each(block, n, [&](int64_t i) {
      const uint32_t key = OrderedKey(scores[i]);
      if (key > kth) items[Increment(count)] = item(key, i);
    });
    int64_t from = 0;
    Compact(
        block, from, n, equal,
        [&](int64_t i) { return OrderedKey(scores[i]) == kth; }, last);
    Each(block, equal,
         [&](int64_t i) { items[k - equal + i] = item(kth, last[i]); });
  }

  // 2. Sorted, largest first, by a bitonic network.
  for (int run = 2; run <= kPlaces; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      Each<kPlaces / 2 == 0 ? 1 : kPlaces / 2>(block, [&](int64_t i, int64_t) {
        const int low = int(i) / step * 2 * step + int(i) % step;
        const int high = low + step;
        const uint64_t a = items[low];
        const uint64_t b = items[high];
        if ((low & run) == 0 ? a < b : a > b) {
          items[low] = b;
          items[high] = a;
        }
      });
    }
  }
  Each<k>(block, [&](int64_t i, int64_t) {
    ids[i] = items[i] == 0 ? -1 : int32_t(0xffffffffu - uint32_t(items[i]));
  });
}

}  // namespace glm::kernel

#endif  // GLM_GPU
