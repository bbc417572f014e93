#include "runtime/text/byte_level.h"

#include <array>

#include "runtime/text/utf8.h"

namespace glm::text {
namespace {

struct Alphabet {
  std::array<char32_t, 256> characters;
  std::array<int16_t, 0x144> bytes;  // by code point, -1 outside the alphabet
};

Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bool stands_for_itself = (byte >= 0x21 && byte <= 0x7E) ||
                             (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    char32_t c = stands_for_itself ? static_cast<char32_t>(byte) : next++;
    alphabet.characters[byte] = c;
    alphabet.bytes[c] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

const Alphabet& TheAlphabet() {
  static const Alphabet alphabet = MakeAlphabet();
  return alphabet;
}

}  // namespace

char32_t ByteLevelCharacter(uint8_t byte) {
  return TheAlphabet().characters[byte];
}

std::optional<std::string> BytesFromByteLevel(std::string_view written) {
  const Alphabet& alphabet = TheAlphabet();
  std::string bytes;
  for (size_t position = 0; position < written.size();) {
    char32_t c = NextCodePoint(written, position);
    if (c >= alphabet.bytes.size() || alphabet.bytes[c] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(alphabet.bytes[c]));
  }
  return bytes;
}

std::string BytesToByteLevel(std::string_view bytes) {
  std::string written;
  for (char byte : bytes) {
    AppendUtf8(ByteLevelCharacter(static_cast<uint8_t>(byte)), written);
  }
  return written;
}

}  // namespace glm::text
