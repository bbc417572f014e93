// A small validator of JSON Schema for tests: written from the standard, not
// from the compiler of grammars.
#ifndef GLM_RUNTIME_GRAMMAR_SCHEMA_CHECK_TEST_FILES_H_
#define GLM_RUNTIME_GRAMMAR_SCHEMA_CHECK_TEST_FILES_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "runtime/text/utf8.h"

namespace glm::grammar {

using TestJson = nlohmann::ordered_json;

class SchemaCheck {
 public:
  explicit SchemaCheck(const TestJson& root) : root_(root) {}

  bool Holds(const TestJson& value) const { return Holds(root_, value); }

 private:
  static bool IsType(const TestJson& value, const std::string& type) {
    if (type == "integer") {
      return value.is_number_integer() ||
             (value.is_number_float() &&
              std::floor(value.get<double>()) == value.get<double>());
    }
    if (type == "number") {
      return value.is_number();
    }
    static const char* const kNames[] = {"null", "object", "array", "string",
                                         "boolean"};
    auto index = static_cast<size_t>(value.type());
    return index < 5 && type == kNames[index];
  }

  static bool Matches(const std::string& text, const std::string& pattern) {
    return std::regex_search(
        Wide(text), std::wregex(Wide(pattern), std::regex::ECMAScript));
  }

  static std::wstring Wide(const std::string& text) {
    std::wstring wide;
    for (size_t at = 0; at < text.size();) {
      wide += static_cast<wchar_t>(text::NextCodePoint(text, at));
    }
    return wide;
  }

  bool Holds(const TestJson& schema, const TestJson& value) const {
    if (schema.is_boolean()) {
      return schema.get<bool>();
    }
    for (const auto& [key, arg] : schema.items()) {
      if (!HoldsKeyword(schema, key, arg, value)) {
        return false;
      }
    }
    return true;
  }

  bool HoldsKeyword(const TestJson& schema, const std::string& key,
                    const TestJson& arg, const TestJson& value) const {
    if (key == "$ref") {
      auto pointer = arg.get<std::string>().substr(1);
      return Holds(root_.at(TestJson::json_pointer(pointer)), value);
    }
    if (key == "type") {
      if (arg.is_string()) {
        return IsType(value, arg);
      }
      bool any = false;
      for (const auto& type : arg) {
        any |= IsType(value, type);
      }
      return any;
    }
    if (key == "enum") {
      return std::find(arg.begin(), arg.end(), value) != arg.end();
    }
    if (key == "const") {
      return arg == value;
    }
    if (key == "anyOf" || key == "oneOf" || key == "allOf") {
      size_t holding = 0;
      for (const auto& one : arg) {
        holding += Holds(one, value) ? 1 : 0;
      }
      return key == "allOf" ? holding == arg.size() : holding > 0;
    }
    return (!value.is_number() || HoldsNumber(key, arg, value)) &&
           (!value.is_string() || HoldsString(key, arg, value)) &&
           (!value.is_array() || HoldsArray(schema, key, arg, value)) &&
           (!value.is_object() || HoldsObject(schema, key, arg, value));
  }

  static bool HoldsNumber(const std::string& key, const TestJson& arg,
                          const TestJson& value) {
    return !(key == "minimum" && value < arg) &&
           !(key == "maximum" && value > arg) &&
           !(key == "exclusiveMinimum" && value <= arg) &&
           !(key == "exclusiveMaximum" && value >= arg);
  }

  static bool HoldsString(const std::string& key, const TestJson& arg,
                          const TestJson& value) {
    const auto& text = value.get_ref<const std::string&>();
    auto length = std::count_if(text.begin(), text.end(),
                                [](char c) { return (c & 0xC0) != 0x80; });
    if (key == "format") {
      if (arg == "date-time") {
        return Matches(text,
                       "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?"
                       "(Z|[+-]\\d\\d:\\d\\d)$");
      }
      return arg != "uuid" ||
             Matches(text,
                     "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$");
    }
    return !(key == "minLength" && length < arg) &&
           !(key == "maxLength" && length > arg) &&
           !(key == "pattern" && !Matches(text, arg));
  }

  bool HoldsArray(const TestJson& schema, const std::string& key,
                  const TestJson& arg, const TestJson& value) const {
    if (key == "minItems" || key == "maxItems") {
      return key == "minItems" ? value.size() >= arg : value.size() <= arg;
    }
    size_t prefix =
        schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (size_t i = 0; i < value.size(); ++i) {
      if ((key == "prefixItems" && i < prefix && !Holds(arg[i], value[i])) ||
          (key == "items" && i >= prefix && !Holds(arg, value[i]))) {
        return false;
      }
    }
    return true;
  }

  bool HoldsObject(const TestJson& schema, const std::string& key,
                   const TestJson& arg, const TestJson& value) const {
    if (key == "minProperties" || key == "maxProperties") {
      return key == "minProperties" ? value.size() >= arg : value.size() <= arg;
    }
    if (key == "required") {
      for (const auto& name : arg) {
        if (!value.contains(name.get<std::string>())) {
          return false;
        }
      }
    }
    for (const auto& [name, item] : value.items()) {
      bool named =
          schema.contains("properties") && schema["properties"].contains(name);
      if ((key == "properties" && named && !Holds(arg[name], item)) ||
          (key == "additionalProperties" && !named && !Holds(arg, item))) {
        return false;
      }
    }
    return true;
  }

  const TestJson& root_;
};

// Nothing that is not JSON, and no key twice in one object.
inline bool IsCleanJson(const std::string& text) {
  std::vector<std::set<std::string>> open;
  bool twice = false;
  auto watch = [&](int, TestJson::parse_event_t event, TestJson& value) {
    if (event == TestJson::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == TestJson::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == TestJson::parse_event_t::key) {
      twice |= !open.back().insert(value.get<std::string>()).second;
    }
    return true;
  };
  return !TestJson::parse(text, watch, false).is_discarded() && !twice;
}

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_SCHEMA_CHECK_TEST_FILES_H_
