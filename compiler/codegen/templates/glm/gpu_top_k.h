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

// Adds and returns what was there before.
GLM_FN int Increment(int* counter, int by = 1) {
  return __scoped_atomic_fetch_add(counter, by, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_WRKGRP);
}

// f(i, key, present) for the keys of all scores, by all lanes at once: the last
// calls have i that are not there. A sweep waits for its loads; many are under
// way at a time.
template <class F>
GLM_FN void EachKey(const float* scores, int64_t n, F f) {
  constexpr int kTogether = 16;
  for (int64_t first = 0; first < n; first += kTogether * kThreads) {
    float some[kTogether];
    GLM_UNROLL for (int j = 0; j < kTogether; ++j) {
      const int64_t i = first + j * kThreads + Thread();
      some[j] = i < n ? scores[i] : 0.0f;
    }
    GLM_UNROLL for (int j = 0; j < kTogether; ++j) {
      if (first + j * kThreads < n) {
        const int64_t i = first + j * kThreads + Thread();
        f(i, OrderedKey(some[j]), i < n);
      }
    }
  }
  Barrier();
}

// Counts the digits of the lanes with `counted`. Scores of a row share their
// leading digits, and adding to one counter lane by lane takes its time: the
// lanes that have the first one's digit are added at once.
GLM_FN void CountDigit(int* histogram, uint32_t digit, bool counted) {
  const uint32_t lanes = Ballot(counted);
  if (lanes == 0) return;
  const int first = __builtin_ctz(lanes);
  // Every lane takes part in the exchange, also one that counts nothing.
  const uint32_t of_first = uint32_t(FromLane(int(digit), first));
  const bool shared = counted && digit == of_first;
  const uint32_t sharing = Ballot(shared);
  if (Lane() == first) {
    Increment(&histogram[digit], __builtin_popcount(sharing));
  } else if (counted && !shared) {
    Increment(&histogram[digit]);
  }
}

template <int kMask>
GLM_FN void AddAbove(int& above, int& total) {
  const int other = int(Bits(Exchange<kMask>(FromBits(uint32_t(total)))));
  above += (Lane() & kMask) == 0 ? other : 0;
  total += other;
}

// Sum of `own` over the work-items after this one. A barrier must follow before
// the next call.
GLM_FN int SumAbove(int own) {
  GLM_SHARED(int, totals, kWaves);
  int above = 0;
  int total = own;
  AddAbove<1>(above, total);
  AddAbove<2>(above, total);
  AddAbove<4>(above, total);
  AddAbove<8>(above, total);
  AddAbove<16>(above, total);
  if (Lane() == 0) totals[Wave()] = total;
  Barrier();
  GLM_UNROLL for (int w = 1; w < kWaves; ++w) {
    above += w > Wave() ? totals[w] : 0;
  }
  return above;
}

// A key such that the k largest of n > k keys are those above it and the first
// `equal` of those equal to it; with equal = 0, those not below it. Digits of 8
// bits from the top; it ends at the first one that cuts no digit in two.
GLM_FN uint32_t KthKey(const float* scores, int64_t n, int64_t k,
                       int64_t& equal) {
  static_assert(kThreads == 256, "a work-item has one digit");
  GLM_SHARED(int, histogram, kThreads);
  GLM_SHARED(int, chosen, 3);
  uint32_t kth = 0;
  int wanted = int(k);
  for (int shift = 24; shift >= 0; shift -= 8) {
    // 1. Digits of the keys that agree with kth above them.
    histogram[Thread()] = 0;
    Barrier();
    EachKey(scores, n, [&](int64_t, uint32_t key, bool present) {
      const bool agrees =
          shift == 24 || key >> (shift + 8) == kth >> (shift + 8);
      CountDigit(histogram, key >> shift & 255u, present && agrees);
    });

    // 2. The digit in which the wanted-th largest lies.
    const int own = histogram[Thread()];
    const int above = SumAbove(own);
    if (above < wanted && wanted <= above + own) {
      chosen[0] = Thread();
      chosen[1] = wanted - above;
      chosen[2] = own;
    }
    Barrier();
    kth |= uint32_t(Uniform(chosen[0])) << shift;
    wanted = Uniform(chosen[1]);
    if (wanted == Uniform(chosen[2])) {
      equal = 0;
      return kth;
    }
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
    const uint32_t kth = KthKey(scores, n, k, equal);
    EachKey(scores, n, [&](int64_t i, uint32_t key, bool present) {
      if (present && (key > kth || (key == kth && equal == 0))) {
        items[Increment(count)] = item(key, i);
      }
    });
    if (equal != 0) {
      int64_t from = 0;
      Compact(
          block, from, n, equal,
          [&](int64_t i) { return OrderedKey(scores[i]) == kth; }, last);
      Each(block, equal,
           [&](int64_t i) { items[k - equal + i] = item(kth, last[i]); });
    }
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
