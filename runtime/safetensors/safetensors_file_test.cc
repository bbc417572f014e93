#include "runtime/safetensors/safetensors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace glm {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A file with `header` as it is, and `data`.
std::string File(const std::string& header, const std::string& data,
                 uint64_t claimed = UINT64_MAX) {
  if (claimed == UINT64_MAX) claimed = header.size();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(claimed >> (8 * i));
  return bytes + header + data;
}

absl::StatusOr<SafetensorsFile> Parse(const std::string& bytes) {
  return SafetensorsFile::Parse(std::as_bytes(std::span(bytes)), "f");
}

std::string Fault(const std::string& bytes) {
  const auto file = Parse(bytes);
  return file.ok() ? "accepted" : std::string(file.status().message());
}

constexpr char kOne[] =
    R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(SafetensorsFile, ReadsEntriesInTheOrderOfTheirBytes) {
  const std::string bytes = File(
      R"({"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},
          "__metadata__":{"format":"pt"},
          "a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})",
      "ABCDEFGH");
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  const TensorEntry* b = file->Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, StDType::kBF16);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(b->size, 4u);
  EXPECT_EQ(bytes.substr(b->offset, 4), "EFGH");
  EXPECT_EQ(file->Bytes(*b)[0], std::byte{'E'});
  EXPECT_EQ(file->Find("__metadata__"), nullptr);
}

TEST(SafetensorsFile, SurvivesBeingMoved) {
  const std::string bytes = File(kOne, std::string(8, '\1'));
  auto file = Parse(bytes);
  ASSERT_TRUE(file.ok());
  const SafetensorsFile moved = *std::move(file);
  ASSERT_NE(moved.Find("w"), nullptr);
  EXPECT_EQ(moved.Bytes(*moved.Find("w")).size(), 8u);
}

TEST(SafetensorsFile, AcceptsSpacesAfterTheHeader) {
  EXPECT_EQ(Fault(File(std::string(kOne) + "       ", std::string(8, 'x'))),
            "accepted");
}

TEST(SafetensorsFile, AcceptsScalarsAndTensorsWithoutElements) {
  const auto file =
      Parse(File(R"({"e":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},
               "s":{"dtype":"U8","shape":[],"data_offsets":[0,1]},
               "z":{"dtype":"F32","shape":[4,0],"data_offsets":[1,1]}})",
                 "x"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("e")->size, 0u);
  EXPECT_TRUE(file->Find("s")->shape.empty());
}

TEST(SafetensorsFile, AcceptsNoTensorsAtAll) {
  EXPECT_EQ(Fault(File("{}", "")), "accepted");
}

TEST(SafetensorsFile, KeepsAnUnknownDtypeByName) {
  const auto file = Parse(
      File(R"({"w":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", "xy"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("w")->dtype, StDType::kOther);
  EXPECT_EQ(file->Find("w")->dtype_name, "F4");
}

TEST(SafetensorsFile, RefusesTrailingBytes) {
  EXPECT_THAT(Fault(File(kOne, std::string(9, 'x'))),
              HasSubstr("1 bytes follow the last tensor"));
  EXPECT_THAT(Fault(File("{}", "x")), HasSubstr("follow the last tensor"));
}

TEST(SafetensorsFile, RefusesGapsAndOverlaps) {
  const std::string two = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)"
                          R"([0,2]},"b":{"dtype":"U8","shape":[2],)"
                          R"("data_offsets":)";
  EXPECT_EQ(Fault(File(two + "[2,4]}}", "wxyz")), "accepted");
  EXPECT_THAT(Fault(File(two + "[3,5]}}", "vwxyz")),
              HasSubstr("'b': a gap of 1 bytes"));
  EXPECT_THAT(Fault(File(two + "[1,3]}}", "xyz")), HasSubstr("overlap"));
  EXPECT_THAT(Fault(File(two + "[0,2]}}", "xy")), HasSubstr("overlap"));
}

TEST(SafetensorsFile, RefusesHeaderLengthsWithoutAllocatingThem) {
  EXPECT_THAT(Fault(File(kOne, "", uint64_t{1} << 63)),
              HasSubstr("more than the 100000000"));
  EXPECT_THAT(Fault(File(kOne, "", UINT64_MAX - 1)), HasSubstr("claims"));
  const std::string file = File(kOne, std::string(8, 'x'));
  EXPECT_THAT(Fault(File(kOne, std::string(8, 'x'), file.size() - 7)),
              HasSubstr("cut short"));
  EXPECT_THAT(Fault("1234567"), HasSubstr("too few"));
  EXPECT_THAT(Fault(""), HasSubstr("too few"));
}

TEST(SafetensorsFile, RefusesTensorsBeyondTheEnd) {
  const auto file = Parse(File(kOne, std::string(7, 'x')));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("f: tensor 'w' ends 0 + 8 bytes into the data"));
  EXPECT_THAT(Fault(File(R"({"w":{"dtype":"F4","shape":[1],"data_offsets":)"
                         R"([18446744073709551614,18446744073709551615]}})",
                         "x")),
              HasSubstr("cut short"));
}

TEST(SafetensorsFile, RefusesSizesThatDoNotFitTheShape) {
  EXPECT_THAT(
      Fault(File(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
                 std::string(8, 'x'))),
      HasSubstr("F32 [3] needs 12 bytes, data_offsets give 8"));
  EXPECT_THAT(
      Fault(File(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],)"
                 R"("data_offsets":[0,0]}})",
                 "")),
      HasSubstr("64 bits"));
  EXPECT_THAT(
      Fault(File(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
                 std::string(8, 'x'))),
      HasSubstr("end before they begin"));
}

TEST(SafetensorsFile, RefusesNamesAndFieldsGivenTwice) {
  const std::string w = R"("w":{"dtype":"U8","shape":[0],)"
                        R"("data_offsets":[0,0]})";
  EXPECT_THAT(Fault(File("{" + w + "," + w + "}", "")),
              HasSubstr("'w': the name is there twice"));
  EXPECT_THAT(Fault(File(R"({"w":{"dtype":"U8","dtype":"U8","shape":[0],)"
                         R"("data_offsets":[0,0]}})",
                         "")),
              HasSubstr("twice"));
}

TEST(SafetensorsFile, RefusesMalformedHeaders) {
  const struct {
    const char* header;
    const char* message;
  } kCases[] = {
      {"", "does not begin with '{'"},
      {" {}", "does not begin with '{'"},
      {"\xEF\xBB\xBF{}", "does not begin with '{'"},
      {"[]", "does not begin with '{'"},
      {"{", "not JSON"},
      {"{} x", "not JSON"},
      {"{}\0", "accepted"},  // the literal ends at its NUL
      {R"({"w":1})", "a number"},
      {R"({"w":"x"})", "a string"},
      {R"({"w":null})", "null"},
      {R"({"w":[]})", "a list"},
      {R"({"w":{}})", "needs exactly dtype"},
      {R"({"w":{"dtype":"U8","shape":[0]}})", "needs exactly dtype"},
      {R"({"w":{"dtype":1}})", "a number"},
      {R"({"w":{"dtype":["U8"]}})", "a list"},
      {R"({"w":{"shape":0}})", "a number"},
      {R"({"w":{"shape":"0"}})", "a string"},
      {R"({"w":{"shape":[-1]}})", "a negative number"},
      {R"({"w":{"shape":[1.5]}})", "not whole"},
      {R"({"w":{"shape":[[1]]}})", "a list"},
      {R"({"w":{"shape":[{}]}})", "an object"},
      {R"({"w":{"shape":[9223372036854775808]}})", "too large"},
      {R"({"w":{"shape":[1,1,1,1,1,1,1,1,1]}})", "more than 8 dimensions"},
      {R"({"w":{"data_offsets":[0]}})", "needs two numbers"},
      {R"({"w":{"data_offsets":[0,0,0]}})", "needs two numbers"},
      {R"({"w":{"extra":1}})", "unknown field 'extra'"},
      {R"({"__metadata__":{"a":1}})", "a number"},
      {R"({"__metadata__":{"a":{}}})", "an object"},
      {R"({"__metadata__":1})", "a number"},
      {"{\"\xFF\":1}", "not JSON"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Fault(File(test.header, "")), HasSubstr(test.message))
        << test.header;
  }
}

TEST(SafetensorsFile, StopsAtDeepNesting) {
  const std::string deep = R"({"w":{"shape":)" + std::string(1 << 20, '[');
  EXPECT_THAT(Fault(File(deep, "")), HasSubstr("a list where none belongs"));
}

TEST(SafetensorsFile, EscapesAndCutsNamesInMessages) {
  const std::string header =
      R"({"\u001b[31m)" + std::string(500, 'n') + R"(":{}})";
  const std::string fault = Fault(File(header, ""));
  EXPECT_EQ(fault.find('\x1b'), std::string::npos);
  EXPECT_LT(fault.size(), 400u);
}

TEST(SafetensorsFile, OpenNamesThePath) {
  const std::string path = testing::TempDir() + "/cut.safetensors";
  std::ofstream(path, std::ios::binary) << File(kOne, "x");
  EXPECT_THAT(std::string(SafetensorsFile::Open(path).status().message()),
              StartsWith(path + ": "));
  std::ofstream(path, std::ios::binary) << File(kOne, "12345678");
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Bytes(*file->Find("w"))[7], std::byte{'8'});
  EXPECT_EQ(SafetensorsFile::Open(path + ".none").status().code(),
            absl::StatusCode::kNotFound);
  std::filesystem::remove(path);
}

TEST(ShapeString, ListsDimensions) {
  EXPECT_EQ(ShapeString(std::vector<int64_t>{}), "[]");
  EXPECT_EQ(ShapeString(std::vector<int64_t>{2, 3}), "[2, 3]");
}

}  // namespace
}  // namespace glm
