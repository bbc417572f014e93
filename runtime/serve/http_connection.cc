#include "runtime/serve/http_connection.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace glm::serve {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

// Of requests that a client sends before it has the answer to the last one.
constexpr size_t kMaxPipelined = 64 << 10;
// What is read and thrown away so that a client that still sends gets to see
// why it was refused.
constexpr size_t kMaxLinger = 64 << 20;
constexpr std::chrono::milliseconds kLingerTimeout{2'000};
// Until a read that went on over its deadline is cancelled once more.
constexpr std::chrono::milliseconds kCancelAgain{50};

// Of a target in origin form ("/v1/models?x") or in absolute form, as proxies
// send it ("http://host/v1/models?x").
std::string PathOf(const std::string& target) {
  size_t begin = 0;
  const std::string lower = absl::AsciiStrToLower(target.substr(0, 8));
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!std::string_view(lower).starts_with(scheme)) continue;
    begin = target.find_first_of("/?", scheme.size());
    if (begin == std::string::npos || target[begin] == '?') return "/";
  }
  return target.substr(begin, target.find('?', begin) - begin);
}

HttpRequest RequestOf(const http::request_header<http::fields>& head,
                      const std::string& peer) {
  HttpRequest request;
  request.peer = peer;
  request.method = std::string(head.method_string());
  const std::string target(head.target());
  request.path = PathOf(target);
  for (const auto& field : head) {
    request.headers.emplace_back(
        absl::AsciiStrToLower(std::string(field.name_string())),
        std::string(field.value()));
  }
  return request;
}

bool IsJson(std::string_view content_type) {
  const std::string type = absl::AsciiStrToLower(
      std::string(content_type.substr(0, content_type.find(';'))));
  return std::string(absl::StripAsciiWhitespace(type)) == "application/json";
}

}  // namespace

Connection::Connection(net::ip::tcp::socket socket, ConnectionShared& shared)
    : socket_(std::move(socket)),
      shared_(shared),
      deadline_(shared.io),
      idle_(shared.io),
      buffer_(shared.options.max_head_bytes + 2 * kMaxPipelined) {
  error_code ignored;
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
  const auto endpoint = socket_.remote_endpoint(ignored);
  peer_ = endpoint.address().to_string();
}

template <typename Part>
void Connection::Guarded(Part part) {
  try {
    part();
  } catch (...) {
    // Memory, or the system's; the other connections have no part in it.
    try {
      if (phase_ == Phase::kHead || phase_ == Phase::kBody) {
        return Fail(500, "internal error");
      }
    } catch (...) {
      // No memory for an answer either.
    }
    Close();
  }
}

void Connection::Start() {
  Guarded([this] { ReadHead(); });
}

void Connection::Refuse() {
  request_.peer = peer_;
  Fail(503, "too many connections");
}

void Connection::ArmDeadline(std::chrono::milliseconds limit) {
  const uint64_t number = ++deadline_number_;
  deadline_.expires_after(limit);
  deadline_.async_wait([self = shared_from_this(), number](error_code error) {
    if (error || number != self->deadline_number_) return;
    try {
      self->OnDeadline();
    } catch (...) {
      self->Close();  // a read may be under way: no answer
    }
  });
}

void Connection::OnDeadline() {
  if (phase_ == Phase::kHead || phase_ == Phase::kBody) {
    timed_out_ = true;
    error_code ignored;
    socket_.cancel(ignored);
    // A piece that had been read already, and waits in the queue behind this,
    // is not cancelled, and the read goes on after it.
    ArmDeadline(kCancelAgain);
  } else {
    Close();
  }
}

void Connection::ReadHead() {
  phase_ = Phase::kHead;
  timed_out_ = false;
  idle_since_ = std::chrono::steady_clock::now();
  request_ = HttpRequest();
  request_.peer = peer_;
  body_share_ = BodyShare(shared_.body_bytes);
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options().max_head_bytes));
  parser_->body_limit(options().max_body_bytes);
  ArmDeadline(options().head_timeout);
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](error_code error, size_t) {
        self->Guarded([&] { self->OnHead(error); });
      });
}

void Connection::OnReadError(error_code error) {
  if (phase_ == Phase::kClosed) return;
  parser_->get().body() = std::string();
  if (timed_out_) {
    // A connection that was kept alive for nothing needs no answer.
    if (phase_ == Phase::kHead && buffer_.size() == 0 && !parser_->got_some()) {
      return Close();
    }
    return Fail(408, phase_ == Phase::kHead
                         ? "the request's headers did not come in time"
                         : "the request's body did not come in time");
  }
  if (error == http::error::buffer_overflow && phase_ == Phase::kBody) {
    return Fail(400, "the extensions of a chunk of the body are too long");
  }
  if (error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return Fail(431, absl::StrCat("the request's headers are longer than ",
                                  options().max_head_bytes, " bytes"));
  }
  if (error == http::error::body_limit) {
    return Fail(413, absl::StrCat("the request's body is longer than ",
                                  options().max_body_bytes, " bytes"));
  }
  if (error.category() == make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream &&
      error != http::error::partial_message) {
    return Fail(400, absl::StrCat("this is not HTTP/1.1: ", error.message()));
  }
  Close();
}

void Connection::OnHead(error_code error) {
  if (phase_ == Phase::kClosed) return;
  if (error) return OnReadError(error);
  const auto& head = parser_->get();
  request_ = RequestOf(head, peer_);
  const bool has_body =
      parser_->chunked() || parser_->content_length().value_or(0) > 0;
  const auto refuse = [&](HttpResponse response) {
    Answer(std::move(response), !has_body && parser_->keep_alive());
  };
  const auto refuse_as = [&](int status, std::string_view message) {
    refuse(options().error_response(status, message, request_));
  };
  if (head.version() >= 11 && head.count(http::field::host) != 1) {
    return refuse_as(400, "an HTTP/1.1 request has one Host header");
  }
  const std::string expect =
      absl::AsciiStrToLower(std::string(request_.Header("expect")));
  if (!expect.empty() && expect != "100-continue") {
    return refuse_as(417, "the only expectation that is met is 100-continue");
  }
  // Where its body ends is not known, so nothing after it can be read.
  if (head.count(http::field::transfer_encoding) != 0 && !parser_->chunked()) {
    return Answer(
        options().error_response(
            400, "the only transfer encoding taken is chunked", request_),
        false);
  }
  if (auto preflight = Preflight()) return refuse(*std::move(preflight));
  bool known_path = false;
  route_ = FindRoute(known_path);
  if (route_ == nullptr) {
    return known_path
               ? refuse_as(405,
                           absl::StrCat(request_.method, " is not allowed for ",
                                        request_.path))
               : refuse_as(404, absl::StrCat("there is no ", request_.path));
  }
  if (options().check_head) {
    if (auto refused = options().check_head(request_)) {
      return refuse(*std::move(refused));
    }
  }
  if (request_.method == "POST" && !parser_->chunked() &&
      !parser_->content_length()) {
    return Answer(
        options().error_response(
            411, "send the header Content-Length, or chunks", request_),
        false);
  }
  if (has_body) {
    if (!IsJson(request_.Header("content-type"))) {
      return refuse_as(415, "send the header Content-Type: application/json");
    }
    if (!request_.Header("content-encoding").empty()) {
      return refuse_as(415,
                       "compressed bodies are not supported; send it "
                       "without Content-Encoding");
    }
  }
  if (!has_body) return Dispatch(*route_);
  phase_ = Phase::kBody;
  ArmDeadline(options().body_timeout);
  timed_out_ = false;
  parser_->eager(true);
  if (expect.empty()) return ReadBody();
  net::async_write(socket_, net::buffer(kContinue),
                   [self = shared_from_this()](error_code error, size_t) {
                     if (self->phase_ == Phase::kClosed) return;
                     self->Guarded([&] {
                       error ? self->OnReadError(error) : self->ReadBody();
                     });
                   });
}

void Connection::ReadBody() {
  // Piece by piece, so that each counts when it has come.
  http::async_read_some(socket_, buffer_, *parser_,
                        [self = shared_from_this()](error_code error, size_t) {
                          self->Guarded([&] { self->OnBody(error); });
                        });
}

void Connection::OnBody(error_code error) {
  if (phase_ == Phase::kClosed) return;
  if (error) return OnReadError(error);
  if (!body_share_.GrowTo(parser_->get().body().size(),
                          options().max_body_bytes_together)) {
    parser_->get().body() = std::string();
    body_share_ = BodyShare();
    return Fail(503, absl::StrCat("the bodies of all requests together have ",
                                  options().max_body_bytes_together,
                                  " bytes at most; try again later"));
  }
  if (!parser_->is_done()) {
    return timed_out_ ? OnReadError(net::error::operation_aborted) : ReadBody();
  }
  request_.body = std::move(parser_->get().body());
  Dispatch(*route_);
}

const HttpRoute* Connection::FindRoute(bool& known_path) const {
  for (const HttpRoute& route : options().routes) {
    const std::string_view path = route.path;
    const bool matches = path.ends_with('*')
                             ? std::string_view(request_.path)
                                   .starts_with(path.substr(0, path.size() - 1))
                             : request_.path == path;
    if (!matches) continue;
    known_path = true;
    if (route.method == request_.method ||
        (route.method == "GET" && request_.method == "HEAD")) {
      return &route;
    }
  }
  return nullptr;
}

std::optional<HttpResponse> Connection::Preflight() const {
  if (request_.method != "OPTIONS" || options().cors_origin.empty()) {
    return std::nullopt;
  }
  HttpResponse response{.status = 204};
  response.headers = {
      {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
      {"Access-Control-Allow-Headers", "authorization, content-type"},
      {"Access-Control-Max-Age", "600"}};
  return response;
}

void Connection::Fail(int status, std::string_view message) {
  Answer(options().error_response(status, message, request_), false);
}

void Connection::Answer(HttpResponse response, bool keep_alive) {
  ++deadline_number_;
  phase_ = Phase::kAnswer;
  unread_ = !keep_alive;
  exchange_ = std::make_shared<ConnectionExchange>(
      *this, request_, std::move(body_share_), true,
      keep_alive && !stop_when_done_ && !shared_.stopping);
  exchange_->Respond(std::move(response));
}

void Connection::Dispatch(const HttpRoute& route) {
  ++deadline_number_;
  phase_ = Phase::kAnswer;
  unread_ = false;
  const bool keep_alive =
      parser_->keep_alive() && !stop_when_done_ && !shared_.stopping;
  auto exchange = std::make_shared<ConnectionExchange>(
      *this, std::move(request_), std::move(body_share_),
      parser_->get().version() >= 11, keep_alive);
  exchange_ = exchange;
  Watch();
  const auto handle = [exchange, &route] {
    try {
      route.handler(exchange);
    } catch (...) {
      // Memory, at most: nothing here throws by design.
      exchange->Break();
    }
  };
  if (!route.on_worker) return handle();
  if (shared_.waiting_for_worker >= options().max_waiting_for_worker) {
    return exchange->Respond(options().error_response(
        503, "too many requests wait to be read", exchange->request()));
  }
  ++shared_.waiting_for_worker;
  net::post(shared_.workers, [handle, &shared = shared_] {
    --shared.waiting_for_worker;
    if (!shared.stopping) handle();
  });
}

// Whoever waits for an answer and closes the connection is noticed here.
void Connection::Watch() {
  if (watching_) return;
  watching_ = true;
  socket_.async_wait(net::socket_base::wait_read,
                     [self = shared_from_this()](error_code error) {
                       self->watching_ = false;
                       if (error) return;
                       self->Guarded([&] { self->OnReadable(); });
                     });
}

void Connection::OnReadable() {
  if (phase_ != Phase::kAnswer) return;
  char byte;
  const ssize_t there =
      recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (there == 0 && exchange_->ended()) return;  // it may still read
  if (there == 0) return OnHalfClosed();
  if (there < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    return Close();
  }
  if (there > 0) {
    // The next request already. Behind more than there is room for, the end of
    // the connection would not be seen.
    if (buffer_.size() >= kMaxPipelined) return Close();
    error_code error;
    buffer_.commit(socket_.read_some(buffer_.prepare(4096), error));
    if (error) return Close();
  }
  Watch();
}

// The client sends no more. A FIN does not say whether it still reads
// (shutdown) or has gone (close); its kernel does, once it is sent something:
// of a socket that is closed it answers with a reset. So it is sent what an
// answer may hold anyway, the comment of a stream or a 100 Continue before an
// answer, and the reset comes back after one round trip. Who speaks HTTP/1.0
// cannot be asked before the answer begins, and counts as gone.
void Connection::OnHalfClosed() {
  if (!exchange_->Probe()) return Close();
  watching_ = true;
  socket_.async_wait(net::socket_base::wait_error,
                     [self = shared_from_this()](error_code error) {
                       self->watching_ = false;
                       if (!error) self->Close();
                     });
}

std::optional<std::chrono::steady_clock::time_point> Connection::IdleSince() {
  error_code error;
  if (phase_ != Phase::kHead || !parser_ || buffer_.size() > 0 ||
      parser_->got_some() || socket_.available(error) > 0) {
    return std::nullopt;
  }
  return idle_since_;
}

void Connection::Post() {
  net::post(shared_.io, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Guarded([&] { self->Flush(); });
  });
}

void Connection::Flush() {
  if (phase_ != Phase::kAnswer || write_pending_ || exchange_ == nullptr) {
    return;
  }
  writing_ = exchange_->Take(then_);
  if (then_ == ConnectionExchange::Then::kCut) return Close();
  if (writing_.empty()) {
    if (then_ == ConnectionExchange::Then::kEnd) Finish();
    return;
  }
  write_pending_ = true;
  ArmDeadline(options().write_timeout);
  net::async_write(socket_, net::buffer(writing_),
                   [self = shared_from_this()](error_code error, size_t bytes) {
                     self->Guarded([&] { self->OnWritten(error, bytes); });
                   });
}

void Connection::OnWritten(error_code error, size_t bytes) {
  write_pending_ = false;
  ++deadline_number_;
  if (phase_ == Phase::kClosed) return;
  if (error) return Close();
  written_ += bytes;
  exchange_->Wrote(bytes);
  if (then_ == ConnectionExchange::Then::kEnd) return Finish();
  ArmIdle();
  Flush();
}

void Connection::ArmIdle() {
  idle_written_ = written_;
  idle_.expires_after(options().idle_interval);
  idle_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->phase_ != Phase::kAnswer) return;
    if (self->written_ != self->idle_written_ || self->write_pending_) return;
    self->Guarded([&] { self->exchange_->WriteIdle(); });
  });
}

void Connection::Finish() {
  const bool keep_alive =
      exchange_->keep_alive() && !stop_when_done_ && !shared_.stopping;
  exchange_->Detach(/*aborted=*/false);
  exchange_.reset();
  idle_.cancel();
  if (keep_alive) return ReadHead();
  unread_ ? Linger() : Close();
}

void Connection::Linger() {
  if (phase_ != Phase::kLinger) {
    phase_ = Phase::kLinger;
    error_code ignored;
    socket_.shutdown(net::socket_base::shutdown_send, ignored);
    ArmDeadline(kLingerTimeout);
    buffer_.clear();
  }
  socket_.async_read_some(
      buffer_.prepare(64 << 10),
      [self = shared_from_this()](error_code error, size_t bytes) {
        self->lingered_ += bytes;
        if (self->phase_ != Phase::kLinger) return;
        if (error || self->lingered_ > kMaxLinger) return self->Close();
        self->Guarded([&] { self->Linger(); });
      });
}

void Connection::StopWhenDone() {
  stop_when_done_ = true;
  if (exchange_ == nullptr) return Close();
  exchange_->CloseAfter();
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  const auto self = shared_from_this();
  ++deadline_number_;
  deadline_.cancel();
  idle_.cancel();
  error_code ignored;
  socket_.close(ignored);
  if (const auto exchange = std::exchange(exchange_, nullptr)) {
    try {
      exchange->Detach(/*aborted=*/true);
    } catch (...) {
      // Of its callback; the connection has gone all the same.
    }
  }
  shared_.on_close(this);
}

}  // namespace glm::serve
