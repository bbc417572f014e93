#include "runtime/serve/completion_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/serve/api_error.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kDefaultTokens = 16;

absl::StatusOr<Prompt> ParsePrompt(const ordered_json& prompt,
                                   const std::string& path) {
  if (prompt.is_string()) return prompt.get<std::string>();
  if (!prompt.is_array()) {
    return WrongType(path, "a string or a list of ids", prompt);
  }
  return ParseIds(prompt, path);
}

absl::Status ParsePrompts(const ordered_json& prompt,
                          std::vector<Prompt>& prompts) {
  const bool several =
      prompt.is_array() && !prompt.empty() &&
      (prompt.front().is_string() || prompt.front().is_array());
  if (!several) {
    GLM_ASSIGN_OR_RETURN(prompts.emplace_back(), ParsePrompt(prompt, "prompt"));
    return absl::OkStatus();
  }
  if (prompt.size() > kMaxChoices) {
    return InvalidField("prompt", absl::StrCat("prompt has ", prompt.size(),
                                               " entries; at most ",
                                               kMaxChoices, " are allowed"));
  }
  for (size_t i = 0; i < prompt.size(); ++i) {
    GLM_ASSIGN_OR_RETURN(prompts.emplace_back(),
                         ParsePrompt(prompt[i], ElementPath("prompt", i)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> ParseIds(const ordered_json& list,
                                              const std::string& path) {
  if (!list.is_array()) return WrongType(path, "a list of ids", list);
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_number_integer()) {
      return WrongType(ElementPath(path, i), "an id", list[i]);
    }
    const int64_t id = list[i].get<int64_t>();
    if (id < 0 || id > INT32_MAX) {
      return InvalidField(ElementPath(path, i),
                          absl::StrCat(ElementPath(path, i), " is ", id,
                                       ", which is no id of a token"));
    }
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

absl::StatusOr<CompletionRequest> ParseCompletionRequest(
    const ordered_json& body, const SamplerOptions& defaults) {
  GLM_ASSIGN_OR_RETURN(const RequestFields fields, RequestFields::Of(body, ""));
  CompletionRequest request;
  GLM_ASSIGN_OR_RETURN(request.generation, ParseGeneration(fields, defaults));
  if (request.generation.max_tokens == 0) {
    request.generation.max_tokens = kDefaultTokens;
  }
  if (const ordered_json* format = fields.Find("response_format");
      format != nullptr && *format != ordered_json({{"type", "text"}})) {
    return UnsupportedField(
        "response_format",
        "response_format is only supported by /v1/chat/completions");
  }
  GLM_ASSIGN_OR_RETURN(const ordered_json* prompt, fields.Need("prompt"));
  GLM_RETURN_IF_ERROR(ParsePrompts(*prompt, request.prompts));
  if (request.prompts.size() * request.generation.n > kMaxChoices) {
    return InvalidField(
        "n", absl::StrCat("n times the number of prompts is ",
                          request.prompts.size() * request.generation.n,
                          "; it may be ", kMaxChoices));
  }
  GLM_RETURN_IF_ERROR(fields.ReadInt("logprobs", 0, kMaxTopLogprobs,
                                     request.generation.top_logprobs));
  return request;
}

}  // namespace glm::serve
