#include "runtime/safetensors/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "runtime/safetensors/safetensors_writer.h"

namespace glm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Tensors = std::map<std::string, std::string>;  // name -> U8 content

// A checkpoint folder that ends with the test.
class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : dir_(testing::TempDir() + "/checkpoint-" +
             testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~CheckpointTest() override { std::filesystem::remove_all(dir_); }

  void Shard(const std::string& name, const Tensors& tensors) const {
    SafetensorsWriter writer;
    for (const auto& [tensor, content] : tensors) {
      writer.Add(tensor, StDType::kU8, {static_cast<int64_t>(content.size())},
                 std::as_bytes(std::span(content)));
    }
    ASSERT_TRUE(writer.Write(dir_ + "/" + name).ok());
  }
  void Index(const std::map<std::string, std::string>& map) const {
    std::ofstream out(dir_ + "/model.safetensors.index.json");
    out << R"({"metadata":{"total_size":0},"weight_map":{)";
    const char* comma = "";
    for (const auto& [tensor, file] : map) {
      out << comma << '"' << tensor << "\":\"" << file << '"';
      comma = ",";
    }
    out << "}}";
  }
  // Three shards of two tensors.
  void ThreeShards() const {
    Shard("model-00001-of-00003.safetensors", {{"a", "1"}, {"b", "22"}});
    Shard("model-00002-of-00003.safetensors", {{"c", "3"}, {"d", "4"}});
    Shard("model-00003-of-00003.safetensors", {{"e", "5"}, {"f", "6"}});
    Index({{"a", "model-00001-of-00003.safetensors"},
           {"b", "model-00001-of-00003.safetensors"},
           {"c", "model-00002-of-00003.safetensors"},
           {"d", "model-00002-of-00003.safetensors"},
           {"e", "model-00003-of-00003.safetensors"},
           {"f", "model-00003-of-00003.safetensors"}});
  }
  std::string Content(const Checkpoint& checkpoint,
                      std::string_view name) const {
    const auto ref = checkpoint.Find(name);
    if (!ref) return "absent";
    const auto bytes = checkpoint.files()[ref->file].Bytes(*ref->entry);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string Fault() const {
    const auto checkpoint = Checkpoint::Open(dir_);
    return checkpoint.ok() ? "accepted"
                           : std::string(checkpoint.status().message());
  }

  const std::string dir_;
};

TEST_F(CheckpointTest, OneFile) {
  Shard("model.safetensors", {{"b", "22"}, {"a", "1"}});
  const auto checkpoint = Checkpoint::Open(dir_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->names(), ElementsAre("a", "b"));
  EXPECT_EQ(Content(*checkpoint, "b"), "22");
  EXPECT_FALSE(checkpoint->Find("c").has_value());
  EXPECT_THAT(checkpoint->warnings(), IsEmpty());
}

TEST_F(CheckpointTest, Shards) {
  ThreeShards();
  auto opened = Checkpoint::Open(dir_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Checkpoint checkpoint = *std::move(opened);
  EXPECT_EQ(checkpoint.files().size(), 3u);
  EXPECT_EQ(checkpoint.names().size(), 6u);
  EXPECT_EQ(Content(checkpoint, "d"), "4");
  EXPECT_THAT(checkpoint.warnings(), IsEmpty());
}

TEST_F(CheckpointTest, MissingShardsAreAllNamed) {
  ThreeShards();
  std::filesystem::remove(dir_ + "/model-00002-of-00003.safetensors");
  EXPECT_THAT(Fault(), AllOf(HasSubstr("1 of 3 files"),
                             HasSubstr("model-00002-of-00003.safetensors"),
                             HasSubstr("2 tensors affected"),
                             HasSubstr("download may be cut short")));
  std::filesystem::remove(dir_ + "/model-00003-of-00003.safetensors");
  EXPECT_THAT(Fault(), AllOf(HasSubstr("4 tensors affected"),
                             HasSubstr("model-00002-of-00003.safetensors, "
                                       "model-00003-of-00003.safetensors")));
}

TEST_F(CheckpointTest, CutShardIsNamed) {
  ThreeShards();
  const std::string shard = dir_ + "/model-00002-of-00003.safetensors";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  EXPECT_THAT(Fault(), AllOf(HasSubstr(shard), HasSubstr("cut short")));
}

TEST_F(CheckpointTest, CopiesInOtherShardsAreIgnoredAndCounted) {
  ThreeShards();
  Shard("model-00001-of-00003.safetensors",
        {{"a", "1"}, {"b", "22"}, {"c", "\x11"}});
  const auto checkpoint = Checkpoint::Open(dir_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(Content(*checkpoint, "c"), "3");
  EXPECT_THAT(checkpoint->warnings(),
              ElementsAre(AllOf(HasSubstr("ignored 1 copy of tensors"),
                                HasSubstr("'c' in model-00001"))));
}

TEST_F(CheckpointTest, FilesBesideTheShardsAreIgnoredAndNamed) {
  ThreeShards();
  Shard("model.safetensors", {{"a", "0"}, {"lm_head.weight", "0"}});
  const auto checkpoint = Checkpoint::Open(dir_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(Content(*checkpoint, "a"), "1");
  EXPECT_FALSE(checkpoint->Find("lm_head.weight").has_value());
  EXPECT_THAT(checkpoint->warnings(),
              ElementsAre(AllOf(HasSubstr("1 safetensors file that the index"),
                                HasSubstr("model.safetensors"))));
  ASSERT_EQ(checkpoint->unindexed().size(), 1u);
  EXPECT_EQ(checkpoint->unindexed()[0].name, "lm_head.weight");
}

TEST_F(CheckpointTest, DamagedFilesBesideTheShardsAreNoError) {
  ThreeShards();
  std::ofstream(dir_ + "/other.safetensors") << "rubbish";
  const auto checkpoint = Checkpoint::Open(dir_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->warnings(),
              ElementsAre(HasSubstr("other.safetensors")));
}

TEST_F(CheckpointTest, StaleIndexIsNamedAsTheCause) {
  ThreeShards();
  Index({{"a", "model-00001-of-00009.safetensors"},
         {"b", "model-00002-of-00009.safetensors"}});
  EXPECT_THAT(Fault(), AllOf(HasSubstr("the index is stale"),
                             HasSubstr("model-00001-of-00009.safetensors"),
                             HasSubstr("model-00001-of-00003.safetensors")));
}

TEST_F(CheckpointTest, IndexThatAssignsTensorsWronglyIsStale) {
  ThreeShards();
  Index({{"a", "model-00001-of-00003.safetensors"},
         {"c", "model-00001-of-00003.safetensors"}});
  EXPECT_THAT(Fault(), AllOf(HasSubstr("the index is stale: 1 tensor"),
                             HasSubstr("'c' in model-00001")));
}

TEST_F(CheckpointTest, TensorsWithoutALineInTheIndexAreSaid) {
  ThreeShards();
  Index({{"a", "model-00001-of-00003.safetensors"}});
  const auto checkpoint = Checkpoint::Open(dir_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->warnings(),
              ElementsAre(HasSubstr("ignored 1 tensor without a line"),
                          HasSubstr("ignored 2 safetensors files")));
  EXPECT_EQ(checkpoint->unindexed().size(), 5u);
}

TEST_F(CheckpointTest, OtherDataBesideASingleFileIsNoWarning) {
  Shard("model.safetensors", {{"a", "1"}});
  Shard("golden.safetensors", {{"p0.ids", "1"}});
  const auto checkpoint = Checkpoint::Open(dir_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->warnings(), IsEmpty());
  EXPECT_EQ(checkpoint->unindexed().size(), 1u);

  Shard("old.safetensors", {{"a", "2"}});
  EXPECT_THAT(Checkpoint::Open(dir_)->warnings(),
              ElementsAre(AllOf(HasSubstr("second copies"),
                                HasSubstr("old.safetensors"),
                                Not(HasSubstr("golden")))));
}

TEST_F(CheckpointTest, IndexMayNotLeaveTheFolder) {
  Index({{"a", "../model.safetensors"}});
  EXPECT_THAT(Fault(), HasSubstr("not a plain file name"));
}

TEST_F(CheckpointTest, FoldersWithoutWeights) {
  EXPECT_THAT(Fault(), HasSubstr("holds neither model.safetensors nor"));
  Shard("model-00001-of-00002.safetensors", {{"a", "1"}});
  EXPECT_THAT(Fault(), HasSubstr("fetch the index as well"));
  EXPECT_EQ(Checkpoint::Open(dir_ + "/none").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace glm
