#include "tools/device/open_runner.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/gpu/gpu_collective.h"
#include "runtime/device/host/host_collective.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"

namespace glm::tools {
namespace {

bool ParseRank(std::string_view text, RankChoice& choice) {
  const auto number = [](std::string_view digits, uint32_t& value) {
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const size_t slash = text.find('/');
  return slash != std::string_view::npos &&
         number(text.substr(0, slash), choice.rank) &&
         number(text.substr(slash + 1), choice.ranks) && choice.ranks > 0 &&
         choice.rank < choice.ranks;
}

}  // namespace

void AddSimulateRankOption(CLI::App& command, RankChoice& choice) {
  command
      .add_option_function<std::string>(
          "--simulate-rank",
          [&choice](const std::string& text) { ParseRank(text, choice); },
          "Run one rank of a plan of several alone: 0/2 is the first of two. "
          "What it would get from the others is missing, so that times are "
          "real but for the link, and outputs mean nothing")
      ->type_name("RANK/RANKS")
      ->check([](const std::string& text) -> std::string {
        RankChoice parsed;
        return ParseRank(text, parsed)
                   ? ""
                   : absl::StrCat("'", text,
                                  "' is no rank; expected one as in 0/2");
      });
}

std::string RankDevices::Describe() const {
  std::string text = first().Describe();
  if (simulated != nullptr) {
    absl::StrAppend(&text, "; rank ", simulated->rank(), " of ",
                    simulated->ranks(), ", simulated alone");
  }
  if (group != nullptr) absl::StrAppend(&text, "; ", group->Describe());
  return text;
}

absl::StatusOr<RankDevices> OpenDevices(const DeviceChoice& choice,
                                        const RankChoice& simulate,
                                        const PlanFile& plan) {
  const uint32_t ranks = plan.plan().ranks();
  if (simulate.ranks > 0 && (simulate.ranks != ranks || ranks == 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--simulate-rank ", simulate.rank, "/", simulate.ranks, ": ",
        plan.path(), " is for ", ranks, ranks == 1 ? " rank" : " ranks",
        "; compile it with --tp ", simulate.ranks));
  }
  const uint32_t count = simulate.ranks > 0 ? 1 : ranks;
  RankDevices result;
  if (simulate.ranks > 0) {
    result.simulated = SimulateRank(simulate.rank, ranks);
  }
  DeviceChoice own = choice;
  GLM_ASSIGN_OR_RETURN(OpenedDevice first, OpenDevice(own, plan));
  result.gpu = first.gpu;
  if (choice.peer && (!first.gpu || count == 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--p2p: is for plans of several ranks on GPUs, ", plan.path(),
        count == 1 ? " runs on one device" : " runs on the host",
        " here; leave it out"));
  }
  if (count == 1) {
    result.devices.push_back(std::move(first.device));
    return result;
  }
  if (!first.gpu) {
    const int threads =
        choice.threads > 0 ? choice.threads : DefaultThreadCount();
    own.name = "host";
    own.threads = std::max(1, threads / static_cast<int>(count));
    first.device.reset();  // and its threads
    for (uint32_t r = 0; r < count; ++r) {
      GLM_ASSIGN_OR_RETURN(OpenedDevice opened, OpenDevice(own, plan));
      result.devices.push_back(std::move(opened.device));
    }
    result.group = CreateHostGroup(count);
    return result;
  }
  GpuGroupOptions group;
  group.api = first.kind == "hip" ? GpuApi::kHip : GpuApi::kCuda;
  group.peer = choice.peer;
  for (uint32_t r = 0; r < count; ++r) {
    const int ordinal = first.ordinal + static_cast<int>(r);
    group.ordinals.push_back(ordinal);
    if (r == 0) {
      result.devices.push_back(std::move(first.device));
      continue;
    }
    own.name = absl::StrCat(first.kind, ":", ordinal);
    auto opened = OpenDevice(own, plan);
    if (!opened.ok()) {
      return absl::UnavailableError(absl::StrCat(
          plan.path(), " is for ", ranks, " ranks, and rank ", r,
          " has no device: ", opened.status().message(),
          "\nrun one rank alone with --simulate-rank, or compile for fewer"));
    }
    result.devices.push_back(std::move(opened->device));
  }
  GLM_ASSIGN_OR_RETURN(result.group, CreateGpuGroup(group));
  return result;
}

absl::StatusOr<std::unique_ptr<ObservableRunner>> OpenRunner(
    std::shared_ptr<const PlanFile> plan, const RankDevices& devices,
    ExecutorOptions options) {
  if (devices.group == nullptr) {
    options.collective = devices.simulated.get();
    return Executor::Create(std::move(plan), devices.first(), options);
  }
  if (!devices.gpu) {
    const uint64_t limit = options.memory_limit > 0
                               ? options.memory_limit
                               : devices.first().AvailableBytes();
    options.memory_limit =
        std::max<uint64_t>(1, limit / devices.devices.size());
  }
  std::vector<Device*> each;
  for (const auto& device : devices.devices) each.push_back(device.get());
  return ParallelExecutor::Create(std::move(plan), each, *devices.group,
                                  options);
}

}  // namespace glm::tools
