// `TokenConstraint` says which tokens may come next in one sequence: what a
// grammar of the answer is to whoever chooses tokens.
#ifndef GLM_RUNTIME_SEQUENCE_TOKEN_CONSTRAINT_H_
#define GLM_RUNTIME_SEQUENCE_TOKEN_CONSTRAINT_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace glm {

// One instance for one sequence; not thread-safe.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  // Sets bit id % 64 of words[id / 64] for each token that may come next and
  // clears all others. Where a text must go on, no stop id is among them; where
  // it must end, only stop ids are. `words` has ceil(vocab / 64) elements.
  //
  // Returns false, with `words` as it was, where every token may come next.
  virtual bool Allow(std::span<uint64_t> words) = 0;

  // The token that was chosen; one of those allowed.
  virtual void Accept(int32_t id) = 0;

  // Once it is not OK the sequence cannot go on, nor is it complete: Allow
  // allows nothing. Asked after Allow.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

}  // namespace glm

#endif  // GLM_RUNTIME_SEQUENCE_TOKEN_CONSTRAINT_H_
