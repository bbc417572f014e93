#include "runtime/grammar/json_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace glm::grammar {
namespace {

using ::nlohmann::ordered_json;
using ::testing::HasSubstr;

std::shared_ptr<const JsonGrammar> Grammar(std::string_view schema) {
  auto grammar = JsonGrammar::FromSchema(ordered_json::parse(schema));
  EXPECT_TRUE(grammar.ok()) << schema << ": " << grammar.status();
  return grammar.ok() ? *grammar : JsonGrammar::AnyObject();
}

void Expect(std::string_view schema, const std::vector<std::string>& right,
            const std::vector<std::string>& wrong) {
  auto grammar = Grammar(schema);
  for (const std::string& text : right) {
    EXPECT_TRUE(grammar->Matches(text)) << schema << " should have " << text;
  }
  for (const std::string& text : wrong) {
    EXPECT_FALSE(grammar->Matches(text)) << schema << " has " << text;
  }
}

TEST(JsonGrammarTest, Types) {
  Expect(R"({"type":"null"})", {"null"}, {"", "nul", "nulls", "0", " null"});
  Expect(R"({"type":["string","null"]})", {"null", "\"\""}, {"1", "[]"});
  Expect(R"({"type":"integer"})", {"0", "-7", "120"}, {"1.5", "01", "-0"});
  Expect(R"({"type":"number"})", {"0", "-7.25", "1e5"}, {"1.", "true"});
  Expect("true", {"1", "{\"a\":[null,{}]}"}, {"", "{,}"});
  Expect("{}", {"1", "\"x\"", "{\"a\":[null,{}]}", "[[],[1, 2]]"}, {"[,]"});
}

TEST(JsonGrammarTest, ObjectsInOrderOfTheSchema) {
  Expect(
      R"({"type":"object","properties":{"b":{"type":"integer"},
             "a":{"type":"boolean"},"c":{"type":"null"}},
             "required":["b","c"],"additionalProperties":false})",
      {R"({"b":1,"c":null})", R"({"b":1,"a":true,"c":null})",
       R"({"b": 1, "a": true, "c": null})", "{\n  \"b\": 1,\n  \"c\": null\n}"},
      {R"({"c":null,"b":1})", R"({"b":1})", R"({"b":1,"c":null,"d":1})",
       R"({"b":1,"c":null,})", R"({})", R"({"b":1,"b":1,"c":null})",
       R"({"b":1,"\u0063":null})", R"({"b" :1,"c":null})",
       R"({"b":1 ,"c":null})", R"({"b":  1,"c":null})"});
  Expect(R"({"properties":{"a":{},"b":{}},"additionalProperties":false})",
         {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
         {R"({"b":1,"a":2})", "1", R"({"a":1,})"});
}

TEST(JsonGrammarTest, FurtherPropertiesAreNewOnes) {
  Expect(R"({"type":"object","properties":{"ab":{"type":"integer"}}})",
         {"{}", R"({"ab":1})", R"({"a":"x","abc":[]})", R"({"ab":1,"b":{}})",
          R"({"":1})", R"({"ä😀":1})", R"({"a\"b":1})"},
         {R"({"ab":"x"})", R"({"a":1,"a":2})", R"({"a":1,"ab":2})",
          R"({"\u0061b":"x"})", R"({"x":{},"y":1,"x":{}})"});
  Expect(R"({"type":"object","additionalProperties":{"type":"integer"}})",
         {R"({"a":1,"b":2})", "{}"}, {R"({"a":"1"})"});
  Expect(R"({"type":"object","required":["q"],
             "additionalProperties":{"type":"integer"}})",
         {R"({"q":1})", R"({"q":1,"z":2})"}, {"{}", R"({"q":"1"})"});
  Expect(R"({"type":"object","minProperties":1,"maxProperties":2})",
         {R"({"a":1})", R"({"a":1,"b":1})"}, {"{}", R"({"a":1,"b":1,"c":1})"});
  // The same key in different objects is fine.
  auto any = JsonGrammar::AnyObject();
  EXPECT_TRUE(any->Matches(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})"));
  EXPECT_FALSE(any->Matches(R"({"a":{"b":1},"c":[{"b":1,"b":2}]})"));
  EXPECT_FALSE(any->Matches(R"({"a":[{"b":1}],"a":2})"));
  EXPECT_FALSE(any->Matches("[]"));
}

TEST(JsonGrammarTest, Arrays) {
  Expect(R"({"type":"array","items":{"type":"integer"}})",
         {"[]", "[1]", "[1, 2,3]", "[\n 1,\n 2\n]"},
         {"[,1]", "[1,]", "[\"1\"]", "[1"});
  Expect(R"({"items":{"type":"null"},"minItems":2,"maxItems":3})",
         {"[null,null]", "[null,null,null]"},
         {"[]", "[null]", "[null,null,null,null]"});
  Expect(R"({"prefixItems":[{"type":"integer"},{"type":"string"}],
             "items":false,"minItems":1})",
         {"[1]", "[1,\"a\"]"}, {"[]", "[\"a\"]", "[1,\"a\",2]"});
  Expect(R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},
             "maxItems":3})",
         {"[]", "[1]", "[1,null,null]"}, {"[null]", "[1,null,null,null]"});
  Expect(R"({"items":[{"type":"null"}],"additionalItems":false})",
         {"[null]", "[]"}, {"[null,1]"});
  Expect(R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"});
  Expect(R"({"type":"array","maxItems":5000,"items":{"type":"null"}})",
         {"[null,null]"}, {"[1]"});
}

TEST(JsonGrammarTest, Strings) {
  Expect(R"({"type":"string"})",
         {R"("")", R"("a\"\\\/\b\f\n\r\tz")", R"("\u00e4\uD83D\uDE00")",
          "\"ä😀\""},
         {R"("\x")", R"("\u12")", R"("\uD83D")", R"("\uD83D\u0041")",
          R"("\uDE00")", "\"\n\"", "\"\x80\"", "\"\xC0\x80\"",
          "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xC3\""});
  Expect(R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", "\"ä😀\"", R"("\uD83D\uDE00\n")", R"("abc")"},
         {R"("a")", R"("abcd")", R"("\uD83D\uDE00")"});
  Expect(R"({"type":"string","pattern":"^[a-c\"\n\u0001]+$","maxLength":3})",
         {R"("abc")", R"("a\"\n")", R"("\u0001")"},
         {R"("")", R"("abca")", R"("\u0061")", "\"\n\"", R"("d")"});
  Expect(R"({"type":"string","pattern":"ä|[😀-😂]"})",
         {"\"xäy\"", "\"😁\"", "\"ä\\\\\""}, {"\"xay\"", "\"😃\""});
  Expect(R"({"type":"string","format":"date","pattern":"^2026"})",
         {R"("2026-01-31")"}, {R"("2025-01-31")", R"("2026-02-30")"});
  Expect(R"({"type":"string","format":"color"})", {R"("red")"}, {"1"});
}

TEST(JsonGrammarTest, ValuesAndBounds) {
  Expect(R"({"enum":["a","ab",1,12,null,{"x":[1]}]})",
         {R"("a")", R"("ab")", "1", "12", "null", R"({"x":[1]})"},
         {R"("abc")", "2", "123", R"({"x":[2]})"});
  Expect(R"({"const":"q\"\u0007"})", {R"("q\"\u0007")"}, {R"("q")"});
  Expect(R"({"type":"string","enum":["a",1,"bb"],"maxLength":1})", {R"("a")"},
         {"1", R"("bb")"});
  Expect(R"({"type":"integer","minimum":-3,"exclusiveMaximum":12})",
         {"-3", "0", "11"}, {"-4", "12", "-0", "110"});
  Expect(R"({"type":"number","minimum":0,"maximum":1})",
         {"0", "0.25", "1", "1.0"}, {"1.01", "-0.1", "1e0"});
}

TEST(JsonGrammarTest, Combinations) {
  Expect(R"({"anyOf":[{"type":"integer"},{"type":"null"}]})", {"1", "null"},
         {"\"1\""});
  Expect(R"({"oneOf":[{"const":1},{"const":2}],"enum":[2,3]})", {"2"},
         {"1", "3"});
  Expect(R"({"allOf":[{"properties":{"a":{"type":"integer"}},
             "required":["a"]},{"properties":{"a":{"maximum":5},
             "b":{"type":"null"}},"additionalProperties":false}]})",
         {R"({"a":5})", R"({"a":1,"b":null})"}, {R"({"a":6})", "{}"});
  Expect(R"({"type":"object","properties":{"k":{}},"required":["k"],
             "anyOf":[{"properties":{"k":{"const":"a"},"x":{"type":"null"}},
                       "required":["x"]},
                      {"properties":{"k":{"const":"b"}}}],
             "additionalProperties":true})",
         {R"({"k":"a","x":null})", R"({"k":"b"})"}, {R"({"k":"a"})"});
}

TEST(JsonGrammarTest, References) {
  Expect(R"({"$defs":{"node/~x":{"type":"object","properties":
             {"v":{"type":"integer"},"next":{"anyOf":[{"type":"null"},
             {"$ref":"#/$defs/node~1~0x"}]}},"required":["v","next"],
             "additionalProperties":false}},"$ref":"#/%24defs/node~1~0x"})",
         {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
         {R"({"v":1})", R"({"v":1,"next":{"v":2}})"});
  Expect(R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"},
         {"[1]"});
  Expect(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})", {"null"}, {"1"});
}

TEST(JsonGrammarTest, WhiteSpaceEnds) {
  auto grammar = Grammar(R"({"type":"array","items":{"type":"null"}})");
  EXPECT_TRUE(grammar->Matches("\n\n[\n" + std::string(64, ' ') + "null]"));
  EXPECT_TRUE(grammar->Matches("[\n\t\tnull\n]"));
  EXPECT_FALSE(grammar->Matches("[\n" + std::string(65, ' ') + "null]"));
  EXPECT_FALSE(grammar->Matches("[\n\nnull]"));
  EXPECT_FALSE(grammar->Matches("[  null]"));
  EXPECT_FALSE(grammar->Matches("\n\n\n[]"));
  EXPECT_FALSE(grammar->Matches("[] "));
}

TEST(JsonGrammarTest, RefusesByPlaceAndName) {
  struct Case {
    const char* schema;
    const char* place;
    const char* what;
  };
  for (
      const Case& c : std::vector<Case>{
          {R"({"properties":{"a/b":{"not":{}}}})", "/properties/a~1b/not",
           "not is not supported, found {}; remove it, and check the answer "
           "instead; supported are $ref, $defs, allOf"},
          {R"({"if":{}})", "/if", "not supported"},
          {R"({"patternProperties":{"x":{}}})", "/patternProperties",
           "not supported"},
          {R"({"type":"array","uniqueItems":true})", "/uniqueItems",
           "not supported"},
          {R"({"type":"number","multipleOf":0.5})", "/multipleOf",
           "not supported"},
          {R"({"items":{"pattern":"(?=a) "}})", "/items/pattern",
           "looks ahead or behind, which is not supported, at byte 2; found "
           "\"(?=a) \"; supported are characters"},
          {R"({"type":"any"})", "/type",
           "must be null, boolean, integer, number, string, array or object, "
           "or a list of these; found \"any\""},
          {R"({"anyOf":[]})", "/anyOf", "at least one"},
          {R"({"anyOf":[1]})", "/anyOf/0",
           "must be a schema: an object or a boolean; found 1"},
          {R"({"$ref":"#/$defs/x"})", "/$ref", "names nothing"},
          {R"({"$ref":"http://x/y"})", "/$ref", "only references into"},
          {R"({"minLength":-1})", "/minLength",
           "must be a whole number from 0 to 1e15; found -1"},
          {R"({"minimum":"1"})", "/minimum", "must be a number; found \"1\""},
          {R"({"exclusiveMinimum":true})", "/exclusiveMinimum", "a number"},
          {R"({"required":"a"})", "/required",
           "must be a list of names; found \"a\""},
          {R"({"pattern":["a list of more than what a message is to show",1]})",
           "/pattern",
           "must be a string; found [\"a list of more than what a message is "
           "to "
           "show\", 1]"},
          {R"({"pattern":["a list of more than what a message is to show",1234567890123]})",
           "/pattern", "is to show\", 1234567890..."},
          {R"({"enum":[]})", "/enum", "at least one"},
          {R"({"properties":{"a":{}},"minProperties":1})", "(root)",
           "minProperties"},
          {R"({"enum":[{"a":1}],"required":["a"]})", "/enum",
           "leave only the values"},
          {R"({"properties":{"a":{"type":"integer","minimum":2,"maximum":1}},
               "required":["a"]})",
           "/properties/a", "contradicts"},
          {R"({"$ref":"#"})", "(root)", "contradicts itself or never ends"},
          {R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})",
           "/properties/a", "never ends"},
          {"false", "(root)", "contradicts"}}) {
    auto grammar = JsonGrammar::FromSchema(ordered_json::parse(c.schema));
    ASSERT_FALSE(grammar.ok()) << c.schema;
    EXPECT_EQ(grammar.status().code(), absl::StatusCode::kInvalidArgument);
    std::string message(grammar.status().message());
    EXPECT_THAT(message, HasSubstr(absl::StrCat("schema ", c.place, ":")));
    EXPECT_THAT(message, HasSubstr(c.what));
  }
}

TEST(JsonGrammarTest, IgnoresWhatMeansNothing) {
  for (const char* schema :
       {R"({"type":"null","title":"t","x-unknown":1,"$schema":"s"})",
        R"({"type":"null","uniqueItems":false,"dependencies":{}})",
        R"({"type":"null","$defs":{"bad":{"not":{}}}})",
        R"({"type":"null","propertyNames":{"type":"string"}})"}) {
    EXPECT_TRUE(Grammar(schema)->Matches("null"));
  }
}

TEST(JsonGrammarTest, LimitsComeBeforeMemory) {
  ordered_json deep = ordered_json::object();
  for (int i = 0; i < 200; ++i) {
    deep = {{"items", deep}};
  }
  ordered_json wide = {{"type", "object"}};
  for (int i = 0; i < 600; ++i) {
    wide["properties"][absl::StrCat("p", i)] = true;
  }
  ordered_json large = {{"enum", ordered_json::array()}};
  for (int i = 0; i < 30000; ++i) {
    large["enum"].push_back(i);
  }
  ordered_json product = {{"allOf", ordered_json::array()}};
  for (int i = 0; i < 12; ++i) {
    product["allOf"].push_back(
        {{"anyOf", {{{"minimum", i}}, {{"maximum", i}}}}});
  }
  ordered_json states = {{"type", "object"}};
  for (int i = 0; i < 500; ++i) {
    states["properties"][absl::StrCat("p", i)] = {
        {"type", "string"}, {"pattern", absl::StrCat("^.{900}", i, "$")}};
  }
  for (const ordered_json& schema : {deep, wide, large, product, states}) {
    EXPECT_EQ(JsonGrammar::FromSchema(schema).status().code(),
              absl::StatusCode::kResourceExhausted)
        << schema.dump().substr(0, 80);
  }
  EXPECT_EQ(JsonGrammar::FromSchema("\xFF").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(JsonGrammarTest, LongTextsOutliveTheMachine) {
  auto grammar = Grammar(R"({"type":"string","maxLength":50000})");
  std::string text(50000, 'x');
  EXPECT_TRUE(grammar->Matches("\"" + text + "\""));
  EXPECT_FALSE(grammar->Matches("\"" + text + "x\""));
}

}  // namespace
}  // namespace glm::grammar
