// `HttpServer` is the transport: HTTP/1.1 over TCP with routes, limits, streams
// and clients that go away. It knows nothing of what is served.
//
// One thread does all input and output. Handlers run there, and must return
// soon, or on a few workers (HttpRoute.on_worker). Whoever answers later, from
// any thread, only appends to a bounded queue (HttpExchange).
//
// A client that closes the connection has gone, also while it waits for an
// answer that is not streamed: the exchange's OnAbort is called. One that only
// sends no more (shutdown of its side) gets its answer.
//
//   HttpServerOptions options;
//   options.routes.push_back({"GET", "/health", false, [](auto exchange) {
//     exchange->Respond({.body = "{}"});
//   }});
//   GLM_ASSIGN_OR_RETURN(auto server, HttpServer::Start(std::move(options)));
#ifndef GLM_RUNTIME_SERVE_HTTP_SERVER_H_
#define GLM_RUNTIME_SERVE_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/serve/http_exchange.h"

namespace glm::serve {

struct HttpRoute {
  std::string method;  // a GET answers HEAD too
  std::string path;    // exact; with a * at its end, a prefix
  bool on_worker = false;
  std::function<void(std::shared_ptr<HttpExchange>)> handler;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  uint16_t port = 8080;            // 0: any that is free

  size_t max_head_bytes = 16 << 10;  // request line and headers: 431
  size_t max_body_bytes = 32 << 20;  // 413
  // Of all bodies that are being read or answered, as far as they have come:
  // 503.
  size_t max_body_bytes_together = 256 << 20;
  size_t max_unsent_bytes = 1 << 20;  // of a stream, until it is cut
  uint32_t max_connections = 512;     // beyond: the longest idle one is closed,
                                      // or else the new one, with 503
  uint32_t workers = 2;
  uint32_t max_waiting_for_worker = 256;  // beyond: 503

  // For the whole head (also of the next request of a connection), the whole
  // body, and for each piece that is written.
  std::chrono::milliseconds head_timeout{30'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{30'000};
  std::chrono::milliseconds idle_interval{15'000};  // of BeginStream's `idle`

  // The origin that pages may call from, or "*"; empty: none (CORS off).
  std::string cors_origin;

  std::vector<HttpRoute> routes;

  // Looks at a request whose body has not been read; a response refuses it.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> check_head;

  // The answer where the transport itself refuses. `request` has what was
  // understood of it. Required.
  std::function<HttpResponse(int status, std::string_view message,
                             const HttpRequest& request)>
      error_response;
};

// Thread-safe.
class HttpServer {
 public:
  // Listens when it returns. Errors: kInvalidArgument (host is no address),
  // kUnavailable (the port is in use, or may not be used).
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      HttpServerOptions options);
  virtual ~HttpServer() = default;  // Stop(0)

  virtual uint16_t port() const = 0;

  // Connections that are open now.
  virtual uint32_t connections() const = 0;

  // Accepts no more, closes connections that wait for a request, lets the
  // others end their answers for `grace`, and cuts what is left. Handlers that
  // run are waited for. May be called again; does nothing then.
  virtual void Stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_HTTP_SERVER_H_
