//===- FileLock.cpp - One process a file ----------------------------------===//

#include "compiler/plan/FileLock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace glm;

static llvm::Error fail(const std::string &path, const char *what) {
  return llvm::createStringError(path + ": cannot be " + what + ": " +
                                 std::strerror(errno));
}

/// Of some network file systems: they are written without a lock.
static bool hasNoLocks(int code) {
  return code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == EINVAL;
}

llvm::Expected<int> planfile::openLocked(const std::string &path,
                                         const std::string &target) {
  while (true) {
    const int file =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0)
      return fail(path, "opened");
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 && !hasNoLocks(errno)) {
      llvm::Error error =
          errno == EWOULDBLOCK
              ? llvm::createStringError(target +
                                        ": another glmc is writing it; wait for its "
                                        "end, or give this one another -o")
              : fail(path, "locked");
      ::close(file);
      return std::move(error);
    }
    // The other process may have renamed or removed it meanwhile.
    struct stat ours, named;
    if (::fstat(file, &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
        ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
      return file;
    ::close(file);
  }
}
