// The bytes of an HTTP/1.1 answer.
#ifndef GLM_RUNTIME_SERVE_HTTP_TEXT_H_
#define GLM_RUNTIME_SERVE_HTTP_TEXT_H_

#include <string>
#include <string_view>

#include "runtime/serve/http_exchange.h"

namespace glm::serve {

enum class BodyFraming {
  kLength,      // Content-Length
  kChunked,     // a stream
  kUntilClose,  // a stream to a client of HTTP/1.0
};

// Status line and headers with the empty line after them. What is not to be
// kept says so, unless the response has a Cache-Control of its own.
std::string HttpHead(const HttpResponse& response, BodyFraming framing,
                     bool keep_alive, std::string_view cors_origin);

// `bytes`, which must not be empty, as one chunk.
void AppendChunk(std::string_view bytes, std::string& out);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_HTTP_TEXT_H_
