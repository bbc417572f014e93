// From a JSON schema to the automaton of its texts.
//
// White space: at most one space after ':'; after '{', '[' and ',' and before
// '}' and ']' nothing, one space, or a line break and up to 64 spaces or 16
// tabs; before the whole value up to two line breaks; nothing elsewhere.
// Properties come in the order of the schema, further ones after them.
#ifndef GLM_RUNTIME_GRAMMAR_SCHEMA_COMPILER_H_
#define GLM_RUNTIME_GRAMMAR_SCHEMA_COMPILER_H_

#include "absl/status/statusor.h"
#include "runtime/grammar/automaton.h"
#include "runtime/grammar/schema_reader.h"

namespace glm::grammar {

// Trimmed. Errors: as JsonGrammar::FromSchema.
absl::StatusOr<Automaton> CompileSchema(const Json& schema);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_SCHEMA_COMPILER_H_
