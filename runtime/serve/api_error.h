// Errors as clients of OpenAI's API expect them: an HTTP status and
//
//   {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}
//
// Inside, an error is an absl::Status whose payloads may name the parameter and
// the code; the status code alone decides the rest:
//
//   kInvalidArgument    400 invalid_request_error  invalid_value
//   kUnimplemented      400 invalid_request_error  unsupported_parameter
//   kOutOfRange         400 invalid_request_error  context_length_exceeded
//   kUnauthenticated    401 authentication_error   invalid_api_key
//   kNotFound           404 invalid_request_error  not_found
//   kResourceExhausted  429 rate_limit_error       queue_full
//   kUnavailable        503 server_error           unavailable
//   kCancelled          503 server_error           cancelled
//   others              500 server_error           internal_error
#ifndef GLM_RUNTIME_SERVE_API_ERROR_H_
#define GLM_RUNTIME_SERVE_API_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/serve/http_exchange.h"

namespace glm::serve {

struct ApiError {
  int http_status = 500;
  std::string message;
  std::string type;
  std::string param;  // empty: null
  std::string code;
};

// `param` is a path such as "messages[2].content"; empty: none.
absl::Status InvalidField(std::string_view param, std::string_view message,
                          std::string_view code = "invalid_value");
// What OpenAI has and this server has not.
absl::Status UnsupportedField(std::string_view param, std::string_view message);

absl::Status WithCode(absl::Status status, std::string_view code);
absl::Status WithParam(absl::Status status, std::string_view param);

ApiError ApiErrorOf(const absl::Status& status);

// Of what the transport refuses: 404, 405, 408, 413, ...
ApiError ApiErrorOf(int http_status, std::string_view message);

// {"error": {...}}
std::string ErrorJson(const ApiError& error);

// With Retry-After where trying again helps, Allow and WWW-Authenticate where
// they belong.
HttpResponse ErrorResponse(const ApiError& error);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_API_ERROR_H_
