// gpu_choices.h - who chose what: the places of a table of ids, on a GPU.
#pragma once

#include "glm/block.h"

#ifdef GLM_GPU

namespace glm::kernel {

// Ids that a work-item looks at before the block agrees on what it found, and
// how often it does so for one round of loads.
inline constexpr int kIdsTogether = 8;
inline constexpr int kIdsRounds = 4;
static_assert(kIdsTogether < 16, "a lane's number has four bits");

// 4 neighbouring ids; from `n` on they are none's.
GLM_FN void LoadIds(const int32_t* ids, int i, int n, int32_t* to) {
  typedef int32_t Ids __attribute__((ext_vector_type(4)));
  if (i + 4 <= n) {
    const Ids four = *reinterpret_cast<const Ids*>(ids + i);
    GLM_UNROLL for (int j = 0; j < 4; ++j) to[j] = four[j];
  } else {
    GLM_UNROLL for (int j = 0; j < 4; ++j) to[j] = i + j < n ? ids[i + j] : -1;
  }
}

// f(chosen, rows) for the i in [0, n) with wants(ids[i]) and keep(i), in an
// order of its own, kMost at a time and the rest at the end. The ids are
// 16-byte aligned. Few are wanted: what follows for those is not done for all.
template <int64_t kMost, class Wants, class Keep, class F>
GLM_FN void EachChosen(Block&, const int32_t* ids, int64_t n64, Wants wants,
                       Keep keep, F f) {
  const int n = int(n64);  // what a list can hold
  constexpr int kRound = kIdsTogether * kThreads;
  GLM_SHARED(int32_t, chosen, kMost + kRound);
  GLM_SHARED(int, found, kWaves);
  int count = 0;
  for (int from = 0; from < n || count > 0;) {
    // 1. A list of kMost or more, or of all that are left.
    while (from < n && count < kMost) {
      int32_t id[kIdsRounds][kIdsTogether];
      GLM_UNROLL for (int round = 0; round < kIdsRounds; ++round) {
        GLM_UNROLL for (int j = 0; j < kIdsTogether; j += 4) {
          LoadIds(ids, from + round * kRound + j * kThreads + Thread() * 4, n,
                  id[round] + j);
        }
      }
      GLM_UNROLL for (int round = 0; round < kIdsRounds; ++round) {
        if (from >= n || count >= kMost) break;
        const auto place = [&](int j) {
          return from + j / 4 * 4 * kThreads + Thread() * 4 + j % 4;
        };
        // Bit j: the work-item's j-th id is one.
        uint32_t kept = 0;
        GLM_UNROLL for (int j = 0; j < kIdsTogether; ++j) {
          kept |= uint32_t(wants(id[round][j])) << j;
        }
        int mine = 0, before = 0;  // of the wave, and of its lanes before
        if (Ballot(kept != 0) != 0) {
          for (uint32_t left = kept; left != 0; left &= left - 1) {
            const int j = __builtin_ctz(left);
            if (place(j) >= n || !keep(place(j))) kept &= ~(1u << j);
          }
          const int own = __builtin_popcount(kept);
          GLM_UNROLL for (int bit = 0; bit < 4; ++bit) {
            const uint32_t lanes = Ballot(own >> bit & 1);
            mine += __builtin_popcount(lanes) << bit;
            before += __builtin_popcount(lanes & ((1u << Lane()) - 1u)) << bit;
          }
        }
        if (Lane() == 0) found[Wave()] = mine;
        Barrier();
        int at = count + before;
        GLM_UNROLL for (int wave = 0; wave < kWaves; ++wave) {
          at += wave < Wave() ? found[wave] : 0;
          count += found[wave];
        }
        count = Uniform(count);
        for (; kept != 0; kept &= kept - 1) {
          chosen[at++] = place(__builtin_ctz(kept));
        }
        from += kRound;
        Barrier();
      }
    }

    // 2. Its lists.
    int done = 0;
    while (count - done >= kMost || (from >= n && done < count)) {
      const int64_t rows = Least(kMost, count - done);
      f(chosen + done, rows);
      done += int(rows);
    }

    // 3. What is left, fewer than kMost, to the front.
    const int left = count - done;
    const int32_t moved = Thread() < left ? chosen[done + Thread()] : 0;
    Barrier();
    if (Thread() < left) chosen[Thread()] = moved;
    count = left;
    Barrier();
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
