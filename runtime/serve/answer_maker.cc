#include "runtime/serve/answer_maker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/serve/api_error.h"

namespace glm::serve {
namespace {

// Tokens that would break an answer by a grammar while the model still thinks.
constexpr const char* kNotWhileThinking[] = {
    "<tool_call>", "</tool_call>",  "<eop>",          "<|user|>",
    "<|system|>",  "<|assistant|>", "<|observation|>"};

constexpr char kSchemaField[] = "response_format.json_schema.schema";

// A schema beyond the limits is the request's fault, not a full queue.
absl::Status BadSchema(std::string_view param, const absl::Status& status) {
  return InvalidField(param, std::string(status.message()), "invalid_schema");
}

}  // namespace

absl::StatusOr<AnswerMaker> AnswerMaker::Of(
    const ChatCompletionRequest& request, bool inside_thinking,
    size_t prompt_tokens, const ServedModel& model) {
  const bool json = request.format != ResponseFormat::kText;
  const bool calls = request.parse_tools && !request.chat.tools.empty();
  if (!json && !request.must_call && !(calls && request.strict_tools)) {
    return AnswerMaker(nullptr);
  }
  if (model.grammars == nullptr) {
    const char* field = json                ? "response_format"
                        : request.must_call ? "tool_choice"
                                            : "tools";
    return UnsupportedField(
        field, absl::StrCat(field, ": this server gives free text alone"));
  }
  AnswerMaker maker(model.grammars.get());
  if (json) GLM_RETURN_IF_ERROR(maker.AddJson(request));
  if (calls) GLM_RETURN_IF_ERROR(maker.AddTools(request));
  GLM_RETURN_IF_ERROR(maker.CheckRoom(request, prompt_tokens, model));
  if (!request.generation.ignore_eos) maker.options_.stop_ids = model.stop_ids;
  maker.options_.starts_inside_thinking = inside_thinking;
  maker.options_.think_close = model.tokenizer->TokenId("</think>");
  for (const char* token : kNotWhileThinking) {
    if (const auto id = model.tokenizer->TokenId(token)) {
      maker.options_.not_while_thinking.push_back(*id);
    }
  }
  maker.options_.vocab = model.engine->model().vocab;
  return maker;
}

absl::Status AnswerMaker::AddJson(const ChatCompletionRequest& request) {
  if (request.generation.ignore_eos) {
    return InvalidField("ignore_eos",
                        "ignore_eos with response_format: the answer ends with "
                        "its JSON; leave one of them out");
  }
  const bool any = request.format == ResponseFormat::kJsonObject;
  auto json = grammars_->Json(any ? nullptr : &request.schema);
  if (!json.ok()) return BadSchema(kSchemaField, json.status());
  rules_.json = *std::move(json);
  return absl::OkStatus();
}

absl::Status AnswerMaker::AddTools(const ChatCompletionRequest& request) {
  auto tools = grammars_->Tools(request.chat.tools);
  if (absl::IsFailedPrecondition(tools.status())) return tools.status();
  if (!tools.ok()) {
    // "tools[2].function.parameters: ..."
    const std::string message(tools.status().message());
    return BadSchema(message.substr(0, message.find(':')), tools.status());
  }
  rules_.tools = *std::move(tools);
  rules_.must_call = request.must_call;
  rules_.many_calls = request.parallel_tool_calls;
  rules_.only = request.only_tool;
  return absl::OkStatus();
}

absl::Status AnswerMaker::CheckRoom(const ChatCompletionRequest& request,
                                    size_t prompt_tokens,
                                    const ServedModel& model) const {
  uint64_t least = 0;
  if (rules_.must_call) {
    least = rules_.tools->LeastBytes(rules_.only);
  } else if (rules_.json != nullptr && rules_.tools == nullptr) {
    least = rules_.json->LeastBytes();
  }
  const uint64_t context = model.engine->model().max_context;
  uint64_t room = context - std::min<uint64_t>(context, prompt_tokens);
  const bool by_request = request.generation.max_tokens > 0 &&
                          request.generation.max_tokens <= room;
  if (by_request) room = request.generation.max_tokens;
  const uint64_t longest = std::max<uint32_t>(grammars_->longest_token(), 1);
  if (least <= room * longest) return absl::OkStatus();
  return InvalidField(
      rules_.must_call ? "tool_choice" : kSchemaField,
      absl::StrCat("the shortest answer that its schema allows has ", least,
                   " bytes; ", room, " tokens",
                   by_request ? "" : ", which the context has room for,",
                   " hold at most ", room * longest,
                   "; raise max_tokens or lower minItems, minLength and "
                   "minProperties"));
}

std::shared_ptr<TokenConstraint> AnswerMaker::Make() const {
  return grammars_ == nullptr ? nullptr : grammars_->Make(rules_, options_);
}

}  // namespace glm::serve
