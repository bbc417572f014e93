// The experts of a plan that pages them: arena, pager, rows and doorbell, as
// docs/spec/paging.md has them.
//
// Kernels of the steps choose and copy; this makes what they work with, serves
// what only files have, counts, and starts the cache afresh where a step failed
// in the middle: its table may then name rows whose bytes never came.
#ifndef GLM_RUNTIME_EXECUTOR_PAGED_EXPERTS_H_
#define GLM_RUNTIME_EXECUTOR_PAGED_EXPERTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/memory_io.h"
#include "runtime/executor/row_store.h"
#include "runtime/paging/pager_image.h"
#include "runtime/paging/row_server.h"

namespace glm {

// Of one layer, since the executor was made or SetRouting was called.
struct ExpertCounts {
  uint64_t steps = 0;
  uint64_t accesses = 0;      // distinct experts that steps chose
  uint64_t misses = 0;        // of them, not in a slot
  uint64_t asked = 0;         // of those, read from a file
  uint64_t bytes_pinned = 0;  // copied from memory of the host
  uint64_t bytes_file = 0;    // copied from the staging ring

  uint64_t bytes() const { return bytes_pinned + bytes_file; }
};

// Thread-compatible; not while a step runs.
class PagedExperts {
 public:
  // Everything outlives the result; weights are bound. `kinds` are those that
  // the budget was made from.
  static absl::StatusOr<std::unique_ptr<PagedExperts>> Create(
      const PlanFile& plan, const ExpertRows& rows, const RowKinds& kinds,
      const ExpertBudget& budget, const WeightStore& weights, Device& device,
      MemoryIo& io, const RowStore::Progress& progress);
  ~PagedExperts();

  // What there is, which may be less than was planned: see `note`.
  const ExpertBudget& budget() const { return budget_; }
  const ExpertRows& rows() const { return rows_; }
  // A new cache of the same rules, for simulations.
  absl::StatusOr<paging::ExpertCache> NewCache() const {
    return CacheOf(rows_, budget_);
  }

  // [layers]. A copy of 32 bytes a layer.
  absl::StatusOr<std::vector<ExpertCounts>> Counts();
  // Rows that the host read from files, and the time that took.
  uint64_t rows_read() const {
    return server_ == nullptr ? 0 : server_->rows_read();
  }
  double seconds_read() const {
    return server_ == nullptr ? 0 : server_->seconds_read();
  }

  // From now on steps take these experts instead of those that they choose:
  // I32 [steps][layers][top_k], the steps in a circle. Empty: their own again.
  // The cache and its counts begin anew.
  absl::Status SetRouting(std::span<const int32_t> choices);

  // Compares each resident row, and the addresses that kernels find it by, with
  // the weights. kDataLoss naming slot, row and the first byte that differs.
  absl::Status CheckResidentRows();

  // ---- for the executor

  uint64_t address() const { return pager_->address(); }
  void StepBegins();
  void StepEnds();
  // As many StepEnds as are missing.
  void StepsEnd();
  // kDataLoss when a row could not be read since the last call: steps since
  // then have computed with zeros.
  absl::Status TakeStatus();
  // Empties the slots, after a step that failed. Counts go on. No step runs.
  absl::Status Restart();

 private:
  PagedExperts(const ExpertRows& rows, const ExpertBudget& budget,
               const WeightStore& weights, MemoryIo& io)
      : rows_(rows), budget_(budget), weights_(weights), io_(io) {}

  absl::Status MakeDoorbell(Device& device);
  absl::Status CheckRow(uint32_t slot, uint32_t row,
                        std::span<const uint64_t> tables);

  const ExpertRows& rows_;
  ExpertBudget budget_;
  const WeightStore& weights_;
  MemoryIo& io_;
  Device* device_ = nullptr;
  paging::PagerPlaces places_;
  std::vector<std::byte> image_;  // of the pager, as Restart makes it
  std::unique_ptr<RowStore> store_;
  std::unique_ptr<Memory> slots_;
  std::unique_ptr<Memory> pager_;
  std::unique_ptr<Memory> staging_;  // rows, then the doorbell; or null
  std::unique_ptr<Memory> trace_;
  std::vector<std::byte> slot_, row_;          // of CheckRow
  std::unique_ptr<paging::RowServer> server_;  // ends before its memory goes
  int running_ = 0;                            // steps
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_PAGED_EXPERTS_H_
