#include "runtime/text/split_pattern.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/newer_code_points.h"
#include "runtime/text/utf8.h"

namespace glm::text {
namespace {

// White_Space of the Unicode standard.
constexpr CodePointRange kSpaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
    {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
    {0x205F, 0x205F}, {0x3000, 0x3000},
};

void AppendRange(CodePointRange range, std::string& out) {
  char text[40];
  std::snprintf(text, sizeof(text), "\\x{%X}-\\x{%X}",
                static_cast<unsigned>(range.first),
                static_cast<unsigned>(range.last));
  out += text;
}

std::string RangeList(std::span<const CodePointRange> ranges) {
  std::string out;
  for (CodePointRange range : ranges) {
    AppendRange(range, out);
  }
  return out;
}

std::string NonSpaceList() {
  std::string out;
  char32_t next = 0;
  for (CodePointRange space : kSpaces) {
    AppendRange({next, space.first - 1}, out);
    next = space.last + 1;
  }
  AppendRange({next, 0x10FFFF}, out);
  return out;
}

// What a property escape is written as inside a class.
std::string PropertyList(std::string_view name, bool with_newer) {
  std::string out = absl::StrCat("\\p{", std::string(name), "}");
  if (with_newer && name == "L") out += RangeList(kNewerLetters);
  if (with_newer && name == "N") out += RangeList(kNewerNumbers);
  return out;
}

bool IsGeneralCategory(std::string_view name) {
  constexpr std::string_view kMajor = "LMNPSZC";
  if (name.empty() || name.size() > 2 ||
      kMajor.find(name[0]) == std::string_view::npos) {
    return false;
  }
  return name.size() == 1 || std::islower(static_cast<uint8_t>(name[1]));
}

class Translator {
 public:
  Translator(std::string_view in, bool with_newer)
      : in_(in), with_newer_(with_newer) {}

  absl::StatusOr<std::string> Run() {
    while (at_ < in_.size()) {
      GLM_RETURN_IF_ERROR(Item());
    }
    return std::move(out_);
  }

 private:
  bool Looking(std::string_view text) const {
    return in_.substr(at_, text.size()) == text;
  }

  absl::Status Refuse(std::string_view what) const {
    return absl::UnimplementedError(absl::StrCat(
        "the split regex uses ", std::string(what), " at byte ", at_,
        ", which is not supported; use the tokenizer.json of a GLM or Qwen "
        "checkpoint"));
  }

  void Copy(size_t count) {
    out_ += in_.substr(at_, count);
    at_ += count;
  }

  absl::Status Item() {
    switch (in_[at_]) {
      case '\\':
        return Escape(/*in_class=*/false);
      case '[':
        return Class();
      case '(':
        return Group();
      case '{':
        return Interval();
      case '^':
      case '$':
        return Refuse(
            absl::StrCat("the anchor '", std::string(1, in_[at_]), "'"));
      default:
        Copy(1);
        return absl::OkStatus();
    }
  }

  absl::Status Group() {
    if (Looking("(*")) {
      return Refuse("'(*'");
    }
    if (!Looking("(?")) {
      Copy(1);
      return absl::OkStatus();
    }
    for (std::string_view opening :
         {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (Looking(opening)) {
        Copy(opening.size());
        return absl::OkStatus();
      }
    }
    return Refuse("an unknown group '(?'");
  }

  absl::Status Interval() {
    size_t end = at_ + 1;
    auto digits = [&] {
      size_t begin = end;
      while (end < in_.size() && std::isdigit(static_cast<uint8_t>(in_[end]))) {
        ++end;
      }
      return end > begin;
    };
    bool valid = digits();
    bool fixed = true;
    if (valid && end < in_.size() && in_[end] == ',') {
      fixed = false;
      ++end;
      digits();
    }
    if (!valid || end >= in_.size() || in_[end] != '}') {
      return Refuse("a brace that is no interval");
    }
    ++end;
    // Ruby's syntax reads these two as quantifiers of the interval.
    char after = end < in_.size() ? in_[end] : ' ';
    if (after == '+' || (fixed && after == '?')) {
      return Refuse("a quantifier after an interval");
    }
    Copy(end - at_);
    return absl::OkStatus();
  }

  absl::Status Class() {
    Copy(1);
    if (Looking("^")) {
      Copy(1);
    }
    if (Looking("]")) {
      return Refuse("a class that begins with ']'");
    }
    while (at_ < in_.size() && in_[at_] != ']') {
      if (in_[at_] == '[') {
        return Refuse("a class inside a class");
      }
      if (Looking("&&")) {
        return Refuse("an intersection of classes");
      }
      if (in_[at_] == '\\') {
        GLM_RETURN_IF_ERROR(Escape(/*in_class=*/true));
      } else {
        Copy(1);
      }
    }
    if (at_ >= in_.size()) {
      return Refuse("a class without end");
    }
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status Escape(bool in_class) {
    char kind = at_ + 1 < in_.size() ? in_[at_ + 1] : '\0';
    switch (kind) {
      case 'r':
      case 'n':
      case 't':
      case 'f':
        Copy(2);
        return absl::OkStatus();
      case 'v':
        out_ += "\\x{B}";
        at_ += 2;
        return absl::OkStatus();
      case 's':
        return Set(2, in_class, /*negated=*/false, RangeList(kSpaces));
      case 'S':
        return Set(2, in_class, /*negated=*/false, NonSpaceList());
      case 'p':
      case 'P':
        return Property(in_class);
      case 'x':
      case 'u':
        return Hexadecimal(kind);
      default:
        break;
    }
    if (kind > 0x20 && kind < 0x7F &&
        !std::isalnum(static_cast<uint8_t>(kind))) {
      Copy(2);
      return absl::OkStatus();
    }
    return Refuse(absl::StrCat("the escape '\\", std::string(1, kind), "'"));
  }

  // Writes a set of characters in place of an escape of `size` bytes.
  absl::Status Set(size_t size, bool in_class, bool negated,
                   const std::string& list) {
    at_ += size;
    if (!in_class) {
      absl::StrAppend(&out_, negated ? "[^" : "[", list, "]");
      return absl::OkStatus();
    }
    if (negated) {
      return Refuse("a negated property inside a class");
    }
    if (Looking("-") && in_.substr(at_, 2) != "-]") {
      return Refuse("a range that begins with a set");
    }
    out_ += list;
    return absl::OkStatus();
  }

  absl::Status Property(bool in_class) {
    size_t end = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' ||
        end == std::string_view::npos) {
      return Refuse("a property without braces");
    }
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    if (!IsGeneralCategory(name)) {
      return Refuse(absl::StrCat("the property '",
                                 std::string(name.substr(0, 40)), "'"));
    }
    bool negated = in_[at_ + 1] == 'P';
    bool extended = with_newer_ && (name == "L" || name == "N");
    if (!in_class && !extended) {
      Copy(end + 1 - at_);  // runs faster than a class of one property
      return absl::OkStatus();
    }
    return Set(end + 1 - at_, in_class, negated,
               PropertyList(name, with_newer_));
  }

  absl::Status Hexadecimal(char kind) {
    size_t begin = at_ + 2;
    size_t end = begin;
    bool braces = kind == 'x' && in_.substr(begin, 1) == "{";
    size_t digits = kind == 'u' ? 4 : braces ? 6 : 2;
    begin += braces;
    end = begin;
    while (end < in_.size() && end - begin < digits &&
           std::isxdigit(static_cast<uint8_t>(in_[end]))) {
      ++end;
    }
    bool closed = !braces || (end < in_.size() && in_[end] == '}');
    if (end == begin || !closed || (!braces && end - begin != digits)) {
      return Refuse("a malformed hexadecimal escape");
    }
    absl::StrAppend(&out_, "\\x{", std::string(in_.substr(begin, end - begin)),
                    "}");
    at_ = end + braces;
    return absl::OkStatus();
  }

  std::string_view in_;
  bool with_newer_;
  size_t at_ = 0;
  std::string out_;
};

bool Contains(std::span<const CodePointRange> ranges, char32_t c) {
  auto after = std::upper_bound(
      ranges.begin(), ranges.end(), c,
      [](char32_t value, CodePointRange range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

}  // namespace

absl::StatusOr<TranslatedPattern> TranslateSplitPattern(
    std::string_view oniguruma) {
  if (ValidUtf8Prefix(oniguruma) != oniguruma.size()) {
    return absl::InvalidArgumentError("the split regex is not valid UTF-8");
  }
  TranslatedPattern result;
  GLM_ASSIGN_OR_RETURN(result.full, Translator(oniguruma, true).Run());
  GLM_ASSIGN_OR_RETURN(result.common, Translator(oniguruma, false).Run());
  return result;
}

bool HasNewerLetterOrNumber(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    // The first newer code point is U+1C89; of three bytes only those begun by
    // E1 and EA matter.
    uint8_t lead = static_cast<uint8_t>(text[position]);
    if (lead != 0xE1 && lead != 0xEA && lead < 0xF0) {
      ++position;
      continue;
    }
    char32_t c = NextCodePoint(text, position);
    if (Contains(kNewerLetters, c) || Contains(kNewerNumbers, c)) {
      return true;
    }
  }
  return false;
}

}  // namespace glm::text
