#include "runtime/base/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{1} << 20;

bool Aligned(uint64_t value) { return value % kDirectAlignment == 0; }

}  // namespace

absl::StatusOr<DirectFile> DirectFile::Open(const std::string& path) {
  DirectFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  file.direct_ = file.fd_ >= 0;
  if (file.fd_ < 0) GLM_RETURN_IF_ERROR(file.Reopen());
  return file;
}

absl::Status DirectFile::Reopen() {
  if (fd_ >= 0) ::close(fd_);
  direct_ = false;
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ >= 0) return absl::OkStatus();
  const std::string text = absl::StrCat(path_, ": ", std::strerror(errno));
  if (errno == ENOENT) return absl::NotFoundError(text);
  if (errno == EACCES) return absl::PermissionDeniedError(text);
  return absl::InternalError(text);
}

DirectFile::DirectFile(DirectFile&& other) noexcept {
  *this = std::move(other);
}

DirectFile& DirectFile::operator=(DirectFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(direct_, other.direct_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

DirectFile::~DirectFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status DirectFile::ReadAligned(uint64_t offset, std::span<std::byte> to,
                                     uint64_t wanted) {
  uint64_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(fd_, to.data() + done, to.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && direct_) {
      GLM_RETURN_IF_ERROR(Reopen());  // a file system that wants more
      continue;
    }
    if (got < 0) {
      return absl::DataLossError(absl::StrCat(
          path_, ": cannot read ", wanted - done, " bytes at offset ",
          offset + done, ": ", std::strerror(errno), "; restore the file"));
    }
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(
          path_, ": ends before ", wanted - done, " bytes at offset ",
          offset + done, "; it became shorter: restore it and start again"));
    }
    done += static_cast<uint64_t>(got);
    // Only the end of a file leaves a part that is not aligned.
    if (direct_ && done < wanted && !Aligned(done)) {
      done -= done % kDirectAlignment;
      GLM_RETURN_IF_ERROR(Reopen());
    }
  }
  return absl::OkStatus();
}

absl::Status DirectFile::Read(uint64_t offset, std::span<std::byte> to) {
  if (!direct_) return ReadAligned(offset, to, to.size());
  while (!to.empty()) {
    const bool in_place = Aligned(offset) && to.size() >= kDirectAlignment &&
                          Aligned(reinterpret_cast<uint64_t>(to.data()));
    if (in_place) {
      const uint64_t whole = to.size() - to.size() % kDirectAlignment;
      GLM_RETURN_IF_ERROR(ReadAligned(offset, to.first(whole), whole));
      offset += whole;
      to = to.subspan(whole);
      continue;
    }
    if (buffer_ == nullptr) {
      buffer_.reset(static_cast<std::byte*>(
          std::aligned_alloc(kDirectAlignment, kBufferBytes)));
      if (buffer_ == nullptr) {
        return absl::ResourceExhaustedError(
            absl::StrCat("no memory to read ", path_));
      }
    }
    const uint64_t before = offset % kDirectAlignment;
    const uint64_t part = std::min<uint64_t>(to.size(), kBufferBytes - before);
    const uint64_t padded = (before + part + kDirectAlignment - 1) /
                            kDirectAlignment * kDirectAlignment;
    GLM_RETURN_IF_ERROR(
        ReadAligned(offset - before, {buffer_.get(), padded}, before + part));
    std::memcpy(to.data(), buffer_.get() + before, part);
    offset += part;
    to = to.subspan(part);
  }
  return absl::OkStatus();
}

}  // namespace glm
