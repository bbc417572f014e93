#include "runtime/executor/slot_states.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/element_bytes.h"

namespace glm {
namespace {

// Longer ranges go in parts of this, short ones together.
constexpr uint64_t kWindow = uint64_t{16} << 20;

}  // namespace

SlotStates::SlotStates(const plan::Plan& plan, uint32_t slots,
                       const Memory* states, Device& device, Queue& queue)
    : slots_(slots),
      max_tokens_(plan.model()->max_context()),
      states_(states),
      device_(device),
      queue_(queue) {
  if (plan.states() == nullptr) return;
  uint64_t offset = 0;
  for (const plan::State* state : *plan.states()) {
    State own{offset, state->bytes_per_slot(), 0, state->tokens_per_row()};
    if (own.tokens_per_row > 0) {
      own.row_bytes = plan::ElementBytes(state->dtype());
      for (uint32_t d = 1; d < state->shape()->size(); ++d) {
        own.row_bytes *= state->shape()->Get(d);
      }
    }
    layout_.push_back(own);
    offset += own.stride * slots;
  }
}

uint64_t SlotStates::State::BytesOf(uint32_t tokens) const {
  if (tokens_per_row == 0) return stride;
  const uint64_t rows =
      (uint64_t{tokens} + tokens_per_row - 1) / tokens_per_row;
  return std::min(stride, rows * row_bytes);
}

absl::StatusOr<uint64_t> SlotStates::Bytes(uint32_t tokens) const {
  if (tokens == 0 || tokens > max_tokens_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the state of ", tokens, " tokens, expected 1 to ", max_tokens_));
  }
  uint64_t bytes = 0;
  for (const State& state : layout_) bytes += state.BytesOf(tokens);
  return bytes;
}

absl::StatusOr<std::vector<SlotStates::Range>> SlotStates::RangesOf(
    uint32_t slot, uint32_t tokens, uint64_t bytes) const {
  GLM_ASSIGN_OR_RETURN(const uint64_t expected, Bytes(tokens));
  if (slot >= slots_ || bytes != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state of slot ", slot, " of ", slots_, ", ", tokens,
                     " tokens, in ", bytes, " bytes, expected ", expected));
  }
  std::vector<Range> ranges;
  for (const State& state : layout_) {
    Range range{state.offset + slot * state.stride, state.BytesOf(tokens)};
    while (range.bytes > 0) {
      const uint64_t part = std::min(range.bytes, kWindow);
      ranges.push_back({range.offset, part});
      range.offset += part;
      range.bytes -= part;
    }
  }
  return ranges;
}

absl::StatusOr<Memory*> SlotStates::Between(uint64_t bytes) {
  bytes = std::min(bytes, kWindow);
  if (between_ == nullptr || between_->size() < bytes) {
    GLM_ASSIGN_OR_RETURN(between_, device_.Allocate(bytes, MemoryKind::kShared,
                                                    "saving states"));
  }
  return between_.get();
}

absl::Status SlotStates::Save(uint32_t slot, uint32_t tokens,
                              std::span<std::byte> to) {
  GLM_ASSIGN_OR_RETURN(const std::vector<Range> ranges,
                       RangesOf(slot, tokens, to.size()));
  GLM_RETURN_IF_ERROR(queue_.Finish());
  if (ranges.empty()) return absl::OkStatus();
  if (states_->host_data() != nullptr) {
    for (const Range& range : ranges) {
      std::memcpy(to.data(), states_->host_data() + range.offset, range.bytes);
      to = to.subspan(range.bytes);
    }
    return absl::OkStatus();
  }
  GLM_ASSIGN_OR_RETURN(Memory * between, Between(to.size()));
  uint64_t used = 0;
  const auto flush = [&]() -> absl::Status {
    GLM_RETURN_IF_ERROR(queue_.Finish());
    std::memcpy(to.data(), between->host_data(), used);
    to = to.subspan(used);
    used = 0;
    return absl::OkStatus();
  };
  for (const Range& range : ranges) {
    if (used + range.bytes > between->size()) GLM_RETURN_IF_ERROR(flush());
    GLM_RETURN_IF_ERROR(
        queue_.Copy(*between, used, *states_, range.offset, range.bytes));
    used += range.bytes;
  }
  return flush();
}

absl::Status SlotStates::Restore(uint32_t slot, uint32_t tokens,
                                 std::span<const std::byte> from) {
  GLM_ASSIGN_OR_RETURN(const std::vector<Range> ranges,
                       RangesOf(slot, tokens, from.size()));
  GLM_RETURN_IF_ERROR(queue_.Finish());
  if (ranges.empty()) return absl::OkStatus();
  if (states_->host_data() != nullptr) {
    for (const Range& range : ranges) {
      std::memcpy(states_->host_data() + range.offset, from.data(),
                  range.bytes);
      from = from.subspan(range.bytes);
    }
    return absl::OkStatus();
  }
  GLM_ASSIGN_OR_RETURN(Memory * between, Between(from.size()));
  uint64_t used = 0;
  for (const Range& range : ranges) {
    if (used + range.bytes > between->size()) {
      GLM_RETURN_IF_ERROR(queue_.Finish());
      used = 0;
    }
    std::memcpy(between->host_data() + used, from.data(), range.bytes);
    GLM_RETURN_IF_ERROR(
        queue_.Copy(*states_, range.offset, *between, used, range.bytes));
    used += range.bytes;
    from = from.subspan(range.bytes);
  }
  return queue_.Finish();
}

}  // namespace glm
