// Tools and formats of answers, as clients of the chat route see them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/grammar/token_walk_test_files.h"
#include "runtime/serve/test_server.h"

namespace glm::serve {
namespace {

using testing::HasSubstr;

Json Tool(const std::string& name, Json parameters, bool strict = false) {
  Json tool = {
      {"type", "function"},
      {"function", {{"name", name}, {"parameters", std::move(parameters)}}}};
  if (strict) tool["function"]["strict"] = true;
  return tool;
}

const Json kTools = {
    Tool("weather", {{"type", "object"},
                     {"properties", {{"city", {{"type", "string"}}}}},
                     {"required", {"city"}}})};

constexpr char kCall[] =
    "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>"
    "</tool_call>";
constexpr char kCalled[] = "{\"city\": \"Oslo\"}";

const Json kNamed = {{"type", "function"}, {"function", {{"name", "weather"}}}};

Json Format(Json schema) {
  return {{"type", "json_schema"},
          {"json_schema", {{"name", "x"}, {"schema", std::move(schema)}}}};
}

class OpenAiToolsTest : public ServeTest {
 protected:
  OpenAiToolsTest() {
    static const auto grammars = grammar::AnswerGrammars::Create(text::Nano());
    grammars_ = grammars;
  }

  // A byte a token, but for markers: what is not allowed is left out alone.
  void Answer(std::string_view text) {
    script_.ids.clear();
    while (!text.empty()) {
      const size_t close = text.find('>');
      size_t size = 1;
      if (text[0] == '<' && close != text.npos &&
          text::Nano().TokenId(text.substr(0, close + 1))) {
        size = close + 1;
      }
      script_.ids.push_back(*text::Nano().TokenId(text.substr(0, size)));
      text.remove_prefix(size);
    }
  }

  // The same answer streamed or not.
  Json Both(const Json& fields) {
    const Json whole = WholeChoices(Chat(fields));
    EXPECT_EQ(JoinedChoices(Stream(fields)), whole) << fields;
    return whole[0];
  }
  std::string Refused(const Json& fields) {
    return ErrorOf(Post("/v1/chat/completions", Body(fields)));
  }
};

// The model would rather talk.
TEST_F(OpenAiToolsTest, ACallIsForced) {
  Answer(std::string("hm</think>I will not. ") + kCall + " Bye. " + kCall +
         "<|user|>");
  Start();
  for (const Json& choice : {Json("required"), kNamed}) {
    for (const bool parallel : {true, false}) {
      const Json answer = Both({{"tools", kTools},
                                {"tool_choice", choice},
                                {"parallel_tool_calls", parallel}});
      EXPECT_EQ(answer["reasoning_content"], "hm");
      EXPECT_EQ(answer.value("content", ""), "");
      EXPECT_EQ(answer["finish_reason"], "tool_calls");
      const size_t calls = parallel && choice == "required" ? 2 : 1;
      ASSERT_EQ(answer["tool_calls"].size(), calls) << choice;
      EXPECT_EQ(answer["tool_calls"][0],
                Json({{"arguments", kCalled}, {"name", "weather"}}));
    }
  }
}

TEST_F(OpenAiToolsTest, TheNamedToolIsTheOneThatIsCalled) {
  Answer("</think><tool_call>now</tool_call>" + std::string(kCall).substr(11) +
         "<|user|>");
  Start();
  const Json tools = {Tool("now", Json::object()), kTools[0]};
  const Json answer = Both({{"tools", tools}, {"tool_choice", kNamed}});
  EXPECT_EQ(answer["tool_calls"].size(), 1u);
  EXPECT_EQ(answer["tool_calls"][0]["name"], "weather");
}

TEST_F(OpenAiToolsTest, ArgumentsOfStrictToolsAreHeldInAutoToo) {
  const auto call = [](const std::string& value) {
    return "<tool_call>weather<arg_key>days</arg_key><arg_value>" + value +
           "</arg_value></tool_call>";
  };
  Answer("hm</think>Well, " + call("five5") + "<|observation|>");
  Start();
  const auto arguments = [&](bool strict) {
    const Json tool = Tool("weather",
                           {{"type", "object"},
                            {"properties", {{"days", {{"type", "integer"}}}}},
                            {"required", {"days"}},
                            {"additionalProperties", false}},
                           strict);
    const Json answer = Both({{"tools", {tool}}});
    EXPECT_EQ(answer["content"], "Well,");
    EXPECT_EQ(engine_->last().constraint != nullptr, strict);
    return answer["tool_calls"][0]["arguments"].get<std::string>();
  };
  EXPECT_EQ(arguments(true), "{\"days\": 5}");
  EXPECT_EQ(arguments(false), "{\"days\": \"five5\"}");
}

TEST_F(OpenAiToolsTest, WhatCannotBeForcedIsRefused) {
  Answer("x");
  Start();
  EXPECT_EQ(Refused({{"tool_choice", "required"}}),
            "400 invalid_request_error tool_choice invalid_value");
  Json other = kNamed;
  other["function"]["name"] = "other";
  EXPECT_EQ(Refused({{"tools", kTools}, {"tool_choice", other}}),
            "400 invalid_request_error tool_choice.function.name "
            "invalid_value");
  EXPECT_EQ(Refused({{"tools", kTools},
                     {"tool_choice", "required"},
                     {"ignore_eos", true}}),
            "400 invalid_request_error ignore_eos invalid_value");
  const Json odd = {{"type", "object"},
                    {"properties", {{"a", {{"not", Json::object()}}}}}};
  EXPECT_EQ(Refused({{"tools", {kTools[0], Tool("f", odd, true)}}}),
            "400 invalid_request_error tools[1].function.parameters "
            "invalid_schema");
  EXPECT_THAT(Post("/v1/chat/completions",
                   Body({{"tools", {kTools[0], Tool("f", odd, true)}}}))
                  .body,
              HasSubstr("schema /properties/a/not: not is not supported, found "
                        "{}; remove it, and check the answer instead; "
                        "supported are "));
  EXPECT_EQ(Post("/v1/chat/completions", Body({{"tools", {Tool("f", odd)}},
                                               {"max_tokens", 1},
                                               {"tool_choice", "required"}}))
                .status,
            200);
  grammars_ = nullptr;
  Start();
  EXPECT_EQ(Refused({{"tools", kTools}, {"tool_choice", "required"}}),
            "400 invalid_request_error tool_choice unsupported_parameter");
}

// Faults F10: JSON begins after the reasoning.
TEST_F(OpenAiToolsTest, JsonAnswersAreHeldToTheirSchema) {
  Answer("hm</think>Sure! {\"n\": \"3\", \"m\": 1}<|user|>");
  Start();
  const Json schema = {{"type", "object"},
                       {"properties", {{"n", {{"type", "integer"}}}}},
                       {"required", {"n"}},
                       {"additionalProperties", false}};
  const Json answer = Both({{"response_format", Format(schema)}});
  EXPECT_EQ(answer["content"], "{\"n\": 3 }");
  EXPECT_EQ(answer["reasoning_content"], "hm");
  EXPECT_EQ(answer["finish_reason"], "stop");
  EXPECT_EQ(Both({{"response_format", {{"type", "json_object"}}}})["content"],
            "{\"n\": \"3\", \"m\": 1}");
  Chat({{"response_format", {{"type", "text"}}}});
  EXPECT_EQ(engine_->last().constraint, nullptr);
  EXPECT_EQ(Refused({{"response_format", Format({{"type", "odd"}})}}),
            "400 invalid_request_error response_format.json_schema.schema "
            "invalid_schema");
}

TEST_F(OpenAiToolsTest, WithAFormatTheAnswerIsJsonOrACall) {
  const Json fields = {{"response_format", {{"type", "json_object"}}},
                       {"tools", kTools}};
  Answer(std::string("</think>I say ") + kCall + "<|user|>");
  Start();
  const Json call = Both(fields);
  EXPECT_EQ(call["tool_calls"][0]["arguments"], kCalled);
  EXPECT_EQ(call["content"], "");
  EXPECT_EQ(call["finish_reason"], "tool_calls");
  Answer(std::string("</think>I say {\"a\": 1}") + kCall + "<|user|>");
  const Json json = Both(fields);
  EXPECT_EQ(json["content"], "{\"a\": 1}");
  EXPECT_FALSE(json.contains("tool_calls"));
  Json none = fields;
  none["tool_choice"] = "none";
  EXPECT_EQ(Both(none)["content"], "{\"a\": 1}");
  Json required = fields;
  required["tool_choice"] = "required";
  EXPECT_EQ(Both(required)["tool_calls"][0]["arguments"], kCalled);
}

// More bytes than so many tokens can have.
TEST_F(OpenAiToolsTest, ASchemaThatNoAnswerCanFillIsRefused) {
  Answer("</think>[1<|user|>");
  Start();
  const Json schema = {{"type", "array"}, {"minItems", 40}};
  const Json format = Format(schema);
  EXPECT_EQ(Refused({{"response_format", format}, {"max_tokens", 1}}),
            "400 invalid_request_error response_format.json_schema.schema "
            "invalid_value");
  EXPECT_EQ(Refused({{"response_format",
                      Format({{"type", "array"}, {"minItems", 1000000}})}}),
            "400 invalid_request_error response_format.json_schema.schema "
            "invalid_value");
  // One that may fit, and does not.
  const Json few = Format({{"type", "array"}, {"minItems", 4}});
  const Json answer = Both({{"response_format", few}, {"max_tokens", 3}});
  EXPECT_EQ(answer["content"], "[1");
  EXPECT_EQ(answer["finish_reason"], "length");
}

// Whose next token takes too long to find fails alone.
TEST_F(OpenAiToolsTest, ASchemaThatIsTooComplexFailsItsRequestAlone) {
  Answer("</think>\"" + grammar::ManyLetters(300) + "\"<|user|>");
  Start();
  const Json pattern = {{"type", "string"},
                        {"pattern", grammar::CostlyPattern()}};
  const Json fields = {{"response_format", Format(pattern)}};
  const TestResponse whole = Post("/v1/chat/completions", Body(fields));
  EXPECT_EQ(ErrorOf(whole), "500 server_error - schema_too_complex");
  EXPECT_THAT(whole.body, HasSubstr("steps for one token"));
  bool done = false;
  const std::vector<Json> events = Stream(fields, &done);
  EXPECT_FALSE(done);
  ASSERT_GT(events.size(), 10u);
  EXPECT_EQ(events.back()["error"]["code"], "schema_too_complex");
  // In the arguments of a call as well.
  Answer("</think><tool_call>f<arg_key>a</arg_key><arg_value>" +
         grammar::ManyLetters(300));
  EXPECT_EQ(Refused({{"tools",
                      {Tool("f", {{"type", "object"},
                                  {"properties", {{"a", pattern}}},
                                  {"required", {"a"}}})}},
                     {"tool_choice", "required"}}),
            "500 server_error - schema_too_complex");
  Answer("</think>\"abc\"<|user|>");
  EXPECT_EQ(
      Both({{"response_format", Format({{"type", "string"}})}})["content"],
      "\"abc\"");
}

TEST_F(OpenAiToolsTest, ACallThatIsCutByMaxTokensFinishesWithLength) {
  Answer(std::string("</think>") + kCall + "<|observation|>");
  Start();
  const Json answer = Chat({{"tools", kTools}, {"max_tokens", 6}});
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 6);
}

TEST_F(OpenAiToolsTest, ToolChoiceNoneLeavesCallsInTheText) {
  Answer(std::string("</think>") + kCall + "<|user|>");
  Start();
  const Json answer = Chat({{"tools", kTools}, {"tool_choice", "none"}});
  EXPECT_THAT(answer["choices"][0]["message"]["content"].get<std::string>(),
              HasSubstr("weather"));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
}

TEST_F(OpenAiToolsTest, OneCallIsEnoughWithoutParallelCalls) {
  Answer(std::string("</think>") + kCall + kCall + "more<|user|>");
  Start();
  const Json calls = Chat({{"tools", kTools}})["choices"][0];
  EXPECT_EQ(calls["message"]["tool_calls"].size(), 2u);
  const Json one = Chat({{"tools", kTools}, {"parallel_tool_calls", false}});
  EXPECT_EQ(one["choices"][0]["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(one["choices"][0]["message"]["tool_calls"][0]["function"],
            Json({{"name", "weather"}, {"arguments", "{\"city\": \"Oslo\"}"}}));
  EXPECT_EQ(one["choices"][0]["finish_reason"], "tool_calls");
}

// Faults B10: arguments of earlier calls as OpenAI's clients send them.
TEST_F(OpenAiToolsTest, ArgumentsInHistoryMayBeTextOrAnObject) {
  Start();
  const auto prompt = [&](Json arguments) {
    Json body;
    body["messages"] = {
        {{"role", "user"}, {"content", "x"}},
        {{"role", "assistant"},
         {"content", nullptr},
         {"reasoning", "r"},
         {"tool_calls",
          {{{"id", "c1"},
            {"type", "function"},
            {"function", {{"name", "f"}, {"arguments", arguments}}}}}}},
        {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "ok"}}};
    const TestResponse response = Post("/tokenize", body);
    if (response.status != 200) return ErrorOf(response);
    return Json::parse(Post("/detokenize",
                            {{"tokens", Json::parse(response.body)["tokens"]}})
                           .body)["prompt"]
        .get<std::string>();
  };
  const std::string text = prompt("{\"city\":\"Köln\",\"n\":3}");
  EXPECT_THAT(text, HasSubstr("<think>r</think><tool_call>f<arg_key>city"
                              "</arg_key><arg_value>Köln</arg_value><arg_key>n"
                              "</arg_key><arg_value>3</arg_value>"));
  EXPECT_EQ(prompt({{"city", "Köln"}, {"n", 3}}), text);
  EXPECT_THAT(prompt(""), HasSubstr("<tool_call>f</tool_call>"));
  for (const char* bad : {"null", "[1]", "{bad"}) {
    EXPECT_EQ(prompt(bad),
              "400 invalid_request_error messages[1] invalid_value");
  }
}

TEST_F(OpenAiToolsTest, ResultsAnswerCallsThatCameBefore) {
  Answer("x");
  Start();
  const auto messages = [](const Json& id, bool before) {
    Json list = {{{"role", "user"}, {"content", "x"}}};
    const Json call = {{"role", "assistant"},
                       {"tool_calls",
                        {{{"id", "c1"},
                          {"type", "function"},
                          {"function", {{"name", "f"}}}}}}};
    Json result = {{"role", "tool"}, {"content", "ok"}};
    if (id.is_string()) result["tool_call_id"] = id;
    list.push_back(before ? call : result);
    list.push_back(before ? result : call);
    return Json{{"messages", list}};
  };
  EXPECT_EQ(Post("/v1/chat/completions", messages("c1", true)).status, 200);
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", messages("c2", true))),
            "400 invalid_request_error messages[2].tool_call_id invalid_value");
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", messages("c1", false))),
            "400 invalid_request_error messages[1].tool_call_id invalid_value");
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", messages("", true))),
            "400 invalid_request_error messages[2].tool_call_id invalid_value");
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", messages(nullptr, true))),
            "400 invalid_request_error messages[2].tool_call_id "
            "missing_required_parameter");
}

TEST_F(OpenAiToolsTest, NamesOfToolsDiffer) {
  Start();
  const TestResponse response =
      Post("/v1/chat/completions", Body({{"tools", {kTools[0], kTools[0]}}}));
  EXPECT_EQ(ErrorOf(response),
            "400 invalid_request_error tools[1].function.name invalid_value");
  EXPECT_THAT(response.body, HasSubstr("tools[0]"));
}

}  // namespace
}  // namespace glm::serve
