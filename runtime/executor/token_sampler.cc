#include "runtime/executor/token_sampler.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/weight_layout.h"

namespace glm {
namespace {

// Words of a slot (docs/spec/sampling.md); a count a token follows.
enum SlotWord {
  kScale,
  kTopP,
  kTopK,
  kRepetition,
  kInverse,
  kPresence,
  kFrequency,
  kPenalties,
  kSeed,  // two words
  kCounts = 16
};
constexpr uint32_t kInPrompt = uint32_t{1} << 31;
constexpr uint32_t kNoPosition = ~uint32_t{0};
constexpr std::string_view kOps[] = {"sample_best", "sample_weigh",
                                     "sample_pick"};

// Scratch, in order: picks, best, sums, counts, listed, sampled.
struct Scratch {
  uint64_t picks, best, sums, counts, listed, sampled, end;

  explicit Scratch(const SamplerLayout& l) {
    const uint64_t rows = l.rows, parts = l.parts;
    picks = 0;
    best = picks + AlignCopy(16 * rows);
    sums = best + AlignCopy(8 * rows * parts);
    counts = sums + AlignCopy(8 * rows * parts);
    listed = counts + AlignCopy(4 * rows * parts);
    sampled = listed + AlignCopy(4 * rows * l.vocab);
    end = sampled + AlignCopy(4 * rows);
  }
};

}  // namespace

bool TokenSampler::Samples(const plan::Entry& entry) {
  return entry.kind() != plan::EntryKind::VERIFY;
}

std::optional<SamplerLayout> SamplerLayout::Of(const plan::Plan& plan) {
  SamplerLayout layout;
  for (const plan::Kernel* kernel : *plan.kernels()) {
    for (size_t i = 0; i < std::size(kOps); ++i) {
      if (kernel->op()->c_str() == kOps[i]) layout.kernels[i] = kernel;
    }
  }
  for (const plan::Kernel* kernel : layout.kernels) {
    if (kernel == nullptr) return std::nullopt;
  }
  layout.vocab = plan.model()->vocab();
  layout.parts = static_cast<uint32_t>(layout.kernels[0]->params()->Get(1));
  for (const plan::Entry* entry : *plan.entries()) {
    if (!TokenSampler::Samples(*entry)) continue;
    layout.rows = std::max(layout.rows, entry->logit_rows());
    layout.sequences = std::max<uint64_t>(layout.sequences, entry->sequences());
    layout.step_tokens = std::max(
        layout.step_tokens, uint64_t{entry->sequences()} * entry->tokens());
  }
  if (layout.rows == 0) return std::nullopt;
  layout.slot_bytes = AlignCopy(4 * (kCounts + layout.vocab));
  layout.half_bytes = AlignCopy(4 * layout.step_tokens) +
                      AlignCopy(16 * layout.sequences) +
                      2 * AlignCopy(4 * uint64_t{layout.rows}) +
                      AlignCopy(16 * uint64_t{layout.rows});
  return layout;
}

uint64_t SamplerLayout::DeviceBytes(uint32_t slots) const {
  return slots * slot_bytes + Scratch(*this).end;
}

uint64_t TokenSampler::SeqsAt() const {
  return AlignCopy(4 * layout_.step_tokens);
}
uint64_t TokenSampler::RowsAt() const {
  return SeqsAt() + AlignCopy(16 * layout_.sequences);
}
uint64_t TokenSampler::PicksAt() const {
  return RowsAt() + AlignCopy(4 * uint64_t{layout_.rows});
}
uint64_t TokenSampler::SampledAt() const {
  return PicksAt() + AlignCopy(16 * uint64_t{layout_.rows});
}
std::byte* TokenSampler::HalfData(int half, uint64_t offset) const {
  return pinned_->host_data() + half * layout_.half_bytes + offset;
}

absl::StatusOr<std::unique_ptr<TokenSampler>> TokenSampler::Create(
    const SamplerLayout& layout, Device& device, Queue& queue, Module& module,
    uint32_t slots, bool graphs) {
  std::unique_ptr<TokenSampler> sampler(
      new TokenSampler(layout, device, queue));
  sampler->graphs_ = graphs;
  for (size_t i = 0; i < layout.kernels.size(); ++i) {
    GLM_ASSIGN_OR_RETURN(sampler->kernels_[i],
                         module.Find(layout.kernels[i]->name()->c_str()));
  }
  GLM_ASSIGN_OR_RETURN(sampler->slots_,
                       device.Allocate(slots * layout.slot_bytes,
                                       MemoryKind::kDevice, "sampling"));
  GLM_ASSIGN_OR_RETURN(
      sampler->scratch_,
      device.Allocate(Scratch(layout).end, MemoryKind::kDevice, "sampling"));
  GLM_ASSIGN_OR_RETURN(
      sampler->pinned_,
      device.Allocate(layout.PinnedBytes(), MemoryKind::kShared, "sampling"));
  for (Half& half : sampler->halves_) {
    GLM_ASSIGN_OR_RETURN(half.done, device.CreateEvent());
  }
  return sampler;
}

absl::Status TokenSampler::Begin(uint32_t slot, const SamplerOptions& options,
                                 std::span<const int32_t> tokens) {
  waiting_ = 0;
  GLM_RETURN_IF_ERROR(queue_.Finish());
  // Counts that nobody looks at stay as they are.
  const uint64_t words = kCounts + (options.penalties() ? layout_.vocab : 0);
  GLM_ASSIGN_OR_RETURN(
      const auto shared,
      device_.Allocate(4 * words, MemoryKind::kShared, "sampling options"));
  auto* to = reinterpret_cast<uint32_t*>(shared->host_data());
  const auto bits = [](float v) { return std::bit_cast<uint32_t>(v); };
  if (options.temperature > 0) to[kScale] = bits(SamplingScale(options));
  to[kTopP] = SamplingTopP(options);
  to[kTopK] =
      static_cast<uint32_t>(std::min<uint64_t>(options.top_k, layout_.vocab));
  to[kRepetition] = bits(options.repetition_penalty);
  to[kInverse] = bits(1.0f / options.repetition_penalty);
  to[kPresence] = bits(options.presence_penalty);
  to[kFrequency] = bits(options.frequency_penalty);
  to[kPenalties] = options.penalties();
  to[kSeed] = static_cast<uint32_t>(options.seed);
  to[kSeed + 1] = static_cast<uint32_t>(options.seed >> 32);
  for (const int32_t id : tokens) {
    if (id < 0 || static_cast<uint64_t>(id) >= layout_.vocab) {
      return absl::InvalidArgumentError(absl::StrCat(
          "token ", id, " is outside the vocabulary of ", layout_.vocab));
    }
    if (options.penalties()) to[kCounts + id] = kInPrompt;
  }
  GLM_RETURN_IF_ERROR(
      queue_.Copy(*slots_, slot * layout_.slot_bytes, *shared, 0, 4 * words));
  return queue_.Finish();
}

void TokenSampler::WriteInputs(int half, const plan::Entry& entry,
                               const StepInputs& inputs) {
  std::memcpy(HalfData(half, IdsAt()), inputs.ids.data(),
              inputs.ids.size_bytes());
  auto* seqs = reinterpret_cast<int32_t*>(HalfData(half, SeqsAt()));
  for (const SequenceStep& sequence : inputs.seqs) {
    *seqs++ = static_cast<int32_t>(sequence.slot);
    *seqs++ = static_cast<int32_t>(sequence.position);
    *seqs++ = static_cast<int32_t>(sequence.length);
    *seqs++ = 0;
  }
  std::memcpy(HalfData(half, RowsAt()), inputs.rows.data(),
              inputs.rows.size_bytes());
  auto* picks = reinterpret_cast<int32_t*>(HalfData(half, PicksAt()));
  std::vector<uint32_t>& positions = halves_[half].positions;
  positions.assign(inputs.rows.size(), kNoPosition);
  for (size_t r = 0; r < inputs.rows.size(); ++r, picks += 4) {
    std::fill_n(picks, 4, 0);
    const int32_t row = inputs.rows[r];
    if (row < 0) {
      picks[0] = -1;
      continue;
    }
    const uint32_t tokens = entry.tokens();
    const SequenceStep& sequence = inputs.seqs[row / tokens];
    positions[r] = sequence.position + row % tokens + 1;
    picks[0] = static_cast<int32_t>(sequence.slot);
    picks[1] = static_cast<int32_t>(positions[r]);
  }
}

absl::Status TokenSampler::EnqueueTail(const plan::Entry& entry,
                                       const Memory& arena) {
  const Scratch at(layout_);
  const uint64_t scratch = scratch_->address();
  const uint64_t rows = entry.logit_rows();
  const uint64_t args[] = {
      0,
      1,
      rows,
      arena.address() + entry.buffers()->Get(entry.logits())->offset(),
      scratch + at.picks,
      slots_->address(),
      layout_.slot_bytes,
      scratch + at.best,
      scratch + at.sums,
      scratch + at.counts,
      scratch + at.listed,
      scratch + at.sampled};
  for (size_t i = 0; i < kernels_.size(); ++i) {
    LaunchCall call;
    call.kernel = kernels_[i];
    call.threads = layout_.kernels[i]->threads();
    call.args = args;
    const auto count = static_cast<uint32_t>(rows);
    call.grid = i < 2 ? std::array<uint32_t, 3>{layout_.parts, count, 1}
                      : std::array<uint32_t, 3>{count, 1, 1};
    GLM_RETURN_IF_ERROR(queue_.Launch(call));
  }
  return absl::OkStatus();
}

absl::Status TokenSampler::EnqueueAll(const BoundEntry& bound,
                                      const Memory& arena, int half,
                                      bool follows) {
  const plan::Entry& entry = bound.entry();
  const uint64_t from = half * layout_.half_bytes;
  const auto input = [&](uint32_t buffer, const Memory& memory, uint64_t at) {
    const plan::Buffer& b = *entry.buffers()->Get(buffer);
    return queue_.Copy(arena, b.offset(), memory, at, b.size());
  };
  const Scratch at(layout_);
  GLM_RETURN_IF_ERROR(follows ? input(entry.ids(), *scratch_, at.sampled)
                              : input(entry.ids(), *pinned_, from + IdsAt()));
  GLM_RETURN_IF_ERROR(input(entry.seqs(), *pinned_, from + SeqsAt()));
  GLM_RETURN_IF_ERROR(input(entry.rows(), *pinned_, from + RowsAt()));
  const uint64_t rows = entry.logit_rows();
  GLM_RETURN_IF_ERROR(
      queue_.Copy(*scratch_, at.picks, *pinned_, from + PicksAt(), 16 * rows));
  for (uint32_t i = 0; i < bound.launches(); ++i) {
    GLM_RETURN_IF_ERROR(bound.EnqueueLaunch(queue_, i));
  }
  GLM_RETURN_IF_ERROR(EnqueueTail(entry, arena));
  return queue_.Copy(*pinned_, from + SampledAt(), *scratch_, at.sampled,
                     4 * rows);
}

absl::Status TokenSampler::Enqueue(const BoundEntry& bound, const Memory& arena,
                                   const StepInputs& inputs) {
  if (waiting_ == 2) {
    return absl::FailedPreconditionError("two steps wait to be taken");
  }
  const int half = next_;
  const bool follows = inputs.ids.empty();
  if (follows && sampled_ < bound.entry().sequences()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no ids, and the step before chose ", sampled_, " of ",
                     bound.entry().sequences(), " tokens"));
  }
  sampled_ = 0;  // until all is enqueued
  WriteInputs(half, bound.entry(), inputs);
  if (graphs_) {
    auto& graph = captured_[{&bound, half, follows}];
    if (graph == nullptr) {
      GLM_RETURN_IF_ERROR(queue_.BeginCapture());
      const absl::Status recorded = EnqueueAll(bound, arena, half, follows);
      auto ended = queue_.EndCapture();
      GLM_RETURN_IF_ERROR(recorded);
      GLM_ASSIGN_OR_RETURN(graph, std::move(ended));
    }
    GLM_RETURN_IF_ERROR(queue_.Replay(*graph));
  } else {
    GLM_RETURN_IF_ERROR(EnqueueAll(bound, arena, half, follows));
  }
  GLM_RETURN_IF_ERROR(queue_.Record(*halves_[half].done));
  next_ = 1 - half;
  ++waiting_;
  sampled_ = bound.entry().logit_rows();
  return absl::OkStatus();
}

absl::StatusOr<std::span<const int32_t>> TokenSampler::Take() {
  if (waiting_ == 0) {
    return absl::FailedPreconditionError("no step waits to be taken");
  }
  const int oldest = waiting_ == 2 ? next_ : 1 - next_;
  --waiting_;
  Half& half = halves_[oldest];
  GLM_RETURN_IF_ERROR(queue_.Wait(*half.done));
  half.tokens.resize(half.positions.size());
  std::memcpy(half.tokens.data(), HalfData(oldest, SampledAt()),
              4 * half.tokens.size());
  for (size_t r = 0; r < half.tokens.size(); ++r) {
    int32_t& token = half.tokens[r];
    if (half.positions[r] == kNoPosition) {
      token = -1;
    } else if (token < 0) {
      return absl::InternalError(absl::StrCat(
          "no token at position ", half.positions[r],
          ": a logit is NaN or infinite, or none is finite; the model's values "
          "have overflowed or its state is damaged"));
    }
  }
  return half.tokens;
}

}  // namespace glm
