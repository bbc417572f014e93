// JSON as Python's `json` module reads and writes it, which is what the chat
// template of the model relies on: key order kept, the last of equal keys
// counts, `json.dumps(value, ensure_ascii=False)` with ", " and ": ".
//
// Two differences from plain nlohmann::json: integers beyond 64 bits keep their
// digits (ParseJson stores them as binary values of subtype kBigInteger), and
// floats are written as Python's repr writes them (2.5, 1e-07, 1e+16).
#ifndef GLM_RUNTIME_TEXT_PYTHON_JSON_H_
#define GLM_RUNTIME_TEXT_PYTHON_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace glm::text {

inline constexpr uint64_t kBigInteger = 1;
inline constexpr int kMaxJsonDepth = 256;

// Errors: kInvalidArgument with the offset in bytes: not JSON, not UTF-8, more
// than kMaxJsonDepth levels, or a float beyond the range of a double.
absl::StatusOr<nlohmann::ordered_json> ParseJson(std::string_view text);

// `value` must not be nested deeper than ParseJson allows.
std::string PythonJson(const nlohmann::ordered_json& value);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_PYTHON_JSON_H_
