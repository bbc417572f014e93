// `RuleBuilder` makes rules of an automaton from what schemas of one document
// say of values; CompileSchema and CompileParameters say of which.
//
// White space: schema_compiler.h.
#ifndef GLM_RUNTIME_GRAMMAR_RULE_BUILDER_H_
#define GLM_RUNTIME_GRAMMAR_RULE_BUILDER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/grammar/automaton.h"
#include "runtime/grammar/constraints.h"
#include "runtime/grammar/schema_reader.h"
#include "runtime/grammar/string_rules.h"

namespace glm::grammar {

struct Property {
  std::string name;
  Places places;
  bool required = false;
};

// Of an object that is right for all of it: named ones, in order of the
// schemas, then required ones; not many more than kMaxProperties.
std::vector<Property> PropertiesOf(const Constraints& all);
// What must hold for each other property.
Places AdditionalOf(const Constraints& all);
bool IsClosed(const Constraints& all);  // additionalProperties is false

class RuleBuilder {
 public:
  // The document outlives the builder.
  explicit RuleBuilder(const Json& document);

  // The rule of values that are right for all of these; BuildAll builds it.
  StateId Rule(const Places& all);
  // The same, but a value that is a string is written without quotes and
  // escapes.
  StateId RawRule(const Places& all);

  // Whether one of its texts is a string, once it is built.
  bool MayBeString(StateId raw_rule) const {
    return raw_strings_.contains(raw_rule);
  }

  // Errors: as JsonGrammar::FromSchema.
  absl::Status BuildAll();

  // Rules that were asked for, and back to so many of them: for whoever goes on
  // after an error.
  size_t rules() const { return rules_.size(); }
  void ForgetFrom(size_t rules);

  // The cause of a rule that has no text: of those from `first` on, the last
  // one that never ends, which lies deepest.
  absl::Status NoValue(const std::vector<uint64_t>& least, size_t first) const;

  Automaton& automaton() { return automaton_; }
  StringRules& strings() { return strings_; }
  SchemaReader& reader() { return reader_; }
  PatternWork& work() { return work_; }

 private:
  struct Pending {
    StateId state = 0;
    Places all;
    bool raw = false;
  };

  Place PlaceOf(const Places& all) const {
    return all.empty() ? Place{&document_, ""} : all[0];
  }
  absl::Status Build(const Pending& rule);
  absl::Status AddValue(const Constraints& all, const Place& place, bool raw,
                        std::vector<StateId>& next);
  StateId Literals(const std::vector<const Json*>& values, bool raw);
  absl::StatusOr<StateId> String(const Constraints& all, bool raw);
  StateId Array(const Constraints& all);
  absl::StatusOr<StateId> Object(const Constraints& all, const Place& place);
  // An object of properties that no schema names, counted.
  StateId Map(const Constraints& all);
  // `"key":value` of a property that no schema names.
  StateId Additional(const Constraints& all,
                     const std::vector<std::string>& names, StateId then);
  StateId Value(StateId rule, StateId then);

  // Space after an opening bracket or a comma, or before a closing bracket.
  void MakeSpace();
  StateId Spaced(StateId then) { return automaton_.AddCall(space_, then); }
  StateId Comma(StateId then) { return automaton_.AddByte(',', Spaced(then)); }

  const Json& document_;
  Automaton automaton_;
  SchemaReader reader_;
  StringRules strings_;
  PatternWork work_;
  StateId space_ = Automaton::kReturnState;
  std::map<std::vector<const Json*>, StateId> rule_of_;
  std::vector<Pending> rules_;
  size_t built_ = 0;
  std::set<StateId> raw_strings_;
};

// A value as JSON writes it.
std::string Spelled(const Json& value);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_RULE_BUILDER_H_
