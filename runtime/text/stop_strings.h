// `StopStrings` finds the first of several strings in a text that comes in
// pieces, and holds back what may be the beginning of one.
//
// The first is the one that ends first; of those that end at the same byte, the
// longest. What is given out does not depend on how the text is cut.
#ifndef GLM_RUNTIME_TEXT_STOP_STRINGS_H_
#define GLM_RUNTIME_TEXT_STOP_STRINGS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace glm::text {

// One instance for one text and thread. Time is linear in the text for each
// stop string; at most one stop string less a byte is held.
class StopStrings {
 public:
  // Errors: kInvalidArgument, naming "stop[i]": empty, or not UTF-8.
  static absl::StatusOr<StopStrings> Create(std::vector<std::string> stop);

  // Appends to `out` what can no longer be part of a stop string. True when one
  // was met: it and what follows are dropped, and nothing more may be pushed.
  bool Push(std::string_view text, std::string& out);

  // Appends what is held; a new text begins.
  void Flush(std::string& out);

 private:
  // One string and how much of it the text so far ends with (Knuth, Morris and
  // Pratt: after a mismatch the border of the matched part goes on).
  struct Pattern {
    std::string text;
    std::vector<size_t> borders;  // of the first i + 1 bytes
    size_t matched = 0;
  };
  static void Advance(Pattern& pattern, char byte);

  StopStrings() = default;

  std::vector<Pattern> patterns_;
  std::string held_;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_STOP_STRINGS_H_
