#include "runtime/executor/row_store.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory_limits.h"
#include "runtime/base/status_macros.h"
#include "runtime/base/thread_pool.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

// Looked at again before each slab: pinned pages cannot be taken back, and a
// machine that runs out of others ends programs.
bool Enough(uint64_t bytes) {
  constexpr uint64_t kLeastLeft = uint64_t{256} << 20;
  return ReadMemoryLimits().Available() >= bytes + kLeastLeft;
}

}  // namespace

RowKinds RowKinds::Of(const plan::Plan& plan, const ExpertRows& rows,
                      const std::optional<SyntheticWeights>& synthetic,
                      bool map) {
  RowKinds kinds;
  const uint32_t experts = rows.shape.experts;
  const uint32_t made = synthetic && synthetic->experts > 0
                            ? std::min(synthetic->experts, experts)
                            : experts;
  for (uint32_t row = 0; row < rows.shape.rows(); ++row) {
    if (map && !synthetic && RowInFile(plan, rows, row)) {
      kinds.distinct.push_back(kInPlace);
      ++kinds.in_place;
      continue;
    }
    const uint32_t expert = rows.ExpertOf(row);
    if (expert >= made) {
      kinds.distinct.push_back(kinds.distinct[row - expert + expert % made]);
      continue;
    }
    kinds.distinct.push_back(static_cast<uint32_t>(kinds.first.size()));
    kinds.first.push_back(row);
  }
  return kinds;
}

absl::StatusOr<std::unique_ptr<RowStore>> RowStore::Create(
    const PlanFile& plan, const ExpertRows& rows, const RowKinds& kinds,
    const WeightStore& weights, Device& device, const Progress& progress,
    ExpertBudget& budget) {
  std::unique_ptr<RowStore> store(new RowStore(plan, rows, weights));
  GLM_RETURN_IF_ERROR(store->Allocate(device, budget.pinned_rows, budget));
  const uint64_t pinned = store->allocated_;
  const uint64_t distinct = kinds.first.size();
  std::vector<uint32_t> filled, from_files;
  std::vector<uint64_t> memory(distinct);
  for (uint64_t d = 0; d < distinct; ++d) {
    // Every distinct / pinned-th row.
    if ((d + 1) * pinned / distinct == d * pinned / distinct) {
      from_files.push_back(kinds.first[d]);
      continue;
    }
    uint64_t offset = 0;
    memory[d] =
        store->SlabOf(static_cast<uint32_t>(filled.size()), offset).address();
    memory[d] += offset;
    filled.push_back(kinds.first[d]);
  }
  for (uint32_t row = 0; row < rows.shape.rows(); ++row) {
    if (kinds.distinct[row] != RowKinds::kInPlace) {
      store->sources_.push_back(memory[kinds.distinct[row]]);
      continue;
    }
    const RowPlace place = *RowInFile(plan.plan(), rows, row);
    store->sources_.push_back(weights.MappedAddress(place.file) + place.offset);
  }
  if (!weights.synthetic()) GLM_RETURN_IF_ERROR(store->OpenFiles(from_files));
  GLM_RETURN_IF_ERROR(store->Fill(filled, progress));
  return store;
}

void RowStore::NoteRefusal(const absl::Status& refusal, uint32_t missing,
                           ExpertBudget& budget) const {
  budget.note = absl::StrCat(
      "only ", FormatBytes(allocated_ * rows_.layout.row_bytes), " of ",
      FormatBytes((allocated_ + missing) * rows_.layout.row_bytes),
      " could be pinned for rows of experts, the others are read from files: ",
      refusal.message());
  if (budget.limits.lock != kNoLimit) {
    absl::StrAppend(&budget.note, "; the memlock limit is ",
                    FormatBytes(budget.limits.lock));
  }
  budget.pinned_rows = allocated_;
  budget.file_rows += missing;
  budget.ring = kStagingRows;
}

absl::Status RowStore::Allocate(Device& device, uint32_t count,
                                ExpertBudget& budget) {
  const uint64_t row_bytes = rows_.layout.row_bytes;
  rows_a_slab_ = static_cast<uint32_t>(
      std::max<uint64_t>(1, std::min<uint64_t>(kSlabBytes / row_bytes, count)));
  while (allocated_ < count) {
    const uint32_t part = std::min(rows_a_slab_, count - allocated_);
    const uint64_t bytes = part * row_bytes;
    auto slab =
        Enough(bytes)
            ? device.Allocate(bytes, MemoryKind::kShared, "rows of experts")
            : absl::ResourceExhaustedError(absl::StrCat(
                  "the host has ", FormatBytes(ReadMemoryLimits().Available()),
                  " left, others took the rest meanwhile"));
    if (absl::IsResourceExhausted(slab.status())) {
      NoteRefusal(slab.status(), count - allocated_, budget);
      return absl::OkStatus();
    }
    GLM_RETURN_IF_ERROR(slab.status());
    slabs_.push_back(*std::move(slab));
    allocated_ += part;
  }
  return absl::OkStatus();
}

const Memory& RowStore::SlabOf(uint32_t index, uint64_t& offset) const {
  assert(index < allocated_);
  offset = index % rows_a_slab_ * rows_.layout.row_bytes;
  return *slabs_[index / rows_a_slab_];
}

absl::Status RowStore::Fill(std::span<const uint32_t> rows,
                            const Progress& progress) {
  if (rows.empty()) return absl::OkStatus();
  const uint64_t row_bytes = rows_.layout.row_bytes;
  ThreadPool pool;
  const uint64_t batch = uint64_t{8} * pool.threads();
  for (uint64_t done = 0; done < rows.size();) {
    if (progress.cancel != nullptr && progress.cancel->load()) {
      return absl::CancelledError("interrupted while experts were loaded");
    }
    const uint64_t end = std::min<uint64_t>(rows.size(), done + batch);
    std::mutex mutex;
    absl::Status status;
    pool.ParallelFor(done, end, 1, [&](uint64_t from, uint64_t to) {
      for (uint64_t i = from; i < to; ++i) {
        uint64_t offset = 0;
        const Memory& slab = SlabOf(static_cast<uint32_t>(i), offset);
        absl::Status copied =
            CopyRow(rows[i], {slab.host_data() + offset, row_bytes});
        if (copied.ok()) continue;
        const std::lock_guard lock(mutex);
        status.Update(std::move(copied));
      }
    });
    GLM_RETURN_IF_ERROR(status);
    done = end;
    if (progress.on_bytes) {
      progress.on_bytes(done * row_bytes, rows.size() * row_bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status RowStore::OpenFiles(std::span<const uint32_t> rows) {
  for (const uint32_t row : rows) {
    for (uint32_t i = 0; i < rows_.layout.count(); ++i) {
      const plan::Piece* piece = RowPiece(plan_, rows_, row, i);
      if (piece == nullptr || files_.contains(piece->file())) continue;
      GLM_ASSIGN_OR_RETURN(DirectFile file,
                           DirectFile::Open(weights_.FilePath(piece->file())));
      files_.emplace(piece->file(), std::move(file));
    }
  }
  return absl::OkStatus();
}

absl::Status RowStore::CopyRow(uint32_t row, std::span<std::byte> to) const {
  for (uint32_t i = 0; i < rows_.layout.count(); ++i) {
    GLM_RETURN_IF_ERROR(weights_.ReadPiece(
        rows_.WeightOf(row, i), rows_.PieceOf(row, i), 0,
        to.subspan(rows_.layout.offsets[i], rows_.layout.sizes[i])));
  }
  return absl::OkStatus();
}

absl::Status RowStore::ReadFile(uint32_t file, uint64_t offset,
                                std::span<std::byte> to) {
  const auto found = files_.find(file);
  if (found != files_.end()) return found->second.Read(offset, to);
  return absl::DataLossError(absl::StrCat(
      weights_.FilePath(file), ": a kernel asked for bytes at offset ", offset,
      ", whose row has another source; the plan is damaged; compile it again"));
}

absl::Status RowStore::ReadRow(uint32_t row, std::span<std::byte> to) {
  if (weights_.synthetic()) return CopyRow(row, to);
  if (const auto place = RowInFile(plan_, rows_, row)) {
    const uint64_t size = plan_.weight_files()->Get(place->file)->size();
    const uint64_t bytes = std::min<uint64_t>(to.size(), size - place->offset);
    return ReadFile(place->file, place->offset, to.first(bytes));
  }
  for (uint32_t i = 0; i < rows_.layout.count(); ++i) {
    const auto part =
        to.subspan(rows_.layout.offsets[i], rows_.layout.sizes[i]);
    if (const plan::Piece* piece = RowPiece(plan_, rows_, row, i)) {
      GLM_RETURN_IF_ERROR(ReadFile(piece->file(), piece->offset(), part));
      continue;
    }
    // Thousands of short ranges: better by the page cache.
    GLM_RETURN_IF_ERROR(weights_.ReadPiece(rows_.WeightOf(row, i),
                                           rows_.PieceOf(row, i), 0, part));
  }
  return absl::OkStatus();
}

}  // namespace glm
