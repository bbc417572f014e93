#include "runtime/executor/weight_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/weight_layout.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

constexpr uint64_t kStagingBytes = uint64_t{8} << 20;

std::string ResolvePath(const PlanFile& plan, const std::string& path,
                        const std::string& weights_dir) {
  if (!weights_dir.empty()) {
    const size_t slash = path.rfind('/');
    return weights_dir + "/" +
           (slash == std::string::npos ? path : path.substr(slash + 1));
  }
  return path[0] == '/' ? path : plan.folder() + "/" + path;
}

// Fills device memory through a shared buffer of bounded size.
class Uploader {
 public:
  Uploader(Device& device, Queue& queue) : device_(device), queue_(queue) {}

  absl::Status Write(const Memory& to, uint64_t offset,
                     std::span<const std::byte> bytes) {
    if (to.host_data() != nullptr) {
      std::memcpy(to.host_data() + offset, bytes.data(), bytes.size());
      return absl::OkStatus();
    }
    if (staging_ == nullptr) {
      GLM_ASSIGN_OR_RETURN(staging_,
                           device_.Allocate(kStagingBytes, MemoryKind::kShared,
                                            "loading weights"));
    }
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), kStagingBytes));
      std::memcpy(staging_->host_data(), part.data(), part.size());
      GLM_RETURN_IF_ERROR(queue_.Copy(to, offset, *staging_, 0, part.size()));
      GLM_RETURN_IF_ERROR(queue_.Finish());
      offset += part.size();
      bytes = bytes.subspan(part.size());
    }
    return absl::OkStatus();
  }

 private:
  Device& device_;
  Queue& queue_;
  std::unique_ptr<Memory> staging_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WeightStore>> WeightStore::Open(
    std::shared_ptr<const PlanFile> plan_file, const std::string& weights_dir,
    bool fingerprints,
    const std::function<void(uint64_t done, uint64_t total)>& on_read) {
  const plan::Plan& plan = plan_file->plan();
  std::unique_ptr<WeightStore> store(new WeightStore());
  store->plan_ = plan_file;
  if (plan.weights() != nullptr) {
    for (const plan::Weight* weight : *plan.weights()) {
      if (weight->pieces() == nullptr || weight->pieces()->size() == 0) {
        return absl::FailedPreconditionError(absl::StrCat(
            plan_file->path(), ": weight ", weight->name()->str(),
            " has no data: the plan was compiled with --weights none; compile "
            "it with a checkpoint to run it"));
      }
    }
  }
  if (plan.weight_files() == nullptr) return store;
  uint64_t done = 0, total = 0;
  for (const plan::WeightFile* expected : *plan.weight_files()) {
    const std::string path =
        ResolvePath(*plan_file, expected->path()->str(), weights_dir);
    auto file = MappedFile::Open(path);
    if (!file.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          file.status().message(), "; ", plan_file->path(),
          " needs this weight file; name its folder with --weights"));
    }
    if (file->size() != expected->size()) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": ", file->size(),
          " bytes, the plan was compiled from one of ", expected->size(),
          "; it is another file or was not downloaded "
          "completely; restore it or compile the plan again"));
    }
    total += FingerprintedBytes(file->size());
    store->files_.push_back(*std::move(file));
  }
  if (!fingerprints) return store;
  const auto advance = [&](uint64_t bytes) {
    done += bytes;
    if (on_read) on_read(done, total);
  };
  for (uint32_t i = 0; i < store->files_.size(); ++i) {
    const plan::WeightFile* expected = plan.weight_files()->Get(i);
    const std::string& path = store->files_[i].path();
    GLM_ASSIGN_OR_RETURN(const uint64_t found, FingerprintFile(path, advance));
    if (found != expected->fingerprint()) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": fingerprint ", absl::Hex(found, absl::kZeroPad16),
          ", the plan was compiled from a file with ",
          absl::Hex(expected->fingerprint(), absl::kZeroPad16),
          "; the weights have changed; compile the plan again"));
    }
  }
  return store;
}

std::span<const std::byte> WeightStore::PieceBytes(uint32_t weight,
                                                   uint32_t piece) const {
  const plan::Piece& p =
      *plan_->plan().weights()->Get(weight)->pieces()->Get(piece);
  return files_[p.file()].bytes().subspan(p.offset(), p.size());
}

absl::Status WeightStore::StillWhole() const {
  for (const MappedFile& file : files_) {
    if (!file.StillWhole()) {
      return absl::DataLossError(
          absl::StrCat(file.path(),
                       ": became shorter while in use; restore it and start "
                       "again"));
    }
  }
  return absl::OkStatus();
}

absl::Status WeightStore::Bind(Device& device, Queue& queue) {
  const plan::Plan& plan = plan_->plan();
  const uint32_t count = plan.weights() == nullptr ? 0 : plan.weights()->size();
  const bool map = device.SupportsMappedWeights();
  WeightLayout total;
  for (uint32_t w = 0; w < count; ++w) {
    const WeightLayout layout = LayOut(*plan.weights()->Get(w), map);
    total.copied_bytes += layout.copied_bytes;
    total.table_bytes += layout.table_bytes;
  }
  if (map) {
    for (const MappedFile& file : files_) {
      if (file.size() == 0) {
        mapped_.push_back(nullptr);
        continue;
      }
      GLM_ASSIGN_OR_RETURN(auto memory, device.MapHostMemory(file.bytes()));
      mapped_.push_back(std::move(memory));
    }
  }
  if (total.copied_bytes > 0) {
    GLM_ASSIGN_OR_RETURN(
        copies_,
        device.Allocate(total.copied_bytes, MemoryKind::kDevice, "weights"));
  }
  if (total.table_bytes > 0) {
    GLM_ASSIGN_OR_RETURN(tables_,
                         device.Allocate(total.table_bytes, MemoryKind::kDevice,
                                         "address tables"));
  }
  Uploader uploader(device, queue);
  uint64_t copy_at = 0, table_at = 0;
  arguments_.resize(count);
  std::vector<uint64_t> addresses;
  for (uint32_t w = 0; w < count; ++w) {
    const plan::Weight& weight = *plan.weights()->Get(w);
    addresses.clear();
    for (uint32_t i = 0; i < weight.pieces()->size(); ++i) {
      const plan::Piece& piece = *weight.pieces()->Get(i);
      if (UsedInPlace(weight, i, map)) {
        addresses.push_back(mapped_[piece.file()]->address() + piece.offset());
        continue;
      }
      GLM_RETURN_IF_ERROR(uploader.Write(*copies_, copy_at, PieceBytes(w, i)));
      addresses.push_back(copies_->address() + copy_at);
      copy_at += AlignCopy(piece.size());
    }
    if (weight.form() == plan::WeightForm::DENSE) {
      arguments_[w] = addresses[0];
      continue;
    }
    GLM_RETURN_IF_ERROR(uploader.Write(*tables_, table_at,
                                       std::as_bytes(std::span(addresses))));
    arguments_[w] = tables_->address() + table_at;
    table_at += AlignCopy(8 * addresses.size());
  }
  return absl::OkStatus();
}

}  // namespace glm
