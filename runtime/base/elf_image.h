// Whether an ELF file in memory is all there. Loaders of code objects get an
// address, trust the sizes that they find and die on a cut file.
#ifndef GLM_RUNTIME_BASE_ELF_IMAGE_H_
#define GLM_RUNTIME_BASE_ELF_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace glm {

// e_type (ET_DYN, ...) when `image` begins a 64-bit ELF file whose headers,
// segments and sections all lie in it; else nothing. Looks at no contents.
std::optional<uint16_t> WholeElfType(std::span<const std::byte> image);

// Whether `image` claims to be ELF, whole or not.
bool BeginsElf(std::span<const std::byte> image);

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_ELF_IMAGE_H_
