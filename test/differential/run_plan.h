// Runs the entries of a plan and keeps all that they show: taps, logits and
// states, step after step.
#ifndef TEST_DIFFERENTIAL_RUN_PLAN_H_
#define TEST_DIFFERENTIAL_RUN_PLAN_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_generated.h"
#include "test/differential/graph.h"

namespace glm::differential {

// Values of one tap, logits or state after one step; of valid rows only.
struct Shown {
  std::string name;  // "step 1 v3"
  plan::DType dtype = plan::DType::F32;
  std::vector<std::byte> bytes;
};

struct EntryRun {
  std::vector<Shown> shown;
  uint32_t launches = 0;               // of the device
  uint32_t waiting = 0;                // most blocks that wait in one launch
  std::map<std::string, int> members;  // "origin op": how often
  std::string outside;  // an operation outside its bound; empty: none
};

// Each graph's entry on the same tokens in every plan; blocks of a phase run in
// the order of `seed`. With `check` each launch is compared with its reference.
absl::StatusOr<std::vector<EntryRun>> RunPlan(const std::string& path,
                                              const std::vector<Graph>& graphs,
                                              uint64_t seed, bool check);

// Where the two differ by more than `tolerance` of the largest value, 0: in any
// bit; empty when nowhere.
std::string Difference(const EntryRun& got, const EntryRun& want,
                       double tolerance);

}  // namespace glm::differential

#endif  // TEST_DIFFERENTIAL_RUN_PLAN_H_
