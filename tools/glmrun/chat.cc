// glmrun chat: a conversation on the terminal.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/chat_format.h"
#include "runtime/text/reasoning_splitter.h"
#include "tools/glmrun/command.h"
#include "tools/glmrun/session.h"
#include "tools/glmrun/terminal.h"

namespace glm::tools {
namespace {

struct Options {
  SessionOptions session;
  SamplingOptions sampling;
  std::string system;
  std::string effort;
};

// The conversation as ids. What the model wrote stays as the very tokens that
// it wrote, so each prompt extends what the state holds.
class Conversation {
 public:
  Conversation(const text::Tokenizer& tokenizer, const Options& options)
      : tokenizer_(tokenizer), options_(options) {}

  // The prompt with a new message of the user at its end.
  absl::StatusOr<std::vector<int32_t>> Ask(const std::string& message) {
    text::ChatRequest request;
    request.reasoning_effort = options_.effort;
    if (!options_.system.empty()) {
      request.messages.push_back(
          text::Message::Text("system", options_.system));
    }
    text::ChatRequest opening = request;
    opening.add_generation_prompt = false;
    request.messages.push_back(text::Message::Text("user", message));
    GLM_ASSIGN_OR_RETURN(const auto segments, text::RenderChat(request));
    GLM_ASSIGN_OR_RETURN(auto ids, text::EncodeChat(tokenizer_, segments));
    inside_thinking_ = text::EndsInsideThinking(segments);
    if (ids_.empty()) return ids;
    // Of a later turn only what follows the opening is new.
    GLM_ASSIGN_OR_RETURN(const auto opening_segments,
                         text::RenderChat(opening));
    GLM_ASSIGN_OR_RETURN(const auto opening_ids,
                         text::EncodeChat(tokenizer_, opening_segments));
    std::vector<int32_t> prompt = ids_;
    prompt.insert(prompt.end(), ids.begin() + opening_ids.size(), ids.end());
    return prompt;
  }

  // Whether the answer to the last prompt starts with reasoning.
  bool inside_thinking() const { return inside_thinking_; }

  // Keeps the answer. One that was cut inside its reasoning is closed, so that
  // the next message is read as one.
  void Keep(std::vector<int32_t> prompt, const GenerateResult& result,
            bool still_thinking) {
    ids_ = std::move(prompt);
    ids_.insert(ids_.end(), result.ids.begin(), result.ids.end());
    const auto close = tokenizer_.TokenId("</think>");
    if (still_thinking && close) ids_.push_back(*close);
  }

  void Reset() { ids_.clear(); }

 private:
  const text::Tokenizer& tokenizer_;
  const Options& options_;
  std::vector<int32_t> ids_;
  bool inside_thinking_ = false;
};

// nullopt at the end of input, or after an interrupt, which a terminal must
// give twice in a row. Errors: input that cannot be read.
absl::StatusOr<std::optional<std::string>> ReadLine(Interrupts& interrupts,
                                                    bool terminal) {
  char* line = nullptr;
  size_t capacity = 0;
  std::optional<std::string> result;
  for (bool warned = false;; warned = true) {
    if (terminal) std::fputs("> ", stderr);
    interrupts.Clear();
    errno = 0;
    const ssize_t length = getline(&line, &capacity, stdin);
    if (length >= 0) {
      result = std::string(line, static_cast<size_t>(length));
      while (!result->empty() && result->back() == '\n') result->pop_back();
      break;
    }
    if (errno != EINTR && std::ferror(stdin)) {
      const std::string reason = std::strerror(errno);
      std::free(line);
      return absl::InvalidArgumentError(
          absl::StrCat("standard input cannot be read: ", reason));
    }
    if (errno != EINTR || warned || !terminal || interrupts.terminated()) {
      break;
    }
    std::clearerr(stdin);
    std::fputs("\nCtrl-C once more to leave\n", stderr);
  }
  std::free(line);
  return result;
}

absl::Status Answer(const std::string& message, Session& session,
                    Generator& generator, Conversation& conversation,
                    const GenerateOptions& base) {
  GLM_ASSIGN_OR_RETURN(std::vector<int32_t> prompt, conversation.Ask(message));
  GLM_ASSIGN_OR_RETURN(auto splitter,
                       text::ReasoningSplitter::Create(
                           *session.tokenizer, conversation.inside_thinking()));
  text::ReasoningTextSplitter text(*session.tokenizer, splitter,
                                   {.skip_special = true});
  StreamWriter out(stdout);
  const auto show = [&](const text::ReasoningDelta& delta) {
    out.Write(delta.reasoning, /*dimmed=*/true);
    out.Write(delta.content, /*dimmed=*/false);
  };
  GenerateOptions options = base;
  options.on_prefill = ProgressBar("reading prompt");
  options.on_token = [&](int32_t id) { show(text.Push(id)); };
  GLM_ASSIGN_OR_RETURN(const GenerateResult result,
                       generator.Generate(prompt, options));
  const bool thinking = text.inside_thinking();
  show(text.Finish());
  out.Finish();
  if (IsTerminal(stderr)) {
    std::fprintf(stderr, "\033[2m[%s]\033[0m\n", Summary(result).c_str());
  }
  conversation.Keep(std::move(prompt), result, thinking);
  return absl::OkStatus();
}

absl::Status Chat(const Options& options) {
  Interrupts interrupts;
  GLM_ASSIGN_OR_RETURN(auto session,
                       Session::Open(options.session, interrupts));
  GLM_RETURN_IF_ERROR(session->NeedTokenizer());
  GLM_ASSIGN_OR_RETURN(Generator generator,
                       Generator::Create(*session->executor, 0));
  Conversation conversation(*session->tokenizer, options);
  GenerateOptions generation = session->Generation(options.sampling);
  generation.cancel = interrupts.flag();
  const bool terminal = IsTerminal(stdin);
  if (terminal) {
    std::fprintf(stderr,
                 "%s, context %u tokens. /reset starts afresh, /quit "
                 "leaves, Ctrl-C stops an answer.\n",
                 session->executor->model().name.c_str(),
                 session->executor->model().max_context);
  }
  size_t unanswered = 0;
  while (!interrupts.terminated()) {
    GLM_ASSIGN_OR_RETURN(const std::optional<std::string> line,
                         ReadLine(interrupts, terminal));
    if (!line || *line == "/quit") break;
    if (*line == "/reset") {
      conversation.Reset();
      generator.Reset();
      continue;
    }
    if (line->empty()) continue;
    const absl::Status status =
        Answer(*line, *session, generator, conversation, generation);
    if (absl::IsOutOfRange(status)) {
      std::fprintf(stderr, "%s; /reset starts a new conversation\n",
                   std::string(status.message()).c_str());
      ++unanswered;
    } else if (!status.ok()) {
      return status;
    }
    // Nobody is there to decide what comes next.
    if (!terminal && interrupts.flag()->load()) break;
    ++generation.sampling.seed;  // another draw for each answer
  }
  if (interrupts.terminated() || (!terminal && interrupts.flag()->load())) {
    return absl::CancelledError("interrupted");
  }
  if (!terminal && unanswered > 0) {
    return absl::OutOfRangeError(
        absl::StrCat(unanswered, " messages were not answered"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddChat(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("chat", "Talk with the model on the terminal");
  command->footer(
      "Commands inside: /reset starts a new conversation, /quit leaves. "
      "Ctrl-C\n"
      "stops the answer, twice quits. With input from a pipe each line is a\n"
      "message, Ctrl-C ends it with exit code 130, and the exit code is 1 "
      "when\n"
      "a message could not be answered.\n"
      "\n"
      "Examples:\n"
      "  glmrun chat model.glmplan\n"
      "  glmrun chat model.glmplan --system \"Be brief.\" --effort low\n");
  AddSessionOptions(*command, options->session);
  command->add_option("--system", options->system, "System message");
  command
      ->add_option("--effort", options->effort,
                   "Reasoning effort: low, high or max")
      ->check(CLI::IsMember({"low", "high", "max"}));
  AddSamplingOptions(*command, options->sampling);
  command->callback(
      [options, &run] { run = [options] { return Chat(*options); }; });
}

}  // namespace glm::tools
