// The devices and the runner of a plan: one of each for a plan of one rank, a
// device a rank and what joins them for others.
#ifndef GLM_TOOLS_DEVICE_OPEN_RUNNER_H_
#define GLM_TOOLS_DEVICE_OPEN_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/collective.h"
#include "runtime/device/device.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/observable_runner.h"
#include "runtime/executor/parallel_executor.h"
#include "tools/device/device_choice.h"

namespace glm::tools {

// "1/2": the second of two.
struct RankChoice {
  uint32_t rank = 0;
  uint32_t ranks = 0;  // 0: all ranks, none simulated
};

// Adds --simulate-rank.
void AddSimulateRankOption(CLI::App& command, RankChoice& choice);

struct RankDevices {
  std::vector<std::unique_ptr<Device>> devices;  // [ranks]
  std::unique_ptr<CollectiveGroup> group;        // null: one device
  std::unique_ptr<Collective> simulated;         // of one rank alone
  bool gpu = false;

  Device& first() const { return *devices[0]; }
  // "host, 1 thread; 2 ranks of the host"
  std::string Describe() const;
};

// The devices that `choice` names: for a plan of n ranks n of the host, which
// share its threads, or GPUs from the named one on.
//
// Errors: those of OpenDevice; kUnavailable naming the device of a rank that is
// not there; kInvalidArgument when `simulate` is not of the plan's ranks, and
// where a direct path between GPUs is asked for and there are none to join.
absl::StatusOr<RankDevices> OpenDevices(const DeviceChoice& choice,
                                        const RankChoice& simulate,
                                        const PlanFile& plan);

// An executor on them. `options.memory_limit` is a limit for all devices
// together where they share the host's memory, else for each.
absl::StatusOr<std::unique_ptr<ObservableRunner>> OpenRunner(
    std::shared_ptr<const PlanFile> plan, const RankDevices& devices,
    ExecutorOptions options);

}  // namespace glm::tools

#endif  // GLM_TOOLS_DEVICE_OPEN_RUNNER_H_
