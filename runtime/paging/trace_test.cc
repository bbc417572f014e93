#include "runtime/paging/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace glm::paging {
namespace {

using ::testing::HasSubstr;

constexpr TraceShape kShape = {2, 6, 2};

class TraceTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  std::string FileBytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string Written() const {
    auto writer = TraceWriter::Create(path_, kShape);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (const RoutingStep& step : steps_) EXPECT_TRUE(writer->Add(step).ok());
    EXPECT_TRUE(writer->Finish().ok());
    return FileBytes();
  }

  // What reading all of `bytes` says.
  static absl::Status ReadAll(const std::string& bytes) {
    auto reader =
        TraceReader::Read(std::make_unique<std::istringstream>(bytes), "made");
    if (!reader.ok()) return reader.status();
    RoutingStep step;
    while (true) {
      const auto more = (*reader)->Next(step);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      EXPECT_TRUE(step.Check(kShape, "read").ok());
    }
  }

  const std::string path_ =
      ::testing::TempDir() + "paging_trace_" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::vector<RoutingStep> steps_ = {{1, {{0, 5}, {3, 1}}},
                                           {2, {{4, 0, 2}, {1, 2, 3, 5}}},
                                           {1, {{1, 0}, {0, 1}}}};
};

TEST_F(TraceTest, WhatIsWrittenIsRead) {
  const std::string bytes = Written();
  EXPECT_EQ(bytes.size(), 32 + 3 * 2 + 6 * 2 + 2 * (2 + 2 + 3 + 4 + 2 + 2));
  auto reader = TraceReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->shape(), kShape);
  EXPECT_EQ((*reader)->steps(), 3);
  RoutingStep step;
  for (const RoutingStep& written : steps_) {
    const auto more = (*reader)->Next(step);
    ASSERT_TRUE(more.ok() && *more) << more.status();
    EXPECT_EQ(step, written);
  }
  const auto more = (*reader)->Next(step);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_FALSE(*more);
}

TEST_F(TraceTest, EveryPrefixIsRefusedAndSoIsATail) {
  const std::string bytes = Written();
  EXPECT_TRUE(ReadAll(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReadAll(bytes.substr(0, length)).code(),
              absl::StatusCode::kInvalidArgument)
        << length;
  }
  EXPECT_THAT(std::string(ReadAll(bytes + '\0').message()),
              HasSubstr("bytes follow the last of 3 steps"));
  EXPECT_THAT(std::string(ReadAll(bytes.substr(0, bytes.size() - 1)).message()),
              HasSubstr("step 2 of 3: the file ends here"));
}

TEST_F(TraceTest, DamagedBytesAreReadOrRefused) {
  const std::string bytes = Written();
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      // Shapes that stay possible are not those of kShape: read the header
      // alone.
      if (at >= 12 && at < 24) {
        (void)TraceReader::Read(std::make_unique<std::istringstream>(damaged),
                                "made");
      } else {
        refused += !ReadAll(damaged).ok();
      }
    }
  }
  EXPECT_GT(refused, 8 * bytes.size() / 2);
}

TEST_F(TraceTest, MessagesSayWhatWasFoundWhere) {
  const std::string bytes = Written();
  std::string damaged = bytes;
  damaged[8] = 2;
  EXPECT_THAT(std::string(ReadAll(damaged).message()),
              HasSubstr("made: a trace of version 2; this program reads 1"));
  damaged = bytes;
  damaged[12] = 0;
  EXPECT_THAT(std::string(ReadAll(damaged).message()), HasSubstr("0 layers"));
  damaged = bytes;
  damaged[36] = 6;  // step 0, layer 0, its first expert
  EXPECT_THAT(std::string(ReadAll(damaged).message()),
              HasSubstr("step 0, layer 0: expert 6 where the layer has 6"));
  damaged[36] = 5;
  EXPECT_THAT(std::string(ReadAll(damaged).message()),
              HasSubstr("expert 5 is listed twice"));
  damaged = bytes;
  damaged[34] = 3;
  EXPECT_THAT(std::string(ReadAll(damaged).message()),
              HasSubstr("3 experts; 1 tokens of 2 experts choose from 2 to 2"));
  EXPECT_THAT(std::string(ReadAll("GLMPLAN").message()),
              HasSubstr("not a routing trace"));
  EXPECT_EQ(TraceReader::Open(path_ + ".none").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(TraceTest, TheWriterRefusesWhatTheReaderWould) {
  EXPECT_FALSE(TraceWriter::Create(path_, {2, 6, 7}).ok());
  EXPECT_FALSE(TraceWriter::Create(path_, {0, 6, 2}).ok());
  EXPECT_FALSE(TraceWriter::Create(path_, {2, kMaxExperts + 1, 2}).ok());
  auto writer = TraceWriter::Create(path_, kShape);
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->Add({1, {{0, 1}}}).ok());
  EXPECT_FALSE(writer->Add({1, {{0, 1}, {0, 6}}}).ok());
  EXPECT_FALSE(writer->Add({1, {{0, 1}, {2, 2}}}).ok());
  EXPECT_FALSE(writer->Add({0, {{0, 1}, {2, 3}}}).ok());
  EXPECT_FALSE(writer->Add({1, {{0, 1}, {2, 3, 4}}}).ok());
}

TEST_F(TraceTest, WithoutFinishNothingIsLeft) {
  {
    auto writer = TraceWriter::Create(path_, kShape);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Add(steps_[0]).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
  EXPECT_EQ(TraceWriter::Create("/nonexistent/trace", kShape).status().code(),
            absl::StatusCode::kInternal);
}

TEST_F(TraceTest, OnlyTracesAreWrittenOver) {
  std::ofstream(path_) << "GLMPLAN1 and more";
  EXPECT_EQ(TraceWriter::Create(path_, kShape).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::ofstream(path_) << "";
  EXPECT_TRUE(TraceWriter::Create(path_, kShape).ok());
  EXPECT_EQ(TraceWriter::Create("/dev/null", kShape).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/dev/null", path_);
  EXPECT_EQ(TraceWriter::Create(path_, kShape).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glm::paging
