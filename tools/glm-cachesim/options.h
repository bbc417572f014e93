// What glm-cachesim is asked to do.
#ifndef GLM_TOOLS_GLM_CACHESIM_OPTIONS_H_
#define GLM_TOOLS_GLM_CACHESIM_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/paging/simulator.h"
#include "runtime/paging/synthetic_trace.h"
#include "runtime/paging/trace.h"

namespace CLI {
class App;
}

namespace glm::cachesim {

struct Options {
  std::string trace;  // a file; empty: made up
  bool zipf = false;
  uint32_t cyclic = 0;  // rows; 0: not asked for
  paging::ZipfOptions made_up;
  std::string write;

  std::vector<uint32_t> slots = {2383};
  std::vector<std::string> policies = {"all"};
  uint64_t warmup = 512;
  double pinned_percent = 75;
  paging::LinkModel link;
  double compute_ms = 0;
  bool per_layer = false;
  bool json = false;
};

void AddOptions(CLI::App& app, Options& options);

// Wrong usage that single options do not show: kInvalidArgument.
absl::Status CheckOptions(const Options& options);

// The trace from its beginning; each call gives the same steps.
absl::StatusOr<std::unique_ptr<paging::StepSource>> OpenSource(
    const Options& options);

// The policies asked for, in the order of Policies().
std::vector<paging::Policy> ChosenPolicies(const Options& options);
// Whether policies that the arena is too small for are left out.
bool WantsAll(const Options& options);
// Whether the clairvoyant bound is asked for too.
bool WantsBound(const Options& options);

}  // namespace glm::cachesim

#endif  // GLM_TOOLS_GLM_CACHESIM_OPTIONS_H_
