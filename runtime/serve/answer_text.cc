#include "runtime/serve/answer_text.h"

#include <utility>

#include "runtime/base/status_macros.h"
#include "runtime/text/detokenizer.h"
#include "runtime/text/stop_strings.h"

namespace glm::serve {
namespace {

class ChatText : public AnswerText {
 public:
  ChatText(text::ChatOutput output, bool parallel_calls)
      : output_(std::move(output)), parallel_calls_(parallel_calls) {}

  text::ChatDelta Push(int32_t id) override { return Kept(output_.Push(id)); }
  text::ChatDelta Finish() override { return Kept(output_.Finish()); }
  bool stopped() const override {
    return output_.stopped() || (!parallel_calls_ && output_.calls() > 1);
  }
  bool has_calls() const override { return output_.calls() > 0; }
  bool inside_thinking() const override { return output_.inside_thinking(); }

 private:
  text::ChatDelta Kept(text::ChatDelta delta) const {
    if (!parallel_calls_) {
      std::erase_if(delta.calls,
                    [](const auto& call) { return call.index > 0; });
    }
    return delta;
  }

  text::ChatOutput output_;
  bool parallel_calls_;
};

class CompletionText : public AnswerText {
 public:
  CompletionText(const text::Tokenizer& tokenizer, text::StopStrings stop)
      : text_(tokenizer, {.skip_special = true}), stop_(std::move(stop)) {}

  text::ChatDelta Push(int32_t id) override {
    text::ChatDelta delta;
    stopped_ = stopped_ || stop_.Push(text_.Push(id), delta.content);
    return delta;
  }
  text::ChatDelta Finish() override {
    text::ChatDelta delta;
    if (stopped_) return delta;
    stopped_ = stop_.Push(text_.Finish(), delta.content);
    if (!stopped_) stop_.Flush(delta.content);
    return delta;
  }
  bool stopped() const override { return stopped_; }

 private:
  text::Detokenizer text_;
  text::StopStrings stop_;
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerText>> MakeChatText(
    const text::Tokenizer& tokenizer, text::ChatOutputOptions options,
    bool parallel_calls) {
  GLM_ASSIGN_OR_RETURN(text::ChatOutput output,
                       text::ChatOutput::Create(tokenizer, std::move(options)));
  return std::make_unique<ChatText>(std::move(output), parallel_calls);
}

absl::StatusOr<std::unique_ptr<AnswerText>> MakeCompletionText(
    const text::Tokenizer& tokenizer, std::vector<std::string> stop) {
  GLM_ASSIGN_OR_RETURN(text::StopStrings strings,
                       text::StopStrings::Create(std::move(stop)));
  return std::make_unique<CompletionText>(tokenizer, std::move(strings));
}

}  // namespace glm::serve
