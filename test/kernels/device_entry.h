// Kernels of device_kernels.hip by their names there (kernel_case.h).
#ifndef TEST_KERNELS_DEVICE_ENTRY_H_
#define TEST_KERNELS_DEVICE_ENTRY_H_

#include <cstdint>
#include <vector>

#define KERNEL(name, Body, ...)            \
  const ::glm::KernelEntry name = {#name}; \
  const std::vector<int64_t> name##_params = {__VA_ARGS__};

#define ROWWISE_KERNEL(name, body) const ::glm::KernelEntry name = {#name};
#define GROUP_KERNEL(name, body, words) ROWWISE_KERNEL(name, body)

namespace glm {

struct KernelEntry {
  const char* name;
};

}  // namespace glm

#endif  // TEST_KERNELS_DEVICE_ENTRY_H_
