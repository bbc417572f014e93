// Which keywords of JSON Schema are held, refused or without meaning here.
#ifndef GLM_RUNTIME_GRAMMAR_SCHEMA_KEYWORDS_H_
#define GLM_RUNTIME_GRAMMAR_SCHEMA_KEYWORDS_H_

#include "absl/status/status.h"
#include "runtime/grammar/schema_reader.h"

namespace glm::grammar {

// kInvalidArgument naming a keyword of this schema that could be violated,
// since nothing here holds it. Unknown keywords mean nothing.
absl::Status CheckKeywords(const Place& place);

// Whether the schema says more than which others hold.
bool HasOwnKeywords(const Json& schema);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_SCHEMA_KEYWORDS_H_
