// The checks of a plan: the paged toy plan (runtime/plan/test_paged_plan.h) for
// a card that is a fake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/device/gpu/fake_driver.h"
#include "runtime/plan/test_paged_plan.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

auto Is(Verdict verdict, const std::string& text) {
  return AllOf(Field(&Finding::verdict, verdict),
               Field(&Finding::text, HasSubstr(text)));
}

class DoctorPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    plan::WriteBytes(folder_ + "/toy.bin", plan::PagedWeightBytes(true));
    gpu_.architecture = "gfx1201";
    drivers_.push_back(SurveyDriver("HIP", &gpu_.driver()));
    host_ = *SurveyHost();
    limits_.machine = uint64_t{64} << 30;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<const PlanFile> Plan(const std::string& target) {
    plan::PlanT plan = plan::MakePagedToyPlan(true, "toy.bin");
    plan::CodeObjectT& object = plan::Add(plan.code_objects);
    object.target = target;
    object.isa = target == "host" ? "x86-64" : "";
    const std::string path = folder_ + "/toy.glmplan";
    plan::WriteBytes(path, plan::PlanFileBytes(plan, {std::string("code")}));
    auto opened = PlanFile::Open(path);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *opened : nullptr;
  }
  const Device* card() const { return drivers_[0].devices[0]->get(); }
  const std::vector<Finding>& findings() const { return report_.findings(); }

  const std::string folder_ = ::testing::TempDir() + "doctor_plan";
  FakeGpu gpu_;
  std::vector<DriverSurvey> drivers_;
  std::unique_ptr<Device> host_;
  MemoryLimits limits_;
  Report report_;
};

TEST_F(DoctorPlanTest, APlanForTheCardRunsThere) {
  const auto plan = Plan("gfx1201");
  EXPECT_THAT(CheckCode(*plan, drivers_, *host_, report_), ElementsAre(card()));
  EXPECT_THAT(findings(), ElementsAre(Is(Verdict::kOk, "(gfx1201)")));
}

TEST_F(DoctorPlanTest, APlanWithoutATokenizerCannotBeServed) {
  CheckTokenizer(*Plan("gfx1201"), report_);
  ASSERT_THAT(findings(), ElementsAre(Is(Verdict::kProblem, "none")));
  EXPECT_THAT(findings()[0].remedy, HasSubstr("tokenizer.json"));
}

TEST_F(DoctorPlanTest, APlanForTheHostLeavesTheCardIdle) {
  const auto plan = Plan("host");
  EXPECT_THAT(CheckCode(*plan, drivers_, *host_, report_),
              ElementsAre(host_.get()));
  EXPECT_THAT(findings(),
              ElementsAre(Is(Verdict::kNote, "no code for"),
                          Is(Verdict::kProblem, "the GPUs do not serve")));
}

TEST_F(DoctorPlanTest, WithoutCardsThePlanOfTheHostIsOk) {
  const auto plan = Plan("host");
  EXPECT_THAT(CheckCode(*plan, {}, *host_, report_), SizeIs(1));
  EXPECT_THAT(findings(), ElementsAre(Is(Verdict::kOk, "host")));
}

TEST_F(DoctorPlanTest, APlanForOtherCardsIsRefused) {
  const auto plan = Plan("gfx1100");
  EXPECT_THAT(CheckCode(*plan, drivers_, *host_, report_), IsEmpty());
  EXPECT_THAT(findings(),
              ElementsAre(Is(Verdict::kNote, "compiled for gfx1100"),
                          Is(Verdict::kProblem, "no device for 1 rank")));
}

TEST_F(DoctorPlanTest, RowsArePinnedWhereTheHostHasMemory) {
  const auto plan = Plan("gfx1201");
  const PlanNeeds needs = PlanNeeds::Of(*plan);
  EXPECT_EQ(needs.row_bytes, plan::kPagedRows * plan::kPagedRowBytes);
  EXPECT_GT(needs.memory, 0u);
  EXPECT_EQ(needs.file_bytes, plan::PagedWeightBytes(true).size());
  EXPECT_EQ(CheckFit(*plan, {card()}, limits_, report_), 0u);
  EXPECT_THAT(
      findings(),
      ElementsAre(Is(Verdict::kOk,
                     "16 of 16 experts in slots (100 %), 16 rows pinned")));
}

TEST_F(DoctorPlanTest, RowsBeyondAmdsLimitComeFromFiles) {
  limits_.amd = 100 << 10;
  EXPECT_GT(CheckFit(*Plan("gfx1201"), {card()}, limits_, report_), 8u);
  EXPECT_THAT(findings(), ElementsAre(Is(Verdict::kNote, "rows from files")));
}

TEST_F(DoctorPlanTest, MemoryThatIsTooSmallIsAProblem) {
  limits_.machine = 10 << 10;
  CheckFit(*Plan("gfx1201"), {card()}, limits_, report_);
  EXPECT_THAT(findings(), ElementsAre(Is(Verdict::kProblem, "staging ring")));
}

TEST_F(DoctorPlanTest, ACardThatIsTooSmallIsAProblem) {
  gpu_.memory_bytes = uint64_t{512} << 20;
  CheckFit(*Plan("gfx1201"), {card()}, limits_, report_);
  EXPECT_THAT(findings(), ElementsAre(Is(Verdict::kProblem, "toy.glmplan")));
}

TEST_F(DoctorPlanTest, FilesThatAreMissingOrOthersAreNamed) {
  const auto plan = Plan("gfx1201");
  const Machine machine = Machine::Read(folder_);
  std::ofstream(folder_ + "/toy.bin", std::ios::app) << "more";
  CheckDisk(machine, *plan, {}, 0, report_);
  EXPECT_THAT(findings(),
              Contains(Is(Verdict::kProblem, "the plan was made for")));
  std::filesystem::remove(folder_ + "/toy.bin");
  Report missing;
  CheckDisk(machine, *plan, {}, 0, missing);
  EXPECT_THAT(missing.findings(),
              Contains(Is(Verdict::kProblem, "toy.bin: is not there")));
}

TEST_F(DoctorPlanTest, ADiskThatTurnsIsAProblemForRowsInFiles) {
  const auto plan = Plan("gfx1201");
  struct stat info = {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  // A partition, below its disk.
  const std::string disk = folder_ + "/sys/devices/ata1/sda";
  std::filesystem::create_directories(disk + "/queue");
  std::filesystem::create_directories(disk + "/sda1");
  std::filesystem::create_directories(folder_ + "/sys/dev/block");
  std::filesystem::create_symlink(
      disk + "/sda1",
      absl::StrCat(folder_, "/sys/dev/block/", major(info.st_dev), ":",
                   minor(info.st_dev)));
  std::ofstream(disk + "/queue/rotational") << "1\n";
  const Machine machine = Machine::Read(folder_);
  CheckDisk(machine, *plan, {}, 5, report_);
  EXPECT_THAT(findings(), Contains(Is(Verdict::kProblem, "a disk that turns")));
  std::ofstream(disk + "/queue/rotational") << "0\n";
  Report still;
  CheckDisk(machine, *plan, {}, 5, still);
  EXPECT_EQ(still.Count(Verdict::kProblem), 0) << still.ToString();
  EXPECT_THAT(still.findings(),
              Contains(Is(Verdict::kOk, "without moving parts")));
}

}  // namespace
}  // namespace glm::tools
