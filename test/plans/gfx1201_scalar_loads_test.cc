// No scalar load of a kernel for gfx1201 reads what another block may have
// stored while the kernel ran (scalar_loads.h). Argument: the plan. Needs
// llvm-objdump-22.
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/plans/gfx1201_code.h"
#include "test/plans/plan_argument.h"
#include "test/plans/scalar_loads.h"

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Gfx1201ScalarLoads, AfterAWaitReadArgumentsAlone) {
  auto plan = PlanFile::Open(plan_path);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::istringstream text(
      ToolOnGfx1201Code(**plan, "LLVM_OBJDUMP", "llvm-objdump-22", "-d"));
  const ScalarLoads found = CheckScalarLoads(text);
  EXPECT_GT(found.kernels_that_wait, 0) << "the check sees no wait";
  EXPECT_GT(found.loads_after_waits, found.kernels_that_wait)
      << "arguments are read after waits";
  EXPECT_THAT(found.stray, IsEmpty());
}

// A kernel of four-byte instructions. A branch says how many are between it and
// its target, as those of the processor do.
ScalarLoads Check(const std::vector<std::string>& code) {
  std::ostringstream text;
  text << std::hex << "0000000000001000 <kernel>:\n";
  uint64_t address = 0x1000;
  for (const std::string& instruction : code) {
    text << '\t' << instruction << "  // " << address << ": 00000000";
    const size_t space = instruction.find(' ');
    if (instruction.find("branch") != std::string::npos) {
      text << " <kernel+0x"
           << address - 0x1000 + 4 + 4 * std::stoi(instruction.substr(space))
           << ">";
    }
    text << '\n';
    address += 4;
  }
  std::istringstream in(text.str());
  return CheckScalarLoads(in);
}

const std::string kArguments = "s_load_b64 s[4:5], s[0:1], 0x8";
const std::string kPoll =
    "global_load_b32 v2, v1, s[4:5] offset:4 scope:SCOPE_DEV";
const std::string kStray = "s_load_b32 s8, s[4:5], 0x0";
const std::string kEnd = "s_endpgm";

TEST(ScalarLoadsTest, LoadThroughAnArgumentIsStrayAfterAWaitAlone) {
  const ScalarLoads found =
      Check({kArguments, kStray, kPoll, kStray, kArguments, kEnd});
  EXPECT_EQ(found.kernels_that_wait, 1);
  EXPECT_EQ(found.loads_after_waits, 2);
  EXPECT_THAT(found.stray, ElementsAre("kernel: s_load_b32 s8 s[4:5] 0x0"));
  EXPECT_EQ(Check({kArguments, kStray, kEnd}).kernels_that_wait, 0);
}

TEST(ScalarLoadsTest, WaitIsFollowedAlongBranches) {
  // Past the wait, over the stray load.
  EXPECT_THAT(
      Check({kArguments, "s_cbranch_scc0 2", kPoll, kEnd, kStray, kEnd}).stray,
      IsEmpty());
  // Back, to the load before the wait.
  EXPECT_EQ(Check({kArguments, kStray, kPoll, "s_cbranch_scc1 -3", kEnd})
                .stray.size(),
            1u);
}

TEST(ScalarLoadsTest, ArgumentsAddressIsFollowed) {
  const std::string load = "s_load_b64 s[8:9], s[20:21], 0x0";
  const auto strays = [&](std::vector<std::string> code) {
    code.insert(code.begin(), {kArguments, kPoll});
    code.insert(code.end(), {load, kEnd});
    return Check(code).stray.size();
  };
  EXPECT_EQ(strays({}), 1u);
  EXPECT_EQ(strays({"s_mov_b64 s[20:21], s[0:1]"}), 0u);
  EXPECT_EQ(strays({"s_add_nc_u64 s[20:21], s[6:7], s[0:1]"}), 0u);
  EXPECT_EQ(strays({"s_add_nc_u64 s[20:21], s[6:7], s[4:5]"}), 1u);
  EXPECT_EQ(
      strays({"s_add_co_u32 s20, s0, 0x100", "s_add_co_ci_u32 s21, s1, 0"}),
      0u);
  EXPECT_EQ(strays({"s_mov_b32 s20, s0"}), 1u) << "half of it";
  EXPECT_EQ(strays({"s_mov_b64 s[20:21], s[0:1]", "s_lshl_b32 s21, s21, 1"}),
            1u);
  EXPECT_EQ(strays({"v_writelane_b32 v9, s0, 2", "v_writelane_b32 v9, s1, 3",
                    "v_readlane_b32 s20, v9, 2", "v_readlane_b32 s21, v9, 3"}),
            0u);
  EXPECT_EQ(strays({"v_writelane_b32 v9, s0, 2", "v_writelane_b32 v9, s1, 3",
                    "v_mov_b32_e32 v9, 0", "v_readlane_b32 s20, v9, 2",
                    "v_readlane_b32 s21, v9, 3"}),
            1u);
  // On one of two ways only.
  EXPECT_EQ(strays({"s_cbranch_scc0 1", "s_mov_b64 s[20:21], s[0:1]"}), 1u);
}

TEST(ScalarLoadsTest, JumpThatIsNotUnderstoodIsReported) {
  EXPECT_EQ(Check({kPoll, "s_setpc_b64 s[8:9]", kEnd}).stray.size(), 1u);
  EXPECT_EQ(Check({kPoll, "s_swappc_b64 s[8:9], s[4:5]", kEnd}).stray.size(),
            1u);
  // To the end, by a distance from the instruction after s_getpc_b64.
  EXPECT_THAT(
      Check({kArguments, kPoll, "s_getpc_b64 s[8:9]",
             "s_add_co_u32 s8, s8, 0x10", "s_add_co_ci_u32 s9, s9, lit(0x0)",
             "s_setpc_b64 s[8:9]", kStray, kEnd})
          .stray,
      IsEmpty());
}

}  // namespace
}  // namespace glm
