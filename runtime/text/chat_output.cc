#include "runtime/text/chat_output.h"

#include <sys/random.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/chat_markers.h"
#include "runtime/text/detokenizer.h"
#include "runtime/text/reasoning_splitter.h"
#include "runtime/text/stop_strings.h"
#include "runtime/text/tool_call_parser.h"
#include "runtime/text/tool_schema.h"

namespace glm::text {
namespace {

std::string RandomId() {
  std::array<char, 12> bytes = {};
  // So few bytes come whole, and only a kernel without the call refuses them.
  (void)!getrandom(bytes.data(), bytes.size(), 0);
  return absl::StrCat("call_",
                      absl::BytesToHexString({bytes.data(), bytes.size()}));
}

}  // namespace

// Tokens become markers and text; a call that is open takes both, otherwise
// text goes to the reasoning or, through stop strings and held blanks, to the
// content.
class ChatOutput::Impl {
 public:
  Impl(const Tokenizer& tokenizer, ReasoningSplitter splitter, StopStrings stop,
       std::shared_ptr<const ToolSchemas> tools, bool parse_tools,
       std::function<std::string()> new_id)
      : markers_(tokenizer),
        text_(tokenizer, {.skip_special = true}),
        splitter_(splitter),
        stop_(std::move(stop)),
        tools_(std::move(tools)),
        parse_tools_(parse_tools),
        new_id_(std::move(new_id)) {}

  ChatDelta Push(int32_t id) {
    if (stopped_) return {};
    const Marker marker = markers_.Of(id);
    if (marker == Marker::kNone) {
      OnText(text_.Push(id));
    } else {
      // A marker ends the text before it, and so an unfinished character.
      OnText(text_.Finish());
      if (!stopped_) OnMarker(marker, id);
    }
    return std::exchange(delta_, {});
  }

  ChatDelta Finish() {
    if (stopped_) return {};
    OnText(text_.Finish());
    if (call_) {
      call_->End();
      Settle();
    }
    if (!stopped_) EndContent();
    return std::exchange(delta_, {});
  }

  bool stopped() const { return stopped_; }
  uint32_t calls() const { return calls_; }
  bool inside_thinking() const { return splitter_.inside_thinking(); }

 private:
  void OnText(std::string_view text) {
    if (text.empty()) return;
    if (!call_) {
      Show(text);
      return;
    }
    call_->Text(text);
    Settle();
  }

  void OnMarker(Marker marker, int32_t id) {
    if (call_ && inside_thinking() && IsThinkMarker(marker)) {
      Show(TakeCall().TakeRaw());
    } else if (call_) {
      const bool taken = call_->Tag(marker);
      Settle();
      if (stopped_) return;
      if (!taken) OnMarker(marker, id);
      return;
    }
    if (IsThinkMarker(marker)) {
      splitter_.Push(id);
    } else if (marker == Marker::kCallOpen && parse_tools_) {
      BeginCall();
    } else if (marker != Marker::kCallClose || !after_call_) {
      Show(MarkerText(marker));
    }
  }

  // In the reasoning only a whole call is one, so that thinking aloud about
  // calls does not call.
  void BeginCall() {
    call_.emplace(*tools_, /*whole=*/inside_thinking());
    announced_ = false;
  }

  ToolCallParser TakeCall() {
    ToolCallParser call = *std::move(call_);
    call_.reset();
    return call;
  }

  // Gives out what the open call has become sure of.
  void Settle() {
    if (call_->committed()) {
      GiveArguments();
    } else if (call_->refused()) {
      Show(call_->TakeRaw());
      if (stopped_) return;
    }
    if (call_->progress() == ToolCallParser::Progress::kOpen) return;
    ToolCallParser call = TakeCall();
    if (call.committed()) {
      splitter_.LeaveThinking();
      after_call_ = true;
      return;
    }
    Show(call.TakeRaw());
    if (call.restart() && !stopped_) {
      BeginCall();
      OnText(*call.restart());
    }
  }

  void GiveArguments() {
    std::string arguments = call_->TakeArguments();
    if (!announced_) {
      announced_ = true;
      std::string held;
      stop_.Flush(held);
      AddContent(held);
      blanks_.clear();
      delta_.calls.push_back({.index = calls_++,
                              .id = new_id_ ? new_id_() : RandomId(),
                              .name = call_->name(),
                              .arguments = std::move(arguments)});
    } else if (!arguments.empty()) {
      if (delta_.calls.empty() || delta_.calls.back().index + 1 != calls_) {
        delta_.calls.emplace_back().index = calls_ - 1;
      }
      delta_.calls.back().arguments += arguments;
    }
  }

  // Text that is part of no call.
  void Show(std::string_view text) {
    if (stopped_) return;
    if (!Trim(text).empty()) after_call_ = false;
    if (inside_thinking()) {
      delta_.reasoning += text;
      return;
    }
    std::string passed;
    const bool met = stop_.Push(text, passed);
    AddContent(passed);
    if (met) {
      EndContent();
      stopped_ = true;
      call_.reset();
    }
  }

  // Blanks wait for what follows: before a call, and at the end of an answer
  // with calls, they are nobody's.
  void AddContent(std::string_view text) {
    const size_t size = TrimRight(text).size();
    if (size > 0) {
      delta_.content += std::exchange(blanks_, "");
      delta_.content += text.substr(0, size);
    }
    blanks_ += text.substr(size);
  }

  void EndContent() {
    std::string held;
    stop_.Flush(held);
    AddContent(held);
    if (calls_ == 0) delta_.content += blanks_;
    blanks_.clear();
  }

  MarkerIds markers_;
  Detokenizer text_;
  ReasoningSplitter splitter_;
  StopStrings stop_;
  std::shared_ptr<const ToolSchemas> tools_;
  bool parse_tools_;
  std::function<std::string()> new_id_;

  std::optional<ToolCallParser> call_;
  bool announced_ = false;   // call_ has been given out
  bool after_call_ = false;  // only blanks since a call's end
  uint32_t calls_ = 0;
  std::string blanks_;
  bool stopped_ = false;
  ChatDelta delta_;
};

absl::StatusOr<ChatOutput> ChatOutput::Create(const Tokenizer& tokenizer,
                                              ChatOutputOptions options) {
  GLM_ASSIGN_OR_RETURN(
      ReasoningSplitter splitter,
      ReasoningSplitter::Create(tokenizer, options.starts_inside_thinking));
  GLM_ASSIGN_OR_RETURN(StopStrings stop,
                       StopStrings::Create(std::move(options.stop)));
  if (options.tools == nullptr) {
    GLM_ASSIGN_OR_RETURN(options.tools, ToolSchemas::Create({}));
  }
  const MarkerIds markers(tokenizer);
  if (options.parse_tools && !options.tools->empty() &&
      (!markers.Has(Marker::kCallOpen) || !markers.Has(Marker::kCallClose))) {
    return absl::FailedPreconditionError(
        "the tokenizer has no added tokens <tool_call> and </tool_call>; use "
        "the tokenizer.json of the checkpoint, or offer no tools");
  }
  return ChatOutput(std::make_unique<Impl>(
      tokenizer, splitter, std::move(stop), std::move(options.tools),
      options.parse_tools, std::move(options.new_id)));
}

ChatOutput::ChatOutput(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatOutput::ChatOutput(ChatOutput&&) noexcept = default;
ChatOutput& ChatOutput::operator=(ChatOutput&&) noexcept = default;
ChatOutput::~ChatOutput() = default;

ChatDelta ChatOutput::Push(int32_t id) { return impl_->Push(id); }
ChatDelta ChatOutput::Finish() { return impl_->Finish(); }
bool ChatOutput::stopped() const { return impl_->stopped(); }
uint32_t ChatOutput::calls() const { return impl_->calls(); }
bool ChatOutput::inside_thinking() const { return impl_->inside_thinking(); }

}  // namespace glm::text
