// UTF-8 as the reference library sees it: `LossyUtf8Decoder` replaces what is
// not UTF-8 by U+FFFD, one for each maximal part that is a proper beginning of
// a character, or for each single byte that begins nothing. This is the rule of
// the Unicode standard (section 3.9) and of Rust's `from_utf8_lossy`.
//
// Not a normaliser and not a character classifier.
#ifndef GLM_RUNTIME_TEXT_UTF8_H_
#define GLM_RUNTIME_TEXT_UTF8_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glm::text {

// Incremental: results do not depend on how the bytes are cut.
class LossyUtf8Decoder {
 public:
  // Appends to `out` all text that `bytes` makes final.
  void Push(std::string_view bytes, std::string& out);

  // Appends one U+FFFD if a character is unfinished, and starts afresh.
  void Finish(std::string& out);

  bool pending() const { return held_ != 0; }

 private:
  std::array<char, 4> buffer_;
  size_t held_ = 0;    // bytes of buffer_ in use, at most 3 between calls
  size_t needed_ = 0;  // length of the character begun
};

// Size of the longest prefix of `bytes` that is valid UTF-8.
size_t ValidUtf8Prefix(std::string_view bytes);

std::string LossyUtf8(std::string_view bytes);

// Reads the character at `text[position]` and moves `position` behind it.
// `text` must be valid UTF-8 and `position` a border inside it.
char32_t NextCodePoint(std::string_view text, size_t& position);

void AppendUtf8(char32_t code_point, std::string& out);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_UTF8_H_
