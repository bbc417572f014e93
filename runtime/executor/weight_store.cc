#include "runtime/executor/weight_store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/weight_layout.h"
#include "runtime/executor/weight_loader.h"
#include "runtime/executor/weight_path.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"
#include "runtime/safetensors/packed_weights.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

constexpr uint64_t kCutBytes = uint64_t{256} << 10;  // read at a time

absl::Status NotCancelled(const std::atomic<bool>* cancel) {
  if (cancel == nullptr || !cancel->load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return absl::CancelledError("interrupted while the weights were loaded");
}

// Of a file that is not the plan's: an error where it is packed for other
// ranks, which tells more than sizes do.
absl::Status NotForOtherRanks(const std::string& path, const plan::Plan& plan) {
  const std::string why = PackedForOthers(path, plan.ranks());
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": ", why,
                   "; compile the plan again with --pack, or name the folder "
                   "of its own file with --weights"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WeightStore>> WeightStore::Open(
    std::shared_ptr<const PlanFile> plan_file,
    const std::vector<std::string>& weights_dirs, bool fingerprints,
    const std::function<void(uint64_t done, uint64_t total)>& on_read,
    const std::atomic<bool>* cancel) {
  const plan::Plan& plan = plan_file->plan();
  std::unique_ptr<WeightStore> store(new WeightStore());
  store->plan_ = plan_file;
  if (const plan::Weight* weight = plan::WeightWithoutData(plan)) {
    return absl::FailedPreconditionError(absl::StrCat(
        plan_file->path(), ": weight ", weight->name()->str(),
        " has no data: the plan was compiled with --weights none; compile "
        "it with a checkpoint to run it"));
  }
  for (const std::string& folder : weights_dirs) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
      return absl::FailedPreconditionError(
          absl::StrCat("--weights ", folder,
                       ": is not a folder; name one that holds weight files"));
    }
  }
  if (plan.weight_files() == nullptr) return store;
  uint64_t done = 0, total = 0;
  for (const plan::WeightFile* expected : *plan.weight_files()) {
    const std::string path =
        WeightFilePath(*plan_file, expected->path()->str(), weights_dirs);
    auto file = MappedFile::Open(path);
    if (absl::IsResourceExhausted(file.status())) return file.status();
    if (!file.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          file.status().message(), "; ", plan_file->path(),
          " needs this weight file",
          weights_dirs.empty()
              ? "; name its folder with --weights"
              : ", which is in no folder of --weights either; give --weights "
                "once for each folder that holds one"));
    }
    if (file->size() != expected->size()) {
      GLM_RETURN_IF_ERROR(NotForOtherRanks(path, plan));
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
    GLM_RETURN_IF_ERROR(NotCancelled(cancel));
    GLM_ASSIGN_OR_RETURN(const uint64_t found, FingerprintFile(path, advance));
    if (found != expected->fingerprint()) {
      GLM_RETURN_IF_ERROR(NotForOtherRanks(path, plan));
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": fingerprint ", absl::Hex(found, absl::kZeroPad16),
          ", the plan was compiled from a file with ",
          absl::Hex(expected->fingerprint(), absl::kZeroPad16),
          "; the weights have changed; compile the plan again"));
    }
  }
  return store;
}

absl::StatusOr<std::unique_ptr<WeightStore>> WeightStore::Synthetic(
    std::shared_ptr<const PlanFile> plan_file,
    const SyntheticWeights& synthetic) {
  if (const auto* weights = plan_file->plan().weights()) {
    for (const plan::Weight* weight : *weights) {
      if (const absl::Status status = CheckSynthetic(*weight); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat(plan_file->path(), ": ",
                                                        status.message()));
      }
    }
  }
  std::unique_ptr<WeightStore> store(new WeightStore());
  store->plan_ = std::move(plan_file);
  store->synthetic_ = synthetic;
  return store;
}

absl::Status WeightStore::Produce(uint32_t weight, uint32_t piece,
                                  uint64_t first,
                                  std::span<std::byte> to) const {
  const plan::Weight& w = *plan_->plan().weights()->Get(weight);
  if (synthetic_) {
    FillSynthetic(w, piece, synthetic_->seed, first, to);
    return absl::OkStatus();
  }
  const plan::Piece& p = plan::PieceOf(w, rank_, piece);
  const MappedFile& file = files_[p.file()];
  const plan::Cut* cut = plan::CutOf(w, piece);
  if (cut == nullptr) return file.Read(p.offset() + first, to);
  // Whole rows of the file are read, and the rank's columns of them taken: two
  // ranks read twice as much, and not thousands of short ranges.
  const uint64_t columns = cut->row_bytes(), stride = cut->stride();
  const uint64_t most = std::max<uint64_t>(1, kCutBytes / stride);  // rows
  std::vector<std::byte> rows;
  for (uint64_t done = 0; done < to.size();) {
    const uint64_t at = first + done, begin = at / columns;
    const uint64_t end =
        std::min(begin + most, (first + to.size() - 1) / columns + 1);
    // The last row may end with its columns.
    rows.resize((end - begin - 1) * stride + columns);
    GLM_RETURN_IF_ERROR(file.Read(p.offset() + begin * stride, rows));
    for (uint64_t row = 0; row < end - begin && done < to.size(); ++row) {
      const uint64_t column = (first + done) % columns;
      const uint64_t part =
          std::min<uint64_t>(columns - column, to.size() - done);
      std::memcpy(to.data() + done, rows.data() + row * stride + column, part);
      done += part;
    }
  }
  return absl::OkStatus();
}

absl::Status WeightStore::ReadPiece(uint32_t weight, uint32_t piece,
                                    uint64_t first,
                                    std::span<std::byte> to) const {
  const plan::Weight& w = *plan_->plan().weights()->Get(weight);
  return Produce(weight, piece % StoredPieces(w, {false, synthetic_}), first,
                 to);
}

absl::StatusOr<std::vector<std::byte>> WeightStore::PieceBytes(
    uint32_t weight, uint32_t piece) const {
  const plan::Weight& w = *plan_->plan().weights()->Get(weight);
  std::vector<std::byte> bytes(PieceSize(w, piece));
  GLM_RETURN_IF_ERROR(ReadPiece(weight, piece, 0, bytes));
  return bytes;
}

uint32_t WeightStore::DistinctExperts(uint32_t weight) const {
  const plan::Weight& w = *plan_->plan().weights()->Get(weight);
  return StoredPieces(w, {false, synthetic_}) / PiecesOfExpert(w);
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

absl::Status WeightStore::Bind(
    Device& device,
    const std::function<void(uint64_t done, uint64_t total)>& on_loaded,
    const std::atomic<bool>* cancel, uint32_t rank) {
  const plan::Plan& plan = plan_->plan();
  rank_ = rank;
  const uint32_t count = plan.weights() == nullptr ? 0 : plan.weights()->size();
  const WeightPlacement placement = {device.SupportsMappedWeights(), synthetic_,
                                     rank};
  const std::vector<bool> paged = PagedWeights(plan);
  WeightLayout total;
  for (uint32_t w = 0; w < count; ++w) {
    const WeightLayout layout =
        LayOut(*plan.weights()->Get(w), placement, paged[w]);
    total.copied_bytes += layout.copied_bytes;
    total.table_bytes += layout.table_bytes;
  }
  if (placement.map) {
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
  WeightLoader loader(device);
  uint64_t copy_at = 0, table_at = 0;
  arguments_.resize(count);
  std::vector<uint64_t> stored, table;
  for (uint32_t w = 0; w < count; ++w) {
    const plan::Weight& weight = *plan.weights()->Get(w);
    if (paged[w]) {
      arguments_[w] = tables_->address() + table_at;
      table_at += LayOut(weight, placement, true).table_bytes;
      continue;
    }
    stored.clear();
    for (uint32_t i = 0; i < StoredPieces(weight, placement); ++i) {
      if (UsedInPlace(weight, i, placement)) {
        const plan::Piece& piece = plan::PieceOf(weight, rank, i);
        stored.push_back(mapped_[piece.file()]->address() + piece.offset());
        continue;
      }
      const uint64_t size = PieceSize(weight, i);
      GLM_RETURN_IF_ERROR(NotCancelled(cancel));
      GLM_RETURN_IF_ERROR(
          loader.Write(*copies_, copy_at, size,
                       [&](uint64_t first, std::span<std::byte> to) {
                         return Produce(w, i, first, to);
                       }));
      stored.push_back(copies_->address() + copy_at);
      copy_at += AlignCopy(size);
      if (on_loaded) on_loaded(copy_at, total.copied_bytes);
    }
    if (weight.form() == plan::WeightForm::DENSE) {
      arguments_[w] = stored[0];
      continue;
    }
    table.resize(PieceCount(weight));
    for (uint32_t i = 0; i < table.size(); ++i) {
      table[i] = stored[i % stored.size()];
    }
    const auto bytes = std::as_bytes(std::span(table));
    GLM_RETURN_IF_ERROR(
        loader.Write(*tables_, table_at, bytes.size(),
                     [&](uint64_t first, std::span<std::byte> to) {
                       std::memcpy(to.data(), bytes.data() + first, to.size());
                       return absl::OkStatus();
                     }));
    arguments_[w] = tables_->address() + table_at;
    table_at += AlignCopy(bytes.size());
  }
  return loader.Finish();
}

}  // namespace glm
