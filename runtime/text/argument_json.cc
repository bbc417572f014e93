#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/chat_markers.h"
#include "runtime/text/python_json.h"
#include "runtime/text/tool_schema.h"

namespace glm::text {
namespace {

using nlohmann::ordered_json;

// The one JSON value that `text` is. It is read as the element of an array: so
// its depth leaves room for the object of the arguments, and a byte order mark
// or a NUL, which the parser takes at the borders of a text, is an error.
std::optional<ordered_json> Parse(std::string_view text) {
  auto array = ParseJson(absl::StrCat("[", std::string(text), "]"));
  if (!array.ok() || array->size() != 1) {
    return std::nullopt;
  }
  return std::move((*array)[0]);
}

bool IsInteger(const ordered_json& value) {
  return value.is_number_integer() || value.is_binary();
}

bool IsNumber(const ordered_json& value) {
  return value.is_number() || value.is_binary();
}

// Numbers keep the text that they were read from.
std::string Write(const ordered_json& value, std::string_view text) {
  return IsNumber(value) ? std::string(text) : PythonJson(value);
}

// A whole number that was written with a fraction or an exponent.
std::optional<std::string> AsInteger(const ordered_json& value) {
  constexpr double kExact = 1LL << 53;
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) >= kExact) {
    return std::nullopt;
  }
  return absl::StrCat(static_cast<int64_t>(number));
}

}  // namespace

std::string JsonString(std::string_view text) {
  return PythonJson(ordered_json(std::string(text)));
}

std::string JsonStringPart(std::string_view text) {
  std::string quoted = JsonString(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string ArgumentJson(std::string_view text, TypeSet types) {
  if (types == kStringType) {
    return JsonString(text);
  }
  const std::string_view trimmed = Trim(text);
  const std::string word = absl::AsciiStrToLower(std::string(trimmed));
  if ((types & kNullType) && word == "null") {
    return word;
  }
  const std::optional<ordered_json> value = Parse(trimmed);
  if (value && (types & kIntegerType)) {
    if (IsInteger(*value)) return std::string(trimmed);
    auto integer = AsInteger(*value);
    if (integer && !(types & (kNumberType | kStringType))) return *integer;
  }
  if (value && (types & kNumberType) && IsNumber(*value)) {
    return std::string(trimmed);
  }
  if (types & kBooleanType) {
    if (word == "true" || word == "1") return "true";
    if (word == "false" || word == "0") return "false";
  }
  if (value && (((types & kObjectType) && value->is_object()) ||
                ((types & kArrayType) && value->is_array()))) {
    return PythonJson(*value);
  }
  const bool fits_any = !(types & kStringType);
  if (value && fits_any && (types != 0 || !value->is_string())) {
    return Write(*value, trimmed);
  }
  return JsonString(text);
}

}  // namespace glm::text
