// Rules of JSON strings, all of whose texts are valid UTF-8 without control
// characters, and whose \u escapes name code points (pairs of surrogates).
//
// A string of a pattern has one spelling: raw characters, and the shortest
// escape of those that must not be raw.
#ifndef GLM_RUNTIME_GRAMMAR_STRING_RULES_H_
#define GLM_RUNTIME_GRAMMAR_STRING_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/grammar/automaton.h"
#include "runtime/grammar/code_points.h"

namespace glm::grammar {

class StringRules {
 public:
  explicit StringRules(Automaton& automaton);

  // A whole string, quotes included, of `min` to `max` code points.
  StateId String(uint64_t min, std::optional<uint64_t> max);
  StateId StringOf(const CodePointSet& set);

  // The same without quotes and escapes, as arguments of calls are written.
  StateId RawString(uint64_t min, std::optional<uint64_t> max);
  StateId RawStringOf(const CodePointSet& set);

  // A key, quotes included, that is none of `spelled` (each as JSON spells it,
  // without quotes). \" \\ \b \f \n \r \t are its only escapes: a key has one
  // spelling.
  StateId KeyBut(const std::vector<std::string>& spelled);

 private:
  // Characters, each going on at `done`, or where it began when that is not
  // given; then `"` ends the rule.
  StateId Characters(std::optional<StateId> done, bool all_escapes);
  StateId RawCharacter(StateId done);
  StateId EscapeOfCodePoint(StateId done);
  void AddRaw(std::vector<ByteEdge>& edges, uint32_t low, uint32_t high,
              StateId to);
  void AddEscapes(std::vector<ByteEdge>& edges, uint32_t low, uint32_t high,
                  StateId to);
  // `count` bytes that continue a character, then `to`.
  StateId Continuation(int count, StateId to);

  Automaton& automaton_;
  StateId any_;        // the rest of a string: characters and `"`
  StateId character_;  // one
  StateId key_;        // the rest of a key
  std::optional<StateId> raw_any_;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_STRING_RULES_H_
