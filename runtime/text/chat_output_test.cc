#include "runtime/text/chat_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/text/chat_output_test_files.h"

namespace glm::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

const std::vector<nlohmann::ordered_json>& Tools() {
  static const std::vector<nlohmann::ordered_json> tools = {
      *ParseJson(R"({"type": "function", "function": {"name": "f",
        "parameters": {"type": "object", "properties": {
          "s": {"type": "string"}, "i": {"type": "integer"},
          "n": {"type": "number"}, "b": {"type": "boolean"},
          "z": {"type": "null"}, "o": {"type": "object"},
          "a": {"type": "array"}, "m": {"type": ["string", "null"]},
          "u": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
          "e": {"enum": ["fast", 1, null]}, "r": {"$ref": "#/$defs/t"},
          "?": {}},
          "$defs": {"t": {"type": "integer"}}}}})"),
      *ParseJson(R"({"name": "now"})"),
      *ParseJson(R"({"name": "mcp__mail-box__list"})")};
  return tools;
}

ChatOutputOptions Options(bool inside = false) {
  ChatOutputOptions options;
  options.starts_inside_thinking = inside;
  options.tools = *ToolSchemas::Create(Tools());
  return options;
}

std::string Arg(std::string_view key, std::string_view value) {
  return "<arg_key>" + std::string(key) + "</arg_key><arg_value>" +
         std::string(value) + "</arg_value>";
}

struct Golden {
  std::string wire;   // a '~' in front: starts inside thinking
  std::string shown;  // Answer::Shown
};

// Tags as tokens, of one or many text tokens between them, and where the
// tokenizer has no tokens for those of arguments, as text.
void Expect(const std::vector<Golden>& goldens) {
  for (const Golden& golden : goldens) {
    const bool inside = golden.wire.starts_with('~');
    const std::string wire = golden.wire.substr(inside);
    for (const Tokenizer* tokenizer :
         {&Nano(), &ByteTokenizer(true), &ByteTokenizer(false)}) {
      EXPECT_EQ(
          Read(*tokenizer, Wire(*tokenizer, wire), Options(inside)).Shown(),
          golden.shown)
          << wire;
    }
  }
}

TEST(ChatOutputTest, ReasoningAndContent) {
  Expect({{"~why</think>because", "why|because"},
          {"~why\n</think>\n\nbecause \n", "why\n|\n\nbecause \n"},
          {"~all of it", "all of it|"},
          {"a<think>b</think>c", "b|ac"},
          {"a</think>b", "|ab"},
          {"~a<think>b", "ab|"},
          {"~a<|user|></think>b<|user|>", "a|b"}});
}

TEST(ChatOutputTest, ReadsCalls) {
  Expect(
      {{"~r</think>c<tool_call>f" + Arg("s", "Oslo") + "</tool_call>",
        "r|c\nf {\"s\": \"Oslo\"}"},
       {"<tool_call>f" + Arg("s", "a\n<b>\"x\"</b> é") + Arg("i", "2") +
            "</tool_call>",
        "|\nf {\"s\": \"a\\n<b>\\\"x\\\"</b> é\", \"i\": 2}"},
       {"<tool_call>\n f \n" + Arg(" s\n", "v") + "\n" + Arg("i", "1") +
            "\n</tool_call>\n",
        "|\nf {\"s\": \"v\", \"i\": 1}"},
       {"<tool_call>f<arg_key>s</arg_key>\n<arg_value> v\n</arg_value>"
        "</tool_call>",
        "|\nf {\"s\": \" v\\n\"}"},
       {"c\n<tool_call>now</tool_call>\n<tool_call>now</tool_call> d",
        "|c d\nnow {}\nnow {}"},
       {"<tool_call>f" + Arg("s", "") + "</tool_call>", "|\nf {\"s\": \"\"}"}});
}

TEST(ChatOutputTest, ArgumentsHaveTheTypesOfTheSchema) {
  const std::pair<std::string, std::string> cases[] = {
      {Arg("i", "12345678901234567890"), R"("i": 12345678901234567890)"},
      {Arg("i", "\n7\n"), R"("i": 7)"},
      {Arg("n", "1e-7"), R"("n": 1e-7)"},
      {Arg("b", "true"), R"("b": true)"},
      {Arg("z", "null"), R"("z": null)"},
      {Arg("o", "{\"k\":[1,\"x\"]}"), R"("o": {"k": [1, "x"]})"},
      {Arg("a", "[1, 2]"), R"("a": [1, 2])"},
      {Arg("s", "007") + Arg("s", "true"), R"("s": "007", "s": "true")"},
      {Arg("m", "null"), R"("m": null)"},
      {Arg("m", "1.0"), R"("m": "1.0")"},
      {Arg("u", "5") + Arg("u", "x"), R"("u": 5, "u": "x")"},
      {Arg("e", "fast") + Arg("e", "1"), R"("e": "fast", "e": 1)"},
      {Arg("r", "3"), R"("r": 3)"},
      {Arg("?", "{}"), R"("?": {})"},
      {Arg("other", "5") + Arg("more", "007"), R"("other": 5, "more": "007")"},
      {Arg("i", "many"), R"("i": "many")"}};
  for (const auto& [wire, json] : cases) {
    Expect({{"<tool_call>f" + wire + "</tool_call>", "|\nf {" + json + "}"}});
  }
}

TEST(ChatOutputTest, OfEqualKeysTheLastCounts) {
  const std::string wire =
      "<tool_call>f" + Arg("i", "1") + Arg("i", "2") + "</tool_call>";
  Answer answer = Read(Nano(), Wire(Nano(), wire), Options());
  EXPECT_EQ((*ParseJson(answer.calls.at(0).arguments))["i"], 2);
}

TEST(ChatOutputTest, WithoutToolsAnyNameCallsAndValuesAreStrings) {
  ChatOutputOptions options;
  const std::string wire = "<tool_call>g" + Arg("i", "1") + "</tool_call>";
  EXPECT_EQ(Read(Nano(), Wire(Nano(), wire), options).Shown(),
            "|\ng {\"i\": \"1\"}");
  options.parse_tools = false;
  EXPECT_EQ(Read(Nano(), Wire(Nano(), wire), options).Shown(), "|" + wire);
}

TEST(ChatOutputTest, CallsOfOtherNamesAreContent) {
  const std::string nested = "<tool_call>g" +
                             Arg("s", "a<tool_call>now</tool_call>b") +
                             "</tool_call>";
  Expect({{"a <tool_call>g" + Arg("s", "v") + "</tool_call> b",
           "|a <tool_call>g" + Arg("s", "v") + "</tool_call> b"},
          {"<tool_call>no</tool_call>", "|<tool_call>no</tool_call>"},
          {"<tool_call></tool_call>", "|<tool_call></tool_call>"},
          {"<tool_call>f" + Arg("s", "v") + "</tool_call>" + nested,
           "|" + nested + "\nf {\"s\": \"v\"}"},
          {"the <tool_call> token <tool_call>now</tool_call>",
           "|the <tool_call> token\nnow {}"},
          {"<tool_call>x</think>y", "|<tool_call>xy"},
          {"<tool_call>no<arg_key>s</arg_key><arg_value>v</think>x",
           "|<tool_call>no<arg_key>s</arg_key><arg_value>vx"}});
}

TEST(ChatOutputTest, TagsInValuesAreData) {
  Expect({{"<tool_call>f" + Arg("s", "<arg_key>k</arg_key>") + "</tool_call>",
           R"(|
f {"s": "<arg_key>k</arg_key>"})"},
          {"<tool_call>f" + Arg("s", "a</arg_value> b") + "</tool_call>",
           R"(|
f {"s": "a</arg_value> b"})"},
          {"<tool_call>f" + Arg("s", "<tool_call>x</tool_call> </think>") +
               Arg("i", "1") + "</tool_call>c",
           R"(|c
f {"s": "<tool_call>x</tool_call> </think>", "i": 1})"},
          {"<tool_call>f" + Arg("s", Arg("k", "v")) + "</tool_call>",
           R"(|
f {"s": "<arg_key>k</arg_key><arg_value>v</arg_value>"})"},
          {"<tool_call>f" + Arg("a", "[\"</arg_value>\"]") + "</tool_call>",
           R"(|
f {"a": ["</arg_value>"]})"}});
}

TEST(ChatOutputTest, TextThatSpellsATagInAValueIsData) {
  std::vector<int32_t> ids =
      Wire(Nano(), "<tool_call>f<arg_key>s</arg_key><arg_value>");
  const std::string spelled = "</arg_value></tool_call>" + Arg("k", "v");
  const std::vector<int32_t> value = *Nano().Encode(spelled, {});
  const std::vector<int32_t> end = Wire(Nano(), "</arg_value></tool_call>");
  ids.insert(ids.end(), value.begin(), value.end());
  ids.insert(ids.end(), end.begin(), end.end());
  Answer answer = Read(Nano(), ids, Options());
  ASSERT_THAT(answer.calls, SizeIs(1));
  EXPECT_EQ((*ParseJson(answer.calls[0].arguments))["s"], spelled);
  EXPECT_EQ(answer.content, "");
}

TEST(ChatOutputTest, TextThatSpellsAControlMarkerIsText) {
  const std::string text = "a</think>b<tool_call>now</tool_call><think>";
  const std::vector<int32_t> ids = *Nano().Encode(text, {});
  EXPECT_EQ(Read(Nano(), ids, Options()).Shown(), "|" + text);
  EXPECT_EQ(Read(Nano(), ids, Options(true)).Shown(), text + "|");
}

TEST(ChatOutputTest, AnOpenCallIsClosedWithWhatWasComplete) {
  const std::string first = "<tool_call>f" + Arg("i", "1");
  Expect({{first, "|\nf {\"i\": 1}"},
          {first + "<arg_key>s", "|\nf {\"i\": 1}"},
          {first + "<arg_key>s</arg_key><arg_value>v",
           "|\nf {\"i\": 1, \"s\": \"v\"}"},
          {first + "<arg_key>n</arg_key><arg_value>12", "|\nf {\"i\": 1}"},
          {first + "<arg_key>n</arg_key><arg_value>12</tool_call>",
           "|\nf {\"i\": 1, \"n\": 12}"},
          // Nothing of it is complete, and {} would be invented.
          {"c\n<tool_call>f<arg_key>n</arg_key><arg_value>1",
           "|c\n<tool_call>f<arg_key>n</arg_key><arg_value>1"},
          {"<tool_call>f<arg_key>s", "|<tool_call>f<arg_key>s"},
          {"<tool_call>now", "|<tool_call>now"},
          {"<tool_call>", "|<tool_call>"}});
}

TEST(ChatOutputTest, DeltasComeEarlyAndNameACallOnce) {
  ChatOutputOptions options = Options();
  options.new_id = [] { return "id-1"; };
  ChatOutput output = *ChatOutput::Create(ByteTokenizer(true), options);
  std::vector<std::string> steps;
  for (int32_t id :
       Wire(ByteTokenizer(true), "<tool_call>f" + Arg("s", "ab") +
                                     Arg("i", "12") + "</tool_call>")) {
    for (const ToolCallDelta& call : output.Push(id).calls) {
      steps.push_back(call.id + call.name + ":" + call.arguments);
    }
  }
  EXPECT_THAT(steps, ElementsAre("id-1f:{\"s\": \"", ":a", ":b", ":\"",
                                 ":, \"i\": 12}"));
}

TEST(ChatOutputTest, IdsAreRandomUnlessGiven) {
  const std::vector<int32_t> ids =
      Wire(Nano(), "<tool_call>now</tool_call><tool_call>now</tool_call>");
  Answer answer = Read(Nano(), ids, Options());
  EXPECT_THAT(answer.calls[0].id, MatchesRegex("call_[0-9a-f]+"));
  EXPECT_NE(answer.calls[0].id, answer.calls[1].id);
}

TEST(ChatOutputTest, RefusesWhatCannotWork) {
  auto bare = *Load(SmallTokenizer({}, {}));
  EXPECT_EQ(ChatOutput::Create(*bare, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  auto thinking =
      *Load(SmallTokenizer({}, {{"<think>", true}, {"</think>", true}}));
  EXPECT_TRUE(ChatOutput::Create(*thinking, {}).ok());
  absl::Status status = ChatOutput::Create(*thinking, Options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("<tool_call>"));
  ChatOutputOptions options;
  options.stop = {""};
  EXPECT_FALSE(ChatOutput::Create(Nano(), options).ok());
  EXPECT_FALSE(ToolSchemas::Create({3}).ok());
}

}  // namespace
}  // namespace glm::text
