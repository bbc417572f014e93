#include "runtime/serve/http_text.h"

#include "absl/strings/str_cat.h"

namespace glm::serve {
namespace {

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return status >= 500 ? "Internal Server Error" : "Error";
  }
}

bool HasHeader(const HttpResponse& response, std::string_view name) {
  for (const auto& header : response.headers) {
    if (header.first == name) return true;
  }
  return false;
}

}  // namespace

std::string HttpHead(const HttpResponse& response, BodyFraming framing,
                     bool keep_alive, std::string_view cors_origin) {
  const bool has_body = response.status != 204 && response.status != 304;
  std::string head = absl::StrCat("HTTP/1.1 ", response.status, " ",
                                  std::string(Reason(response.status)), "\r\n");
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  add("Connection", keep_alive ? "keep-alive" : "close");
  if (framing == BodyFraming::kChunked) {
    add("Transfer-Encoding", "chunked");
  } else if (framing == BodyFraming::kLength && has_body) {
    add("Content-Length", absl::StrCat(response.body.size()));
  }
  if (has_body) add("Content-Type", response.content_type);
  if (!HasHeader(response, "Cache-Control")) add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
  if (!cors_origin.empty()) {
    add("Access-Control-Allow-Origin", cors_origin);
    add("Vary", "Origin");
  }
  for (const auto& [name, value] : response.headers) add(name, value);
  return head + "\r\n";
}

void AppendChunk(std::string_view bytes, std::string& out) {
  absl::StrAppend(&out, absl::Hex(bytes.size()), "\r\n");
  out.append(bytes).append("\r\n");
}

}  // namespace glm::serve
