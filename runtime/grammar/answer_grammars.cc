#include "runtime/grammar/answer_grammars.h"

#include <deque>
#include <mutex>
#include <utility>

#include "runtime/base/status_macros.h"
#include "runtime/grammar/vocabulary.h"

namespace glm::grammar {
namespace {

// What was asked for last: choices of one request, and requests of one client,
// share what is found out about it.
template <typename Grammar>
class Kept {
 public:
  template <typename Make>
  absl::StatusOr<std::shared_ptr<const Grammar>> Of(const std::string& key,
                                                    const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [known, made] : kept_) {
        if (known == key) return made;
      }
    }
    GLM_ASSIGN_OR_RETURN(std::shared_ptr<const Grammar> made, make());
    const std::lock_guard lock(mutex_);
    kept_.emplace_front(key, made);
    if (kept_.size() > kMost) kept_.pop_back();
    return made;
  }

 private:
  static constexpr size_t kMost = 16;
  std::mutex mutex_;
  std::deque<std::pair<std::string, std::shared_ptr<const Grammar>>> kept_;
};

class Grammars : public AnswerGrammars {
 public:
  explicit Grammars(const text::Tokenizer& tokenizer)
      : vocabulary_(std::make_shared<const VocabularyTree>(tokenizer)) {}

  absl::StatusOr<std::shared_ptr<const JsonGrammar>> Json(
      const nlohmann::ordered_json* schema) override {
    if (schema == nullptr) return JsonGrammar::AnyObject();
    return json_.Of(schema->dump(),
                    [&] { return JsonGrammar::FromSchema(*schema); });
  }

  absl::StatusOr<std::shared_ptr<const ToolGrammar>> Tools(
      const std::vector<nlohmann::ordered_json>& tools) override {
    for (size_t i = static_cast<size_t>(text::Marker::kCallOpen);
         i < text::kMarkers; ++i) {
      const auto marker = static_cast<text::Marker>(i);
      if (!vocabulary_->markers().Has(marker)) {
        return absl::FailedPreconditionError(
            "the tokenizer has no added token " +
            std::string(text::MarkerText(marker)) +
            "; use the tokenizer.json of the checkpoint");
      }
    }
    return tools_.Of(nlohmann::ordered_json(tools).dump(),
                     [&] { return ToolGrammar::FromTools(tools); });
  }

  std::shared_ptr<TokenConstraint> Make(
      AnswerRules rules, JsonConstraintOptions options) override {
    return MakeAnswerConstraint(std::move(rules), vocabulary_,
                                std::move(options));
  }

  uint32_t longest_token() const override { return vocabulary_->longest(); }

 private:
  const std::shared_ptr<const VocabularyTree> vocabulary_;
  Kept<JsonGrammar> json_;
  Kept<ToolGrammar> tools_;
};

}  // namespace

std::shared_ptr<AnswerGrammars> AnswerGrammars::Create(
    const text::Tokenizer& tokenizer) {
  return std::make_shared<Grammars>(tokenizer);
}

}  // namespace glm::grammar
