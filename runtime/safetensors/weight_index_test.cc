#include "runtime/safetensors/weight_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

absl::StatusOr<WeightIndex> Parse(const std::string& text) {
  return ParseWeightIndex(std::as_bytes(std::span(text)), "i.json");
}

TEST(WeightIndex, ReadsTheMapAndSkipsTheRest) {
  const auto index = Parse(
      R"({"metadata":{"total_size":3,"more":[1,{"weight_map":2}]},
          "weight_map":{"a":"x.safetensors","b":"y.safetensors",
                        "c":"x.safetensors"},
          "note":null})");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT(index->files, ElementsAre("x.safetensors", "y.safetensors"));
  EXPECT_THAT(index->tensors,
              ElementsAre(Pair("a", 0), Pair("b", 1), Pair("c", 0)));
}

TEST(WeightIndex, RefusesWhatIsNoIndex) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"", "not JSON"},
      {"{\"weight_map\":{\"a\":\"x\"", "cut short"},
      {"[]", "must be an object"},
      {"1", "must be an object"},
      {"\"weight_map\"", "must be an object"},
      {"{}", "has no weight_map"},
      {R"({"weight_map":null})", "must be an object"},
      {R"({"weight_map":[]})", "must be an object"},
      {R"({"weight_map":"x"})", "must be an object"},
      {R"({"weight_map":{}})", "is empty"},
      {R"({"weight_map":{"a":1}})", "must be an object"},
      {R"({"weight_map":{"a":{}}})", "must be an object"},
      {R"({"weight_map":{"a":["x"]}})", "must be an object"},
      {R"({"weight_map":{"a":"x","a":"y"}})", "names 'a' twice"},
      {R"({"weight_map":{"a":"x"},"weight_map":{"a":"y"}})", "twice"},
      {R"({"weight_map":{"a":""}})", "not a plain file name"},
      {R"({"weight_map":{"a":".."}})", "not a plain file name"},
      {R"({"weight_map":{"a":"../x"}})", "'../x'"},
      {R"({"weight_map":{"a":"/etc/passwd"}})", "not a plain file name"},
      {R"({"weight_map":{"a":"s/x"}})", "not a plain file name"},
      {R"({"weight_map":{"a":"s\\x"}})", "not a plain file name"},
      {R"({"weight_map":{"a":"x\u0000y"}})", "not a plain file name"},
  };
  for (const auto& test : kCases) {
    const auto index = Parse(test.text);
    EXPECT_EQ(index.status().code(), absl::StatusCode::kInvalidArgument)
        << test.text;
    EXPECT_THAT(std::string(index.status().message()), HasSubstr(test.message))
        << test.text;
  }
}

TEST(WeightIndex, LimitsTheNumberOfFiles) {
  std::string text = R"({"weight_map":{)";
  for (size_t i = 0; i <= kMaxIndexFiles; ++i) {
    const std::string n = std::to_string(i);
    text += (i ? ",\"t" : "\"t") + n + "\":\"f" + n + "\"";
  }
  EXPECT_THAT(std::string(Parse(text + "}}").status().message()),
              HasSubstr("more than 10000 files"));
}

}  // namespace
}  // namespace glm
