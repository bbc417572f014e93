// glmrun generate: one prompt, one answer.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/chat_format.h"
#include "runtime/text/detokenizer.h"
#include "runtime/text/reasoning_splitter.h"
#include "tools/glmrun/command.h"
#include "tools/glmrun/expert_report.h"
#include "tools/glmrun/expert_stats.h"
#include "tools/glmrun/routing_recorder.h"
#include "tools/glmrun/session.h"
#include "tools/glmrun/terminal.h"

namespace glm::tools {
namespace {

struct Options {
  SessionOptions session;
  SamplingOptions sampling;
  std::optional<std::string> prompt;
  std::optional<std::string> chat;
  std::string prompt_ids;  // 1,2,3
  std::string effort;
  std::string routing_trace;  // a file; empty: none
  ExpertStatsOptions expert_stats;
  bool special = false;
  bool json = false;
};

// Turns ids into reasoning and content, whichever the prompt calls for.
class Output {
 public:
  virtual ~Output() = default;
  virtual text::ReasoningDelta Push(int32_t id) = 0;
  virtual text::ReasoningDelta Finish() = 0;
};

class PlainOutput : public Output {
 public:
  explicit PlainOutput(const text::Tokenizer& tokenizer)
      : text_(tokenizer, {}) {}
  text::ReasoningDelta Push(int32_t id) override {
    return {"", text_.Push(id)};
  }
  text::ReasoningDelta Finish() override { return {"", text_.Finish()}; }

 private:
  text::Detokenizer text_;
};

class ChatOutput : public Output {
 public:
  explicit ChatOutput(text::ReasoningTextSplitter text)
      : text_(std::move(text)) {}
  text::ReasoningDelta Push(int32_t id) override { return text_.Push(id); }
  text::ReasoningDelta Finish() override { return text_.Finish(); }

 private:
  text::ReasoningTextSplitter text_;
};

// Without a tokenizer the ids are the text.
class IdOutput : public Output {
 public:
  text::ReasoningDelta Push(int32_t id) override {
    return {"", absl::StrCat(std::exchange(first_, false) ? "" : " ", id)};
  }
  text::ReasoningDelta Finish() override { return {}; }

 private:
  bool first_ = true;
};

struct Prompt {
  std::vector<int32_t> ids;
  std::unique_ptr<Output> output;
};

absl::StatusOr<std::vector<int32_t>> ParseIds(std::string_view list) {
  std::vector<int32_t> ids;
  while (true) {
    const size_t comma = std::min(list.find(','), list.size());
    int32_t id = -1;
    const char* end = list.data() + comma;
    const auto [stop, error] = std::from_chars(list.data(), end, id);
    if (error != std::errc() || stop != end || id < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--prompt-ids: '", std::string(list.substr(0, comma)),
          "' is no token id; expected numbers separated by commas, as 5,17,3"));
    }
    ids.push_back(id);
    if (comma == list.size()) return ids;
    list.remove_prefix(comma + 1);
  }
}

absl::StatusOr<Prompt> MakePrompt(const Options& options,
                                  const Session& session) {
  Prompt prompt;
  if (!options.prompt && !options.chat) {
    GLM_ASSIGN_OR_RETURN(prompt.ids, ParseIds(options.prompt_ids));
    if (session.tokenizer == nullptr) {
      prompt.output = std::make_unique<IdOutput>();
    } else {
      prompt.output = std::make_unique<PlainOutput>(*session.tokenizer);
    }
    return prompt;
  }
  GLM_RETURN_IF_ERROR(session.NeedTokenizer());
  const text::Tokenizer& tokenizer = *session.tokenizer;
  if (options.prompt) {
    GLM_ASSIGN_OR_RETURN(
        prompt.ids, tokenizer.Encode(*options.prompt,
                                     {.parse_added_tokens = options.special}));
    prompt.output = std::make_unique<PlainOutput>(tokenizer);
    return prompt;
  }
  text::ChatRequest chat;
  chat.messages.push_back(text::Message::Text("user", *options.chat));
  chat.reasoning_effort = options.effort;
  GLM_ASSIGN_OR_RETURN(const std::vector<text::Segment> segments,
                       text::RenderChat(chat));
  GLM_ASSIGN_OR_RETURN(prompt.ids, text::EncodeChat(tokenizer, segments));
  GLM_ASSIGN_OR_RETURN(auto splitter,
                       text::ReasoningSplitter::Create(
                           tokenizer, text::EndsInsideThinking(segments)));
  prompt.output = std::make_unique<ChatOutput>(
      text::ReasoningTextSplitter(tokenizer, splitter, {.skip_special = true}));
  return prompt;
}

void PrintJson(const GenerateResult& result, const text::ReasoningDelta& all,
               const Options& options, uint64_t seed) {
  nlohmann::ordered_json json;
  json["text"] = all.content;
  if (options.chat) json["reasoning"] = all.reasoning;
  json["ids"] = result.ids;
  json["finish_reason"] = FinishReasonName(result.finish_reason);
  if (result.stop_id) json["stop_id"] = *result.stop_id;
  json["prompt_tokens"] = result.prompt_tokens;
  json["completion_tokens"] = result.ids.size();
  json["prefill_ms"] = 1e3 * result.prefill_seconds;
  json["decode_ms"] = 1e3 * result.decode_seconds;
  json["prefill_tokens_per_second"] = PrefillTokensPerSecond(result);
  json["decode_tokens_per_second"] = DecodeTokensPerSecond(result);
  json["seed"] = seed;
  std::printf("%s\n", json.dump().c_str());
}

absl::Status Generate(const Options& options) {
  Interrupts interrupts;
  GLM_ASSIGN_OR_RETURN(auto session,
                       Session::Open(options.session, interrupts));
  GLM_ASSIGN_OR_RETURN(Prompt prompt, MakePrompt(options, *session));
  StepRunner* runner = session->executor.get();
  std::optional<RoutingRecorder> recorder;
  if (!options.routing_trace.empty()) {
    GLM_ASSIGN_OR_RETURN(
        RoutingRecorder created,
        RoutingRecorder::Create(*session->executor, options.routing_trace));
    recorder.emplace(std::move(created));
    runner = &*recorder;
  }
  std::unique_ptr<ExpertStats> stats;
  std::optional<CountedRunner> counted;
  if (!options.expert_stats.path.empty()) {
    GLM_ASSIGN_OR_RETURN(
        stats, ExpertStats::Create(options.expert_stats,
                                   session->executor->paging(), options.json));
    runner = &counted.emplace(*session->executor, *stats);
  }
  GLM_ASSIGN_OR_RETURN(Generator generator, Generator::Create(*runner, 0));
  GenerateOptions generation = session->Generation(options.sampling);
  StreamWriter answer(stdout), reasoning(stderr);
  text::ReasoningDelta all;
  const auto show = [&](const text::ReasoningDelta& delta) {
    all.reasoning += delta.reasoning;
    all.content += delta.content;
    if (options.json) return;
    reasoning.Write(delta.reasoning, /*dimmed=*/true);
    if (!delta.content.empty()) reasoning.Finish();
    answer.Write(delta.content, /*dimmed=*/false);
  };
  generation.cancel = interrupts.flag();
  generation.on_prefill = ProgressBar("reading prompt");
  generation.on_token = [&](int32_t id) { show(prompt.output->Push(id)); };
  GLM_ASSIGN_OR_RETURN(const GenerateResult result,
                       generator.Generate(prompt.ids, generation));
  show(prompt.output->Finish());
  answer.Finish();
  reasoning.Finish();
  if (recorder) GLM_RETURN_IF_ERROR(recorder->Finish());
  if (stats != nullptr) GLM_RETURN_IF_ERROR(stats->Finish());
  const absl::Status status =
      result.finish_reason == FinishReason::kCancelled
          ? absl::CancelledError("interrupted; this is the text so far")
          : absl::OkStatus();
  if (options.json) {
    PrintJson(result, all, options, generation.sampling.seed);
    return status;
  }
  std::fprintf(stderr, "%s", Summary(result).c_str());
  if (generation.sampling.temperature > 0) {
    std::fprintf(stderr, ", seed %llu",
                 static_cast<unsigned long long>(generation.sampling.seed));
  }
  std::fputs("\n", stderr);
  if (const auto paging = session->executor->paging(); !paging.empty()) {
    GLM_ASSIGN_OR_RETURN(const std::string experts, ExpertSummary(*paging[0]));
    std::fprintf(stderr, "%s\n", experts.c_str());
  }
  if (recorder) {
    std::fprintf(stderr, "%s: %llu steps of %u MoE layers, for glm-cachesim\n",
                 options.routing_trace.c_str(),
                 static_cast<unsigned long long>(recorder->steps()),
                 recorder->shape().layers);
  }
  return status;
}

}  // namespace

void AddGenerate(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  options->sampling.max_tokens = 512;
  CLI::App* command = app.add_subcommand(
      "generate", "Answer one prompt; text on stdout, the rest on stderr");
  command->footer(
      "Examples:\n"
      "  glmrun generate model.glmplan --prompt \"2 + 2 =\" --greedy\n"
      "  glmrun generate model.glmplan --chat \"Name three moons\" --seed 7\n"
      "  glmrun generate model.glmplan --prompt-ids 5,17,3 --max-tokens 8 "
      "--json\n"
      "  glmrun generate paged.glmplan --chat \"Name three moons\" "
      "--expert-stats steps.jsonl\n");
  AddSessionOptions(*command, options->session);
  auto* prompt = command->add_option_group("Prompt", "One of");
  prompt->add_option("--prompt", options->prompt, "Text to continue, as it is");
  prompt->add_option("--prompt-ids", options->prompt_ids,
                     "Token ids to continue, separated by commas");
  auto* chat = prompt->add_option(
      "--chat", options->chat, "A user's message; answered in the chat format");
  prompt->require_option(1);
  command->add_flag("--parse-special", options->special,
                    "Text of --prompt that spells a control token becomes it");
  command
      ->add_option("--effort", options->effort,
                   "Reasoning effort of --chat: low, high or max")
      ->check(CLI::IsMember({"low", "high", "max"}))
      ->needs(chat);
  AddSamplingOptions(*command, options->sampling);
  AddExpertStatsOptions(*command, options->expert_stats);
  command
      ->add_option("--routing-trace", options->routing_trace,
                   "Write which experts each layer chose for each token of "
                   "the answer to this file, for glm-cachesim; slower")
      ->excludes(command->get_option("--expert-stats"));
  command->add_flag("--json", options->json,
                    "One JSON object on stdout instead of streamed text");
  command->callback(
      [options, &run] { run = [options] { return Generate(*options); }; });
}

}  // namespace glm::tools
