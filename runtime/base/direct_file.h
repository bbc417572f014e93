// Reads of a file that leave the page cache alone where the file system lets
// them: for bytes that are read once and are far more than memory.
//
// A range that is aligned, in the file and in memory, is read where it belongs;
// others go through a buffer.
#ifndef GLM_RUNTIME_BASE_DIRECT_FILE_H_
#define GLM_RUNTIME_BASE_DIRECT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm {

// Of offsets, lengths and addresses of direct reads.
inline constexpr uint64_t kDirectAlignment = 4096;

// One thread at a time.
class DirectFile {
 public:
  // Errors: kNotFound, kPermissionDenied, kInternal. Messages begin with the
  // path.
  static absl::StatusOr<DirectFile> Open(const std::string& path);

  DirectFile(DirectFile&& other) noexcept;
  DirectFile& operator=(DirectFile&& other) noexcept;
  ~DirectFile();

  // Fills `to` with the bytes from `offset` on.
  // Errors: kDataLoss naming the file and the offset: it ends before, or cannot
  // be read there.
  absl::Status Read(uint64_t offset, std::span<std::byte> to);

  const std::string& path() const { return path_; }
  // Whether reads pass by the page cache.
  bool direct() const { return direct_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  DirectFile() = default;
  absl::Status Reopen();  // without O_DIRECT
  // Reads until `wanted` bytes of `to` are there. All are aligned but `wanted`,
  // which the end of the file may cut.
  absl::Status ReadAligned(uint64_t offset, std::span<std::byte> to,
                           uint64_t wanted);

  std::string path_;
  int fd_ = -1;
  bool direct_ = false;
  std::unique_ptr<std::byte, Free> buffer_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_DIRECT_FILE_H_
