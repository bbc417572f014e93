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

#define GLM_SHARED_AT(alignment, type, name, count) \
  alignas(alignment) static __attribute__((device, shared)) type name[count]
#define GLM_SHARED(type, name, count) GLM_SHARED_AT(16, type, name, count)

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
  // The same of a tensor, which begins at a multiple of 256 bytes: of several
  // neighbours one wide load is made.
  GLM_FN void* Tensor(int index) const {
    return __builtin_assume_aligned(Pointer(index), 16);
  }
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

// One of kItems work-items owns kTogether neighbours of each stretch of a row,
// so that its loads are wide.
template <int64_t N, int kItems = kThreads>
struct Spread {
  static constexpr int kTogether = N % (4 * kItems) == 0   ? 4
                                   : N % (2 * kItems) == 0 ? 2
                                                           : 1;
  static constexpr int kSlots = int(CeilDiv(N, kTogether* kItems)) * kTogether;

  GLM_FN static int Index(int item, int slot) {
    return slot / kTogether * kTogether * kItems + item * kTogether +
           slot % kTogether;
  }
};

template <int64_t N>
struct Row {
  float values[Spread<N>::kSlots];
  GLM_FN float& operator[](int64_t slot) { return values[slot]; }
};

// A short row as a block of its own: a wave does its work.
struct ShortRow {
  int64_t x;
};

template <int64_t N>
struct RowOfWave {
  float values[Spread<N, kLanesOfWave>::kSlots];
  GLM_FN float& operator[](int64_t slot) { return values[slot]; }
};

// How the words below go over the work-items of a block.
template <class Block>
struct Items {
  static constexpr int kCount = kThreads;
  GLM_FN static int Own() { return Thread(); }
  GLM_FN static void End() { Barrier(); }
};
template <>
struct Items<ShortRow> {
  static constexpr int kCount = kLanesOfWave;
  GLM_FN static int Own() { return Lane(); }
  GLM_FN static void End() { WaveBarrier(); }
};

// f(i, slot) for the indices that this work-item owns.
template <int64_t N, class Block, class F>
GLM_FN void EachOwn(Block&, F f) {
  using Its = Items<Block>;
  using Spread = kernel::Spread<N, Its::kCount>;
  GLM_UNROLL for (int slot = 0; slot < Spread::kSlots; ++slot) {
    const int i = Spread::Index(Its::Own(), slot);
    if (N % Its::kCount == 0 || i < N) f(int64_t(i), int64_t(slot));
  }
}

// f(i, slot, load(i)), the loads of kStretches before what f stores: the
// compiler cannot know that they do not meet.
template <int64_t N, class Block, class From, class F>
GLM_FN void EachOwn(Block&, From load, F f) {
  using Its = Items<Block>;
  using Spread = kernel::Spread<N, Its::kCount>;
  constexpr int kSlots = Spread::kSlots;
  constexpr int kAhead = int(Least(kStretches * Spread::kTogether, kSlots));
  GLM_UNROLL for (int first = 0; first < kSlots; first += kAhead) {
    decltype(load(int64_t())) loaded[kAhead];
    GLM_UNROLL for (int j = 0; j < kAhead; ++j) {
      const int i = Spread::Index(Its::Own(), first + j);
      if (first + j < kSlots && (N % Its::kCount == 0 || i < N)) {
        loaded[j] = load(int64_t(i));
      }
    }
    GLM_UNROLL for (int j = 0; j < kAhead; ++j) {
      const int i = Spread::Index(Its::Own(), first + j);
      if (first + j < kSlots && (N % Its::kCount == 0 || i < N)) {
        f(int64_t(i), int64_t(first + j), loaded[j]);
      }
    }
  }
}

template <int64_t N, class Block, class... F>
GLM_FN void Each(Block& block, F... f) {
  EachOwn<N>(block, f...);
  Items<Block>::End();
}

// f(row) for the rows of a block, kCount of them.
template <int64_t kCount, class F>
GLM_FN void EachShortRow(Block& block, F f) {
  for (int i = Wave(); i < kCount; i += kWaves) {
    ShortRow row{block.x * kCount + i};
    f(row);
  }
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

// Sums and maxima over the work-items of a block, or a wave.
GLM_FN float SumOver(Block&, float v) { return SumBlock(v); }
GLM_FN float SumOver(ShortRow&, float v) { return SumWave(v); }
GLM_FN float MaxOver(Block&, float v) { return MaxBlock(v); }
GLM_FN float MaxOver(ShortRow&, float v) { return MaxWave(v); }

template <int64_t N, class Block, class F>
GLM_FN float Sum(Block& block, F f) {
  float sum = 0.0f;
  EachOwn<N>(block, [&](int64_t i, int64_t slot) { sum += f(i, slot); });
  return SumOver(block, sum);
}

template <int64_t N, class Block, class From, class F>
GLM_FN float Sum(Block& block, From load, F f) {
  float sum = 0.0f;
  EachOwn<N>(block, load, [&](int64_t i, int64_t slot, const auto& loaded) {
    sum += f(i, slot, loaded);
  });
  return SumOver(block, sum);
}

template <class F>
GLM_FN float Max(Block&, int64_t n, F f) {
  float most = -__builtin_inff();
  for (int64_t i = Thread(); i < n; i += kThreads) most = Greater(most, f(i));
  return MaxBlock(most);
}

template <int64_t N, class Block, class F>
GLM_FN float Max(Block& block, F f) {
  float most = -__builtin_inff();
  EachOwn<N>(block, [&](int64_t i, int64_t slot) {
    most = Greater(most, f(i, slot));
  });
  return MaxOver(block, most);
}

template <int64_t N, class Block, class From, class F>
GLM_FN float Max(Block& block, From load, F f) {
  float most = -__builtin_inff();
  EachOwn<N>(block, load, [&](int64_t i, int64_t slot, const auto& loaded) {
    most = Greater(most, f(i, slot, loaded));
  });
  return MaxOver(block, most);
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

}  // namespace glm::kernel

#define GLM_MEMBER GLM_FN
#define GLM_KERNEL(name, threads, arg_count, ...) \
  GLM_ENTRY(name, threads, arg_count, 1, __VA_ARGS__)
#define GLM_ROWWISE(name, threads, arg_count, ...) \
  GLM_ENTRY(name, threads, arg_count, GLM_BLOCKS_OF_ROWS, __VA_ARGS__)
#define GLM_PAIRED(name, threads, arg_count, ...) \
  GLM_ENTRY(name, threads, arg_count, 2, __VA_ARGS__)
#define GLM_TILE(name, threads, arg_count, sums, ...) \
  GLM_ENTRY(name, threads, arg_count, GLM_BLOCKS_OF_TILE(sums), __VA_ARGS__)
#define GLM_GROUP(name, threads, arg_count, waiting, rows, ...)          \
  GLM_ENTRY(name, threads, arg_count, GLM_BLOCKS_WAITING(waiting, rows), \
            __VA_ARGS__)

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
