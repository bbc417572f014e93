// What paged experts cost in a measurement: hits, bytes, and the time that the
// link takes for them at least.
#ifndef GLM_TOOLS_GLMRUN_EXPERT_REPORT_H_
#define GLM_TOOLS_GLMRUN_EXPERT_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/executor/paged_experts.h"

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

  ExpertCounts Total() const;
  uint64_t steps() const { return layers.empty() ? 0 : layers[0].steps; }
  double HitRate() const;
  // Seconds a step that the link alone would take; 0: not measured.
  double LinkSeconds() const;

  // Lines for people: sums, then a table of layers.
  std::string ToText() const;
  nlohmann::ordered_json ToJson() const;
};

// `after` less `before`, layer by layer.
std::vector<ExpertCounts> CountsSince(const std::vector<ExpertCounts>& before,
                                      const std::vector<ExpertCounts>& after);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_REPORT_H_
