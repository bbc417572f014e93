//===- PackWriter.h - Writes a packed file, or the rest of it ---*- C++ -*-===//
//
// Carries a layout out: a thread reads ahead (PackReader.h), the caller's thread
// quantises, hashes and writes, a third waits for the disk (PartialFile.h). Memory in
// use is four chunks and what one of them is quantised to, whatever the weights' sizes.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_PACKWRITER_H
#define GLM_COMPILER_PLAN_PACKWRITER_H

#include "compiler/plan/PartialFile.h"

#include <atomic>
#include <functional>

namespace glm::planfile {

struct PackOptions {
  uint64_t chunkBytes = 8 << 20;  ///< of one read and one write
  uint64_t recordBytes = 256 << 20; ///< read between two records of the journal
  bool recordAside = true;        ///< on a thread; a test waits for each record
  /// Called after each chunk: bytes of the inputs done, and of all.
  std::function<void(uint64_t done, uint64_t total)> progress;
  /// Text that the user should see, although nothing failed.
  std::function<void(llvm::StringRef text)> note;
  const std::atomic<bool> *cancel = nullptr; ///< true: end soon
  /// Bytes that a file in `folder` may take; by default what the disk says.
  std::function<uint64_t(const std::string &folder)> freeBytes;
};

struct PackResult {
  uint64_t bytes = 0;   ///< of inputs, read by this process
  uint64_t resumed = 0; ///< of inputs, done before
  uint64_t fileBytes = 0;
  double seconds = 0;
  bool reused = false; ///< the target was there already
  /// Not published yet; null with `reused`.
  std::unique_ptr<PartialFile> file;
};

/// Writes what is missing of `target` and leaves it, complete and synced, under
/// its partial name. A file of the name `target` that was made of the same is
/// taken as it is. Errors name file and remedy; after an interruption
/// (InterruptedError), a full disk or a failing one, the same call goes on where
/// this one ended; when the weights themselves are at fault nothing is kept.
llvm::Expected<PackResult> writePacked(const PackLayout &layout,
                                       const std::string &target,
                                       const PackOptions &options);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_PACKWRITER_H
