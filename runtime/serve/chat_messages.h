// The `messages` and `tools` of a chat request, checked.
#ifndef GLM_RUNTIME_SERVE_CHAT_MESSAGES_H_
#define GLM_RUNTIME_SERVE_CHAT_MESSAGES_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/text/chat_format.h"

namespace glm::serve {

// Roles system, developer (as system), user, assistant, tool. Reasoning of an
// assistant's turn may be called reasoning_content or reasoning. Images, video,
// audio and files are refused with their place.
absl::StatusOr<std::vector<text::Message>> ParseMessages(
    const nlohmann::ordered_json& messages);

absl::StatusOr<std::vector<nlohmann::ordered_json>> ParseTools(
    const nlohmann::ordered_json& tools);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_CHAT_MESSAGES_H_
