#include "runtime/serve/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/serve/http_connection.h"

namespace glm::serve {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// After a failed accept (no file descriptors left, mostly).
constexpr std::chrono::milliseconds kAcceptPause{100};

class Server : public HttpServer {
 public:
  explicit Server(HttpServerOptions options)
      : options_(std::move(options)),
        workers_(options_.workers),
        acceptor_(io_),
        pause_(io_),
        guard_(io_.get_executor()),
        shared_{io_, workers_, options_} {
    shared_.on_close = [this](Connection* connection) {
      const std::lock_guard lock(mutex_);
      connections_.erase(connection);
      if (connections_.empty()) none_.notify_all();
    };
  }
  ~Server() override { Stop(std::chrono::milliseconds(0)); }

  absl::Status Listen() {
    error_code error;
    const auto address = net::ip::make_address(options_.host, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", options_.host,
                       "' is no address; give one of this machine, such as "
                       "127.0.0.1, or 0.0.0.0 for all"));
    }
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) {
      acceptor_.listen(net::socket_base::max_listen_connections, error);
    }
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen at ", options_.host, ":", options_.port,
                       ": ", error.message(), "; choose another --port"));
    }
    Accept();
    thread_ = std::thread([this] { RunIo(); });
    return absl::OkStatus();
  }

  uint16_t port() const override { return port_; }

  uint32_t connections() const override {
    const std::lock_guard lock(mutex_);
    return static_cast<uint32_t>(connections_.size());
  }

  void Stop(std::chrono::milliseconds grace) override {
    if (!thread_.joinable()) return;
    net::post(io_, [this] {
      shared_.stopping = true;
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      for (const auto& connection : All()) connection->StopWhenDone();
    });
    {
      std::unique_lock lock(mutex_);
      none_.wait_for(lock, grace, [this] { return connections_.empty(); });
    }
    net::post(io_, [this] {
      for (const auto& connection : All()) connection->Close();
      guard_.reset();
    });
    workers_.join();
    thread_.join();
  }

 private:
  std::vector<std::shared_ptr<Connection>> All() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [raw, connection] : connections_) {
      all.push_back(connection);
    }
    return all;
  }

  // What a handler throws ends neither the thread nor the process.
  void RunIo() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (...) {
        // The rest of what waits is run again.
      }
    }
  }

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](error_code) {
          if (acceptor_.is_open()) Accept();
        });
        return;
      }
      try {
        Add(std::move(socket));
      } catch (...) {
        // No memory for one more; it is closed.
      }
      Accept();
    });
  }

  void Add(tcp::socket socket) {
    auto connection = std::make_shared<Connection>(std::move(socket), shared_);
    bool room = true;
    if (connections() >= options_.max_connections) room = CloseIdle();
    {
      const std::lock_guard lock(mutex_);
      connections_.emplace(connection.get(), connection);
    }
    room ? connection->Start() : connection->Refuse();
  }

  // Closes the connection that has waited longest for a request; false: none
  // waits.
  bool CloseIdle() {
    std::shared_ptr<Connection> longest;
    std::chrono::steady_clock::time_point since;
    for (const auto& connection : All()) {
      const auto idle = connection->IdleSince();
      if (!idle || (longest != nullptr && *idle >= since)) continue;
      longest = connection;
      since = *idle;
    }
    if (longest == nullptr) return false;
    longest->Close();
    return true;
  }

  const HttpServerOptions options_;
  net::io_context io_{1};
  net::thread_pool workers_;
  tcp::acceptor acceptor_;
  net::steady_timer pause_;
  net::executor_work_guard<net::io_context::executor_type> guard_;
  ConnectionShared shared_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable none_;  // no connection is left
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    HttpServerOptions options) {
  auto server = std::make_unique<Server>(std::move(options));
  if (absl::Status status = server->Listen(); !status.ok()) return status;
  return server;
}

}  // namespace glm::serve
