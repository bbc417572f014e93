// Sets of strings of code points, as automata without empty steps: what
// patterns, formats and lengths mean before they become JSON bytes.
#ifndef GLM_RUNTIME_GRAMMAR_CODE_POINTS_H_
#define GLM_RUNTIME_GRAMMAR_CODE_POINTS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/grammar/pattern_work.h"

namespace glm::grammar {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

struct CodePointEdge {
  uint32_t low = 0;
  uint32_t high = 0;  // inclusive
  uint32_t to = 0;
};

struct CodePointState {
  std::vector<CodePointEdge> edges;
  bool can_end = false;
};

// Begins in state 0.
using CodePointSet = std::vector<CodePointState>;

// Strings of `min` to `max` code points. Nothing when that needs too many
// states (limits.h).
std::optional<CodePointSet> Lengths(uint64_t min, std::optional<uint64_t> max);

// Strings in both. Nothing when that needs too many states, edges or steps.
std::optional<CodePointSet> Both(const CodePointSet& a, const CodePointSet& b,
                                 PatternWork& work);

// Whether the set has the valid UTF-8 `text`; false when `work` is exhausted.
bool Contains(const CodePointSet& set, std::string_view text,
              PatternWork& work);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_CODE_POINTS_H_
