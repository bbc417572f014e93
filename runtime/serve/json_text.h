// JSON that goes out: compact, and never an exception for a string that is not
// UTF-8 (what is wrong in it becomes U+FFFD).
#ifndef GLM_RUNTIME_SERVE_JSON_TEXT_H_
#define GLM_RUNTIME_SERVE_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace glm::serve {

inline std::string JsonText(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_JSON_TEXT_H_
