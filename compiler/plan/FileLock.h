//===- FileLock.h - One process a file --------------------------*- C++ -*-===//

#ifndef GLM_COMPILER_PLAN_FILELOCK_H
#define GLM_COMPILER_PLAN_FILELOCK_H

#include "llvm/Support/Error.h"

#include <string>

namespace glm::planfile {

/// Opens `path` for reading and writing, or makes it, and locks it (flock) until the
/// descriptor that is returned is closed, at the latest when the process ends.
/// A file system that knows no locks is taken without. Errors: another process has the
/// lock, told of `target`; the file cannot be opened.
llvm::Expected<int> openLocked(const std::string &path, const std::string &target);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_FILELOCK_H
