// Any bytes either give an index whose file names are plain, or a status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/safetensors/weight_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto index = glm::ParseWeightIndex(bytes, "fuzz");
  if (!index.ok()) return 0;
  for (const std::string& file : index->files) {
    if (file.empty() || file == ".." || file.find('/') != std::string::npos) {
      std::abort();
    }
  }
  for (const auto& [name, file] : index->tensors) {
    if (file >= index->files.size()) std::abort();
  }
  return 0;
}
