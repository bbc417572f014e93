// `ChatOutput` turns generated tokens into what a client of a chat sees, as it
// becomes final: reasoning, content and tool calls, up to a stop string.
//
// What is given out for a list of tokens, all deltas joined, is the same
// however the list is cut into pushes; a whole answer is the joined deltas, so
// streaming and not streaming cannot differ. Format: the GLM tool-call wire
// format.
//
//   GLM_ASSIGN_OR_RETURN(ChatOutput out, ChatOutput::Create(tokenizer,
//   options)); for (int32_t id : ids) { Send(out.Push(id)); if (out.stopped())
//   break; } Send(out.Finish());
#ifndef GLM_RUNTIME_TEXT_CHAT_OUTPUT_H_
#define GLM_RUNTIME_TEXT_CHAT_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/tool_schema.h"

namespace glm::text {

struct ToolCallDelta {
  uint32_t index = 0;  // of the call in the answer, from 0
  std::string id;      // set in the first delta of a call, with `name`
  std::string name;
  std::string arguments;  // JSON text that goes on the call's
};

struct ChatDelta {
  std::string reasoning;
  std::string content;
  std::vector<ToolCallDelta> calls;  // in order

  bool empty() const {
    return reasoning.empty() && content.empty() && calls.empty();
  }
};

struct ChatOutputOptions {
  bool starts_inside_thinking = false;  // EndsInsideThinking of the prompt
  // Calls of other names are content. Null or empty: any name, values are
  // strings.
  std::shared_ptr<const ToolSchemas> tools;
  bool parse_tools = true;  // false (tool_choice "none"): calls are content
  std::vector<std::string> stop;        // stop strings; of the content alone
  std::function<std::string()> new_id;  // of a call; null: "call_" + random
};

// One instance for one answer and thread; `tokenizer` must outlive it.
class ChatOutput {
 public:
  static absl::StatusOr<ChatOutput> Create(const Tokenizer& tokenizer,
                                           ChatOutputOptions options);
  ChatOutput(ChatOutput&&) noexcept;
  ChatOutput& operator=(ChatOutput&&) noexcept;
  ~ChatOutput();

  ChatDelta Push(int32_t id);
  // What was held back. An open call is closed with what was complete of it.
  ChatDelta Finish();

  bool stopped() const;    // a stop string was met: push no more
  uint32_t calls() const;  // that have begun
  bool inside_thinking() const;

 private:
  class Impl;
  explicit ChatOutput(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_CHAT_OUTPUT_H_
