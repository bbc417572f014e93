// Kernels of device_kernels.hip as PTX, run by an NVIDIA GPU (kernel_case.h).
#ifndef TEST_KERNELS_SM_90_LAUNCH_H_
#define TEST_KERNELS_SM_90_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "test/kernels/device_entry.h"

namespace glm {

// The card chooses the order; a second run shows whether it matters.
inline constexpr uint32_t kLaunchOrders = 2;

// Memory that a kernel may touch: addresses and sizes.
struct Visible {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;

  void Add(const void* data, size_t bytes) {
    ranges.push_back({reinterpret_cast<uint64_t>(data), bytes});
  }
};

// Runs the whole grid when `begin` is 0, and nothing else: blocks are not the
// caller's to choose here.
void LaunchKernel(KernelEntry entry, const std::vector<uint64_t>& words,
                  const uint32_t* grid, uint64_t begin, uint64_t end,
                  const Visible& visible, uint32_t seed);

}  // namespace glm

#endif  // TEST_KERNELS_SM_90_LAUNCH_H_
