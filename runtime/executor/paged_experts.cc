#include "runtime/executor/paged_experts.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

using paging::Pager;

template <typename T>
std::span<std::byte> Bytes(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PagedExperts>> PagedExperts::Create(
    const PlanFile& plan, const ExpertRows& rows, const RowKinds& kinds,
    const ExpertBudget& budget, const WeightStore& weights, Device& device,
    MemoryIo& io, const RowStore::Progress& progress) {
  std::unique_ptr<PagedExperts> experts(
      new PagedExperts(rows, budget, weights, io));
  experts->device_ = &device;
  GLM_ASSIGN_OR_RETURN(const paging::ExpertCache cache, CacheOf(rows, budget));
  // What the device cannot hold is refused before rows are read for minutes.
  GLM_ASSIGN_OR_RETURN(
      experts->slots_,
      device.Allocate(budget.SlotBytes(), MemoryKind::kDevice, "expert slots"));
  experts->places_ = paging::PagerPlaces::Of(rows.shape, rows.layout.weights,
                                             cache.options().slots);
  GLM_ASSIGN_OR_RETURN(
      experts->pager_,
      device.Allocate(experts->places_.bytes, MemoryKind::kDevice, "pager"));
  GLM_ASSIGN_OR_RETURN(experts->store_,
                       RowStore::Create(plan, rows, kinds, weights, device,
                                        progress, experts->budget_));
  if (experts->budget_.ring > 0) {
    GLM_RETURN_IF_ERROR(experts->MakeDoorbell(device));
  }
  paging::PagerSetup setup;
  setup.address = experts->pager_->address();
  setup.slots = experts->slots_->address();
  setup.sources = experts->store_->sources();
  std::vector<uint64_t> tables;
  for (const uint32_t w : rows.weights) tables.push_back(weights.ArgumentOf(w));
  setup.tables = tables;
  if (experts->server_ != nullptr) {
    setup.bell = experts->staging_->address() +
                 experts->budget_.ring * rows.layout.row_bytes;
  }
  experts->image_ = paging::PagerImage(cache, rows.layout, setup);
  GLM_RETURN_IF_ERROR(io.Write(*experts->pager_, 0, experts->image_));
  return experts;
}

PagedExperts::~PagedExperts() = default;

absl::Status PagedExperts::MakeDoorbell(Device& device) {
  GLM_ASSIGN_OR_RETURN(
      staging_, device.Allocate(budget_.StagingBytes(), MemoryKind::kShared,
                                "staging of expert rows"));
  const uint64_t rows_end = budget_.ring * rows_.layout.row_bytes;
  paging::RowServerOptions options;
  // Rows are multiples of 4096 bytes, so the bell begins a line.
  options.bell = new (staging_->host_data() + rows_end) paging::Doorbell();
  options.staging = staging_->host_data();
  options.staging_address = staging_->address();
  options.ring = budget_.ring;
  options.row_bytes = rows_.layout.row_bytes;
  options.rows = rows_.shape.rows();
  GLM_ASSIGN_OR_RETURN(
      server_, paging::RowServer::Create(
                   options, [this](uint32_t row, std::span<std::byte> to) {
                     return store_->ReadRow(row, to);
                   }));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ExpertCounts>> PagedExperts::Counts() {
  std::vector<paging::PagerCounts> counted(rows_.shape.layers);
  GLM_RETURN_IF_ERROR(io_.Read(*pager_, places_.counts, Bytes(counted)));
  std::vector<ExpertCounts> counts;
  for (const paging::PagerCounts& c : counted) {
    const uint64_t row_bytes = rows_.layout.row_bytes;
    counts.push_back({c.steps, c.accesses, c.misses, c.asked,
                      (c.misses - std::min(c.misses, c.asked)) * row_bytes,
                      c.asked * row_bytes});
  }
  return counts;
}

absl::Status PagedExperts::SetRouting(std::span<const int32_t> choices) {
  const uint64_t step = uint64_t{rows_.shape.layers} * rows_.shape.top_k;
  if (choices.size() % step != 0 || choices.size() / step > UINT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        choices.size(), " choices; a step makes ", step, ": ",
        rows_.shape.top_k, " in each of ", rows_.shape.layers, " layers"));
  }
  for (const int32_t expert : choices) {
    if (expert < 0 || static_cast<uint32_t>(expert) >= rows_.shape.experts) {
      return absl::InvalidArgumentError(absl::StrCat(
          "routing: expert ", expert, " of ", rows_.shape.experts));
    }
  }
  std::unique_ptr<Memory> trace;
  if (!choices.empty()) {
    const auto bytes = std::as_bytes(choices);
    GLM_ASSIGN_OR_RETURN(
        trace,
        device_->Allocate(bytes.size(), MemoryKind::kDevice, "routing trace"));
    GLM_RETURN_IF_ERROR(io_.Write(*trace, 0, bytes));
  }
  auto* pager = reinterpret_cast<Pager*>(image_.data());
  pager->trace = trace == nullptr ? 0 : trace->address();
  pager->trace_steps = static_cast<uint32_t>(choices.size() / step);
  GLM_RETURN_IF_ERROR(Restart());
  trace_ = std::move(trace);  // the one before is in no pager any more
  // Of the image: zeros.
  return io_.Write(*pager_, places_.counts,
                   std::span<const std::byte>(image_).subspan(places_.counts));
}

absl::Status PagedExperts::Restart() {
  if (server_ != nullptr) server_->Restart();
  // The counts come last.
  return io_.Write(*pager_, 0,
                   std::span<const std::byte>(image_).first(places_.counts));
}

absl::Status PagedExperts::CheckRow(uint32_t slot, uint32_t row,
                                    std::span<const uint64_t> table) {
  const paging::RowLayout& layout = rows_.layout;
  GLM_RETURN_IF_ERROR(io_.Read(*slots_, slot * layout.row_bytes, Bytes(slot_)));
  GLM_RETURN_IF_ERROR(store_->CopyRow(row, row_));
  const uint64_t begin = slots_->address() + slot * layout.row_bytes;
  for (uint32_t i = 0; i < layout.count(); ++i) {
    const std::string where =
        absl::StrCat("slot ", slot, " with expert ", rows_.ExpertOf(row),
                     " of MoE layer ", rows_.LayerOf(row), ", piece ", i);
    if (table[i] != begin + layout.offsets[i]) {
      return absl::DataLossError(absl::StrCat(where, ": kernels find it at ",
                                              table[i], ", it is at ",
                                              begin + layout.offsets[i]));
    }
    const auto piece = [&](const std::vector<std::byte>& bytes) {
      return bytes.begin() + static_cast<int64_t>(layout.offsets[i]);
    };
    const auto end = piece(row_) + static_cast<int64_t>(layout.sizes[i]);
    const auto [wrong, found] = std::mismatch(piece(row_), end, piece(slot_));
    if (wrong == end) continue;
    return absl::DataLossError(absl::StrCat(
        where, ": byte ", wrong - piece(row_), " is ", static_cast<int>(*found),
        ", the weight has ", static_cast<int>(*wrong)));
  }
  return absl::OkStatus();
}

absl::Status PagedExperts::CheckResidentRows() {
  const paging::RowLayout& layout = rows_.layout;
  std::vector<uint32_t> row_of_slot(budget_.slots), slot_of_row(budget_.rows);
  GLM_RETURN_IF_ERROR(
      io_.Read(*pager_, places_.row_of_slot, Bytes(row_of_slot)));
  GLM_RETURN_IF_ERROR(
      io_.Read(*pager_, places_.slot_of_row, Bytes(slot_of_row)));
  // The addresses of each row's pieces, as the tables have them now.
  std::vector<uint64_t> addresses(uint64_t{budget_.rows} * layout.count());
  std::vector<uint64_t> table(uint64_t{rows_.shape.experts} * layout.pieces);
  for (uint32_t t = 0; t < rows_.weights.size(); ++t) {
    GLM_RETURN_IF_ERROR(
        weights_.ReadTable(io_, rows_.weights[t], Bytes(table)));
    const uint32_t layer = t / layout.weights, w = t % layout.weights;
    for (uint32_t i = 0; i < table.size(); ++i) {
      const uint64_t row =
          uint64_t{layer} * rows_.shape.experts + i / layout.pieces;
      addresses[row * layout.count() + w * layout.pieces + i % layout.pieces] =
          table[i];
    }
  }
  slot_.resize(layout.row_bytes);
  row_.resize(layout.row_bytes);
  for (uint32_t slot = 0; slot < row_of_slot.size(); ++slot) {
    const uint32_t row = row_of_slot[slot];
    if (row == paging::kNone) continue;
    if (row >= budget_.rows || slot_of_row[row] != slot) {
      return absl::DataLossError(absl::StrCat(
          "slot ", slot, " holds row ", row, " of ", budget_.rows,
          row < budget_.rows
              ? absl::StrCat(", which is in slot ", slot_of_row[row])
              : ""));
    }
    GLM_RETURN_IF_ERROR(
        CheckRow(slot, row,
                 std::span<const uint64_t>(addresses).subspan(
                     uint64_t{row} * layout.count(), layout.count())));
  }
  return absl::OkStatus();
}

void PagedExperts::StepBegins() {
  ++running_;
  if (server_ != nullptr) server_->StepBegins();
}

void PagedExperts::StepEnds() {
  if (running_ == 0) return;
  --running_;
  if (server_ != nullptr) server_->StepEnds();
}

void PagedExperts::StepsEnd() {
  while (running_ > 0) StepEnds();
}

absl::Status PagedExperts::TakeStatus() {
  return server_ == nullptr ? absl::OkStatus() : server_->TakeStatus();
}

}  // namespace glm
