// Server-sent events, as OpenAI's clients read them.
#ifndef GLM_RUNTIME_SERVE_SSE_H_
#define GLM_RUNTIME_SERVE_SSE_H_

#include <string>
#include <string_view>

namespace glm::serve {

inline constexpr char kSseContentType[] = "text/event-stream; charset=utf-8";
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";
// A comment, which clients skip.
inline constexpr std::string_view kSseKeepAlive = ": keep-alive\n\n";

// `json` holds no line breaks.
inline std::string SseEvent(std::string_view json) {
  return std::string("data: ").append(json).append("\n\n");
}

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_SSE_H_
