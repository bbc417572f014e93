// gpu_scores.h - sweeps over a row of scores on a GPU, and the columns that one
// of them keeps, in order.
#pragma once

#include "glm/gpu_gemv.h"

#ifdef GLM_GPU

namespace glm::kernel {

typedef float Float4 __attribute__((ext_vector_type(4)));

// Fours of neighbouring scores that a work-item has of a round: loads that are
// under way together.
inline constexpr int kFours = 8;
inline constexpr int kFourStep = 4 * kThreads;
inline constexpr int kScoreRound = kFours * kFourStep;

// Where four j of the round from `first` begins.
GLM_FN int FourAt(int first, int j) {
  return first + j * kFourStep + Thread() * 4;
}

struct ScoreRow {
  const float* scores;
  int n;
  // Fours are aligned, and the last one's rest may be read.
  bool wide;

  GLM_FN ScoreRow(const float* scores, int64_t n, int64_t columns)
      : scores(scores),
        n(int(n)),
        wide(columns % 4 == 0 &&
             reinterpret_cast<uintptr_t>(scores) % sizeof(Float4) == 0) {}

  // A round; what is not there is NaN.
  GLM_FN void Load(int first, Float4 (&to)[kFours]) const {
    const float none = __builtin_nanf("");
    const float* from = scores + FourAt(first, 0);
    const int left = n - FourAt(first, 0);
    if (wide) {
      GLM_UNROLL for (int j = 0; j < kFours; ++j) {
        const int at = j * kFourStep;
        to[j] = none;
        if (at < left) to[j] = *reinterpret_cast<const Float4*>(from + at);
      }
      if (first + kScoreRound > n && n % 4 != 0) {
        GLM_UNROLL for (int j = 0; j < kFours; ++j) {
          GLM_UNROLL for (int l = 0; l < 4; ++l) {
            to[j][l] = j * kFourStep + l < left ? to[j][l] : none;
          }
        }
      }
    } else {
      GLM_UNROLL for (int j = 0; j < kFours; ++j) {
        GLM_UNROLL for (int l = 0; l < 4; ++l) {
          const int at = j * kFourStep + l;
          to[j][l] = none;
          if (at < left) to[j][l] = from[at];
        }
      }
    }
  }

  // f(first, fours) for the rounds of [begin, end), by all lanes at once; the
  // next one is on its way meanwhile. Columns that loops derive from `first`
  // are not kept in registers.
  template <class F>
  GLM_FN void EachRound(int begin, int end, F f) const {
    Float4 now[kFours], next[kFours];
#pragma nounroll
    for (int first = begin - kScoreRound; first < end; first += kScoreRound) {
      const int after = first + kScoreRound;
      if (after < end) Load(int(Opaque(after)), next);
      if (first >= begin) f(int(Opaque(first)), now);
      GLM_UNROLL for (int j = 0; j < kFours; ++j) now[j] = next[j];
    }
  }
};

// ----------------------------------------------------------------- prefix sums

template <int kMask>
GLM_FN uint32_t ExchangeBits(uint32_t v) {
  return Bits(Exchange<kMask>(FromBits(v)));
}

template <int kMask, int kCount>
GLM_FN void AddBelow(int (&below)[kCount], int (&total)[kCount]) {
  GLM_UNROLL for (int c = 0; c < kCount; ++c) {
    const int other = int(ExchangeBits<kMask>(uint32_t(total[c])));
    below[c] += (Lane() & kMask) != 0 ? other : 0;
    total[c] += other;
  }
}

// From each value to the sum of those of the work-items before this one, and to
// that of all. A barrier must follow before the next call.
template <int kCount>
GLM_FN void SumBelow(int (&values)[kCount], int (&totals)[kCount]) {
  GLM_SHARED(int, sums, kWaves* kCount);
  GLM_UNROLL for (int c = 0; c < kCount; ++c) {
    totals[c] = values[c];
    values[c] = 0;
  }
  AddBelow<1>(values, totals);
  AddBelow<2>(values, totals);
  AddBelow<4>(values, totals);
  AddBelow<8>(values, totals);
  AddBelow<16>(values, totals);
  GLM_UNROLL for (int c = 0; c < kCount; ++c) {
    if (Lane() == 0) sums[c * kWaves + Wave()] = totals[c];
  }
  Barrier();
  GLM_UNROLL for (int c = 0; c < kCount; ++c) {
    totals[c] = 0;
    GLM_UNROLL for (int w = 0; w < kWaves; ++w) {
      const int of_wave = sums[c * kWaves + w];
      values[c] += w < Wave() ? of_wave : 0;
      totals[c] += of_wave;
    }
    totals[c] = Uniform(totals[c]);
  }
}

// ------------------------------------------------------------------ compaction

// 8 lanes have 8 fours of bits each; afterwards the lane's four j is four
// `lane` of lane j.
template <int kMask>
GLM_FN uint32_t SwapFours(uint32_t bits, uint32_t low) {
  const uint32_t other = ExchangeBits<kMask>(bits);
  return (Lane() & kMask) == 0 ? (bits & low) | (other & low) << 4 * kMask
                               : (bits & ~low) | (other >> 4 * kMask & low);
}
GLM_FN uint32_t TransposeFours(uint32_t bits) {
  bits = SwapFours<1>(bits, 0x0f0f0f0fu);
  bits = SwapFours<2>(bits, 0x00ff00ffu);
  return SwapFours<4>(bits, 0x0000ffffu);
}

// Scores that are looked at between barriers, and the words with their bits.
inline constexpr int kScoreRounds = 4;
inline constexpr int kScoreChunk = kScoreRounds * kScoreRound;
inline constexpr int kScoreWords = kScoreChunk / 32;

// The columns with keep(base, offset, score), ascending, at most `limit` of
// them to `out`; a column is base + offset, and offsets are constants. Returns
// how many there are, or some number above `limit`. It uses the first
// kScoreWords of Scratch.
template <class Keep>
GLM_FN int CompactScores(const ScoreRow& row, int limit, Keep keep,
                         int32_t* out) {
  static_assert(kScoreRound == 32 * kThreads, "a word of a round each");
  static_assert(kScoreRounds % 2 == 0 && kScoreRound < 65536, "sums in pairs");
  uint32_t* words = reinterpret_cast<uint32_t*>(Scratch());
  int count = 0;
  for (int chunk = 0; chunk < row.n && count <= limit; chunk += kScoreChunk) {
    // 1. A bit for each score.
    const auto mark = [&](int first, const Float4(&fours)[kFours]) {
      uint32_t bits = 0;
      GLM_UNROLL for (int j = 0; j < kFours; ++j) {
        if (first + j * kFourStep >= row.n) break;
        GLM_UNROLL for (int l = 0; l < 4; ++l) {
          const bool kept =
              keep(FourAt(first, 0), j * kFourStep + l, fours[j][l]);
          bits |= uint32_t(kept) << (j * 4 + l);
        }
      }
      words[(first - chunk) / 32 + Thread() % 8 * (kThreads / 8) +
            Thread() / 8] = TransposeFours(bits);
    };
    const bool last = row.n - chunk <= kScoreChunk;
    row.EachRound(chunk, last ? row.n : chunk + kScoreChunk, mark);
    Barrier();

    // 2. The word of each round; how many of the chunk are before it.
    uint32_t word[kScoreRounds];
    int before[kScoreRounds / 2] = {}, totals[kScoreRounds / 2];
    GLM_UNROLL for (int r = 0; r < kScoreRounds; ++r) {
      const int at = r * kThreads + Thread();
      const int left = row.n - (chunk + at * 32);
      const uint32_t exists = left >= 32 ? ~0u
                              : left > 0 ? (1u << left) - 1u
                                         : 0u;
      word[r] = words[at] & exists;
      before[r / 2] |= __builtin_popcount(word[r]) << r % 2 * 16;
    }
    SumBelow(before, totals);

    // 3. Its columns.
    GLM_UNROLL for (int r = 0; r < kScoreRounds; ++r) {
      int place = count + (before[r / 2] >> r % 2 * 16 & 0xffff);
      const int first = chunk + (r * kThreads + Thread()) * 32;
      for (uint32_t left = word[r]; left != 0; left &= left - 1) {
        if (place < limit) out[place] = first + __builtin_ctz(left);
        ++place;
      }
      count += totals[r / 2] >> r % 2 * 16 & 0xffff;
    }
    Barrier();
  }
  return count;
}

}  // namespace glm::kernel

#endif  // GLM_GPU
