// gpu_top_k.h - the k largest of a row on a GPU, by the exact rule of top_k.
#pragma once

#include "glm/gpu_cut.h"

#ifdef GLM_GPU

namespace glm::kernel {

// ------------------------------------------------------------------ few of few

// The items and the places of RankTopK at a time.
inline constexpr int kRanked = 64 * kWaves;
inline constexpr int kRankedPlaces = 16;

// How many of keys[0 .. 16 * sixteens) are before keys[i] unless that is 0: the
// larger ones, and of the equal ones those at a lower index. Four neighbouring
// lanes have one i and share the comparisons; they all get the sum. The whole
// wave takes part.
GLM_FN int CountBefore(const uint32_t* keys, int sixteens, int i) {
  typedef uint32_t Key4 __attribute__((ext_vector_type(4)));
  const uint32_t key = keys[i];
  const int part = Thread() % 4;
  // In i's own four, the ones before it; in others, all or none count if equal.
  int before = part < i % 4 && keys[i / 4 * 4 + part] == key;
#pragma unroll 4
  for (int j = 0; j < sixteens; ++j) {
    const int four = j * 4 + part;
    const Key4 other = *reinterpret_cast<const Key4*>(keys + four * 4);
    const uint32_t least = four < i / 4 ? key : key + 1;
    GLM_UNROLL for (int l = 0; l < 4; ++l) before += other[l] >= least;
  }
  float sum = float(before);  // exact, and what lanes exchange
  sum += Exchange<1>(sum);
  return int(sum + Exchange<2>(sum));
}

// SelectTopK, largest first, for k <= kRankedPlaces and rows that are not long.
// An item's place is the number of items before it: among those of its wave
// first, then among the first ones of all waves. What kRanked items do not hold
// comes after them, with the ones chosen so far in front: all are in order of
// column where they are equal.
template <int64_t k>
GLM_FN void RankTopK(const float* scores, int64_t n64, int32_t* ids) {
  constexpr int kShare = kRanked / kWaves;  // at most
  constexpr int kPlaces = int(CeilDiv(kWaves * k, 16)) * 16;
  static_assert(2 * (kRanked + kPlaces) <= kScratchFloats, "fits");
  uint32_t* keys = reinterpret_cast<uint32_t*>(Scratch());
  uint32_t* firsts = keys + kRanked;
  int* columns = reinterpret_cast<int*>(firsts + kPlaces);
  const int n = int(n64);
  for (int i = n + Thread(); i < k; i += kThreads) ids[i] = -1;
  int chosen = 0;
#pragma nounroll
  for (int next = 0; next < n;) {
    const int room = kRanked - chosen;
    const int fresh = n - next < room ? n - next : room;
    const int items = chosen + fresh;
    const auto column = [&](int i) {
      return i < chosen ? ids[i] : next + i - chosen;
    };
    const int share = (items + kWaves - 1) / kWaves;
    const int begin = Wave() * share;
    const int left = items - begin;  // less than 0: none
    const int own = left < share ? left : share;

    // 1. The keys of the wave's share; 0 is none, and less than that of a NaN.
    uint32_t* wave_keys = keys + Wave() * kShare;
    GLM_UNROLL for (int i = 0; i < kShare; i += kLanesOfWave) {
      const int at = i + Lane();
      uint32_t key = 0;
      if (at < own) key = OrderedKey(scores[column(begin + at)]) + 1;
      wave_keys[at] = key;
    }
    if (Lane() < k && Lane() >= own) firsts[Wave() * k + Lane()] = 0;
    if (Thread() < kPlaces - kWaves * k) firsts[kWaves * k + Thread()] = 0;
    WaveBarrier();

    // 2. Its k first ones: equal keys are in order of column there, too.
    const int sixteens = (share + 15) / 16;
    for (int first = 0; first < own; first += kLanesOfWave / 4) {
      const int i = first + Lane() / 4;
      const int place = CountBefore(wave_keys, sixteens, i);
      if (i < own && place < k && Lane() % 4 == 0) {
        firsts[Wave() * k + place] = wave_keys[i];
        columns[Wave() * k + place] = column(begin + i);
      }
    }
    Barrier();

    // 3. Those of all waves.
    GLM_UNROLL for (int first = 0; first < kWaves * k; first += kThreads / 4) {
      if (first + Wave() * (kLanesOfWave / 4) < kWaves * k) {
        const int i = first + Thread() / 4;
        const int place = CountBefore(firsts, kPlaces / 16, i);
        if (firsts[i] != 0 && place < k && Thread() % 4 == 0) {
          ids[place] = columns[i];
        }
      }
    }
    next += fresh;
    chosen = items < k ? items : int(k);
    Barrier();
  }
}

// --------------------------------------------------------------- many of them

// Most places for which scores are sampled, and most columns that are looked at
// closer: they follow a compaction's words in Scratch.
inline constexpr int kSampledPlaces = 2 * kThreads;
inline constexpr int kOwnCandidates = 8;
inline constexpr int kCandidates = kOwnCandidates * kThreads;

// The k of `count` candidates, which are in order and whose keys are between
// `low` and `high`, in order.
template <int64_t k>
GLM_FN void StoreCandidates(const float* scores, const int32_t* columns,
                            int count, uint32_t low, uint32_t high,
                            int32_t* ids) {
  // Each work-item has `each` neighbours, so that their order is kept.
  const int each = (count + kThreads - 1) / kThreads;
  const int begin = Thread() * each;
  const int own = count - begin;       // or more; less than 0: none
  uint32_t keys[kOwnCandidates] = {};  // 0 is below all
  GLM_UNROLL for (int j = 0; j < kOwnCandidates; ++j) {
    if (j < each && j < own) {
      keys[j] = OrderedKey(scores[columns[begin + j]]);
    }
  }
  const Cut cut = CutKeys(
      [&](auto add) {
        GLM_UNROLL for (int j = 0; j < kOwnCandidates; ++j) {
          if (j >= each) break;
          add(keys[j], j < own);
        }
      },
      int(k), 0, low, high);

  // Those above it, and of the equal ones the first.
  int before[1] = {}, total[1];
  GLM_UNROLL for (int j = 0; j < kOwnCandidates; ++j) {
    before[0] += keys[j] > cut.key ? 1 : keys[j] == cut.key ? 1 << 16 : 0;
  }
  SumBelow(before, total);
  int above = before[0] & 0xffff;
  int equal = before[0] >> 16;
  GLM_UNROLL for (int j = 0; j < kOwnCandidates; ++j) {
    const bool is_equal = keys[j] == cut.key;
    if (keys[j] > cut.key || (is_equal && equal < cut.equal)) {
      const int place = above + (equal < cut.equal ? equal : cut.equal);
      ids[place] = columns[begin + j];
    }
    above += keys[j] > cut.key;
    equal += is_equal;
  }
  Barrier();
}

// ids[0 .. k) = columns of the k largest of the row, ascending, of equal ones
// the lower; -1 where there are fewer.
template <int64_t k>
GLM_FN void ChooseTopK(Block& block, const ScoreRow& row, int32_t* ids) {
  if (row.n <= k) {
    Each<k>(block, [&](int64_t i, int64_t) {
      const int32_t column = int32_t(i);
      ids[i] = column < row.n ? column : -1;
    });
    return;
  }
  // What a sweep keeps: all above a key, and up to a column those of the cut.
  Cut cut{0u, 0};
  uint32_t above = ~0u;
  int last = row.n;
  if constexpr (k > kSampledPlaces) {
    cut = CutRow(row, int(k));
  } else {
    // 1. All that reach a key that k of them reach.
    static_assert(kScoreWords + kCandidates <= kCutAt, "fits");
    int32_t* columns = reinterpret_cast<int32_t*>(Scratch()) + kScoreWords;
    uint32_t high;
    const uint32_t low =
        SampledKey<int(CeilDiv(k, kThreads))>(row, int(k), high);
    const float least = OrderedScore(low);
    const int count = CompactScores(
        row, kCandidates, [&](int, int, float v) { return v >= least; },
        columns);
    if (count >= k && count <= kCandidates) {
      StoreCandidates<k>(row.scores, columns, count, low, high, ids);
      return;
    }
    // NaN is among the chosen, or else many are equal, perhaps to that key, or
    // they stand where few were sampled.
    cut = {count < k ? 0u : low, int(k) - count};
    above = count < k ? above : low;
    last = count < k ? last : -1;
  }

  // 2. A sweep that counts those above the key, if that is not known; one for
  //    the last of the equal ones that are chosen, of which there may be none
  //    if the cut is between keys; and one for all.
  for (bool all = false;;) {
    const bool is_cut = above == ~0u;
    const int limit = all ? int(k) : is_cut ? cut.equal : int(k) - 1;
    const int found = CompactScores(
        row, limit,
        [&](int base, int offset, float v) {
          const uint32_t key = OrderedKey(v);
          return key > above || (key == cut.key && offset <= last - base);
        },
        ids);
    if (all) return;
    if (is_cut) {
      const int equal = found < cut.equal ? found : cut.equal;
      last = equal > 0 ? ids[equal - 1] : -1;
      above = cut.key;
      all = true;
    } else {
      cut = found < k ? Cut{cut.key, int(k) - found} : CutRow(row, int(k));
      above = ~0u;
      last = row.n;
    }
  }
}

// ------------------------------------------------------------------- in order

// The order of items is the rule: the low half is the column's complement. 0 is
// no item.
GLM_FN uint64_t KeyItem(uint32_t key, int64_t column) {
  return uint64_t(key) << 32 | (0xffffffffu - uint32_t(column));
}

// Largest first, by a bitonic network; kCount is a power of 2.
template <int kCount>
GLM_FN void SortItems(Block& block, uint64_t* items) {
  for (int run = 2; run <= kCount; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      Each<kCount / 2 == 0 ? 1 : kCount / 2>(block, [&](int64_t i, int64_t) {
        const int low = int(i) / step * 2 * step + int(i) % step;
        const int high = low + step;
        const uint64_t a = items[low];
        const uint64_t b = items[high];
        if ((low & run) == 0 ? a < b : a > b) {
          items[low] = b;
          items[high] = a;
        }
      });
    }
  }
}

// The chosen columns, of which as many as there are precede the -1, from order
// of column to that of score.
template <int64_t k>
GLM_FN void SortChosen(Block& block, const float* scores, int32_t* ids) {
  constexpr int kPlaces = [] {
    int places = 1;
    while (places < k) places *= 2;
    return places;
  }();
  constexpr bool kFits = 2 * kPlaces <= kScratchFloats;
  GLM_SHARED(uint64_t, own_items, kFits ? 1 : kPlaces);
  uint64_t* items = kFits ? reinterpret_cast<uint64_t*>(Scratch()) : own_items;
  Each<kPlaces>(block, [&](int64_t i, int64_t) {
    const int32_t id = i < k ? ids[i] : -1;
    items[i] = id < 0 ? 0 : KeyItem(OrderedKey(scores[id]), id);
  });
  SortItems<kPlaces>(block, items);
  Each<k>(block, [&](int64_t i, int64_t) {
    ids[i] = items[i] == 0 ? -1 : int32_t(0xffffffffu - uint32_t(items[i]));
  });
}

// ids[0 .. k) = columns of the k largest of scores[0 .. n), of equal ones the
// lower; -1 where there are fewer. In order of column, or the largest first,
// equal ones by column. scores[0 .. columns) may be read.
template <int64_t k, bool kByColumn>
GLM_FN void SelectTopK(Block& block, const float* scores, int64_t n,
                       int64_t columns, int32_t* ids) {
  if constexpr (!kByColumn && k <= kRankedPlaces) {
    RankTopK<k>(scores, n, ids);
  } else {
    ChooseTopK<k>(block, ScoreRow(scores, n, columns), ids);
    if constexpr (!kByColumn) SortChosen<k>(block, scores, ids);
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
