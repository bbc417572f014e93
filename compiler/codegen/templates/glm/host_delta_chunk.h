// host_delta_chunk.h - the delta rule by chunks (delta_rule_chunk.h) on a CPU.
#pragma once

#include "glm/block.h"
#include "glm/host_decayed_pairs.h"

#ifndef GLM_GPU

namespace glm::kernel {

// store(i, j, load(i, j)) for a matrix [M, N].
template <int64_t M, int64_t N, class From, class To>
GLM_FN void Stage(Block& block, From load, To store) {
  for (int64_t i = 0; i < M; ++i) {
    Each<N>(block, [&](int64_t j, int64_t) { store(i, j, load(i, j)); });
  }
}

// [D, N] floats that stay where EachLanes has them: At(i) is the rows of the
// call that begins at i.
template <int64_t D, int64_t N>
struct LaneMatrix {
  Lanes values[CeilDiv(N, kLanes)][D];
  GLM_FN Lanes* At(int64_t i) { return values[i / kLanes]; }
};

// Sums of Lanes that one loop carries: registers for them and for a row of what
// they multiply.
inline constexpr int64_t kLaneSums = kVector == 16 ? 4 : 2;

inline constexpr bool kChunksFit = true;

template <int XT, int OT, int64_t H, int64_t D, int64_t Dv, class Block>
GLM_FN void DeltaChunk(Block& block, const Args& args) {
  static_assert(D <= 128, "shared memory");
  constexpr int64_t kBlocks = CeilDiv(Dv, 64);
  constexpr int64_t kColumns = Least(64, Dv);
  const Sequences sequences(args);
  const int64_t head = block.x / kBlocks;
  const int64_t sequence = block.y;
  const int64_t column = block.x % kBlocks * 64;
  const int64_t length = sequences.Length(sequence);
  if (length == 0) return;
  const void* q = args.Pointer(4);
  const void* k = args.Pointer(5);
  const void* v = args.Pointer(6);
  const float* g = static_cast<const float*>(args.Pointer(7));
  const float* beta = static_cast<const float*>(args.Pointer(8));
  float* state =
      reinterpret_cast<float*>(SlotMemory(args, 9, sequences.Slot(sequence))) +
      head * D * Dv + column;
  void* o = args.Pointer(11);
  const bool fresh = sequences.Position(sequence) == 0;
  // Of `count` lanes from v0, those that are columns.
  const auto columns_at = [&](int64_t v0, int64_t count) {
    return Most(0, Least(count, Dv - column - v0));
  };

  // 1. The block's columns of the state.
  constexpr int64_t kRows = kLaneRows<D, kColumns>;
  LaneMatrix<D, kColumns> matrix;
  EachLanes<D, kColumns>(
      block, [&](int64_t v0, int64_t count, int64_t d0) GLM_INLINE {
        Lanes* s = matrix.At(v0);
        const int64_t some = columns_at(v0, count);
        GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
          s[d] = fresh ? Lanes(0.0f)
                       : LoadLanes<F32>(state, (d0 + d) * Dv + v0, some);
        }
      });

  // value: v, then o in its place, in rows of whole Lanes.
  constexpr int64_t kStride = CeilDiv(kColumns, kLanes) * kLanes;
  GLM_SHARED(float, value, kChunk* kStride);
  GLM_SHARED(float, decay, kChunk* D);
  GLM_SHARED(float, key, kChunk* D);
  GLM_SHARED(float, query, kChunk* D);
  GLM_SHARED(float, rest, D* kChunk);
  GLM_SHARED(float, keys, kChunk* kChunk);
  GLM_SHARED(float, queries, kChunk* kChunk);
  GLM_SHARED(float, whole, D);
  GLM_SHARED(float, weight, kChunk);
  for (int64_t t0 = 0; t0 < length; t0 += kChunk) {
    const int64_t row0 = (sequence * sequences.tokens + t0) * H + head;

    // 2. The tokens' vectors; past the end, such as change nothing. What is
    //    loaded there is the last token's: no load waits for a decision.
    const int64_t last = Least(kChunk, length - t0) - 1;
    struct Element {
      float gate, key, query;
    };
    Stage<kChunk, D>(
        block,
        [&](int64_t i, int64_t d) {
          const int64_t from = (row0 + Least(i, last) * H) * D + d;
          return Element{g[from], Load<XT>(k, from), Load<XT>(q, from)};
        },
        [&](int64_t i, int64_t d, Element element) {
          decay[i * D + d] = i <= last ? Exp(element.gate) : 1.0f;
          key[i * D + d] = i <= last ? element.key : 0.0f;
          query[i * D + d] = i <= last ? element.query : 0.0f;
        });
    Stage<kChunk, kStride>(
        block,
        [&](int64_t i, int64_t c) {
          const int64_t from = (row0 + Least(i, last) * H) * Dv;
          return Load<XT>(v, from + Least(column + c, Dv - 1));
        },
        [&](int64_t i, int64_t c, float v) { value[i * kStride + c] = v; });
    Each<kChunk>(block, [&](int64_t i, int64_t) {
      weight[i] = i <= last ? beta[row0 + i * H] : 0.0f;
    });

    // 3. keys = M, queries = A, rest[d][j] = e(j, last) k_j.
    DecayedPairs<D>(block, decay, key, query, keys, queries, rest);

    // 4. E_i k_i and E_i q_i in place of k_i and q_i; E_last.
    Each<D>(block, [&](int64_t d, int64_t) {
      float product = 1.0f;
      GLM_UNROLL for (int64_t i = 0; i < kChunk; ++i) {
        product *= decay[i * D + d];
        key[i * D + d] *= product;
        query[i * D + d] *= product;
      }
      whole[d] = product;
    });

    EachLanes<D, kColumns>(block, [&](int64_t v0, int64_t count,
                                      int64_t d0) GLM_INLINE {
      Lanes* s = matrix.At(v0);
      Lanes delta[kChunk];
      // sums[x] = S^T rows_(i + x).
      const auto products = [&](const float* rows, int64_t i, Lanes* sums) {
        GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
          GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
            sums[x] += s[d] * rows[(i + x) * D + d0 + d];
          }
        }
        GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
          sums[x] = SumLanes<D, kColumns>(sums[x]);
        }
      };

      // 5. The deltas, one after the other.
      GLM_UNROLL for (int64_t first = 0; first < kChunk; first += kLaneSums) {
        Lanes memory[kLaneSums] = {};
        products(key, first, memory);
        GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
          const int64_t i = first + x;
          GLM_UNROLL for (int64_t j = 0; j < i; ++j) {
            memory[x] += delta[j] * keys[i * kChunk + j];
          }
          delta[i] =
              weight[i] *
              (LoadLanes<F32>(value, i * kStride + v0, kLanes) - memory[x]);
        }
      }

      // 6. What the tokens read.
      GLM_UNROLL for (int64_t first = 0; first < kChunk; first += kLaneSums) {
        Lanes out[kLaneSums] = {};
        products(query, first, out);
        GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
          const int64_t i = first + x;
          GLM_UNROLL for (int64_t j = 0; j <= i; ++j) {
            out[x] += delta[j] * queries[i * kChunk + j];
          }
          StoreLanes<F32>(value, i * kStride + v0, count == 0 ? 0 : kLanes,
                          out[x]);
        }
      }

      // 7. The state after the chunk.
      GLM_UNROLL for (int64_t d = 0; d < kRows; d += kLaneSums) {
        Lanes sum[kLaneSums];
        GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
          if (d + x < kRows) sum[x] = s[d + x] * whole[d0 + d + x];
        }
        GLM_UNROLL for (int64_t j = 0; j < kChunk; ++j) {
          GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
            if (d + x < kRows) {
              sum[x] += delta[j] * rest[(d0 + d + x) * kChunk + j];
            }
          }
        }
        GLM_UNROLL for (int64_t x = 0; x < kLaneSums; ++x) {
          if (d + x < kRows) s[d + x] = sum[x];
        }
      }
    });
    Stage<kChunk, kStride>(
        block, [&](int64_t i, int64_t c) { return value[i * kStride + c]; },
        [&](int64_t i, int64_t c, float v) {
          const int64_t to = (row0 + i * H) * Dv + column + c;
          if (i <= last && column + c < Dv) Store<OT>(o, to, v);
        });
  }

  // 8. The state for the next step.
  EachLanes<D, kColumns>(
      block, [&](int64_t v0, int64_t count, int64_t d0) GLM_INLINE {
        const Lanes* s = matrix.At(v0);
        const int64_t some = columns_at(v0, count);
        GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
          StoreLanes<F32>(state, (d0 + d) * Dv + v0, some, s[d]);
        }
      });
}

}  // namespace glm::kernel

#endif  // GLM_GPU
