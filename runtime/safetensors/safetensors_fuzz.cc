// Any bytes either parse into entries that lie inside them, or give a status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/safetensors/safetensors_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = glm::SafetensorsFile::Parse(bytes, "fuzz");
  if (!file.ok()) return 0;
  size_t covered = 0;
  for (const glm::TensorEntry& entry : file->tensors()) {
    const auto content = file->Bytes(entry);
    if (content.data() < bytes.data() ||
        content.data() + content.size() > bytes.data() + bytes.size() ||
        file->Find(entry.name) != &entry) {
      std::abort();
    }
    covered += content.size();
  }
  if (covered > size) std::abort();
  return 0;
}
