// The tokens that the kernels of sample.h choose are those of the host's
// sampler, whatever the logits and options.
#include "glm/sample.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/sequence/sampler.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

#include "test/kernels/sample_kernels.inc"

using Slot = kernel::SampledRow<300, 7>;

// R rows of logits, row r of slot R - 1 - r at position 10 r.
class Rows {
 public:
  Rows(bool few, std::vector<SamplerOptions> options,
       std::vector<int32_t> prompt)
      : few_(few),
        vocab_(few ? 300 : 3001),
        parts_(few ? 7 : 3),
        rows_(static_cast<int64_t>(options.size())),
        options_(std::move(options)),
        prompt_(std::move(prompt)),
        logits_(rows_ * vocab_),
        at_(rows_ * 4),
        slots_(rows_ * Stride()),
        best_(rows_ * parts_),
        sums_(rows_ * parts_),
        counts_(rows_ * parts_),
        listed_(rows_ * vocab_),
        sampled_(rows_, -7) {
    for (int64_t r = 0; r < rows_; ++r) {
      at_[4 * r] = static_cast<int32_t>(rows_ - 1 - r);
      at_[4 * r + 1] = static_cast<int32_t>(10 * r);
      WriteSlot(r);
      samplers_.push_back(*Sampler::Create(options_[r], prompt_));
    }
  }

  float& Logit(int64_t row, int64_t id) { return logits_[row * vocab_ + id]; }
  int64_t vocab() const { return vocab_; }
  void Skip(int64_t row) { at_[4 * row] = -1; }

  // Runs the three launches and compares each row with the host's sampler.
  void Check(uint32_t seed = 0) {
    const std::vector<int32_t> before = sampled_;
    Launch(few_ ? sample_best_few : sample_best, parts_, seed);
    Launch(few_ ? sample_weigh_few : sample_weigh, parts_, seed + 1);
    Launch(few_ ? sample_pick_few : sample_pick, 0, seed + 2);
    for (int64_t r = 0; r < rows_; ++r) {
      if (at_[4 * r] < 0) {
        EXPECT_EQ(sampled_[r], before[r]) << "row " << r;
        continue;
      }
      const auto want = samplers_[r].Sample(
          {logits_.data() + r * vocab_, static_cast<size_t>(vocab_)},
          static_cast<uint32_t>(at_[4 * r + 1]));
      EXPECT_EQ(sampled_[r], want.ok() ? *want : -1) << "row " << r;
      ++at_[4 * r + 1];
    }
  }

 private:
  int64_t Stride() const { return Slot::kCounts + vocab_; }

  void WriteSlot(int64_t row) {
    const SamplerOptions& o = options_[row];
    int32_t* words = slots_.data() + at_[4 * row] * Stride();
    const auto real = [&](int word, float v) {
      std::memcpy(&words[word], &v, sizeof v);
    };
    if (o.temperature > 0) real(Slot::kScale, SamplingScale(o));
    words[Slot::kTopP] = static_cast<int32_t>(SamplingTopP(o));
    words[Slot::kTopK] = static_cast<int32_t>(o.top_k);
    real(Slot::kRepetition, o.repetition_penalty);
    real(Slot::kInverse, 1.0f / o.repetition_penalty);
    real(Slot::kPresence, o.presence_penalty);
    real(Slot::kFrequency, o.frequency_penalty);
    words[Slot::kPenalties] = o.penalties();
    std::memcpy(&words[Slot::kSeed], &o.seed, sizeof o.seed);
    for (const int32_t id : prompt_) {
      words[Slot::kCounts + id] = static_cast<int32_t>(0x80000000u);
    }
  }

  // parts x R blocks, or R where `parts` is 0, in random ranges.
  void Launch(KernelEntry entry, int64_t parts, uint32_t seed) {
    Visible visible;
    std::vector<uint64_t> words = {0, 1, static_cast<uint64_t>(rows_)};
    const auto add = [&](auto& memory) {
      visible.Add(memory.data(), memory.size() * sizeof(memory[0]));
      words.push_back(reinterpret_cast<uint64_t>(memory.data()));
    };
    add(logits_), add(at_), add(slots_);
    words.push_back(static_cast<uint64_t>(4 * Stride()));
    add(best_), add(sums_), add(counts_), add(listed_), add(sampled_);
    words.resize(16);
    const uint32_t grid[3] = {static_cast<uint32_t>(parts > 0 ? parts : rows_),
                              static_cast<uint32_t>(parts > 0 ? rows_ : 1), 1};
    std::minstd_rand random(seed + 1);
    const uint64_t blocks = uint64_t{grid[0]} * grid[1];
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (uint64_t begin = 0; begin < blocks;) {
      const uint64_t end = std::min(blocks, begin + 1 + random() % 3);
      ranges.push_back({begin, end});
      begin = end;
    }
    std::shuffle(ranges.begin(), ranges.end(), random);
    for (const auto& [begin, end] : ranges) {
      LaunchKernel(entry, words, grid, begin, end, visible, seed);
    }
  }

  bool few_;
  int64_t vocab_, parts_, rows_;
  std::vector<SamplerOptions> options_;
  std::vector<int32_t> prompt_;
  std::vector<float> logits_;
  std::vector<int32_t> at_, slots_;
  std::vector<uint64_t> best_, sums_;
  std::vector<int32_t> counts_, listed_, sampled_;
  std::vector<Sampler> samplers_;
};

const std::vector<SamplerOptions> kOptions = {
    {.temperature = 0},
    {.temperature = 1, .seed = 3},
    {.temperature = 1, .top_p = 0.95f, .seed = 4},
    {.temperature = 0.7f, .top_p = 0.5f, .seed = 5},
    {.temperature = 2, .top_p = 1, .seed = 6, .top_k = 40},
    {.temperature = 1, .top_p = 0.8f, .seed = 7, .top_k = 40},
    {.temperature = 1, .top_p = 0.01f, .seed = 8},
    {.temperature = 0.01f, .top_p = 0.9f, .seed = 9},
    {.temperature = 0, .repetition_penalty = 1.5f},
    {.temperature = 1,
     .top_p = 0.9f,
     .seed = 0xfedcba9876543210,
     .presence_penalty = 1.5f,
     .frequency_penalty = 0.75f},
};

// Steps, each of which counts what the one before chose.
constexpr int kSteps = 3;

TEST(Sample, LogitsOfAModel) {
  for (const bool few : {false, true}) {
    Rows rows(few, kOptions, {1, 2, 3, 200, 299});
    for (int64_t r = 0; r < std::ssize(kOptions); ++r) {
      std::minstd_rand random(static_cast<uint32_t>(r) + 5);
      std::normal_distribution<float> value(0, 3);
      for (int64_t i = 0; i < rows.vocab(); ++i)
        rows.Logit(r, i) = value(random);
      rows.Logit(r, 200) = 12;
      rows.Logit(r, 17) = 11.5f;
    }
    for (uint32_t step = 0; step < kSteps; ++step) rows.Check(step);
  }
}

// All equal, equal ones around the cut, and none but a few that are finite.
TEST(Sample, TiesAndTokensThatCannotBeDrawn) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    Rows rows(true, kOptions, {7});
    for (int64_t r = 0; r < std::ssize(kOptions); ++r) {
      for (int64_t i = 0; i < rows.vocab(); ++i) {
        rows.Logit(r, i) = kind == 0   ? 1.0f
                           : kind == 1 ? float(i % 4)
                           : kind == 2
                               ? (i % 37 == 5 ? float(i) * 0.01f : -INFINITY)
                               : (i % 2 != 0 ? 0.0f : -0.0f);
      }
    }
    for (uint32_t step = 0; step < kSteps; ++step) rows.Check(step);
  }
}

TEST(Sample, DamagedRowsHaveNoTokenAndOthersAreLeftAlone) {
  Rows rows(true, {kOptions[0], kOptions[2], kOptions[0], kOptions[2], {}}, {});
  for (int64_t i = 0; i < rows.vocab(); ++i) {
    for (int64_t r = 0; r < 5; ++r) rows.Logit(r, i) = float(i % 10);
    rows.Logit(3, i) = -INFINITY;
  }
  rows.Logit(0, 290) = NAN;
  rows.Logit(1, 5) = INFINITY;
  rows.Skip(4);
  rows.Check();
}

}  // namespace
}  // namespace glm
