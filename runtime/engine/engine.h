// `Engine` answers many requests at a time over one StepRunner: it admits them
// to slots, feeds their prompts in chunks between decode steps, decodes all of
// them together over the batch sizes of the plan, and keeps states of prompts
// so that the next turn of a chat begins where the last one ended.
//
// It deals in ids. Text, HTTP and JSON are in runtime/serve/.
//
//   GLM_ASSIGN_OR_RETURN(auto engine, BatchEngine::Create(*runner, options));
//   GLM_ASSIGN_OR_RETURN(uint64_t id, engine->Submit(std::move(request)));
//   ... the request's listener is called on the engine's thread ...
//
// All functions may be called from any thread.
#ifndef GLM_RUNTIME_ENGINE_ENGINE_H_
#define GLM_RUNTIME_ENGINE_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/executor/step_runner.h"
#include "runtime/sequence/generator.h"
#include "runtime/sequence/token_constraint.h"

namespace glm {

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;  // natural, of the model's distribution at temperature 1
};

struct GeneratedToken {
  int32_t id = 0;
  float logprob = 0;              // where EngineRequest.top_logprobs >= 0
  std::vector<TokenLogprob> top;  // the likeliest first, top_logprobs of them
};

struct RequestResult {
  absl::Status status;  // of the request; not OK: it failed in the middle
  FinishReason finish_reason = FinishReason::kStop;
  std::optional<int32_t> stop_id;  // which was not given to OnTokens
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // of the prompt, whose state was kept
  uint32_t generated_tokens = 0;  // stop ids not among them
  double queue_seconds = 0;    // until it had a slot
  double prefill_seconds = 0;  // from there to its first token
  double decode_seconds = 0;   // from there to its last
};

// Called on the engine's thread; must return soon and may call the engine, but
// not wait for it.
class RequestListener {
 public:
  virtual ~RequestListener() = default;

  // Tokens of one step, in order. False: no more are wanted (a stop string);
  // the request then ends with kStop, and nothing but OnFinish follows.
  virtual bool OnTokens(std::span<const GeneratedToken> tokens) = 0;

  // The last call, once for each submitted request.
  virtual void OnFinish(const RequestResult& result) = 0;
};

struct EngineRequest {
  std::vector<int32_t> prompt;
  SamplerOptions sampling;
  uint32_t max_tokens = 0;         // 0: as many as the context holds
  std::vector<int32_t> stop_ids;   // empty: never stops by itself
  int32_t top_logprobs = -1;       // -1: none; 0 to 20: with so many of others
  std::shared_ptr<TokenConstraint> constraint;  // null: any token
  bool use_cache = true;           // begin from a kept state, and keep this one
  std::shared_ptr<RequestListener> listener;
};

// What paged experts did since the model was loaded, of all ranks.
struct ExpertTraffic {
  uint64_t hits = 0;        // experts that steps chose and a slot held
  uint64_t misses = 0;      // and those that none held
  uint64_t file_rows = 0;   // of the misses, read from files
  uint64_t host_bytes = 0;  // copied to slots from memory of the host
  uint64_t file_bytes = 0;  // copied to slots from files
};

enum class EngineState { kServing, kDraining, kFailed };

struct EngineStats {
  EngineState state = EngineState::kServing;
  std::string failure;        // of kFailed
  uint32_t slots = 0;         // sequences at a time
  uint32_t active = 0;        // that have a slot now
  uint32_t queued = 0;        // that wait for one
  uint32_t queue_limit = 0;
  uint64_t requests = 0;      // ever submitted
  uint64_t cancelled = 0;
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t decode_steps = 0;
  uint64_t prefill_steps = 0;
  uint64_t cache_bytes = 0;   // states that are kept
  uint64_t cache_limit = 0;
  uint64_t cache_entries = 0;

  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> last_step;  // when it ended; none: not yet
  // Since when the device has been at what it is at, with no step ended;
  // none: it has nothing to do.
  std::optional<Clock::time_point> in_flight_since;

  std::optional<ExpertTraffic> experts;  // none: not paged; seconds old
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const ModelInfo& model() const = 0;

  // Queues a request; its id. Errors, after which the listener is not called:
  // kInvalidArgument (empty prompt, an id outside the vocabulary, bad options),
  // kOutOfRange (the prompt leaves no room in the context; both numbers),
  // kResourceExhausted (the queue is full), kUnavailable (draining or failed).
  virtual absl::StatusOr<uint64_t> Submit(EngineRequest request) = 0;

  // Ends a request within a step: OnFinish with kCancelled. Of one that has
  // ended, or never was, nothing happens.
  virtual void Cancel(uint64_t id) = 0;

  // Takes no more requests, and waits until all have ended; those that have not
  // after `limit` are cancelled.
  virtual void Drain(absl::Duration limit) = 0;

  virtual EngineStats stats() const = 0;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_ENGINE_H_
