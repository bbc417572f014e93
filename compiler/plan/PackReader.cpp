//===- PackReader.cpp - Reads ahead what is packed ------------------------===//

#include "compiler/plan/PackReader.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace glm;
using namespace glm::planfile;
using llvm::Error;

static Error changed(const PackInput &input) {
  return llvm::createStringError(
      input.path + ": changed while it was packed; let nothing write to the "
                   "checkpoint and give the same command again");
}

static bool isAsSaid(const PackInput &input, const struct stat &info) {
  return static_cast<uint64_t>(info.st_size) == input.size &&
         info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec == input.modified;
}

llvm::Expected<std::unique_ptr<PackReader>>
PackReader::open(const PackLayout &layout, uint64_t chunkBytes) {
  std::unique_ptr<PackReader> reader(new PackReader(layout, chunkBytes));
  for (const PackInput &input : layout.inputs) {
    const int fd = ::open(input.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return llvm::createStringError(input.path + ": cannot be opened: " +
                                     std::strerror(errno));
    reader->files.push_back(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  if (Error e = reader->inputsUnchanged())
    return std::move(e);
  for (PackChunk &chunk : reader->buffers)
    reader->empty.push_back(&chunk);
  return reader;
}

PackReader::~PackReader() {
  {
    std::lock_guard lock(mutex);
    stopped = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
  for (int fd : files)
    ::close(fd);
}

Error PackReader::inputsUnchanged() const {
  for (auto [input, fd] : llvm::zip(layout.inputs, files)) {
    struct stat open, named;
    // The file behind the name too: one that replaced it is another checkpoint.
    if (::fstat(fd, &open) != 0 || !isAsSaid(input, open) ||
        ::stat(input.path.c_str(), &named) != 0 || !isAsSaid(input, named))
      return ::changed(input);
  }
  return Error::success();
}

void PackReader::start(size_t first) {
  thread = std::thread([this, first] { run(first); });
}

PackChunk &PackReader::next() {
  std::unique_lock lock(mutex);
  if (taken) {
    empty.push_back(taken);
    changed.notify_all();
  }
  changed.wait(lock, [&] { return !full.empty(); });
  taken = full.front();
  full.pop_front();
  return *taken;
}

PackChunk *PackReader::emptyChunk() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stopped || !empty.empty(); });
  if (stopped)
    return nullptr;
  PackChunk *chunk = empty.front();
  empty.pop_front();
  std::vector<char> bytes = std::move(chunk->bytes);
  *chunk = PackChunk();
  chunk->bytes = std::move(bytes);
  return chunk;
}

void PackReader::hand(PackChunk *chunk) {
  {
    std::lock_guard lock(mutex);
    full.push_back(chunk);
  }
  changed.notify_all();
}

void PackReader::run(size_t first) {
  for (size_t unit = first; unit < layout.units().size(); ++unit)
    if (!(layout.units()[unit].matrix ? readMatrix(unit) : readCopies(unit)))
      return;
}

bool PackReader::readInput(uint32_t input, uint64_t from, char *to, uint64_t size,
                           std::string &failure) const {
  while (size > 0) {
    const ssize_t got = ::pread(files[input], to, size, from);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      failure = layout.inputs[input].path;
      failure += got == 0 ? std::string(": ended while it was packed")
                          : std::string(": cannot be read: ") + std::strerror(errno);
      return false;
    }
    to += got, from += got, size -= got;
  }
  return true;
}

/// Runs are short, and what lies between them belongs to other ranks: many are read
/// at once and picked out. The rows of those ranks come next and find it in memory.
bool PackReader::readPart(const PackPart &part, uint64_t first, char *to, uint64_t size,
                          std::string &failure) {
  constexpr uint64_t kSpread = 1 << 20;
  const uint64_t run = part.run ? part.run : part.size;
  while (size > 0) {
    const uint64_t column = first % run;
    const uint64_t from = part.from + first / run * part.stride + column;
    // From here to the end of the last of `runs` runs.
    const uint64_t wanted = llvm::divideCeil(column + size, run);
    const uint64_t runs =
        part.run ? std::clamp<uint64_t>(kSpread / part.stride, 1, wanted) : 1;
    const uint64_t done = std::min(size, runs * run - column);
    if (runs == 1) {
      if (!readInput(part.input, from, to, done, failure))
        return false;
    } else {
      const uint64_t last = column + done - (runs - 1) * run; // bytes of the last run
      spread.resize((runs - 1) * part.stride - column + last);
      if (!readInput(part.input, from, spread.data(), spread.size(), failure))
        return false;
      uint64_t at = 0; // in `spread`
      char *out = to;
      for (uint64_t i = 0; i < runs; ++i) {
        const uint64_t bytes = i + 1 == runs ? last : i == 0 ? run - column : run;
        std::memcpy(out, spread.data() + at, bytes);
        out += bytes;
        at += i == 0 ? part.stride - column : part.stride;
      }
    }
    to += done, first += done, size -= done;
  }
  return true;
}

bool PackReader::readCopies(size_t number) {
  const PackUnit &unit = layout.units()[number];
  auto part = unit.parts.begin();
  for (uint64_t at = unit.begin; at < unit.end;) {
    PackChunk *chunk = emptyChunk();
    if (!chunk)
      return false;
    const uint64_t end = std::min(at + chunkBytes, unit.end);
    chunk->unit = number, chunk->at = at, chunk->last = end == unit.end;
    chunk->bytes.resize(end - at);
    uint64_t filled = at; // up to here the chunk has its bytes
    while (part != unit.parts.end() && part->at < end && chunk->failure.empty()) {
      const uint64_t begin = std::max(part->at, at);
      const uint64_t stop = std::min(part->at + part->size, end);
      std::memset(chunk->bytes.data() + (filled - at), 0, begin - filled);
      readPart(*part, begin - part->at, chunk->bytes.data() + (begin - at),
               stop - begin, chunk->failure);
      chunk->read += stop - begin;
      filled = stop;
      if (stop < part->at + part->size)
        break; // the rest is of the next chunk
      ++part;
    }
    std::memset(chunk->bytes.data() + (filled - at), 0, end - filled);
    const bool failed = !chunk->failure.empty();
    hand(chunk);
    if (failed)
      return false;
    at = end;
  }
  return true;
}

bool PackReader::readMatrix(size_t number) {
  const PackMatrix &matrix = *layout.units()[number].matrix;
  const uint64_t rowBytes = matrix.rowBytes();
  const int64_t step = std::max<int64_t>(chunkBytes / rowBytes, 1);
  for (int64_t first = 0; first < matrix.rows; first += step) {
    PackChunk *chunk = emptyChunk();
    if (!chunk)
      return false;
    chunk->unit = number, chunk->firstRow = first;
    chunk->rows = std::min(step, matrix.rows - first);
    chunk->last = first + chunk->rows == matrix.rows;
    chunk->read = chunk->rows * rowBytes;
    chunk->bytes.resize(chunk->read);
    const bool read = readInput(matrix.input, matrix.from + first * rowBytes,
                                chunk->bytes.data(), chunk->read, chunk->failure);
    hand(chunk);
    if (!read)
      return false;
  }
  return true;
}
