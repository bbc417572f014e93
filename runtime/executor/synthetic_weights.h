// Weights that nobody trained: for plans whose checkpoint is not at hand, to
// measure them or to compare launches with their reference.
//
// A counter-based generator: element i of a weight depends on the seed, the
// weight's name and i alone, so that any part can be made by any thread, in any
// order, for any device.
//
//   Mix(x)       x ^= x >> 30; x *= 0xbf58476d1ce4e5b9; x ^= x >> 27;
//                x *= 0x94d049bb133111eb; x ^= x >> 31       (64 bits, wraps)
//   key          Mix(seed ^ FNV-1a-64(name))
//   Word(i)      Mix(key + (i + 1) * 0x9e3779b97f4a7c15)
//   Z(i)         the four 16-bit quarters of Word(i) summed, - 131070,
//                / 65536 * sqrt(3): near to normal, deviation 1, |Z| <= 3.47
//
//   one dimension      1 + Z / (8 sqrt(3)): norms, biases, decays stay near 1
//   more dimensions    Z / sqrt(K), K the last: a product keeps its scale
//   EXPERTS_GPTQ4      codes: 32-bit word j of the weight is the low half of
//                      Word(j) with code 0 made 8, so that code - 8 has mean 0
//                      and deviation 4.18; scale j, with key ^ 0x5ca1e5:
//                      (1 + (Word(j) >> 48) / 65536) * 2/3 / (4.18 sqrt(K))
//   DENSE_GPTQ4        as one expert of that
//   DENSE_INT8         code j: the highest byte of Word(j), -128 made 0,
//                      deviation 73.3; scales as above with 73.3 for 4.18
//
//   state              Z / 8, whatever its shape
//
// i counts the elements of all experts, expert after expert. With `experts` = n
// there are n experts in memory, and expert e is a name for e mod n.
#ifndef GLM_RUNTIME_EXECUTOR_SYNTHETIC_WEIGHTS_H_
#define GLM_RUNTIME_EXECUTOR_SYNTHETIC_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace glm {

namespace plan {
struct State;
struct Weight;
}  // namespace plan

struct SyntheticWeights {
  uint64_t seed = 1;
  uint32_t experts = 0;  // in memory, of each weight; 0: all
};

// kFailedPrecondition naming the weight when its elements cannot be made: only
// F32, BF16 and F16 are.
absl::Status CheckSynthetic(const plan::Weight& weight);

// Fills `to` with the bytes of piece `piece` from byte `first` on, which begins
// an element. The piece is one in memory. Thread-safe.
void FillSynthetic(const plan::Weight& weight, uint32_t piece, uint64_t seed,
                   uint64_t first, std::span<std::byte> to);

// Fills `to` with the first elements of `state`.
void FillSyntheticState(const plan::State& state, uint64_t seed,
                        std::span<std::byte> to);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_SYNTHETIC_WEIGHTS_H_
