#include "runtime/text/python_json.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glm::text {
namespace {

using nlohmann::ordered_json;

// Builds a value from parser events. Objects are filled behind the back of
// ordered_json, whose own insertion looks at every key.
class Builder : public nlohmann::json_sax<ordered_json> {
 public:
  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(number_integer_t value) override { return Place(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return Place(value);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") != std::string::npos) {
      return Place(value);
    }
    return Place(ordered_json::binary({text.begin(), text.end()}, kBigInteger));
  }
  bool string(string_t& value) override { return Place(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(ordered_json::object()); }
  bool start_array(size_t) override { return Open(ordered_json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    auto& members =
        level.value.get_ref<ordered_json::object_t&>();
    auto [entry, is_new] = level.keys.try_emplace(name, members.size());
    if (is_new) {
      members.Container::push_back({std::move(name), nullptr});
    }
    level.member = entry->second;
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    error_ = absl::StrCat("not valid JSON at byte ", position);
    return false;
  }

  const std::string& error() const { return error_; }
  ordered_json& result() { return result_; }

 private:
  // A container that is not closed yet.
  struct Level {
    ordered_json value;
    absl::flat_hash_map<std::string, size_t> keys;
    size_t member = 0;  // index of the member whose value comes next
  };

  bool Place(ordered_json value) {
    if (levels_.empty()) {
      result_ = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else {
      auto& members = level.value.get_ref<ordered_json::object_t&>();
      members.begin()[static_cast<ptrdiff_t>(level.member)].second =
          std::move(value);
    }
    return true;
  }

  bool Open(ordered_json container) {
    if (levels_.size() == static_cast<size_t>(kMaxJsonDepth)) {
      error_ = absl::StrCat("nested deeper than ", kMaxJsonDepth, " levels");
      return false;
    }
    levels_.emplace_back();
    levels_.back().value = std::move(container);
    return true;
  }

  bool Close() {
    ordered_json value = std::move(levels_.back().value);
    levels_.pop_back();
    return Place(std::move(value));
  }

  std::vector<Level> levels_;
  ordered_json result_;
  std::string error_ = "not valid JSON";
};

void WriteString(std::string_view text, std::string& out) {
  out.push_back('"');
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          char escape[8];
          std::snprintf(escape, sizeof(escape), "\\u%04x", c);
          out += escape;
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
}

// Python's repr: the shortest digits that read back, positional for exponents
// from -4 to 15, otherwise scientific with at least two exponent digits.
void WriteFloat(double value, std::string& out) {
  std::array<char, 32> text;
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(),
                                    value, std::chars_format::scientific);
  std::string_view scientific(text.data(),
                              static_cast<size_t>(end - text.data()));
  if (scientific.starts_with('-')) {
    out.push_back('-');
    scientific.remove_prefix(1);
  }
  size_t mark = scientific.find('e');
  if (mark == std::string_view::npos) {
    out += scientific == "inf" ? "Infinity" : "NaN";
    return;
  }
  int exponent = 0;
  std::string_view exponent_text = scientific.substr(mark + 1);
  if (exponent_text.starts_with('+')) {
    exponent_text.remove_prefix(1);
  }
  std::from_chars(exponent_text.data(),
                  exponent_text.data() + exponent_text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    out += scientific;
    return;
  }
  std::string digits(1, scientific[0]);
  if (mark > 2) {
    digits += scientific.substr(2, mark - 2);
  }
  if (exponent < 0) {
    absl::StrAppend(&out, "0.",
                    std::string(static_cast<size_t>(-exponent - 1), '0'),
                    digits);
    return;
  }
  size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    absl::StrAppend(&out, digits, std::string(whole - digits.size(), '0'),
                    ".0");
    return;
  }
  absl::StrAppend(&out, digits.substr(0, whole), ".", digits.substr(whole));
}

void Write(const ordered_json& value, std::string& out) {
  const char* separator = "";
  switch (value.type()) {
    case ordered_json::value_t::object:
      out.push_back('{');
      for (const auto& [key, member] :
           value.get_ref<const ordered_json::object_t&>()) {
        out += separator;
        WriteString(key, out);
        out += ": ";
        Write(member, out);
        separator = ", ";
      }
      out.push_back('}');
      return;
    case ordered_json::value_t::array:
      out.push_back('[');
      for (const ordered_json& element : value) {
        out += separator;
        Write(element, out);
        separator = ", ";
      }
      out.push_back(']');
      return;
    case ordered_json::value_t::string:
      WriteString(value.get_ref<const std::string&>(), out);
      return;
    case ordered_json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return;
    case ordered_json::value_t::number_integer:
      absl::StrAppend(&out, value.get<int64_t>());
      return;
    case ordered_json::value_t::number_unsigned:
      absl::StrAppend(&out, value.get<uint64_t>());
      return;
    case ordered_json::value_t::number_float:
      WriteFloat(value.get<double>(), out);
      return;
    case ordered_json::value_t::binary:
      out.append(value.get_binary().begin(), value.get_binary().end());
      return;
    case ordered_json::value_t::null:
    case ordered_json::value_t::discarded:
      out += "null";
      return;
  }
}

}  // namespace

absl::StatusOr<ordered_json> ParseJson(std::string_view text) {
  Builder builder;
  if (!ordered_json::sax_parse(text.begin(), text.end(), &builder)) {
    return absl::InvalidArgumentError(builder.error());
  }
  return std::move(builder.result());
}

std::string PythonJson(const ordered_json& value) {
  std::string out;
  Write(value, out);
  return out;
}

}  // namespace glm::text
