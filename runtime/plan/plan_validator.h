// Checks the meaning of a plan after the flatbuffers verifier has checked its
// structure: every index, offset, size product, lifetime and name.
//
// It reads no weight file and no segment bytes; segments are hashed when they
// are used (PlanFile::SegmentBytes).
#ifndef GLM_RUNTIME_PLAN_PLAN_VALIDATOR_H_
#define GLM_RUNTIME_PLAN_PLAN_VALIDATOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

// `segments_begin`..`file_size` is where segments may lie.
//
// Errors: kDataLoss, "PATH: entries[1] prefill_n256: launches[7].args[3]: ...",
// with what was found, what was expected and the remedy.
//
// Cost: linear in the plan, n log n in the buffers of an entry.
absl::Status ValidatePlan(const std::string& path, const plan::Plan& plan,
                          uint64_t segments_begin, uint64_t file_size);

}  // namespace glm

#endif  // GLM_RUNTIME_PLAN_PLAN_VALIDATOR_H_
