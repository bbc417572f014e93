// Regular expressions of JSON Schema (`pattern`), as sets of code points.
//
// Understood: literals, ., classes with ranges, \d \D \w \W \s \S, escapes of
// characters (\n \t \xHH \uHHHH \u{H}), groups, |, * + ? {m} {m,} {m,n} (also
// lazy: the set is the same), ^ and $ where a pattern or one of its outermost
// alternatives begins and ends. As ECMA-262 with the flag u. Without ^ or $
// anything may come before or after.
#ifndef GLM_RUNTIME_GRAMMAR_PATTERN_H_
#define GLM_RUNTIME_GRAMMAR_PATTERN_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/grammar/code_points.h"

namespace glm::grammar {

// Errors, without the place in the schema: kInvalidArgument (not valid UTF-8,
// not a regular expression, or what is not supported, with its offset in
// bytes), kResourceExhausted (limits.h).
absl::StatusOr<CodePointSet> ParsePattern(std::string_view pattern,
                                          PatternWork& work);

// The pattern of a `format`; nothing for formats that are not checked.
std::optional<std::string_view> PatternOfFormat(std::string_view format);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_PATTERN_H_
