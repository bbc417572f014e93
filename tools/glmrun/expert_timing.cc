#include "tools/glmrun/expert_timing.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/status_macros.h"
#include "runtime/executor/describe.h"
#include "runtime/plan/plan_generated.h"

namespace glm::tools {

std::vector<uint32_t> CopyLaunches(const plan::Plan& plan,
                                   const plan::Entry& entry) {
  std::vector<uint32_t> launches;
  const std::vector<OperationRange> ranges = OperationRanges(entry);
  for (uint32_t r = 0; r < ranges.size(); ++r) {
    for (uint32_t i = 0; i < ranges[r].count; ++i) {
      const plan::Launch& launch = *entry.launches()->Get(ranges[r].first + i);
      const plan::Kernel& kernel = *plan.kernels()->Get(launch.kernel());
      if (kernel.op()->string_view() != "copy_rows") continue;
      if (!launches.empty() && launches.back() == r) return {};
      launches.push_back(r);
    }
  }
  return launches;
}

double LayerTiming::BytesPerSecond() const {
  return bytes > 0 && seconds > 0 ? bytes / seconds : 0;
}

LayerTiming TimingOf(const std::vector<LayerSample>& samples,
                     const std::vector<LayerSample>& others,
                     uint64_t row_bytes) {
  LayerTiming timing;
  if (samples.empty()) return timing;
  for (const LayerSample& sample : samples) {
    timing.bytes += static_cast<double>(sample.misses * row_bytes);
    timing.seconds += sample.seconds;
  }
  timing.bytes /= static_cast<double>(samples.size());
  timing.seconds /= static_cast<double>(samples.size());
  double quiet = 0;
  uint32_t count = 0;
  for (const auto* list : {&samples, &others}) {
    for (const LayerSample& sample : *list) {
      if (sample.misses > 0) continue;
      quiet += sample.seconds;
      ++count;
    }
  }
  if (count > 0) {
    timing.stall_seconds = std::max(0.0, timing.seconds - quiet / count);
  }
  if (timing.bytes == 0) timing.stall_seconds = 0;
  return timing;
}

absl::Status TimeStep(ObservableRunner& executor, PagedExperts& paging,
                      uint32_t entry, const StepInputs& inputs,
                      const std::vector<uint32_t>& launches,
                      std::vector<LayerSample>& samples) {
  GLM_ASSIGN_OR_RETURN(const auto before, paging.Counts());
  std::vector<double> seconds;
  GLM_RETURN_IF_ERROR(executor.StepTimed(entry, inputs, seconds));
  GLM_ASSIGN_OR_RETURN(const auto after, paging.Counts());
  samples.clear();
  for (uint32_t layer = 0; layer < launches.size(); ++layer) {
    samples.push_back(
        {after[layer].misses - before[layer].misses, seconds[launches[layer]]});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<LayerSample>>> TimeDecodeSteps(
    ObservableRunner& executor, PagedExperts& paging, uint32_t entry,
    uint32_t position, uint32_t steps) {
  const EntryInfo& info = executor.entries()[entry];
  const plan::Plan& plan = executor.plan_file().plan();
  const auto launches = CopyLaunches(plan, *plan.entries()->Get(entry));
  std::vector<std::vector<LayerSample>> result(launches.size());
  if (launches.empty()) return result;
  const std::vector<int32_t> ids(info.sequences, 1);
  std::vector<int32_t> rows;
  std::vector<SequenceStep> sequences;
  for (uint32_t slot = 0; slot < info.sequences; ++slot) {
    sequences.push_back({slot, position, 1});
    rows.push_back(static_cast<int32_t>(slot));
  }
  std::vector<LayerSample> samples;
  for (uint32_t i = 0; i < steps; ++i) {
    GLM_RETURN_IF_ERROR(TimeStep(executor, paging, entry,
                                 {ids, sequences, rows}, launches, samples));
    for (uint32_t layer = 0; layer < samples.size(); ++layer) {
      result[layer].push_back(samples[layer]);
    }
  }
  return result;
}

absl::StatusOr<std::vector<std::vector<LayerSample>>> TimeRepeatedSteps(
    ObservableRunner& executor, const std::vector<PagedExperts*>& ranks,
    uint32_t entry, uint32_t position, uint32_t steps) {
  const paging::TraceShape& shape = ranks[0]->rows().shape;
  std::vector<int32_t> choices;
  for (uint32_t i = 0; i < shape.layers * shape.top_k; ++i) {
    choices.push_back(static_cast<int32_t>(i % shape.top_k));
  }
  for (PagedExperts* rank : ranks) {
    GLM_RETURN_IF_ERROR(rank->SetRouting(choices));
  }
  auto result = TimeDecodeSteps(executor, *ranks[0], entry, position, steps);
  for (PagedExperts* rank : ranks) {
    GLM_RETURN_IF_ERROR(rank->SetRouting({}));
  }
  return result;
}

}  // namespace glm::tools
