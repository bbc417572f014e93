// Answers that are calls of tools, or either a call or JSON or text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/grammar/answer_grammars.h"
#include "runtime/grammar/token_walk_test_files.h"
#include "runtime/text/chat_output.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::grammar {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const text::Tokenizer& Nano() { return text::Nano(); }
int32_t Id(std::string_view bytes) { return *Nano().TokenId(bytes); }
uint32_t Vocab() { return static_cast<uint32_t>(Nano().vocab_size()); }
int32_t Stop() { return Id("<|user|>"); }

AnswerGrammars& Grammars() {
  static const auto grammars = AnswerGrammars::Create(Nano());
  return *grammars;
}

Json Tool(const std::string& name, std::string_view parameters,
          bool strict = true) {
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"strict", strict},
            {"parameters", Json::parse(parameters)}}}};
}

const std::vector<Json>& Tools() {
  static const std::vector<Json> tools = {
      Tool("weather", R"({"type":"object","properties":{
          "city":{"type":"string"},"days":{"type":"integer","minimum":1,
          "maximum":9},"unit":{"enum":["C","F"]}},"required":["city"],
          "additionalProperties":false})"),
      Tool("weather_at", R"({"type":"object","properties":{
          "place":{"type":"object","properties":{"x":{"type":"number"}},
          "required":["x"],"additionalProperties":false},
          "tags":{"type":"array","items":{"type":"string"},"maxItems":2}},
          "required":["place","tags"],"additionalProperties":false})"),
      Tool("now", R"({"type":"object","properties":{}})"),
      Tool("map", R"({"type":"object","additionalProperties":{"type":"object",
          "additionalProperties":{"type":"integer"}}})"),
  };
  return tools;
}

std::shared_ptr<TokenConstraint> Make(const std::vector<Json>& tools,
                                      AnswerRules rules, bool thinks = false) {
  rules.tools = *Grammars().Tools(tools);
  return Grammars().Make(std::move(rules),
                         {.stop_ids = {Stop()},
                          .starts_inside_thinking = thinks,
                          .think_close = Id("</think>"),
                          .not_while_thinking = {Id("<tool_call>")},
                          .vocab = Vocab()});
}

// A byte a token, but for markers.
std::vector<int32_t> Bytewise(std::string_view text) {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t size = 1;
    for (const char* tag :
         {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>",
          "<arg_value>", "</arg_value>", "<think>", "</think>", "<|user|>"}) {
      if (text.starts_with(tag)) size = std::string_view(tag).size();
    }
    ids.push_back(Id(text.substr(0, size)));
    text.remove_prefix(size);
  }
  return ids;
}

// How far the constraint lets `text` come.
std::string Taken(TokenConstraint& constraint, std::string_view text) {
  std::string taken;
  for (int32_t id : Bytewise(text)) {
    if (!testing::Value(Allowed(constraint, Vocab()), Contains(id))) break;
    taken += Nano().TokenBytes(id);
    constraint.Accept(id);
  }
  return taken;
}

bool Takes(const std::vector<Json>& tools, std::string_view text,
           AnswerRules rules = {
               .json = nullptr, .tools = nullptr, .must_call = true}) {
  return Taken(*Make(tools, std::move(rules)), text) == text;
}

std::string Call(const std::string& name,
                 const std::vector<std::pair<std::string, std::string>>& args) {
  std::string text = "<tool_call>" + name;
  for (const auto& [key, value] : args) {
    text +=
        "<arg_key>" + key + "</arg_key><arg_value>" + value + "</arg_value>";
  }
  return text + "</tool_call>";
}

TEST(ToolConstraintTest, NothingButCallsOfItsToolsWhereOneIsRequired) {
  auto begin =
      Make(Tools(), {.json = nullptr, .tools = nullptr, .must_call = true});
  EXPECT_THAT(Allowed(*begin, Vocab()), ElementsAre(Id("<tool_call>")));
  EXPECT_TRUE(Takes(Tools(), Call("now", {}) + "<|user|>"));
  EXPECT_TRUE(Takes(Tools(), Call("weather", {{"city", "Oslo\n\"<b>{"}}) +
                                 Call("now", {}) + "<|user|>"));
  EXPECT_FALSE(Takes(Tools(), Call("other", {})));
  EXPECT_FALSE(Takes(Tools(), Call("weathe", {})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {})));  // lacks the city
  EXPECT_FALSE(Takes(Tools(), Call("now", {}) + "x"));
}

TEST(ToolConstraintTest, KeysComeOnceInAnyOrderAndThoseThatAreRequiredCome) {
  EXPECT_TRUE(Takes(Tools(), Call("weather", {{"days", "3"}, {"city", "x"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {{"days", "3"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {{"city", "x"}, {"city", "y"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {{"town", "x"}})));
  auto all =
      Make(Tools(), {.json = nullptr, .tools = nullptr, .must_call = true});
  Taken(*all,
        "<tool_call>weather<arg_key>city</arg_key><arg_value>x"
        "</arg_value>");
  EXPECT_THAT(Allowed(*all, Vocab()),
              UnorderedElementsAre(Id("<arg_key>"), Id("</tool_call>")));
  Taken(*all, "<arg_key>");
  for (int32_t id : Allowed(*all, Vocab())) {
    const std::string_view bytes = Nano().TokenBytes(id);
    EXPECT_TRUE(std::string_view("days").starts_with(bytes) ||
                std::string_view("unit").starts_with(bytes))
        << bytes;
  }
}

TEST(ToolConstraintTest, ValuesAreTextOrJsonByTheirSchemas) {
  EXPECT_TRUE(Takes(Tools(), Call("weather", {{"city", ""}})));
  EXPECT_TRUE(Takes(Tools(), Call("weather", {{"unit", "F"}, {"city", "x"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {{"unit", "\"F\""}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {{"days", "10"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather", {{"days", "x"}})));
  EXPECT_TRUE(Takes(Tools(), Call("weather_at", {{"tags", "[\"a\", \"b\"]"},
                                                 {"place", "{\"x\": 1.5}"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather_at", {{"place", "{}"}})));
  EXPECT_FALSE(Takes(Tools(), Call("weather_at", {{"tags", "a"}})));
  // Keys that no schema names.
  EXPECT_TRUE(Takes(
      Tools(), Call("map", {{"k", "{\"a\":1}"}, {"kk", "{\"a\":1,\"b\":2}"}})));
  EXPECT_FALSE(Takes(Tools(), Call("map", {{"k", "{}"}, {"k", "{}"}})));
  EXPECT_FALSE(Takes(Tools(), Call("map", {{"k", "{\"a\":1,\"a\":1}"}})));
  EXPECT_FALSE(Takes(Tools(), Call("map", {{"", "{}"}})));
  const std::vector<Json> patterns = {
      Tool("f", R"({"type":"object","properties":{"p":{"type":"string",
           "pattern":"^a\"?b$"},"l":{"type":"string","minLength":2,
           "maxLength":3}}})")};
  EXPECT_TRUE(Takes(patterns, Call("f", {{"p", "a\"b"}, {"l", "äöü"}})));
  EXPECT_FALSE(Takes(patterns, Call("f", {{"p", "ac"}})));
  EXPECT_FALSE(Takes(patterns, Call("f", {{"l", "abcd"}})));
  EXPECT_FALSE(Takes(patterns, Call("f", {{"l", "a"}})));
}

TEST(ToolConstraintTest, OneToolAndOneCallWhereThatIsWanted) {
  const AnswerRules rules = {.json = nullptr,
                             .tools = nullptr,
                             .must_call = true,
                             .many_calls = false,
                             .only = "now"};
  EXPECT_TRUE(Takes(Tools(), Call("now", {}) + "<|user|>", rules));
  EXPECT_FALSE(Takes(Tools(), Call("now", {}) + Call("now", {}), rules));
  EXPECT_FALSE(Takes(Tools(), Call("map", {}), rules));
}

TEST(ToolConstraintTest, ThinksFirstAndCallsThen) {
  auto constraint =
      Make(Tools(), {.json = nullptr, .tools = nullptr, .must_call = true},
           /*thinks=*/true);
  const auto allowed = Allowed(*constraint, Vocab());
  EXPECT_THAT(allowed, Contains(Id("a")));
  EXPECT_THAT(allowed, Not(Contains(Id("<tool_call>"))));
  EXPECT_THAT(allowed, Not(Contains(Stop())));
  EXPECT_EQ(Taken(*constraint, "hm</think>" + Call("now", {}) + "<|user|>"),
            "hm</think>" + Call("now", {}) + "<|user|>");
  EXPECT_TRUE(constraint->status().ok());
}

TEST(ToolConstraintTest, EitherJsonOrACall) {
  AnswerRules rules;
  rules.json = *Grammars().Json(nullptr);
  EXPECT_TRUE(Takes(Tools(), "\n{\"a\":1}<|user|>", rules));
  EXPECT_TRUE(Takes(Tools(), Call("now", {}) + "<|user|>", rules));
  EXPECT_TRUE(Takes(Tools(), "\n" + Call("now", {}) + "<|user|>", rules));
  EXPECT_FALSE(Takes(Tools(), "{\"a\":1}" + Call("now", {}), rules));
  EXPECT_FALSE(Takes(Tools(), Call("now", {}) + "{", rules));
  EXPECT_FALSE(Takes(Tools(), "hello", rules));
}

// Text and thoughts are free; only what is inside a call is held.
TEST(ToolConstraintTest, AutoHoldsTheArgumentsOfCalls) {
  const AnswerRules rules = {.json = nullptr, .tools = nullptr};
  EXPECT_TRUE(Takes(Tools(), "hello <|user|>", rules));
  EXPECT_TRUE(Takes(Tools(),
                    "I ask " + Call("now", {}) +
                        " and then <think>x"
                        "</think>" +
                        Call("map", {}) + "<|user|>",
                    rules));
  EXPECT_FALSE(Takes(Tools(), "a" + Call("weather", {{"days", "x"}}), rules));
  EXPECT_FALSE(Takes(Tools(), "a" + Call("other", {}), rules));
  auto constraint = Make(Tools(), rules, /*thinks=*/true);
  const auto allowed = Allowed(*constraint, Vocab());
  EXPECT_THAT(allowed, Contains(Stop()));
  EXPECT_THAT(allowed, Not(Contains(Id("<tool_call>"))));
}

TEST(ToolConstraintTest, WhatCannotBeHeldIsRefusedOfStrictToolsAlone) {
  constexpr const char* kOdd = R"({"type":"object","properties":{
      "a":{"type":"array","uniqueItems":true},"n":{"type":"integer"}},
      "required":["n"]})";
  const auto strict = Grammars().Tools({Tools()[0], Tool("f", kOdd)});
  EXPECT_EQ(strict.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(strict.status().message()),
              HasSubstr("tools[1].function.parameters: schema "
                        "/properties/a/uniqueItems"));
  const std::vector<Json> loose = {Tool("f", kOdd, /*strict=*/false)};
  EXPECT_TRUE(Takes(loose, Call("f", {{"a", "any [text"}, {"n", "3"}})));
  EXPECT_FALSE(Takes(loose, Call("f", {{"a", "[]"}})));  // lacks n
  EXPECT_FALSE(Takes(loose, Call("f", {{"n", "x"}})));
  EXPECT_FALSE(Takes(loose, Call("f", {{"b", "x"}})));
  for (const char* parameters :
       {R"({"$ref":"other.json"})", R"({"not":{}})", R"({"type":"string"})"}) {
    EXPECT_FALSE(Grammars().Tools({Tool("f", parameters)}).ok());
    EXPECT_TRUE(Takes({Tool("f", parameters, false)}, Call("f", {{"k", "v"}})));
  }
  EXPECT_FALSE(Grammars()
                   .Tools({Tool("f", R"({"type":"object","required":["a"],
                       "properties":{"a":{"minimum":2,"maximum":1}}})")})
                   .ok());
}

TEST(ToolConstraintTest, TheShortestCallIsKnown) {
  const auto tools = *Grammars().Tools(Tools());
  EXPECT_EQ(tools->LeastBytes(""), 3u);  // now, map
  EXPECT_EQ(tools->LeastBytes("weather"), 7u + 4);
  EXPECT_EQ(tools->LeastBytes("weather_at"), 10u + 5 + 7 + 4 + 2);
}

// Whatever a model of no sense chooses is a call that reads as its schema says.
TEST(ToolConstraintTest, RandomWalksAreCallsBySchema) {
  std::mt19937 random(11);
  int calls = 0;
  for (int round = 0; round < 150; ++round) {
    auto constraint =
        Make(Tools(), {.json = nullptr, .tools = nullptr, .must_call = true});
    text::ChatOutputOptions options;
    options.tools = *text::ToolSchemas::Create(Tools());
    auto output = *text::ChatOutput::Create(Nano(), std::move(options));
    std::map<uint32_t, std::pair<std::string, std::string>> seen;
    std::string content;
    auto take = [&](const text::ChatDelta& delta) {
      content += delta.content;
      for (const auto& call : delta.calls) {
        seen[call.index].first += call.name;
        seen[call.index].second += call.arguments;
      }
    };
    bool finished = false;
    for (int step = 0; step < 400 && !finished; ++step) {
      const auto allowed = Allowed(*constraint, Vocab());
      ASSERT_THAT(allowed, Not(IsEmpty())) << constraint->status();
      int32_t id = allowed[random() % allowed.size()];
      // Mostly towards the end.
      for (const char* end : {"</tool_call>", "</arg_value>", "</arg_key>",
                              "\"", "}", "]", "1"}) {
        if (step > 30 && random() % 3 > 0 &&
            testing::Value(allowed, Contains(Id(end)))) {
          id = Id(end);
          break;
        }
      }
      if (step > 30 && testing::Value(allowed, Contains(Stop()))) id = Stop();
      finished = id == Stop();
      constraint->Accept(id);
      if (!finished) take(output.Push(id));
    }
    if (!finished) continue;
    take(output.Finish());
    EXPECT_EQ(content, "");
    for (const auto& [index, call] : seen) {
      ++calls;
      const Json args = Json::parse(call.second, nullptr, false);
      ASSERT_TRUE(args.is_object()) << call.second;
      if (call.first == "weather") {
        EXPECT_TRUE(args["city"].is_string()) << args;
        EXPECT_LE(args.value("days", 1), 9) << args;
        EXPECT_THAT((std::vector<std::string>{"C", "F"}),
                    Contains(args.value("unit", "C")));
      } else if (call.first == "weather_at") {
        EXPECT_TRUE(args["place"]["x"].is_number()) << args;
        EXPECT_LE(args["tags"].size(), 2u) << args;
      } else if (call.first == "now") {
        EXPECT_EQ(args.size(), 0u);
      } else {
        EXPECT_EQ(call.first, "map");
        for (const auto& [key, value] : args.items()) {
          EXPECT_TRUE(value.is_object()) << args;
        }
      }
    }
  }
  EXPECT_GT(calls, 100);
}

}  // namespace
}  // namespace glm::grammar
