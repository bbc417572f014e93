// What the two completion routes have in common: how tokens are chosen, how
// many, where they end, how the answer is sent.
#ifndef GLM_RUNTIME_SERVE_GENERATION_REQUEST_H_
#define GLM_RUNTIME_SERVE_GENERATION_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/step_runner.h"
#include "runtime/serve/request_fields.h"

namespace glm::serve {

inline constexpr int64_t kMaxChoices = 16;  // of a request
inline constexpr int64_t kMaxTopLogprobs = 20;
inline constexpr size_t kMaxStops = 16;
inline constexpr size_t kMaxStopBytes = 1024;

struct GenerationRequest {
  std::string model;  // empty: whichever is served
  bool stream = false;
  bool include_usage = false;
  uint32_t n = 1;
  uint32_t max_tokens = 0;  // 0: as many as the context holds
  SamplerOptions sampling;  // the seed is that of the first choice
  std::vector<std::string> stop;
  bool ignore_eos = false;
  int32_t top_logprobs = -1;  // -1: no logprobs
};

// The body of a request, parsed. Errors: kInvalidArgument, code invalid_json.
absl::StatusOr<nlohmann::ordered_json> ParseBody(std::string_view body);

// All of GenerationRequest but logprobs, which the routes spell differently.
// `defaults` are the model's; a seed that is not given is random.
//
// Errors: those of RequestFields; kUnimplemented naming what this server does
// not have.
absl::StatusOr<GenerationRequest> ParseGeneration(
    const RequestFields& fields, const SamplerOptions& defaults);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_GENERATION_REQUEST_H_
