#include <utility>

#include "runtime/serve/http_connection.h"

namespace glm::serve {

ConnectionExchange::ConnectionExchange(Connection& connection,
                                       HttpRequest request,
                                       BodyShare body_share, bool chunks,
                                       bool keep_alive)
    : request_(std::move(request)),
      body_share_(std::move(body_share)),
      chunks_(chunks),
      connection_(&connection),
      keep_alive_(keep_alive) {}

void ConnectionExchange::Notify() {
  if (connection_ != nullptr) connection_->Post();
}

void ConnectionExchange::Respond(HttpResponse response) {
  const std::lock_guard lock(mutex_);
  if (connection_ == nullptr || begun_ || ended_) return;
  const size_t before = out_.size();
  out_ += HttpHead(response, BodyFraming::kLength, keep_alive_,
                   connection_->options().cors_origin);
  if (request_.method != "HEAD") out_ += response.body;
  unsent_ += out_.size() - before;
  begun_ = ended_ = true;
  Notify();
}

void ConnectionExchange::BeginStream(HttpResponse head, std::string idle) {
  const std::lock_guard lock(mutex_);
  if (connection_ == nullptr || begun_ || ended_) return;
  begun_ = true;
  idle_ = std::move(idle);
  if (!chunks_) keep_alive_ = false;
  const size_t before = out_.size();
  out_ +=
      HttpHead(head, chunks_ ? BodyFraming::kChunked : BodyFraming::kUntilClose,
               keep_alive_, connection_->options().cors_origin);
  unsent_ += out_.size() - before;
  Notify();
}

bool ConnectionExchange::Write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (connection_ == nullptr || overflowed_ || !begun_ || ended_) return false;
  if (bytes.empty()) return true;
  const size_t before = out_.size();
  if (chunks_) {
    AppendChunk(bytes, out_);
  } else {
    out_ += bytes;
  }
  unsent_ += out_.size() - before;
  overflowed_ = unsent_ > connection_->options().max_unsent_bytes;
  Notify();
  return !overflowed_;
}

void ConnectionExchange::EndStream() {
  const std::lock_guard lock(mutex_);
  if (connection_ == nullptr || !begun_ || ended_) return;
  ended_ = true;
  if (chunks_) out_ += kLastChunk;
  unsent_ += chunks_ ? kLastChunk.size() : 0;
  Notify();
}

void ConnectionExchange::OnAbort(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) {
      if (connection_ != nullptr && !ended_) on_abort_ = std::move(callback);
      return;
    }
  }
  callback();
}

std::string ConnectionExchange::Take(Then& then) {
  const std::lock_guard lock(mutex_);
  if (overflowed_) {
    then = Then::kCut;
    return "";
  }
  then = ended_ ? Then::kEnd : Then::kMore;
  return std::exchange(out_, {});
}

bool ConnectionExchange::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void ConnectionExchange::Wrote(size_t bytes) {
  const std::lock_guard lock(mutex_);
  unsent_ -= bytes;
}

void ConnectionExchange::WriteIdle() {
  std::string idle;
  {
    const std::lock_guard lock(mutex_);
    if (!begun_ || ended_ || !out_.empty()) return;
    idle = idle_;
  }
  Write(idle);
}

bool ConnectionExchange::Probe() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return true;  // the answer is one
    if (!begun_) {
      if (!chunks_) return false;  // HTTP/1.0 knows no interim answers
      out_ += kContinue;
      unsent_ += kContinue.size();
      Notify();
      return true;
    }
  }
  WriteIdle();
  return true;
}

void ConnectionExchange::Break() noexcept {
  try {
    HttpResponse error;
    {
      const std::lock_guard lock(mutex_);
      if (connection_ == nullptr) return;
      if (!begun_) {
        error = connection_->options().error_response(500, "internal error",
                                                      request_);
      }
    }
    Respond(std::move(error));
  } catch (...) {
    // No memory for an answer either.
  }
  try {
    const std::lock_guard lock(mutex_);
    if (connection_ == nullptr || ended_) return;
    overflowed_ = true;
    Notify();
  } catch (...) {
    // The next write, or the write deadline, cuts it.
  }
}

void ConnectionExchange::Detach(bool aborted) {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    connection_ = nullptr;
    gone_ = aborted && !ended_;
    callback = std::exchange(on_abort_, nullptr);
    if (!gone_) callback = nullptr;
  }
  if (callback) callback();
}

void ConnectionExchange::CloseAfter() { keep_alive_ = false; }

}  // namespace glm::serve
