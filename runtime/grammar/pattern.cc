#include "runtime/grammar/pattern.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/pattern_classes.h"
#include "runtime/grammar/pattern_nodes.h"
#include "runtime/text/utf8.h"

namespace glm::grammar {
namespace {

struct Part {
  uint32_t first;
  uint32_t last;  // nothing leads away from it yet
};

class Parser {
 public:
  Parser(std::string_view pattern, PatternWork& work)
      : pattern_(pattern), work_(work) {}

  absl::StatusOr<CodePointSet> Parse() {
    // Counted repetitions read their text once for each copy.
    if (pattern_.size() > kMaxPatternBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the pattern has ", pattern_.size(), " bytes, at most ",
                       kMaxPatternBytes, " are taken"));
    }
    if (text::ValidUtf8Prefix(pattern_) != pattern_.size()) {
      return Bad("is not valid UTF-8");
    }
    uint32_t first = Add();
    last_ = Add();
    while (true) {
      GLM_RETURN_IF_ERROR(ParseOutermost(first));
      if (!Take('|')) {
        break;
      }
    }
    if (at_ < pattern_.size()) {
      return Bad("has a ) too many");
    }
    return WithoutEmptySteps(nodes_, first, last_, work_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  absl::Status Bad(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("the pattern ", std::string(what), " at byte ", at_));
  }

  bool Peek(char c) const {
    return at_ < pattern_.size() && pattern_[at_] == c;
  }
  bool Take(char c) {
    bool is = Peek(c);
    at_ += is ? 1 : 0;
    return is;
  }

  // Past the limit all new nodes are one; Check() tells.
  uint32_t Add() {
    if (nodes_.size() >= kMaxPatternNodes) {
      too_many_ = true;
      return 0;
    }
    nodes_.emplace_back();
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  absl::Status Check() const {
    if (work_.exhausted()) return TooManySteps();
    return too_many_ ? absl::ResourceExhaustedError(absl::StrCat(
                           "the pattern needs more than ", kMaxPatternNodes,
                           " states or ", kMaxPatternEdges,
                           " edges; lower its repetitions"))
                     : absl::OkStatus();
  }

  Part AddRanges(const Ranges& ranges) {
    Part part{Add(), Add()};
    edges_ += ranges.size();
    too_many_ |= edges_ > kMaxPatternEdges;
    for (auto [low, high] : ranges) {
      nodes_[part.first].edges.push_back({low, high, part.last});
    }
    return part;
  }

  void Join(uint32_t from, uint32_t to) { nodes_[from].empty.push_back(to); }

  // One alternative of the whole pattern, with its anchors.
  absl::Status ParseOutermost(uint32_t first) {
    uint32_t begin = Add();
    Join(first, begin);
    if (!Take('^')) {
      nodes_[begin].edges.push_back({0, kMaxCodePoint, begin});
    }
    uint32_t body = Add();
    Join(begin, body);
    GLM_ASSIGN_OR_RETURN(Part part, ParseSequence());
    Join(body, part.first);
    uint32_t end = Add();
    Join(part.last, end);
    if (!Take('$')) {
      nodes_[end].edges.push_back({0, kMaxCodePoint, end});
    } else if (at_ < pattern_.size() && !Peek('|')) {
      return Bad("has $ elsewhere than at its end, which is not supported,");
    }
    Join(end, last_);
    return Check();
  }

  absl::StatusOr<Part> ParseAlternatives() {
    Part all{Add(), Add()};
    do {
      GLM_ASSIGN_OR_RETURN(Part part, ParseSequence());
      Join(all.first, part.first);
      Join(part.last, all.last);
    } while (Take('|'));
    return all;
  }

  absl::StatusOr<Part> ParseSequence() {
    uint32_t first = Add();
    Part all{first, first};
    while (at_ < pattern_.size() && !Peek('|') && !Peek(')') &&
           !(Peek('$') && depth_ == 0)) {
      GLM_ASSIGN_OR_RETURN(Part part, ParseRepeated());
      GLM_RETURN_IF_ERROR(Check());
      Join(all.last, part.first);
      all.last = part.last;
    }
    return all;
  }

  absl::StatusOr<Part> ParseRepeated() {
    size_t begin = at_;
    GLM_ASSIGN_OR_RETURN(Part part, ParseAtom());
    uint32_t min = 1;
    uint32_t max = 1;
    GLM_ASSIGN_OR_RETURN(bool repeats, ParseCount(min, max));
    if (!repeats) {
      return part;
    }
    size_t end = at_;
    Part all{Add(), Add()};
    uint32_t last = all.first;
    uint32_t copies = max == kNone ? std::max(min, 1u) : max;
    for (uint32_t i = 0; i < copies; ++i) {
      if (i > 0) {  // the same text once more, for nodes of its own
        at_ = begin;
        GLM_ASSIGN_OR_RETURN(part, ParseAtom());
        GLM_RETURN_IF_ERROR(Check());
      }
      if (i >= min) {
        Join(last, all.last);
      }
      Join(last, part.first);
      last = Add();
      Join(part.last, last);
    }
    if (max == kNone) {
      Join(last, part.first);
    }
    Join(last, all.last);
    at_ = end;
    return all;
  }

  absl::StatusOr<bool> ParseCount(uint32_t& min, uint32_t& max) {
    if (Take('*')) {
      min = 0;
      max = kNone;
    } else if (Take('+')) {
      max = kNone;
    } else if (Take('?')) {
      min = 0;
    } else if (Take('{')) {
      GLM_ASSIGN_OR_RETURN(min, ParseNumber());
      max = min;
      if (Take(',')) {
        max = kNone;
        if (!Peek('}')) {
          GLM_ASSIGN_OR_RETURN(max, ParseNumber());
        }
      }
      if (!Take('}') || min > max) {
        return Bad("has a wrong {m,n}");
      }
    } else {
      return false;
    }
    Take('?');
    if (Peek('*') || Peek('+') || Peek('?') || Peek('{')) {
      return Bad("repeats a repetition");
    }
    return true;
  }

  absl::StatusOr<uint32_t> ParseNumber() {
    size_t begin = at_;
    uint32_t number = 0;
    while (at_ < pattern_.size() && pattern_[at_] >= '0' &&
           pattern_[at_] <= '9') {
      number = std::min<uint32_t>(number * 10 + (pattern_[at_++] - '0'),
                                  kMaxPatternNodes);
    }
    if (at_ == begin) {
      return Bad("has no number in {m,n}");
    }
    return number;
  }

  absl::StatusOr<Part> ParseAtom() {
    work_.Add(1);
    if (Take('(')) {
      return ParseGroup();
    }
    if (Take('[')) {
      GLM_ASSIGN_OR_RETURN(Ranges ranges, ParseClass());
      return AddRanges(ranges);
    }
    if (Take('.')) {
      return AddRanges(AnyButLineEnds());
    }
    if (Peek('^') || Peek('$')) {
      return Bad("has ^ or $ inside, which is not supported,");
    }
    if (Peek('*') || Peek('+') || Peek('?') || Peek('{') || Peek('}') ||
        Peek(']')) {
      return Bad("has a special character that needs a \\ before it");
    }
    GLM_ASSIGN_OR_RETURN(Ranges ranges, ParseCharacter());
    return AddRanges(ranges);
  }

  absl::StatusOr<Part> ParseGroup() {
    if (Take('?')) {
      bool named = Peek('<') && at_ + 1 < pattern_.size() &&
                   pattern_[at_ + 1] != '=' && pattern_[at_ + 1] != '!';
      if (named) {
        size_t close = pattern_.find('>', at_);
        at_ = close == std::string_view::npos ? pattern_.size() : close + 1;
      } else if (!Take(':')) {
        return Bad("looks ahead or behind, which is not supported,");
      }
    }
    if (++depth_ > kMaxPatternDepth) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the pattern nests more than ", kMaxPatternDepth,
                       " groups; write it flatter"));
    }
    GLM_ASSIGN_OR_RETURN(Part part, ParseAlternatives());
    --depth_;
    if (!Take(')')) {
      return Bad("lacks a )");
    }
    return part;
  }

  absl::StatusOr<Ranges> ParseClass() {
    bool negated = Take('^');
    Ranges all;
    while (!Take(']')) {
      if (at_ >= pattern_.size()) {
        return Bad("lacks a ]");
      }
      GLM_ASSIGN_OR_RETURN(Ranges low, ParseCharacter());
      bool is_range =
          Peek('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        all.insert(all.end(), low.begin(), low.end());
        continue;
      }
      Take('-');
      GLM_ASSIGN_OR_RETURN(Ranges high, ParseCharacter());
      if (low.size() != 1 || low[0].first != low[0].second ||
          high.size() != 1 || high[0].first != high[0].second ||
          low[0].first > high[0].first) {
        return Bad("has a wrong range in [ ]");
      }
      all.push_back({low[0].first, high[0].first});
    }
    return negated ? Complement(std::move(all)) : all;
  }

  // A literal or an escape, inside [ ] or not.
  absl::StatusOr<Ranges> ParseCharacter() {
    if (at_ >= pattern_.size()) {
      return Bad("ends too early");
    }
    work_.Add(1);
    uint32_t c = text::NextCodePoint(pattern_, at_);
    if (c != '\\') {
      return Ranges{{c, c}};
    }
    if (at_ >= pattern_.size()) {
      return Bad("ends with \\");
    }
    c = text::NextCodePoint(pattern_, at_);
    if (std::optional<Ranges> ranges = ClassOfEscape(c)) {
      return *ranges;
    }
    static constexpr std::string_view kLetters = "tnvfr0";
    static constexpr std::string_view kMeant("\t\n\v\f\r\0", 6);
    if (c < 0x80 && kLetters.find(static_cast<char>(c)) != kLetters.npos) {
      auto meant =
          static_cast<uint32_t>(kMeant[kLetters.find(static_cast<char>(c))]);
      return Ranges{{meant, meant}};
    }
    if (c == 'x') {
      return ParseHex(2);
    }
    if (c == 'u') {
      return ParseHex(4);
    }
    bool punctuation = c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') &&
                       !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (!punctuation) {
      return Bad(
          "has an escape that is not supported (\\b, \\p{...} and references "
          "to groups are not)");
    }
    return Ranges{{c, c}};
  }

  absl::StatusOr<Ranges> ParseHex(size_t digits) {
    bool braces = digits == 4 && Take('{');
    size_t end = braces ? pattern_.find('}', at_) : at_ + digits;
    if (end > pattern_.size() || end == at_ || end - at_ > 6) {
      return Bad("has a wrong \\x or \\u");
    }
    uint32_t value = 0;
    for (; at_ < end; ++at_) {
      static constexpr std::string_view kHex = "0123456789abcdef";
      char c = pattern_[at_];
      size_t digit = kHex.find(c >= 'A' && c <= 'F' ? c + 0x20 : c);
      if (digit == kHex.npos) {
        return Bad("has a wrong \\x or \\u");
      }
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    at_ += braces ? 1 : 0;
    if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
      return Bad("names a surrogate or no code point; use \\u{...}");
    }
    return Ranges{{value, value}};
  }

  std::string_view pattern_;
  PatternWork& work_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::vector<PatternNode> nodes_;
  uint32_t last_ = 0;
  size_t edges_ = 0;
  bool too_many_ = false;
};

}  // namespace

absl::StatusOr<CodePointSet> ParsePattern(std::string_view pattern,
                                          PatternWork& work) {
  return Parser(pattern, work).Parse();
}

}  // namespace glm::grammar
