// gpu_sample.h - sums and selections of sampling on a GPU.
#pragma once

#include "glm/gpu.h"
#include "glm/gpu_top_k.h"

#ifdef GLM_GPU

namespace glm::kernel {

// One value of all work-items' own ones. The array may be that of a call
// before, whose result everybody must have read.
template <class Join>
GLM_FN uint64_t JoinBlock(uint64_t own, Join join) {
  GLM_SHARED(uint64_t, all, kThreads);
  Barrier();
  all[Thread()] = own;
  Barrier();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (Thread() < half) {
      all[Thread()] = join(all[Thread()], all[Thread() + half]);
    }
    Barrier();
  }
  return all[0];
}

template <class F>
GLM_FN uint64_t LargestItem(Block&, int64_t n, F f) {
  uint64_t own = 0;
  for (int64_t i = Thread(); i < n; i += kThreads) {
    const uint64_t item = f(i);
    own = item > own ? item : own;
  }
  return JoinBlock(own, [](uint64_t a, uint64_t b) { return a > b ? a : b; });
}

template <class F>
GLM_FN uint64_t SumItems(Block&, int64_t n, F f) {
  uint64_t own = 0;
  for (int64_t i = Thread(); i < n; i += kThreads) own += f(i);
  return JoinBlock(own, [](uint64_t a, uint64_t b) { return a + b; });
}

}  // namespace glm::kernel

#include "glm/sampled_row.h"

namespace glm::kernel {

template <int kMask>
GLM_FN uint64_t ExchangeWide(uint64_t v) {
  const uint32_t low = Bits(Exchange<kMask>(FromBits(uint32_t(v))));
  const uint32_t high = Bits(Exchange<kMask>(FromBits(uint32_t(v >> 32))));
  return uint64_t(high) << 32 | low;
}

GLM_FN uint64_t SumWaveWide(uint64_t v) {
  v += ExchangeWide<1>(v);
  v += ExchangeWide<2>(v);
  v += ExchangeWide<4>(v);
  v += ExchangeWide<8>(v);
  return v + ExchangeWide<16>(v);
}

// histogram[digit] += value for the lanes with `counted`. Items of a row share
// their leading digits: the lanes that have the first one's add at once.
GLM_FN void AddToDigit(uint64_t* histogram, uint32_t digit, uint64_t value,
                       bool counted) {
  const uint32_t lanes = Ballot(counted);
  if (lanes == 0) return;
  const int first = __builtin_ctz(lanes);
  const uint32_t of_first = uint32_t(FromLane(int(digit), first));
  const bool shared = counted && digit == of_first;
  const uint64_t sum = SumWaveWide(shared ? value : 0);
  const bool alone = counted && !shared;
  if (Lane() == first || alone) {
    __scoped_atomic_fetch_add(&histogram[digit], alone ? value : sum,
                              __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  }
}

// What SampleWeigh listed of a row.
template <int64_t V, int64_t parts>
class Listed {
 public:
  GLM_FN Listed(Block&, const SampledRow<V, parts>& row, float most)
      : row_(row), most_(most) {
    GLM_SHARED(int32_t, starts, 256);
    starts_ = starts;
    // Where the list of each part begins, of all lists one after the other.
    starts[Thread()] = Thread() < parts ? row.counts[Thread()] : 0;
    Barrier();
    for (int step = 1; step < 256; step *= 2) {
      const int32_t before = Thread() >= step ? starts[Thread() - step] : 0;
      Barrier();
      starts[Thread()] += before;
      Barrier();
    }
    count_ = Uniform(starts[255]);
  }

  GLM_FN int64_t Count() const { return count_; }

  // The largest item such that measure(weight), summed over it and all above
  // it, reaches `wanted` > 0. By digits of 8 bits from the top; those of ids,
  // which have 24 bits, but for the constant one.
  template <class Measure>
  GLM_FN uint64_t Crossing(Block&, uint64_t wanted, Measure measure) const {
    GLM_SHARED(uint64_t, histogram, 256);
    GLM_SHARED(uint64_t, above, 256);
    GLM_SHARED(uint64_t, chosen, 2);
    uint64_t item = uint64_t{0xff} << 24;
    for (int shift = 56; shift >= 0; shift -= shift == 32 ? 16 : 8) {
      Barrier();
      histogram[Thread()] = 0;
      Barrier();
      EachItem([&](uint64_t other, uint64_t weight, bool present) {
        // Two shifts: one of 64 bits would be none.
        const bool agrees = other >> shift >> 8 == item >> shift >> 8;
        AddToDigit(histogram, uint32_t(other >> shift) & 255u,
                   present ? measure(weight) : 0, present && agrees);
      });
      Barrier();
      // Sums over the digits from this one on.
      const uint64_t own = histogram[Thread()];
      above[Thread()] = own;
      Barrier();
      for (int step = 1; step < 256; step *= 2) {
        const uint64_t next =
            Thread() + step < 256 ? above[Thread() + step] : 0;
        Barrier();
        above[Thread()] += next;
        Barrier();
      }
      const uint64_t before = above[Thread()] - own;
      if (before < wanted && wanted <= before + own) {
        chosen[0] = uint64_t(Thread());
        chosen[1] = wanted - before;
      }
      Barrier();
      item |= chosen[0] << shift;
      wanted = chosen[1];
    }
    return item;
  }

  GLM_FN uint64_t SumFrom(Block&, uint64_t least) const {
    uint64_t own = 0;
    EachItem([&](uint64_t item, uint64_t weight, bool present) {
      own += present && item >= least ? weight : 0;
    });
    return JoinBlock(own, [](uint64_t a, uint64_t b) { return a + b; });
  }

 private:
  // f(item, weight, present), by all lanes at once.
  template <class F>
  GLM_FN void EachItem(F f) const {
    for (int32_t first = 0; first < count_; first += kThreads) {
      const int32_t i = first + Thread();
      const bool present = i < count_;
      // The first part that ends behind i.
      int32_t part = 0;
      GLM_UNROLL for (int step = 128; step > 0; step /= 2) {
        part += present && starts_[part + step - 1] <= i ? step : 0;
      }
      const int32_t begin = part > 0 ? starts_[part - 1] : 0;
      const int64_t id =
          present ? row_.listed[part * kPartOf<V, parts> + i - begin] : 0;
      f(row_.Item(id), row_.Weight(id, most_), present);
    }
  }

  const SampledRow<V, parts>& row_;
  float most_;
  const int32_t* starts_;
  int32_t count_;
};

}  // namespace glm::kernel

#endif  // GLM_GPU
