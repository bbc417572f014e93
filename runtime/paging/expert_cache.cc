#include "runtime/paging/expert_cache.h"

#include <algorithm>
#include <bitset>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::paging {
namespace {

uint32_t MostRows(const TraceShape& shape, uint32_t step_tokens) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(shape.experts, uint64_t{step_tokens} * shape.top_k));
}

absl::Status CheckPinned(const CacheOptions& options) {
  if (!options.policy.pinned) {
    if (options.pinned_rows.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("policy ", options.policy.name, " pins no rows"));
  }
  std::vector<bool> seen(options.shape.rows());
  for (const uint32_t row : options.pinned_rows) {
    if (row >= seen.size() || seen[row]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pinned row ", row, row >= seen.size() ? " of " : " twice, of ",
          seen.size(), " rows"));
    }
    seen[row] = true;
  }
  return absl::OkStatus();
}

// Slots that change hands against the rows that one layer may ask for.
absl::Status CheckSlots(const CacheOptions& options) {
  const TraceShape& shape = options.shape;
  const uint64_t rows = MostRows(shape, options.step_tokens);
  const uint64_t pinned = options.pinned_rows.size();
  const uint64_t needed = rows + pinned;
  if (options.slots >= needed) return absl::OkStatus();
  std::string reason = absl::StrCat(
      "an arena of ", options.slots, " slots is too small for policy ",
      options.policy.name, ": one layer of a step of ", options.step_tokens,
      " tokens asks for up to ", rows, " of its ", shape.experts, " experts");
  if (pinned > 0)
    absl::StrAppend(&reason, ", and ", pinned, " slots are pinned");
  absl::StrAppend(&reason, "; give it ", needed, " slots or more");
  if (options.step_tokens > 1)
    absl::StrAppend(&reason, ", run fewer tokens a step");
  if (pinned > 0) absl::StrAppend(&reason, ", pin fewer rows");
  return absl::ResourceExhaustedError(reason);
}

}  // namespace

absl::StatusOr<ExpertCache> ExpertCache::Create(CacheOptions options) {
  GLM_RETURN_IF_ERROR(options.shape.Check("expert cache"));
  if (options.step_tokens < 1 || options.step_tokens > kMaxStepTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("a step of ", options.step_tokens, " tokens; it has 1 to ",
                     kMaxStepTokens));
  }
  GLM_RETURN_IF_ERROR(CheckPinned(options));
  GLM_RETURN_IF_ERROR(CheckSlots(options));
  // More slots than rows are of no use.
  options.slots = std::min(options.slots, options.shape.rows());
  return ExpertCache(std::move(options));
}

ExpertCache::ExpertCache(CacheOptions options)
    : options_(std::move(options)),
      pinned_(static_cast<uint32_t>(options_.pinned_rows.size())),
      most_rows_(MostRows(options_.shape, options_.step_tokens)),
      next_layer_(options_.shape.layers),
      slot_of_row_(options_.shape.rows(), kNone),
      row_of_slot_(options_.slots, kNone),
      uses_(options_.shape.rows()),
      victims_(most_rows_) {
  for (uint32_t i = 0; i < pinned_; ++i) {
    const uint32_t row = options_.pinned_rows[i];
    const uint32_t slot = options_.slots - pinned_ + i;
    slot_of_row_[row] = slot;
    row_of_slot_[slot] = row;
  }
}

ExpertCache::Slots ExpertCache::SlotsOf(uint32_t layer) const {
  const Slots open = OpenSlots();
  if (!options_.policy.per_layer) return open;
  const uint64_t layers = options_.shape.layers;
  return {static_cast<uint32_t>(uint64_t{open.size()} * layer / layers),
          static_cast<uint32_t>(uint64_t{open.size()} * (layer + 1) / layers)};
}

void ExpertCache::BeginStep() {
  ++step_;
  next_layer_ = 0;
  const Rank rank = options_.policy.rank;
  const uint32_t period = rank == Rank::kUses ? kHalvingSteps : kAgeingSteps;
  if (rank == Rank::kUsedAt || step_ % period != 0) return;
  for (RowUse& use : uses_) AgeRow(rank, step_, use);
  reuse_.Age();
}

absl::Status ExpertCache::CheckAccess(uint32_t layer,
                                      std::span<const uint16_t> experts,
                                      size_t placements) const {
  if (layer < next_layer_ || layer >= options_.shape.layers) {
    return absl::InvalidArgumentError(
        absl::StrCat("layer ", layer, " of ", options_.shape.layers,
                     " after layer ", static_cast<int64_t>(next_layer_) - 1,
                     "; layers rise within a step, BeginStep begins one"));
  }
  if (experts.size() > most_rows_ || placements != experts.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layer ", layer, " asks for ", experts.size(), " experts with ",
        placements, " placements; a step of ", options_.step_tokens,
        " tokens has ", most_rows_, " at most"));
  }
  std::bitset<kMaxExperts> seen;
  for (const uint16_t expert : experts) {
    if (expert >= options_.shape.experts || seen[expert]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "layer ", layer, " asks for expert ", expert,
          expert >= options_.shape.experts ? " of " : " twice, of ",
          options_.shape.experts));
    }
    seen[expert] = true;
  }
  return absl::OkStatus();
}

void ExpertCache::ChooseVictims(Slots slots, uint32_t layer, uint32_t count) {
  const uint32_t first_row = layer * options_.shape.experts;
  const uint32_t end_row = first_row + options_.shape.experts;
  uint32_t found = 0;
  for (uint32_t slot = slots.begin; slot < slots.end; ++slot) {
    const uint32_t row = row_of_slot_[slot];
    uint64_t rank = slot;  // free: before every row, whose rank is offset below
    if (row != kNone) {
      const RowUse& use = uses_[row];
      const bool needed =
          row >= first_row && row < end_row && use.used_at == step_;
      if (needed) continue;
      const uint32_t next = row < end_row ? step_ + 1 : step_;
      rank = RankOf(options_.policy.rank, use, next, reuse_, row) +
             (uint64_t{1} << 32);
    }
    if (found == count && rank > victims_[count - 1].rank) continue;
    uint32_t at = found < count ? found++ : count - 1;
    for (; at > 0 && victims_[at - 1].rank > rank; --at)
      victims_[at] = victims_[at - 1];
    victims_[at] = {rank, slot};
  }
}

absl::Status ExpertCache::Access(uint32_t layer,
                                 std::span<const uint16_t> experts,
                                 std::span<Placement> placements) {
  GLM_RETURN_IF_ERROR(CheckAccess(layer, experts, placements.size()));
  next_layer_ = layer + 1;
  const uint32_t first_row = layer * options_.shape.experts;
  uint32_t misses = 0;
  for (const uint16_t expert : experts) {
    RowUse& use = uses_[first_row + expert];
    reuse_.Count(use.used_at == 0 ? 0 : step_ - use.used_at, use.weight);
    use.used_at = step_;
    ++use.uses;
    misses += slot_of_row_[first_row + expert] == kNone;
  }
  if (misses > 0) {
    const Slots own = SlotsOf(layer);
    ChooseVictims(experts.size() > own.size() ? OpenSlots() : own, layer,
                  misses);
  }
  uint32_t taken = 0;
  for (size_t i = 0; i < experts.size(); ++i) {
    const uint32_t row = first_row + experts[i];
    if (slot_of_row_[row] != kNone) {
      placements[i] = {slot_of_row_[row]};
      continue;
    }
    const uint32_t slot = victims_[taken++].slot;
    placements[i] = {slot, true, row_of_slot_[slot]};
    if (row_of_slot_[slot] != kNone) slot_of_row_[row_of_slot_[slot]] = kNone;
    row_of_slot_[slot] = row;
    slot_of_row_[row] = slot;
  }
  return absl::OkStatus();
}

}  // namespace glm::paging
