// `PreTokenizer` cuts text into the pieces that byte-pair merges may not cross:
// each match of a regex is a piece, and so is what lies between two matches.
#ifndef GLM_RUNTIME_TEXT_PRE_TOKENIZER_H_
#define GLM_RUNTIME_TEXT_PRE_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm::text {

// Const members may be called from any number of threads.
class PreTokenizer {
 public:
  // `pattern` is in Oniguruma's syntax, as tokenizer.json files hold it.
  //
  // Errors: kUnimplemented (see split_pattern.h), kInvalidArgument (no regex).
  static absl::StatusOr<std::unique_ptr<PreTokenizer>> Create(
      std::string_view pattern);

  ~PreTokenizer();
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  // Appends the pieces of `text`, which must be valid UTF-8, as views into it.
  // Their concatenation is `text`; none is empty. Stops once
  // `pieces` has more than `most_pieces`.
  //
  // Errors: kResourceExhausted when matching exceeds its limit of steps, which
  // is linear in the size of `text`.
  absl::Status Split(std::string_view text,
                     std::vector<std::string_view>& pieces,
                     size_t most_pieces = SIZE_MAX) const;

 private:
  class Regex;

  PreTokenizer();

  std::unique_ptr<Regex> full_;
  std::unique_ptr<Regex> common_;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_PRE_TOKENIZER_H_
