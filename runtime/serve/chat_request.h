// The body of /v1/chat/completions, checked: what the engine and the chat
// format need of it.
//
// The model always thinks. `reasoning_effort` chooses how long: none, minimal
// and low are Low; medium and high are High; xhigh and max are Max, as is
// nothing. It may stand at the top, which wins, or in chat_template_kwargs.
// enable_thinking or thinking false, which the model cannot follow, mean Low
// where no effort is given.
#ifndef GLM_RUNTIME_SERVE_CHAT_REQUEST_H_
#define GLM_RUNTIME_SERVE_CHAT_REQUEST_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/serve/generation_request.h"
#include "runtime/text/chat_format.h"

namespace glm::serve {

inline constexpr size_t kMaxTools = 512;

enum class ResponseFormat { kText, kJsonObject, kJsonSchema };

struct ChatCompletionRequest {
  GenerationRequest generation;
  text::ChatRequest chat;
  bool parse_tools = true;          // false: tool_choice "none"
  bool must_call = false;           // tool_choice "required", or a tool
  std::string only_tool;            // the tool of tool_choice; empty: any
  bool strict_tools = false;        // some tool says `strict`
  bool parallel_tool_calls = true;  // false: one call ends the answer
  ResponseFormat format = ResponseFormat::kText;
  nlohmann::ordered_json schema;  // of kJsonSchema
};

// Errors: kInvalidArgument, kUnimplemented, with the parameter (api_error.h).
absl::StatusOr<ChatCompletionRequest> ParseChatRequest(
    const nlohmann::ordered_json& body, const SamplerOptions& defaults);

// The messages and tools alone, as /tokenize takes them.
absl::StatusOr<text::ChatRequest> ParseConversation(
    const RequestFields& fields);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_CHAT_REQUEST_H_
