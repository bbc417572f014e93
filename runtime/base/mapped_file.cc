#include "runtime/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glm {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const std::string text = absl::StrCat(path, ": ", std::strerror(errno));
    if (errno == ENOENT) return absl::NotFoundError(text);
    if (errno == EACCES) return absl::PermissionDeniedError(text);
    return absl::InternalError(text);
  }
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  MappedFile file;
  file.path_ = path;
  file.fd_ = fd;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ > 0) {
    void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      const std::string text = absl::StrCat(path, ": cannot map ", file.size_,
                                            " bytes: ", std::strerror(error));
      file.size_ = 0;
      if (error != ENOMEM) return absl::InternalError(text);
      return absl::ResourceExhaustedError(absl::StrCat(
          text, "; raise the limit of address space (`ulimit -v`)"));
    }
    file.data_ = static_cast<const std::byte*>(data);
  }
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

absl::Status MappedFile::Read(uint64_t offset, std::span<std::byte> to) const {
  for (size_t done = 0; done < to.size();) {
    const ssize_t got = ::pread(fd_, to.data() + done, to.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::DataLossError(
          absl::StrCat(path_, ": cannot read ", to.size(), " bytes at offset ",
                       offset, ": ", std::strerror(errno)));
    }
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(
          path_, ": became shorter while in use: it ends at offset ",
          offset + done, ", it had ", size_,
          " bytes; restore it and start again"));
    }
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

bool MappedFile::StillWhole() const {
  struct stat info;
  return ::fstat(fd_, &info) == 0 && static_cast<size_t>(info.st_size) >= size_;
}

}  // namespace glm
