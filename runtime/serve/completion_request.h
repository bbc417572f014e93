// The body of /v1/completions, checked. max_tokens is 16 where it is not given,
// as in OpenAI's API.
#ifndef GLM_RUNTIME_SERVE_COMPLETION_REQUEST_H_
#define GLM_RUNTIME_SERVE_COMPLETION_REQUEST_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/serve/generation_request.h"

namespace glm::serve {

// Text, in which control tokens may be spelt, or ids.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct CompletionRequest {
  GenerationRequest generation;
  std::vector<Prompt> prompts;  // each answered n times
};

// Errors: kInvalidArgument, kUnimplemented, with the parameter (api_error.h).
// Ids are not compared with the vocabulary.
absl::StatusOr<CompletionRequest> ParseCompletionRequest(
    const nlohmann::ordered_json& body, const SamplerOptions& defaults);

// A list of ids at `path`.
absl::StatusOr<std::vector<int32_t>> ParseIds(
    const nlohmann::ordered_json& list, const std::string& path);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_COMPLETION_REQUEST_H_
