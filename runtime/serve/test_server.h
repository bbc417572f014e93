// For tests: an OpenAiApi over a TestEngine and nano's tokenizer, listening on
// loopback; requests to it, and what streams are made of.
#ifndef GLM_RUNTIME_SERVE_TEST_SERVER_H_
#define GLM_RUNTIME_SERVE_TEST_SERVER_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/serve/openai_api.h"
#include "runtime/serve/test_client.h"
#include "runtime/serve/test_engine.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::serve {

using Json = nlohmann::ordered_json;

inline const std::vector<int32_t>& NanoStopIds() {
  static const std::vector<int32_t> ids = {2008, 2015, 2017};
  return ids;
}

// Ids of a text in which control tokens are spelt.
inline std::vector<int32_t> Ids(const std::string& text) {
  return *text::Nano().Encode(text, {.parse_added_tokens = true});
}

// The JSON of each event; "[DONE]" is not among them.
inline std::vector<Json> Events(const std::string& body, bool* done = nullptr) {
  std::vector<Json> events;
  size_t at = 0;
  while ((at = body.find("data: ", at)) != std::string::npos) {
    const size_t end = body.find("\n\n", at);
    const std::string data = body.substr(at + 6, end - at - 6);
    at = end;
    if (data == "[DONE]") {
      if (done != nullptr) *done = true;
    } else {
      events.push_back(Json::parse(data));
    }
  }
  return events;
}

// The chunks of a stream put together as the choices of an answer in one piece;
// ids of calls, which are random, left out.
inline Json JoinedChoices(const std::vector<Json>& events) {
  std::map<uint32_t, Json> choices;
  for (const Json& event : events) {
    if (!event.contains("choices")) continue;
    for (const Json& chunk : event["choices"]) {
      Json& choice = choices[chunk["index"].get<uint32_t>()];
      if (choice.is_null()) choice = Json::object();
      if (chunk.contains("text")) {
        choice["text"] =
            choice.value("text", "") + chunk["text"].get<std::string>();
      }
      const Json delta = chunk.value("delta", Json::object());
      for (const auto& [key, value] : delta.items()) {
        if (key != "tool_calls") {
          choice[key] = choice.value(key, "") + value.get<std::string>();
          continue;
        }
        for (const Json& call : value) {
          const size_t index = call["index"].get<size_t>();
          while (choice["tool_calls"].size() <= index) {
            choice["tool_calls"].push_back({{"arguments", ""}});
          }
          Json& whole = choice["tool_calls"][index];
          const Json& function = call["function"];
          if (function.contains("name")) whole["name"] = function["name"];
          whole["arguments"] = whole["arguments"].get<std::string>() +
                               function["arguments"].get<std::string>();
        }
      }
      if (!chunk["logprobs"].is_null()) {
        for (const auto& [key, value] : chunk["logprobs"].items()) {
          if (!value.is_array()) continue;
          for (const Json& entry : value) {
            choice["logprobs"][key].push_back(entry);
          }
        }
      }
      if (!chunk["finish_reason"].is_null()) {
        EXPECT_FALSE(choice.contains("finish_reason"));
        choice["finish_reason"] = chunk["finish_reason"];
      }
    }
  }
  Json all = Json::array();
  for (auto& [index, choice] : choices)
    all.push_back(Json(nlohmann::json(choice)));
  return all;
}

// The same of an answer in one piece.
inline Json WholeChoices(const Json& answer) {
  Json all = Json::array();
  for (const Json& from : answer["choices"]) {
    Json choice;
    if (from.contains("text")) choice["text"] = from["text"];
    const Json message = from.value("message", Json::object());
    for (const auto& [key, value] : message.items()) {
      if (key != "tool_calls") {
        choice[key] = value.is_null() ? Json("") : value;
        continue;
      }
      for (const Json& call : value) {
        choice["tool_calls"].push_back(
            {{"arguments", call["function"]["arguments"]},
             {"name", call["function"]["name"]}});
      }
    }
    if (!from["logprobs"].is_null()) {
      for (const auto& [key, value] : from["logprobs"].items()) {
        if (value.is_array() && !value.empty()) choice["logprobs"][key] = value;
      }
    }
    choice["finish_reason"] = from["finish_reason"];
    all.push_back(Json(nlohmann::json(choice)));  // keys sorted
  }
  return all;
}

class ServeTest : public testing::Test {
 protected:
  ~ServeTest() override { Stop(); }

  // The server, then what the engine still has, which ends at the API.
  void Stop() {
    if (server_ != nullptr) server_->Stop(std::chrono::milliseconds(0));
    if (engine_ != nullptr) engine_->Drain(absl::ZeroDuration());
  }

  // What the engine answers, control tokens spelt.
  void Answer(const std::string& text) { script_.ids = Ids(text); }

  void Start(bool loaded = true) {
    Stop();
    engine_ = std::make_shared<TestEngine>(
        engine_options_, [this](const EngineRequest&) { return script_; });
    api_options_.log = [this](const RequestLogEntry& entry) {
      const std::lock_guard lock(log_mutex_);
      log_.push_back(entry);
    };
    api_ = std::make_unique<OpenAiApi>(api_options_);
    http_options_.port = 0;
    http_options_.routes.clear();
    api_->Configure(http_options_);
    auto server = HttpServer::Start(http_options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    if (loaded) Serve();
  }

  void Serve() {
    auto model = std::make_shared<ServedModel>();
    model->engine = engine_;
    model->tokenizer = {std::shared_ptr<void>(), &text::Nano()};
    model->name = "nano";
    model->fingerprint = "fp_test";
    model->created = 1'700'000'000;
    model->sampling.top_p = 0.95f;
    model->stop_ids = NanoStopIds();
    model->grammars = grammars_;
    api_->Serve(std::move(model));
  }

  TestResponse Post(const std::string& path, const Json& body) {
    return Fetch(server_->port(), "POST", path, body.dump());
  }
  TestResponse Get(const std::string& path) {
    return Fetch(server_->port(), "GET", path);
  }
  Json Chat(Json fields = Json::object()) {
    const TestResponse response = Post("/v1/chat/completions", Body(fields));
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body);
  }
  std::vector<Json> Stream(Json fields, bool* done = nullptr) {
    fields["stream"] = true;
    const TestResponse response = Post("/v1/chat/completions", Body(fields));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_TRUE(response.complete);
    return Events(response.body, done);
  }
  // A chat request with `fields` besides.
  static Json Body(const Json& fields = Json::object()) {
    Json body = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
    body.update(fields);
    return body;
  }
  // "status type param code" of an error; "-" for null.
  static std::string ErrorOf(const TestResponse& response) {
    const Json body = Json::parse(response.body, nullptr, false);
    if (!body.is_object() || !body.contains("error")) return response.body;
    const Json& error = body["error"];
    EXPECT_TRUE(error["message"].is_string());
    return std::to_string(response.status) + " " +
           error["type"].get<std::string>() + " " +
           (error["param"].is_null() ? "-"
                                     : error["param"].get<std::string>()) +
           " " + error["code"].get<std::string>();
  }

  TestEngineOptions engine_options_;
  OpenAiApiOptions api_options_;
  HttpServerOptions http_options_;
  TestScript script_;
  std::shared_ptr<grammar::AnswerGrammars> grammars_;
  std::mutex log_mutex_;
  std::vector<RequestLogEntry> log_;
  std::shared_ptr<TestEngine> engine_;
  std::unique_ptr<OpenAiApi> api_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_TEST_SERVER_H_
