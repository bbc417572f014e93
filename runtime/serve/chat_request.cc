#include "runtime/serve/chat_request.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/chat_messages.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

absl::StatusOr<std::string> Effort(const std::string& path,
                                   const std::string& asked) {
  if (asked == "none" || asked == "minimal" || asked == "low") return "low";
  if (asked == "medium" || asked == "high") return "high";
  if (asked == "xhigh" || asked == "max") return "max";
  return InvalidField(
      path, absl::StrCat(path, " is '", asked,
                         "'; it must be none, minimal, low, medium, high, "
                         "xhigh or max"));
}

// Whether thinking is to be off, as far as that goes: true, false, or an object
// {"type": "disabled"}.
absl::Status ReadThinking(const RequestFields& fields, const char* name,
                          bool& thinks) {
  const ordered_json* value = fields.Find(name);
  if (value == nullptr || !value->is_object()) return fields.Read(name, thinks);
  GLM_ASSIGN_OR_RETURN(const RequestFields inner,
                       RequestFields::Of(*value, fields.Path(name)));
  std::string type = "enabled";
  GLM_RETURN_IF_ERROR(inner.Read("type", type));
  if (type == "disabled") thinks = false;
  return absl::OkStatus();
}

absl::Status ParseThinking(const RequestFields& fields,
                           text::ChatRequest& chat) {
  bool thinks = true;
  std::string asked, path;
  if (const ordered_json* kwargs = fields.Find("chat_template_kwargs")) {
    GLM_ASSIGN_OR_RETURN(const RequestFields inner,
                         RequestFields::Of(*kwargs, "chat_template_kwargs"));
    GLM_RETURN_IF_ERROR(inner.Read("clear_thinking", chat.clear_thinking));
    GLM_RETURN_IF_ERROR(ReadThinking(inner, "enable_thinking", thinks));
    GLM_RETURN_IF_ERROR(ReadThinking(inner, "thinking", thinks));
    GLM_RETURN_IF_ERROR(inner.Read("reasoning_effort", asked));
    path = inner.Path("reasoning_effort");
  }
  GLM_RETURN_IF_ERROR(ReadThinking(fields, "enable_thinking", thinks));
  GLM_RETURN_IF_ERROR(ReadThinking(fields, "thinking", thinks));
  if (fields.Find("reasoning_effort") != nullptr) {
    path = "reasoning_effort";
    GLM_RETURN_IF_ERROR(fields.Read("reasoning_effort", asked));
  }
  if (path.empty() || asked.empty()) {
    if (!thinks) chat.reasoning_effort = "low";
    return absl::OkStatus();
  }
  GLM_ASSIGN_OR_RETURN(chat.reasoning_effort, Effort(path, asked));
  return absl::OkStatus();
}

std::string NameOf(const ordered_json& tool) {
  return tool["function"]["name"].get<std::string>();
}

// {"type": "function", "function": {"name": ...}}
absl::Status ParseNamedTool(const ordered_json& choice,
                            ChatCompletionRequest& request) {
  GLM_ASSIGN_OR_RETURN(const RequestFields fields,
                       RequestFields::Of(choice, "tool_choice"));
  std::string type;
  GLM_RETURN_IF_ERROR(fields.Need("type").status());
  GLM_RETURN_IF_ERROR(fields.Read("type", type));
  if (type != "function") {
    return WithCode(
        UnsupportedField("tool_choice.type",
                         absl::StrCat("tool_choice.type is '", type,
                                      "'; only \"function\" is supported")),
        "unsupported_value");
  }
  GLM_ASSIGN_OR_RETURN(const ordered_json* function, fields.Need("function"));
  GLM_ASSIGN_OR_RETURN(const RequestFields inner,
                       RequestFields::Of(*function, "tool_choice.function"));
  GLM_RETURN_IF_ERROR(inner.Need("name").status());
  GLM_RETURN_IF_ERROR(inner.Read("name", request.only_tool));
  for (const ordered_json& tool : request.chat.tools) {
    if (NameOf(tool) == request.only_tool) return absl::OkStatus();
  }
  return InvalidField(
      "tool_choice.function.name",
      absl::StrCat("tool_choice.function.name is '", request.only_tool,
                   "', which is no name in tools"));
}

absl::Status ParseToolChoice(const RequestFields& fields,
                             ChatCompletionRequest& request) {
  GLM_RETURN_IF_ERROR(
      fields.Read("parallel_tool_calls", request.parallel_tool_calls));
  for (const ordered_json& tool : request.chat.tools) {
    request.strict_tools |= tool["function"].value("strict", false);
  }
  const ordered_json* choice = fields.Find("tool_choice");
  if (choice == nullptr) return absl::OkStatus();
  if (!choice->is_string() && !choice->is_object()) {
    return WrongType("tool_choice", "a string or an object", *choice);
  }
  request.must_call = choice->is_object() || *choice == "required";
  if (request.must_call && request.chat.tools.empty()) {
    return InvalidField("tool_choice",
                        "tool_choice wants a call, but there are no tools; "
                        "send tools, or no tool_choice");
  }
  if (request.must_call && request.generation.ignore_eos) {
    return InvalidField("ignore_eos",
                        "ignore_eos with a tool_choice that wants a call: the "
                        "answer ends with its calls; leave one of them out");
  }
  if (choice->is_object()) {
    // One tool is called once.
    request.parallel_tool_calls = false;
    return ParseNamedTool(*choice, request);
  }
  if (*choice == "none") {
    request.parse_tools = false;
  } else if (!request.must_call && *choice != "auto") {
    return InvalidField(
        "tool_choice",
        absl::StrCat("tool_choice is '", choice->get<std::string>(),
                     "'; it must be none, auto, required or {\"type\": "
                     "\"function\", \"function\": {\"name\": ...}}"));
  }
  return absl::OkStatus();
}

absl::Status ParseFormat(const RequestFields& fields,
                         ChatCompletionRequest& request) {
  const ordered_json* format = fields.Find("response_format");
  if (format == nullptr) return absl::OkStatus();
  GLM_ASSIGN_OR_RETURN(const RequestFields inner,
                       RequestFields::Of(*format, "response_format"));
  std::string type;
  GLM_RETURN_IF_ERROR(inner.Need("type").status());
  GLM_RETURN_IF_ERROR(inner.Read("type", type));
  if (type == "text") return absl::OkStatus();
  if (type == "json_object") {
    request.format = ResponseFormat::kJsonObject;
  } else if (type == "json_schema") {
    request.format = ResponseFormat::kJsonSchema;
    GLM_ASSIGN_OR_RETURN(const ordered_json* named, inner.Need("json_schema"));
    GLM_ASSIGN_OR_RETURN(const RequestFields schema,
                         RequestFields::Of(*named, inner.Path("json_schema")));
    std::string name;
    GLM_RETURN_IF_ERROR(schema.Read("name", name));
    GLM_ASSIGN_OR_RETURN(const ordered_json* value, schema.Need("schema"));
    if (!value->is_object()) {
      return WrongType(schema.Path("schema"), "an object", *value);
    }
    request.schema = *value;
  } else {
    return InvalidField("response_format.type",
                        absl::StrCat("response_format.type is '", type,
                                     "'; it must be text, json_object or "
                                     "json_schema"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<text::ChatRequest> ParseConversation(
    const RequestFields& fields) {
  text::ChatRequest chat;
  GLM_ASSIGN_OR_RETURN(const ordered_json* messages, fields.Need("messages"));
  GLM_ASSIGN_OR_RETURN(chat.messages, ParseMessages(*messages));
  if (const ordered_json* tools = fields.Find("tools")) {
    GLM_ASSIGN_OR_RETURN(chat.tools, ParseTools(*tools));
  }
  GLM_RETURN_IF_ERROR(ParseThinking(fields, chat));
  return chat;
}

absl::StatusOr<ChatCompletionRequest> ParseChatRequest(
    const ordered_json& body, const SamplerOptions& defaults) {
  GLM_ASSIGN_OR_RETURN(const RequestFields fields, RequestFields::Of(body, ""));
  ChatCompletionRequest request;
  GLM_ASSIGN_OR_RETURN(request.generation, ParseGeneration(fields, defaults));
  GLM_ASSIGN_OR_RETURN(request.chat, ParseConversation(fields));
  GLM_RETURN_IF_ERROR(ParseToolChoice(fields, request));
  GLM_RETURN_IF_ERROR(ParseFormat(fields, request));
  bool logprobs = false;
  int32_t top = -1;
  GLM_RETURN_IF_ERROR(fields.Read("logprobs", logprobs));
  GLM_RETURN_IF_ERROR(fields.ReadInt("top_logprobs", 0, kMaxTopLogprobs, top));
  if (top >= 0 && !logprobs) {
    return InvalidField("top_logprobs",
                        "top_logprobs is only allowed with logprobs: true");
  }
  if (logprobs) request.generation.top_logprobs = top < 0 ? 0 : top;
  return request;
}

}  // namespace glm::serve
