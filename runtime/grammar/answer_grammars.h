// What an answer is held to: JSON, calls of tools, or either. `AnswerGrammars`
// makes constraints of them and keeps what it compiled last.
//
//   auto grammars = AnswerGrammars::Create(tokenizer);              // once
//   AnswerRules rules;
//   GLM_ASSIGN_OR_RETURN(rules.tools, grammars->Tools(tools));
//   rules.must_call = true;
//   request.constraint = grammars->Make(rules, options);
//
// Calls are in the wire format of text/tool_call_parser.h, without blanks, all
// of its tags tokens. Keys are those of the tool's `properties` and `required`,
// each once, in any order; others where additionalProperties says so, or where
// the schema names no properties at all. A string is written as it is, other
// values are JSON of their schema (json_grammar.h). Where a schema allows
// strings beside other types, text that can be read as one of these is read so,
// whatever limits the schema has for them.
#ifndef GLM_RUNTIME_GRAMMAR_ANSWER_GRAMMARS_H_
#define GLM_RUNTIME_GRAMMAR_ANSWER_GRAMMARS_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/grammar/json_grammar.h"
#include "runtime/sequence/token_constraint.h"

namespace glm::grammar {

// Shared by threads and constraints, as JsonGrammar.
class ToolGrammar {
 public:
  // `tools` as in text::ChatRequest, checked, with names that differ. Of a tool
  // whose `strict` is not true arguments that its schema says what cannot be
  // held of may be any text.
  //
  // Errors: as JsonGrammar::FromSchema, with "tools[i].function.parameters: "
  // before.
  static absl::StatusOr<std::shared_ptr<const ToolGrammar>> FromTools(
      const std::vector<nlohmann::ordered_json>& tools);

  // Of the shortest call of the tool of this name, or of any where it is empty;
  // markers do not count.
  virtual uint64_t LeastBytes(std::string_view name) const = 0;
  virtual ~ToolGrammar() = default;
};

struct AnswerRules {
  std::shared_ptr<const JsonGrammar> json;   // null: any text
  std::shared_ptr<const ToolGrammar> tools;  // null: no calls
  bool must_call = false;  // the answer is calls, whatever `json` is
  bool many_calls = true;  // as many as the model likes
  std::string only = {};   // the one tool that may be called; empty: any
};

// A TokenConstraint. Free text in front of calls, and the thoughts before it,
// may be any tokens but <tool_call> inside thoughts. The vocabulary is one of
// GrammarVocabulary::Create, with all markers of calls if there are tools.
std::shared_ptr<TokenConstraint> MakeAnswerConstraint(
    AnswerRules rules, std::shared_ptr<const GrammarVocabulary> vocabulary,
    JsonConstraintOptions options);

// All functions may be called from any thread.
class AnswerGrammars {
 public:
  static std::shared_ptr<AnswerGrammars> Create(
      const text::Tokenizer& tokenizer);
  virtual ~AnswerGrammars() = default;

  // Null: any object. Errors: as JsonGrammar::FromSchema.
  virtual absl::StatusOr<std::shared_ptr<const JsonGrammar>> Json(
      const nlohmann::ordered_json* schema) = 0;
  // Errors: as ToolGrammar::FromTools; kFailedPrecondition when the tokenizer
  // lacks a marker of calls.
  virtual absl::StatusOr<std::shared_ptr<const ToolGrammar>> Tools(
      const std::vector<nlohmann::ordered_json>& tools) = 0;
  virtual std::shared_ptr<TokenConstraint> Make(
      AnswerRules rules, JsonConstraintOptions options) = 0;

  // Bytes of the longest token: no answer has more for each of its tokens.
  virtual uint32_t longest_token() const = 0;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_ANSWER_GRAMMARS_H_
