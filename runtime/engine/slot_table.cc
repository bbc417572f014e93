#include "runtime/engine/slot_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/base/status_macros.h"

namespace glm {

SlotTable::SlotTable(StepRunner& runner, uint64_t cache_bytes,
                     uint32_t min_tokens)
    : runner_(runner),
      min_tokens_(min_tokens),
      cache_(runner.StateBytes(1).ok() ? cache_bytes : 0),
      slots_(runner.slots()),
      free_(runner.slots()) {}

// The free slot that holds the longest proper beginning of `prompt`, if any
// holds one; else the number of slots.
uint32_t SlotTable::Longest(std::span<const int32_t> prompt) const {
  uint32_t best = static_cast<uint32_t>(slots_.size());
  for (uint32_t s = 0; s < slots_.size(); ++s) {
    const std::vector<int32_t>& tokens = slots_[s].tokens;
    if (!slots_[s].free || tokens.empty() || tokens.size() >= prompt.size() ||
        !std::equal(tokens.begin(), tokens.end(), prompt.begin())) {
      continue;
    }
    if (best == slots_.size() || tokens.size() > slots_[best].tokens.size()) {
      best = s;
    }
  }
  return best;
}

uint32_t SlotTable::Oldest() const {
  uint32_t best = static_cast<uint32_t>(slots_.size());
  for (uint32_t s = 0; s < slots_.size(); ++s) {
    if (!slots_[s].free) continue;
    if (best == slots_.size() || slots_[s].since < slots_[best].since) best = s;
  }
  return best;
}

absl::StatusOr<SlotTable::Place> SlotTable::Take(
    std::span<const int32_t> prompt, bool reuse) {
  assert(free_ > 0);
  Place place;
  const uint32_t longest =
      reuse ? Longest(prompt) : static_cast<uint32_t>(slots_.size());
  const PrefixCache::Entry* entry = reuse ? cache_.Find(prompt) : nullptr;
  if (longest < slots_.size() &&
      (entry == nullptr ||
       entry->tokens.size() <= slots_[longest].tokens.size())) {
    place = {longest, static_cast<uint32_t>(slots_[longest].tokens.size())};
  } else {
    place.slot = Oldest();
    Slot& slot = slots_[place.slot];
    if (slot.worth) GLM_RETURN_IF_ERROR(Keep(place.slot, slot.tokens));
    slot.tokens.clear();
    // Keep may have let go of it.
    if (entry != nullptr) entry = cache_.Find(prompt);
    if (entry != nullptr) {
      place.tokens = static_cast<uint32_t>(entry->tokens.size());
      GLM_RETURN_IF_ERROR(
          runner_.RestoreState(place.slot, place.tokens, entry->state));
    }
  }
  Slot& slot = slots_[place.slot];
  slot.free = slot.worth = false;
  slot.tokens.clear();
  --free_;
  return place;
}

absl::Status SlotTable::Keep(uint32_t slot, std::span<const int32_t> tokens) {
  const uint32_t count = static_cast<uint32_t>(tokens.size());
  if (cache_.limit() == 0 || count < min_tokens_) return absl::OkStatus();
  GLM_ASSIGN_OR_RETURN(const uint64_t bytes, runner_.StateBytes(count));
  return cache_.Keep(tokens, bytes, [&](std::span<std::byte> to) {
    return runner_.SaveState(slot, count, to);
  });
}

void SlotTable::GiveBack(uint32_t slot, std::vector<int32_t> tokens,
                         bool worth) {
  assert(!slots_[slot].free);
  // Those that hold nothing are taken first.
  const uint64_t since = tokens.empty() ? 0 : ++given_back_;
  slots_[slot] = {true, worth && !tokens.empty(), std::move(tokens), since};
  ++free_;
}

void SlotTable::Forget() {
  cache_.Clear();
  for (Slot& slot : slots_) {
    slot.tokens.clear();
    slot.worth = false;
    slot.since = 0;
  }
}

}  // namespace glm
