#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/grammar/grammar_run.h"
#include "runtime/grammar/json_grammar.h"

namespace glm::grammar {
namespace {

class JsonConstraint : public TokenConstraint {
 public:
  JsonConstraint(std::shared_ptr<const CompiledGrammar> grammar,
                 std::shared_ptr<const VocabularyTree> vocabulary,
                 JsonConstraintOptions options)
      : grammar_(std::move(grammar)),
        vocabulary_(std::move(vocabulary)),
        options_(std::move(options)),
        run_(*grammar_) {
    if (options_.starts_inside_thinking && options_.think_close.has_value()) {
      phase_ = Phase::kThinking;
    }
  }

  bool Allow(std::span<uint64_t> words) override {
    switch (phase_) {
      case Phase::kThinking:
        if (options_.stop_ids.empty() && options_.not_while_thinking.empty()) {
          return false;
        }
        AllowThoughts(words);
        return true;
      case Phase::kJson:
        AllowJson(words);
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
        if (id == options_.think_close) {
          phase_ = Phase::kJson;
        }
        break;
      case Phase::kJson: {
        std::string_view bytes = vocabulary_->Bytes(id);
        if (IsStop(id) || bytes.empty() || !run_.Push(bytes)) {
          phase_ = Phase::kOver;
        }
        break;
      }
      case Phase::kOver:
        break;
    }
  }

 private:
  enum class Phase { kThinking, kJson, kOver };

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
    for (int32_t id : options_.stop_ids) {
      Set(words, id, true);
    }
  }

  void AllowThoughts(std::span<uint64_t> words) const {
    std::fill(words.begin(), words.end(), ~uint64_t{0});
    Cut(words);
    for (int32_t id : options_.not_while_thinking) {
      Set(words, id, false);
    }
    for (int32_t id : options_.stop_ids) {
      Set(words, id, false);
    }
    Set(words, *options_.think_close, true);
  }

  void AllowJson(std::span<uint64_t> words) {
    run_.Allow(vocabulary_, words);
    Cut(words);
    for (int32_t id : options_.stop_ids) {
      Set(words, id, false);
    }
    bool none = std::all_of(words.begin(), words.end(),
                            [](uint64_t word) { return word == 0; });
    if (none || run_.CanEnd()) {
      AllowStop(words);
    }
  }

  std::shared_ptr<const CompiledGrammar> grammar_;
  std::shared_ptr<const VocabularyTree> vocabulary_;
  JsonConstraintOptions options_;
  GrammarRun run_;
  Phase phase_ = Phase::kJson;
};

}  // namespace

std::shared_ptr<TokenConstraint> MakeJsonConstraint(
    std::shared_ptr<const JsonGrammar> grammar,
    std::shared_ptr<const GrammarVocabulary> vocabulary,
    JsonConstraintOptions options) {
  return std::make_shared<JsonConstraint>(
      std::static_pointer_cast<const CompiledGrammar>(std::move(grammar)),
      std::static_pointer_cast<const VocabularyTree>(std::move(vocabulary)),
      std::move(options));
}

}  // namespace glm::grammar
