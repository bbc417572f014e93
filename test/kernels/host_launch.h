// Kernels of the templates compiled as ordinary C++ (kernel_case.h).
#ifndef TEST_KERNELS_HOST_LAUNCH_H_
#define TEST_KERNELS_HOST_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#define KERNEL(name, Body, ...)                            \
  GLM_KERNEL(name, 256, 0, glm::kernel::Body<__VA_ARGS__>) \
  const std::vector<int64_t> name##_params = {__VA_ARGS__};

#define ROWWISE_KERNEL(name, body) GLM_ROWWISE(name, 256, 0, body)
#define GROUP_KERNEL(name, body, words) GLM_KERNEL(name, 256, 0, body)

namespace glm {

using KernelEntry = void (*)(const uint64_t*, const uint32_t*, uint64_t,
                             uint64_t);

// Orders in which a case is run.
inline constexpr uint32_t kLaunchOrders = 2;

// Memory that a kernel may touch; here, all.
struct Visible {
  void Add(const void*, size_t) {}
};

inline void LaunchKernel(KernelEntry entry, const std::vector<uint64_t>& words,
                         const uint32_t* grid, uint64_t begin, uint64_t end,
                         const Visible&, uint32_t) {
  entry(words.data(), grid, begin, end);
}

}  // namespace glm

#endif  // TEST_KERNELS_HOST_LAUNCH_H_
