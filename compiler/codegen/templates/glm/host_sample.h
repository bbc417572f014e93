// host_sample.h - sums and selections of sampling on a CPU.
#pragma once

#include "glm/host.h"

#ifndef GLM_GPU

namespace glm::kernel {

template <class F>
GLM_FN uint64_t LargestItem(Block&, int64_t n, F f) {
  uint64_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t item = f(i);
    largest = item > largest ? item : largest;
  }
  return largest;
}

template <class F>
GLM_FN uint64_t SumItems(Block&, int64_t n, F f) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

}  // namespace glm::kernel

#include "glm/sampled_row.h"

namespace glm::kernel {

// What SampleWeigh listed of a row.
template <int64_t V, int64_t parts>
class Listed {
 public:
  GLM_FN Listed(Block&, const SampledRow<V, parts>& row, float most)
      : row_(row), most_(most) {}

  GLM_FN int64_t Count() const {
    int64_t count = 0;
    for (int64_t p = 0; p < parts; ++p) count += row_.counts[p];
    return count;
  }

  // The largest item such that measure(weight), summed over it and all above
  // it, reaches `wanted` > 0. By digits of 8 bits from the top.
  template <class Measure>
  GLM_FN uint64_t Crossing(Block&, uint64_t wanted, Measure measure) const {
    uint64_t item = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
      uint64_t histogram[256] = {};
      EachItem([&](uint64_t other, uint64_t weight) {
        // Two shifts: one of 64 bits would be none.
        if (other >> shift >> 8 == item >> shift >> 8) {
          histogram[other >> shift & 255] += measure(weight);
        }
      });
      int digit = 255;
      for (; digit > 0 && histogram[digit] < wanted; --digit) {
        wanted -= histogram[digit];
      }
      item |= uint64_t(digit) << shift;
    }
    return item;
  }

  GLM_FN uint64_t SumFrom(Block&, uint64_t least) const {
    uint64_t sum = 0;
    EachItem([&](uint64_t item, uint64_t weight) {
      sum += item >= least ? weight : 0;
    });
    return sum;
  }

 private:
  template <class F>
  GLM_FN void EachItem(F f) const {
    for (int64_t p = 0; p < parts; ++p) {
      const int32_t* ids = row_.listed + p * kPartOf<V, parts>;
      for (int64_t i = 0; i < row_.counts[p]; ++i) {
        f(row_.Item(ids[i]), row_.Weight(ids[i], most_));
      }
    }
  }

  const SampledRow<V, parts>& row_;
  float most_;
};

}  // namespace glm::kernel

#endif  // GLM_GPU
