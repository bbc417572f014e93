#include "runtime/serve/request_log.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "runtime/serve/json_text.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxPath = 200;

std::string Printable(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, kMaxPath)) {
    out += c > 0x20 && c < 0x7f && c != '"' ? c : '?';
  }
  return out;
}

// 2026-11-30T12:00:00.000Z
std::string Timestamp(std::chrono::system_clock::time_point now) {
  const auto since = now.time_since_epoch();
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const std::time_t seconds = static_cast<std::time_t>(millis / 1000);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text;
  const size_t size =
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + size, text.size() - size, ".%03dZ",
                static_cast<int>(millis % 1000));
  return text.data();
}

double Rounded(double seconds) {
  return static_cast<double>(static_cast<int64_t>(seconds * 1e4 + 0.5)) / 1e4;
}

void AddReport(const RequestReport& report, ordered_json& line) {
  line["prompt_tokens"] = report.usage.prompt_tokens;
  line["cached_tokens"] = report.usage.cached_tokens;
  line["completion_tokens"] = report.usage.completion_tokens;
  if (!report.results.empty()) {
    const RequestResult& first = report.results.front();
    line["queue_s"] = Rounded(first.queue_seconds);
    line["prefill_s"] = Rounded(first.prefill_seconds);
    line["decode_s"] = Rounded(first.decode_seconds);
  }
  line["choices"] = report.results.size();
  switch (report.outcome) {
    case RequestReport::Outcome::kFinished:
      line["finish"] = report.finish_reason;
      break;
    case RequestReport::Outcome::kRefused:
      line["finish"] = "refused";
      break;
    case RequestReport::Outcome::kAborted:
      line["finish"] = "aborted";
      break;
    case RequestReport::Outcome::kFailed:
      line["finish"] = "failed";
      break;
  }
  if (!report.status.ok()) {
    line["error"] = std::string(report.status.message());
  }
}

}  // namespace

std::string LogLine(const RequestLogEntry& entry, LogFormat format,
                    std::chrono::system_clock::time_point now) {
  ordered_json line;
  line["time"] = Timestamp(now);
  line["peer"] = Printable(entry.peer);
  line["method"] = Printable(entry.method);
  line["path"] = Printable(entry.path);
  line["status"] = entry.http_status;
  if (!entry.code.empty()) line["code"] = entry.code;
  if (!entry.id.empty()) line["id"] = entry.id;
  if (entry.has_report) line["stream"] = entry.stream;
  line["seconds"] = Rounded(entry.seconds.count());
  if (entry.has_report) AddReport(entry.report, line);
  if (format == LogFormat::kJson) return JsonText(line);
  std::string text;
  for (const auto& [key, value] : line.items()) {
    if (!text.empty()) text += ' ';
    if (key != "time") text += key + "=";
    text += value.is_string() && key != "error" ? value.get<std::string>()
                                                : JsonText(value);
  }
  return text;
}

}  // namespace glm::serve
