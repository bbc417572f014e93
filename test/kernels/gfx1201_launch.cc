#include "test/kernels/gfx1201_launch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace glm {

const gfxemu::CodeObject& DeviceKernels() {
  static const gfxemu::CodeObject* const object = [] {
    std::ifstream file(GLM_DEVICE_KERNELS, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::string error;
    auto loaded =
        gfxemu::CodeObject::Load(std::as_bytes(std::span(bytes)), &error);
    if (loaded == nullptr) {
      ADD_FAILURE() << GLM_DEVICE_KERNELS << ": " << error;
      std::abort();
    }
    return loaded.release();
  }();
  return *object;
}

void LaunchKernel(KernelEntry entry, const std::vector<uint64_t>& words,
                  const uint32_t* grid, uint64_t begin, uint64_t end,
                  const Visible& visible, uint32_t seed) {
  // device_kernels.hip gives each kernel 16 arguments, groups more.
  std::vector<uint64_t> args = words;
  args.resize(std::max<size_t>(16, args.size()), ~uint64_t{0});
  gfxemu::Launch launch;
  launch.kernel = entry.name;
  launch.grid = {grid[0], grid[1], grid[2]};
  launch.args = args;
  launch.memory = visible.ranges;
  launch.first_block = begin;
  launch.end_block = end;
  launch.seed = seed;
  std::string error;
  ASSERT_TRUE(DeviceKernels().Run(launch, &error)) << error << "; seed " << seed;
}

}  // namespace glm
