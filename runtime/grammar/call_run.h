// `CallRun` is one call of a tool on its way, from behind its <tool_call>:
//
//   NAME (<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>)* </tool_call>
#ifndef GLM_RUNTIME_GRAMMAR_CALL_RUN_H_
#define GLM_RUNTIME_GRAMMAR_CALL_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/grammar_run.h"
#include "runtime/grammar/tool_grammar.h"
#include "runtime/grammar/vocabulary.h"

namespace glm::grammar {

// Not thread-safe. The tools and the vocabulary outlive it.
class CallRun {
 public:
  enum class Progress { kOpen, kDone, kWrong };

  // `only`: the one tool that may be called; empty: any.
  CallRun(const CompiledTools& tools, std::string_view only,
          std::shared_ptr<const VocabularyTree> vocabulary);

  // Sets the bits of tokens that may come next and clears all others.
  void Allow(std::span<uint64_t> words);
  // kWrong: a token that was not allowed; the run is over then.
  Progress Accept(int32_t id);

  // As of GrammarRun.
  bool exhausted() const {
    return (key_run_ && key_run_->exhausted()) ||
           (value_run_ && value_run_->exhausted());
  }

 private:
  enum class State : uint8_t { kName, kKey, kAfterKey, kValue, kAfterValue };

  void Let(text::Marker marker, std::span<uint64_t> words) const;
  void AllowText(std::span<uint64_t> words) const;
  bool PushText(std::string_view bytes);
  const CompiledTool* NamedTool() const;
  const ToolArgument* KeyedArgument() const;
  bool NeedsMore() const;    // required arguments are left
  bool MayHaveMore() const;  // some are
  void BeginKey();
  void BeginValue();

  std::shared_ptr<const VocabularyTree> vocabulary_;
  State state_ = State::kName;
  // Of a name or a key: what it may be, sorted, and what has come of it.
  std::vector<const CompiledTool*> named_;
  std::vector<std::string_view> texts_;
  size_t first_ = 0;  // of texts_, those that begin with text_
  size_t last_ = 0;
  std::string text_;

  const CompiledTool* tool_ = nullptr;  // behind its name
  std::vector<std::string> used_;       // keys that have come
  const ToolArgument* argument_ = nullptr;
  std::optional<GrammarRun> key_run_;  // of a key that may have no name
  std::optional<GrammarRun> value_run_;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_CALL_RUN_H_
