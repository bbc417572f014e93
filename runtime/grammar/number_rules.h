// Rules of JSON numbers, with bounds that are exact to the digit.
//
// Integers have at most 18 digits. Other numbers have 15 digits before the
// point and, without bounds, up to 15 behind it and an exponent of two digits;
// with bounds no exponent and 15 significant digits, so that what is below a
// bound in decimals is below it as a double.
#ifndef GLM_RUNTIME_GRAMMAR_NUMBER_RULES_H_
#define GLM_RUNTIME_GRAMMAR_NUMBER_RULES_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/grammar/automaton.h"

namespace glm::grammar {

// A decimal number; -0 is not made.
struct Decimal {
  bool negative = false;
  std::string whole;     // no leading zeros, at least one digit
  std::string fraction;  // no trailing zeros

  // Nothing for numbers that are not finite or need more than 400 digits.
  static std::optional<Decimal> Of(const nlohmann::ordered_json& number);
};

int Compare(const Decimal& a, const Decimal& b);  // < 0, 0, > 0

struct Bound {
  Decimal at;
  bool exclusive = false;
};

struct NumberRange {
  std::optional<Bound> low;
  std::optional<Bound> high;

  bool Contains(const Decimal& number) const;
};

// A rule without ways to its end when the range is empty.
StateId AddInteger(Automaton& automaton, const NumberRange& range);
StateId AddNumber(Automaton& automaton, const NumberRange& range);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_NUMBER_RULES_H_
