#include "runtime/engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace glm {
namespace {

using ::testing::ElementsAre;

EntryInfo Entry(bool prefill, uint32_t sequences, uint32_t tokens) {
  EntryInfo entry;
  entry.prefill = prefill;
  entry.sequences = sequences;
  entry.tokens = tokens;
  entry.logit_rows = sequences;
  return entry;
}

// Entries 0 to 5: batches of 4, 1, 2; chunks of 16, 4; three drafted tokens.
Scheduler Make() {
  return *Scheduler::Create({Entry(false, 4, 1), Entry(false, 1, 1),
                             Entry(false, 2, 1), Entry(true, 1, 16),
                             Entry(true, 1, 4), Entry(false, 1, 3)});
}

// "c4x4@0" is a chunk of 4 tokens by entry 4 in slot 0, "d0@1,2" a token each.
std::string Steps(Scheduler& scheduler) {
  const auto choice = scheduler.Next();
  if (!choice) return "none";
  scheduler.Ran(*choice);
  std::string text =
      (choice->prompt ? "c" : "d") + std::to_string(choice->entry);
  if (choice->prompt) text += "x" + std::to_string(choice->length);
  for (size_t i = 0; i < choice->slots.size(); ++i) {
    text += (i == 0 ? "@" : ",") + std::to_string(choice->slots[i]);
  }
  return text;
}

std::vector<std::string> Steps(Scheduler& scheduler, int steps) {
  std::vector<std::string> texts;
  for (int i = 0; i < steps; ++i) texts.push_back(Steps(scheduler));
  return texts;
}

TEST(SchedulerTest, APlanThatDecodesNothingIsRefused) {
  EXPECT_EQ(Scheduler::Create({Entry(true, 1, 4)}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(SchedulerTest, ChunksAreTheSmallestThatTakeAllElseTheLargest) {
  Scheduler s = Make();
  EXPECT_EQ(Steps(s), "none");
  s.Add(0, 37);
  EXPECT_THAT(Steps(s, 4), ElementsAre("c3x16@0", "c3x16@0", "c3x5@0", "d1@0"));
  s.Remove(0);
  s.Add(0, 19);
  EXPECT_THAT(Steps(s, 3), ElementsAre("c3x16@0", "c4x3@0", "d1@0"));
  s.Remove(0);
  s.Add(0, 17);
  EXPECT_THAT(Steps(s, 3), ElementsAre("c3x16@0", "c1x1@0", "d1@0"));
}

TEST(SchedulerTest, WithoutPrefillEntriesPromptsDecode) {
  Scheduler s = *Scheduler::Create({Entry(false, 2, 1)});
  s.Add(5, 2);
  EXPECT_THAT(Steps(s, 3), ElementsAre("c0x1@5", "c0x1@5", "d0@5"));
}

TEST(SchedulerTest, ChunksAndRoundsAlternateAndPromptsTakeTurns) {
  Scheduler s = Make();
  s.Add(0, 2);
  s.Add(1, 20);
  s.Add(2, 40);
  EXPECT_THAT(Steps(s, 10),
              ElementsAre("c4x2@0", "d1@0", "c3x16@1", "d1@0", "c3x16@2",
                          "d1@0", "c4x4@1", "d2@0,1", "c3x16@2", "d2@0,1"));
  EXPECT_THAT(Steps(s, 3), ElementsAre("c3x8@2", "d0@0,1,2", "d0@0,1,2"));
}

TEST(SchedulerTest, MoreSequencesThanTheLargestBatchTakeSeveralSteps) {
  Scheduler s = Make();
  for (uint32_t slot = 0; slot < 7; ++slot) s.Add(slot, 1);
  while (Steps(s) != "c1x1@6") {
  }
  EXPECT_THAT(Steps(s, 3), ElementsAre("d0@0,1,2,3", "d0@4,5,6", "d0@0,1,2,3"));
  // The round of seven goes on, then comes a chunk.
  s.Add(9, 40);
  EXPECT_THAT(Steps(s, 4),
              ElementsAre("d0@4,5,6", "c3x16@9", "d0@0,1,2,3", "d0@4,5,6"));
}

TEST(SchedulerTest, WhoEndsInARoundLeavesTheOthersTheirTurns) {
  Scheduler s = Make();
  for (uint32_t slot = 0; slot < 6; ++slot) s.Add(slot, 1);
  std::string last;
  while (last != "d0@0,1,2,3" || s.Next()->slots.size() != 2) last = Steps(s);
  s.Add(7, 4);
  s.Remove(5);  // whose turn was to come
  s.Remove(0);  // who had it
  EXPECT_THAT(Steps(s, 3), ElementsAre("d1@4", "c4x4@7", "d0@1,2,3,4"));
  s.Remove(42);
  EXPECT_EQ(Steps(s), "d1@7");
}

// Over random arrivals and ends: a slot is in one row of a step at most, and
// none waits longer than the bounds that the header gives.
TEST(SchedulerTest, NobodyWaitsLongerThanTheBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Scheduler s = Make();
    const uint32_t slots = 1 + random() % 16;
    std::map<uint32_t, int> waits;      // steps since it was last in one
    std::map<uint32_t, uint32_t> left;  // of the prompt
    for (int step = 0; step < 400; ++step) {
      const uint32_t slot = random() % slots;
      if (!left.contains(slot)) {
        left[slot] = 1 + random() % 50;
        s.Add(slot, left[slot]);
        waits[slot] = 0;
      } else if (random() % 8 == 0) {
        s.Remove(slot);
        left.erase(slot);
        waits.erase(slot);
      }
      const auto choice = s.Next();
      ASSERT_EQ(choice.has_value(), !left.empty());
      if (!choice) continue;
      s.Ran(*choice);
      for (auto& [who, steps] : waits) ++steps;
      std::set<uint32_t> once;
      for (const uint32_t who : choice->slots) {
        ASSERT_TRUE(once.insert(who).second);
        ASSERT_TRUE(left.contains(who));
        ASSERT_EQ(choice->prompt, left[who] > 0);
        if (choice->prompt) left[who] -= choice->length;
        waits[who] = 0;
      }
      // A round of at most 16 takes 4 steps, some more where others join or
      // leave in its middle; each of the other prompts a round and a chunk.
      for (const auto& [who, steps] : waits) {
        ASSERT_LE(steps, left[who] > 0 ? 6 * static_cast<int>(slots) : 8)
            << "slot " << who;
      }
    }
  }
}

}  // namespace
}  // namespace glm
