// One TCP connection of HttpServer: reads requests one after the other, hands
// each out as an HttpExchange, writes what that is given, notices who goes.
//
// Includes Asio and Beast: for http_server.cc and http_connection.cc alone.
#ifndef GLM_RUNTIME_SERVE_HTTP_CONNECTION_H_
#define GLM_RUNTIME_SERVE_HTTP_CONNECTION_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/serve/http_server.h"
#include "runtime/serve/http_text.h"

namespace glm::serve {

class Connection;

// Bytes of one body that count against the budget of all bodies, given back
// when this goes, wherever the body has gone meanwhile. Not thread-safe.
class BodyShare {
 public:
  using Held = std::shared_ptr<std::atomic<size_t>>;

  BodyShare() = default;
  explicit BodyShare(Held held) : held_(std::move(held)) {}
  BodyShare(BodyShare&& other) noexcept
      : held_(std::move(other.held_)), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyShare& operator=(BodyShare&& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BodyShare() {
    if (held_ != nullptr) *held_ -= bytes_;
  }

  // False: `bytes` do not fit; what is held stays.
  bool GrowTo(size_t bytes, size_t budget) {
    if (bytes <= bytes_) return true;
    const size_t more = bytes - bytes_;
    if (held_->fetch_add(more) + more > budget) {
      *held_ -= more;
      return false;
    }
    bytes_ = bytes;
    return true;
  }

 private:
  Held held_;  // by all bodies; outlives the server
  size_t bytes_ = 0;
};

// The exchange of one request. The connection detaches it before it goes; from
// then on all that is written is dropped.
class ConnectionExchange : public HttpExchange {
 public:
  ConnectionExchange(Connection& connection, HttpRequest request,
                     BodyShare body_share, bool chunks, bool keep_alive);

  const HttpRequest& request() const override { return request_; }
  void Respond(HttpResponse response) override;
  void BeginStream(HttpResponse head, std::string idle) override;
  bool Write(std::string_view bytes) override;
  void EndStream() override;
  void Break() noexcept override;
  void OnAbort(std::function<void()> callback) override;

  // ---- for the connection, on its thread

  enum class Then {
    kMore,
    kEnd,  // the answer
    kCut,  // too much is waiting for the client
  };
  // What is to be written next, and what comes after it.
  std::string Take(Then& then);
  void Wrote(size_t bytes);
  void WriteIdle();
  // Bytes to the client that change nothing for it, by which its kernel tells
  // whether anybody is there. False: none can be sent now.
  bool Probe();
  // Ends it: drops the callback, or calls it where the answer has not ended.
  void Detach(bool aborted);
  // After this answer the connection is closed.
  void CloseAfter();
  bool keep_alive() const { return keep_alive_; }
  bool ended() const;

 private:
  void Notify();  // with mutex_

  const HttpRequest request_;
  const BodyShare body_share_;  // as long as the body is there
  const bool chunks_;

  mutable std::mutex mutex_;
  Connection* connection_;  // null: detached
  std::string out_;
  size_t unsent_ = 0;  // bytes in out_ and at the connection
  std::string idle_;
  bool begun_ = false;
  bool ended_ = false;
  bool overflowed_ = false;
  bool gone_ = false;
  std::atomic<bool> keep_alive_;
  std::function<void()> on_abort_;
};

// What all connections of a server share.
struct ConnectionShared {
  boost::asio::io_context& io;
  boost::asio::thread_pool& workers;
  const HttpServerOptions& options;
  std::atomic<uint32_t> waiting_for_worker{0};
  std::atomic<bool> stopping{false};
  std::function<void(Connection*)> on_close{};
  BodyShare::Held body_bytes = std::make_shared<std::atomic<size_t>>(0);
};

// All functions on the I/O thread, but Post.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionShared& shared);

  void Start();
  void Refuse();  // too many: 503 and closed
  // Closes now where no request is being answered, else after the answer.
  void StopWhenDone();
  void Close();

  // Since when it has waited for the first byte of a request; empty: it does
  // not wait.
  std::optional<std::chrono::steady_clock::time_point> IdleSince();

  // Any thread: lets the connection write what its exchange has.
  void Post();

  const HttpServerOptions& options() const { return shared_.options; }

 private:
  enum class Phase { kHead, kBody, kAnswer, kLinger, kClosed };

  // Runs `part`; where that throws, the request fails and nothing else does.
  template <typename Part>
  void Guarded(Part part);
  void ReadHead();
  void OnHead(boost::system::error_code error);
  void ReadBody();
  void OnBody(boost::system::error_code error);
  void OnReadError(boost::system::error_code error);
  void Dispatch(const HttpRoute& route);
  // The answer of the transport itself; the connection is closed after it.
  void Fail(int status, std::string_view message);
  void Answer(HttpResponse response, bool keep_alive);
  const HttpRoute* FindRoute(bool& known_path) const;
  std::optional<HttpResponse> Preflight() const;
  void Watch();
  void OnReadable();
  void OnHalfClosed();
  void Flush();
  void OnWritten(boost::system::error_code error, size_t bytes);
  void Finish();
  void Linger();
  void ArmDeadline(std::chrono::milliseconds limit);
  void OnDeadline();
  void ArmIdle();

  boost::asio::ip::tcp::socket socket_;
  ConnectionShared& shared_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer idle_;
  uint64_t deadline_number_ = 0;
  boost::beast::flat_buffer buffer_;
  std::optional<
      boost::beast::http::request_parser<boost::beast::http::string_body>>
      parser_;
  Phase phase_ = Phase::kHead;
  HttpRequest request_;
  BodyShare body_share_;
  std::chrono::steady_clock::time_point idle_since_;
  const HttpRoute* route_ = nullptr;
  std::shared_ptr<ConnectionExchange> exchange_;
  std::string writing_;
  std::string peer_;
  uint64_t written_ = 0;       // bytes, ever
  uint64_t idle_written_ = 0;  // of them, when the idle timer was armed
  bool write_pending_ = false;
  ConnectionExchange::Then then_ = ConnectionExchange::Then::kMore;
  bool watching_ = false;
  bool timed_out_ = false;
  bool unread_ = false;  // the client may still send what nobody reads
  bool stop_when_done_ = false;
  size_t lingered_ = 0;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_HTTP_CONNECTION_H_
