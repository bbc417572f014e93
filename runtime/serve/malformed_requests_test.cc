// A hundred requests that are wrong, each with the status, parameter and code
// that its client gets; and the server answers the next one.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/serve/test_server.h"

namespace glm::serve {
namespace {

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kText[] = "/v1/completions";

struct Case {
  const char* path;
  // The body; one that begins with a comma is what follows good fields.
  const char* body;
  const char* error;  // status, param, code
};

const Case kCases[] = {
    // Not JSON, or no object.
    {kChat, "{", "400 - invalid_json"},
    {kChat, "[1,]", "400 - invalid_json"},
    {kChat, "{\"messages\": [}", "400 - invalid_json"},
    {kChat, "\xff\xfe", "400 - invalid_json"},
    {kChat, "{\"a\": \"\xc3\"}", "400 - invalid_json"},
    {kChat, "{} {}", "400 - invalid_json"},
    {kChat, "nul", "400 - invalid_json"},
    {kChat, "{'a': 1}", "400 - invalid_json"},
    {kChat, "{\"temperature\": NaN}", "400 - invalid_json"},
    {kChat, "{\"temperature\": 1e999}", "400 - invalid_json"},
    {kChat, "\"text\"", "400 - invalid_type"},
    {kChat, "[]", "400 - invalid_type"},
    {kChat, "null", "400 - invalid_type"},
    {kText, "17", "400 - invalid_type"},
    {"/tokenize", "[]", "400 - invalid_type"},
    {"/detokenize", "true", "400 - invalid_type"},
    // Messages.
    {kChat, "{}", "400 messages missing_required_parameter"},
    {kChat, "{\"messages\": null}", "400 messages missing_required_parameter"},
    {kChat, "{\"messages\": {}}", "400 messages invalid_type"},
    {kChat, "{\"messages\": \"Hi\"}", "400 messages invalid_type"},
    {kChat, "{\"messages\": []}", "400 messages invalid_value"},
    {kChat, "{\"messages\": [1]}", "400 messages[0] invalid_type"},
    {kChat, "{\"messages\": [{}]}",
     "400 messages[0].role missing_required_parameter"},
    {kChat, "{\"messages\": [{\"role\": 1, \"content\": \"x\"}]}",
     "400 messages[0].role invalid_type"},
    {kChat, "{\"messages\": [{\"role\": \"king\", \"content\": \"x\"}]}",
     "400 messages[0].role invalid_value"},
    {kChat, "{\"messages\": [{\"role\": \"function\", \"content\": \"x\"}]}",
     "400 messages[0].role invalid_value"},
    {kChat, "{\"messages\": [{\"role\": \"user\"}]}",
     "400 messages[0].content missing_required_parameter"},
    {kChat, "{\"messages\": [{\"role\": \"user\", \"content\": 5}]}",
     "400 messages[0].content invalid_type"},
    {kChat, "{\"messages\": [{\"role\": \"user\", \"content\": [5]}]}",
     "400 messages[0].content[0] invalid_type"},
    {kChat, "{\"messages\": [{\"role\": \"user\", \"content\": [{}]}]}",
     "400 messages[0].content[0].type missing_required_parameter"},
    {kChat,
     "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": "
     "\"text\"}]}]}",
     "400 messages[0].content[0].text missing_required_parameter"},
    {kChat,
     "{\"messages\": [{\"role\": \"user\", \"content\": [\"a\", {\"type\": "
     "\"image_url\", \"image_url\": {\"url\": \"data:\"}}]}]}",
     "400 messages[0].content[1] unsupported_value"},
    {kChat,
     "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": "
     "\"input_audio\"}]}]}",
     "400 messages[0].content[0] unsupported_value"},
    {kChat,
     "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": "
     "\"smell\"}]}]}",
     "400 messages[0].content[0].type invalid_value"},
    {kChat,
     "{\"messages\": [{\"role\": \"assistant\", \"reasoning_content\": 1}]}",
     "400 messages[0].reasoning_content invalid_type"},
    {kChat, "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": {}}]}",
     "400 messages[0].tool_calls invalid_type"},
    {kChat, "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": [1]}]}",
     "400 messages[0].tool_calls[0] invalid_type"},
    {kChat, "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": [{}]}]}",
     "400 messages[0].tool_calls[0].function missing_required_parameter"},
    {kChat,
     "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": "
     "[{\"function\": {}}]}]}",
     "400 messages[0].tool_calls[0].function.name missing_required_parameter"},
    {kChat,
     "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": [{\"type\": "
     "\"custom\", \"function\": {\"name\": \"f\"}}]}]}",
     "400 messages[0].tool_calls[0].type invalid_value"},
    {kChat,
     "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": "
     "[{\"function\": {\"name\": \"f\", \"arguments\": [1]}}]}]}",
     "400 messages[0].tool_calls[0].function.arguments invalid_type"},
    {kChat,
     "{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": "
     "[{\"function\": {\"name\": \"f\", \"arguments\": \"{x\"}}]}]}",
     "400 messages[0] invalid_value"},
    {kChat,
     "{\"messages\": [{\"role\": \"assistant\", \"function_call\": {}}]}",
     "400 messages[0].function_call unsupported_parameter"},
    {kChat,
     "{\"messages\": [{\"role\": \"tool\", \"content\": \"x\", "
     "\"tool_call_id\": 3}]}",
     "400 messages[0].tool_call_id invalid_type"},
    // Tools and formats.
    {kChat, ",\"tools\": {}", "400 tools invalid_type"},
    {kChat, ",\"tools\": [1]", "400 tools[0] invalid_type"},
    {kChat, ",\"tools\": [{}]", "400 tools[0].type missing_required_parameter"},
    {kChat, ",\"tools\": [{\"type\": \"web_search\"}]",
     "400 tools[0].type unsupported_value"},
    {kChat, ",\"tools\": [{\"type\": \"function\"}]",
     "400 tools[0].function missing_required_parameter"},
    {kChat, ",\"tools\": [{\"type\": \"function\", \"function\": {}}]",
     "400 tools[0].function.name missing_required_parameter"},
    {kChat,
     ",\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"a "
     "b\"}}]",
     "400 tools[0].function.name invalid_value"},
    {kChat,
     ",\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", "
     "\"parameters\": []}}]",
     "400 tools[0].function.parameters invalid_type"},
    {kChat, ",\"tool_choice\": 1", "400 tool_choice invalid_type"},
    {kChat, ",\"tool_choice\": \"maybe\"", "400 tool_choice invalid_value"},
    {kChat, ",\"tool_choice\": \"required\"", "400 tool_choice invalid_value"},
    {kChat, ",\"tool_choice\": {\"type\": \"function\"}",
     "400 tool_choice invalid_value"},
    {kChat, ",\"parallel_tool_calls\": 1",
     "400 parallel_tool_calls invalid_type"},
    {kChat, ",\"response_format\": \"json\"",
     "400 response_format invalid_type"},
    {kChat, ",\"response_format\": {}",
     "400 response_format.type missing_required_parameter"},
    {kChat, ",\"response_format\": {\"type\": \"xml\"}",
     "400 response_format.type invalid_value"},
    {kChat, ",\"response_format\": {\"type\": \"json_schema\"}",
     "400 response_format.json_schema missing_required_parameter"},
    {kChat,
     ",\"response_format\": {\"type\": \"json_schema\", \"json_schema\": {}}",
     "400 response_format.json_schema.schema missing_required_parameter"},
    {kChat,
     ",\"response_format\": {\"type\": \"json_schema\", \"json_schema\": "
     "{\"schema\": true}}",
     "400 response_format.json_schema.schema invalid_type"},
    {kChat, ",\"reasoning_effort\": \"huge\"",
     "400 reasoning_effort invalid_value"},
    {kChat, ",\"reasoning_effort\": 7", "400 reasoning_effort invalid_type"},
    {kChat, ",\"chat_template_kwargs\": 1",
     "400 chat_template_kwargs invalid_type"},
    {kChat, ",\"chat_template_kwargs\": {\"enable_thinking\": \"no\"}",
     "400 chat_template_kwargs.enable_thinking invalid_type"},
    {kChat, ",\"chat_template_kwargs\": {\"reasoning_effort\": \"x\"}",
     "400 chat_template_kwargs.reasoning_effort invalid_value"},
    // How the answer is made.
    {kChat, ",\"model\": 4", "400 model invalid_type"},
    {kChat, ",\"model\": \"gpt-4\"", "404 model model_not_found"},
    {kText, ",\"model\": \"gpt-4\"", "404 model model_not_found"},
    {kChat, ",\"stream\": \"yes\"", "400 stream invalid_type"},
    {kChat, ",\"stream_options\": {\"include_usage\": true}",
     "400 stream_options invalid_value"},
    {kChat, ",\"stream\": true, \"stream_options\": 1",
     "400 stream_options invalid_type"},
    {kChat, ",\"stream\": true, \"stream_options\": {\"include_usage\": 1}",
     "400 stream_options.include_usage invalid_type"},
    {kChat, ",\"n\": 0", "400 n invalid_value"},
    {kChat, ",\"n\": 1.5", "400 n invalid_type"},
    {kChat, ",\"n\": 1000000", "400 n invalid_value"},
    {kText, ",\"n\": 2, \"best_of\": 4", "400 best_of unsupported_parameter"},
    {kChat, ",\"max_tokens\": 0", "400 max_tokens invalid_value"},
    {kChat, ",\"max_tokens\": -5", "400 max_tokens invalid_value"},
    {kChat, ",\"max_tokens\": \"many\"", "400 max_tokens invalid_type"},
    {kChat, ",\"max_completion_tokens\": 1e30",
     "400 max_completion_tokens invalid_value"},
    {kChat, ",\"temperature\": 2.1", "400 temperature invalid_value"},
    {kChat, ",\"temperature\": -0.1", "400 temperature invalid_value"},
    {kChat, ",\"temperature\": \"hot\"", "400 temperature invalid_type"},
    {kChat, ",\"top_p\": -0.1", "400 top_p invalid_value"},
    {kChat, ",\"top_p\": 1.01", "400 top_p invalid_value"},
    {kChat, ",\"top_k\": -2", "400 top_k invalid_value"},
    {kChat, ",\"presence_penalty\": 3", "400 presence_penalty invalid_value"},
    {kChat, ",\"frequency_penalty\": -3",
     "400 frequency_penalty invalid_value"},
    {kChat, ",\"repetition_penalty\": 0",
     "400 repetition_penalty invalid_value"},
    {kChat, ",\"seed\": \"x\"", "400 seed invalid_type"},
    {kChat, ",\"seed\": 123456789012345678901234567890",
     "400 seed invalid_value"},
    {kChat, ",\"stop\": 1", "400 stop invalid_type"},
    {kChat, ",\"stop\": \"\"", "400 stop invalid_value"},
    {kChat, ",\"stop\": [\"a\", 1]", "400 stop[1] invalid_type"},
    {kChat, ",\"stop\": [1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7]",
     "400 stop invalid_value"},
    {kChat, ",\"logprobs\": 3", "400 logprobs invalid_type"},
    {kChat, ",\"top_logprobs\": 2", "400 top_logprobs invalid_value"},
    {kChat, ",\"logprobs\": true, \"top_logprobs\": 21",
     "400 top_logprobs invalid_value"},
    {kText, ",\"logprobs\": true", "400 logprobs invalid_type"},
    {kChat, ",\"logit_bias\": {\"5\": 1}",
     "400 logit_bias unsupported_parameter"},
    {kChat, ",\"functions\": [{\"name\": \"f\"}]",
     "400 functions unsupported_parameter"},
    {kChat, ",\"modalities\": [\"text\", \"audio\"]",
     "400 modalities unsupported_parameter"},
    {kText, ",\"suffix\": \"end\"", "400 suffix unsupported_parameter"},
    {kText, ",\"echo\": true", "400 echo unsupported_parameter"},
    // Prompts, ids.
    {kText, "{}", "400 prompt missing_required_parameter"},
    {kText, "{\"prompt\": 5}", "400 prompt invalid_type"},
    {kText, "{\"prompt\": \"\"}", "400 prompt invalid_value"},
    {kText, "{\"prompt\": []}", "400 prompt invalid_value"},
    {kText, "{\"prompt\": [\"a\", 1]}", "400 prompt[1] invalid_type"},
    {kText, "{\"prompt\": [1, \"a\"]}", "400 prompt[1] invalid_type"},
    {kText, "{\"prompt\": [-1]}", "400 prompt[0] invalid_value"},
    {kText, "{\"prompt\": [99999]}", "400 - invalid_value"},
    {kText, "{\"prompt\": [[1], [2]], \"n\": 9}", "400 n invalid_value"},
    {"/tokenize", "{}", "400 prompt missing_required_parameter"},
    {"/tokenize", "{\"prompt\": 1}", "400 prompt invalid_type"},
    {"/tokenize", "{\"messages\": []}", "400 messages invalid_value"},
    {"/detokenize", "{}", "400 tokens missing_required_parameter"},
    {"/detokenize", "{\"tokens\": \"1\"}", "400 tokens invalid_type"},
    {"/detokenize", "{\"tokens\": [2.5]}", "400 tokens[0] invalid_type"},
    // No such thing.
    {"/v1/embeddings", "{}", "404 - not_found"},
    {"/v1/chat/completions/", "{}", "404 - not_found"},
    {"/health", "{}", "405 - method_not_allowed"},
};
static_assert(std::size(kCases) >= 100);

std::string BodyOf(const Case& test) {
  const std::string body = test.body;
  if (!body.starts_with(',')) return body;
  const std::string good =
      std::string_view(test.path) == kChat
          ? "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]"
          : "{\"prompt\": \"Hi\"";
  return good + body + "}";
}

class MalformedRequestsTest : public ServeTest {
 protected:
  // "status param code"
  std::string Fails(const std::string& path, const std::string& body) {
    const TestResponse response = Fetch(server_->port(), "POST", path, body);
    const Json json = Json::parse(response.body, nullptr, false);
    if (!json.is_object() || !json.contains("error")) {
      return std::to_string(response.status) + " " + response.body;
    }
    const Json& error = json["error"];
    EXPECT_EQ(error.size(), 4u);
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_FALSE(error["message"].get<std::string>().empty());
    return std::to_string(response.status) + " " +
           (error["param"].is_null() ? "-"
                                     : error["param"].get<std::string>()) +
           " " + error["code"].get<std::string>();
  }
};

TEST_F(MalformedRequestsTest, EachGetsItsErrorAndTheServerGoesOn) {
  Answer("fine</think>ok");
  Start();
  for (const Case& test : kCases) {
    EXPECT_EQ(Fails(test.path, BodyOf(test)), test.error)
        << test.path << " " << BodyOf(test);
  }
  EXPECT_EQ(engine_->stats().requests, 0u);
  EXPECT_EQ(Get("/health").status, 200);
  EXPECT_EQ(Chat()["choices"][0]["message"]["content"], "ok");
}

TEST_F(MalformedRequestsTest, DeepNestingIsNoCrash) {
  Start();
  for (const char* open : {"[", "{\"a\":"}) {
    std::string body;
    for (int i = 0; i < 100'000; ++i) body += open;
    EXPECT_EQ(Fails(kChat, body), "400 - invalid_json");
  }
}

TEST_F(MalformedRequestsTest, UnknownFieldsAndHarmlessOnesAreIgnored) {
  Answer("fine</think>ok");
  Start();
  Chat({{"user", "me"},
        {"store", false},
        {"metadata", {{"a", "b"}}},
        {"service_tier", "auto"},
        {"logit_bias", Json::object()},
        {"functions", nullptr},
        {"modalities", {"text"}},
        {"stop", Json::array()},
        {"n", 1.0},
        {"tools", Json::array()},
        {"some_field_of_the_future", {1, 2}}});
}

}  // namespace
}  // namespace glm::serve
