#include "runtime/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace glm {
namespace {

bool output_was_closed = false;

}  // namespace

void OpenStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    if (fd == 1) output_was_closed = true;
    // The lowest free descriptor is fd itself.
    if (::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) < 0) _exit(3);
  }
}

absl::Status FlushStandardOutput() {
  errno = 0;
  if (output_was_closed) {
    return absl::UnavailableError("standard output is closed; the output is lost");
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return absl::UnavailableError(absl::StrCat(
        "standard output: ", std::strerror(errno != 0 ? errno : EIO),
        "; some of the output is lost"));
  }
  return absl::OkStatus();
}

}  // namespace glm
