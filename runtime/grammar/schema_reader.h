// `SchemaReader` resolves what schemas are made of: $ref, allOf, anyOf, oneOf.
// What is left are alternatives, each of them some plain schemas that all hold.
#ifndef GLM_RUNTIME_GRAMMAR_SCHEMA_READER_H_
#define GLM_RUNTIME_GRAMMAR_SCHEMA_READER_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm::grammar {

using Json = nlohmann::ordered_json;

// A schema and the JSON pointer to it, in the document that outlives it.
struct Place {
  const Json* schema = nullptr;
  std::string pointer;

  Place At(std::string_view key) const;  // of an object that has it
  Place At(size_t index) const;          // of an array that has it
  // "schema /properties/a: `what`"
  absl::Status Bad(std::string_view what) const;
  // "schema /minimum: must be `what`; found "1""
  absl::Status Wrong(std::string_view what) const;
  absl::Status TooMuch(std::string_view what) const;
};

// A value as messages show it: JSON, its begin alone where it is long.
std::string Shown(const Json& value);

// Schemas that all hold, none twice; with none of them every value is right.
using Places = std::vector<Place>;

// kResourceExhausted for a document beyond limits.h, kInvalidArgument for one
// that is not UTF-8; nothing may look into a document before.
absl::Status CheckSize(const Json& document);

class SchemaReader {
 public:
  explicit SchemaReader(const Json& document) : document_(document) {}

  // No alternative: no value is right.
  absl::StatusOr<std::vector<Places>> Alternatives(const Places& all);

 private:
  absl::StatusOr<std::vector<Places>> Expand(const Place& place);
  absl::StatusOr<std::vector<Places>> ExpandAny(const Place& list);
  absl::StatusOr<Place> Resolve(const Place& from) const;

  const Json& document_;
  std::vector<const Json*> above_;  // schemas that are being expanded
  size_t visits_ = 0;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_SCHEMA_READER_H_
