// host.h - the block vocabulary on a CPU: one block is one call on one core.
//
// Shared arrays and rows are on the stack of the calling thread, at most 384
// KiB a kernel. Loops carry a promise of independent iterations (block.h),
// which is what lets clang vectorise them without overlap checks.
#pragma once

#include "glm/number.h"

#ifndef GLM_GPU

#pragma clang diagnostic ignored "-Wpass-failed"

#define GLM_SHARED(type, name, count) alignas(64) type name[count]

namespace glm::kernel {

inline constexpr bool kTakesFewRows = false;

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
struct Args {
  const uint64_t* words;

  // The arguments of a launch inside a group.
  GLM_FN Args From(int64_t index) const { return Args{words + index}; }
  GLM_FN void* Pointer(int index) const { return Address(words[index]); }
  GLM_FN void* Tensor(int index) const { return Pointer(index); }
  GLM_FN int64_t Integer(int index) const { return int64_t(words[index]); }
  GLM_FN float Real(int index) const {
    return FromBits(uint32_t(words[index]));
  }
};

template <int64_t N>
struct Row {
  alignas(64) float values[N];
  GLM_FN float& operator[](int64_t slot) { return values[slot]; }
};

template <int64_t N>
using RowOfWave = Row<N>;

template <int64_t kCount, class F>
GLM_FN void EachShortRow(Block& block, F f) {
  for (int64_t i = 0; i < kCount; ++i) {
    Block row{block.x * kCount + i, 0, 0};
    f(row);
  }
}

template <int64_t N, class F>
GLM_FN void Each(Block&, F f) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < N; ++i) f(i, i);
}

template <int64_t N, class From, class F>
GLM_FN void Each(Block& block, From load, F f) {
  Each<N>(block, [&](int64_t i, int64_t slot) { f(i, slot, load(i)); });
}

template <class F>
GLM_FN void Each(Block&, int64_t n, F f) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < n; ++i) f(i);
}

template <int64_t N, class F>
GLM_FN void EachOf(Block& block, int64_t rows, F f) {
  for (int64_t row = 0; row < rows; ++row) {
    Each(block, N, [&](int64_t i) { f(row, i); });
  }
}

template <class F>
GLM_FN float Sum(Block&, int64_t n, F f) {
#pragma clang fp reassociate(on)
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

template <int64_t N, class F>
GLM_FN float Sum(Block& block, F f) {
  return Sum(block, N, [&](int64_t i) { return f(i, i); });
}

template <int64_t N, class From, class F>
GLM_FN float Sum(Block& block, From load, F f) {
  return Sum(block, N, [&](int64_t i) { return f(i, i, load(i)); });
}

template <class F>
GLM_FN float Max(Block&, int64_t n, F f) {
  float most = -__builtin_inff();
  for (int64_t i = 0; i < n; ++i) {
    most = __builtin_elementwise_maxnum(most, f(i));
  }
  return most;
}

template <int64_t N, class F>
GLM_FN float Max(Block& block, F f) {
  return Max(block, N, [&](int64_t i) { return f(i, i); });
}

template <int64_t N, class From, class F>
GLM_FN float Max(Block& block, From load, F f) {
  return Max(block, N, [&](int64_t i) { return f(i, i, load(i)); });
}

// The next i in [from, n) with keep(i), ascending, at most `limit` of them, to
// out[0 ..); returns how many and moves `from` past the last one looked at.
template <class Keep>
GLM_FN int64_t Compact(Block&, int64_t& from, int64_t n, int64_t limit,
                       Keep keep, int32_t* out) {
  int64_t count = 0;
  for (; from < n && count < limit; ++from) {
    if (keep(from)) out[count++] = int32_t(from);
  }
  return count;
}

// ------------------------------------------------------------------ vectors

#ifdef __AVX512F__
inline constexpr int kVector = 16;
#else
inline constexpr int kVector = 8;
#endif
typedef float Vector __attribute__((ext_vector_type(kVector)));

// Four registers, so that a chain of dependent operations hides its latency.
inline constexpr int kLanes = 4 * kVector;
typedef float Lanes __attribute__((ext_vector_type(kLanes)));

// `V`::size elements from `index`; V is Vector or Lanes.
template <int DType, class V>
GLM_FN V LoadVector(const void* memory, int64_t index) {
  constexpr int kCount = sizeof(V) / sizeof(float);
  const void* from = At<DType>(memory, index);
  if constexpr (DType == F32) {
    V v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
  } else if constexpr (DType == BF16) {
    typedef uint16_t Short __attribute__((ext_vector_type(kCount)));
    typedef uint32_t Word __attribute__((ext_vector_type(kCount)));
    Short s;
    __builtin_memcpy(&s, from, sizeof(s));
    return __builtin_bit_cast(V, __builtin_convertvector(s, Word) << 16);
  } else {
    typedef _Float16 Half __attribute__((ext_vector_type(kCount)));
    Half h;
    __builtin_memcpy(&h, from, sizeof(h));
    return __builtin_convertvector(h, V);
  }
}

// The first `count` elements; the others are 0 and are not read.
template <int DType>
GLM_FN Lanes LoadLanes(const void* memory, int64_t index, int64_t count) {
  if (count == kLanes) return LoadVector<DType, Lanes>(memory, index);
  alignas(64) float part[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) part[i] = Load<DType>(memory, index + i);
  return LoadVector<F32, Lanes>(part, 0);
}

template <int DType>
GLM_FN void StoreLanes(void* memory, int64_t index, int64_t count,
                       Lanes value) {
  alignas(64) float part[kLanes];
  __builtin_memcpy(part, &value, sizeof(value));
  if (count == kLanes) {
    for (int64_t i = 0; i < kLanes; ++i)
      Store<DType>(memory, index + i, part[i]);
  } else {
    for (int64_t i = 0; i < count; ++i)
      Store<DType>(memory, index + i, part[i]);
  }
}

// The part of D rows that one call of EachLanes holds: all of them.
template <int64_t D, int64_t N>
inline constexpr int64_t kLaneRows = D;

template <int64_t D, int64_t N, class F>
GLM_FN void EachLanes(Block&, F f) {
  for (int64_t i = 0; i < N; i += kLanes) f(i, Least(kLanes, N - i), 0);
}

template <int64_t D, int64_t N>
GLM_FN Lanes SumLanes(Lanes value) {
  return value;
}

// -------------------------------------------------------------------- entry

// Blocks begin .. end - 1 of the grid, x fastest.
template <class Body>
GLM_FN void RunBlocks(const uint64_t* words, const uint32_t* grid,
                      uint64_t begin, uint64_t end, Body body) {
  const Args args{words};
  for (uint64_t b = begin; b < end; ++b) {
    Block block{int64_t(b % grid[0]), int64_t(b / grid[0] % grid[1]),
                int64_t(b / grid[0] / grid[1])};
    body(block, args);
  }
}

}  // namespace glm::kernel

#define GLM_ROWWISE GLM_KERNEL
// Groups share the code of their members: a step that runs through each group
// once would otherwise read all of it from memory.
#define GLM_MEMBER __attribute__((noinline))
#define GLM_PAIRED GLM_KERNEL
#define GLM_TILE(name, threads, arg_count, sums, ...) \
  GLM_KERNEL(name, threads, arg_count, __VA_ARGS__)
#define GLM_GROUP(name, threads, arg_count, waiting, rows, ...) \
  GLM_KERNEL(name, threads, arg_count, __VA_ARGS__)

#define GLM_KERNEL(name, threads, arg_count, ...)                          \
  extern "C" __attribute__((visibility("default"))) void name(             \
      const uint64_t* words, const uint32_t* grid, uint64_t begin,         \
      uint64_t end) {                                                      \
    ::glm::kernel::RunBlocks(                                              \
        words, grid, begin, end,                                           \
        [](::glm::kernel::Block& block, const ::glm::kernel::Args& args) { \
          __VA_ARGS__(block, args);                                        \
        });                                                                \
  }

#endif  // GLM_GPU
