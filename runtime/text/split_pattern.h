// Translation of the regexes in tokenizer.json files, which are written for
// Oniguruma, into PCRE2 patterns of the same meaning.
//
// Only what such files use is translated; a construct whose meaning differs
// between the two libraries, or is unknown here, is refused by name. Known
// differences that are bridged:
//   \s \S   PCRE2 counts U+180E as space; written out as an explicit set
//   \v      one character in Oniguruma, a class in PCRE2
//   \p{L} \p{N}  PCRE2 10.42 has the tables of Unicode 14, the reference those
//           of Unicode 16; the newer letters and numbers are added. Other
//           general categories are those of PCRE2; scripts are refused
#ifndef GLM_RUNTIME_TEXT_SPLIT_PATTERN_H_
#define GLM_RUNTIME_TEXT_SPLIT_PATTERN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace glm::text {

// The pattern that GPT-2 introduced, meant by "ByteLevel" with use_regex true.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|)"
    R"( ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct TranslatedPattern {
  // Exact on every text.
  std::string full;
  // Exact on texts without newer letters and numbers, and faster to run.
  std::string common;
};

// Errors: kUnimplemented naming the construct and its offset in bytes.
absl::StatusOr<TranslatedPattern> TranslateSplitPattern(
    std::string_view oniguruma);

// Whether `text`, valid UTF-8, holds a letter or number that needs `full`.
bool HasNewerLetterOrNumber(std::string_view text);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_SPLIT_PATTERN_H_
