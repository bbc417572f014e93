#include "runtime/executor/executor.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/bound_entry.h"
#include "runtime/executor/describe.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/memory_io.h"
#include "runtime/executor/row_store.h"
#include "runtime/executor/slot_states.h"
#include "runtime/executor/synthetic_weights.h"
#include "runtime/executor/token_sampler.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

constexpr uint32_t kMaxSlots = 4096;

// The most demanding of the plan's code objects that `device` can run.
absl::StatusOr<const plan::CodeObject*> ChooseCodeObject(const PlanFile& plan,
                                                         const Device& device) {
  const auto isa = [](const plan::CodeObject* object) {
    return object->isa() == nullptr ? std::string_view()
                                    : std::string_view(object->isa()->c_str());
  };
  const plan::CodeObject* best = nullptr;
  absl::Status refusal;
  std::string targets;
  if (const auto* objects = plan.plan().code_objects()) {
    for (const plan::CodeObject* object : *objects) {
      const absl::Status status =
          device.CheckCodeObject(object->target()->c_str(), isa(object));
      if (status.ok()) {
        if (best == nullptr || isa(object) > isa(best)) best = object;
      } else if (!absl::IsNotFound(status)) {
        refusal = status;
      }
      absl::StrAppend(&targets, targets.empty() ? "" : ", ",
                      object->target()->c_str());
    }
  }
  if (best != nullptr) return best;
  if (!refusal.ok()) {
    return absl::UnavailableError(
        absl::StrCat(plan.path(), ": ", refusal.message()));
  }
  return absl::UnavailableError(absl::StrCat(
      plan.path(), ": holds code for ", targets.empty() ? "no target" : targets,
      ", the device is ", device.Describe(),
      "; compile it again with --target for this device"));
}

bool HasSource(const PlanFile& plan, const Device& device) {
  const plan::Segment* segment = plan.plan().source();
  return segment != nullptr && segment->size() > 0 && device.Compiles();
}

// The code of a plan without a code object for `device`, made from its source;
// `refusal` says why there is none.
absl::StatusOr<std::string> CompileSource(const PlanFile& plan, Device& device,
                                          const absl::Status& refusal) {
  if (!HasSource(plan, device)) return refusal;
  GLM_ASSIGN_OR_RETURN(const std::span<const std::byte> source,
                       plan.SegmentBytes(*plan.plan().source(), "source"));
  auto code = device.Compile(
      {reinterpret_cast<const char*>(source.data()), source.size()},
      plan.path());
  if (code.ok()) return code;
  return absl::UnavailableError(
      absl::StrCat(refusal.message(),
                   "\nits kernels' source was to be compiled here instead: ",
                   code.status().message()));
}

absl::Status CheckRanks(const PlanFile& plan, const Collective* collective) {
  const uint32_t ranks = plan.plan().ranks();
  if (collective == nullptr ? ranks == 1 : collective->ranks() == ranks) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      plan.path(), ": is for ", ranks, ranks == 1 ? " device" : " devices",
      ", it was to run as one of ",
      collective == nullptr ? 1 : collective->ranks(),
      "; compile it again with --tp for their number"));
}

}  // namespace

class Executor::Impl {
 public:
  Impl(std::shared_ptr<const PlanFile> plan, Device& device)
      : plan_file(std::move(plan)), plan(plan_file->plan()), device(device) {}
  // Nothing may use the memory that goes now; after an error of a step, work
  // may be left.
  ~Impl() {
    if (queue != nullptr) queue->Finish().IgnoreError();
  }

  absl::Status Bind(const ExecutorOptions& options);
  // Decides memory.experts, of a plan that pages them.
  absl::Status PlanPaging(const ExecutorOptions& options, uint64_t limit);
  absl::Status BindPaging(const ExecutorOptions& options);
  absl::Status Capture();

  // Begins a step, enqueues it with `enqueue` and waits for it, whatever that
  // gave.
  absl::Status Run(uint32_t entry, const StepInputs& inputs,
                   absl::FunctionRef<absl::Status(const BoundEntry&)> enqueue);
  absl::Status Begin(uint32_t entry, const StepInputs& inputs);
  // Waits for all that is enqueued.
  absl::Status Finish();
  // Undoes what a step that failed, or was cancelled, may have left: counters
  // of groups, without which the next one would not wait for its phases, and
  // experts of whom only the table knows.
  absl::Status Recover();

  std::shared_ptr<const PlanFile> plan_file;
  const plan::Plan& plan;
  Device& device;
  ModelInfo model;
  std::vector<EntryInfo> infos;
  uint32_t slots = 1;
  MemoryPlan memory;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<MemoryIo> io;
  std::unique_ptr<Module> module;
  std::unique_ptr<WeightStore> weights;
  std::optional<ExpertRows> rows;  // nullopt: experts are resident
  RowKinds row_kinds;
  std::unique_ptr<PagedExperts> experts;
  std::unique_ptr<Memory> arena;
  std::unique_ptr<Memory> staging;
  std::unique_ptr<Memory> states;
  std::vector<uint64_t> state_offsets;
  std::optional<SlotStates> slot_states;
  std::vector<BoundEntry> entries;
  std::vector<std::unique_ptr<Event>> events;
  std::unique_ptr<TokenSampler> sampler;  // null: the plan has no kernels
  uint32_t last_entry = 0;
  bool step_open = false;  // begun, and not known to be complete
};

absl::Status Executor::Impl::Bind(const ExecutorOptions& options) {
  if (options.slots == 0 || options.slots > kMaxSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.slots, " slots, expected 1 to ", kMaxSlots));
  }
  slots = options.slots;
  model = DescribeModel(*plan.model());
  for (const plan::Entry* entry : *plan.entries()) {
    infos.push_back(DescribeEntry(*entry));
  }
  const auto object = ChooseCodeObject(*plan_file, device);
  std::string compiled;
  if (!object.ok()) {
    GLM_ASSIGN_OR_RETURN(compiled,
                         CompileSource(*plan_file, device, object.status()));
  }
  GLM_RETURN_IF_ERROR(CheckRanks(*plan_file, options.collective));
  const uint32_t rank =
      options.collective == nullptr ? 0 : options.collective->rank();
  const bool map = device.SupportsMappedWeights();
  memory = PlanMemory(plan, {slots, map, !map, options.synthetic, rank});
  const uint64_t limit =
      options.memory_limit > 0 ? options.memory_limit : device.AvailableBytes();
  GLM_RETURN_IF_ERROR(PlanPaging(options, limit));
  if (options.on_memory_plan) options.on_memory_plan(memory);
  GLM_RETURN_IF_ERROR(CheckMemoryLimit(memory, limit, plan_file->path()));
  if (options.synthetic) {
    GLM_ASSIGN_OR_RETURN(weights,
                         WeightStore::Synthetic(plan_file, *options.synthetic));
  } else {
    GLM_ASSIGN_OR_RETURN(
        weights, WeightStore::Open(plan_file, options.weights_dirs,
                                   options.check_weights,
                                   options.on_weights_read, options.cancel));
  }
  GLM_ASSIGN_OR_RETURN(queue, device.CreateQueue());
  io = std::make_unique<MemoryIo>(device, *queue);
  std::span<const std::byte> image = std::as_bytes(std::span(compiled));
  if (object.ok()) {
    GLM_ASSIGN_OR_RETURN(
        image, plan_file->SegmentBytes(*(*object)->segment(), "code object"));
  }
  GLM_ASSIGN_OR_RETURN(module, device.LoadModule(image, plan_file->path()));
  GLM_RETURN_IF_ERROR(
      weights->Bind(device, options.on_weights_loaded, options.cancel, rank));
  GLM_ASSIGN_OR_RETURN(
      arena, device.Allocate(memory.arena, MemoryKind::kDevice, "activations"));
  if (memory.staging > 0) {
    GLM_ASSIGN_OR_RETURN(
        staging,
        device.Allocate(memory.staging, MemoryKind::kShared, "staging"));
  }
  Bindings bindings;
  if (memory.states > 0) {
    GLM_ASSIGN_OR_RETURN(
        states, device.Allocate(memory.states, MemoryKind::kDevice, "state"));
    uint64_t offset = 0;
    for (const plan::State* state : *plan.states()) {
      state_offsets.push_back(offset);
      bindings.states.push_back(states->address() + offset);
      offset += state->bytes_per_slot() * slots;
    }
  }
  slot_states.emplace(plan, slots, states.get(), device, *queue);
  bindings.arena = arena.get();
  if (memory.groups) {
    bindings.counters = arena->address() + memory.arena - kCounterBytes;
  }
  bindings.staging = staging.get();
  GLM_RETURN_IF_ERROR(BindPaging(options));
  if (experts != nullptr) bindings.pager = experts->address();
  bindings.collective = options.collective;
  bindings.weight = [this](uint32_t w) { return weights->ArgumentOf(w); };
  bindings.kernel = [this](const plan::Kernel& kernel) {
    return module->Find(kernel.name()->c_str());
  };
  for (const plan::Entry* entry : *plan.entries()) {
    GLM_ASSIGN_OR_RETURN(BoundEntry bound,
                         BoundEntry::Create(plan, *entry, bindings));
    entries.push_back(std::move(bound));
  }
  if (const auto layout = SamplerLayout::Of(plan)) {
    GLM_ASSIGN_OR_RETURN(
        sampler, TokenSampler::Create(*layout, device, *queue, *module, slots,
                                      options.graphs));
  }
  return absl::OkStatus();
}

absl::Status Executor::Impl::Capture() {
  for (BoundEntry& entry : entries) {
    GLM_RETURN_IF_ERROR(queue->BeginCapture());
    const absl::Status recorded = entry.EnqueueAll(*queue);
    GLM_ASSIGN_OR_RETURN(entry.graph, queue->EndCapture());
    GLM_RETURN_IF_ERROR(recorded);
  }
  return absl::OkStatus();
}

absl::Status Executor::Impl::PlanPaging(const ExecutorOptions& options,
                                        uint64_t limit) {
  rows = ExpertRowsOf(
      plan, options.collective == nullptr ? 0 : options.collective->rank());
  if (!rows) return absl::OkStatus();
  ExpertSurroundings around;
  around.unified = device.SupportsMappedWeights();
  row_kinds = RowKinds::Of(plan, *rows, options.synthetic,
                           around.unified && options.experts.map_rows);
  const uint64_t committed = memory.Committed();
  around.device_free = limit - std::min(limit, committed);
  const uint64_t has = device.AvailableBytes();
  around.device_spare = has - std::min(has, limit);
  around.host = ReadMemoryLimits();
  around.mapped_rows = row_kinds.in_place;
  around.distinct_rows = static_cast<uint32_t>(row_kinds.first.size());
  around.plan_path = plan_file->path();
  GLM_ASSIGN_OR_RETURN(memory.experts,
                       PlanExperts(*rows, options.experts, around));
  return absl::OkStatus();
}

absl::Status Executor::Impl::BindPaging(const ExecutorOptions& options) {
  if (!rows) return absl::OkStatus();
  GLM_ASSIGN_OR_RETURN(
      experts, PagedExperts::Create(
                   *plan_file, *rows, row_kinds, *memory.experts, *weights,
                   device, *io, {options.on_experts_loaded, options.cancel}));
  memory.experts = experts->budget();
  return absl::OkStatus();
}

absl::Status Executor::Impl::Run(
    uint32_t entry, const StepInputs& inputs,
    absl::FunctionRef<absl::Status(const BoundEntry&)> enqueue) {
  GLM_RETURN_IF_ERROR(Begin(entry, inputs));
  absl::Status status = enqueue(entries[entry]);
  status.Update(Finish());
  step_open = !status.ok();
  return status;
}

absl::Status Executor::Impl::Begin(uint32_t entry, const StepInputs& inputs) {
  if (entry >= entries.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", entry, " of ", entries.size()));
  }
  GLM_RETURN_IF_ERROR(CheckStepInputs(infos[entry], model, slots, inputs));
  // Once a prompt is often enough, and too dear for each token.
  if (infos[entry].prefill) GLM_RETURN_IF_ERROR(weights->StillWhole());
  if (step_open) GLM_RETURN_IF_ERROR(Recover());
  entries[entry].WriteInputs(inputs);
  last_entry = entry;
  step_open = true;
  if (experts != nullptr) experts->StepBegins();
  return absl::OkStatus();
}

absl::Status Executor::Impl::Finish() {
  absl::Status status = queue->Finish();
  if (experts == nullptr) return status;
  experts->StepsEnd();
  status.Update(experts->TakeStatus());
  return status;
}

absl::Status Executor::Impl::Recover() {
  // What is left of that step must not count on. Its error was told; where the
  // device is lost, the next call tells it again.
  Finish().IgnoreError();
  if (experts != nullptr) GLM_RETURN_IF_ERROR(experts->Restart());
  if (!memory.groups) return absl::OkStatus();
  const std::vector<std::byte> zeros(kCounterBytes);
  return io->Write(*arena, memory.arena - kCounterBytes, zeros);
}

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    std::shared_ptr<const PlanFile> plan, Device& device,
    const ExecutorOptions& options) {
  auto impl = std::make_unique<Impl>(std::move(plan), device);
  GLM_RETURN_IF_ERROR(impl->Bind(options));
  if (options.graphs) GLM_RETURN_IF_ERROR(impl->Capture());
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

absl::Status Executor::CheckDevice(const PlanFile& plan, const Device& device) {
  if (HasSource(plan, device)) return absl::OkStatus();
  return ChooseCodeObject(plan, device).status();
}

const ModelInfo& Executor::model() const { return impl_->model; }
const std::vector<EntryInfo>& Executor::entries() const { return impl_->infos; }
uint32_t Executor::slots() const { return impl_->slots; }
const PlanFile& Executor::plan_file() const { return *impl_->plan_file; }
const MemoryPlan& Executor::memory_plan() const { return impl_->memory; }
const WeightStore& Executor::weights() const { return *impl_->weights; }
std::vector<PagedExperts*> Executor::paging() const {
  if (impl_->experts == nullptr) return {};
  return {impl_->experts.get()};
}

absl::Status Executor::Step(uint32_t entry, const StepInputs& inputs) {
  return impl_->Run(entry, inputs, [this](const BoundEntry& bound) {
    return bound.graph != nullptr ? impl_->queue->Replay(*bound.graph)
                                  : bound.EnqueueAll(*impl_->queue);
  });
}

bool Executor::Samples(uint32_t entry) const {
  return impl_->sampler != nullptr && entry < impl_->entries.size() &&
         TokenSampler::Samples(impl_->entries[entry].entry());
}

bool Executor::RunsAhead() const { return impl_->device.RunsAhead(); }

absl::Status Executor::BeginSampling(uint32_t slot,
                                     const SamplerOptions& options,
                                     std::span<const int32_t> tokens) {
  if (impl_->sampler == nullptr || slot >= impl_->slots) {
    return absl::InvalidArgumentError(
        absl::StrCat("no sampling in slot ", slot, " of ", impl_->slots));
  }
  const absl::Status begun = impl_->sampler->Begin(slot, options, tokens);
  if (PagedExperts* experts = impl_->experts.get()) {
    // Of steps whose tokens were dropped.
    experts->StepsEnd();
    if (!experts->TakeStatus().ok()) impl_->step_open = true;
  }
  return begun;
}

absl::Status Executor::Enqueue(uint32_t entry, const StepInputs& inputs) {
  if (!Samples(entry)) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", entry, " samples no tokens"));
  }
  const EntryInfo& info = impl_->infos[entry];
  StepInputs checked = inputs;
  const std::vector<int32_t> following(info.sequences);
  if (inputs.ids.empty() && info.tokens == 1) checked.ids = following;
  GLM_RETURN_IF_ERROR(
      CheckStepInputs(info, impl_->model, impl_->slots, checked));
  if (info.prefill) GLM_RETURN_IF_ERROR(impl_->weights->StillWhole());
  if (impl_->step_open) {
    GLM_RETURN_IF_ERROR(impl_->Recover());
    impl_->step_open = false;
  }
  if (impl_->experts != nullptr) impl_->experts->StepBegins();
  const absl::Status enqueued =
      impl_->sampler->Enqueue(impl_->entries[entry], *impl_->arena, inputs);
  impl_->step_open = !enqueued.ok();
  if (!enqueued.ok() && impl_->experts != nullptr) {
    impl_->Finish().IgnoreError();
  }
  return enqueued;
}

absl::StatusOr<std::span<const int32_t>> Executor::Take() {
  if (impl_->sampler == nullptr) {
    return absl::FailedPreconditionError("no step waits to be taken");
  }
  auto taken = impl_->sampler->Take();
  if (impl_->experts != nullptr && taken.ok()) {
    impl_->experts->StepEnds();
    if (absl::Status read = impl_->experts->TakeStatus(); !read.ok()) {
      taken = std::move(read);
    }
  }
  if (!taken.ok()) {
    impl_->step_open = true;
    // A step after this one may wait for rows.
    if (impl_->experts != nullptr) impl_->Finish().IgnoreError();
  }
  return taken;
}

absl::StatusOr<uint64_t> Executor::StateBytes(uint32_t tokens) const {
  return impl_->slot_states->Bytes(tokens);
}

absl::Status Executor::SaveState(uint32_t slot, uint32_t tokens,
                                 std::span<std::byte> to) {
  return impl_->slot_states->Save(slot, tokens, to);
}

absl::Status Executor::RestoreState(uint32_t slot, uint32_t tokens,
                                    std::span<const std::byte> from) {
  return impl_->slot_states->Restore(slot, tokens, from);
}

std::span<const float> Executor::logits(uint32_t row) const {
  const uint32_t entry = impl_->last_entry;
  assert(row < impl_->infos[entry].logit_rows);
  const uint64_t vocab = impl_->model.vocab;
  return {impl_->entries[entry].logits() + row * vocab, vocab};
}

absl::Status Executor::StepObserved(uint32_t entry, const StepInputs& inputs,
                                    const Observer& observer) {
  Queue& queue = *impl_->queue;
  const auto enqueue = [&](const BoundEntry& bound) -> absl::Status {
    GLM_RETURN_IF_ERROR(bound.EnqueueInputs(queue));
    for (uint32_t i = 0; i < bound.launches(); ++i) {
      GLM_RETURN_IF_ERROR(bound.EnqueueLaunch(queue, i));
      GLM_RETURN_IF_ERROR(queue.Finish());
      GLM_RETURN_IF_ERROR(observer(bound.operations(i)));
    }
    return bound.EnqueueResults(queue);
  };
  return impl_->Run(entry, inputs, enqueue);
}

absl::Status Executor::StepTimed(uint32_t entry, const StepInputs& inputs,
                                 std::vector<double>& seconds) {
  Queue& queue = *impl_->queue;
  auto& events = impl_->events;
  const auto enqueue = [&](const BoundEntry& bound) -> absl::Status {
    while (events.size() < bound.launches() + 1u) {
      GLM_ASSIGN_OR_RETURN(auto event, impl_->device.CreateEvent());
      events.push_back(std::move(event));
    }
    GLM_RETURN_IF_ERROR(bound.EnqueueInputs(queue));
    GLM_RETURN_IF_ERROR(queue.Record(*events[0]));
    for (uint32_t i = 0; i < bound.launches(); ++i) {
      GLM_RETURN_IF_ERROR(bound.EnqueueLaunch(queue, i));
      GLM_RETURN_IF_ERROR(queue.Record(*events[i + 1]));
    }
    return bound.EnqueueResults(queue);
  };
  GLM_RETURN_IF_ERROR(impl_->Run(entry, inputs, enqueue));
  seconds.resize(impl_->entries[entry].launches());
  for (uint32_t i = 0; i < seconds.size(); ++i) {
    GLM_ASSIGN_OR_RETURN(
        seconds[i], impl_->device.SecondsBetween(*events[i], *events[i + 1]));
  }
  return absl::OkStatus();
}

absl::Status Executor::ReadBuffer(uint32_t entry, uint32_t buffer,
                                  std::vector<std::byte>& bytes) {
  const plan::Buffer& b = *impl_->entries[entry].entry().buffers()->Get(buffer);
  return impl_->io->Read(*impl_->arena, b.offset(), b.size(), bytes);
}

absl::Status Executor::WriteBuffer(uint32_t entry, uint32_t buffer,
                                   std::span<const std::byte> bytes) {
  const plan::Buffer& b = *impl_->entries[entry].entry().buffers()->Get(buffer);
  assert(bytes.size() == b.size());
  return impl_->io->Write(*impl_->arena, b.offset(), bytes);
}

absl::Status Executor::ReadState(uint32_t state, uint32_t slot,
                                 std::vector<std::byte>& bytes) {
  const uint64_t size = impl_->plan.states()->Get(state)->bytes_per_slot();
  return impl_->io->Read(
      *impl_->states, impl_->state_offsets[state] + slot * size, size, bytes);
}

absl::Status Executor::WriteState(uint32_t state, uint32_t slot,
                                  std::span<const std::byte> bytes) {
  const uint64_t size = impl_->plan.states()->Get(state)->bytes_per_slot();
  assert(bytes.size() == size);
  return impl_->io->Write(*impl_->states,
                          impl_->state_offsets[state] + slot * size, bytes);
}

absl::Status Executor::FillStates(uint64_t seed) {
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  if (impl_->states == nullptr) return absl::OkStatus();
  Memory& states = *impl_->states;
  GLM_ASSIGN_OR_RETURN(
      const auto shared,
      impl_->device.Allocate(std::min(states.size(), kPiece),
                             MemoryKind::kShared, "made-up state"));
  for (uint32_t i = 0; i < impl_->state_offsets.size(); ++i) {
    const plan::State& state = *impl_->plan.states()->Get(i);
    if (state.dtype() > plan::DType::F16) continue;
    const uint64_t begin = impl_->state_offsets[i];
    const uint64_t bytes = state.bytes_per_slot() * impl_->slots;
    const uint64_t piece = std::min(bytes, shared->size());
    FillSyntheticState(state, seed, {shared->host_data(), piece});
    for (uint64_t done = 0; done < bytes; done += piece) {
      GLM_RETURN_IF_ERROR(impl_->queue->Copy(states, begin + done, *shared, 0,
                                             std::min(piece, bytes - done)));
    }
    GLM_RETURN_IF_ERROR(impl_->queue->Finish());
  }
  return absl::OkStatus();
}

}  // namespace glm
