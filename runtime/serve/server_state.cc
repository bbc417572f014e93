#include "runtime/serve/server_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/serve/api_error.h"

namespace glm::serve {

const char* ServerPhaseName(ServerPhase phase) {
  switch (phase) {
    case ServerPhase::kLoading:
      return "loading";
    case ServerPhase::kServing:
      return "serving";
    case ServerPhase::kDraining:
      return "draining";
    case ServerPhase::kFailed:
      return "failed";
  }
  return "";
}

void ServerState::SetServing() {
  const std::lock_guard lock(mutex_);
  if (phase_ == ServerPhase::kLoading) phase_ = ServerPhase::kServing;
}

void ServerState::SetDraining() {
  const std::lock_guard lock(mutex_);
  if (phase_ != ServerPhase::kFailed) phase_ = ServerPhase::kDraining;
}

void ServerState::SetFailed(std::string why) {
  const std::lock_guard lock(mutex_);
  phase_ = ServerPhase::kFailed;
  why_ = std::move(why);
}

ServerPhase ServerState::phase(const std::optional<EngineStats>& stats) const {
  const std::lock_guard lock(mutex_);
  if (phase_ != ServerPhase::kServing || !stats) return phase_;
  switch (stats->state) {
    case EngineState::kServing:
      return ServerPhase::kServing;
    case EngineState::kDraining:
      return ServerPhase::kDraining;
    case EngineState::kFailed:
      return ServerPhase::kFailed;
  }
  return phase_;
}

std::string ServerState::Why(const std::optional<EngineStats>& stats) const {
  const std::lock_guard lock(mutex_);
  return why_.empty() && stats ? stats->failure : why_;
}

HealthReport ServerState::Health(const std::optional<EngineStats>& stats,
                                 Clock::time_point now) {
  const ServerPhase now_in = phase(stats);
  if (now_in != ServerPhase::kServing || !stats) {
    return {false, ServerPhaseName(now_in), Why(stats)};
  }
  if (stats->in_flight_since && now - *stats->in_flight_since > stall_limit_) {
    return {false, "stalled",
            absl::StrCat(
                "a step has run for ",
                std::chrono::floor<std::chrono::seconds>(
                    now - *stats->in_flight_since)
                    .count(),
                " s, the limit is ", stall_limit_.count(),
                " s (--stall-seconds); a device that hangs is in the kernel's "
                "log, and the server must be started again")};
  }
  const std::lock_guard lock(mutex_);
  const uint64_t steps = stats->decode_steps + stats->prefill_steps;
  const bool waits = stats->active + stats->queued > 0;
  if (!waits || !since_ || steps != steps_ || stats->requests != requests_) {
    since_ = now;
    steps_ = steps;
    requests_ = stats->requests;
  }
  if (now - *since_ > stall_limit_) {
    return {false, "stalled",
            absl::StrCat(stats->active, " requests run and ", stats->queued,
                         " wait, and no step has ended for ",
                         stall_limit_.count(), " s")};
  }
  return {true, "ok", ""};
}

HealthReport ServerState::Ready(const std::optional<EngineStats>& stats,
                                Clock::time_point now) {
  HealthReport report = Health(stats, now);
  if (report.ok && stats->queued >= stats->queue_limit &&
      stats->queue_limit > 0) {
    return {false, "queue full", absl::StrCat(stats->queued, " requests wait")};
  }
  return report;
}

absl::Status ServerState::CheckServing(
    const std::optional<EngineStats>& stats) const {
  switch (phase(stats)) {
    case ServerPhase::kServing:
      return absl::OkStatus();
    case ServerPhase::kLoading:
      return WithCode(
          absl::UnavailableError("the model is being loaded; try again later"),
          "loading");
    case ServerPhase::kDraining:
      return WithCode(
          absl::UnavailableError("the server is going down; try again later"),
          "draining");
    case ServerPhase::kFailed:
      break;
  }
  return WithCode(
      absl::UnavailableError("the server has failed and must be restarted"),
      "failed");
}

}  // namespace glm::serve
