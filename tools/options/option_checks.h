// Checks of what a person gives as the value of an option, where those of the
// library let through what would be clamped or wrapped without a word.
//
// Each gives "" or what is wrong, as CLI11 has it.
#ifndef GLM_TOOLS_OPTIONS_OPTION_CHECKS_H_
#define GLM_TOOLS_OPTIONS_OPTION_CHECKS_H_

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace glm::tools {

// Decimal digits alone, a number from `low` to `high`.
CLI::Validator WholeNumber(uint64_t low, uint64_t high);

// A number from `low` to `high`, which NaN and infinity are not.
CLI::Validator NumberIn(double low, double high);

// A whole number of bytes, or of a unit: 512, 14GiB, 64K, whose letters are
// powers of 1024 with and without the i. Below 2^63. For transform(): the text
// becomes the number of bytes.
CLI::Validator ByteSize();

// Names an option of `command`, or of the subcommand of it that was given, with
// an empty value; "": there is none. Nothing has an empty value but texts to
// continue (--prompt, --chat): where a script lost a variable it should be
// told. After parsing.
std::string EmptyValue(const CLI::App& command);

// What is wrong with the word in the place of a subcommand, with the names that
// are like it and all that there are; "": it names one, is an option, or is not
// there.
std::string UnknownCommand(const CLI::App& app, int argc,
                           const char* const* argv);

}  // namespace glm::tools

#endif  // GLM_TOOLS_OPTIONS_OPTION_CHECKS_H_
