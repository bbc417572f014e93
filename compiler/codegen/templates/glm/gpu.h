// gpu.h - the block vocabulary on a GPU: one block is a workgroup of 256
// work-items in 8 waves of 32.
//
// All work-items run the whole body; Each spreads its indices over them. Shared
// arrays are static: a kernel has all that its body names, at most 48 KiB, for
// its whole life.
#pragma once

#include "glm/gfx1201.h"
#include "glm/number.h"
#include "glm/sm_90.h"

#ifdef GLM_GPU

#define GLM_SHARED(type, name, count) \
  alignas(16) static __attribute__((device, shared)) type name[count]

namespace glm::kernel {

inline constexpr int kThreads = 256;
inline constexpr int kLanesOfWave = 32;
inline constexpr int kWaves = kThreads / kLanesOfWave;

GLM_FN int Wave() { return Uniform(Thread() / kLanesOfWave); }

// Few rows are multiplied whether they are valid or not: reading a weight waits
// for nothing, and results of the others are not stored.
inline constexpr bool kTakesFewRows = true;

// Position of the block in the grid.
struct Block {
  // Most rows that a launch may have, where the kernel was made for few.
  static constexpr int64_t kRows = int64_t{1} << 31;
  // Blocks from x on whose work this one does, in kernels that can.
  static constexpr int64_t kNeighbours = 1;
  int64_t x;
  int64_t y;
  int64_t z;
};

// The arguments of a launch, 8 bytes each.
template <int kCount>
struct Words {
  uint64_t words[kCount];
};

struct Args {
  const uint64_t* words;

  // The arguments of a launch inside a group. Those of all launches at once
  // would not fit the scalar registers: they are loaded where they are used.
  GLM_FN Args From(int64_t index) const {
    return Args{words + LateIndex(int(index))};
  }
  GLM_FN void* Pointer(int index) const { return Address(words[index]); }
  GLM_FN int64_t Integer(int index) const { return int64_t(words[index]); }
  GLM_FN float Real(int index) const {
    return FromBits(uint32_t(words[index]));
  }
};

// Counters of blocks in device memory.
GLM_FN uint32_t CountUp(uint32_t* counter) {  // the value before
  return __scoped_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_DEVICE);
}
GLM_FN uint32_t ReadCounter(uint32_t* counter) {
  return __scoped_atomic_load_n(counter, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_DEVICE);
}
GLM_FN void ClearCounter(uint32_t* counter) {
  __scoped_atomic_store_n(counter, 0u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// -------------------------------------------------------------------- loops

// A work-item owns kTogether neighbours of each stretch of a row, so that its
// loads are wide.
template <int64_t N>
struct Spread {
  static constexpr int kTogether = N % (4 * kThreads) == 0   ? 4
                                   : N % (2 * kThreads) == 0 ? 2
                                                             : 1;
  static constexpr int kSlots =
      int(CeilDiv(N, kTogether* kThreads)) * kTogether;

  GLM_FN static int Index(int slot) {
    return slot / kTogether * kTogether * kThreads + Thread() * kTogether +
           slot % kTogether;
  }
};

template <int64_t N>
struct Row {
  float values[Spread<N>::kSlots];
  GLM_FN float& operator[](int64_t slot) { return values[slot]; }
};

// f(i, slot) for the indices that this work-item owns.
template <int64_t N, class F>
GLM_FN void EachOwn(F f) {
  GLM_UNROLL for (int slot = 0; slot < Spread<N>::kSlots; ++slot) {
    const int i = Spread<N>::Index(slot);
    if (N % kThreads == 0 || i < N) f(int64_t(i), int64_t(slot));
  }
}

template <int64_t N, class F>
GLM_FN void Each(Block&, F f) {
  EachOwn<N>(f);
  Barrier();
}

template <class F>
GLM_FN void Each(Block&, int64_t n, F f) {
  for (int64_t i = Thread(); i < n; i += kThreads) f(i);
  Barrier();
}

template <int64_t N, class F>
GLM_FN void EachOf(Block&, int64_t rows, F f) {
  constexpr uint32_t kRow = N;
  for (uint32_t i = Thread(); i < rows * N; i += kThreads) {
    f(int64_t(i / kRow), int64_t(i % kRow));
  }
  Barrier();
}

template <int64_t M, int64_t N, class From, class To>
GLM_FN void Stage(Block&, From load, To store) {
  constexpr uint32_t kRow = N;
  decltype(load(int64_t(), int64_t())) loaded[Spread<M * N>::kSlots];
  EachOwn<M * N>([&](int64_t i, int64_t slot) {
    loaded[slot] = load(uint32_t(i) / kRow, uint32_t(i) % kRow);
  });
  EachOwn<M * N>([&](int64_t i, int64_t slot) {
    store(uint32_t(i) / kRow, uint32_t(i) % kRow, loaded[slot]);
  });
  Barrier();
}

// --------------------------------------------------------------- reductions

// The same sum in every lane; the order of additions is fixed.
GLM_FN float SumWave(float v) {
  v += Exchange<1>(v);
  v += Exchange<2>(v);
  v += Exchange<4>(v);
  v += Exchange<8>(v);
  return v + Exchange<16>(v);
}

GLM_FN float Greater(float a, float b) {
  return __builtin_elementwise_maxnum(a, b);
}

GLM_FN float MaxWave(float v) {
  v = Greater(v, Exchange<1>(v));
  v = Greater(v, Exchange<2>(v));
  v = Greater(v, Exchange<4>(v));
  v = Greater(v, Exchange<8>(v));
  return Greater(v, Exchange<16>(v));
}

GLM_FN float SumBlock(float v) {
  GLM_SHARED(float, part, kWaves);
  v = SumWave(v);
  if (Lane() == 0) part[Wave()] = v;
  Barrier();
  float sum = part[0];
  GLM_UNROLL for (int w = 1; w < kWaves; ++w) sum += part[w];
  Barrier();
  return sum;
}

GLM_FN float MaxBlock(float v) {
  GLM_SHARED(float, part, kWaves);
  v = MaxWave(v);
  if (Lane() == 0) part[Wave()] = v;
  Barrier();
  float most = part[0];
  GLM_UNROLL for (int w = 1; w < kWaves; ++w) most = Greater(most, part[w]);
  Barrier();
  return most;
}

template <class F>
GLM_FN float Sum(Block&, int64_t n, F f) {
  float sum = 0.0f;
  for (int64_t i = Thread(); i < n; i += kThreads) sum += f(i);
  return SumBlock(sum);
}

template <int64_t N, class F>
GLM_FN float Sum(Block&, F f) {
  float sum = 0.0f;
  EachOwn<N>([&](int64_t i, int64_t slot) { sum += f(i, slot); });
  return SumBlock(sum);
}

template <class F>
GLM_FN float Max(Block&, int64_t n, F f) {
  float most = -__builtin_inff();
  for (int64_t i = Thread(); i < n; i += kThreads) most = Greater(most, f(i));
  return MaxBlock(most);
}

template <int64_t N, class F>
GLM_FN float Max(Block&, F f) {
  float most = -__builtin_inff();
  EachOwn<N>(
      [&](int64_t i, int64_t slot) { most = Greater(most, f(i, slot)); });
  return MaxBlock(most);
}

// Votes of the work-items before this one, and of all. A barrier must follow
// before the next call.
GLM_FN int VotesBefore(bool vote, int& total) {
  GLM_SHARED(int, votes, kWaves);
  const uint32_t mask = Ballot(vote);
  const int lane = Lane();
  if (lane == 0) votes[Wave()] = __builtin_popcount(mask);
  Barrier();
  int before = __builtin_popcount(mask & ((1u << lane) - 1u));
  total = 0;
  GLM_UNROLL for (int w = 0; w < kWaves; ++w) {
    const int of_wave = votes[w];
    before += w < Wave() ? of_wave : 0;
    total += of_wave;
  }
  total = Uniform(total);
  return before;
}

// The next i in [from, n) with keep(i), ascending, at most `limit` of them, to
// out[0 ..); returns how many and moves `from` past the last one looked at.
template <class Keep>
GLM_FN int64_t Compact(Block&, int64_t& from, int64_t n, int64_t limit,
                       Keep keep, int32_t* out) {
  GLM_SHARED(int, last, 1);
  int64_t count = 0;
  while (from < n && count < limit) {
    const int64_t i = from + Thread();
    const bool kept = i < n && keep(i);
    int total;
    const int64_t place = count + VotesBefore(kept, total);
    if (kept && place < limit) out[place] = int32_t(i);
    if (kept && place == limit - 1) last[0] = Thread();
    Barrier();
    if (count + total >= limit) {
      from += Uniform(last[0]) + 1;
      return limit;
    }
    count += total;
    from = Least(from + kThreads, n);
  }
  return count;
}

// ------------------------------------------------------------------ columns

// One column, or a part of its rows when there are columns for fewer
// work-items than a block has.
inline constexpr int kLanes = 1;
typedef float Lanes;

template <int64_t D, int64_t N>
constexpr int64_t LaneParts() {
  int64_t parts = 1;
  while (parts < 8 && 2 * parts * N <= kThreads && D % (2 * parts) == 0) {
    parts *= 2;
  }
  return parts;
}

template <int64_t D, int64_t N>
inline constexpr int64_t kLaneRows = D / LaneParts<D, N>();

// The first `count` (0 or 1) elements; the others are 0 and are not read.
template <int DType>
GLM_FN Lanes LoadLanes(const void* memory, int64_t index, int64_t count) {
  return count != 0 ? Load<DType>(memory, index) : 0.0f;
}

template <int DType>
GLM_FN void StoreLanes(void* memory, int64_t index, int64_t count,
                       Lanes value) {
  if (count != 0) Store<DType>(memory, index, value);
}

template <int64_t D, int64_t N, class F>
GLM_FN void EachLanes(Block&, F f) {
  constexpr int kParts = int(LaneParts<D, N>());
  constexpr int kColumns = kLanesOfWave / kParts;  // of a wave
  for (int64_t first = 0; first < N; first += kWaves * kColumns) {
    const int64_t i = first + Wave() * kColumns + Lane() % kColumns;
    const bool one = i < N;
    f(one ? i : 0, int64_t(one), Lane() / kColumns * kLaneRows<D, N>);
  }
  Barrier();
}

template <int64_t D, int64_t N>
GLM_FN Lanes SumLanes(Lanes v) {
  constexpr int64_t kParts = LaneParts<D, N>();
  if constexpr (kParts >= 8) v += Exchange<4>(v);
  if constexpr (kParts >= 4) v += Exchange<8>(v);
  if constexpr (kParts >= 2) v += Exchange<16>(v);
  return v;
}

// A register array holds one column a work-item.
template <int64_t D, int64_t N>
struct LaneMatrix {
  static_assert(N * LaneParts<D, N>() <= kThreads, "one call a work-item");
  Lanes values[kLaneRows<D, N>];
  GLM_FN Lanes* At(int64_t) { return values; }
};

inline constexpr int64_t kLaneSums = 2;

}  // namespace glm::kernel

#define GLM_MEMBER GLM_FN
#define GLM_KERNEL(name, threads, arg_count, ...) \
  GLM_ENTRY(name, threads, arg_count, 1, __VA_ARGS__)
#define GLM_ROWWISE(name, threads, arg_count, ...) \
  GLM_ENTRY(name, threads, arg_count, GLM_BLOCKS_OF_ROWS, __VA_ARGS__)
#define GLM_PAIRED(name, threads, arg_count, ...) \
  GLM_ENTRY(name, threads, arg_count, 2, __VA_ARGS__)
#define GLM_TILE(name, threads, arg_count, rows, ...) \
  GLM_ENTRY(name, threads, arg_count, GLM_BLOCKS_OF_TILE(rows), __VA_ARGS__)
#define GLM_GROUP(name, threads, arg_count, waiting, ...) \
  GLM_ENTRY(name, threads, arg_count, GLM_BLOCKS_WAITING(waiting), __VA_ARGS__)

#define GLM_ENTRY(name, threads, arg_count, blocks, ...)                       \
  static_assert(threads == ::glm::kernel::kThreads, "one size of block");      \
  extern "C" __attribute__((global)) GLM_WORK_ITEMS(                           \
      threads,                                                                 \
      blocks) void name(const ::glm::kernel::Words<arg_count> words) {         \
    const ::glm::kernel::Args args{::glm::kernel::Arguments(words.words)};     \
    ::glm::kernel::Block block{::glm::kernel::GridX(), ::glm::kernel::GridY(), \
                               ::glm::kernel::GridZ()};                        \
    __VA_ARGS__(block, args);                                                  \
  }

#endif  // GLM_GPU
