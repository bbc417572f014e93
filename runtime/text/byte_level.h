// The alphabet in which byte-level vocabularies are written: each byte is one
// printable character. Printable Latin-1 stands for itself, the other 68 bytes
// for U+0100 and following.
#ifndef GLM_RUNTIME_TEXT_BYTE_LEVEL_H_
#define GLM_RUNTIME_TEXT_BYTE_LEVEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glm::text {

char32_t ByteLevelCharacter(uint8_t byte);

// The bytes that `written` stands for. Nothing when it holds a character
// outside the alphabet. `written` must be valid UTF-8.
std::optional<std::string> BytesFromByteLevel(std::string_view written);

std::string BytesToByteLevel(std::string_view bytes);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_BYTE_LEVEL_H_
