#include "runtime/grammar/schema_compiler.h"

#include <utility>
#include <vector>

#include "runtime/base/status_macros.h"
#include "runtime/grammar/rule_builder.h"

namespace glm::grammar {

absl::StatusOr<Automaton> CompileSchema(const Json& schema) {
  GLM_RETURN_IF_ERROR(CheckSize(schema));
  RuleBuilder builder(schema);
  Automaton& automaton = builder.automaton();
  StateId value = builder.Rule({Place{&schema, ""}});
  StateId one = automaton.AddSplit({automaton.AddByte('\n', value), value});
  automaton.root = automaton.AddSplit({automaton.AddByte('\n', one), value});
  GLM_RETURN_IF_ERROR(builder.BuildAll());
  std::vector<uint64_t> least = automaton.Trim();
  if (least[automaton.root] == kNever) {
    return builder.NoValue(least, 0);
  }
  return std::move(automaton);
}

}  // namespace glm::grammar
