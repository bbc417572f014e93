// Kernels of device_kernels.hip, run by the emulator (kernel_case.h).
#ifndef TEST_KERNELS_GFX1201_LAUNCH_H_
#define TEST_KERNELS_GFX1201_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/gfxemu/gfxemu.h"
#include "test/kernels/device_entry.h"

namespace glm {

// One wave after the other, then random schedules of each kind (gfxemu.h).
inline constexpr uint32_t kLaunchOrders = 7;

// Memory that a kernel may touch; anything else is an error.
struct Visible {
  std::vector<gfxemu::MemoryRange> ranges;

  void Add(const void* data, size_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(data);
    ranges.push_back({begin, begin + bytes});
  }
};

// The code object of device_kernels.hip.
const gfxemu::CodeObject& DeviceKernels();

void LaunchKernel(KernelEntry entry, const std::vector<uint64_t>& words,
                  const uint32_t* grid, uint64_t begin, uint64_t end,
                  const Visible& visible, uint32_t seed);

}  // namespace glm

#endif  // TEST_KERNELS_GFX1201_LAUNCH_H_
