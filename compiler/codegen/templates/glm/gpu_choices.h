// gpu_choices.h - who chose what: the places of each id in a table of them, on
// a GPU.
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

// Whose list place's id is on: those that are none of 0 .. E - 1 are on 0's.
template <int64_t E>
GLM_FN int ListOfId(int32_t id) {
  return uint32_t(id) < uint32_t(E) ? id : 0;
}

// Of the places i in [0, n) with wants(ids[i]), those from number `first` on,
// kMost or as many as there are, in an order of its own that is the same for
// all blocks. The ids are 16-byte aligned. Few are wanted: what follows for
// those is not done for all.
template <int64_t kMost, class Wants>
GLM_FN int ChosenPlaces(const int32_t* ids, int n, Wants wants, int first,
                        int32_t* chosen) {
  constexpr int kRound = kIdsTogether * kThreads;
  GLM_SHARED(int, found, kWaves);
  const int end = first + int(kMost);
  int count = 0;
  for (int from = 0; from < n && count < end;) {
    int32_t id[kIdsRounds][kIdsTogether];
    GLM_UNROLL for (int round = 0; round < kIdsRounds; ++round) {
      GLM_UNROLL for (int j = 0; j < kIdsTogether; j += 4) {
        LoadIds(ids, from + round * kRound + j * kThreads + Thread() * 4, n,
                id[round] + j);
      }
    }
    GLM_UNROLL for (int round = 0; round < kIdsRounds; ++round) {
      if (from >= n || count >= end) break;
      const auto place = [&](int j) {
        return from + j / 4 * 4 * kThreads + Thread() * 4 + j % 4;
      };
      // Bit j: the work-item's j-th id is one.
      uint32_t kept = 0;
      GLM_UNROLL for (int j = 0; j < kIdsTogether; ++j) {
        kept |= uint32_t(wants(id[round][j]) && place(j) < n) << j;
      }
      int mine = 0, before = 0;  // of the wave, and of its lanes before
      if (Ballot(kept != 0) != 0) {
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
      for (; kept != 0; kept &= kept - 1, ++at) {
        if (at >= first && at < end) {
          chosen[at - first] = place(__builtin_ctz(kept));
        }
      }
      from += kRound;
      Barrier();
    }
  }
  return int(Least(count - first, kMost));
}

// The places of each id 0 .. E - 1 in lists of at most kMost, shared out evenly
// among the blocks (x, 0 .. E - 1): f(id, chosen, rows) for those of this one.
// Many places of one id are the work of many blocks.
template <int64_t kMost, int64_t E, class F>
GLM_FN void EachListOf(Block& block, const int32_t* ids, int64_t n64, F f) {
  constexpr int kSection = 16;
  constexpr int kSections = int(CeilDiv(E, kSection));
  const int n = int(n64);  // what a list can hold
  GLM_SHARED(int32_t, chosen, kMost);
  GLM_SHARED(int, places, kSections* kSection);
  GLM_SHARED(int, sections, kSections);

  // 1. Places of each id, and lists of 16 ids together.
  for (int i = Thread(); i < kSections * kSection; i += kThreads) places[i] = 0;
  Barrier();
#pragma unroll 4
  for (int i = Thread() * 4; i < n; i += kThreads * 4) {
    int32_t id[4];
    LoadIds(ids, i, n, id);
    GLM_UNROLL for (int j = 0; j < 4; ++j) {
      if (i + j >= n) continue;
      __scoped_atomic_fetch_add(&places[ListOfId<E>(id[j])], 1,
                                __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    }
  }
  Barrier();
  const auto lists = [&](int id) {
    return int(uint32_t(places[id] + int(kMost) - 1) / uint32_t(kMost));
  };
  if (Thread() < kSections) {
    int sum = 0;
    GLM_UNROLL for (int i = 0; i < kSection; ++i) {
      sum += lists(Thread() * kSection + i);
    }
    sections[Thread()] = sum;
  }
  Barrier();

  // 2. Every E-th list.
  for (int64_t list = block.y;; list += E) {
    int index = int(list), section = 0;
    for (; section < kSections && index >= sections[section]; ++section) {
      index -= sections[section];
    }
    if (Uniform(section) == kSections) return;
    int id = section * kSection;
    for (; index >= lists(id); ++id) index -= lists(id);
    id = Uniform(id);
    const int rows = ChosenPlaces<kMost>(
        ids, n, [&](int32_t i) { return ListOfId<E>(i) == id; },
        Uniform(index) * int(kMost), chosen);
    f(id, chosen, int64_t(rows));
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
