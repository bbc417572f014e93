// Elements of buffers, states and weights as numbers.
#ifndef GLM_TOOLS_GLM_CHECK_ELEMENTS_H_
#define GLM_TOOLS_GLM_CHECK_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glm::plan {
enum class DType : uint8_t;
}

namespace glm::check {

// The element of F32, I32, BF16 or F16 at `at`, widened exactly.
double Element(const std::byte* at, plan::DType dtype);

// All elements of a floating-point range.
std::vector<float> Widen(std::span<const std::byte> bytes, plan::DType dtype);

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_ELEMENTS_H_
