// gpu_cut.h - where the k largest of many scores end, on a GPU.
#pragma once

#include "glm/gpu_scores.h"

#ifdef GLM_GPU

namespace glm::kernel {

// Orders as the rule does: NaN lowest, -0 as +0, else by value.
GLM_FN uint32_t OrderedKey(float v) {
  const uint32_t bits = Bits(v + 0.0f);
  const uint32_t key = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
  return v != v ? 0u : key;
}

// v >= OrderedScore(key) is OrderedKey(v) >= key, for keys from that of -inf to
// that of inf.
GLM_FN float OrderedScore(uint32_t key) {
  return FromBits(key >> 31 ? key ^ 0x80000000u : ~key);
}

// The k largest of some keys are those above `key` and the first `equal` of
// those equal to it.
struct Cut {
  uint32_t key;
  int equal;
};

// What CutKeys uses is at the end of Scratch.
inline constexpr int kCutAt = kScratchFloats - kThreads - 3;

// Counts the digits of the lanes with `counted`. Scores of a row share their
// leading digits, and adding to one counter lane by lane takes its time: the
// lanes that have the first one's digit are added at once.
GLM_FN void CountDigit(int* histogram, uint32_t digit, bool counted) {
  const auto add = [&](int by) {
    __scoped_atomic_fetch_add(&histogram[digit], by, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_WRKGRP);
  };
  const uint32_t lanes = Ballot(counted);
  if (lanes == 0) return;
  const int first = __builtin_ctz(lanes);
  // Every lane takes part in the exchange, also one that counts nothing.
  const uint32_t of_first = uint32_t(FromLane(int(digit), first));
  const bool shared = counted && digit == of_first;
  const uint32_t sharing = Ballot(shared);
  if (Lane() == first) {
    add(__builtin_popcount(sharing));
  } else if (counted && !shared) {
    add(1);
  }
}

// The Cut of the keys from `low` to `high`, at least k and none above, which
// each(f) gives as f(key, present), the same every time and by all lanes at
// once. Digits of 8 bits of what is between the bounds, from the top. It ends
// at the first digit that is not cut in two, or of which at most `excess` keys
// are too many: then `key` is one that k to k + excess keys reach.
template <class Keys>
GLM_FN Cut CutKeys(Keys each, int k, int excess, uint32_t low, uint32_t high) {
  static_assert(kThreads == 256, "a work-item has one digit");
  int* histogram = reinterpret_cast<int*>(Scratch()) + kCutAt;
  int* chosen = histogram + kThreads;
  histogram[Thread()] = 0;
  Barrier();
  for (int wanted = k;;) {
    // 1. Digits of the keys between the bounds.
    const uint32_t range = high - low;
    const int bits = range == 0 ? 0 : 32 - __builtin_clz(range);
    const int shift = bits > 8 ? bits - 8 : 0;
    each([&](uint32_t key, bool present) {
      CountDigit(histogram, (key - low) >> shift,
                 present && key - low <= range);
    });
    Barrier();

    // 2. The digit in which the wanted-th largest lies.
    const int own = histogram[Thread()];
    histogram[Thread()] = 0;
    int below[1] = {own}, total[1];
    SumBelow(below, total);
    const int above = total[0] - below[0] - own;
    if (above < wanted && wanted <= above + own) {
      chosen[0] = Thread();
      chosen[1] = wanted - above;
      chosen[2] = own;
    }
    Barrier();
    low += uint32_t(Uniform(chosen[0])) << shift;
    const uint32_t width = (1u << shift) - 1u;
    high = high - low < width ? high : low + width;
    wanted = Uniform(chosen[1]);
    if (shift == 0 || Uniform(chosen[2]) - wanted <= excess) {
      return {low, wanted};
    }
  }
}

// The same of all scores of a row.
GLM_FN Cut CutRow(const ScoreRow& row, int k) {
  constexpr int kTogether = 8;
  const auto each = [&](auto count) {
#pragma nounroll
    for (int first = 0; first < row.n; first += kTogether * kThreads) {
      float some[kTogether];
      GLM_UNROLL for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * kThreads + Thread();
        some[j] = row.scores[i < row.n ? i : 0];
      }
      GLM_UNROLL for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * kThreads + Thread();
        count(OrderedKey(some[j]), i < row.n);
      }
    }
  };
  return CutKeys(each, k, 0, 0u, ~0u);
}

// --------------------------------------------------------------------- samples

template <int kMask>
GLM_FN void WidenBy(uint32_t& low, uint32_t& high) {
  const uint32_t other_low = ExchangeBits<kMask>(low);
  const uint32_t other_high = ExchangeBits<kMask>(high);
  low = other_low < low ? other_low : low;
  high = other_high > high ? other_high : high;
}

// The least of the work-items' `low` and the largest of their `high`.
GLM_FN void JoinRange(uint32_t& low, uint32_t& high) {
  GLM_SHARED(uint32_t, lows, kWaves);
  GLM_SHARED(uint32_t, highs, kWaves);
  WidenBy<1>(low, high);
  WidenBy<2>(low, high);
  WidenBy<4>(low, high);
  WidenBy<8>(low, high);
  WidenBy<16>(low, high);
  if (Lane() == 0) {
    lows[Wave()] = low;
    highs[Wave()] = high;
  }
  Barrier();
  GLM_UNROLL for (int w = 0; w < kWaves; ++w) {
    low = lows[w] < low ? lows[w] : low;
    high = highs[w] > high ? highs[w] : high;
  }
  low = uint32_t(Uniform(int(low)));
  high = uint32_t(Uniform(int(high)));
}

// A key that at least k of a row's reach unless it is that of -inf, and few
// more unless many are equal or the large ones stand in few work-items' parts;
// `high` is the largest key. It comes of the two largest scores of the kParts
// parts of what each work-item sweeps; -inf is what is not there or NaN.
template <int kParts>
GLM_FN uint32_t SampledKey(const ScoreRow& row, int k, uint32_t& high) {
  float largest[kParts], second[kParts];
  GLM_UNROLL for (int p = 0; p < kParts; ++p) {
    largest[p] = second[p] = -__builtin_inff();
  }
  row.EachRound(0, row.n, [&](int first, const Float4(&fours)[kFours]) {
    GLM_UNROLL for (int j = 0; j < kFours; ++j) {
      if (first + j * kFourStep >= row.n) break;
      GLM_UNROLL for (int l = 0; l < 4; ++l) {
        const int p = l * kParts / 4;
        const float v = Greater(fours[j][l], -__builtin_inff());
        second[p] =
            Greater(second[p], __builtin_elementwise_minnum(largest[p], v));
        largest[p] = Greater(largest[p], v);
      }
    }
  });
  uint32_t keys[2 * kParts];
  uint32_t low = ~0u;
  high = 0;
  GLM_UNROLL for (int p = 0; p < kParts; ++p) {
    keys[2 * p] = OrderedKey(largest[p]);
    keys[2 * p + 1] = OrderedKey(second[p]);
    // All parts' largest ones reach the least of them.
    low = keys[2 * p] < low ? keys[2 * p] : low;
    high = keys[2 * p] > high ? keys[2 * p] : high;
  }
  JoinRange(low, high);
  return CutKeys(
             [&](auto count) {
               GLM_UNROLL for (int i = 0; i < 2 * kParts; ++i) {
                 count(keys[i], true);
               }
             },
             k, k / 8 + 16, low, high)
      .key;
}

}  // namespace glm::kernel

#endif  // GLM_GPU
