//===- PackReader.h - Reads ahead what is packed ----------------*- C++ -*-===//
//
// A thread that reads the inputs of a layout, in order, into a few buffers which
// the caller takes and gives back: while one is written, the next is read.
//
// A chunk of copied units is what the packed file holds at [at, at + size), gaps
// filled with zeros. A chunk of a matrix is some of its rows as they are stored.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_PACKREADER_H
#define GLM_COMPILER_PLAN_PACKREADER_H

#include "compiler/plan/PackLayout.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace glm::planfile {

struct PackChunk {
  std::vector<char> bytes;
  size_t unit = 0;
  uint64_t at = 0;             // copies: place in the packed file
  int64_t firstRow = 0, rows = 0; // matrices
  uint64_t read = 0;           // bytes of inputs in it
  bool last = false;           // of its unit
  std::string failure;         // not empty: nothing was read, and why
};

class PackReader {
public:
  /// Errors: an input that cannot be opened, or is not what `layout` says.
  static llvm::Expected<std::unique_ptr<PackReader>>
  open(const PackLayout &layout, uint64_t chunkBytes);
  PackReader(const PackReader &) = delete;
  PackReader &operator=(const PackReader &) = delete;
  /// Waits for the read that is under way.
  ~PackReader();

  /// Begins with unit `first`; once.
  void start(size_t first);
  /// The next chunk, or one with a failure; to be called once a chunk of each unit
  /// from `first` on. Valid until the next call.
  PackChunk &next();

  /// Names an input that is not as it was when it was opened.
  llvm::Error inputsUnchanged() const;

private:
  static constexpr size_t kBuffers = 4;

  PackReader(const PackLayout &layout, uint64_t chunkBytes)
      : layout(layout), chunkBytes(chunkBytes) {}
  void run(size_t first);
  bool readCopies(size_t unit);
  bool readMatrix(size_t unit);
  /// Null when the caller has stopped.
  PackChunk *emptyChunk();
  void hand(PackChunk *chunk);
  bool readInput(uint32_t input, uint64_t from, char *to, uint64_t size,
                 std::string &failure) const;
  /// Bytes of a part from `first` on.
  bool readPart(const PackPart &part, uint64_t first, char *to, uint64_t size,
                std::string &failure);

  const PackLayout &layout;
  const uint64_t chunkBytes;
  std::vector<int> files;
  PackChunk buffers[kBuffers];
  std::vector<char> spread; // of readPart
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<PackChunk *> empty, full; // under `mutex`
  bool stopped = false;                // under `mutex`
  PackChunk *taken = nullptr;
  std::thread thread;
};

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_PACKREADER_H
