// gpu_top_k.h - the k largest of a row on a GPU, by the exact rule of top_k.
#pragma once

#include "glm/gpu_gemv.h"

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

// What KthKey takes: Each(f) is EachKey over some keys, the same every time.
struct ScoreKeys {
  const float* scores;
  int64_t n;
  template <class F>
  GLM_FN void Each(F f) const {
    EachKey(scores, n, f);
  }
};

// kEach keys of every work-item.
template <int kEach>
struct OwnKeys {
  const uint32_t* keys;
  template <class F>
  GLM_FN void Each(F f) const {
    GLM_UNROLL for (int j = 0; j < kEach; ++j) {
      const int i = j * kThreads + Thread();
      f(i, keys[i], true);
    }
    Barrier();
  }
};

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

// A key such that the k largest of more than k keys are those above it and the
// first `equal` of those equal to it; with equal = 0, those not below it.
// Digits of 8 bits from the top; it ends at the first one that cuts no digit in
// two.
template <class Keys>
GLM_FN uint32_t KthKey(const Keys& keys, int64_t k, int64_t& equal) {
  static_assert(kThreads == 256, "a work-item has one digit");
  GLM_SHARED(int, histogram, kThreads);
  GLM_SHARED(int, chosen, 3);
  uint32_t kth = 0;
  int wanted = int(k);
  for (int shift = 24; shift >= 0; shift -= 8) {
    // 1. Digits of the keys that agree with kth above them.
    histogram[Thread()] = 0;
    Barrier();
    keys.Each([&](int64_t, uint32_t key, bool present) {
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

// The order of items is the rule: the low half is the column's complement. 0 is
// no item.
GLM_FN uint64_t KeyItem(uint32_t key, int64_t column) {
  return uint64_t(key) << 32 | (0xffffffffu - uint32_t(column));
}

// Largest first, by a bitonic network; kCount is a power of 2.
template <int kCount>
GLM_FN void SortItems(Block& block, uint64_t* items) {
  for (int run = 2; run <= kCount; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      Each<kCount / 2 == 0 ? 1 : kCount / 2>(block, [&](int64_t i, int64_t) {
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
}

template <int64_t k>
GLM_FN void StoreColumns(Block& block, const uint64_t* items, int32_t* ids) {
  Each<k>(block, [&](int64_t i, int64_t) {
    ids[i] = items[i] == 0 ? -1 : int32_t(0xffffffffu - uint32_t(items[i]));
  });
}

// A key that at least k of n keys reach, and few more unless many are equal:
// the k-th of the kEach largest of every work-item. `keys` is shared memory for
// kEach * kThreads.
template <int kEach>
GLM_FN uint32_t KeyOfMany(const float* scores, int64_t n, int64_t k,
                          uint32_t* keys) {
  uint32_t largest[kEach] = {};
  EachKey(scores, n, [&](int64_t, uint32_t key, bool present) {
    key = present ? key : 0u;
    GLM_UNROLL for (int j = 0; j < kEach; ++j) {
      const uint32_t other = largest[j] < key ? largest[j] : key;
      largest[j] = largest[j] < key ? key : largest[j];
      key = other;
    }
  });
  GLM_UNROLL for (int j = 0; j < kEach; ++j) {
    keys[j * kThreads + Thread()] = largest[j];
  }
  Barrier();
  int64_t equal;
  return KthKey(OwnKeys<kEach>{keys}, k, equal);
}

// Scores of which each is compared with every other.
inline constexpr int kRanked = 2 * kThreads;

// SelectTopK for n <= kRanked: an item's place is the number of items before
// it.
template <int64_t k>
GLM_FN void RankTopK(const float* scores, int64_t n, int32_t* ids) {
  typedef uint32_t Key4 __attribute__((ext_vector_type(4)));
  uint32_t* keys = reinterpret_cast<uint32_t*>(Scratch());
  const int padded = int(CeilDiv(n, 4)) * 4;
  for (int i = Thread(); i < padded; i += kThreads) {
    // OrderedKey of a NaN is the padding's; both are after all numbers.
    keys[i] = i < n ? OrderedKey(scores[i]) : 0u;
  }
  for (int i = int(n) + Thread(); i < k; i += kThreads) ids[i] = -1;
  Barrier();
  // Four lanes share an item's comparisons.
  for (int first = 0; first < n; first += kThreads / 4) {
    const int i = first + Thread() / 4;
    const uint32_t key = i < n ? keys[i] : 0u;
    int before = 0;
#pragma unroll 4
    for (int j = Thread() % 4 * 4; j < padded; j += 16) {
      const Key4 other = *reinterpret_cast<const Key4*>(keys + j);
      GLM_UNROLL for (int l = 0; l < 4; ++l) {
        before += other[l] > key || (other[l] == key && j + l < i);
      }
    }
    float places = float(before);  // exact, and what lanes exchange
    places += Exchange<1>(places);
    places += Exchange<2>(places);
    before = int(places);
    if (i < n && before < k && Thread() % 4 == 0) ids[before] = i;
  }
  Barrier();
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
  if (n <= kRanked) {
    RankTopK<k>(scores, n, ids);
    return;
  }
  // Of a long row most columns are passed over at first sight.
  constexpr int kEach = 2 * kPlaces / kThreads;
  constexpr bool kLong = 2 <= kEach && kEach <= 4;
  constexpr int kItems = kLong ? 2 * kPlaces : kPlaces;
  constexpr int kLast = 2 * kItems;  // after the items
  constexpr bool kFits = kLast + kItems <= kScratchFloats;
  GLM_SHARED(uint64_t, own_items, kFits ? 1 : kItems);
  GLM_SHARED(int32_t, own_last, kFits ? 1 : kItems);
  uint64_t* items = own_items;
  int32_t* last = own_last;
  if constexpr (kFits) {
    items = reinterpret_cast<uint64_t*>(Scratch());
    last = reinterpret_cast<int32_t*>(Scratch() + kLast);
  }
  GLM_SHARED(int, count, 1);
  if constexpr (kLong) {
    if (n >= 4 * kItems) {
      // All that reach a key that k of them reach, sorted.
      const uint32_t least =
          KeyOfMany<kEach>(scores, n, k, reinterpret_cast<uint32_t*>(last));
      Each<kItems>(block, [&](int64_t i, int64_t) { items[i] = 0; });
      Each<1>(block, [&](int64_t, int64_t) { count[0] = 0; });
      EachKey(scores, n, [&](int64_t i, uint32_t key, bool present) {
        if (present && key >= least) {
          const int at = Increment(count);
          if (at < kItems) items[at] = KeyItem(key, i);
        }
      });
      if (Uniform(count[0]) <= kItems) {
        SortItems<kItems>(block, items);
        StoreColumns<k>(block, items, ids);
        return;
      }
    }
  }

  // 1. The chosen ones in any order; of those equal to the least, the first.
  Each<kPlaces>(block, [&](int64_t i, int64_t) { items[i] = 0; });
  Each<1>(block, [&](int64_t, int64_t) { count[0] = 0; });
  if (n <= k) {
    Each(block, n,
         [&](int64_t i) { items[i] = KeyItem(OrderedKey(scores[i]), i); });
  } else {
    int64_t equal;
    const uint32_t kth = KthKey(ScoreKeys{scores, n}, k, equal);
    EachKey(scores, n, [&](int64_t i, uint32_t key, bool present) {
      if (present && (key > kth || (key == kth && equal == 0))) {
        items[Increment(count)] = KeyItem(key, i);
      }
    });
    if (equal != 0) {
      int64_t from = 0;
      Compact(
          block, from, n, equal,
          [&](int64_t i) { return OrderedKey(scores[i]) == kth; }, last);
      Each(block, equal,
           [&](int64_t i) { items[k - equal + i] = KeyItem(kth, last[i]); });
    }
  }

  // 2. Sorted.
  SortItems<kPlaces>(block, items);
  StoreColumns<k>(block, items, ids);
}

}  // namespace glm::kernel

#endif  // GLM_GPU
