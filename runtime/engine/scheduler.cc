#include "runtime/engine/scheduler.h"

#include <algorithm>
#include <cassert>

#include "absl/status/status.h"

namespace glm {

absl::StatusOr<Scheduler> Scheduler::Create(
    const std::vector<EntryInfo>& entries) {
  Scheduler scheduler;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const EntryInfo& entry = entries[i];
    if (entry.prefill && entry.sequences == 1) {
      scheduler.prefill_.push_back({entry.tokens, i});
    } else if (!entry.prefill && entry.tokens == 1 &&
               entry.logit_rows >= entry.sequences) {
      scheduler.decode_.push_back({entry.sequences, i});
    }
  }
  if (scheduler.decode_.empty()) {
    return absl::FailedPreconditionError(
        "the plan has no decode entry; compile it again with --batch 1,2,4,8");
  }
  for (auto* shapes : {&scheduler.decode_, &scheduler.prefill_}) {
    std::sort(shapes->begin(), shapes->end(),
              [](const Shape& a, const Shape& b) { return a.rows < b.rows; });
  }
  return scheduler;
}

const Scheduler::Shape& Scheduler::Fitting(const std::vector<Shape>& shapes,
                                           size_t count) {
  for (const Shape& shape : shapes) {
    if (shape.rows >= count) return shape;
  }
  return shapes.back();
}

void Scheduler::Add(uint32_t slot, uint32_t tokens) {
  assert(tokens > 0);
  prompts_.push_back({slot, tokens});
}

void Scheduler::Remove(uint32_t slot) {
  std::erase_if(prompts_, [&](const Prompt& p) { return p.slot == slot; });
  const auto at = std::find(decoding_.begin(), decoding_.end(), slot);
  if (at == decoding_.end()) return;
  if (static_cast<size_t>(at - decoding_.begin()) < round_left_) --round_left_;
  decoding_.erase(at);
}

std::optional<StepChoice> Scheduler::Next() const {
  StepChoice choice;
  if (!prompts_.empty() && round_left_ == 0) {
    const Prompt& prompt = prompts_.front();
    choice.prompt = true;
    choice.slots = {prompt.slot};
    // One token alone decodes: a step of its own shape beats an empty chunk.
    const bool chunk = prompt.left > 1 && !prefill_.empty();
    const Shape& shape =
        chunk ? Fitting(prefill_, prompt.left) : decode_.front();
    choice.entry = shape.entry;
    choice.length = chunk ? std::min(shape.rows, prompt.left) : 1;
    return choice;
  }
  if (decoding_.empty()) return std::nullopt;
  // Without prompts rounds follow each other.
  const size_t left = round_left_ > 0 ? round_left_ : decoding_.size();
  const Shape& shape = Fitting(decode_, left);
  choice.entry = shape.entry;
  const size_t count = std::min<size_t>(left, shape.rows);
  choice.slots.assign(decoding_.begin(),
                      decoding_.begin() + static_cast<ptrdiff_t>(count));
  return choice;
}

void Scheduler::Ran(const StepChoice& choice) {
  if (choice.prompt) {
    Prompt prompt = prompts_.front();
    prompts_.pop_front();
    prompt.left -= choice.length;
    if (prompt.left > 0) {
      prompts_.push_back(prompt);
    } else {
      decoding_.push_back(prompt.slot);
    }
    round_left_ = decoding_.size();
    return;
  }
  if (round_left_ == 0) round_left_ = decoding_.size();
  const size_t count = choice.slots.size();
  std::rotate(decoding_.begin(),
              decoding_.begin() + static_cast<ptrdiff_t>(count),
              decoding_.end());
  round_left_ -= count;
}

}  // namespace glm
