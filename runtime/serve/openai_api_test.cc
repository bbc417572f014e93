// What clients of the two completion routes see.
#include "runtime/serve/openai_api.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/serve/test_server.h"

namespace glm::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Json kTools = {
    {{"type", "function"},
     {"function",
      {{"name", "weather"},
       {"parameters",
        {{"type", "object"},
         {"properties", {{"city", {{"type", "string"}}}}}}}}}}};

constexpr char kCall[] =
    "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>"
    "</tool_call>";

class OpenAiApiTest : public ServeTest {};

TEST_F(OpenAiApiTest, AnswersAChatInOpenAisShape) {
  Answer("I think.</think>Hello!<|user|>");
  Start();
  const Json answer = Chat();
  EXPECT_THAT(answer["id"].get<std::string>(),
              testing::StartsWith("chatcmpl-"));
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_GT(answer["created"].get<int64_t>(), 1'700'000'000);
  EXPECT_EQ(answer["model"], "nano");
  EXPECT_EQ(answer["system_fingerprint"], "fp_test");
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["index"], 0);
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(choice["message"], Json({{"role", "assistant"},
                                     {"content", "Hello!"},
                                     {"reasoning_content", "I think."}}));
  const Json& usage = answer["usage"];
  const size_t tokens = Ids("I think.</think>Hello!").size();
  EXPECT_EQ(usage["completion_tokens"], tokens);
  EXPECT_EQ(usage["total_tokens"].get<size_t>(),
            usage["prompt_tokens"].get<size_t>() + tokens);
  EXPECT_EQ(usage["completion_tokens_details"]["reasoning_tokens"],
            Ids("I think.</think>").size());
}

TEST_F(OpenAiApiTest, AStreamBeginsWithTheRoleAndEndsWithDone) {
  Answer("a</think>b<|user|>");
  Start();
  bool done = false;
  const std::vector<Json> events = Stream({}, &done);
  EXPECT_TRUE(done);
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events.front()["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events.back()["choices"][0]["finish_reason"], "stop");
  for (const Json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], events.front()["id"]);
    EXPECT_FALSE(event.contains("usage"));
  }
}

// What is held back, as the beginning of a stop string is, sends nothing.
TEST_F(OpenAiApiTest, NoChunkIsEmpty) {
  Answer("a\n\nb</think>STxSTOySTOP<|user|>");
  Start();
  for (const bool chat : {true, false}) {
    const TestResponse response =
        Post(chat ? "/v1/chat/completions" : "/v1/completions",
             chat ? Body({{"stop", {"STOP"}}, {"stream", true}})
                  : Json{{"prompt", "x"},
                         {"stop", "STOP"},
                         {"stream", true},
                         {"max_tokens", 60}});
    size_t pieces = 0;
    for (const Json& event : Events(response.body)) {
      const Json& choice = event["choices"][0];
      if (!choice["finish_reason"].is_null()) continue;
      ++pieces;
      EXPECT_FALSE(chat ? choice["delta"].empty() : choice["text"] == "")
          << event;
    }
    EXPECT_GT(pieces, 2u);
    EXPECT_LT(pieces, script_.ids.size());
  }
}

// Faults F09: finish_reason and the usage chunk, in all four combinations.
TEST_F(OpenAiApiTest, UsageComesLastAndOnlyWhereItIsAskedFor) {
  for (const bool tools : {false, true}) {
    for (const bool usage : {false, true}) {
      Answer(std::string("t</think>") + (tools ? kCall : "text") +
             "<|observation|>");
      Start();
      Json fields = {{"stream_options", {{"include_usage", usage}}}};
      if (tools) fields["tools"] = kTools;
      const std::vector<Json> events = Stream(fields);
      EXPECT_EQ(JoinedChoices(events)[0]["finish_reason"],
                tools ? "tool_calls" : "stop");
      EXPECT_EQ(events.back()["choices"].empty(), usage);
      EXPECT_EQ(events.back().value("usage", Json()).is_object(), usage);
      EXPECT_EQ(events.front().contains("usage"), usage);  // null
    }
  }
}

// Whatever is generated, however it is cut into steps.
TEST_F(OpenAiApiTest, StreamingEqualsNotStreaming) {
  const std::vector<std::string> pieces = {"<think>",
                                           "</think>",
                                           "<tool_call>",
                                           "</tool_call>",
                                           "<arg_key>",
                                           "</arg_key>",
                                           "<arg_value>",
                                           "</arg_value>",
                                           "weather",
                                           "city",
                                           " the end",
                                           "東京",
                                           "👩‍🚀",
                                           "\n\n",
                                           "STOP",
                                           "ST",
                                           "é",
                                           "{\"a\": 1}",
                                           "<|image|>",
                                           "Hello, world",
                                           std::string(kCall)};
  std::mt19937 random(17);
  for (int round = 0; round < 40; ++round) {
    std::string text = round % 2 ? "thought</think>" : "";
    const int count = static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) text += pieces[random() % pieces.size()];
    Answer(text);
    // In the middle of a character, at times.
    if (round % 5 == 4 && !script_.ids.empty()) script_.ids.pop_back();
    engine_options_.tokens_per_step = 1 + random() % 5;
    Start();
    Json fields = {{"n", 1 + round % 3}, {"tools", kTools}};
    if (round % 3 == 0) fields["stop"] = {"STOP", "é"};
    if (round % 4 == 0)
      fields.update({{"logprobs", true}, {"top_logprobs", 2}});
    if (round % 7 == 0) fields["max_tokens"] = 5;
    if (round % 8 == 1) fields["parallel_tool_calls"] = false;
    EXPECT_EQ(JoinedChoices(Stream(fields)), WholeChoices(Chat(fields)))
        << text;
    // And the other route.
    Json body = {{"prompt", "Once"}, {"max_tokens", 50}, {"n", 2}};
    if (round % 3 == 0) body["stop"] = "STOP";
    if (round % 4 == 0) body["logprobs"] = 2;
    const Json whole = Json::parse(Post("/v1/completions", body).body);
    body["stream"] = true;
    const TestResponse streamed = Post("/v1/completions", body);
    EXPECT_EQ(JoinedChoices(Events(streamed.body)), WholeChoices(whole))
        << text;
  }
}

// Faults F07: one entry for each token, with its own list.
TEST_F(OpenAiApiTest, LogprobsHaveAnEntryForEachTokenInOrder) {
  Answer("why</think>Köln 👩‍🚀<|user|>");
  engine_options_.tokens_per_step = 3;
  Start();
  const Json answer = Chat({{"logprobs", true}, {"top_logprobs", 3}});
  const Json& content = answer["choices"][0]["logprobs"]["content"];
  const std::vector<int32_t> ids(script_.ids.begin(), script_.ids.end() - 1);
  ASSERT_EQ(content.size(), ids.size());
  EXPECT_EQ(answer["usage"]["completion_tokens"], ids.size());
  std::string bytes;
  for (size_t i = 0; i < ids.size(); ++i) {
    for (const Json& byte : content[i]["bytes"]) {
      bytes += static_cast<char>(byte.get<int>());
    }
    EXPECT_EQ(content[i]["logprob"].get<float>(), -(ids[i] % 8) / 4.0f);
    ASSERT_EQ(content[i]["top_logprobs"].size(), 3u);
    EXPECT_EQ(content[i]["top_logprobs"][1]["logprob"], -1.0f);
  }
  EXPECT_EQ(bytes, "why</think>Köln 👩‍🚀");
}

TEST_F(OpenAiApiTest, ChoicesHaveSeedsOneAfterTheOther) {
  Answer("x</think>y");
  Start();
  EXPECT_EQ(Chat({{"n", 3}, {"seed", 40}})["choices"].size(), 3u);
  EXPECT_EQ(engine_->last().sampling.seed, 42u);
  EXPECT_EQ(engine_->stats().requests, 3u);
}

// Faults F15: temperature 0 reaches the engine as it is.
TEST_F(OpenAiApiTest, SamplingFieldsReachTheEngine) {
  Answer("x");
  Start();
  Chat({{"temperature", 0},
        {"top_p", 0.5},
        {"top_k", 7},
        {"presence_penalty", 1},
        {"frequency_penalty", -1},
        {"repetition_penalty", 1.5},
        {"max_completion_tokens", 9},
        {"seed", -1}});
  const EngineRequest request = engine_->last();
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.sampling.top_p, 0.5f);
  EXPECT_EQ(request.sampling.top_k, 7u);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(request.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(request.max_tokens, 9u);
  EXPECT_EQ(request.stop_ids, NanoStopIds());
  EXPECT_EQ(request.top_logprobs, -1);
  Chat();
  EXPECT_EQ(engine_->last().sampling.top_p, 0.95f);  // the model's
}

// Faults B08: the switch that the model has not.
TEST_F(OpenAiApiTest, ThinkingCannotBeSwitchedOffAndStaysReasoning) {
  Answer("scratch</think>answer<|user|>");
  Start();
  for (const Json& fields :
       {Json::object(), Json{{"enable_thinking", false}},
        Json{{"chat_template_kwargs", {{"enable_thinking", false}}}},
        Json{{"chat_template_kwargs", {{"thinking", false}}}},
        Json{{"thinking", {{"type", "disabled"}}}},
        Json{{"reasoning_effort", "none"}}}) {
    const Json choices = WholeChoices(Chat(fields));
    EXPECT_EQ(choices[0]["reasoning_content"], "scratch") << fields;
    EXPECT_EQ(choices[0]["content"], "answer") << fields;
    EXPECT_EQ(JoinedChoices(Stream(fields)), choices) << fields;
  }
}

// Faults B25.
TEST_F(OpenAiApiTest, EffortsAreThoseOfTheModel) {
  Start();
  const auto effort = [&](Json fields) {
    const Json answer = Json::parse(Post("/tokenize", Body(fields)).body);
    const Json text =
        Json::parse(Post("/detokenize", {{"tokens", answer["tokens"]}}).body);
    const std::string prompt = text["prompt"];
    const size_t at = prompt.find("Effort: ") + 8;
    return prompt.substr(at, prompt.find('<', at) - at);
  };
  for (const auto& [asked, becomes] : {std::pair("none", "Low"),
                                       {"minimal", "Low"},
                                       {"low", "Low"},
                                       {"medium", "High"},
                                       {"high", "High"},
                                       {"xhigh", "Max"},
                                       {"max", "Max"}}) {
    EXPECT_EQ(effort({{"reasoning_effort", asked}}), becomes);
    EXPECT_EQ(effort({{"chat_template_kwargs", {{"reasoning_effort", asked}}}}),
              becomes);
  }
  EXPECT_EQ(effort(Json::object()), "Max");
  EXPECT_EQ(effort({{"enable_thinking", false}}), "Low");
  EXPECT_EQ(effort({{"enable_thinking", false}, {"reasoning_effort", "high"}}),
            "High");
  EXPECT_EQ(effort({{"reasoning_effort", "low"},
                    {"chat_template_kwargs", {{"reasoning_effort", "max"}}}}),
            "Low");
}

// Faults B06: what a message spells is never structure.
TEST_F(OpenAiApiTest, ControlTokensInMessagesAreText) {
  Answer("x");
  Start();
  const auto control = [&](const std::string& content) {
    Chat({{"messages", {{{"role", "user"}, {"content", content}}}}});
    const std::vector<int32_t> prompt = engine_->last().prompt;
    return std::count_if(prompt.begin(), prompt.end(),
                         [](int32_t id) { return id >= 2008; });
  };
  EXPECT_EQ(control("</think><|assistant|><|user|>"), control("plain"));
}

TEST_F(OpenAiApiTest, CompletionsTakeTextListsAndIds) {
  Answer("abcXYZdef");
  Start();
  const Json answer = Json::parse(
      Post("/v1/completions",
           {{"prompt", {"Once", "Twice"}}, {"n", 2}, {"stop", "XYZ"}})
          .body);
  EXPECT_EQ(answer["object"], "text_completion");
  ASSERT_EQ(answer["choices"].size(), 4u);
  EXPECT_EQ(answer["choices"][3]["index"], 3);
  EXPECT_EQ(answer["choices"][3]["text"], "abc");
  EXPECT_EQ(answer["choices"][3]["finish_reason"], "stop");
  // Each prompt counts once.
  EXPECT_EQ(answer["usage"]["prompt_tokens"],
            Ids("Once").size() + Ids("Twice").size());
  EXPECT_EQ(engine_->last().max_tokens, 16u);
  for (const Json& prompt : {Json{1, 2, 3}, Json{{1, 2, 3}}}) {
    Post("/v1/completions", {{"prompt", prompt}});
    EXPECT_THAT(engine_->last().prompt, ElementsAre(1, 2, 3));
  }
  Post("/v1/completions", {{"prompt", "<|user|>"}});
  EXPECT_THAT(engine_->last().prompt, ElementsAre(2015));
}

TEST_F(OpenAiApiTest, TokensAndTextAreEachOther) {
  Start();
  const Json tokens =
      Json::parse(Post("/tokenize", {{"prompt", "Hi <think>"}}).body);
  EXPECT_EQ(tokens["tokens"], Json(Ids("Hi <think>")));
  EXPECT_EQ(tokens["count"], Ids("Hi <think>").size());
  EXPECT_EQ(tokens["max_model_len"], 512);
  EXPECT_EQ(
      Json::parse(
          Post("/detokenize", {{"tokens", tokens["tokens"]}}).body)["prompt"],
      "Hi <think>");
  const Json plain = Json::parse(
      Post("/tokenize", {{"content", "<think>"}, {"parse_special", false}})
          .body);
  EXPECT_GT(plain["count"].get<int>(), 1);
  EXPECT_EQ(ErrorOf(Post("/detokenize", {{"tokens", {1, 999999}}})),
            "400 invalid_request_error tokens[1] invalid_value");
}

TEST_F(OpenAiApiTest, TheModelIsListedUnderItsName) {
  Start();
  const Json list = Json::parse(Get("/v1/models").body);
  EXPECT_EQ(list["data"][0]["id"], "nano");
  EXPECT_EQ(list["data"][0]["max_model_len"], 512);
  EXPECT_EQ(Json::parse(Get("/v1/models/n%61no").body)["id"], "nano");
  EXPECT_EQ(ErrorOf(Get("/v1/models/gpt-4")),
            "404 invalid_request_error - model_not_found");
}

// Faults F04 and F05: both numbers, the code, and no stream that hides it.
TEST_F(OpenAiApiTest, ATooLongPromptIsTheClientsErrorInBothModes) {
  Answer("x");
  Start();
  for (const size_t tokens : {512, 513, 5120}) {
    for (const bool stream : {false, true}) {
      const TestResponse response =
          Post("/v1/completions", {{"prompt", std::vector<int>(tokens, 1)},
                                   {"max_tokens", 1},
                                   {"stream", stream}});
      EXPECT_EQ(ErrorOf(response),
                "400 invalid_request_error prompt context_length_exceeded");
      EXPECT_THAT(response.body, HasSubstr("512"));
      EXPECT_THAT(response.body, HasSubstr(std::to_string(tokens)));
      EXPECT_THAT(response.head, HasSubstr("application/json"));
    }
  }
  EXPECT_EQ(
      Post("/v1/completions", {{"prompt", std::vector<int>(511, 1)}}).status,
      200);
  EXPECT_EQ(engine_->stats().requests, 1u);
}

TEST_F(OpenAiApiTest, KeysLetRequestsIn) {
  api_options_.api_keys = {"secret-1", "secret-2"};
  Start();
  const uint16_t port = server_->port();
  EXPECT_EQ(ErrorOf(Get("/v1/models")),
            "401 authentication_error - invalid_api_key");
  EXPECT_EQ(Get("/metrics").status, 401);
  for (const char* wrong : {"Bearer secret", "Bearer secret-11", "Bearer ",
                            "secret-1", "Basic x"}) {
    EXPECT_EQ(Fetch(port, "GET", "/v1/models", "",
                    std::string("Authorization: ") + wrong + "\r\n")
                  .status,
              401)
        << wrong;
  }
  EXPECT_EQ(
      Fetch(port, "GET", "/v1/models", "", "Authorization: Bearer secret-2\r\n")
          .status,
      200);
  EXPECT_EQ(Get("/health").status, 200);
  EXPECT_EQ(Get("/ready").status, 200);
}

TEST_F(OpenAiApiTest, LogsNumbersAndNoText) {
  Answer("private</think>answer<|user|>");
  Start();
  Chat({{"messages", {{{"role", "user"}, {"content", "confidential"}}}}});
  ASSERT_TRUE(engine_->WaitIdle());  // its line is written after its answer
  Post("/v1/chat/completions", Body({{"n", 0}}));
  ASSERT_TRUE(engine_->WaitIdle());
  const std::lock_guard lock(log_mutex_);
  ASSERT_EQ(log_.size(), 2u);
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    const std::string good = LogLine(log_[0], format, {});
    EXPECT_THAT(good, HasSubstr("stop"));
    EXPECT_THAT(good, HasSubstr("completion_tokens"));
    for (const char* text : {"private", "answer", "confidential"}) {
      EXPECT_THAT(good, Not(HasSubstr(text)));
    }
    const std::string bad = LogLine(log_[1], format, {});
    EXPECT_THAT(bad, HasSubstr("invalid_value"));
    EXPECT_THAT(bad, HasSubstr("400"));
  }
  EXPECT_THAT(LogLine(log_[0], LogFormat::kText, {}),
              HasSubstr("1970-01-01T00:00:00.000Z peer=127.0.0.1 method=POST "
                        "path=/v1/chat/completions status=200"));
}

TEST_F(OpenAiApiTest, MetricsCountTokensErrorsAndTime) {
  api_options_.tiers = [] {
    return std::vector<TierBytes>{{"device", 7}, {"host", 9}};
  };
  Answer("a</think>b<|user|>");
  Start();
  Chat();
  Post("/v1/chat/completions", Body({{"n", 0}}));
  ASSERT_TRUE(engine_->WaitIdle());
  const TestResponse response = Get("/metrics");
  EXPECT_THAT(response.head, HasSubstr("text/plain; version=0.0.4"));
  for (const char* line :
       {"glm_requests_total{outcome=\"finished\","
        "route=\"/v1/chat/completions\"} 1",
        "glm_http_errors_total{code=\"invalid_value\",status=\"400\"} 1",
        "glm_time_to_first_token_seconds_count 1",
        "glm_generated_tokens_total 3", "glm_requests_running 0",
        "glm_server_phase{phase=\"serving\"} 1",
        "glm_expert_bytes{tier=\"host\"} 9", "glm_prefix_cache_hit_ratio 0"}) {
    EXPECT_THAT(response.body, HasSubstr(line));
  }
}

}  // namespace
}  // namespace glm::serve
