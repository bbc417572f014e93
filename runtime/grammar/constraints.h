// What some plain schemas that all hold say of a value, together.
#ifndef GLM_RUNTIME_GRAMMAR_CONSTRAINTS_H_
#define GLM_RUNTIME_GRAMMAR_CONSTRAINTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/grammar/code_points.h"
#include "runtime/grammar/number_rules.h"
#include "runtime/grammar/schema_reader.h"

namespace glm::grammar {

// Bits. A value that is an integer is of kInteger alone, another number of
// kFraction.
enum Type : uint8_t {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kFraction = 8,
  kString = 16,
  kArray = 32,
  kObject = 64,
  kAllTypes = 127,
};

struct ArrayKeywords {
  Places prefix;
  std::optional<Place> rest;  // of the items behind `prefix`
};

struct ObjectKeywords {
  std::optional<Place> properties;
  std::optional<Place> additional;
};

struct Count {
  uint64_t min = 0;
  std::optional<uint64_t> max;

  bool limits() const { return min > 0 || max.has_value(); }
  bool Has(uint64_t count) const {
    return count >= min && count <= max.value_or(UINT64_MAX);
  }
};

struct Constraints {
  uint8_t types = kAllTypes;
  // Of enum and const, those that all of them and all else here allow.
  std::optional<std::vector<const Json*>> values;
  NumberRange numbers;
  Count length;
  std::optional<CodePointSet> pattern;  // all patterns and formats, not length
  Place pattern_place;                  // the last of them
  Count items;
  std::vector<ArrayKeywords> arrays;
  Count properties;
  std::vector<ObjectKeywords> objects;
  std::vector<std::string> required;  // in order of the schemas, none twice
};

// A schema that names no type but has keywords of some types means those types,
// which is less than JSON Schema allows.
//
// Errors: as JsonGrammar::FromSchema.
absl::StatusOr<Constraints> Merge(const Places& all, PatternWork& work);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_CONSTRAINTS_H_
