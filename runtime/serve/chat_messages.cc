#include "runtime/serve/chat_messages.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/request_fields.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxNameBytes = 256;

absl::StatusOr<text::ContentPart> ParsePart(const ordered_json& part,
                                            const std::string& path) {
  text::ContentPart result;
  if (part.is_string()) {
    result.text = part.get<std::string>();
    return result;
  }
  GLM_ASSIGN_OR_RETURN(const RequestFields fields,
                       RequestFields::Of(part, path));
  std::string type;
  GLM_RETURN_IF_ERROR(fields.Need("type").status());
  GLM_RETURN_IF_ERROR(fields.Read("type", type));
  if (type == "text" || type == "refusal") {
    GLM_RETURN_IF_ERROR(fields.Need(type).status());
    GLM_RETURN_IF_ERROR(fields.Read(type, result.text));
    return result;
  }
  for (const char* medium : {"image", "video", "audio", "file"}) {
    if (type.find(medium) == std::string::npos) continue;
    return WithCode(
        UnsupportedField(path, absl::StrCat(path, " is of type ", type,
                                            "; this server reads text alone")),
        "unsupported_value");
  }
  return InvalidField(fields.Path("type"),
                      absl::StrCat(path, " is of unknown type '", type,
                                   "'; send {\"type\": \"text\", ...}"));
}

absl::Status ParseContent(const RequestFields& fields, bool may_be_absent,
                          std::vector<text::ContentPart>& parts) {
  const ordered_json* content = fields.Find("content");
  if (content == nullptr) {
    return may_be_absent ? absl::OkStatus() : fields.Need("content").status();
  }
  const std::string path = fields.Path("content");
  if (content->is_string()) {
    parts.emplace_back().text = content->get<std::string>();
    return absl::OkStatus();
  }
  if (!content->is_array()) {
    return WrongType(path, "a string or a list of parts", *content);
  }
  for (size_t i = 0; i < content->size(); ++i) {
    GLM_ASSIGN_OR_RETURN(auto part,
                         ParsePart((*content)[i], ElementPath(path, i)));
    parts.push_back(std::move(part));
  }
  return absl::OkStatus();
}

absl::StatusOr<text::ToolCall> ParseCall(const ordered_json& call,
                                         const std::string& path) {
  GLM_ASSIGN_OR_RETURN(const RequestFields fields,
                       RequestFields::Of(call, path));
  text::ToolCall result;
  GLM_RETURN_IF_ERROR(fields.Read("id", result.id));
  std::string type = "function";
  GLM_RETURN_IF_ERROR(fields.Read("type", type));
  if (type != "function") {
    return InvalidField(fields.Path("type"),
                        absl::StrCat(fields.Path("type"), " is '", type,
                                     "'; it must be \"function\""));
  }
  GLM_ASSIGN_OR_RETURN(const ordered_json* function, fields.Need("function"));
  GLM_ASSIGN_OR_RETURN(const RequestFields inner,
                       RequestFields::Of(*function, fields.Path("function")));
  GLM_RETURN_IF_ERROR(inner.Need("name").status());
  GLM_RETURN_IF_ERROR(inner.Read("name", result.name));
  if (const ordered_json* arguments = inner.Find("arguments")) {
    if (!arguments->is_string() && !arguments->is_object()) {
      return WrongType(inner.Path("arguments"),
                       "a string that holds a JSON object", *arguments);
    }
    result.arguments = *arguments;
  }
  return result;
}

absl::Status ParseAssistant(const RequestFields& fields,
                            text::Message& message) {
  if (fields.Find("function_call") != nullptr) {
    return UnsupportedField(fields.Path("function_call"),
                            absl::StrCat(fields.Path("function_call"),
                                         " is not supported; send tool_calls"));
  }
  for (const char* name : {"reasoning", "reasoning_content"}) {
    if (fields.Find(name) == nullptr) continue;
    GLM_RETURN_IF_ERROR(fields.Read(name, message.reasoning_content.emplace()));
  }
  const ordered_json* calls = fields.Find("tool_calls");
  if (calls == nullptr) return absl::OkStatus();
  const std::string path = fields.Path("tool_calls");
  if (!calls->is_array()) return WrongType(path, "a list", *calls);
  for (size_t i = 0; i < calls->size(); ++i) {
    GLM_ASSIGN_OR_RETURN(auto call,
                         ParseCall((*calls)[i], ElementPath(path, i)));
    message.tool_calls.push_back(std::move(call));
  }
  return absl::OkStatus();
}

absl::StatusOr<text::Message> ParseMessage(const ordered_json& json,
                                           const std::string& path) {
  GLM_ASSIGN_OR_RETURN(const RequestFields fields,
                       RequestFields::Of(json, path));
  text::Message message;
  GLM_RETURN_IF_ERROR(fields.Need("role").status());
  GLM_RETURN_IF_ERROR(fields.Read("role", message.role));
  if (message.role == "developer") message.role = "system";
  const bool assistant = message.role == "assistant";
  if (!assistant && message.role != "system" && message.role != "user" &&
      message.role != "tool") {
    return InvalidField(
        fields.Path("role"),
        absl::StrCat(fields.Path("role"), " is '", message.role,
                     "'; it must be system, developer, user, assistant or "
                     "tool"));
  }
  GLM_RETURN_IF_ERROR(ParseContent(fields, assistant, message.content));
  if (message.role == "tool") {
    GLM_RETURN_IF_ERROR(fields.Need("tool_call_id").status());
  }
  GLM_RETURN_IF_ERROR(fields.Read("tool_call_id", message.tool_call_id));
  if (assistant) GLM_RETURN_IF_ERROR(ParseAssistant(fields, message));
  return message;
}

bool IsToolName(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                      c == '.' || c == ':' || c == '/';
    if (!good) return false;
  }
  return true;
}

absl::Status CheckTool(const ordered_json& tool, const std::string& path) {
  GLM_ASSIGN_OR_RETURN(const RequestFields fields,
                       RequestFields::Of(tool, path));
  std::string type;
  GLM_RETURN_IF_ERROR(fields.Need("type").status());
  GLM_RETURN_IF_ERROR(fields.Read("type", type));
  if (type != "function") {
    return WithCode(
        UnsupportedField(fields.Path("type"),
                         absl::StrCat(fields.Path("type"), " is '", type,
                                      "'; only \"function\" is supported")),
        "unsupported_value");
  }
  GLM_ASSIGN_OR_RETURN(const ordered_json* function, fields.Need("function"));
  GLM_ASSIGN_OR_RETURN(const RequestFields inner,
                       RequestFields::Of(*function, fields.Path("function")));
  std::string name, description;
  GLM_RETURN_IF_ERROR(inner.Need("name").status());
  GLM_RETURN_IF_ERROR(inner.Read("name", name));
  if (!IsToolName(name)) {
    return InvalidField(
        inner.Path("name"),
        absl::StrCat(inner.Path("name"), " must be 1 to ", kMaxNameBytes,
                     " letters, digits and any of _-.:/"));
  }
  GLM_RETURN_IF_ERROR(inner.Read("description", description));
  bool strict = false;
  GLM_RETURN_IF_ERROR(inner.Read("strict", strict));
  if (const ordered_json* parameters = inner.Find("parameters");
      parameters != nullptr && !parameters->is_object()) {
    return WrongType(inner.Path("parameters"), "an object", *parameters);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<text::Message>> ParseMessages(
    const ordered_json& messages) {
  if (!messages.is_array()) return WrongType("messages", "a list", messages);
  if (messages.empty()) {
    return InvalidField("messages", "messages is empty; send at least one");
  }
  std::vector<text::Message> result;
  result.reserve(messages.size());
  absl::flat_hash_set<std::string> calls;  // ids of those so far
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string path = ElementPath("messages", i);
    GLM_ASSIGN_OR_RETURN(auto message, ParseMessage(messages[i], path));
    for (const text::ToolCall& call : message.tool_calls) calls.insert(call.id);
    const std::string& answers = message.tool_call_id;
    if (message.role == "tool" && !calls.contains(answers)) {
      return InvalidField(
          absl::StrCat(path, ".tool_call_id"),
          absl::StrCat(path, ".tool_call_id is '", answers,
                       "', which is the id of no call in the tool_calls of "
                       "an assistant's message before it"));
    }
    result.push_back(std::move(message));
  }
  return result;
}

absl::StatusOr<std::vector<ordered_json>> ParseTools(
    const ordered_json& tools) {
  if (!tools.is_array()) return WrongType("tools", "a list", tools);
  if (tools.size() > kMaxTools) {
    return InvalidField(
        "tools", absl::StrCat("tools has ", tools.size(), " entries; at most ",
                              kMaxTools, " are allowed"));
  }
  std::vector<ordered_json> result;
  absl::flat_hash_map<std::string, size_t> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string path = ElementPath("tools", i);
    GLM_RETURN_IF_ERROR(CheckTool(tools[i], path));
    const auto name = tools[i]["function"]["name"].get<std::string>();
    if (const auto [other, added] = names.try_emplace(name, i); !added) {
      return InvalidField(
          absl::StrCat(path, ".function.name"),
          absl::StrCat(path, ".function.name is '", name, "', as is that of ",
                       ElementPath("tools", other->second),
                       "; names of tools must differ"));
    }
    result.push_back(tools[i]);
  }
  return result;
}

}  // namespace glm::serve
