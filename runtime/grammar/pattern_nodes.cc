#include "runtime/grammar/pattern_nodes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/grammar/limits.h"

namespace glm::grammar {

absl::Status TooManySteps() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the patterns of the schema take more than ",
                   kMaxPatternWork, " steps; make them simpler"));
}

absl::StatusOr<CodePointSet> WithoutEmptySteps(
    const std::vector<PatternNode>& nodes, uint32_t first, uint32_t last,
    PatternWork& work) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> state_of(nodes.size(), kNone);
  std::vector<uint32_t> order = {first};
  state_of[first] = 0;
  std::vector<uint32_t> seen(nodes.size(), kNone);
  CodePointSet set;
  size_t edges = 0;
  for (uint32_t i = 0; i < order.size(); ++i) {
    CodePointState state;
    std::vector<uint32_t> todo = {order[i]};
    seen[order[i]] = i;
    while (!todo.empty()) {
      uint32_t node = todo.back();
      todo.pop_back();
      work.Add(1 + nodes[node].empty.size());
      if (work.exhausted()) {
        return TooManySteps();
      }
      state.can_end |= node == last;
      for (const CodePointEdge& edge : nodes[node].edges) {
        if (state_of[edge.to] == kNone) {
          state_of[edge.to] = static_cast<uint32_t>(order.size());
          order.push_back(edge.to);
        }
        state.edges.push_back({edge.low, edge.high, state_of[edge.to]});
        if (++edges > kMaxPatternEdges) {
          return absl::ResourceExhaustedError(
              absl::StrCat("the pattern needs more than ", kMaxPatternEdges,
                           " edges; make it simpler"));
        }
      }
      for (uint32_t next : nodes[node].empty) {
        if (seen[next] != i) {
          seen[next] = i;
          todo.push_back(next);
        }
      }
    }
    set.push_back(std::move(state));
  }
  return set;
}

}  // namespace glm::grammar
