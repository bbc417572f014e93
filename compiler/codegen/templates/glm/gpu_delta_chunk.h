// gpu_delta_chunk.h - the delta rule by chunks (delta_rule_chunk.h) on the
// matrix units of a GPU.
//
// A factor is two bf16 that add up to it within 2^-17 of it; of their products
// only that of the two lesser ones is left out. Sums are fp32, and so is the
// state: a chunk's part is added to it outside the matrix units.
//
// The state stays in registers, 16 columns by half of the channels a wave, in
// the places of an operand. A wave also has 16 channels of the chunk's tokens,
// a row of an operand each: it alone loads and decays them.
#pragma once

#include "glm/block.h"

#ifdef GLM_GPU

namespace glm::kernel {

inline constexpr int kChunk = 16;  // tokens

// Two bf16 are less than an fp32 factor: where activations are fp32 all through
// the model, tokens are taken one by one.
#ifdef GLM_FP32_MATH
inline constexpr bool kChunksFit = false;
#else
inline constexpr bool kChunksFit = true;
#endif

// A tile of fp32 values as two bf16 operands.
struct SplitTile {
  TileOperand high, low;
};

template <class Values>
GLM_FN SplitTile Split(const Values& v) {
  typedef uint32_t Pairs __attribute__((ext_vector_type(4)));
  Pairs high, low;
  GLM_UNROLL for (int p = 0; p < 4; ++p) {
    const uint32_t pair = Bf16Pair(v[2 * p], v[2 * p + 1]);
    high[p] = pair;
    low[p] = Bf16Pair(v[2 * p] - FromBits(pair << 16),
                      v[2 * p + 1] - FromBits(pair & 0xffff0000u));
  }
  return {__builtin_bit_cast(TileOperand, high),
          __builtin_bit_cast(TileOperand, low)};
}

GLM_FN void MultiplySplit(TileSums& sums, SplitTile a, SplitTile b) {
  MultiplyTiles(sums, a.low, b.high);
  MultiplyTiles(sums, a.high, b.low);
  MultiplyTiles(sums, a.high, b.high);
}

GLM_FN void MultiplySplitToOperand(TileSums& sums, SplitTile a, SplitTile b) {
  MultiplyToOperand(sums, a.low, b.high);
  MultiplyToOperand(sums, a.high, b.low);
  MultiplyToOperand(sums, a.high, b.high);
}

// Columns d and d + 1 of a row of D that begins at element `row`; those past
// the end are others of the row.
template <int DType, int64_t D>
GLM_FN void LoadTwo(const void* memory, int64_t row, int d, float& first,
                    float& second) {
  if constexpr (D % 2 != 0) {
    first = Load<DType>(memory, row + Least(d, D - 1));
    second = Load<DType>(memory, row + Least(d + 1, D - 1));
  } else {
    const int64_t at = row + (D % 16 == 0 ? d : Least(d, D - 2));
    constexpr size_t kBytes = 2 * ElementSize(DType);
    const void* from = __builtin_assume_aligned(At<DType>(memory, at), kBytes);
    first = Load<DType>(from, 0);
    second = Load<DType>(from, 1);
  }
}

// The 16 channels of a wave: a chunk's tokens and how they decay.
struct ChunkChannels {
  float key[8];
  float query[8];
  float forward[8];   // decay from the start of the token's stretch to it
  float backward[8];  // decay after the token, to the end of its stretch
  float total[8];     // decay of the whole stretch

  // Adds what pairs of tokens contribute whose stretches of kDistance tokens
  // are neighbours, or of a token with itself if kDistance is 0: element (r, c)
  // of `pairs` is M[c][r] of r < c and A[r][c] of r >= c. Both tokens' decays
  // are to where the stretches meet. Then makes one stretch of two.
  template <int kDistance>
  GLM_FN void Multiply(TileSums& pairs) {
    float one[8], other[8];
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      const bool later = kDistance == 0 || OperandRow(i) & kDistance;
      const float decay = kDistance == 0 ? 1.0f
                          : later        ? forward[i]
                                         : backward[i];
      one[i] = key[i] * decay;
      other[i] = later ? query[i] * decay : one[i];
    }
    TileSums part = 0.0f;
    MultiplySplit(part, Split(other), Split(one));
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      const int apart = TileRow(i) ^ TileColumn(i);
      if (kDistance == 0 ? apart == 0
                         : apart >= kDistance && apart < 2 * kDistance) {
        pairs[i] = part[i];
      }
    }
    if constexpr (kDistance != 0) {
      float next[8];
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        next[i] = FromRow<kDistance>(total, i);
      }
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        const bool later = OperandRow(i) & kDistance;
        forward[i] *= later ? next[i] : 1.0f;
        backward[i] *= later ? 1.0f : next[i];
        total[i] *= next[i];
      }
    }
  }
};

template <int XT, int OT, int64_t H, int64_t D, int64_t Dv, class Block>
GLM_FN void DeltaChunk(Block& block, const Args& args) {
  constexpr int kTiles = int(CeilDiv(D, 16));  // of channels
  constexpr int kOwn = int(CeilDiv(kTiles, 2));
  static_assert(kTiles <= kWaves, "a tile of channels a wave");
  constexpr int kBlocks = int(CeilDiv(Dv, 64));
  const Sequences sequences(args);
  const int64_t head = uint32_t(block.x) / kBlocks;
  const int64_t sequence = block.y;
  const int64_t length = sequences.Length(sequence);
  if (length == 0) return;
  const void* q = args.Pointer(4);
  const void* k = args.Pointer(5);
  const void* v = args.Pointer(6);
  const void* g = args.Pointer(7);
  const float* beta = static_cast<const float*>(args.Pointer(8));
  void* o = args.Pointer(11);

  // A wave's columns, its half of the channels, and its tile of them.
  const int stripe = Wave() % 4;
  const int half = Wave() / 4;
  const int channel = Wave() * 16;
  const int column = int(uint32_t(block.x) % kBlocks * 64) + 16 * stripe;
  const auto own = [&](int x) { return half * kOwn + x; };
  const auto exists = [&](int tile) {
    return kTiles % 2 == 0 || tile < kTiles;
  };

  // 1. The state: element i of state[x] is column OperandRow(i), channel
  //    OperandColumn(i) of the wave's x-th tile.
  float* memory =
      reinterpret_cast<float*>(SlotMemory(args, 9, sequences.Slot(sequence))) +
      head * D * Dv + column;
  const bool fresh = sequences.Position(sequence) == 0;
  const auto each_element = [&](auto f) {
    GLM_UNROLL for (int x = 0; x < kOwn; ++x) {
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        const int d = 16 * own(x) + OperandColumn(i);
        const bool there = (D % 32 == 0 || d < D) &&
                           (Dv % 64 == 0 || column + OperandRow(i) < Dv);
        f(x, i, there, memory + d * Dv + OperandRow(i));
      }
    }
  };
  TileSums state[kOwn];
  each_element([&](int x, int i, bool there, const float* at)
                   GLM_INLINE { state[x][i] = there && !fresh ? *at : 0.0f; });

  // `parts` holds the waves' sums for pairs of tokens, then the deltas.
  constexpr int kRestStride = kTiles * 16 + 8;  // avoids bank conflicts
  constexpr int kStride = 64 + 8;
  GLM_SHARED(TileOperand, vectors, kTiles * 4 * kLanesOfWave);
  GLM_SHARED(uint16_t, rest, 2 * kChunk * kRestStride);
  GLM_SHARED(float, parts, kWaves * kChunk * kChunk);
  GLM_SHARED(float, pairs, kChunk* kChunk);
  GLM_SHARED(float, surprise, 2 * kChunk * kStride);
  GLM_SHARED(float, read, kChunk* kStride);
  GLM_SHARED(float, whole, kTiles * 16);
  GLM_SHARED(float, weight, kChunk);
  uint16_t* deltas = reinterpret_cast<uint16_t*>(parts);

  // 2. Loads of a chunk, under way during the one before. Past the end they are
  //    the last token's: no load waits for a decision.
  struct Taken {
    float gate[8], key[8], query[8], value[8];
    float weight;
  };
  Taken taken;
  const auto take = [&](int64_t t0) GLM_INLINE {
    if (t0 >= length) return;
    const int last = int(Least(kChunk, length - t0)) - 1;
    const int64_t row0 = (sequence * sequences.tokens + t0) * H + head;
    const auto row = [&](int i) { return row0 + (i < last ? i : last) * H; };
    if (kTiles == kWaves || Wave() < kTiles) {
      GLM_UNROLL for (int i = 0; i < 8; i += 2) {
        const int64_t from = row(OperandRow(i)) * D;
        const int d = channel + OperandColumn(i);
        LoadTwo<F32, D>(g, from, d, taken.gate[i], taken.gate[i + 1]);
        LoadTwo<XT, D>(k, from, d, taken.key[i], taken.key[i + 1]);
        LoadTwo<XT, D>(q, from, d, taken.query[i], taken.query[i + 1]);
      }
    }
    if (half == 0) {
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        taken.value[i] = Load<XT>(
            v, row(TileRow(i)) * Dv + Least(column + TileColumn(i), Dv - 1));
      }
    }
    if (Thread() < kChunk) taken.weight = beta[row(Thread())];
  };
  take(0);

#pragma nounroll
  for (int64_t t0 = 0; t0 < length; t0 += kChunk) {
    const int last = int(Least(kChunk, length - t0)) - 1;

    // 3. The wave's channels; tokens past the end change nothing.
    ChunkChannels tokens;
    TileSums sums = 0.0f;
    if (kTiles == kWaves || Wave() < kTiles) {
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        const bool there = OperandRow(i) <= last &&
                           (D % 16 == 0 || channel + OperandColumn(i) < D);
        tokens.key[i] = there ? taken.key[i] : 0.0f;
        tokens.query[i] = there ? taken.query[i] : 0.0f;
        tokens.forward[i] = there ? Exp(taken.gate[i]) : 1.0f;
        tokens.backward[i] = 1.0f;
        tokens.total[i] = tokens.forward[i];
      }
      tokens.template Multiply<0>(sums);
      tokens.template Multiply<1>(sums);
      tokens.template Multiply<2>(sums);
      tokens.template Multiply<4>(sums);
      tokens.template Multiply<8>(sums);
    }
    Barrier();  // the chunk before is done with what is shared
    if (kTiles == kWaves || Wave() < kTiles) {
      float key[8], query[8], left[8];  // E_i k_i, E_i q_i, e(i, last) k_i
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        key[i] = tokens.key[i] * tokens.forward[i];
        query[i] = tokens.query[i] * tokens.forward[i];
        left[i] = tokens.key[i] * tokens.backward[i];
        if (OperandRow(i) == 0) {
          whole[channel + OperandColumn(i)] = tokens.total[i];
        }
        parts[Wave() * kChunk * kChunk + TileRow(i) * kChunk + TileColumn(i)] =
            sums[i];
      }
      TileOperand* to = vectors + Wave() * 4 * kLanesOfWave + Lane();
      const SplitTile k2 = Split(key), q2 = Split(query), r2 = Split(left);
      to[0] = k2.high;
      to[kLanesOfWave] = k2.low;
      to[2 * kLanesOfWave] = q2.high;
      to[3 * kLanesOfWave] = q2.low;
      typedef uint32_t Pairs __attribute__((ext_vector_type(4)));
      const Pairs high = __builtin_bit_cast(Pairs, r2.high);
      const Pairs low = __builtin_bit_cast(Pairs, r2.low);
      GLM_UNROLL for (int p = 0; p < 4; ++p) {
        uint16_t* at = rest + OperandRow(2 * p) * kRestStride + channel +
                       OperandColumn(2 * p);
        *reinterpret_cast<uint32_t*>(at) = high[p];
        *reinterpret_cast<uint32_t*>(at + kChunk * kRestStride) = low[p];
      }
    }
    if (Thread() < kChunk) {
      weight[Thread()] = Thread() <= last ? taken.weight : 0.0f;
    }
    Barrier();

    // 4. M and A; S^T (E_i k_i) and S^T (E_i q_i) of half of the channels.
    float value[8];
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      value[i] = half == 0 ? taken.value[i] : 0.0f;
    }
    take(t0 + kChunk);
    float pair = parts[Thread()];
    GLM_UNROLL for (int w = 1; w < kTiles; ++w) {
      pair += parts[w * kChunk * kChunk + Thread()];
    }
    pairs[Thread()] = pair;
    TileSums out = 0.0f;
    sums = 0.0f;
    GLM_UNROLL for (int x = 0; x < kOwn; ++x) {
      if (!exists(own(x))) continue;
      const SplitTile s = Split(state[x]);
      const TileOperand* of = vectors + own(x) * 4 * kLanesOfWave + Lane();
      MultiplySplit(sums, SplitTile{of[0], of[kLanesOfWave]}, s);
      MultiplySplit(out, SplitTile{of[2 * kLanesOfWave], of[3 * kLanesOfWave]},
                    s);
    }
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      const int at = TileRow(i) * kStride + 16 * stripe + TileColumn(i);
      surprise[half * kChunk * kStride + at] = value[i] - sums[i];
      if (half != 0) read[at] = out[i];
    }
    Barrier();

    // 5. The deltas of a column, one after the other.
    if (Thread() < 64) {
      float m[kChunk];
      GLM_UNROLL for (int i = 0; i < kChunk; ++i) {
        m[i] = surprise[i * kStride + Thread()] +
               surprise[(kChunk + i) * kStride + Thread()];
      }
      // m[j] becomes delta_j. Fours of M are one load each.
      GLM_UNROLL for (int j = 0; j < kChunk; ++j) {
        typedef float Four __attribute__((ext_vector_type(4)));
        m[j] *= weight[j];
        GLM_UNROLL for (int four = (j + 1) / 4; four < kChunk / 4; ++four) {
          const Four of =
              *reinterpret_cast<const Four*>(pairs + j * kChunk + 4 * four);
          GLM_UNROLL for (int i = 4 * four; i < 4 * four + 4; ++i) {
            if (i > j) m[i] -= of[i % 4] * m[j];
          }
        }
      }
      GLM_UNROLL for (int j = 0; j < kChunk; ++j) {
        const uint32_t high = Bf16Pair(m[j], 0.0f);
        deltas[j * kStride + Thread()] = uint16_t(high);
        deltas[(kChunk + j) * kStride + Thread()] =
            uint16_t(Bf16Pair(m[j] - FromBits(high << 16), 0.0f));
      }
    }
    Barrier();

    // 6. The state after the chunk.
    const SplitTile delta{
        LoadTileTransposed(deltas + 16 * stripe, kStride),
        LoadTileTransposed(deltas + kChunk * kStride + 16 * stripe, kStride)};
    GLM_UNROLL for (int x = 0; x < kOwn; ++x) {
      if (!exists(own(x))) continue;
      const uint16_t* from = rest + 16 * own(x);
      TileSums part = 0.0f;
      MultiplySplitToOperand(
          part, delta,
          SplitTile{
              LoadTileTransposed(from, kRestStride),
              LoadTileTransposed(from + kChunk * kRestStride, kRestStride)});
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        state[x][i] =
            state[x][i] * whole[16 * own(x) + OperandColumn(i)] + part[i];
      }
    }

    // 7. What the tokens read.
    if (half == 0) {
      float a[8];
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        const int row = OperandRow(i), c = OperandColumn(i);
        a[i] = c <= row ? pairs[row * kChunk + c] : 0.0f;
      }
      MultiplySplit(out, Split(a), delta);
      const int64_t row0 = (sequence * sequences.tokens + t0) * H + head;
      GLM_UNROLL for (int i = 0; i < 8; ++i) {
        const int row = TileRow(i), c = TileColumn(i);
        const float sum = out[i] + read[row * kStride + 16 * stripe + c];
        if (row <= last && (Dv % 64 == 0 || column + c < Dv)) {
          Store<OT>(o, (row0 + row * H) * Dv + column + c, sum);
        }
      }
    }
  }

  // 8. The state for the next step.
  each_element([&](int x, int i, bool there, float* at) GLM_INLINE {
    if (there) *at = state[x][i];
  });
}

}  // namespace glm::kernel

#endif  // GLM_GPU
