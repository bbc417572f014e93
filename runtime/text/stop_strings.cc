#include "runtime/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/utf8.h"

namespace glm::text {

absl::StatusOr<StopStrings> StopStrings::Create(std::vector<std::string> stop) {
  StopStrings result;
  for (size_t i = 0; i < stop.size(); ++i) {
    std::string& text = stop[i];
    if (text.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("stop[", i, "] is empty; leave it out"));
    }
    if (ValidUtf8Prefix(text) != text.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "stop[", i, "] is not UTF-8 at byte ", ValidUtf8Prefix(text),
          ", so that no text can hold it; send whole characters"));
    }
    std::vector<size_t> borders(text.size(), 0);
    for (size_t at = 1, border = 0; at < text.size(); ++at) {
      while (border > 0 && text[at] != text[border]) {
        border = borders[border - 1];
      }
      border += text[at] == text[border];
      borders[at] = border;
    }
    result.patterns_.push_back({std::move(text), std::move(borders)});
  }
  return result;
}

void StopStrings::Advance(Pattern& pattern, char byte) {
  while (pattern.matched > 0 && byte != pattern.text[pattern.matched]) {
    pattern.matched = pattern.borders[pattern.matched - 1];
  }
  pattern.matched += byte == pattern.text[pattern.matched];
}

bool StopStrings::Push(std::string_view text, std::string& out) {
  if (patterns_.empty()) {
    out += text;
    return false;
  }
  for (char byte : text) {
    held_.push_back(byte);
    size_t met = 0;
    for (Pattern& pattern : patterns_) {
      Advance(pattern, byte);
      if (pattern.matched == pattern.text.size()) {
        met = std::max(met, pattern.matched);
      }
    }
    if (met > 0) {
      out.append(held_, 0, held_.size() - met);
      held_.clear();
      return true;
    }
  }
  size_t keep = 0;
  for (const Pattern& pattern : patterns_) {
    keep = std::max(keep, pattern.matched);
  }
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopStrings::Flush(std::string& out) {
  out += held_;
  held_.clear();
  for (Pattern& pattern : patterns_) {
    pattern.matched = 0;
  }
}

}  // namespace glm::text
