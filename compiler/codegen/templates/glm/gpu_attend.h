// gpu_attend.h - attention of 16 heads on the matrix units of a GPU.
//
// Queries and latents are bf16. Chunks of 16 tokens pass through shared memory;
// a wave has its own columns of them, both where scores are summed and where
// latents are mixed, so that it alone waits for its loads. A weight goes to the
// matrix units as three bf16 that add up to it: their products are those of the
// fp32 weight. Sums of a chunk join those of earlier ones in fp32.
#pragma once

#include "glm/gpu_dots.h"

#ifdef GLM_GPU

namespace glm::kernel {

// Rows of W columns, a part of them a wave's.
template <int64_t W>
struct AttendRows {
  static constexpr int kColumns = int(W / kWaves);
  static constexpr int kTiles = kColumns / 16;
  static constexpr int kStride = int(W) + 8;  // avoids bank conflicts
  static constexpr int kRowPieces = kColumns / 8;

  // The i-th 16 bytes of this work-item.
  GLM_FN static int Row(int i) {
    return (i * kLanesOfWave + Lane()) / kRowPieces;
  }
  GLM_FN static int Column(int i) {
    return Wave() * kColumns + (i * kLanesOfWave + Lane()) % kRowPieces * 8;
  }

  // row(r) for the first `count` >= 1 of 16 rows; the others are zeros.
  template <class F>
  GLM_FN static void LoadRows(int count, F row, Half8 (&piece)[kTiles]) {
    GLM_UNROLL for (int i = 0; i < kTiles; ++i) {
      const void* from = row(Row(i) < count ? Row(i) : count - 1);
      const Half8 v = *static_cast<const Half8*>(At<BF16>(from, Column(i)));
      piece[i] = Row(i) < count ? v : Half8(uint16_t(0));
    }
  }
  GLM_FN static void StoreRows(const Half8 (&piece)[kTiles], uint16_t* to) {
    GLM_UNROLL for (int i = 0; i < kTiles; ++i) {
      *reinterpret_cast<Half8*>(to + Row(i) * kStride + Column(i)) = piece[i];
    }
  }
};

// Over the 16 lanes that share a head.
GLM_FN float SumHalfWave(float v) {
  v += Exchange<1>(v);
  v += Exchange<2>(v);
  v += Exchange<4>(v);
  return v + Exchange<8>(v);
}
GLM_FN float MaxHalfWave(float v) {
  v = Greater(v, Exchange<1>(v));
  v = Greater(v, Exchange<2>(v));
  v = Greater(v, Exchange<4>(v));
  return Greater(v, Exchange<8>(v));
}

template <int XT, int CT, int64_t W>
inline constexpr bool kAttendsByTiles =
    XT == BF16 && CT == BF16 && W % (16 * kWaves) == 0 && W <= 512;

// As `Attend` (attend.h), for at most 16 heads.
template <int64_t W, class QRow, class Latent, class Finish, class Out>
GLM_FN void AttendByTiles(int heads, QRow q_row, int tokens, Latent latent,
                          float scale, Finish finish, Out out) {
  using Rows = AttendRows<W>;
  constexpr int kTiles = Rows::kTiles;
  constexpr int kChunk = 16;
  constexpr int kWeightStride = 24;
  constexpr int kWeights = 16 * kWeightStride;  // of one piece of a weight
  static_assert(kThreads == 16 * kChunk, "a head and a token a work-item");
  GLM_SHARED(uint16_t, rows, kChunk* Rows::kStride);
  GLM_SHARED(float, products, kWaves* kThreads);
  GLM_SHARED(uint16_t, weights, 3 * kWeights);
  GLM_SHARED(float, kept, 16);
  const uint16_t* own = rows + Wave() * Rows::kColumns;
  const int head = Thread() / kChunk, place = Thread() % kChunk;

  // 1. The queries stay in registers; the first chunk is under way with them.
  Half8 query[kTiles];
  Half8 piece[kTiles];
  const auto load = [&](int first) {
    Rows::LoadRows(
        tokens - first, [&](int t) { return latent(first + t); }, piece);
  };
  Rows::LoadRows(heads, q_row, query);
  if (tokens > 0) load(0);
  TileOperand q[kTiles];
  Rows::StoreRows(query, rows);
  WaveBarrier();
  GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
    q[j] = LoadTile(own + 16 * j, Rows::kStride);
  }
  WaveBarrier();

  TileSums sums[kTiles] = {};
  float most = -__builtin_inff();
  float sum = 0.0f;
#pragma nounroll
  for (int first = 0; first < tokens; first += kChunk) {
    // 2. A chunk of latents; the next one's loads are under way from here on.
    Rows::StoreRows(piece, rows);
    WaveBarrier();
    if (first + kChunk < tokens) load(first + kChunk);

    // 3. Scores, summed over the wave's columns and then over the waves.
    TileSums part = 0.0f;
    GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
      MultiplyTiles(part, q[j], LoadTile(own + 16 * j, Rows::kStride));
    }
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      products[Wave() * kThreads + TileRow(i) * kChunk + TileColumn(i)] =
          part[i];
    }
    Barrier();
    float score = products[Thread()];
    GLM_UNROLL for (int w = 1; w < kWaves; ++w) {
      score += products[w * kThreads + Thread()];
    }

    // 4. Weights relative to the largest score so far.
    const bool present = first + place < tokens;
    score = present ? scale * score : -__builtin_inff();
    const float now = Greater(most, MaxHalfWave(score));
    const float base = now == -__builtin_inff() ? 0.0f : now;
    const float keep = Exp(most - base);
    const float weight = present ? Exp(score - base) : 0.0f;
    sum = sum * keep + SumHalfWave(weight);
    most = now;
    float rest = weight;
    GLM_UNROLL for (int i = 0; i < 3; ++i) {
      const uint32_t high = Bits(rest) & 0xffff0000u;
      weights[i * kWeights + head * kWeightStride + place] =
          uint16_t(high >> 16);
      rest -= FromBits(high);
    }
    if (place == 0) kept[head] = keep;
    Barrier();

    // 5. The latents times their weights.
    TileOperand w[3];
    GLM_UNROLL for (int i = 0; i < 3; ++i) {
      w[i] = LoadTile(weights + i * kWeights, kWeightStride);
    }
    float factor[8];
    GLM_UNROLL for (int i = 0; i < 8; ++i) factor[i] = kept[TileRow(i)];
    GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
      const TileOperand c = LoadTileTransposed(own + 16 * j, Rows::kStride);
      part = 0.0f;
      GLM_UNROLL for (int i = 0; i < 3; ++i) MultiplyTiles(part, w[i], c);
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        sums[j][i] = sums[j][i] * factor[i] + part[i];
      }
    }
    WaveBarrier();
  }

  // 6. Results.
  if (place == 0 && head < heads) finish(int64_t(head), most, sum);
  Barrier();
  GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      const int h = TileRow(i);
      if (h < heads) {
        out(int64_t(h),
            int64_t(Wave() * Rows::kColumns + 16 * j + TileColumn(i)),
            sums[j][i]);
      }
    }
  }
  Barrier();
}

}  // namespace glm::kernel

#endif  // GLM_GPU
