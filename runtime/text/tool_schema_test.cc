#include "runtime/text/tool_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/text/python_json.h"

namespace glm::text {
namespace {

using ::testing::HasSubstr;

// The types of argument "k" when `schema` is its schema and `defs` are "$defs".
TypeSet Types(const std::string& schema, const std::string& defs = "{}") {
  auto tool =
      *ParseJson(R"({"name": "f", "parameters": {"properties": {"k": )" +
                 schema + R"(}, "$defs": )" + defs + "}}");
  return (*ToolSchemas::Create({tool}))->Find("f")->Types("k");
}

TEST(ToolSchemaTest, ReadsTypesFromEveryPartOfASchema) {
  EXPECT_EQ(Types(R"({"type": "integer"})"), kIntegerType);
  EXPECT_EQ(Types(R"({"type": ["string", "null"]})"), kStringType | kNullType);
  EXPECT_EQ(Types(R"({"type": "string", "nullable": true})"),
            kStringType | kNullType);
  EXPECT_EQ(Types(R"({"enum": [1, "a", null, 1.5, true, [], {}]})"),
            kIntegerType | kStringType | kNullType | kNumberType |
                kBooleanType | kArrayType | kObjectType);
  EXPECT_EQ(Types(R"({"const": 12345678901234567890123})"), kIntegerType);
  EXPECT_EQ(Types(R"({"anyOf": [{"type": "number"}, {"oneOf": [
                      {"type": "array"}, {"type": "object"}]}]})"),
            kNumberType | kArrayType | kObjectType);
  EXPECT_EQ(Types(R"({"allOf": [{"$ref": "#/$defs/a~1b"}]})",
                  R"({"a/b": {"$ref": "#/$defs/list/0"},
                      "list": [{"type": "boolean"}]})"),
            kBooleanType);
}

TEST(ToolSchemaTest, WhatSaysNothingIsUnknown) {
  for (const char* schema :
       {"{}", "true", "3", R"({"type": "int"})", R"({"type": 3})",
        R"({"$ref": "#/$defs/none"})", R"({"$ref": "http://x"})",
        R"({"$ref": "#x"})", R"({"$ref": ""})", R"({"anyOf": 3})"}) {
    EXPECT_EQ(Types(schema), 0) << schema;
  }
}

TEST(ToolSchemaTest, CirclesAndFansEnd) {
  EXPECT_EQ(Types(R"({"$ref": "#/properties/k", "type": "null"})"), kNullType);
  EXPECT_EQ(Types(R"({"$ref": "#/$defs/a"})",
                  R"({"a": {"anyOf": [{"$ref": "#/$defs/a"},
                      {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}})"),
            0);
  auto tool = *ParseJson(R"({"name": "f", "parameters": {"allOf": [
      {"$ref": "#"}, {"$ref": "#"}], "properties": {"k": {"type": "null"}}}})");
  EXPECT_EQ((*ToolSchemas::Create({tool}))->Find("f")->Types("k"), kNullType);
}

TEST(ToolSchemaTest, FindsTheArgumentsBehindReferences) {
  auto tool = *ParseJson(R"({"type": "function", "function": {"name": "f",
      "parameters": {"$ref": "#/$defs/args", "$defs": {"args": {
          "properties": {"k": {"type": "integer"}},
          "additionalProperties": {"type": "boolean"}}}}}})");
  auto made = *ToolSchemas::Create({tool});
  const ToolSchemas& tools = *made;
  EXPECT_EQ(tools.Find("f")->Types("k"), kIntegerType);
  EXPECT_EQ(tools.Find("f")->Types("other"), kBooleanType);
  EXPECT_EQ(tools.Find("g"), nullptr);
}

TEST(ToolSchemaTest, KnowsEarlyWhatIsNoName) {
  auto made = *ToolSchemas::Create({*ParseJson(R"({"name": "get_time"})"),
                                    *ParseJson(R"({"name": "get"})")});
  const ToolSchemas& tools = *made;
  for (const char* name : {"", "g", "get", "get_", "get \n", "get_time"}) {
    EXPECT_TRUE(tools.MayBecomeName(name)) << name;
  }
  for (const char* name : {"x", "ge ", "get t", "get_times"}) {
    EXPECT_FALSE(tools.MayBecomeName(name)) << name;
  }
  auto none = *ToolSchemas::Create({});
  const ToolSchemas& any = *none;
  EXPECT_TRUE(any.MayBecomeName("mcp__mail-box__list\n"));
  EXPECT_FALSE(any.MayBecomeName("two words"));
  EXPECT_FALSE(any.MayBecomeName(std::string(300, 'a')));
  EXPECT_FALSE(any.MayBecomeName("a" + std::string(300, ' ')));
  EXPECT_EQ(any.Find("f")->Types("k"), kStringType);
}

TEST(ToolSchemaTest, NamesTheToolThatHasNoName) {
  for (const char* tool : {"3", "{}", R"({"name": 3})", R"({"name": " "})",
                           R"({"function": {"title": "f"}})"}) {
    auto tools =
        ToolSchemas::Create({*ParseJson(R"({"name": "f"})"), *ParseJson(tool)});
    EXPECT_EQ(tools.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(tools.status().message()), HasSubstr("tools[1]"));
  }
}

struct Case {
  TypeSet types;
  std::string text;
  std::string json;
};

TEST(ArgumentJsonTest, TheFirstTypeThatFitsCounts) {
  const Case cases[] = {
      {kStringType, "007", R"("007")"},
      {kStringType, "true", R"("true")"},
      {kStringType, "null", R"("null")"},
      {kStringType, "1.0", R"("1.0")"},
      {kStringType, "\n\"q\"\n", R"("\n\"q\"\n")"},
      {kIntegerType, "5", "5"},
      {kIntegerType, "\n-5\n", "-5"},
      {kIntegerType, "12345678901234567890", "12345678901234567890"},
      {kIntegerType, "123456789012345678901234567890",
       "123456789012345678901234567890"},
      {kIntegerType, "5.0", "5"},
      {kIntegerType, "1e3", "1000"},
      {kIntegerType, "5.5", "5.5"},
      {kIntegerType, "007", R"("007")"},
      {kIntegerType, "0x10", R"("0x10")"},
      {kIntegerType, "+5", R"("+5")"},
      {kIntegerType, "five", R"("five")"},
      {kIntegerType, "\"5\"", R"("5")"},
      {kIntegerType, "", R"("")"},
      {kNumberType, "1e-7", "1e-7"},
      {kNumberType, "2.50", "2.50"},
      {kNumberType, "12345678901234567890", "12345678901234567890"},
      {kNumberType, "NaN", R"("NaN")"},
      {kNumberType, "Infinity", R"("Infinity")"},
      {kNumberType, "1e999", R"("1e999")"},
      {kNumberType, ".5", R"(".5")"},
      {kIntegerType | kNumberType, "5.0", "5.0"},
      {kBooleanType, "true", "true"},
      {kBooleanType, " False\n", "false"},
      {kBooleanType, "1", "true"},
      {kBooleanType, "0", "false"},
      {kBooleanType, "2", "2"},
      {kBooleanType, "yes", R"("yes")"},
      {kIntegerType | kBooleanType, "1", "1"},
      {kNullType, "null", "null"},
      {kNullType, "None", R"("None")"},
      {kNullType | kStringType, "Null", "null"},
      {kNullType | kStringType, "none", R"("none")"},
      {kArrayType, "[1,2]", "[1, 2]"},
      {kArrayType, R"({"a":1,"a":2})", R"({"a": 2})"},
      {kArrayType, "[1, 2", R"("[1, 2")"},
      {kObjectType, R"({"n":12345678901234567890123,"s":"é"})",
       R"({"n": 12345678901234567890123, "s": "é"})"},
      {kObjectType | kStringType, "5", R"("5")"},
      {kObjectType | kStringType, "{'a': 1}", R"("{'a': 1}")"},
      {kIntegerType | kStringType, "5", "5"},
      {kIntegerType | kStringType, "5.0", R"("5.0")"},
      {kIntegerType | kStringType, "auto", R"("auto")"},
      {0, "5", "5"},
      {0, "[1]", "[1]"},
      {0, "null", "null"},
      {0, "001", R"("001")"},
      {0, R"("text")", R"("\"text\"")"},
      {0, "text", R"("text")"},
      // What the parser alone would take.
      {0,
       "\xEF\xBB\xBF"
       "5",
       "\"\xEF\xBB\xBF"
       "5\""},
      {0, std::string("5\0", 2), R"("5\u0000")"},
      {0, "1, 2", R"("1, 2")"},
      {0, "", R"("")"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ArgumentJson(c.text, c.types), c.json)
        << c.text << " as " << int{c.types};
  }
}

TEST(ArgumentJsonTest, DepthLeavesRoomForTheArguments) {
  const auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(ArgumentJson(nested(kMaxJsonDepth - 1), kArrayType),
            nested(kMaxJsonDepth - 1));
  EXPECT_EQ(ArgumentJson(nested(kMaxJsonDepth), kArrayType),
            JsonString(nested(kMaxJsonDepth)));
}

}  // namespace
}  // namespace glm::text
