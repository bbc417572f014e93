#include "tools/glm-check/weight_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/weight_path.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"
#include "runtime/safetensors/packed_weights.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm::check {
namespace {

constexpr uint64_t kReadBytes = 8u << 20;

// A piece of a weight in one file.
struct Placed {
  uint64_t offset;
  uint64_t size;
  std::string name;
};

std::string NameOf(const plan::Weight& weight, uint32_t piece) {
  const std::string name = weight.name()->str();
  if (!plan::IsExperts(weight.form())) return name;
  const uint32_t own = plan::PiecesOfRank(weight);
  return absl::StrCat(name.substr(0, name.rfind('.')), ", expert ",
                      piece % own / (plan::IsCoded(weight.form()) ? 2 : 1),
                      weight.pieces()->size() == own
                          ? ""
                          : absl::StrCat(", rank ", piece / own));
}

std::vector<Placed> PiecesOf(const plan::Plan& plan, uint32_t file) {
  std::vector<Placed> pieces;
  if (plan.weights() == nullptr) return pieces;
  for (const plan::Weight* weight : *plan.weights()) {
    if (weight->pieces() == nullptr) continue;
    for (uint32_t i = 0; i < weight->pieces()->size(); ++i) {
      const plan::Piece& piece = *weight->pieces()->Get(i);
      if (piece.file() != file) continue;
      pieces.push_back({piece.offset(), piece.size(), NameOf(*weight, i)});
    }
  }
  return pieces;
}

// The different names of the pieces that touch [offset, offset + size).
std::string NamesIn(const std::vector<Placed>& pieces, uint64_t offset,
                    uint64_t size) {
  std::vector<std::string> names;
  for (const Placed& piece : pieces) {
    if (piece.offset >= offset + size || piece.offset + piece.size <= offset) {
      continue;
    }
    if (std::find(names.begin(), names.end(), piece.name) == names.end()) {
      names.push_back(piece.name);
    }
  }
  if (names.empty()) return "no weight of this plan";
  std::string text = names[0];
  for (size_t i = 1; i < names.size(); ++i) {
    absl::StrAppend(&text, " and ", names[i]);
  }
  return text;
}

class Reader {
 public:
  Reader(const std::string& path, std::function<void(uint64_t)> on_read)
      : path_(path),
        fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        on_read_(std::move(on_read)),
        buffer_(kReadBytes) {
    if (fd_ >= 0) ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~Reader() {
    if (fd_ >= 0) ::close(fd_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // XXH3 of [offset, offset + size); nullopt when the disk cannot read it.
  absl::StatusOr<std::optional<uint64_t>> Hash(uint64_t offset, uint64_t size) {
    ByteHash hash;
    while (size > 0) {
      const ssize_t got =
          ::pread(fd_, buffer_.data(), std::min(size, kReadBytes),
                  static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EIO) {
        on_read_(size);
        return std::nullopt;
      }
      if (got <= 0) {
        return absl::DataLossError(
            absl::StrCat(path_, ": cannot read: ",
                         got < 0 ? std::strerror(errno) : "it became shorter"));
      }
      hash.Add(std::span(buffer_).first(static_cast<size_t>(got)));
      on_read_(static_cast<uint64_t>(got));
      offset += static_cast<uint64_t>(got);
      size -= static_cast<uint64_t>(got);
    }
    return hash.Digest();
  }

 private:
  const std::string path_;
  const int fd_;
  const std::function<void(uint64_t)> on_read_;
  std::vector<std::byte> buffer_;
};

}  // namespace

absl::StatusOr<std::vector<WeightFileVerdict>> CheckWeights(
    const PlanFile& plan_file, const std::vector<std::string>& weights_dirs,
    const std::function<void(uint64_t done, uint64_t total)>& on_read) {
  const plan::Plan& plan = plan_file.plan();
  const uint32_t count =
      plan.weight_files() == nullptr ? 0 : plan.weight_files()->size();
  std::vector<WeightFileVerdict> verdicts(count);
  std::vector<std::optional<PackedChecksums>> checksums(count);
  uint64_t done = 0, total = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const plan::WeightFile& expected = *plan.weight_files()->Get(i);
    WeightFileVerdict& verdict = verdicts[i];
    verdict.path =
        WeightFilePath(plan_file, expected.path()->str(), weights_dirs);
    GLM_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(verdict.path));
    verdict.bytes = file.size();
    verdict.is_the_plans = file.size() == expected.size();
    GLM_ASSIGN_OR_RETURN(checksums[i], ReadChecksums(verdict.path));
    verdict.packed = checksums[i].has_value();
    if (verdict.packed) total += checksums[i]->data_bytes;
    total += FingerprintedBytes(verdict.bytes);
  }
  const auto advance = [&](uint64_t bytes) {
    done += bytes;
    if (on_read) on_read(done, total);
  };
  for (uint32_t i = 0; i < count; ++i) {
    WeightFileVerdict& verdict = verdicts[i];
    GLM_ASSIGN_OR_RETURN(const uint64_t fingerprint,
                         FingerprintFile(verdict.path, advance));
    verdict.is_the_plans &=
        fingerprint == plan.weight_files()->Get(i)->fingerprint();
    if (!verdict.packed) continue;
    if (!verdict.is_the_plans) {
      verdict.others = PackedForOthers(verdict.path, plan.ranks());
    }
    const std::vector<Placed> pieces = PiecesOf(plan, i);
    Reader reader(verdict.path, advance);
    uint64_t offset = 0;
    for (const PackedBlock& block : checksums[i]->blocks) {
      GLM_ASSIGN_OR_RETURN(const std::optional<uint64_t> found,
                           reader.Hash(offset, block.size));
      if (found != block.xxh3) {
        verdict.damaged.push_back(
            {offset, block.size, NamesIn(pieces, offset, block.size)});
      }
      offset += block.size;
    }
    verdict.blocks = checksums[i]->blocks.size();
  }
  return verdicts;
}

}  // namespace glm::check
