// Where the rows of paged experts wait: in mapped weight files, in pinned
// memory of the host, or in files alone. Private to runtime/executor.
//
// Pinned rows are copies, made when the store is, by all cores, in memory that
// is allocated a GiB at a time: drivers refuse or mishandle larger ranges.
// Where not all rows get memory, those that do are spread evenly over layers
// and experts.
#ifndef GLM_RUNTIME_EXECUTOR_ROW_STORE_H_
#define GLM_RUNTIME_EXECUTOR_ROW_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/direct_file.h"
#include "runtime/device/device.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/weight_store.h"

namespace glm {

// Which rows share memory: row r has that of row Distinct()[r], or of none that
// needs any (kInPlace). From the plan alone.
struct RowKinds {
  static constexpr uint32_t kInPlace = ~uint32_t{0};

  std::vector<uint32_t> distinct;  // [rows]: number of a distinct row
  std::vector<uint32_t> first;     // of each distinct row: the row it is
  uint32_t in_place = 0;           // rows

  // `map`: rows may be used in the mapped files.
  static RowKinds Of(const plan::Plan& plan, const ExpertRows& rows,
                     const std::optional<SyntheticWeights>& synthetic,
                     bool map);
};

class RowStore {
 public:
  static constexpr uint64_t kSlabBytes = uint64_t{1} << 30;

  struct Progress {
    std::function<void(uint64_t done, uint64_t total)> on_bytes;
    const std::atomic<bool>* cancel = nullptr;
  };

  // All but `budget` and `progress` outlive the store. `budget` becomes what
  // there is: fewer rows are pinned where the system gives less memory, and its
  // note says so.
  //
  // Errors: kCancelled; those of opening the files that rows are read from.
  static absl::StatusOr<std::unique_ptr<RowStore>> Create(
      const PlanFile& plan, const ExpertRows& rows, const RowKinds& kinds,
      const WeightStore& weights, Device& device, const Progress& progress,
      ExpertBudget& budget);

  // Of each row, where kernels read it; 0: from a file.
  std::span<const uint64_t> sources() const { return sources_; }

  // Brings a row from its file. One thread at a time.
  // Errors: kDataLoss naming file and offset.
  absl::Status ReadRow(uint32_t row, std::span<std::byte> to);

  // Brings a row through the page cache; only the bytes of its pieces are set.
  // Thread-safe. Errors: those of WeightStore::ReadPiece.
  absl::Status CopyRow(uint32_t row, std::span<std::byte> to) const;

 private:
  RowStore(const PlanFile& plan, const ExpertRows& rows,
           const WeightStore& weights)
      : plan_(plan.plan()), rows_(rows), weights_(weights) {}

  // Memory for `count` rows, or for as many as the system gives.
  absl::Status Allocate(Device& device, uint32_t count, ExpertBudget& budget);
  // Leaves `missing` rows to their files.
  void NoteRefusal(const absl::Status& refusal, uint32_t missing,
                   ExpertBudget& budget) const;
  absl::Status Fill(std::span<const uint32_t> rows, const Progress& progress);
  absl::Status OpenFiles(std::span<const uint32_t> rows);
  absl::Status ReadFile(uint32_t file, uint64_t offset,
                        std::span<std::byte> to);
  // Memory of pinned row number `index`.
  const Memory& SlabOf(uint32_t index, uint64_t& offset) const;

  const plan::Plan& plan_;
  const ExpertRows& rows_;
  const WeightStore& weights_;
  uint32_t rows_a_slab_ = 0;
  uint32_t allocated_ = 0;  // rows
  std::vector<std::unique_ptr<Memory>> slabs_;
  std::vector<uint64_t> sources_;
  std::map<uint32_t, DirectFile> files_;  // by Plan.weight_files
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_ROW_STORE_H_
