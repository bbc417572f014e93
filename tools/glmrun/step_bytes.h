// What a decode step moves at a context that is not the longest.
#ifndef GLM_TOOLS_GLMRUN_STEP_BYTES_H_
#define GLM_TOOLS_GLMRUN_STEP_BYTES_H_

#include <cstdint>

namespace glm {
namespace plan {
struct Entry;
struct Plan;
}  // namespace plan

namespace tools {

// Bytes of weights, activations and state that a step of `entry` reads and
// writes when each sequence has `context` tokens. The plan's figures count
// caches as full; what index_scores and sparse_attention do not reach is taken
// off. Takes tables of a validated plan.
uint64_t BytesAtContext(const plan::Plan& plan, const plan::Entry& entry,
                        uint32_t context);

}  // namespace tools
}  // namespace glm

#endif  // GLM_TOOLS_GLMRUN_STEP_BYTES_H_
