#include "tools/glmrun/profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/plan/plan_generated.h"
#include "tools/glmrun/measure.h"

namespace glm::tools {
namespace {

double Median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

// What a group is for: the operation that moves most, and how many there are.
std::string GroupLabel(const plan::Plan& plan, const plan::Entry& entry,
                       const OperationRange& range) {
  const plan::Launch* most = nullptr;
  const auto bytes = [](const plan::Launch& launch) {
    return launch.weight_bytes() + launch.memory_bytes();
  };
  for (uint32_t i = 0; i < range.count; ++i) {
    const plan::Launch* launch = entry.launches()->Get(range.first + i);
    if (most == nullptr || bytes(*launch) > bytes(*most)) most = launch;
  }
  return absl::StrCat(plan.kernels()->Get(most->kernel())->name()->str(), " + ",
                      range.count - 1);
}

}  // namespace

absl::StatusOr<std::vector<KernelProfile>> ProfileEntry(
    ObservableRunner& executor, uint32_t entry, uint32_t position,
    uint32_t repeat) {
  const EntryInfo& info = executor.entries()[entry];
  // As those of a prompt: equal tokens would all choose the same experts.
  const std::vector<int32_t> ids =
      MadeUpPrompt(info.tokens, executor.model().vocab);
  std::vector<int32_t> rows(info.logit_rows, -1);
  rows[0] = static_cast<int32_t>(info.tokens) - 1;
  const SequenceStep sequence{0, position, info.tokens};
  const StepInputs inputs{ids, std::span(&sequence, 1), rows};

  const plan::Plan& plan = executor.plan_file().plan();
  const plan::Entry& table = *plan.entries()->Get(entry);
  std::map<uint32_t, KernelProfile> kernels;
  std::map<uint32_t, std::vector<double>> times;  // of each repeat
  const std::vector<OperationRange> ranges = OperationRanges(table);
  const auto kernel_of = [&](const OperationRange& range) {
    return range.group != nullptr
               ? range.group->kernel()
               : table.launches()->Get(range.first)->kernel();
  };
  for (const OperationRange& range : ranges) {
    KernelProfile& kernel = kernels[kernel_of(range)];
    const plan::Kernel& name = *plan.kernels()->Get(kernel_of(range));
    kernel.kernel = name.name()->str();
    kernel.op = name.op()->str();
    ++kernel.launches;
    for (uint32_t i = 0; i < range.count; ++i) {
      const plan::Launch* launch = table.launches()->Get(range.first + i);
      kernel.bytes += launch->weight_bytes() + launch->memory_bytes();
      kernel.flops += launch->flops();
    }
    if (range.group != nullptr) kernel.kernel = GroupLabel(plan, table, range);
  }
  std::vector<double> seconds;
  for (uint32_t i = 0; i < repeat; ++i) {
    GLM_RETURN_IF_ERROR(executor.StepTimed(entry, inputs, seconds));
    for (auto& [kernel, values] : times) values.push_back(0);
    for (uint32_t l = 0; l < seconds.size(); ++l) {
      auto& values = times[kernel_of(ranges[l])];
      if (values.size() <= i) values.resize(i + 1);
      values[i] += seconds[l];
    }
  }
  std::vector<KernelProfile> result;
  for (auto& [index, kernel] : kernels) {
    kernel.seconds = Median(times[index]);
    result.push_back(kernel);
  }
  std::sort(result.begin(), result.end(),
            [](const KernelProfile& a, const KernelProfile& b) {
              return a.seconds > b.seconds;
            });
  return result;
}

std::string ProfileTable(const std::vector<KernelProfile>& kernels,
                         double bandwidth) {
  std::array<char, 256> line;
  std::string text;
  std::snprintf(line.data(), line.size(), "%-44s %8s %10s %6s %10s %8s %8s\n",
                "kernel", "launches", "us", "share", "bytes", "GB/s", "GF/s");
  text += line.data();
  double total = 0;
  for (const KernelProfile& kernel : kernels) total += kernel.seconds;
  bool marked = false;
  for (const KernelProfile& kernel : kernels) {
    const double rate = kernel.seconds > 0 ? kernel.bytes / kernel.seconds : 0;
    const bool beyond = bandwidth > 0 && rate > bandwidth;
    marked |= beyond;
    std::snprintf(line.data(), line.size(),
                  "%-44s %8u %10.1f %5.1f%% %10s %8.2f %8.2f%s\n",
                  kernel.kernel.substr(0, 44).c_str(), kernel.launches,
                  1e6 * kernel.seconds,
                  total > 0 ? 100 * kernel.seconds / total : 0.0,
                  FormatBytes(kernel.bytes).c_str(), 1e-9 * rate,
                  kernel.seconds > 0 ? 1e-9 * kernel.flops / kernel.seconds : 0,
                  beyond ? " *" : "");
    text += line.data();
  }
  std::snprintf(line.data(), line.size(), "%-44s %8s %10.1f\n", "all", "",
                1e6 * total);
  text += line.data();
  if (marked) {
    std::snprintf(line.data(), line.size(),
                  "* faster than memory, which reads %.2f GB/s here: from a "
                  "cache, or bytes\n  that the plan counts and nobody reads\n",
                  1e-9 * bandwidth);
    text += line.data();
  }
  return text;
}

}  // namespace glm::tools
