#include "runtime/serve/api_error.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "runtime/serve/json_text.h"

namespace glm::serve {
namespace {

constexpr char kParam[] = "glm/param";
constexpr char kCode[] = "glm/code";
constexpr char kInvalidRequest[] = "invalid_request_error";
constexpr char kServer[] = "server_error";

void SetPayload(absl::Status& status, const char* name,
                std::string_view value) {
  status.SetPayload(name,
                    absl::Cord(absl::string_view(value.data(), value.size())));
}

std::string Payload(const absl::Status& status, const char* name,
                    std::string fallback) {
  const auto found = status.GetPayload(name);
  return found ? std::string(*found) : std::move(fallback);
}

ApiError Plain(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return {400, "", kInvalidRequest, "", "invalid_value"};
    case absl::StatusCode::kUnimplemented:
      return {400, "", kInvalidRequest, "", "unsupported_parameter"};
    case absl::StatusCode::kOutOfRange:
      return {400, "", kInvalidRequest, "", "context_length_exceeded"};
    case absl::StatusCode::kUnauthenticated:
      return {401, "", "authentication_error", "", "invalid_api_key"};
    case absl::StatusCode::kNotFound:
      return {404, "", kInvalidRequest, "", "not_found"};
    case absl::StatusCode::kResourceExhausted:
      return {429, "", "rate_limit_error", "", "queue_full"};
    case absl::StatusCode::kUnavailable:
      return {503, "", kServer, "", "unavailable"};
    case absl::StatusCode::kCancelled:
      return {503, "", kServer, "", "cancelled"};
    default:
      return {500, "", kServer, "", "internal_error"};
  }
}

}  // namespace

absl::Status InvalidField(std::string_view param, std::string_view message,
                          std::string_view code) {
  absl::Status status = absl::InvalidArgumentError(std::string(message));
  SetPayload(status, kCode, code);
  return WithParam(std::move(status), param);
}

absl::Status UnsupportedField(std::string_view param,
                              std::string_view message) {
  return WithParam(absl::UnimplementedError(std::string(message)), param);
}

absl::Status WithCode(absl::Status status, std::string_view code) {
  SetPayload(status, kCode, code);
  return status;
}

absl::Status WithParam(absl::Status status, std::string_view param) {
  if (!param.empty()) SetPayload(status, kParam, param);
  return status;
}

ApiError ApiErrorOf(const absl::Status& status) {
  ApiError error = Plain(status.code());
  error.message = std::string(status.message());
  error.param = Payload(status, kParam, "");
  error.code = Payload(status, kCode, std::move(error.code));
  return error;
}

ApiError ApiErrorOf(int http_status, std::string_view message) {
  ApiError error{http_status, std::string(message), kInvalidRequest, "", ""};
  switch (http_status) {
    case 404:
      error.code = "not_found";
      break;
    case 405:
      error.code = "method_not_allowed";
      break;
    case 408:
      error.code = "timeout";
      break;
    case 413:
      error.code = "body_too_large";
      break;
    case 415:
      error.code = "unsupported_media_type";
      break;
    case 431:
      error.code = "headers_too_large";
      break;
    case 503:
      error.type = kServer;
      error.code = "overloaded";
      break;
    default:
      error.type = http_status < 500 ? kInvalidRequest : kServer;
      error.code = http_status < 500 ? "invalid_http" : "internal_error";
  }
  return error;
}

std::string ErrorJson(const ApiError& error) {
  nlohmann::ordered_json body;
  body["message"] = error.message;
  body["type"] = error.type;
  body["param"] = error.param.empty() ? nlohmann::ordered_json(nullptr)
                                      : nlohmann::ordered_json(error.param);
  body["code"] = error.code;
  return JsonText({{"error", std::move(body)}});
}

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response{.status = error.http_status, .body = ErrorJson(error)};
  if (error.http_status == 429) response.headers = {{"Retry-After", "1"}};
  if (error.http_status == 503) response.headers = {{"Retry-After", "5"}};
  if (error.http_status == 401) {
    response.headers = {{"WWW-Authenticate", "Bearer"}};
  }
  if (error.http_status == 405) {
    response.headers = {{"Allow", "GET, HEAD, POST"}};
  }
  return response;
}

}  // namespace glm::serve
