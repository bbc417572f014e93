// Writes a safetensors file from bytes that lie elsewhere.
//
// The counterpart of safetensors_file.h: what it writes, that reads. Tensors
// are stored in the order in which they were added, back to back.
//
// Thread-compatible.
#ifndef GLM_RUNTIME_SAFETENSORS_SAFETENSORS_WRITER_H_
#define GLM_RUNTIME_SAFETENSORS_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/safetensors/safetensors_file.h"

namespace glm {

class SafetensorsWriter {
 public:
  // `data` is not copied: it must stay alive until Write. Its size
  // must fit dtype and shape, which Write checks.
  void Add(std::string name, StDType dtype, std::vector<int64_t> shape,
           std::span<const std::byte> data);

  // An entry of `__metadata__`.
  void SetMetadata(std::string key, std::string value);

  // Pads the header so that the data begins at a multiple of `bytes`
  // (a power of two, 8 at least, which is the default).
  void set_data_alignment(uint64_t bytes) { alignment_ = bytes; }

  // Writes `path` through a temporary file beside it, so that a failure leaves
  // no half-written file of that name. Errors: kInvalidArgument (a tensor whose
  // bytes do not fit, a name used twice), kInternal (the file system).
  absl::Status Write(const std::string& path) const;

 private:
  struct Tensor {
    std::string name;
    StDType dtype;
    std::vector<int64_t> shape;
    std::span<const std::byte> data;
  };

  absl::StatusOr<std::string> Header() const;

  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
  uint64_t alignment_ = 8;
};

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_SAFETENSORS_WRITER_H_
