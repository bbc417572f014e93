#include "runtime/text/utf8.h"

namespace glm::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the character that `lead` begins; 0 when it begins none.
size_t SequenceLength(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  if (lead < 0xF5) return 4;
  return 0;
}

// Whether `byte` may stand at `index` >= 1 of a character begun by `lead`. The
// second byte alone excludes overlong forms, surrogates and what is beyond
// U+10FFFF.
bool Continues(uint8_t lead, size_t index, uint8_t byte) {
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (index == 1) {
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  return byte >= low && byte <= high;
}

}  // namespace

void LossyUtf8Decoder::Push(std::string_view bytes, std::string& out) {
  size_t position = 0;
  while (position < bytes.size()) {
    if (held_ == 0) {
      size_t valid = ValidUtf8Prefix(bytes.substr(position));
      out.append(bytes.substr(position, valid));
      position += valid;
      if (position == bytes.size()) {
        return;
      }
      needed_ = SequenceLength(static_cast<uint8_t>(bytes[position]));
      if (needed_ == 0) {
        out.append(kReplacement);
      } else {
        buffer_[held_++] = bytes[position];
      }
      ++position;
      continue;
    }
    if (!Continues(static_cast<uint8_t>(buffer_[0]), held_,
                   static_cast<uint8_t>(bytes[position]))) {
      out.append(kReplacement);
      held_ = 0;
      continue;
    }
    buffer_[held_++] = bytes[position++];
    if (held_ == needed_) {
      out.append(buffer_.data(), held_);
      held_ = 0;
    }
  }
}

void LossyUtf8Decoder::Finish(std::string& out) {
  if (held_ != 0) {
    out.append(kReplacement);
    held_ = 0;
  }
}

size_t ValidUtf8Prefix(std::string_view bytes) {
  size_t position = 0;
  while (position < bytes.size()) {
    uint8_t lead = static_cast<uint8_t>(bytes[position]);
    size_t length = SequenceLength(lead);
    if (length == 0 || bytes.size() - position < length) {
      return position;
    }
    for (size_t i = 1; i < length; ++i) {
      if (!Continues(lead, i, static_cast<uint8_t>(bytes[position + i]))) {
        return position;
      }
    }
    position += length;
  }
  return position;
}

std::string LossyUtf8(std::string_view bytes) {
  std::string out;
  LossyUtf8Decoder decoder;
  decoder.Push(bytes, out);
  decoder.Finish(out);
  return out;
}

char32_t NextCodePoint(std::string_view text, size_t& position) {
  uint8_t lead = static_cast<uint8_t>(text[position++]);
  if (lead < 0x80) {
    return lead;
  }
  size_t length = SequenceLength(lead);
  char32_t code_point = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    code_point =
        code_point << 6 | (static_cast<uint8_t>(text[position++]) & 0x3F);
  }
  return code_point;
}

void AppendUtf8(char32_t code_point, std::string& out) {
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
    return;
  }
  int tail = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  char32_t marks[] = {0, 0xC0, 0xE0, 0xF0};
  out.push_back(static_cast<char>(marks[tail] | code_point >> (6 * tail)));
  for (int i = tail - 1; i >= 0; --i) {
    out.push_back(static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3F)));
  }
}

}  // namespace glm::text
