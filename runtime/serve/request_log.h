// One line for each request: who asked for what and how long it took. No text
// of prompts or answers, no keys.
#ifndef GLM_RUNTIME_SERVE_REQUEST_LOG_H_
#define GLM_RUNTIME_SERVE_REQUEST_LOG_H_

#include <chrono>
#include <functional>
#include <string>

#include "runtime/serve/request_runner.h"

namespace glm::serve {

struct RequestLogEntry {
  std::string id{};  // of the answer; empty where there is none
  std::string peer{};
  std::string method{};
  std::string path{};
  int http_status = 200;
  std::string code{};  // of the error
  bool stream = false;
  std::chrono::duration<double> seconds{0};
  bool has_report = false;
  RequestReport report{};
};

enum class LogFormat { kText, kJson };

// The line, without the newline at its end. `path` and `peer` are shown as far
// as they are printable ASCII.
std::string LogLine(const RequestLogEntry& entry, LogFormat format,
                    std::chrono::system_clock::time_point now);

using RequestLogger = std::function<void(const RequestLogEntry&)>;

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_REQUEST_LOG_H_
