// `ReasoningSplitter` says of each generated token whether it belongs to the
// reasoning or to the answer. The two think markers are recognised by id alone:
// text that merely spells them is text.
//
// It does not make text (see detokenizer.h) and leaves tool calls, which are
// part of the content here, to the parser of content.
//
//   state      token      next       channel
//   REASONING  <think>    REASONING  marker
//   REASONING  </think>   CONTENT    marker
//   CONTENT    <think>    REASONING  marker
//   CONTENT    </think>   CONTENT    marker
//   any        other      unchanged  that of the state
#ifndef GLM_RUNTIME_TEXT_REASONING_SPLITTER_H_
#define GLM_RUNTIME_TEXT_REASONING_SPLITTER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/text/detokenizer.h"
#include "runtime/text/tokenizer.h"

namespace glm::text {

enum class OutputChannel {
  kReasoning,
  kContent,
  kMarker,  // a think marker: shown to nobody
};

// One instance for one sequence and thread.
class ReasoningSplitter {
 public:
  // `starts_inside_thinking` is EndsInsideThinking of the prompt
  // (chat_format.h), never a flag of the request.
  //
  // Errors: kFailedPrecondition when the tokenizer lacks a think marker.
  static absl::StatusOr<ReasoningSplitter> Create(const Tokenizer& tokenizer,
                                                  bool starts_inside_thinking);

  OutputChannel Push(int32_t id);

  bool inside_thinking() const { return inside_thinking_; }

  // Ends the reasoning without a marker, for a tool call inside it.
  void LeaveThinking() { inside_thinking_ = false; }

 private:
  ReasoningSplitter(int32_t open, int32_t close, bool inside)
      : think_open_(open), think_close_(close), inside_thinking_(inside) {}

  int32_t think_open_;
  int32_t think_close_;
  bool inside_thinking_;
};

// What one step adds to the two texts.
struct ReasoningDelta {
  std::string reasoning;
  std::string content;
};

// A splitter with a detokenizer behind each channel: a character may be spread
// over tokens of one channel, never over a marker. `tokenizer` must outlive it.
class ReasoningTextSplitter {
 public:
  ReasoningTextSplitter(const Tokenizer& tokenizer, ReasoningSplitter splitter,
                        DetokenizerOptions options)
      : splitter_(splitter), text_(tokenizer, options) {}

  ReasoningDelta Push(int32_t id);
  ReasoningDelta Finish();
  bool inside_thinking() const { return splitter_.inside_thinking(); }

 private:
  ReasoningSplitter splitter_;
  Detokenizer text_;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_REASONING_SPLITTER_H_
