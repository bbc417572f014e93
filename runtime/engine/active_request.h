// One request on its way through the engine. Private to runtime/engine.
#ifndef GLM_RUNTIME_ENGINE_ACTIVE_REQUEST_H_
#define GLM_RUNTIME_ENGINE_ACTIVE_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/sequence/sampler.h"

namespace glm {

struct ActiveRequest {
  using Clock = std::chrono::steady_clock;

  ActiveRequest(uint64_t id, EngineRequest taken, Sampler sampler)
      : id(id),
        request(std::move(taken)),
        sampler(std::move(sampler)),
        tokens(std::move(request.prompt)),
        on_host(request.top_logprobs >= 0 || request.constraint != nullptr) {
    result.prompt_tokens = static_cast<uint32_t>(tokens.size());
  }

  const uint64_t id;
  EngineRequest request;  // its prompt is in `tokens`
  Sampler sampler;        // counts what the device chooses, too
  RequestResult result;
  std::vector<int32_t> tokens;  // prompt and answer, as far as they are known

  // Its tokens are chosen by `sampler` alone: it needs logits, or penalties of
  // which the device has not seen all tokens.
  bool on_host;

  uint32_t slot = 0;
  uint32_t fed = 0;   // tokens in the state when all enqueued steps are done
  uint32_t kept = 0;  // tokens of the last of its states that was kept
  bool keep = false;  // the state is to be kept before it goes on
  uint32_t enqueued = 0;  // steps that are not taken
  bool ended = false;     // OnFinish was called
  bool damaged = false;   // its state is of no use

  Clock::time_point submitted = Clock::now();
  Clock::time_point admitted = submitted;
  Clock::time_point first_token = submitted;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_ACTIVE_REQUEST_H_
