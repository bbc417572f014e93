// A read-only memory mapping of a whole file.
//
// The bytes are the file's: nothing is copied, pages come in on first touch. A
// file that another process shortens while it is mapped raises SIGBUS on
// access: what is copied is read from the file instead (`Read`), and sizes are
// checked again before work on what is used in place (`StillWhole`).
//
// Thread-compatible. Movable; the mapping ends with the object.
#ifndef GLM_RUNTIME_BASE_MAPPED_FILE_H_
#define GLM_RUNTIME_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm {

class MappedFile {
 public:
  // Errors: kNotFound (no such file), kInvalidArgument (not a regular file),
  // kPermissionDenied, kResourceExhausted (address space), kInternal (mmap).
  // Every message begins with the path.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  uint64_t size() const { return size_; }

  // Fills `to` with the bytes from `offset` on, which must lie in the mapping,
  // from the file. Thread-safe.
  // Errors: kDataLoss naming file, offset and sizes: it ends before, or cannot
  // be read.
  absl::Status Read(uint64_t offset, std::span<std::byte> to) const;

  // True while the file on disk is at least as long as the mapping.
  bool StillWhole() const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_MAPPED_FILE_H_
