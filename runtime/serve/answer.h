// What an answer is made of, before it is JSON. A stream sends each
// ChoiceDelta as it comes; an answer in one piece is all of them joined, so the
// two cannot differ.
#ifndef GLM_RUNTIME_SERVE_ANSWER_H_
#define GLM_RUNTIME_SERVE_ANSWER_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/text/chat_output.h"

namespace glm::serve {

struct ChoiceDelta {
  uint32_t index = 0;
  text::ChatDelta text{};                // a completion's text is its content
  std::vector<GeneratedToken> tokens{};  // where logprobs are wanted
  std::string finish_reason{};           // of the last

  bool empty() const {
    return text.empty() && tokens.empty() && finish_reason.empty();
  }
};

// Goes on `whole` with `delta`; calls of the same index become one.
inline void Join(ChoiceDelta delta, ChoiceDelta& whole) {
  whole.text.reasoning += delta.text.reasoning;
  whole.text.content += delta.text.content;
  for (text::ToolCallDelta& call : delta.text.calls) {
    if (!whole.text.calls.empty() &&
        whole.text.calls.back().index == call.index) {
      whole.text.calls.back().arguments += call.arguments;
    } else {
      whole.text.calls.push_back(std::move(call));
    }
  }
  whole.tokens.insert(whole.tokens.end(),
                      std::make_move_iterator(delta.tokens.begin()),
                      std::make_move_iterator(delta.tokens.end()));
  whole.finish_reason += delta.finish_reason;
}

struct AnswerUsage {
  uint64_t prompt_tokens = 0;  // of each prompt once
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;  // of all choices
  uint64_t reasoning_tokens = 0;
};

// Turns ids of one choice into text. One instance for one choice and thread.
class AnswerText {
 public:
  virtual ~AnswerText() = default;
  virtual text::ChatDelta Push(int32_t id) = 0;
  virtual text::ChatDelta Finish() = 0;
  virtual bool stopped() const = 0;  // nothing is to follow
  virtual bool has_calls() const { return false; }
  virtual bool inside_thinking() const { return false; }
};

// JSON of one answer. One instance for one answer and thread.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  // The first event of a choice; empty: none.
  virtual std::string Opening(uint32_t index) { return ""; }
  virtual std::string Chunk(const ChoiceDelta& delta) = 0;
  virtual std::string UsageChunk(const AnswerUsage& usage) = 0;
  virtual std::string Whole(std::span<const ChoiceDelta> choices,
                            const AnswerUsage& usage) = 0;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_ANSWER_H_
