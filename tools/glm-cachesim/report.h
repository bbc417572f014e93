// Prints what was simulated.
#ifndef GLM_TOOLS_GLM_CACHESIM_REPORT_H_
#define GLM_TOOLS_GLM_CACHESIM_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/paging/simulator.h"
#include "runtime/paging/trace.h"
#include "tools/glm-cachesim/options.h"

namespace glm::cachesim {

struct Outcome {
  std::string policy;
  uint32_t slots = 0;
  paging::SimulationResult result;
};

struct Report {
  paging::TraceShape shape;
  double pinned_coverage[4] =
      {};  // of the 16, 32, 64, 128 most used of each layer
  std::vector<Outcome> outcomes;
};

void PrintTable(const Options& options, const Report& report);
void PrintJson(const Options& options, const Report& report);

}  // namespace glm::cachesim

#endif  // GLM_TOOLS_GLM_CACHESIM_REPORT_H_
