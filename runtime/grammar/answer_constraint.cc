#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/grammar/answer_grammars.h"
#include "runtime/grammar/call_run.h"
#include "runtime/grammar/grammar_run.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/tool_grammar.h"

namespace glm::grammar {
namespace {

using text::Marker;

class AnswerConstraint : public TokenConstraint {
 public:
  AnswerConstraint(AnswerRules rules,
                   std::shared_ptr<const VocabularyTree> vocabulary,
                   JsonConstraintOptions options)
      : rules_(std::move(rules)),
        json_(static_cast<const CompiledGrammar*>(rules_.json.get())),
        tools_(static_cast<const CompiledTools*>(rules_.tools.get())),
        vocabulary_(std::move(vocabulary)),
        options_(std::move(options)) {
    if (json_ != nullptr && !rules_.must_call) run_.emplace(*json_);
    if (tools_ != nullptr) {
      call_open_ = vocabulary_->markers().Id(Marker::kCallOpen);
    }
    if (options_.starts_inside_thinking && options_.think_close.has_value()) {
      phase_ = Phase::kThinking;
    }
  }

  bool Allow(std::span<uint64_t> words) override {
    switch (phase_) {
      case Phase::kThinking:
        if (options_.stop_ids.empty() && options_.not_while_thinking.empty() &&
            call_open_ < 0) {
          return false;
        }
        AllowThoughts(words);
        return true;
      case Phase::kText:
        return false;
      case Phase::kBegin:
        if (free_text()) return false;
        std::fill(words.begin(), words.end(), 0);
        if (run_) AllowJson(words);
        if (call_open_ >= 0) Set(words, call_open_, true);
        return true;
      case Phase::kJson:
        AllowJson(words);
        return true;
      case Phase::kCall:
        call_->Allow(words);
        Cut(words);
        Check(call_->exhausted(), words);
        return true;
      case Phase::kAfterCall:
        std::fill(words.begin(), words.end(), 0);
        if (rules_.many_calls) Set(words, call_open_, true);
        AllowStop(words);
        return true;
      case Phase::kFailed:
        std::fill(words.begin(), words.end(), 0);
        return true;
      case Phase::kOver:
        std::fill(words.begin(), words.end(), 0);
        AllowStop(words);
        return true;
    }
    return false;
  }

  void Accept(int32_t id) override {
    switch (phase_) {
      case Phase::kThinking:
        if (id == options_.think_close) phase_ = Phase::kBegin;
        return;
      case Phase::kBegin:
      case Phase::kText:
      case Phase::kAfterCall:
        return AcceptOutside(id);
      case Phase::kJson:
        return AcceptJson(id);
      case Phase::kCall:
        switch (call_->Accept(id)) {
          case CallRun::Progress::kOpen:
            return;
          case CallRun::Progress::kDone:
            call_.reset();
            phase_ = free_text() ? Phase::kText : Phase::kAfterCall;
            return;
          case CallRun::Progress::kWrong:
            return Fail(call_->exhausted());
        }
        return;
      case Phase::kOver:
        if (!IsStop(id)) Fail(/*exhausted=*/false);
        return;
      case Phase::kFailed:
        return;
    }
  }

  absl::Status status() const override { return status_; }

 private:
  enum class Phase {
    kThinking,
    kBegin,  // of the answer
    kText,
    kJson,
    kCall,
    kAfterCall,
    kOver,    // complete
    kFailed,  // see status_
  };

  bool free_text() const { return json_ == nullptr && !rules_.must_call; }

  void AcceptOutside(int32_t id) {
    if (call_open_ >= 0 && id == call_open_ &&
        (phase_ != Phase::kAfterCall || rules_.many_calls)) {
      call_.emplace(*tools_, rules_.only, vocabulary_);
      phase_ = Phase::kCall;
    } else if (free_text()) {
      const bool thinks = vocabulary_->markers().Of(id) == Marker::kThinkOpen &&
                          options_.think_close.has_value();
      phase_ = thinks ? Phase::kThinking : Phase::kText;
    } else if (phase_ == Phase::kAfterCall && IsStop(id)) {
      phase_ = Phase::kOver;
    } else if (phase_ == Phase::kBegin && run_) {
      AcceptJson(id);
    } else {
      Fail(/*exhausted=*/false);
    }
  }

  void AcceptJson(int32_t id) {
    if (IsStop(id) && run_->CanEnd()) {
      phase_ = Phase::kOver;
      return;
    }
    const std::string_view bytes = vocabulary_->Bytes(id);
    if (IsStop(id) || bytes.empty() || !run_->Push(bytes)) {
      return Fail(run_->exhausted());
    }
    // A call may come behind line breaks, too.
    if (bytes.find_first_not_of('\n') != bytes.npos) phase_ = Phase::kJson;
  }

  void Fail(bool exhausted) {
    phase_ = Phase::kFailed;
    status_ = absl::AbortedError(
        exhausted ? absl::StrCat("the schema of the answer takes more than ",
                                 kMaxTokenWork,
                                 " steps for one token; make its patterns and "
                                 "alternatives simpler")
                  : "no token goes on with what the schema of the answer wants "
                    "here; make its patterns and alternatives simpler");
  }

  // What must go on has some way to.
  void Check(bool exhausted, std::span<uint64_t> words) {
    const bool none = std::all_of(words.begin(), words.end(),
                                  [](uint64_t word) { return word == 0; });
    if (!none && !exhausted) return;
    std::fill(words.begin(), words.end(), 0);
    Fail(exhausted);
  }

  bool IsStop(int32_t id) const {
    return std::find(options_.stop_ids.begin(), options_.stop_ids.end(), id) !=
           options_.stop_ids.end();
  }

  void Set(std::span<uint64_t> words, int32_t id, bool to) const {
    if (id >= 0 && static_cast<uint32_t>(id) < options_.vocab &&
        static_cast<size_t>(id) / 64 < words.size()) {
      uint64_t bit = uint64_t{1} << (id % 64);
      uint64_t& word = words[static_cast<size_t>(id) / 64];
      word = to ? word | bit : word & ~bit;
    }
  }

  // Clears all from `vocab` on.
  void Cut(std::span<uint64_t> words) const {
    size_t whole = options_.vocab / 64;
    if (whole < words.size()) {
      words[whole] &= (uint64_t{1} << (options_.vocab % 64)) - 1;
      std::fill(words.begin() + static_cast<ptrdiff_t>(whole) + 1, words.end(),
                0);
    }
  }

  void AllowStop(std::span<uint64_t> words) const {
    for (int32_t id : options_.stop_ids) Set(words, id, true);
  }

  // Free text may end within thoughts, as it may without a constraint.
  void AllowThoughts(std::span<uint64_t> words) const {
    std::fill(words.begin(), words.end(), ~uint64_t{0});
    Cut(words);
    if (call_open_ >= 0) Set(words, call_open_, false);
    if (!free_text()) {
      for (int32_t id : options_.not_while_thinking) Set(words, id, false);
      for (int32_t id : options_.stop_ids) Set(words, id, false);
    }
    Set(words, *options_.think_close, true);
  }

  void AllowJson(std::span<uint64_t> words) {
    run_->Allow(vocabulary_, words);
    Cut(words);
    for (int32_t id : options_.stop_ids) Set(words, id, false);
    if (run_->CanEnd()) AllowStop(words);
    Check(run_->exhausted(), words);
  }

  const AnswerRules rules_;
  const CompiledGrammar* const json_;  // of rules_
  const CompiledTools* const tools_;   // of rules_
  std::shared_ptr<const VocabularyTree> vocabulary_;
  JsonConstraintOptions options_;
  int32_t call_open_ = -1;         // where there are tools
  std::optional<GrammarRun> run_;  // unless the answer is no JSON
  std::optional<CallRun> call_;
  Phase phase_ = Phase::kBegin;
  absl::Status status_;
};

}  // namespace

std::shared_ptr<TokenConstraint> MakeAnswerConstraint(
    AnswerRules rules, std::shared_ptr<const GrammarVocabulary> vocabulary,
    JsonConstraintOptions options) {
  return std::make_shared<AnswerConstraint>(
      std::move(rules),
      std::static_pointer_cast<const VocabularyTree>(std::move(vocabulary)),
      std::move(options));
}

std::shared_ptr<TokenConstraint> MakeJsonConstraint(
    std::shared_ptr<const JsonGrammar> grammar,
    std::shared_ptr<const GrammarVocabulary> vocabulary,
    JsonConstraintOptions options) {
  return MakeAnswerConstraint({.json = std::move(grammar), .tools = nullptr},
                              std::move(vocabulary), std::move(options));
}

}  // namespace glm::grammar
