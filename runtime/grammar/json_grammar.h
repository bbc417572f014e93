// `JsonGrammar` is the set of texts that are JSON of a schema; `JsonConstraint`
// holds a generated answer to it (runtime/sequence/token_constraint.h).
//
//   GLM_ASSIGN_OR_RETURN(auto grammar, JsonGrammar::FromSchema(schema));
//   auto vocabulary = GrammarVocabulary::Create(tokenizer);        // once
//   request.constraint = MakeJsonConstraint(grammar, vocabulary, options);
//
// Each text of the set is right for the schema; not each JSON text that is
// right is in the set. docs/decisions/0023-structured-output.md says what is
// left out (white space without end, other orders of properties, ...) and which
// keywords are held, refused and without meaning.
#ifndef GLM_RUNTIME_GRAMMAR_JSON_GRAMMAR_H_
#define GLM_RUNTIME_GRAMMAR_JSON_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/sequence/token_constraint.h"
#include "runtime/text/tokenizer.h"

namespace glm::grammar {

// Any number of threads and constraints may share one: they then also share
// the masks that were found, up to 512 of vocabulary / 8 bytes each.
class JsonGrammar {
 public:
  // Errors: kInvalidArgument naming the place in the schema (a JSON pointer),
  // what is not supported or contradictory there, and the remedy;
  // kResourceExhausted for a schema beyond the limits (limits.h).
  static absl::StatusOr<std::shared_ptr<const JsonGrammar>> FromSchema(
      const nlohmann::ordered_json& schema);
  // Any JSON object (response_format json_object).
  static std::shared_ptr<const JsonGrammar> AnyObject();

  // Whether `text` is in the set: for tests and for checking whole answers.
  virtual bool Matches(std::string_view text) const = 0;
  // Of the shortest text.
  virtual uint64_t LeastBytes() const = 0;
  virtual ~JsonGrammar() = default;
};

// The bytes of every token, as a tree. Immutable; shared by all threads. Added
// tokens are none of its: what they spell, others spell as well.
class GrammarVocabulary {
 public:
  static std::shared_ptr<const GrammarVocabulary> Create(
      const text::Tokenizer& tokenizer);
  virtual ~GrammarVocabulary() = default;
};

struct JsonConstraintOptions {
  // Allowed when the text is complete, and only then; at least one.
  std::vector<int32_t> stop_ids = {};
  // While the model thinks all tokens may come but stop ids and those in
  // `not_while_thinking`; the JSON begins after `think_close`.
  bool starts_inside_thinking = false;
  std::optional<int32_t> think_close = {};  // without it there is no thinking
  std::vector<int32_t> not_while_thinking = {};
  uint32_t vocab = 0;  // tokens that the model can choose from
};

// A TokenConstraint. From every state some token is allowed, as long as each
// byte is a token of the vocabulary and the limits are kept (limits.h). Should
// none be, or a token that was not allowed be accepted, then its status is
// kAborted from there on: the answer is not complete.
//
// The grammar is one of FromSchema or AnyObject, the vocabulary of Create.
std::shared_ptr<TokenConstraint> MakeJsonConstraint(
    std::shared_ptr<const JsonGrammar> grammar,
    std::shared_ptr<const GrammarVocabulary> vocabulary,
    JsonConstraintOptions options);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_JSON_GRAMMAR_H_
