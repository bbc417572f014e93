// For tests: a model in a few lines, whose logits are a hash of all tokens so
// far, so a wrong position, slot, chunk, id or state changes every later token.
#ifndef GLM_RUNTIME_ENGINE_TEST_RUNNER_H_
#define GLM_RUNTIME_ENGINE_TEST_RUNNER_H_

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/executor/step_runner.h"
#include "runtime/sequence/sampler.h"

namespace glm {

struct TestRunnerOptions {
  uint32_t slots = 8;
  std::vector<uint32_t> batches = {1, 2, 4, 8};
  std::vector<uint32_t> chunks = {4, 16};
  bool samples = true;
  bool ahead = true;
  bool saves = true;
  uint32_t max_context = 128;
};

// Steps that are enqueued run when they are taken, or when something waits for
// them, so what is ahead cannot have been looked at.
class TestRunner : public StepRunner {
 public:
  static constexpr int32_t kVocab = 61;
  static constexpr uint64_t kFixedBytes = 100;  // of a state

  explicit TestRunner(const TestRunnerOptions& options = {})
      : options_(options),
        held_(options.slots),
        samplers_(options.slots),
        gate_open_(true) {
    model_.vocab = kVocab;
    model_.max_context = options.max_context;
    for (const uint32_t rows : options.batches) AddEntry(false, rows, 1);
    for (const uint32_t tokens : options.chunks) AddEntry(true, 1, tokens);
  }

  const ModelInfo& model() const override { return model_; }
  const std::vector<EntryInfo>& entries() const override { return entries_; }
  uint32_t slots() const override { return options_.slots; }

  absl::Status Step(uint32_t entry, const StepInputs& inputs) override {
    EXPECT_TRUE(pending_.empty()) << "steps are enqueued";
    ++host_steps;
    Pending step = Copy(entry, inputs);
    Execute(step);
    return step.status;
  }
  std::span<const float> logits(uint32_t row) const override {
    return {logits_.data() + row * kVocab, kVocab};
  }

  bool Samples(uint32_t) const override { return options_.samples; }
  bool RunsAhead() const override { return options_.ahead; }

  absl::Status BeginSampling(uint32_t slot, const SamplerOptions& options,
                             std::span<const int32_t> tokens) override {
    EXPECT_TRUE(pending_.empty()) << "tokens would be dropped";
    samplers_[slot] = *Sampler::Create(options, tokens);
    return absl::OkStatus();
  }
  absl::Status Enqueue(uint32_t entry, const StepInputs& inputs) override {
    EXPECT_LT(pending_.size(), 2u);
    EXPECT_TRUE(inputs.seqs.size() == entries_[entry].sequences);
    pending_.push_back(Copy(entry, inputs));
    follows += inputs.ids.empty();
    return absl::OkStatus();
  }
  absl::StatusOr<std::span<const int32_t>> Take() override {
    if (pending_.empty()) return absl::FailedPreconditionError("nothing");
    if (!pending_.front().executed) Execute(pending_.front());
    const Pending step = std::move(pending_.front());
    pending_.pop_front();
    if (!step.status.ok()) return step.status;
    taken_ = step.tokens;
    return std::span<const int32_t>(taken_);
  }

  absl::StatusOr<uint64_t> StateBytes(uint32_t tokens) const override {
    if (!options_.saves) return absl::UnimplementedError("no");
    return kFixedBytes + 4 * uint64_t{tokens};
  }
  absl::Status SaveState(uint32_t slot, uint32_t tokens,
                         std::span<std::byte> to) override {
    ExecuteAll();
    ++saves;
    EXPECT_EQ(to.size(), kFixedBytes + 4 * uint64_t{tokens});
    EXPECT_EQ(held_[slot].size(), tokens);
    std::memcpy(to.data() + kFixedBytes, held_[slot].data(), 4 * tokens);
    return absl::OkStatus();
  }
  absl::Status RestoreState(uint32_t slot, uint32_t tokens,
                            std::span<const std::byte> from) override {
    ExecuteAll();
    ++restores;
    EXPECT_EQ(from.size(), kFixedBytes + 4 * uint64_t{tokens});
    held_[slot].resize(tokens);
    std::memcpy(held_[slot].data(), from.data() + kFixedBytes, 4 * tokens);
    return absl::OkStatus();
  }

  size_t pending() const { return pending_.size(); }

  // Steps wait until the gate is open.
  void CloseGate() {
    const std::lock_guard lock(mutex_);
    gate_open_ = false;
  }
  void OpenGate(int steps = std::numeric_limits<int>::max()) {
    const std::lock_guard lock(mutex_);
    gate_open_ = true;
    gate_steps_ = steps;
    gate_.notify_all();
  }
  // Until `count` steps have come to the gate since the start.
  void AwaitSteps(uint64_t count) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return steps_begun_ >= count; });
  }
  uint64_t steps_begun() {
    const std::lock_guard lock(mutex_);
    return steps_begun_;
  }

  // Of the step of this number, from 1 on; set before requests are submitted.
  std::map<uint64_t, absl::Status> failures;
  std::function<absl::Status(uint64_t step, const StepInputs&)> fail;
  std::atomic<int> host_steps = 0, follows = 0, saves = 0, restores = 0;

  static std::vector<float> LogitsAfter(std::span<const int32_t> tokens) {
    uint64_t hash = tokens.size();
    for (const int32_t token : tokens) hash = Mix(hash + uint64_t(token) + 1);
    std::vector<float> logits(kVocab);
    for (int32_t id = 0; id < kVocab; ++id) {
      logits[id] = float(Mix(hash ^ (uint64_t(id) << 40)) % 1009) / 100;
    }
    return logits;
  }

 private:
  struct Pending {
    uint32_t entry = 0;
    std::vector<int32_t> ids;
    std::vector<SequenceStep> seqs;
    std::vector<int32_t> rows;
    std::vector<int32_t> tokens;
    absl::Status status;
    uint64_t failed_before = 0;  // steps
    bool executed = false;
  };

  static constexpr int32_t kDamaged = -9;

  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  void AddEntry(bool prefill, uint32_t sequences, uint32_t tokens) {
    EntryInfo entry;
    entry.prefill = prefill;
    entry.sequences = entry.logit_rows = sequences;
    entry.tokens = tokens;
    entries_.push_back(entry);
  }

  Pending Copy(uint32_t entry, const StepInputs& inputs) {
    Pending step;
    step.entry = entry;
    step.ids.assign(inputs.ids.begin(), inputs.ids.end());
    step.seqs.assign(inputs.seqs.begin(), inputs.seqs.end());
    step.rows.assign(inputs.rows.begin(), inputs.rows.end());
    step.failed_before = failed_;
    return step;
  }

  void ExecuteAll() {
    for (Pending& step : pending_) {
      if (!step.executed) Execute(step);
    }
  }

  absl::Status PassGate(const Pending& step) {
    std::unique_lock lock(mutex_);
    const uint64_t number = ++steps_begun_;
    came_.notify_all();
    gate_.wait(lock, [&] { return gate_open_; });
    if (--gate_steps_ == 0) gate_open_ = false;
    if (const auto found = failures.find(number); found != failures.end()) {
      return found->second;
    }
    return fail ? fail(number, {step.ids, step.seqs, step.rows})
                : absl::OkStatus();
  }

  void Execute(Pending& step) {
    step.executed = true;
    const EntryInfo& entry = entries_[step.entry];
    if (step.ids.empty()) {
      EXPECT_GE(chosen_.size(), entry.sequences);
      step.ids.assign(chosen_.begin(), chosen_.begin() + entry.sequences);
    }
    step.status = PassGate(step);
    if (!step.status.ok()) {
      ++failed_;
      chosen_.assign(entry.logit_rows, 0);
      for (const SequenceStep& sequence : step.seqs) {
        if (sequence.length > 0) held_[sequence.slot] = {kDamaged};
      }
      return;
    }
    EXPECT_EQ(step.ids.size(), entry.sequences * entry.tokens);
    EXPECT_EQ(step.rows.size(), entry.logit_rows);
    logits_.assign(entry.logit_rows * kVocab,
                   std::numeric_limits<float>::quiet_NaN());
    chosen_.assign(entry.logit_rows, -1);
    std::set<uint32_t> once;
    for (uint32_t s = 0; s < entry.sequences; ++s) {
      const SequenceStep& sequence = step.seqs[s];
      if (sequence.length == 0) continue;
      EXPECT_TRUE(once.insert(sequence.slot).second) << "a slot twice";
      std::vector<int32_t>& held = held_[sequence.slot];
      if (sequence.position == 0) held.clear();
      if (!held.empty() && held[0] == kDamaged) {
        EXPECT_LT(step.failed_before, failed_) << "goes on after a failure";
      } else {
        EXPECT_EQ(held.size(), sequence.position);
      }
      EXPECT_LE(sequence.position + sequence.length, model_.max_context);
      for (uint32_t i = 0; i < sequence.length; ++i) {
        const int32_t row = static_cast<int32_t>(s * entry.tokens + i);
        held.push_back(step.ids[row]);
        for (uint32_t r = 0; r < step.rows.size(); ++r) {
          if (step.rows[r] == row) GiveLogits(r, sequence.slot, held);
        }
      }
    }
    step.tokens = chosen_;
  }

  void GiveLogits(uint32_t row, uint32_t slot, std::span<const int32_t> held) {
    const std::vector<float> logits = LogitsAfter(held);
    std::copy(logits.begin(), logits.end(), logits_.begin() + row * kVocab);
    if (!pending_.empty() && samplers_[slot]) {
      chosen_[row] =
          *samplers_[slot]->Sample(logits, static_cast<uint32_t>(held.size()));
    }
  }

  const TestRunnerOptions options_;
  ModelInfo model_;
  std::vector<EntryInfo> entries_;
  std::vector<std::vector<int32_t>> held_;  // tokens of each slot
  std::vector<std::optional<Sampler>> samplers_;
  std::deque<Pending> pending_;
  std::vector<float> logits_;
  std::vector<int32_t> chosen_, taken_;
  uint64_t failed_ = 0;  // steps

  std::mutex mutex_;
  std::condition_variable gate_, came_;
  bool gate_open_;
  int gate_steps_ = std::numeric_limits<int>::max();
  uint64_t steps_begun_ = 0;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_TEST_RUNNER_H_
