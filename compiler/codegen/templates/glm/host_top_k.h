// host_top_k.h - the k largest of a row on a CPU, by the exact rule of top_k.
#pragma once

#include "glm/host.h"

#ifndef GLM_GPU

namespace glm::kernel {

// Orders as the rule does: NaN lowest, -0 as +0, else by value.
GLM_FN uint32_t OrderedKey(float v) {
  const uint32_t bits = Bits(v + 0.0f);
  const uint32_t key = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
  return v != v ? 0u : key;
}

// Keys that are at least `bound`.
GLM_FN int64_t CountFrom(const float* scores, int64_t n, uint32_t bound) {
  int32_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += OrderedKey(scores[i]) >= bound;
  return count;
}

// The least key of the k largest of n > k keys, bit by bit from the top, and
// how many keys equal to it belong to them. Every sweep is one vector
// comparison.
GLM_FN uint32_t KthKey(const float* scores, int64_t n, int64_t k,
                       int64_t& equal) {
  uint32_t kth = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    const int64_t count = CountFrom(scores, n, kth | bit);
    if (count < k) continue;
    kth |= bit;
    if (count == k) {
      equal = k;  // no cut between equal keys
      return kth;
    }
  }
  // Key 0xffffffff is no value's.
  equal = k - CountFrom(scores, n, kth + 1);
  return kth;
}

// ids[0 .. k) = columns of the k largest of scores[0 .. n), of equal ones the
// lower; -1 where there are fewer. In order of column, or the largest first,
// equal ones by column. scores[0 .. columns) may be read.
template <int64_t k, bool kByColumn, class Block>
GLM_FN void SelectTopK(Block&, const float* scores, int64_t n,
                       int64_t /*columns*/, int32_t* ids) {
  if (kByColumn && n <= k) {
    for (int64_t i = 0; i < k; ++i) ids[i] = i < n ? int32_t(i) : -1;
    return;
  }

  // 1. The chosen ones in order of column. The low half of an item is the
  //    column's complement: the order of items is the rule. The write comes
  //    before the decision, so that nothing hangs on a branch.
  uint64_t items[2][k + 1];
  int64_t equal = n;
  const uint32_t kth = n > k ? KthKey(scores, n, k, equal) : 0u;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t key = OrderedKey(scores[i]);
    items[0][count] = uint64_t(key) << 32 | (0xffffffffu - uint32_t(i));
    const bool last = key == kth;
    count += key > kth || (last && equal > 0);
    equal -= last;
  }

  // 2. Sorted by merging ever longer runs, if that is wanted.
  uint64_t* from = items[0];
  uint64_t* to = items[1];
  for (int64_t run = 1; !kByColumn && run < count; run *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * run) {
      const int64_t middle = Least(begin + run, count);
      const int64_t end = Least(begin + 2 * run, count);
      int64_t a = begin;
      int64_t b = middle;
      for (int64_t i = begin; i < end; ++i) {
        const bool first = b >= end || (a < middle && from[a] > from[b]);
        to[i] = first ? from[a] : from[b];
        a += first;
        b += !first;
      }
    }
    uint64_t* swap = from;
    from = to;
    to = swap;
  }
  for (int64_t i = 0; i < count; ++i) {
    ids[i] = int32_t(0xffffffffu - uint32_t(from[i]));
  }
  for (int64_t i = count; i < k; ++i) ids[i] = -1;
}

}  // namespace glm::kernel

#endif  // GLM_GPU
