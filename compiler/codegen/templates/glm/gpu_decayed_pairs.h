// gpu_decayed_pairs.h - products of all pairs of a chunk's tokens with the
// decay between them, on a GPU.
#pragma once

#include "glm/gpu.h"

#ifdef GLM_GPU

namespace glm::kernel {

inline constexpr int64_t kChunk = 16;  // tokens

// As on a CPU (host_decayed_pairs.h). Half a wave has one earlier token, a
// lane of it a part of the channels, which decay in registers from token to
// token.
template <int64_t D>
GLM_FN void DecayedPairs(Block&, const float* decay, const float* key,
                         const float* query, float* keys, float* queries,
                         float* rest) {
  static_assert(kChunk == 2 * kWaves, "two tokens a wave");
  constexpr int kParts = kLanesOfWave / 2;
  constexpr int kOwn = int(CeilDiv(D, kParts));
  const int part = Lane() % kParts;
  const int own = 2 * Wave() + Lane() / kParts;
  // Four neighbours at a time where that comes out even: wide loads.
  const auto channel = [&](int x) {
    return D % (4 * kParts) == 0 ? (x / 4 * kParts + part) * 4 + x % 4
                                 : x * kParts + part;
  };
  float earlier[kOwn] = {};
  for (int i = 2 * Wave(); i < kChunk; ++i) {
    float key_sum = 0.0f;
    float query_sum = 0.0f;
    GLM_UNROLL for (int x = 0; x < kOwn; ++x) {
      const int d = channel(x);
      if (D % kParts != 0 && d >= D) continue;
      const float later = key[i * D + d];
      const float e = earlier[x] * decay[i * D + d];
      key_sum += e * later;
      earlier[x] = i == own ? later : e;
      query_sum += earlier[x] * query[i * D + d];
    }
    key_sum += Exchange<1>(key_sum);
    query_sum += Exchange<1>(query_sum);
    key_sum += Exchange<2>(key_sum);
    query_sum += Exchange<2>(query_sum);
    key_sum += Exchange<4>(key_sum);
    query_sum += Exchange<4>(query_sum);
    key_sum += Exchange<8>(key_sum);
    query_sum += Exchange<8>(query_sum);
    if (part == 0) {
      keys[i * kChunk + own] = key_sum;
      queries[i * kChunk + own] = query_sum;
    }
  }
  GLM_UNROLL for (int x = 0; x < kOwn; ++x) {
    const int d = channel(x);
    if (D % kParts == 0 || d < D) rest[d * kChunk + own] = earlier[x];
  }
  Barrier();
}

}  // namespace glm::kernel

#endif  // GLM_GPU
