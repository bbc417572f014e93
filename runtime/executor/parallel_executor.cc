#include "runtime/executor/parallel_executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/rank_threads.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

// How long the ranks' first meeting may take.
constexpr std::chrono::milliseconds kFirstMeeting = std::chrono::seconds(60);

// One small sum, before weights are loaded: ranks that cannot meet are told
// apart from a model that is wrong.
absl::Status MeetOnce(Device& device, Collective& collective) {
  constexpr uint64_t kCount = 256, kBytes = 4 * kCount;
  GLM_ASSIGN_OR_RETURN(auto queue, device.CreateQueue());
  GLM_ASSIGN_OR_RETURN(auto memory, device.Allocate(kBytes, MemoryKind::kDevice,
                                                    "the first meeting"));
  GLM_ASSIGN_OR_RETURN(auto shared, device.Allocate(kBytes, MemoryKind::kShared,
                                                    "the first meeting"));
  auto* values = reinterpret_cast<float*>(shared->host_data());
  for (uint64_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<float>((collective.rank() + 1) * (i + 1));
  }
  CollectiveCall call;
  call.from = call.to = memory.get();
  call.count = kCount;
  GLM_RETURN_IF_ERROR(queue->Copy(*memory, 0, *shared, 0, kBytes));
  GLM_RETURN_IF_ERROR(collective.Enqueue(*queue, call));
  GLM_RETURN_IF_ERROR(queue->Copy(*shared, 0, *memory, 0, kBytes));
  GLM_RETURN_IF_ERROR(queue->Finish());
  const uint32_t factor = collective.ranks() * (collective.ranks() + 1) / 2;
  for (uint64_t i = 0; i < kCount; ++i) {
    if (values[i] == static_cast<float>(factor * (i + 1))) continue;
    return absl::InternalError(absl::StrCat(
        "the first sum over the ranks is wrong: ", values[i], " instead of ",
        factor * (i + 1), "; the path between the devices does not work"));
  }
  return absl::OkStatus();
}

}  // namespace

ParallelExecutor::ParallelExecutor() = default;

// Each executor waits for its device before it goes; none enqueues any more.
ParallelExecutor::~ParallelExecutor() = default;

absl::StatusOr<std::unique_ptr<ParallelExecutor>> ParallelExecutor::Create(
    std::shared_ptr<const PlanFile> plan, const std::vector<Device*>& devices,
    CollectiveGroup& group, const ExecutorOptions& options) {
  const uint32_t ranks = plan->plan().ranks();
  if (devices.size() != ranks || group.ranks() != ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        plan->path(), ": is of ", ranks, " ranks, not of ", devices.size(),
        " devices that meet as ", group.ranks(), " ranks"));
  }
  std::unique_ptr<ParallelExecutor> result(new ParallelExecutor());
  GLM_ASSIGN_OR_RETURN(result->threads_, RankThreads::Create(group));
  result->limit_ = group.step_limit();
  GLM_RETURN_IF_ERROR(result->threads_->All(
      [&](uint32_t r) { return MeetOnce(*devices[r], group.rank(r)); },
      kFirstMeeting));
  result->executors_.resize(ranks);
  GLM_RETURN_IF_ERROR(result->threads_->All([&](uint32_t r) -> absl::Status {
    ExecutorOptions own = options;
    own.collective = &group.rank(r);
    own.experts.sharers = ranks;
    if (r > 0) {
      own.check_weights = false;
      own.on_weights_read = nullptr;
      own.on_weights_loaded = nullptr;
      own.on_experts_loaded = nullptr;
      own.on_memory_plan = nullptr;
    }
    GLM_ASSIGN_OR_RETURN(result->executors_[r],
                         Executor::Create(plan, *devices[r], own));
    return absl::OkStatus();
  }));
  return result;
}

const ModelInfo& ParallelExecutor::model() const {
  return executors_[0]->model();
}
const std::vector<EntryInfo>& ParallelExecutor::entries() const {
  return executors_[0]->entries();
}
uint32_t ParallelExecutor::slots() const { return executors_[0]->slots(); }
const PlanFile& ParallelExecutor::plan_file() const {
  return executors_[0]->plan_file();
}
const MemoryPlan& ParallelExecutor::memory_plan() const {
  return executors_[0]->memory_plan();
}
std::vector<PagedExperts*> ParallelExecutor::paging() const {
  std::vector<PagedExperts*> all;
  for (const auto& executor : executors_) {
    for (PagedExperts* paging : executor->paging()) all.push_back(paging);
  }
  return all;
}
std::span<const float> ParallelExecutor::logits(uint32_t row) const {
  return executors_[0]->logits(row);
}
bool ParallelExecutor::Samples(uint32_t entry) const {
  return executors_[0]->Samples(entry);
}
bool ParallelExecutor::RunsAhead() const { return executors_[0]->RunsAhead(); }

absl::Status ParallelExecutor::Step(uint32_t entry, const StepInputs& inputs) {
  return threads_->All(
      [&](uint32_t r) { return executors_[r]->Step(entry, inputs); }, limit_);
}

absl::Status ParallelExecutor::BeginSampling(uint32_t slot,
                                             const SamplerOptions& options,
                                             std::span<const int32_t> tokens) {
  return threads_->All(
      [&](uint32_t r) {
        return executors_[r]->BeginSampling(slot, options, tokens);
      },
      limit_);
}

absl::Status ParallelExecutor::Enqueue(uint32_t entry,
                                       const StepInputs& inputs) {
  return threads_->All(
      [&](uint32_t r) { return executors_[r]->Enqueue(entry, inputs); },
      limit_);
}

absl::StatusOr<std::span<const int32_t>> ParallelExecutor::Take() {
  std::vector<std::span<const int32_t>> taken(executors_.size());
  GLM_RETURN_IF_ERROR(threads_->All(
      [&](uint32_t r) -> absl::Status {
        GLM_ASSIGN_OR_RETURN(taken[r], executors_[r]->Take());
        return absl::OkStatus();
      },
      limit_));
  for (uint32_t r = 1; r < taken.size(); ++r) {
    if (std::equal(taken[0].begin(), taken[0].end(), taken[r].begin(),
                   taken[r].end())) {
      continue;
    }
    return absl::InternalError(
        absl::StrCat("ranks 0 and ", r,
                     " chose different tokens from what should be the same "
                     "logits; their sums differ"));
  }
  return taken[0];
}

absl::StatusOr<uint64_t> ParallelExecutor::StateBytes(uint32_t tokens) const {
  GLM_ASSIGN_OR_RETURN(const uint64_t bytes, executors_[0]->StateBytes(tokens));
  return bytes * executors_.size();
}

// Ranks have states of one size, one after the other.
absl::Status ParallelExecutor::SaveState(uint32_t slot, uint32_t tokens,
                                         std::span<std::byte> to) {
  const uint64_t part = to.size() / executors_.size();
  return threads_->All(
      [&](uint32_t r) {
        return executors_[r]->SaveState(slot, tokens,
                                        to.subspan(r * part, part));
      },
      limit_);
}

absl::Status ParallelExecutor::RestoreState(uint32_t slot, uint32_t tokens,
                                            std::span<const std::byte> from) {
  const uint64_t part = from.size() / executors_.size();
  return threads_->All(
      [&](uint32_t r) {
        return executors_[r]->RestoreState(slot, tokens,
                                           from.subspan(r * part, part));
      },
      limit_);
}

absl::Status ParallelExecutor::StepObserved(uint32_t entry,
                                            const StepInputs& inputs,
                                            const Observer& observer) {
  return threads_->All(
      [&](uint32_t r) {
        return r == 0 ? executors_[0]->StepObserved(entry, inputs, observer)
                      : executors_[r]->Step(entry, inputs);
      },
      limit_);
}

absl::Status ParallelExecutor::StepTimed(uint32_t entry,
                                         const StepInputs& inputs,
                                         std::vector<double>& seconds) {
  return threads_->All(
      [&](uint32_t r) {
        std::vector<double> unread;
        return executors_[r]->StepTimed(entry, inputs,
                                        r == 0 ? seconds : unread);
      },
      limit_);
}

absl::Status ParallelExecutor::ReadBuffer(uint32_t entry, uint32_t buffer,
                                          std::vector<std::byte>& bytes) {
  return executors_[0]->ReadBuffer(entry, buffer, bytes);
}

absl::Status ParallelExecutor::ReadState(uint32_t state, uint32_t slot,
                                         std::vector<std::byte>& bytes) {
  return executors_[0]->ReadState(state, slot, bytes);
}

absl::Status ParallelExecutor::FillStates(uint64_t seed) {
  return threads_->All(
      [&](uint32_t r) { return executors_[r]->FillStates(seed); });
}

}  // namespace glm
