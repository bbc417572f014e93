#include "test/differential/run_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "tools/glm-check/elements.h"
#include "tools/glm-check/launch_check.h"

namespace glm::differential {
namespace {

constexpr int kSteps = 3;
constexpr double kSmall = 1e-5;

struct Step {
  std::vector<int32_t> ids, rows;
  std::vector<SequenceStep> sequences;
};

// Sequences of their own lengths, some of none, so that rows that are not valid
// are met too; unless the graph's rows read each other.
Step MakeStep(const Graph& graph, std::vector<uint32_t>& positions, bool first,
              std::mt19937_64& random) {
  Step step;
  step.ids.assign(graph.sequences * graph.tokens, 0);
  step.rows.assign(graph.logit_rows, -1);
  for (uint32_t s = 0; s < graph.sequences; ++s) {
    uint32_t length = graph.tokens;
    if (!first && !graph.whole) length = random() % (graph.tokens + 1);
    for (uint32_t i = 0; i < length; ++i) {
      step.ids[s * graph.tokens + i] = random() % kVocab;
    }
    if (length > 0) step.rows[s] = s * graph.tokens + length - 1;
    step.sequences.push_back({s, positions[s], length});
    positions[s] += length;
  }
  return step;
}

class EntryRunner {
 public:
  EntryRunner(Executor& executor, uint32_t entry, const Graph& graph,
              bool check)
      : executor_(executor),
        number_(entry),
        entry_(*executor.plan_file().plan().entries()->Get(entry)),
        graph_(graph),
        check_(executor, entry),
        checked_(check) {}

  absl::StatusOr<EntryRun> Run() {
    Describe();
    std::mt19937_64 random(7);
    std::vector<uint32_t> positions(graph_.sequences, 0);
    for (step_ = 0; step_ < kSteps; ++step_) {
      const Step step = MakeStep(graph_, positions, step_ == 0, random);
      GLM_RETURN_IF_ERROR(Poison());
      GLM_RETURN_IF_ERROR(Run(step));
    }
    return std::move(run_);
  }

 private:
  // What is read before it is written becomes NaN, or the id of nothing.
  absl::Status Poison() {
    std::vector<std::byte> bytes;
    for (uint32_t b = 0; b < entry_.buffers()->size(); ++b) {
      GLM_RETURN_IF_ERROR(executor_.ReadBuffer(number_, b, bytes));
      std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
      GLM_RETURN_IF_ERROR(executor_.WriteBuffer(number_, b, bytes));
    }
    return absl::OkStatus();
  }

  void Describe() {
    const plan::Plan& plan = executor_.plan_file().plan();
    run_.launches = executor_.entries()[number_].launches;
    for (const plan::Launch* launch : *entry_.launches()) {
      ++run_.members[absl::StrCat(
          launch->origin()->str(), " ",
          plan.kernels()->Get(launch->kernel())->op()->str())];
    }
    if (entry_.groups() == nullptr) return;
    for (const plan::Group* group : *entry_.groups()) {
      uint32_t waiting = 0;
      for (const plan::Chain* chain : *group->chains()) {
        if (chain->phase() > 0) waiting += chain->rows() * chain->columns();
      }
      run_.waiting = std::max(run_.waiting, waiting);
    }
  }

  absl::Status Run(const Step& step) {
    uint32_t launch = 0;
    if (checked_) GLM_RETURN_IF_ERROR(check_.Prepare(launch));
    GLM_RETURN_IF_ERROR(
        executor_.StepObserved(number_, {step.ids, step.sequences, step.rows},
                               [&](const OperationRange& done) -> absl::Status {
                                 GLM_RETURN_IF_ERROR(KeepTaps(step, done));
                                 if (!checked_) return absl::OkStatus();
                                 GLM_RETURN_IF_ERROR(Compare());
                                 if (++launch == check_.launches())
                                   return absl::OkStatus();
                                 return check_.Prepare(launch);
                               }));
    for (uint32_t r = 0; r < graph_.logit_rows; ++r) {
      if (step.rows[r] < 0) continue;
      const auto row = std::as_bytes(executor_.logits(r));
      Keep(absl::StrCat("logits ", r), plan::DType::F32,
           {row.begin(), row.end()});
    }
    return KeepStates();
  }

  absl::Status Compare() {
    GLM_ASSIGN_OR_RETURN(const auto results, check_.Check());
    for (const check::LaunchResult& result : results) {
      // Random bodies subtract what is nearly equal, which the bound of a
      // rowwise operation does not foresee.
      const bool small = result.op == "rowwise" && result.max_abs < kSmall;
      if (result.share <= 1 || small || !run_.outside.empty()) continue;
      run_.outside =
          absl::StrCat("step ", step_, " ", result.origin, " (", result.kernel,
                       ") is ", result.share, " of its bound: ", result.where);
    }
    return absl::OkStatus();
  }

  absl::Status KeepTaps(const Step& step, const OperationRange& done) {
    if (entry_.taps() == nullptr) return absl::OkStatus();
    for (const plan::Tap* tap : *entry_.taps()) {
      if (tap->after() - done.first >= done.count) continue;
      std::vector<std::byte> bytes, valid;
      GLM_RETURN_IF_ERROR(executor_.ReadBuffer(number_, tap->buffer(), bytes));
      const size_t row = bytes.size() / (graph_.sequences * graph_.tokens);
      for (size_t s = 0; s < step.sequences.size(); ++s) {
        const auto from = bytes.begin() + s * graph_.tokens * row;
        valid.insert(valid.end(), from, from + step.sequences[s].length * row);
      }
      Keep(tap->name()->str(), entry_.buffers()->Get(tap->buffer())->dtype(),
           std::move(valid));
    }
    return absl::OkStatus();
  }

  absl::Status KeepStates() {
    const auto* states = executor_.plan_file().plan().states();
    for (uint32_t i = 0; i < (states == nullptr ? 0 : states->size()); ++i) {
      const std::string name = states->Get(i)->name()->str();
      if (!name.starts_with(graph_.name + ".")) continue;
      for (uint32_t slot = 0; slot < graph_.sequences; ++slot) {
        std::vector<std::byte> bytes;
        GLM_RETURN_IF_ERROR(executor_.ReadState(i, slot, bytes));
        Keep(absl::StrCat(name, " slot ", slot), states->Get(i)->dtype(),
             std::move(bytes));
      }
    }
    return absl::OkStatus();
  }

  void Keep(const std::string& name, plan::DType dtype,
            std::vector<std::byte> bytes) {
    run_.shown.push_back(
        {absl::StrCat("step ", step_, " ", name), dtype, std::move(bytes)});
  }

  Executor& executor_;
  uint32_t number_;
  const plan::Entry& entry_;
  const Graph& graph_;
  check::LaunchCheck check_;
  bool checked_;
  int step_ = 0;
  EntryRun run_;
};

// Of F32 and BF16, which may differ between the two; ids must be equal.
std::string Far(const Shown& got, const Shown& want, double tolerance) {
  if (got.dtype == plan::DType::I32) return "other ids";
  const std::vector<float> a = check::Widen(got.bytes, got.dtype);
  const std::vector<float> b = check::Widen(want.bytes, want.dtype);
  if (a.size() != b.size()) return "has another size";
  double largest = 0;
  for (const float v : b) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(double{v}));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::fabs(double{a[i]} - b[i]) <= tolerance * largest)) {
      return absl::StrCat("element ", i, ": ", a[i], ", expected ", b[i],
                          ", largest ", largest);
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<EntryRun>> RunPlan(const std::string& path,
                                              const std::vector<Graph>& graphs,
                                              uint64_t seed, bool check) {
  GLM_ASSIGN_OR_RETURN(auto plan, PlanFile::Open(path));
  GLM_ASSIGN_OR_RETURN(auto device,
                       CreateHostDevice({.threads = 1, .order_seed = seed}));
  ExecutorOptions options;
  options.graphs = false;
  for (const Graph& graph : graphs) {
    options.slots = std::max<uint32_t>(options.slots, graph.sequences);
  }
  GLM_ASSIGN_OR_RETURN(auto executor, Executor::Create(plan, *device, options));
  std::vector<EntryRun> runs;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    GLM_ASSIGN_OR_RETURN(EntryRun run,
                         EntryRunner(*executor, i, graphs[i], check).Run());
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string Difference(const EntryRun& got, const EntryRun& want,
                       double tolerance) {
  // Taps of one launch may come in another order.
  std::map<std::string, const Shown*> found;
  for (const Shown& shown : got.shown) found[shown.name] = &shown;
  for (const Shown& shown : want.shown) {
    const Shown* other = found[shown.name];
    if (other == nullptr) return absl::StrCat(shown.name, " is missing");
    if (other->dtype == shown.dtype && other->bytes == shown.bytes) continue;
    const std::string far = Far(*other, shown, tolerance);
    if (!far.empty()) return absl::StrCat(shown.name, " ", far);
  }
  return "";
}

}  // namespace glm::differential
