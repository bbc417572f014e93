// Options of BatchEngine (batch_engine.h).
#ifndef GLM_RUNTIME_ENGINE_BATCH_OPTIONS_H_
#define GLM_RUNTIME_ENGINE_BATCH_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "runtime/engine/engine.h"

namespace glm {

struct BatchEngineOptions {
  // Requests that may wait for a slot; more are refused.
  uint32_t queue_limit = 64;

  // Memory of the host for states that are kept; 0: none. Free slots keep what
  // they hold all the same.
  uint64_t cache_bytes = 0;

  // A state is kept at the end of a prompt, when a slot is needed that an
  // answer has left, and after so many tokens of a prompt, at the next end of a
  // chunk; 0: not inside of prompts.
  uint32_t cache_interval = 8192;

  // States of fewer tokens are not kept: they are as quickly made again.
  uint32_t cache_min_tokens = 32;

  // Reads the counters of paged experts from the device; null: there are none.
  // Called on the engine's thread while no step is enqueued: when all requests
  // have ended, and about so often. Where it fails twice in a row the device is
  // lost.
  std::function<absl::StatusOr<ExpertTraffic>()> expert_traffic;
  std::chrono::milliseconds traffic_interval{5000};
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_BATCH_OPTIONS_H_
