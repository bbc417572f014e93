// /metrics: counters and histograms of requests, and the engine's own numbers
// as they are at the moment of asking. docs/serving.md lists them.
#ifndef GLM_RUNTIME_SERVE_METRICS_H_
#define GLM_RUNTIME_SERVE_METRICS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/serve/request_runner.h"

namespace glm::serve {

// Bytes of experts in one tier: "device", "host", "file".
struct TierBytes {
  std::string tier;
  uint64_t held = 0;
};

// Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  // A request that came to the engine, when it is through with it.
  void AddRequest(std::string_view route, const RequestReport& report,
                  std::chrono::duration<double> seconds);
  // Any answer with a status of 400 and above.
  void AddError(int http_status, std::string_view code);

  // In the text format of Prometheus. `phase` is ServerPhaseName's.
  std::string Text(const std::string& phase,
                   const std::optional<EngineStats>& stats,
                   const std::vector<TierBytes>& tiers) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

inline constexpr char kMetricsContentType[] =
    "text/plain; version=0.0.4; charset=utf-8";

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_METRICS_H_
