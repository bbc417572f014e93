//===- JsonText.cpp - JSON from files nobody vouches for ------------------===//

#include "models/glm53/JsonText.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;

namespace glm::glm53 {

/// Deepest nesting of brackets outside strings; stops counting at the limit.
static int depthOf(StringRef text) {
  int depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size() && deepest <= maxJsonDepth; ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

Expected<json::Object> parseJsonText(StringRef text, StringRef name) {
  if (text.size() > maxJsonBytes)
    return createStringError(name + ": " + Twine(text.size()) +
                             " bytes are more than the " + Twine(maxJsonBytes) +
                             " that are allowed");
  if (depthOf(text) > maxJsonDepth)
    return createStringError(name + ": nested more than " +
                             Twine(maxJsonDepth) + " levels deep");
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return createStringError(name +
                             ": not JSON: " + toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return createStringError(name + ": must be a JSON object");
  return std::move(*object);
}

std::string shortText(const json::Value &value) {
  constexpr size_t shown = 60;
  std::string text;
  raw_string_ostream(text) << value;
  if (text.size() > shown)
    text = text.substr(0, shown) + "...";
  return text;
}

} // namespace glm::glm53
