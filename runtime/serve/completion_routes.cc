// The routes that need a model: from a body to the engine's requests.
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/serve/answer_maker.h"
#include "runtime/serve/answer_text.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/chat_response.h"
#include "runtime/serve/completion_request.h"
#include "runtime/serve/completion_response.h"
#include "runtime/serve/json_text.h"
#include "runtime/serve/openai_api.h"
#include "runtime/text/detokenizer.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

absl::Status CheckModel(const std::string& asked, const ServedModel& model) {
  if (asked.empty() || asked == model.name) return absl::OkStatus();
  return WithParam(WithCode(absl::NotFoundError(absl::StrCat(
                                "there is no model '", asked,
                                "'; this server has '", model.name, "'")),
                            "model_not_found"),
                   "model");
}

// In the words that clients look for.
absl::Status TooLong(std::string_view has, const ServedModel& model,
                     std::string_view param) {
  return WithParam(
      absl::OutOfRangeError(absl::StrCat(
          "This model's maximum context length is ",
          model.engine->model().max_context, " tokens. However, your prompt ",
          std::string(has),
          " tokens, which leaves no room for an answer. Please reduce the "
          "length of the ",
          std::string(param), ".")),
      param);
}

// Of ids that were not encoded beyond the context.
absl::Status CheckLength(const std::vector<int32_t>& prompt,
                         const ServedModel& model, std::string_view param) {
  const uint32_t context = model.engine->model().max_context;
  if (prompt.empty()) {
    return InvalidField(param,
                        absl::StrCat(std::string(param), " holds no tokens"));
  }
  if (prompt.size() < context) return absl::OkStatus();
  return TooLong(
      absl::StrCat(prompt.size() > context ? "has at least " : "has ",
                   prompt.size()),
      model, param);
}

// Before anything is encoded: of what cannot fit, however well it is encoded.
absl::Status CheckBytes(size_t bytes, const ServedModel& model,
                        std::string_view param) {
  const size_t least = model.tokenizer->LeastIds(bytes);
  if (least <= model.engine->model().max_context) return absl::OkStatus();
  return TooLong(absl::StrCat("has at least ", least), model, param);
}

absl::StatusOr<std::vector<int32_t>> EncodeSegments(
    const std::vector<text::Segment>& segments, const ServedModel& model) {
  size_t bytes = 0;
  for (const text::Segment& segment : segments) bytes += segment.text.size();
  GLM_RETURN_IF_ERROR(CheckBytes(bytes, model, "messages"));
  auto ids = text::EncodeChat(*model.tokenizer, segments,
                              model.engine->model().max_context);
  if (!ids.ok()) return WithParam(ids.status(), "messages");
  return ids;
}

absl::StatusOr<std::vector<int32_t>> EncodeText(const std::string& text,
                                                bool parse_added_tokens,
                                                const ServedModel& model,
                                                std::string_view param) {
  GLM_RETURN_IF_ERROR(CheckBytes(text.size(), model, param));
  auto ids = model.tokenizer->Encode(
      text, {.parse_added_tokens = parse_added_tokens,
             .most_ids = model.engine->model().max_context});
  if (!ids.ok()) return WithParam(ids.status(), param);
  return ids;
}

// A request with more choices than the engine ever takes would be told to try
// again for ever.
absl::Status CheckChoices(uint64_t n, uint64_t prompts,
                          const ServedModel& model) {
  const EngineStats stats = model.engine->stats();
  const uint64_t most = uint64_t{stats.slots} + stats.queue_limit;
  if (n * prompts <= most) return absl::OkStatus();
  const char* param = n > most || n > 1 ? "n" : "prompt";
  return InvalidField(
      param,
      absl::StrCat(param, " asks for ", n * prompts,
                   " answers; this server takes at most ", most, " at a time"));
}

// The place that messages of the chat format begin with: "messages[2]: ...".
absl::Status WithPlace(const absl::Status& status) {
  const std::string message(status.message());
  const size_t end = message.find(']');
  const bool place =
      message.starts_with("messages[") || message.starts_with("tools[");
  return WithParam(status, place && end != std::string::npos
                               ? message.substr(0, end + 1)
                               : "messages");
}

EngineRequest ToEngine(const GenerationRequest& generation, uint32_t choice,
                       std::vector<int32_t> prompt, const ServedModel& model) {
  EngineRequest request;
  request.prompt = std::move(prompt);
  request.sampling = generation.sampling;
  request.sampling.seed += choice;
  request.max_tokens = generation.max_tokens;
  if (!generation.ignore_eos) request.stop_ids = model.stop_ids;
  request.top_logprobs = generation.top_logprobs;
  return request;
}

AnswerHead HeadOf(const char* prefix, const GenerationRequest& generation,
                  const ServedModel& model) {
  return {.id = RandomId(prefix),
          .created = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count(),
          .model = model.name,
          .fingerprint = model.fingerprint,
          .include_usage = generation.include_usage,
          .logprobs = generation.top_logprobs >= 0};
}

}  // namespace

void OpenAiApi::Run(const Call& call, const GenerationRequest& generation,
                    const std::string& id, RequestRun run) {
  run.on_end = OnEnd(call, id, generation.stream);
  run.exchange = call.exchange;
  run.engine = call.model->engine.get();
  run.stream = generation.stream;
  run.include_usage = generation.include_usage;
  RunRequest(std::move(run));
}

absl::Status OpenAiApi::Chat(const Call& call) {
  const ServedModel& model = *call.model;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  GLM_ASSIGN_OR_RETURN(const ordered_json body,
                       ParseBody(call.exchange->request().body));
  GLM_ASSIGN_OR_RETURN(ChatCompletionRequest request,
                       ParseChatRequest(body, model.sampling));
  const GenerationRequest& generation = request.generation;
  GLM_RETURN_IF_ERROR(CheckModel(generation.model, model));
  GLM_RETURN_IF_ERROR(CheckChoices(generation.n, 1, model));
  const auto segments = text::RenderChat(request.chat);
  if (!segments.ok()) return WithPlace(segments.status());
  GLM_ASSIGN_OR_RETURN(const std::vector<int32_t> prompt,
                       EncodeSegments(*segments, model));
  GLM_RETURN_IF_ERROR(CheckLength(prompt, model, "messages"));

  RequestRun run;
  text::ChatOutputOptions output;
  output.starts_inside_thinking = text::EndsInsideThinking(*segments);
  GLM_ASSIGN_OR_RETURN(const AnswerMaker constraints,
                       AnswerMaker::Of(request, output.starts_inside_thinking,
                                       prompt.size(), model));
  const auto tools = text::ToolSchemas::Create(request.chat.tools);
  if (!tools.ok()) return WithPlace(tools.status());
  output.tools = *tools;
  output.parse_tools = request.parse_tools;
  output.stop = generation.stop;
  for (uint32_t i = 0; i < generation.n; ++i) {
    RequestChoice& choice = run.choices.emplace_back();
    choice.request = ToEngine(generation, i, prompt, model);
    choice.counts_prompt = i == 0;
    choice.request.constraint = constraints.Make();
    GLM_ASSIGN_OR_RETURN(
        choice.text,
        MakeChatText(tokenizer, output, request.parallel_tool_calls));
  }
  AnswerHead head = HeadOf("chatcmpl-", generation, model);
  const std::string id = head.id;
  run.format = MakeChatFormat(std::move(head), tokenizer);
  Run(call, generation, id, std::move(run));
  return absl::OkStatus();
}

absl::Status OpenAiApi::Completion(const Call& call) {
  const ServedModel& model = *call.model;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  GLM_ASSIGN_OR_RETURN(const ordered_json body,
                       ParseBody(call.exchange->request().body));
  GLM_ASSIGN_OR_RETURN(CompletionRequest request,
                       ParseCompletionRequest(body, model.sampling));
  const GenerationRequest& generation = request.generation;
  GLM_RETURN_IF_ERROR(CheckModel(generation.model, model));
  GLM_RETURN_IF_ERROR(
      CheckChoices(generation.n, request.prompts.size(), model));

  RequestRun run;
  for (Prompt& prompt : request.prompts) {
    std::vector<int32_t> ids;
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      // Whoever sends a bare prompt writes its structure.
      GLM_ASSIGN_OR_RETURN(ids, EncodeText(*text, true, model, "prompt"));
    } else {
      ids = std::get<std::vector<int32_t>>(std::move(prompt));
    }
    GLM_RETURN_IF_ERROR(CheckLength(ids, model, "prompt"));
    for (uint32_t i = 0; i < generation.n; ++i) {
      RequestChoice& choice = run.choices.emplace_back();
      choice.request = ToEngine(generation, i, ids, model);
      choice.counts_prompt = i == 0;
      GLM_ASSIGN_OR_RETURN(choice.text,
                           MakeCompletionText(tokenizer, generation.stop));
    }
  }
  AnswerHead head = HeadOf("cmpl-", generation, model);
  const std::string id = head.id;
  run.format = MakeCompletionFormat(std::move(head), tokenizer,
                                    static_cast<uint32_t>(run.choices.size()));
  Run(call, generation, id, std::move(run));
  return absl::OkStatus();
}

// {"prompt": text} or {"messages": [...], "tools": [...]}; as long as the
// context at most.
absl::Status OpenAiApi::Tokenize(const Call& call) {
  const ServedModel& model = *call.model;
  GLM_ASSIGN_OR_RETURN(const ordered_json body,
                       ParseBody(call.exchange->request().body));
  GLM_ASSIGN_OR_RETURN(const RequestFields fields, RequestFields::Of(body, ""));
  std::vector<int32_t> ids;
  std::string_view param;
  if (fields.Find("messages") != nullptr) {
    GLM_ASSIGN_OR_RETURN(const text::ChatRequest chat,
                         ParseConversation(fields));
    const auto segments = text::RenderChat(chat);
    if (!segments.ok()) return WithPlace(segments.status());
    GLM_ASSIGN_OR_RETURN(ids, EncodeSegments(*segments, model));
    param = "messages";
  } else {
    const char* name = fields.Find("content") ? "content" : "prompt";
    std::string prompt;
    bool parse_special = true;
    GLM_RETURN_IF_ERROR(fields.Need(name).status());
    GLM_RETURN_IF_ERROR(fields.Read(name, prompt));
    GLM_RETURN_IF_ERROR(fields.Read("parse_special", parse_special));
    GLM_ASSIGN_OR_RETURN(ids, EncodeText(prompt, parse_special, model, name));
    param = name;
  }
  if (ids.size() > model.engine->model().max_context) {
    return CheckLength(ids, model, param);
  }
  ordered_json json;
  json["count"] = ids.size();
  json["max_model_len"] = model.engine->model().max_context;
  json["tokens"] = std::move(ids);
  call.exchange->Respond({.body = JsonText(json)});
  return absl::OkStatus();
}

// {"tokens": [...]}.
absl::Status OpenAiApi::Detokenize(const Call& call) {
  GLM_ASSIGN_OR_RETURN(const ordered_json body,
                       ParseBody(call.exchange->request().body));
  GLM_ASSIGN_OR_RETURN(const RequestFields fields, RequestFields::Of(body, ""));
  GLM_ASSIGN_OR_RETURN(const ordered_json* tokens, fields.Need("tokens"));
  GLM_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                       ParseIds(*tokens, "tokens"));
  const text::Tokenizer& tokenizer = *call.model->tokenizer;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= tokenizer.vocab_size()) {
      return InvalidField(
          ElementPath("tokens", i),
          absl::StrCat(ElementPath("tokens", i), " is ", ids[i],
                       "; ids end at ", tokenizer.vocab_size() - 1));
    }
  }
  ordered_json json;
  json["prompt"] = text::Decode(tokenizer, ids, {});
  json["content"] = json["prompt"];
  call.exchange->Respond({.body = JsonText(json)});
  return absl::OkStatus();
}

}  // namespace glm::serve
