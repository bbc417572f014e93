// Tokens that are chosen on the host because somebody wants to see the logits.
// Private to runtime/engine.
#ifndef GLM_RUNTIME_ENGINE_HOST_CHOICE_H_
#define GLM_RUNTIME_ENGINE_HOST_CHOICE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/engine/active_request.h"
#include "runtime/engine/engine.h"

namespace glm {

// Sets `token.logprob` to that of token.id and `token.top` to the `count`
// likeliest tokens, of equal ones the lower id first: the logarithms of the
// softmax of `logits`, finite or -inf.
void AddLogprobs(std::span<const float> logits, uint32_t count,
                 GeneratedToken& token);

// Not thread-safe; memory that is used again and again.
class HostChoice {
 public:
  // The next token of `request` from the logits of the position after its last
  // token that was fed.
  //
  // Errors: those of Sampler::Sample and of its constraint; kInternal when that
  // allows none.
  absl::StatusOr<GeneratedToken> Choose(ActiveRequest& request,
                                        std::span<const float> logits);

 private:
  std::vector<uint64_t> allowed_;
  std::vector<float> masked_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_HOST_CHOICE_H_
