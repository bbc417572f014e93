// The states of a pattern as it is read, with steps that take no character.
#ifndef GLM_RUNTIME_GRAMMAR_PATTERN_NODES_H_
#define GLM_RUNTIME_GRAMMAR_PATTERN_NODES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/grammar/code_points.h"
#include "runtime/grammar/pattern_work.h"

namespace glm::grammar {

struct PatternNode {
  std::vector<CodePointEdge> edges;
  std::vector<uint32_t> empty;
};

absl::Status TooManySteps();

// The strings from `first` to `last`; states are the nodes that edges lead to.
//
// Errors: kResourceExhausted.
absl::StatusOr<CodePointSet> WithoutEmptySteps(
    const std::vector<PatternNode>& nodes, uint32_t first, uint32_t last,
    PatternWork& work);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_PATTERN_NODES_H_
