#include "runtime/safetensors/weight_fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

constexpr uint64_t kWhole = 256u << 20;
constexpr uint64_t kHead = 16u << 20;
constexpr uint64_t kSample = 4096;
constexpr uint64_t kSamples = 1024;
constexpr uint64_t kBlock = 1u << 20;

class Reader {
 public:
  Reader(const std::string& path, int fd,
         const std::function<void(uint64_t)>& on_read)
      : path_(path),
        fd_(fd),
        on_read_(on_read),
        state_(XXH3_createState()),
        block_(kBlock) {
    XXH3_64bits_reset(state_.get());
  }
  ~Reader() { ::close(fd_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void AddSize(uint64_t size) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; ++i) {
      bytes[i] = static_cast<unsigned char>(size >> (8 * i));
    }
    XXH3_64bits_update(state_.get(), bytes, sizeof(bytes));
  }

  absl::Status AddRange(uint64_t offset, uint64_t size) {
    while (size > 0) {
      const ssize_t got = ::pread(fd_, block_.data(), std::min(size, kBlock),
                                  static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return absl::InternalError(
            absl::StrCat(path_, ": cannot read: ", std::strerror(errno)));
      }
      if (got == 0) {
        return absl::DataLossError(
            absl::StrCat(path_, ": ends at byte ", offset,
                         "; it became shorter while it was read"));
      }
      XXH3_64bits_update(state_.get(), block_.data(), static_cast<size_t>(got));
      if (on_read_) on_read_(static_cast<uint64_t>(got));
      offset += static_cast<uint64_t>(got);
      size -= static_cast<uint64_t>(got);
    }
    return absl::OkStatus();
  }

  uint64_t Digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  const std::string path_;
  const int fd_;
  const std::function<void(uint64_t)>& on_read_;
  std::unique_ptr<XXH3_state_t, FreeState> state_;
  std::vector<char> block_;
};

}  // namespace

uint64_t FingerprintedBytes(uint64_t size) {
  return size <= kWhole ? size : kHead + kSamples * kSample;
}

absl::StatusOr<uint64_t> FingerprintFile(
    const std::string& path, const std::function<void(uint64_t)>& on_read) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const std::string text = absl::StrCat(path, ": ", std::strerror(errno));
    if (errno == ENOENT) return absl::NotFoundError(text);
    if (errno == EACCES) return absl::PermissionDeniedError(text);
    return absl::InternalError(text);
  }
  Reader reader(path, fd, on_read);
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file"));
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  reader.AddSize(size);
  if (size <= kWhole) {
    GLM_RETURN_IF_ERROR(reader.AddRange(0, size));
    return reader.Digest();
  }
  GLM_RETURN_IF_ERROR(reader.AddRange(0, kHead));
  const uint64_t step = (size - kSample) / (kSamples - 1);
  for (uint64_t i = 0; i + 1 < kSamples; ++i) {
    GLM_RETURN_IF_ERROR(reader.AddRange(i * step, kSample));
  }
  GLM_RETURN_IF_ERROR(reader.AddRange(size - kSample, kSample));
  return reader.Digest();
}

}  // namespace glm
