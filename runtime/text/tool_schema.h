// `ToolSchemas` are the tools that a request offers, as far as reading a call
// needs them: names, and of each argument the types that its JSON schema
// allows. `ArgumentJson` makes JSON of an argument, which the wire format
// writes as bare text.
//
// It does not validate arguments against a schema.
#ifndef GLM_RUNTIME_TEXT_TOOL_SCHEMA_H_
#define GLM_RUNTIME_TEXT_TOOL_SCHEMA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace glm::text {

// A set of JSON types; the empty set says that nothing is known.
using TypeSet = uint8_t;
inline constexpr TypeSet kNullType = 1 << 0;
inline constexpr TypeSet kIntegerType = 1 << 1;
inline constexpr TypeSet kNumberType = 1 << 2;
inline constexpr TypeSet kBooleanType = 1 << 3;
inline constexpr TypeSet kObjectType = 1 << 4;
inline constexpr TypeSet kArrayType = 1 << 5;
inline constexpr TypeSet kStringType = 1 << 6;

// The types of a tool's arguments.
struct ToolSchema {
  std::map<std::string, TypeSet, std::less<>> declared;
  TypeSet others = 0;  // of keys that are not declared

  TypeSet Types(std::string_view key) const;
};

// Const members may be called from any number of threads.
class ToolSchemas {
 public:
  // `tools` as in ChatRequest (chat_format.h). Of an argument's schema counts
  // the union of `type`, `nullable`, the values of `enum` and `const`, and what
  // `anyOf`, `oneOf`, `allOf` and `$ref` (within `parameters`) lead to. Schemas
  // that lead on for too long or in a circle are read as far as they were.
  //
  // Errors: kInvalidArgument, naming "tools[i]".
  static absl::StatusOr<std::shared_ptr<const ToolSchemas>> Create(
      const std::vector<nlohmann::ordered_json>& tools);

  bool empty() const { return tools_.empty(); }

  // Null when no tool has this name. Without any tools each name has a schema,
  // whose arguments are all strings.
  const ToolSchema* Find(std::string_view name) const;

  // Whether `text`, a name so far that begins with no blank, may still turn
  // out, with blanks after it, as a name that Find knows.
  bool MayBecomeName(std::string_view text) const;

 private:
  ToolSchemas() = default;

  std::map<std::string, ToolSchema, std::less<>> tools_;
  ToolSchema any_;
};

// `text` as JSON. The first of these types that is allowed and fits counts:
// null (in any case), integer, number (digits as they stand), boolean (in any
// case, or 1 and 0), object or array (as PythonJson writes it), string (the
// text as it stands). When none fits, or nothing is known of the types: JSON
// where the text is that (a string only in the first case), or else a string.
// Blanks around anything but a string do not count.
std::string ArgumentJson(std::string_view text, TypeSet types);

// A string as JSON, and the same without its quotes: valid UTF-8 in any pieces
// gives the pieces of one string.
std::string JsonString(std::string_view text);
std::string JsonStringPart(std::string_view text);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_TOOL_SCHEMA_H_
