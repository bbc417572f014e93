#include "runtime/text/reasoning_splitter.h"

#include <optional>

#include "absl/status/status.h"

namespace glm::text {

absl::StatusOr<ReasoningSplitter> ReasoningSplitter::Create(
    const Tokenizer& tokenizer, bool starts_inside_thinking) {
  std::optional<int32_t> open = tokenizer.TokenId("<think>");
  std::optional<int32_t> close = tokenizer.TokenId("</think>");
  if (!open || !close || !tokenizer.IsAdded(*open) ||
      !tokenizer.IsAdded(*close)) {
    return absl::FailedPreconditionError(
        "the tokenizer has no added tokens <think> and </think>; use the "
        "tokenizer.json of the checkpoint");
  }
  return ReasoningSplitter(*open, *close, starts_inside_thinking);
}

OutputChannel ReasoningSplitter::Push(int32_t id) {
  if (id == think_open_ || id == think_close_) {
    inside_thinking_ = id == think_open_;
    return OutputChannel::kMarker;
  }
  return inside_thinking_ ? OutputChannel::kReasoning
                          : OutputChannel::kContent;
}

ReasoningDelta ReasoningTextSplitter::Push(int32_t id) {
  bool was_inside = splitter_.inside_thinking();
  OutputChannel channel = splitter_.Push(id);
  // A marker ends the text before it, so an unfinished character ends too.
  std::string text =
      channel == OutputChannel::kMarker ? text_.Finish() : text_.Push(id);
  ReasoningDelta delta;
  (was_inside ? delta.reasoning : delta.content) = std::move(text);
  return delta;
}

ReasoningDelta ReasoningTextSplitter::Finish() {
  ReasoningDelta delta;
  (inside_thinking() ? delta.reasoning : delta.content) = text_.Finish();
  return delta;
}

}  // namespace glm::text
