#include "runtime/safetensors/packed_weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

constexpr char kMagic[] = "GLMSUMS1";
constexpr uint64_t kFooterBytes = 64;
constexpr uint64_t kHashedBytes = 56;  // of the footer
constexpr uint64_t kEntryBytes = 16;
constexpr uint64_t kMaxBlocks = 1u << 24;

void Append(std::vector<std::byte>& to, uint64_t number) {
  for (int i = 0; i < 8; ++i) {
    to.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
}

uint64_t NumberAt(std::span<const std::byte> bytes, size_t at) {
  uint64_t number = 0;
  for (int i = 0; i < 8; ++i) {
    number |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  }
  return number;
}

uint64_t HashOf(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

// A file that is open for reading.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : path_(path),
        fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  absl::StatusOr<uint64_t> Size() const {
    struct stat info;
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) {
      const std::string text = absl::StrCat(path_, ": ", std::strerror(errno));
      if (errno == ENOENT) return absl::NotFoundError(text);
      if (errno == EACCES) return absl::PermissionDeniedError(text);
      return absl::InternalError(text);
    }
    if (!S_ISREG(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": not a regular file"));
    }
    return static_cast<uint64_t>(info.st_size);
  }

  absl::Status Read(uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
      const ssize_t got =
          ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return absl::InternalError(
            absl::StrCat(path_, ": cannot read: ", std::strerror(errno)));
      }
      if (got == 0) {
        return absl::DataLossError(
            absl::StrCat(path_, ": became shorter while it was read"));
      }
      offset += static_cast<uint64_t>(got);
      to = to.subspan(static_cast<size_t>(got));
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const int fd_;
};

}  // namespace

struct ByteHash::State {
  XXH3_state_t xxh3;
};

ByteHash::ByteHash() : state_(std::make_unique<State>()) { Reset(); }
ByteHash::~ByteHash() = default;

void ByteHash::Add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

void ByteHash::AddNumber(uint64_t number) {
  std::vector<std::byte> bytes;
  Append(bytes, number);
  Add(bytes);
}

uint64_t ByteHash::Digest() const { return XXH3_64bits_digest(&state_->xxh3); }
void ByteHash::Reset() { XXH3_64bits_reset(&state_->xxh3); }

std::vector<std::byte> SerializeChecksums(const PackedChecksums& checksums) {
  std::vector<std::byte> bytes;
  bytes.reserve(checksums.blocks.size() * kEntryBytes + kFooterBytes);
  for (const PackedBlock& block : checksums.blocks) {
    Append(bytes, block.size);
    Append(bytes, block.xxh3);
  }
  const uint64_t entries = HashOf(bytes);
  std::vector<std::byte> footer;
  for (int i = 0; i < 8; ++i) footer.push_back(std::byte(kMagic[i]));
  for (const uint64_t number :
       {checksums.data_bytes, uint64_t{checksums.blocks.size()},
        checksums.identity, entries, checksums.ranks, uint64_t{0}}) {
    Append(footer, number);
  }
  Append(footer, HashOf(footer));
  bytes.insert(bytes.end(), footer.begin(), footer.end());
  return bytes;
}

absl::StatusOr<std::optional<PackedChecksums>> ReadChecksums(
    const std::string& path) {
  const OpenFile file(path);
  GLM_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  if (size < kFooterBytes) return std::nullopt;
  std::array<std::byte, kFooterBytes> footer;
  GLM_RETURN_IF_ERROR(file.Read(size - kFooterBytes, footer));
  if (std::memcmp(footer.data(), kMagic, 8) != 0) return std::nullopt;
  const auto damaged = [&](std::string_view what) {
    return absl::DataLossError(
        absl::StrCat(path, ": its checksums are damaged: ", std::string(what),
                     "; pack the weights again"));
  };
  if (HashOf(std::span(footer).first(kHashedBytes)) !=
      NumberAt(footer, kHashedBytes)) {
    return damaged("the footer has another hash");
  }
  if (NumberAt(footer, 48) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": is packed by a later version; update this program"));
  }
  PackedChecksums checksums;
  checksums.data_bytes = NumberAt(footer, 8);
  const uint64_t blocks = NumberAt(footer, 16);
  checksums.identity = NumberAt(footer, 24);
  checksums.ranks = NumberAt(footer, 40);
  if (blocks > kMaxBlocks || checksums.data_bytes > size ||
      size - checksums.data_bytes != blocks * kEntryBytes + kFooterBytes) {
    return damaged("their number does not fit the file's size");
  }
  std::vector<std::byte> entries(blocks * kEntryBytes);
  GLM_RETURN_IF_ERROR(file.Read(checksums.data_bytes, entries));
  if (HashOf(entries) != NumberAt(footer, 32)) {
    return damaged("the entries have another hash");
  }
  uint64_t left = checksums.data_bytes;
  for (uint64_t i = 0; i < blocks; ++i) {
    const PackedBlock block = {NumberAt(entries, i * kEntryBytes),
                               NumberAt(entries, i * kEntryBytes + 8)};
    if (block.size > left) return damaged("blocks reach beyond the data");
    left -= block.size;
    checksums.blocks.push_back(block);
  }
  if (left != 0) return damaged("blocks do not cover the data");
  return checksums;
}

std::string PackedForOthers(const std::string& path, uint64_t ranks) {
  const auto found = ReadChecksums(path);
  if (!found.ok() || !found->has_value()) return "";
  const uint64_t packed = (*found)->ranks;
  if (packed == 0 || packed == ranks) return "";
  return absl::StrCat("its experts are packed for ", packed,
                      packed == 1 ? " rank" : " ranks", ", the plan is for ",
                      ranks);
}

}  // namespace glm
