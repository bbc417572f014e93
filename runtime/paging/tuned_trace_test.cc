#include "runtime/paging/tuned_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/paging/simulator.h"

namespace glm::paging {
namespace {

CacheOptions Options(const char* policy, uint32_t slots) {
  return {.shape = {6, 48, 4}, .policy = *FindPolicy(policy), .slots = slots};
}

// The hit rate of the steps after those that fill.
double Simulated(const CacheOptions& options, const TunedOptions& tuned) {
  auto trace = TunedTrace::Create(*ExpertCache::Create(options), tuned);
  EXPECT_TRUE(trace.ok()) << trace.status();
  Simulator simulator(*ExpertCache::Create(options), {}, trace->FillSteps());
  RoutingStep step;
  for (;;) {
    const auto more = trace->Next(step);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    EXPECT_TRUE(step.Check(options.shape, "tuned").ok());
    EXPECT_TRUE(simulator.Add(step).ok());
  }
  return simulator.result().all.HitRate();
}

TEST(TunedTrace, EveryPolicyHasTheRateThatWasAskedFor) {
  for (const Policy& policy : Policies()) {
    if (policy.pinned) continue;
    for (const double rate : {0.0, 0.1, 0.4, 0.6, 0.8, 0.95, 1.0}) {
      EXPECT_NEAR(
          Simulated(Options(policy.name, 60), {.hit_rate = rate, .steps = 200}),
          rate, 0.01)
          << policy.name;
    }
  }
}

TEST(TunedTrace, AFullArenaHasNoMisses) {
  EXPECT_EQ(Simulated(Options("lru", 6 * 48), {.hit_rate = 0.5, .steps = 300}),
            1.0);
}

TEST(TunedTrace, SeedsDifferAndRepeat) {
  const auto first = [](uint64_t seed) {
    auto trace = TunedTrace::Create(*ExpertCache::Create(Options("lfu", 60)),
                                    {.steps = 3, .seed = seed});
    RoutingStep step;
    EXPECT_TRUE(*trace->Next(step));
    return step;
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(TunedTrace, ARateThatIsNoneIsRefused) {
  for (const double rate : {-0.1, 1.1, 0.0 / 0.0}) {
    EXPECT_EQ(TunedTrace::Create(*ExpertCache::Create(Options("lru", 60)),
                                 {.hit_rate = rate})
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace glm::paging
