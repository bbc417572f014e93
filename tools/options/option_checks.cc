#include "tools/options/option_checks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace glm::tools {
namespace {

// All of `text` as a number; false when it is none.
template <typename T>
bool ParseNumber(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// Digits that are read as decimal by all who read them.
bool Decimal(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string::npos &&
         (text.size() == 1 || text[0] != '0');
}

// 10 for K, KB and KiB, and so on; -1: there is no such unit.
int UnitBits(std::string_view unit) {
  std::string upper;
  for (const char c : unit) {
    upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  if (upper.empty() || upper == "B") return 0;
  const size_t power = std::string_view("KMGTPE").find(upper[0]);
  const std::string rest = upper.substr(1);
  if (power == std::string::npos ||
      !(rest.empty() || rest == "B" || rest == "IB")) {
    return -1;
  }
  return 10 * (static_cast<int>(power) + 1);
}

// Letters to add, leave out or change, from one word to the other.
size_t Distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t corner = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t change = corner + (from[i] != to[j]);
      corner = row[j + 1];
      row[j + 1] = std::min({change, corner + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

CLI::Validator WholeNumber(uint64_t low, uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        uint64_t value = 0;
        if (Decimal(text) && ParseNumber(text, value) && value >= low &&
            value <= high) {
          return "";
        }
        return absl::StrCat("'", text, "': expected a whole number from ", low,
                            " to ", high);
      },
      "N");
}

CLI::Validator NumberIn(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        double value = 0;
        if (ParseNumber(text, value) && value >= low && value <= high) {
          return "";
        }
        return absl::StrCat("'", text, "': expected a number from ", low,
                            " to ", high);
      },
      "FLOAT");
}

CLI::Validator ByteSize() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const size_t digits =
            std::min(text.find_first_not_of("0123456789"), text.size());
        const std::string_view all = text, number = all.substr(0, digits);
        std::string_view unit = all.substr(digits);
        while (unit.starts_with(' ')) unit.remove_prefix(1);
        const int bits = UnitBits(unit);
        if (!Decimal(number) || bits < 0) {
          return absl::StrCat("'", text,
                              "': expected a size as 4096, 512MiB or 14GiB");
        }
        uint64_t value = 0;
        if (!ParseNumber(number, value) ||
            value > ((uint64_t{1} << 63) - 1) >> bits) {
          return absl::StrCat("'", text, "': expected less than 2^63 bytes");
        }
        text = absl::StrCat(value << bits);
        return "";
      },
      "SIZE");
}

std::string EmptyValue(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_expected_min() == 0) continue;  // a flag, or it need not
    const std::string name = option->get_name();
    if (name == "--prompt" || name == "--chat") continue;
    for (const std::string& value : option->results()) {
      if (value.empty()) return name;
    }
  }
  for (const CLI::App* part :
       command.get_subcommands(std::function<bool(const CLI::App*)>())) {
    // Option groups are parts without a name.
    if (part->parsed() || part->get_name().empty()) {
      if (std::string name = EmptyValue(*part); !name.empty()) return name;
    }
  }
  return "";
}

std::string UnknownCommand(const CLI::App& app, int argc,
                           const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const std::string_view word = argv[1];
  std::string all, near;
  for (const CLI::App* command :
       app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    const std::string& name = command->get_name();
    if (name == word) return "";
    absl::StrAppend(&all, all.empty() ? "" : ", ", name);
    const bool begins = word.size() >= 2 && name.starts_with(word);
    if (begins || Distance(word, name) <= (name.size() > 4 ? 2u : 1u)) {
      absl::StrAppend(&near, near.empty() ? "" : " or ", name);
    }
  }
  return absl::StrCat("there is no command '", argv[1], "'",
                      near.empty() ? "" : "; did you mean ", near,
                      near.empty() ? "; " : "? ", "commands: ", all);
}

}  // namespace glm::tools
