// `LogWriter` writes lines to a file descriptor, such as stderr, on a thread of
// its own: whoever gives it a line never waits for who reads there.
#ifndef GLM_RUNTIME_SERVE_LOG_WRITER_H_
#define GLM_RUNTIME_SERVE_LOG_WRITER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace glm::serve {

// Thread-safe.
class LogWriter {
 public:
  // `fd` is not closed. Lines beyond `most_waiting` are dropped and counted;
  // how many is written before the next line that is.
  explicit LogWriter(int fd, size_t most_waiting = 4096);
  // Flush; the rest is dropped.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Without the newline at its end. Never blocks on the descriptor.
  void Write(std::string line);

  // Waits until all is written, a second at most. Nothing is written after it.
  void Flush();

  // Lines, ever.
  uint64_t dropped() const;

 private:
  void Run();
  // False: the end has come, or the descriptor is broken.
  bool WriteAll(std::string_view bytes);
  bool Over() const;

  const int fd_;
  const size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  uint64_t dropped_ = 0;
  uint64_t told_ = 0;  // of them
  bool stop_ = false;
  bool over_ = false;  // nothing more is written
  std::thread thread_;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_LOG_WRITER_H_
