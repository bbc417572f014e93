#include "runtime/text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "runtime/text/utf8.h"

namespace glm::text {
namespace {

constexpr auto kOptions =
    static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

int CombiningClass(int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

// Puts each run of combining marks into ascending order of class; marks of one
// class keep their order.
void Reorder(std::vector<int32_t>& text) {
  struct Mark {
    int combining_class;
    size_t index;
    int32_t code_point;
  };
  std::vector<Mark> run;
  for (size_t begin = 0; begin < text.size();) {
    run.clear();
    for (size_t i = begin; i < text.size(); ++i) {
      int combining_class = CombiningClass(text[i]);
      if (combining_class == 0) {
        break;
      }
      run.push_back({combining_class, i, text[i]});
    }
    std::sort(run.begin(), run.end(), [](const Mark& a, const Mark& b) {
      return std::tie(a.combining_class, a.index) <
             std::tie(b.combining_class, b.index);
    });
    for (size_t i = 0; i < run.size(); ++i) {
      text[begin + i] = run[i].code_point;
    }
    begin += run.size() + 1;
  }
}

}  // namespace

std::string_view Nfc(std::string_view text, std::string& buffer) {
  // Everything below U+0300, whose lead byte is CC, is in NFC already.
  if (std::all_of(text.begin(), text.end(), [](char c) {
        return static_cast<uint8_t>(c) < 0xCC;
      })) {
    return text;
  }
  std::vector<int32_t> decomposed;
  decomposed.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    int32_t parts[8];
    int boundary_class = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<int32_t>(NextCodePoint(text, position)), parts, 8,
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE),
        &boundary_class);
    decomposed.insert(decomposed.end(), parts, parts + count);
  }
  Reorder(decomposed);
  utf8proc_ssize_t size = utf8proc_normalize_utf32(
      decomposed.data(), static_cast<utf8proc_ssize_t>(decomposed.size()),
      kOptions);
  buffer.clear();
  for (utf8proc_ssize_t i = 0; i < size; ++i) {
    AppendUtf8(static_cast<char32_t>(decomposed[i]), buffer);
  }
  return buffer;
}

}  // namespace glm::text
