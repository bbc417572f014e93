#include "runtime/text/prompt_builder.h"

#include <algorithm>
#include <cstdint>

#include "runtime/text/utf8.h"

namespace glm::text {
namespace {

// What Python's str.isspace() accepts.
bool IsPythonSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 ||
         c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace

void PromptBuilder::Append(std::string_view text, bool control) {
  if (text.empty()) {
    return;
  }
  if (segments_.empty() || segments_.back().control != control) {
    segments_.push_back({"", control});
  }
  segments_.back().text += text;
}

void PromptBuilder::Slice(const std::vector<Segment>& from, size_t begin,
                          size_t end) {
  size_t offset = 0;
  for (const Segment& segment : from) {
    size_t first = std::max(begin, offset);
    size_t last = std::min(end, offset + segment.text.size());
    if (first < last) {
      Append(
          std::string_view(segment.text).substr(first - offset, last - first),
          segment.control);
    }
    offset += segment.text.size();
  }
}

void PythonStrip(std::string_view text, size_t& begin, size_t& end) {
  size_t valid_end = begin + ValidUtf8Prefix(text.substr(begin, end - begin));
  while (begin < valid_end) {
    size_t next = begin;
    if (!IsPythonSpace(NextCodePoint(text, next))) {
      break;
    }
    begin = next;
  }
  while (end > begin) {
    size_t last = end - 1;
    while (last > begin && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) {
      --last;
    }
    std::string_view character = text.substr(last, end - last);
    size_t position = last;
    if (ValidUtf8Prefix(character) != character.size() ||
        !IsPythonSpace(NextCodePoint(text, position)) || position != end) {
      break;
    }
    end = last;
  }
}

}  // namespace glm::text
