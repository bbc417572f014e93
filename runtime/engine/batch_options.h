// Options of BatchEngine (batch_engine.h).
#ifndef GLM_RUNTIME_ENGINE_BATCH_OPTIONS_H_
#define GLM_RUNTIME_ENGINE_BATCH_OPTIONS_H_

#include <cstdint>

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
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_BATCH_OPTIONS_H_
