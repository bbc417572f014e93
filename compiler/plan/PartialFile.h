//===- PartialFile.h - A packed file that is not complete yet ---*- C++ -*-===//
//
// TARGET.partial, which is written, and TARGET.journal beside it, which says how
// much of it is on the disk for good: after the bytes were synced, the checksums
// of their units are appended in a record with its own hash. Whatever ends the
// process, at any moment, a later one that packs the same (PackLayout::identity)
// goes on after the last whole record; what lies behind it is written again.
//
// The partial file is locked (flock) while this object lives, so that two
// processes never write one target; the lock ends with the process.
//
//   journal: 8 bytes "GLMPACK1", u64 identity, u64 hash of the 16 bytes before,
//            then records: u64 n, n x u64 checksum, u64 hash of these
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_PARTIALFILE_H
#define GLM_COMPILER_PLAN_PARTIALFILE_H

#include "compiler/plan/PackLayout.h"

#include <atomic>
#include <memory>
#include <thread>

namespace glm::planfile {

class PartialFile {
public:
  /// Takes the lock and finds out how much is done. `restarted` is set when files
  /// were there that another packing began; they are written anew. Errors: another
  /// process has the lock; a file system that refuses.
  static llvm::Expected<std::unique_ptr<PartialFile>>
  open(const std::string &target, const PackLayout &layout, bool &restarted);

  PartialFile(const PartialFile &) = delete;
  PartialFile &operator=(const PartialFile &) = delete;
  ~PartialFile();

  /// Checksums of the units that are complete, in order.
  llvm::ArrayRef<uint64_t> checksums() const { return done; }

  llvm::Error write(const void *data, size_t size, uint64_t at);
  /// Of bytes [begin, end), read back.
  llvm::Expected<uint64_t> checksum(uint64_t begin, uint64_t end);
  /// The next unit is complete; it counts once it is recorded.
  void complete(uint64_t checksum) { done.push_back(checksum); }
  /// Syncs what is written and records it, after what `recordAside` does. After a
  /// failure nothing is recorded any more: what a disk has refused once is not there.
  llvm::Error record();
  /// The same on a thread, so that writing goes on meanwhile; nothing while an earlier
  /// one is under way. The error is that of an earlier one.
  llvm::Error recordAside();
  /// Syncs alone.
  llvm::Error sync();

  const std::string &path() const { return partialPath; }
  /// Gives the file its name; the journal goes.
  llvm::Error publish();
  /// Removes both: what was written is of no use.
  void discard();

private:
  explicit PartialFile(const std::string &target);
  llvm::Error lock();
  llvm::Error resume(const PackLayout &layout, bool &restarted);
  bool readJournal(const PackLayout &layout);
  bool lastUnitHolds(const PackLayout &layout);
  llvm::Error startJournal(const PackLayout &layout);
  llvm::Error append(llvm::ArrayRef<uint64_t> checksums);
  llvm::Error join();
  llvm::Error fail(const std::string &file, const char *what) const;

  const std::string target, partialPath, journalPath;
  int file = -1, journal = -1;
  std::vector<uint64_t> done;
  // Of the thread while it runs.
  size_t recordedUnits = 0;
  bool refused = false; // by the disk
  llvm::Error failure = llvm::Error::success();
  std::atomic<bool> recording{false};
  std::thread recorder;
};

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_PARTIALFILE_H
