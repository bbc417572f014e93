// Any bytes as the body of the two completion routes: an error in OpenAI's
// shape, or a request that the engine could take. The first byte chooses the
// route.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/serve/api_error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/completion_request.h"
#include "runtime/text/chat_format.h"

namespace {

void Check(const absl::Status& status) {
  const glm::serve::ApiError error = glm::serve::ApiErrorOf(status);
  if (error.http_status != 400 || error.message.empty()) std::abort();
  glm::serve::ErrorJson(error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  const auto body = glm::serve::ParseBody(text);
  if (!body.ok()) {
    Check(body.status());
    return 0;
  }
  if (data[0] % 2 == 0) {
    const auto request = glm::serve::ParseChatRequest(*body, {});
    if (!request.ok()) {
      Check(request.status());
      return 0;
    }
    const auto prompt = glm::text::RenderChat(request->chat);
    if (!prompt.ok()) Check(prompt.status());
    return 0;
  }
  const auto request = glm::serve::ParseCompletionRequest(*body, {});
  if (!request.ok()) Check(request.status());
  return 0;
}
