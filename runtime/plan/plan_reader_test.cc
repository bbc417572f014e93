#include "runtime/plan/plan_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "runtime/plan/test_ops_plan.h"
#include "runtime/plan/test_plan.h"

namespace glm {
namespace {

using ::testing::HasSubstr;

class PlanReaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const PlanFile>> Open(
      const std::string& bytes) {
    path_ = ::testing::TempDir() + "reader_test.glmplan";
    plan::WriteBytes(path_, bytes);
    return PlanFile::Open(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
};

plan::PlanT PlanWithObject() {
  plan::PlanT plan = plan::MakeToyPlan();
  plan::CodeObjectT& object = plan::Add(plan.code_objects);
  object.target = "host";
  object.isa = "x86-64-v3";
  return plan;
}

TEST_F(PlanReaderTest, WholeFileOpensAndGivesItsTables) {
  plan::PlanT plan = PlanWithObject();
  const auto file = Open(plan::PlanFileBytes(plan, {"object bytes"}));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->plan().entries()->size(), 2u);
  EXPECT_EQ((*file)->plan().model()->name()->str(), "toy");
  EXPECT_EQ((*file)->folder() + "/reader_test.glmplan", path_);
  const auto bytes = (*file)->SegmentBytes(
      *(*file)->plan().code_objects()->Get(0)->segment(), "code_objects[0]");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()),
      "object bytes");
}

TEST_F(PlanReaderTest, ChangedSegmentIsFoundWhenItIsUsed) {
  plan::PlanT plan = PlanWithObject();
  std::string bytes = plan::PlanFileBytes(plan, {"object bytes"});
  bytes.back() ^= 1;
  const auto file = Open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto segment = (*file)->SegmentBytes(
      *(*file)->plan().code_objects()->Get(0)->segment(), "code_objects[0]");
  EXPECT_EQ(segment.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(segment.status().message()),
              HasSubstr("code_objects[0]"));
}

TEST_F(PlanReaderTest, FileThatIsNoPlanIsRefusedWithARemedy) {
  for (const std::string bytes : {"", "GLMPLAN", "{\"not\": \"a plan\"}"}) {
    const auto file = Open(bytes);
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(file.status().message()), HasSubstr("glmc"));
  }
}

TEST_F(PlanReaderTest, OtherVersionIsRefusedWithBothNumbers) {
  plan::PlanT plan = plan::MakeToyPlan();
  std::string bytes = plan::PlanFileBytes(plan);
  bytes[8] = 3;
  const auto file = Open(bytes);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("version 3, this program reads 1 to 2"));
}

// An older program refuses paged experts by the version, so they have it.
TEST_F(PlanReaderTest, PagedExpertsNeedTheirVersion) {
  plan::PlanT plan = plan::MakeOpsPlan();
  std::string bytes = plan::PlanFileBytes(plan);
  EXPECT_EQ(bytes[8], 2);
  EXPECT_TRUE(Open(bytes).ok());
  bytes[8] = 1;
  const auto file = Open(bytes);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("paged experts in a file of version 1"));
  plan = plan::MakeToyPlan();
  EXPECT_EQ(plan::PlanFileBytes(plan)[8], 1);
}

TEST_F(PlanReaderTest, EveryPrefixIsRefused) {
  plan::PlanT plan = plan::MakeToyPlan();
  const std::string bytes = plan::PlanFileBytes(plan);
  for (size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_FALSE(Open(bytes.substr(0, size)).ok()) << size;
  }
}

TEST_F(PlanReaderTest, EveryFlippedBitOfHeaderAndFlatbufferIsRefused) {
  plan::PlanT plan = plan::MakeToyPlan();
  const std::string bytes = plan::PlanFileBytes(plan);
  for (size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 61) {
    std::string broken = bytes;
    broken[at] ^= 1 << (at % 8);
    EXPECT_FALSE(Open(broken).ok()) << at;
  }
}

TEST_F(PlanReaderTest, StructurallyBrokenFlatbufferWithAGoodHashIsRefused) {
  plan::PlanT plan = plan::MakeToyPlan();
  std::string bytes = plan::PlanFileBytes(plan);
  bytes[64] = '\xff';  // root offset
  const auto header =
      plan::MakeFileHeader(bytes.size() - 64, bytes.size(),
                           XXH3_64bits(bytes.data() + 64, bytes.size() - 64));
  std::memcpy(bytes.data(), &header, sizeof(header));
  const auto file = Open(bytes);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("well-formed"));
}

}  // namespace
}  // namespace glm
