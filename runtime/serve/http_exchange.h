// What the transport hands to whoever answers a request: the request, and one
// way back that does not block. No OpenAI here, and no sockets: tests and
// fuzzers implement `HttpExchange` in memory.
#ifndef GLM_RUNTIME_SERVE_HTTP_EXCHANGE_H_
#define GLM_RUNTIME_SERVE_HTTP_EXCHANGE_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glm::serve {

struct HttpRequest {
  std::string method;  // "POST"
  std::string path;    // as sent, without the query
  std::string peer;    // address of the client
  // Names in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // The first of that name (lower case); empty where there is none.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// One request and its answer: either Respond once, or BeginStream, Write as
// often as wanted, EndStream. What comes after the end, or after the client has
// gone, is dropped. All functions may be called from any thread; none waits for
// the client.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  virtual const HttpRequest& request() const = 0;

  virtual void Respond(HttpResponse response) = 0;

  // Status and headers of an answer of unknown length. While nothing else is
  // written for a while, `idle` is, so that nobody between takes the connection
  // for dead; empty: nothing is.
  virtual void BeginStream(HttpResponse head, std::string idle) = 0;

  // False: the client has gone, or reads so slowly that more is waiting for it
  // than the limit. The connection is then cut, and writing more is useless.
  virtual bool Write(std::string_view bytes) = 0;

  virtual void EndStream() = 0;

  // What makes the answer threw: 500 where none has begun, else the connection
  // is cut, so that nobody takes what there is for a whole answer.
  virtual void Break() noexcept = 0;

  // `callback` is called once, when the client goes before the answer has
  // ended: on the transport's thread, or at once where that has happened. It
  // is dropped when the answer ends.
  virtual void OnAbort(std::function<void()> callback) = 0;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_HTTP_EXCHANGE_H_
