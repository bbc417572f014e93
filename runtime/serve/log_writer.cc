#include "runtime/serve/log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glm::serve {
namespace {

constexpr std::chrono::seconds kFlush{1};
constexpr int kPollMillis = 50;

}  // namespace

LogWriter::LogWriter(int fd, size_t most_waiting)
    : fd_(fd), most_waiting_(most_waiting), thread_([this] { Run(); }) {}

LogWriter::~LogWriter() {
  Flush();
  thread_.join();
}

void LogWriter::Flush() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kFlush, [this] { return over_; });
  over_ = true;
}

void LogWriter::Write(std::string line) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= most_waiting_ || over_) {
    ++dropped_;
    return;
  }
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

uint64_t LogWriter::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

bool LogWriter::Over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

void LogWriter::Run() {
  for (;;) {
    std::string text;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !lines_.empty(); });
      if (lines_.empty() || over_) break;
      if (dropped_ > told_) {
        text = absl::StrCat("log: ", dropped_ - told_, " lines dropped\n");
        told_ = dropped_;
      }
      absl::StrAppend(&text, lines_.front(), "\n");
      lines_.pop_front();
    }
    if (!WriteAll(text)) break;
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

// A pipe that can be written to takes PIPE_BUF bytes without blocking. The
// descriptor is shared with other programs, so it is not made non-blocking.
bool LogWriter::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    const int found = poll(&ready, 1, kPollMillis);
    if (Over()) return false;
    if (found == 0 || (found < 0 && errno == EINTR)) continue;
    if (found < 0) return false;
    const ssize_t written =
        write(fd_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace glm::serve
