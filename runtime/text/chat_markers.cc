#include "runtime/text/chat_markers.h"

#include <optional>

namespace glm::text {

std::string_view MarkerText(Marker marker) {
  static constexpr std::string_view kTexts[kMarkers] = {
      "",          "<think>",    "</think>",    "<tool_call>", "</tool_call>",
      "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"};
  return kTexts[static_cast<size_t>(marker)];
}

MarkerIds::MarkerIds(const Tokenizer& tokenizer) {
  ids_.fill(-1);
  for (size_t i = 1; i < kMarkers; ++i) {
    std::optional<int32_t> id =
        tokenizer.TokenId(MarkerText(static_cast<Marker>(i)));
    if (id && tokenizer.IsAdded(*id)) {
      ids_[i] = *id;
    }
  }
}

Marker MarkerIds::Of(int32_t id) const {
  if (id >= 0) {
    for (size_t i = 1; i < kMarkers; ++i) {
      if (ids_[i] == id) {
        return static_cast<Marker>(i);
      }
    }
  }
  return Marker::kNone;
}

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view TrimLeft(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) {
    text.remove_prefix(1);
  }
  return text;
}

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && IsBlank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view Trim(std::string_view text) {
  return TrimRight(TrimLeft(text));
}

}  // namespace glm::text
