// What paged experts cost in a measurement: hits, bytes by tier, the time that
// the link takes for them at least, and what steps wait for them, layer by
// layer.
#ifndef GLM_TOOLS_GLMRUN_EXPERT_REPORT_H_
#define GLM_TOOLS_GLMRUN_EXPERT_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/paged_experts.h"
#include "tools/glmrun/expert_timing.h"

namespace glm::tools {

struct ExpertReport {
  ExpertBudget budget;
  std::vector<ExpertCounts> layers;  // of the steps that count
  double seconds = 0;                // those steps took, together
  double simulated_hit_rate = -1;    // of the routing; -1: none
  double link_bytes_per_second = 0;  // copies to the device, measured; 0: not
  uint64_t rows_read = 0;            // from files
  double seconds_read = 0;
  bool rows_checked = false;  // all slots hold what the weights are
  // Of the layers, from `timed_steps` steps that were run launch by launch; or
  // empty.
  std::vector<LayerTiming> timings;
  uint32_t timed_steps = 0;

  ExpertCounts Total() const;
  uint64_t steps() const { return layers.empty() ? 0 : layers[0].steps; }
  double HitRate() const;
  // Seconds a step that the link alone would take; 0: not measured.
  double LinkSeconds() const;
  // Seconds a step that misses add, all layers; -1: not known.
  double StallSeconds() const;
  // More than the link carries in the time of the launch that copied: no copy
  // over the link can be that fast, so bytes came from elsewhere or were
  // counted and not copied. False where either is not known.
  bool BeyondLink(size_t layer) const;

  // Lines for people: sums, then a table of layers.
  std::string ToText() const;
  nlohmann::ordered_json ToJson() const;

 private:
  std::string TableText() const;  // of the layers
};

// Counts of one layer, or of several, with the bytes that slots saved.
nlohmann::ordered_json CountsJson(const ExpertCounts& counts,
                                  uint64_t row_bytes);

// Of all layers, each of which has taken as many steps.
ExpertCounts SumOf(const std::vector<ExpertCounts>& layers);

// "experts: 0.912 of 4,032 accesses were in a slot, 2.1 GiB came over the
// link", since the executor was made.
absl::StatusOr<std::string> ExpertSummary(PagedExperts& paging);

// `after` less `before`, layer by layer.
std::vector<ExpertCounts> CountsSince(const std::vector<ExpertCounts>& before,
                                      const std::vector<ExpertCounts>& after);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_REPORT_H_
