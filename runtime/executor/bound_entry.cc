#include "runtime/executor/bound_entry.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/weight_layout.h"
#include "runtime/plan/collectives.h"

namespace glm {
namespace {

// What one core moves and computes in a nanosecond, roughly.
constexpr uint64_t kBytesPerNs = 8;
constexpr uint64_t kFlopsPerNs = 8;

uint64_t CostNs(const plan::Launch& launch) {
  const uint64_t bytes = launch.weight_bytes() + launch.memory_bytes();
  if (bytes == 0 && launch.flops() == 0) return 0;
  return 1 + bytes / kBytesPerNs + launch.flops() / kFlopsPerNs;
}

absl::StatusOr<uint64_t> Resolve(const plan::Arg& arg, const plan::Entry& entry,
                                 const Bindings& bindings) {
  switch (arg.kind()) {
    case plan::ArgKind::BUFFER:
      return bindings.arena->address() +
             entry.buffers()->Get(arg.index())->offset();
    case plan::ArgKind::WEIGHT:
      return bindings.weight(arg.index());
    case plan::ArgKind::STATE:
      return bindings.states[arg.index()];
    case plan::ArgKind::SCALAR:
      return arg.value();
    case plan::ArgKind::PAGER:
      return bindings.pager;
  }
  return absl::InternalError("argument kind that the validator let pass");
}

}  // namespace

absl::StatusOr<BoundEntry> BoundEntry::Create(const plan::Plan& plan,
                                              const plan::Entry& entry,
                                              const Bindings& bindings) {
  BoundEntry bound;
  bound.entry_ = &entry;
  bound.arena_ = bindings.arena;
  bound.staging_ = bindings.staging;
  bound.collective_ = bindings.collective;
  uint64_t staging_at = 0;
  const auto range = [&](uint32_t buffer) {
    const plan::Buffer& b = *entry.buffers()->Get(buffer);
    const BoundaryRange result{b.offset(), staging_at, b.size()};
    staging_at += AlignCopy(b.size());
    return result;
  };
  bound.inputs_ = {range(entry.ids()), range(entry.seqs()),
                   range(entry.rows())};
  bound.logits_ = range(entry.logits());

  size_t arg_count = 0, phase_count = 0;
  for (const plan::Launch* launch : *entry.launches()) {
    arg_count += launch->args()->size();
  }
  bound.operations_ = OperationRanges(entry);
  for (const OperationRange& range : bound.operations_) {
    if (range.group == nullptr) continue;
    ++arg_count;
    phase_count += range.group->chains()->size();
  }
  bound.args_.reserve(arg_count);  // spans of them must stay valid
  bound.phases_.reserve(phase_count);
  for (const OperationRange& range : bound.operations_) {
    LaunchCall call;
    const size_t first = bound.args_.size();
    if (range.group != nullptr) bound.args_.push_back(bindings.counters);
    for (uint32_t i = 0; i < range.count; ++i) {
      const plan::Launch& launch = *entry.launches()->Get(range.first + i);
      call.cost_ns += CostNs(launch);
      for (const plan::Arg* arg : *launch.args()) {
        GLM_ASSIGN_OR_RETURN(const uint64_t value,
                             Resolve(*arg, entry, bindings));
        bound.args_.push_back(value);
      }
    }
    call.args = std::span(bound.args_).subspan(first);
    uint32_t index;
    if (range.group != nullptr) {
      call.phases = bound.AddPhases(range);
      call.grid = {call.phases.back().end, 1, 1};
      index = range.group->kernel();
    } else {
      const plan::Launch& launch = *entry.launches()->Get(range.first);
      for (uint32_t i = 0; i < 3; ++i) call.grid[i] = launch.grid()->Get(i);
      index = launch.kernel();
    }
    const plan::Kernel& kernel = *plan.kernels()->Get(index);
    if (plan::IsCollective(kernel)) {
      bound.collectives_[static_cast<uint32_t>(bound.calls_.size())] =
          bound.CollectiveOf(kernel, *entry.launches()->Get(range.first));
      bound.calls_.push_back({});
      continue;
    }
    GLM_ASSIGN_OR_RETURN(call.kernel, bindings.kernel(kernel));
    call.threads = kernel.threads();
    call.lds_bytes = kernel.lds_bytes();
    bound.calls_.push_back(call);
  }
  return bound;
}

std::span<const LaunchPhase> BoundEntry::AddPhases(
    const OperationRange& range) {
  const size_t begin = phases_.size();
  uint32_t launch = range.first, blocks = 0, phase = 0;
  uint64_t cost_ns = 0;
  for (const plan::Chain* chain : *range.group->chains()) {
    if (chain->phase() != phase) {
      phases_.push_back({blocks, cost_ns});
      cost_ns = 0;
      phase = chain->phase();
    }
    blocks += chain->rows() * chain->columns();
    for (uint32_t i = 0; i < chain->launches(); ++i) {
      cost_ns += CostNs(*entry_->launches()->Get(launch++));
    }
  }
  phases_.push_back({blocks, cost_ns});
  return std::span(phases_).subspan(begin);
}

std::byte* BoundEntry::HostSide(const BoundaryRange& range) const {
  return staging_ == nullptr ? arena_->host_data() + range.arena_offset
                             : staging_->host_data() + range.staging_offset;
}

void BoundEntry::WriteInputs(const StepInputs& inputs) const {
  std::memcpy(HostSide(inputs_[0]), inputs.ids.data(), inputs.ids.size_bytes());
  auto* seqs = reinterpret_cast<int32_t*>(HostSide(inputs_[1]));
  for (const SequenceStep& sequence : inputs.seqs) {
    *seqs++ = static_cast<int32_t>(sequence.slot);
    *seqs++ = static_cast<int32_t>(sequence.position);
    *seqs++ = static_cast<int32_t>(sequence.length);
    *seqs++ = 0;
  }
  std::memcpy(HostSide(inputs_[2]), inputs.rows.data(),
              inputs.rows.size_bytes());
}

const float* BoundEntry::logits() const {
  return reinterpret_cast<const float*>(HostSide(logits_));
}

absl::Status BoundEntry::EnqueueInputs(Queue& queue) const {
  if (staging_ == nullptr) return absl::OkStatus();
  for (const BoundaryRange& range : inputs_) {
    GLM_RETURN_IF_ERROR(queue.Copy(*arena_, range.arena_offset, *staging_,
                                   range.staging_offset, range.bytes));
  }
  return absl::OkStatus();
}

// x and y are arguments 3 and 4: docs/spec/kernels.md, Collectives.
CollectiveCall BoundEntry::CollectiveOf(const plan::Kernel& kernel,
                                        const plan::Launch& launch) const {
  const auto offset = [&](uint32_t arg) {
    return entry_->buffers()->Get(launch.args()->Get(arg)->index())->offset();
  };
  CollectiveCall call;
  call.op = plan::IsAllReduce(kernel) ? CollectiveOp::kAllReduce
                                      : CollectiveOp::kAllGather;
  call.element = kernel.params()->Get(0) == 0 ? CollectiveElement::kF32
                                              : CollectiveElement::kBF16;
  call.from = call.to = arena_;
  call.from_offset = offset(3);
  call.to_offset = offset(4);
  call.count = launch.args()->Get(2)->value() *
               static_cast<uint64_t>(kernel.params()->Get(1));
  return call;
}

absl::Status BoundEntry::EnqueueLaunch(Queue& queue, uint32_t launch) const {
  if (const auto found = collectives_.find(launch);
      found != collectives_.end()) {
    return collective_->Enqueue(queue, found->second);
  }
  return queue.Launch(calls_[launch]);
}

absl::Status BoundEntry::EnqueueResults(Queue& queue) const {
  if (staging_ == nullptr) return absl::OkStatus();
  return queue.Copy(*staging_, logits_.staging_offset, *arena_,
                    logits_.arena_offset, logits_.bytes);
}

absl::Status BoundEntry::EnqueueAll(Queue& queue) const {
  GLM_RETURN_IF_ERROR(EnqueueInputs(queue));
  for (uint32_t i = 0; i < launches(); ++i) {
    GLM_RETURN_IF_ERROR(EnqueueLaunch(queue, i));
  }
  return EnqueueResults(queue);
}

absl::Status CheckStepInputs(const EntryInfo& entry, const ModelInfo& model,
                             uint32_t slots, const StepInputs& inputs) {
  const auto bad = [&](const auto&... text) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", entry.name, ": ", text...));
  };
  if (inputs.ids.size() != uint64_t{entry.sequences} * entry.tokens ||
      inputs.seqs.size() != entry.sequences ||
      inputs.rows.size() != entry.logit_rows) {
    return bad(inputs.ids.size(), " ids, ", inputs.seqs.size(), " sequences, ",
               inputs.rows.size(), " rows, expected ",
               uint64_t{entry.sequences} * entry.tokens, ", ", entry.sequences,
               ", ", entry.logit_rows);
  }
  for (size_t i = 0; i < inputs.ids.size(); ++i) {
    if (inputs.ids[i] < 0 || uint32_t(inputs.ids[i]) >= model.vocab) {
      return bad("id ", inputs.ids[i], " in row ", i,
                 " is outside the vocabulary of ", model.vocab);
    }
  }
  for (size_t s = 0; s < inputs.seqs.size(); ++s) {
    const SequenceStep& sequence = inputs.seqs[s];
    if (sequence.slot >= slots) {
      return bad("slot ", sequence.slot, " of ", slots);
    }
    if (sequence.length > entry.tokens) {
      return bad("length ", sequence.length, " of at most ", entry.tokens);
    }
    if (uint64_t{sequence.position} + sequence.length > model.max_context) {
      return bad("position ", sequence.position, " + ", sequence.length,
                 " tokens exceed the context of ", model.max_context);
    }
    for (size_t other = 0; other < s && sequence.length > 0; ++other) {
      if (inputs.seqs[other].length > 0 &&
          inputs.seqs[other].slot == sequence.slot) {
        return bad("slot ", sequence.slot, " appears twice");
      }
    }
  }
  for (const int32_t row : inputs.rows) {
    if (row == -1) continue;
    const bool valid =
        row >= 0 && uint64_t(row) < inputs.ids.size() &&
        row % entry.tokens < inputs.seqs[row / entry.tokens].length;
    if (!valid) return bad("logits of row ", row, ", which holds no token");
  }
  return absl::OkStatus();
}

}  // namespace glm
