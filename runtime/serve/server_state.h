// What /health and /ready say: whether the server loads, serves, drains or has
// failed. Draining and failed are for ever.
#ifndef GLM_RUNTIME_SERVE_SERVER_STATE_H_
#define GLM_RUNTIME_SERVE_SERVER_STATE_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/engine/engine.h"

namespace glm::serve {

enum class ServerPhase { kLoading, kServing, kDraining, kFailed };

const char* ServerPhaseName(ServerPhase phase);  // "loading", ...

struct HealthReport {
  bool ok = false;
  std::string status;   // the phase, "stalled" or "queue full"
  std::string message;  // why, where there is something to say
};

// Thread-safe.
class ServerState {
 public:
  using Clock = std::chrono::steady_clock;

  // A step that runs for longer makes a stall, and so do requests that wait
  // while no step runs.
  explicit ServerState(std::chrono::seconds stall_limit)
      : stall_limit_(stall_limit) {}

  void SetServing();
  void SetDraining();
  void SetFailed(std::string why);

  // With the engine's state, where there is one.
  ServerPhase phase(const std::optional<EngineStats>& stats) const;

  // That requests wait in vain is seen from one call to a later one.
  HealthReport Health(const std::optional<EngineStats>& stats,
                      Clock::time_point now);
  // Healthy, and with room in the queue.
  HealthReport Ready(const std::optional<EngineStats>& stats,
                     Clock::time_point now);

  // The error for a request that comes outside of kServing; OK inside.
  absl::Status CheckServing(const std::optional<EngineStats>& stats) const;

 private:
  std::string Why(const std::optional<EngineStats>& stats) const;

  const std::chrono::seconds stall_limit_;
  mutable std::mutex mutex_;
  ServerPhase phase_ = ServerPhase::kLoading;
  std::string why_;
  uint64_t steps_ = 0;  // when they were last seen to change
  uint64_t requests_ = 0;
  std::optional<Clock::time_point> since_;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_SERVER_STATE_H_
