// The chat format of GLM-5.3: a conversation becomes the prompt that the
// released template renders, without a template engine.
//
// A rendered prompt is a list of segments. Control segments are written by this
// file and may hold control tokens; text segments come from users, tools and
// histories, are kept byte for byte, and never become control tokens, whatever
// they spell.
//
// It does not truncate, count tokens or read HTTP requests. The format has no
// switch that turns thinking off: `EndsInsideThinking` tells from the prompt,
// not from a request flag, in which state the model starts to write.
//
// Example:
//
//   ChatRequest chat;
//   chat.messages.push_back(Message::Text("user", "Hi"));
//   GLM_ASSIGN_OR_RETURN(std::vector<Segment> prompt, RenderChat(chat));
//   GLM_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
//                        EncodeChat(*tokenizer, prompt));
#ifndef GLM_RUNTIME_TEXT_CHAT_FORMAT_H_
#define GLM_RUNTIME_TEXT_CHAT_FORMAT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/text/tokenizer.h"

namespace glm::text {

struct ContentPart {
  enum class Kind {
    kText,
    kImage,
    kVideo,
    kAudio,          // rendered as the template does; the model hears nothing
    kToolResult,     // role "tool": one of several results, `id` and `text`
    kToolReference,  // role "tool": the tool of this name, `text`, is shown
  };
  Kind kind = Kind::kText;
  std::string text;
  std::string id;
  // Image and video: how many placeholder tokens stand between the markers.
  int32_t placeholder_count = 1;
};

struct ToolCall {
  std::string id;
  std::string name;
  // An object, or a string that holds one as JSON (as OpenAI clients send it;
  // an empty string means no arguments), or null. Parse with ParseJson
  // (python_json.h) to keep the digits of long integers.
  nlohmann::ordered_json arguments;
};

struct Message {
  // "system", "user", "assistant" or "tool"; any other role is not rendered.
  std::string role;
  std::vector<ContentPart> content;  // empty for null content
  // Set when the message carries the field as a string, even an empty one.
  std::optional<std::string> reasoning_content;
  std::vector<ToolCall> tool_calls;
  std::string tool_call_id;  // role "tool"

  static Message Text(std::string role, std::string text);
};

struct ChatRequest {
  std::vector<Message> messages;
  // Each an object, either bare or {"type": "function", "function": {...}}.
  std::vector<nlohmann::ordered_json> tools;
  // "low" and "high" are known to the model; anything else means "max".
  std::string reasoning_effort;
  // Drops the reasoning of turns before the last user message.
  bool clear_thinking = false;
  bool add_generation_prompt = true;
};

struct Segment {
  std::string text;
  bool control = false;

  bool operator==(const Segment&) const = default;
};

// Neighbouring segments differ in `control`; none is empty.
//
// Errors: kInvalidArgument, naming "messages[i]" or "tools[i]" and the remedy.
absl::StatusOr<std::vector<Segment>> RenderChat(const ChatRequest& request);

// The segments as one string: what the released template prints.
std::string Concatenate(const std::vector<Segment>& segments);

// Control tokens are taken from control segments only. `most_ids` as in
// EncodeOptions.
absl::StatusOr<std::vector<int32_t>> EncodeChat(
    const Tokenizer& tokenizer, const std::vector<Segment>& segments,
    size_t most_ids = SIZE_MAX);

// Whether generation begins inside <think>: decided by the last <think>,
// </think> or role marker of the control segments.
bool EndsInsideThinking(const std::vector<Segment>& segments);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_CHAT_FORMAT_H_
