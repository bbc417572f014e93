// host_decayed_pairs.h - products of all pairs of a chunk's tokens with the
// decay between them, on a CPU.
#pragma once

#include "glm/host.h"

#ifndef GLM_GPU

namespace glm::kernel {

inline constexpr int64_t kChunk = 16;  // tokens

// Tokens first .. end - 1 with the tokens before `end`, which are the lanes of
// a vector: `rest` has them as they decay from token to token.
template <int64_t D, int64_t first, int64_t end>
GLM_FN void PairsWithEarlier(const float* decay, const float* key,
                             const float* query, float* keys, float* queries,
                             float* rest) {
  typedef float Earlier __attribute__((ext_vector_type(end)));
  // Sums side by side hide the latency of an addition.
  constexpr int64_t kSums = D % 4 == 0 ? 4 : 1;
  for (int64_t i = first; i < end; ++i) {
    alignas(64) float own[end] = {};
    own[i] = 1.0f;
    Earlier one;
    __builtin_memcpy(&one, own, sizeof(one));
    Earlier key_sums[kSums] = {};
    Earlier query_sums[kSums] = {};
    for (int64_t d = 0; d < D; d += kSums) {
      for (int64_t x = 0; x < kSums; ++x) {
        const int64_t at = i * D + d + x;
        float* from = rest + (d + x) * kChunk;
        Earlier e = LoadVector<F32, Earlier>(from, 0) * decay[at];
        key_sums[x] += e * key[at];
        e += one * key[at];
        query_sums[x] += e * query[at];
        __builtin_memcpy(from, &e, sizeof(e));
      }
    }
    for (int64_t x = 1; x < kSums; ++x) {
      key_sums[0] += key_sums[x];
      query_sums[0] += query_sums[x];
    }
    __builtin_memcpy(keys + i * kChunk, key_sums, sizeof(Earlier));
    __builtin_memcpy(queries + i * kChunk, query_sums, sizeof(Earlier));
  }
}

// For decay, key, query [kChunk][D], with e(j, i) the product of decay[j + 1]
// .. decay[i]:
//
//   keys[i][j] = sum_d key[i][d] e(j, i)[d] key[j][d]       j < i
//   queries[i][j] = sum_d query[i][d] e(j, i)[d] key[j][d]  j <= i
//   rest[d][j] = e(j, kChunk - 1)[d] key[j][d]
//
// What else keys and queries hold afterwards is not defined.
template <int64_t D, class Block>
GLM_FN void DecayedPairs(Block& block, const float* decay, const float* key,
                         const float* query, float* keys, float* queries,
                         float* rest) {
  Each<D * kChunk>(block, [&](int64_t i, int64_t) { rest[i] = 0.0f; });
  PairsWithEarlier<D, 0, kChunk / 2>(decay, key, query, keys, queries, rest);
  PairsWithEarlier<D, kChunk / 2, kChunk>(decay, key, query, keys, queries,
                                          rest);
}

}  // namespace glm::kernel

#endif  // GLM_GPU
