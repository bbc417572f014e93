//===- PartialFile.cpp - A packed file that is not complete yet -----------===//

#include "compiler/plan/PartialFile.h"

#include "compiler/plan/FileLock.h"
#include "runtime/safetensors/packed_weights.h"

#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

using namespace glm;
using namespace glm::planfile;
using llvm::Error;

static constexpr char kMagic[] = "GLMPACK1";
static constexpr size_t kHeader = 3, kMaxJournal = 1u << 28; // words; bytes

static std::span<const std::byte> bytesOf(llvm::ArrayRef<uint64_t> words) {
  return std::as_bytes(std::span(words.data(), words.size()));
}

static uint64_t hashOf(llvm::ArrayRef<uint64_t> words) {
  ByteHash hash;
  hash.Add(bytesOf(words));
  return hash.Digest();
}

static std::vector<uint64_t> headerOf(const PackLayout &layout) {
  uint64_t magic;
  std::memcpy(&magic, kMagic, sizeof(magic));
  std::vector<uint64_t> header = {magic, layout.identity()};
  header.push_back(hashOf(header));
  return header;
}

/// Nothing to do where a folder cannot be synced.
static void syncFolderOf(const std::string &path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  const int fd = ::open(folder.empty() ? "." : folder.str().c_str(),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  ::fsync(fd);
  ::close(fd);
}

PartialFile::PartialFile(const std::string &target)
    : target(target), partialPath(target + ".partial"),
      journalPath(target + ".journal") {}

PartialFile::~PartialFile() {
  llvm::consumeError(join());
  for (int fd : {journal, file})
    if (fd >= 0)
      ::close(fd);
}

Error PartialFile::fail(const std::string &path, const char *what) const {
  const int code = errno;
  std::string text = path + ": cannot be " + what + ": " + std::strerror(code);
  if (code == ENOSPC || code == EDQUOT)
    text += "; make room on the disk";
  if (code == EFBIG)
    text += "; the file system or `ulimit -f` allows no larger file";
  return llvm::createStringError(text);
}

llvm::Expected<std::unique_ptr<PartialFile>>
PartialFile::open(const std::string &target, const PackLayout &layout,
                  bool &restarted) {
  std::unique_ptr<PartialFile> partial(new PartialFile(target));
  if (Error e = partial->lock())
    return std::move(e);
  if (Error e = partial->resume(layout, restarted)) {
    if (partial->done.empty())
      partial->discard();
    return std::move(e);
  }
  return partial;
}

Error PartialFile::lock() {
  auto locked = openLocked(partialPath, target);
  if (!locked)
    return locked.takeError();
  file = *locked;
  journal = ::open(journalPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  return journal < 0 ? fail(journalPath, "opened") : Error::success();
}

Error PartialFile::resume(const PackLayout &layout, bool &restarted) {
  struct stat partial, log;
  if (::fstat(file, &partial) != 0 || ::fstat(journal, &log) != 0)
    return fail(partialPath, "examined");
  const bool known = readJournal(layout);
  if (!known || !lastUnitHolds(layout)) {
    done.clear();
    restarted = partial.st_size > 0;
    if (Error e = startJournal(layout))
      return e;
  }
  recordedUnits = done.size();
  // Holes read as zeros: bytes that no unit writes are the same ever.
  const uint64_t kept = done.empty() ? 0 : layout.units()[done.size() - 1].end;
  if (::ftruncate(file, kept) != 0 || ::ftruncate(file, layout.dataBytes()) != 0)
    return fail(partialPath, "resized");
  return Error::success();
}

/// Takes the records up to the first that is not whole, and drops the rest.
bool PartialFile::readJournal(const PackLayout &layout) {
  struct stat info;
  if (::fstat(journal, &info) != 0 || info.st_size <= 0 ||
      static_cast<uint64_t>(info.st_size) > kMaxJournal)
    return false;
  std::vector<uint64_t> words(info.st_size / sizeof(uint64_t));
  for (size_t have = 0, all = words.size() * sizeof(uint64_t); have < all;) {
    const ssize_t got = ::pread(journal, reinterpret_cast<char *>(words.data()) + have,
                                all - have, have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    have += got;
  }
  llvm::ArrayRef<uint64_t> left(words);
  if (left.take_front(kHeader) != llvm::ArrayRef(headerOf(layout)))
    return false;
  left = left.drop_front(kHeader);
  size_t used = kHeader;
  while (left.size() >= 2) {
    const uint64_t n = left[0];
    if (n > layout.units().size() - done.size() || n > left.size() - 2 ||
        hashOf(left.take_front(n + 1)) != left[n + 1])
      break;
    done.insert(done.end(), left.begin() + 1, left.begin() + 1 + n);
    left = left.drop_front(n + 2);
    used += n + 2;
  }
  const off_t end = used * sizeof(uint64_t);
  return ::ftruncate(journal, end) == 0 && ::lseek(journal, end, SEEK_SET) == end;
}

/// The last unit of the journal is read again: a file that was replaced, or a disk
/// that did not keep what it said, shows there.
bool PartialFile::lastUnitHolds(const PackLayout &layout) {
  if (done.empty())
    return true;
  const PackUnit &unit = layout.units()[done.size() - 1];
  auto found = checksum(unit.begin, unit.end);
  if (!found) {
    llvm::consumeError(found.takeError());
    return false;
  }
  return *found == done.back();
}

llvm::Expected<uint64_t> PartialFile::checksum(uint64_t begin, uint64_t end) {
  ByteHash hash;
  std::vector<std::byte> buffer(1 << 20);
  for (uint64_t at = begin; at < end;) {
    const size_t want = std::min<uint64_t>(buffer.size(), end - at);
    const ssize_t got = ::pread(file, buffer.data(), want, at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got < 0 ? fail(partialPath, "read")
                     : llvm::createStringError(partialPath + ": has become shorter");
    hash.Add(std::span(buffer).first(got));
    at += got;
  }
  return hash.Digest();
}

static bool writeAll(int fd, const char *data, size_t size, off_t at) {
  while (size > 0) {
    const ssize_t put = ::pwrite(fd, data, size, at);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return false;
    data += put, at += put, size -= put;
  }
  return true;
}

Error PartialFile::startJournal(const PackLayout &layout) {
  const std::vector<uint64_t> header = headerOf(layout);
  // Empty and synced before the file changes: an old journal never speaks of new
  // bytes.
  if (::ftruncate(journal, 0) != 0 || ::fdatasync(journal) != 0 ||
      ::ftruncate(file, 0) != 0 ||
      !writeAll(journal, reinterpret_cast<const char *>(header.data()),
                kHeader * sizeof(uint64_t), 0) ||
      ::lseek(journal, 0, SEEK_END) < 0)
    return fail(journalPath, "written");
  syncFolderOf(target);
  return Error::success();
}

Error PartialFile::write(const void *data, size_t size, uint64_t at) {
  return writeAll(file, static_cast<const char *>(data), size, at)
             ? Error::success()
             : fail(partialPath, "written");
}

Error PartialFile::sync() {
  if (::fdatasync(file) == 0)
    return Error::success();
  refused = true;
  return fail(partialPath, "written");
}

Error PartialFile::append(llvm::ArrayRef<uint64_t> checksums) {
  std::vector<uint64_t> record = {checksums.size()};
  record.insert(record.end(), checksums.begin(), checksums.end());
  record.push_back(hashOf(record));
  if (Error e = sync())
    return e;
  refused = true;
  const off_t end = ::lseek(journal, 0, SEEK_CUR);
  const size_t size = record.size() * sizeof(uint64_t);
  if (end < 0 ||
      !writeAll(journal, reinterpret_cast<const char *>(record.data()), size, end) ||
      ::lseek(journal, end + size, SEEK_SET) < 0 || ::fdatasync(journal) != 0)
    return fail(journalPath, "written");
  refused = false;
  recordedUnits += checksums.size();
  return Error::success();
}

Error PartialFile::join() {
  if (recorder.joinable())
    recorder.join();
  return std::exchange(failure, Error::success());
}

Error PartialFile::record() {
  if (Error e = join())
    return e;
  if (refused || recordedUnits == done.size())
    return Error::success();
  return append(llvm::ArrayRef(done).drop_front(recordedUnits));
}

Error PartialFile::recordAside() {
  if (recording)
    return Error::success();
  if (Error e = join())
    return e;
  if (refused || recordedUnits == done.size())
    return Error::success();
  recording = true;
  // A copy: `done` grows meanwhile.
  recorder = std::thread([this, fresh = std::vector<uint64_t>(
                                    done.begin() + recordedUnits, done.end())] {
    failure = append(fresh);
    recording = false;
  });
  return Error::success();
}

Error PartialFile::publish() {
  if (::rename(partialPath.c_str(), target.c_str()) != 0)
    return fail(target, "written");
  ::unlink(journalPath.c_str());
  syncFolderOf(target);
  return Error::success();
}

void PartialFile::discard() {
  ::unlink(partialPath.c_str());
  ::unlink(journalPath.c_str());
}
