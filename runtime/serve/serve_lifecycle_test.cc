// Clients that go, engines that fail, servers that load and drain.
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/serve/test_server.h"

namespace glm::serve {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class ServeLifecycleTest : public ServeTest {
 protected:
  void AnswerForEver() {
    script_.ids = Ids("la ");
    script_.endless = true;
    engine_options_.max_context = 1 << 30;
  }
  std::string Metric(const std::string& name) {
    const std::string text = Get("/metrics").body;
    const size_t at = text.find("\n" + name + " ") + name.size() + 2;
    return text.substr(at, text.find('\n', at) - at);
  }
  uint64_t Outcome(const std::string& outcome) {
    const std::string text = Get("/metrics").body;
    const std::string line =
        "{outcome=\"" + outcome + "\",route=\"/v1/chat/completions\"} ";
    const size_t at = text.find(line);
    return at == std::string::npos
               ? 0
               : std::strtoull(text.c_str() + at + line.size(), nullptr, 10);
  }
};

// Faults F01: aborted streams give their slots back.
TEST_F(ServeLifecycleTest, StreamsThatAreCutLeaveNothingBehind) {
  AnswerForEver();
  Start();
  const uint16_t port = server_->port();
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 random(static_cast<unsigned>(c));
      for (int i = 0; i < 50; ++i) {
        TestClient client(port);
        client.SendRequest("POST", "/v1/chat/completions",
                           Body({{"stream", true}}).dump());
        const size_t chunks = random() % 30;
        for (size_t k = 0; k < chunks && client.Receive(); ++k) {
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(Metric("glm_requests_running"), "0");
  EXPECT_EQ(Metric("glm_requests_waiting"), "0");
  EXPECT_EQ(Chat({{"max_tokens", 3}})["usage"]["completion_tokens"], 3);
}

// Faults F02: and so do answers that are not streamed.
TEST_F(ServeLifecycleTest, WhoGoesWhileWaitingCancels) {
  AnswerForEver();
  Start();
  {
    std::vector<std::unique_ptr<TestClient>> clients;
    for (uint32_t i = 0; i < engine_options_.slots + 2; ++i) {
      clients.push_back(std::make_unique<TestClient>(server_->port()));
      clients.back()->SendRequest("POST", "/v1/chat/completions",
                                  Body({{"n", 2}}).dump());
    }
    ASSERT_TRUE(engine_->WaitRequests(2 * (engine_options_.slots + 2)));
  }
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(Chat({{"max_tokens", 3}})["usage"]["completion_tokens"], 3);
}

// Faults F19: nobody cancels what has ended, and the counts add up.
TEST_F(ServeLifecycleTest, AnswersThatEndedAreNotCancelled) {
  Answer("a</think>b<|user|>");
  Start();
  for (int i = 0; i < 20; ++i) {
    i % 2 ? Stream({}) : std::vector<Json>{Chat({{"n", 2}})};
  }
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(engine_->cancels(), 0u);
  AnswerForEver();
  for (int i = 0; i < 5; ++i) {
    TestClient client(server_->port());
    // The context of this engine would end the answer at last.
    client.SendRequest("POST", "/v1/chat/completions",
                       Body({{"stream", true}}).dump());
    ASSERT_TRUE(client.ReceiveUntil("assistant"));
    client.Close();
    ASSERT_TRUE(engine_->WaitIdle());
  }
  EXPECT_EQ(Outcome("finished") + Outcome("aborted"), 25u);
  EXPECT_LE(engine_->cancels(), 5u);
}

TEST_F(ServeLifecycleTest, AClientThatDoesNotReadIsCutAndTheOthersGoOn) {
  AnswerForEver();
  engine_options_.tokens_per_step = 64;
  http_options_.max_unsent_bytes = 64 << 10;
  Start();
  TestClient slow(server_->port(), /*receive_buffer=*/4096);
  slow.SendRequest("POST", "/v1/chat/completions",
                   Body({{"stream", true}, {"logprobs", true}}).dump());
  ASSERT_TRUE(engine_->WaitRequests(1));
  EXPECT_EQ(Chat({{"max_tokens", 500}})["usage"]["completion_tokens"], 500);
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(Outcome("aborted"), 1u);
}

// Faults F05: a failure in the middle is an event with a code.
TEST_F(ServeLifecycleTest, AFailureInTheMiddleIsAnErrorEvent) {
  Answer("some text that goes on");
  script_.fails_after = 3;
  Start();
  bool done = false;
  const std::vector<Json> events = Stream({{"n", 2}}, &done);
  EXPECT_FALSE(done);
  EXPECT_EQ(events.back()["error"]["code"], "internal_error");
  EXPECT_EQ(events.back()["error"]["type"], "server_error");
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", Body())),
            "500 server_error - internal_error");
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(Outcome("failed"), 2u);
}

TEST_F(ServeLifecycleTest, AFullQueueIsTooManyRequests) {
  AnswerForEver();
  engine_options_.slots = 1;
  engine_options_.queue_limit = 1;
  Start();
  TestClient first(server_->port()), second(server_->port());
  for (TestClient* client : {&first, &second}) {
    client->SendRequest("POST", "/v1/chat/completions", Body().dump());
  }
  ASSERT_TRUE(engine_->WaitRequests(2));
  for (const bool stream : {false, true}) {
    const TestResponse third =
        Post("/v1/chat/completions", Body({{"stream", stream}}));
    EXPECT_EQ(ErrorOf(third), "429 rate_limit_error - queue_full");
    EXPECT_THAT(third.head, HasSubstr("Retry-After: 1"));
  }
  EXPECT_EQ(Get("/ready").status, 503);
  EXPECT_EQ(Get("/health").status, 200);
  first.Close();
  second.Close();
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(Get("/ready").status, 200);
}

// Some choices were taken before the queue was full: they are given back.
TEST_F(ServeLifecycleTest, ARequestThatIsRefusedInPartsIsCancelled) {
  AnswerForEver();
  engine_options_.slots = 2;
  engine_options_.queue_limit = 1;
  Start();
  {
    TestClient runs(server_->port());
    runs.SendRequest("POST", "/v1/chat/completions", Body().dump());
    ASSERT_TRUE(engine_->WaitRequests(1));
    EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", Body({{"n", 3}}))),
              "429 rate_limit_error - queue_full");
  }
  ASSERT_TRUE(engine_->WaitIdle());
  EXPECT_EQ(engine_->stats().requests, 3u);
}

TEST_F(ServeLifecycleTest, MoreChoicesThanEverFitAreNotToBeTriedAgain) {
  engine_options_.slots = 2;
  engine_options_.queue_limit = 1;
  Start();
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", Body({{"n", 4}}))),
            "400 invalid_request_error n invalid_value");
  EXPECT_EQ(
      ErrorOf(Post("/v1/completions", {{"prompt", {"a", "b"}}, {"n", 2}})),
      "400 invalid_request_error n invalid_value");
  EXPECT_EQ(
      ErrorOf(Post("/v1/completions", {{"prompt", {"a", "b", "c", "d"}}})),
      "400 invalid_request_error prompt invalid_value");
  EXPECT_EQ(engine_->stats().requests, 0u);
}

TEST_F(ServeLifecycleTest, AClientThatSendsNoMoreGetsItsAnswer) {
  Answer("fine</think>ok");
  engine_options_.pause = std::chrono::milliseconds(20);
  Start();
  for (const bool stream : {false, true}) {
    TestClient client(server_->port());
    client.SendRequest("POST", "/v1/chat/completions",
                       Body({{"stream", stream}}).dump());
    shutdown(client.socket_number(), SHUT_WR);
    EXPECT_TRUE(client.ReceiveUntil("\"finish_reason\":\"stop\""));
  }
  EXPECT_EQ(engine_->cancels(), 0u);
}

// What would take long to encode is refused before.
TEST_F(ServeLifecycleTest, TextsThatCannotFitAreNotEncoded) {
  Start();
  const std::string text(8 << 20, 'x');
  EXPECT_EQ(ErrorOf(Post("/v1/completions", {{"prompt", text}})),
            "400 invalid_request_error prompt context_length_exceeded");
  const Json messages = {{{"role", "user"}, {"content", text}}};
  for (const char* path : {"/v1/chat/completions", "/tokenize"}) {
    const TestResponse refused = Post(path, {{"messages", messages}});
    EXPECT_EQ(ErrorOf(refused),
              "400 invalid_request_error messages context_length_exceeded");
    EXPECT_THAT(refused.body, HasSubstr("has at least "));
  }
  EXPECT_EQ(ErrorOf(Post("/tokenize", {{"content", text}})),
            "400 invalid_request_error content context_length_exceeded");
}

// Faults F12.
TEST_F(ServeLifecycleTest, HealthIsRedUntilTheModelIsThere) {
  Answer("x");
  Start(/*loaded=*/false);
  for (const char* path : {"/health", "/ready"}) {
    const TestResponse response = Get(path);
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(Json::parse(response.body)["status"], "loading");
    EXPECT_THAT(response.head, HasSubstr("Retry-After: "));
  }
  const TestResponse refused = Post("/v1/chat/completions", Body());
  EXPECT_EQ(ErrorOf(refused), "503 server_error - loading");
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(Json::parse(Get("/v1/models").body)["data"], Json::array());
  EXPECT_EQ(Get("/metrics").status, 200);
  Serve();
  EXPECT_EQ(Get("/health").status, 200);
  EXPECT_EQ(Get("/ready").status, 200);
  Chat();
}

TEST_F(ServeLifecycleTest, AFailedLoadOrEngineIsToldForEver) {
  Answer("x");
  Start(/*loaded=*/false);
  api_->Fail("the plan is damaged");
  EXPECT_EQ(Json::parse(Get("/health").body),
            Json({{"status", "failed"}, {"message", "the plan is damaged"}}));
  Serve();
  EXPECT_EQ(Get("/health").status, 503);
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", Body())),
            "503 server_error - failed");

  Start();
  EXPECT_EQ(Get("/health").status, 200);
  engine_->Break("the device is lost");
  EXPECT_EQ(Json::parse(Get("/health").body)["message"], "the device is lost");
  EXPECT_EQ(Get("/ready").status, 503);
}

TEST_F(ServeLifecycleTest, DrainEndsWhatRunsAndRefusesTheRest) {
  AnswerForEver();
  Start();
  TestClient streaming(server_->port()), whole(server_->port());
  streaming.SendRequest("POST", "/v1/chat/completions",
                        Body({{"stream", true}}).dump());
  whole.SendRequest("POST", "/v1/chat/completions", Body().dump());
  ASSERT_TRUE(engine_->WaitRequests(2));
  TestClient ends(server_->port());
  ends.SendRequest("POST", "/v1/chat/completions",
                   Body({{"stream", true}, {"max_tokens", 5}}).dump());
  ASSERT_TRUE(ends.ReceiveUntil("assistant"));

  api_->Drain();
  EXPECT_EQ(Json::parse(Get("/health").body)["status"], "draining");
  EXPECT_EQ(Get("/ready").status, 503);
  EXPECT_EQ(ErrorOf(Post("/v1/chat/completions", Body())),
            "503 server_error - draining");
  engine_->Drain(absl::Milliseconds(100));
  EXPECT_EQ(Get("/health").status, 503);

  bool done = false;
  Events(ends.ReadResponse().body, &done);
  EXPECT_TRUE(done);  // it had the time
  const TestResponse cut = streaming.ReadResponse();
  EXPECT_TRUE(cut.complete);
  EXPECT_EQ(Events(cut.body).back()["error"]["code"], "draining");
  EXPECT_EQ(ErrorOf(whole.ReadResponse()), "503 server_error - draining");
  server_->Stop(milliseconds(1000));
}

// Faults D14: right after streams were aborted.
TEST_F(ServeLifecycleTest, DrainsAfterAbortedStreams) {
  AnswerForEver();
  Start();
  for (int i = 0; i < 5; ++i) {
    TestClient client(server_->port());
    client.SendRequest("POST", "/v1/chat/completions",
                       Body({{"stream", true}}).dump());
    ASSERT_TRUE(client.ReceiveUntil("assistant"));
  }
  api_->Drain();
  engine_->Drain(absl::Seconds(20));
  server_->Stop(milliseconds(1000));
  EXPECT_EQ(engine_->stats().active, 0u);
}

TEST_F(ServeLifecycleTest, LongPrefillsAreFilledWithComments) {
  AnswerForEver();
  engine_options_.slots = 1;
  http_options_.idle_interval = milliseconds(10);
  Start();
  TestClient runs(server_->port()), waits(server_->port());
  runs.SendRequest("POST", "/v1/chat/completions", Body().dump());
  ASSERT_TRUE(engine_->WaitRequests(1));
  waits.SendRequest("POST", "/v1/chat/completions",
                    Body({{"stream", true}}).dump());
  EXPECT_TRUE(waits.ReceiveUntil(": keep-alive\n\n"));
}

TEST(ServerStateTest, WorkWithoutStepsIsAStall) {
  ServerState state(std::chrono::seconds(10));
  state.SetServing();
  EngineStats stats;
  stats.active = 1;
  stats.requests = 1;
  const ServerState::Clock::time_point t0{};
  EXPECT_TRUE(state.Health(stats, t0).ok);
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(10)).ok);
  const HealthReport report =
      state.Health(stats, t0 + std::chrono::seconds(11));
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.status, "stalled");
  ++stats.decode_steps;  // it goes on
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(12)).ok);
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(22)).ok);
  stats.active = 0;  // nothing to do is no stall
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(100)).ok);
  stats.active = 1;
  ++stats.requests;
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(200)).ok);
}

// Faults F02: a device that hangs holds whoever looks at no step.
TEST(ServerStateTest, AStepThatRunsTooLongIsAStall) {
  ServerState state(std::chrono::seconds(60));
  state.SetServing();
  EngineStats stats;
  const ServerState::Clock::time_point t0{};
  stats.in_flight_since = t0;
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(60)).ok);
  // At the first look already, and whether or not somebody still waits.
  const HealthReport report =
      state.Health(stats, t0 + std::chrono::seconds(61));
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.status, "stalled");
  EXPECT_THAT(report.message, HasSubstr("a step has run for 61 s"));
  EXPECT_FALSE(state.Ready(stats, t0 + std::chrono::seconds(61)).ok);
  stats.in_flight_since = t0 + std::chrono::seconds(61);  // it goes on
  EXPECT_TRUE(state.Health(stats, t0 + std::chrono::seconds(62)).ok);
}

TEST(MetricsTest, ExpertsAreCountedByTier) {
  EngineStats stats;
  stats.experts = ExpertTraffic{.hits = 5,
                                .misses = 4,
                                .file_rows = 1,
                                .host_bytes = 300,
                                .file_bytes = 100};
  const Metrics metrics;
  const std::string text = metrics.Text("serving", stats, {});
  for (const char* line :
       {"glm_expert_hits_total 5\n", "glm_expert_misses_total 4\n",
        "glm_expert_file_rows_total 1\n",
        "glm_expert_moved_bytes_total{tier=\"host\"} 300\n",
        "glm_expert_moved_bytes_total{tier=\"file\"} 100\n",
        "glm_step_in_flight_seconds 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("glm_last_step_age_seconds")));
  stats.experts.reset();
  EXPECT_THAT(metrics.Text("serving", stats, {}),
              Not(HasSubstr("glm_expert_hits")));
}

}  // namespace
}  // namespace glm::serve
