#include "runtime/serve/http_server.h"

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/serve/test_client.h"

namespace glm::serve {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

// A flag that one thread raises and another waits for.
class Flag {
 public:
  void Raise() {
    const std::lock_guard lock(mutex_);
    raised_ = true;
    changed_.notify_all();
  }
  bool Wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [this] { return raised_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    options_.port = 0;
    options_.error_response = [](int status, std::string_view message,
                                 const HttpRequest&) {
      return HttpResponse{.status = status, .body = std::string(message)};
    };
    Route("GET", "/hello",
          [](auto exchange) { exchange->Respond({.body = "hi"}); });
    Route("POST", "/echo", [](auto exchange) {
      exchange->Respond({.body = exchange->request().body});
    });
    Route("GET", "/wait", [this](auto exchange) {
      exchange->OnAbort([this] { aborted_.Raise(); });
      waiting_ = exchange;
      started_.Raise();
    });
    Route("GET", "/stream", [this](auto exchange) {
      exchange->OnAbort([this] { aborted_.Raise(); });
      exchange->BeginStream({.content_type = "text/event-stream"}, ": idle\n");
      exchange->Write("one,");
      waiting_ = exchange;
      started_.Raise();
    });
  }

  void Route(std::string method, std::string path,
             std::function<void(std::shared_ptr<HttpExchange>)> handler,
             bool on_worker = false) {
    options_.routes.push_back(
        {std::move(method), std::move(path), on_worker, std::move(handler)});
  }

  uint16_t Start() {
    auto started = HttpServer::Start(options_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    return server_->port();
  }

  HttpServerOptions options_;
  Flag started_, aborted_;
  std::shared_ptr<HttpExchange> waiting_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOfOneConnection) {
  TestClient client(Start());
  for (int i = 0; i < 3; ++i) {
    client.SendRequest("GET", "/hello?x=1");
    const TestResponse response = client.ReadResponse();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "hi");
    client.SendRequest("POST", "/echo", "body " + std::to_string(i));
    EXPECT_EQ(client.ReadResponse().body, "body " + std::to_string(i));
  }
}

TEST_F(HttpServerTest, AnswersRequestsThatAreSentAtOnceInOrder) {
  TestClient client(Start());
  client.Send(
      "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Host: a\r\nContent-Length: 1\r\n\r\n"
      "aGET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.ReadResponse().body, "a");
  EXPECT_EQ(client.ReadResponse().body, "hi");
  EXPECT_EQ(client.ReadResponse().status, 404);
}

TEST_F(HttpServerTest, TellsUnknownPathsFromWrongMethods) {
  const uint16_t port = Start();
  EXPECT_EQ(Fetch(port, "GET", "/nothing").status, 404);
  EXPECT_EQ(Fetch(port, "DELETE", "/hello").status, 405);
  EXPECT_EQ(Fetch(port, "OPTIONS", "/hello").status, 405);
}

TEST_F(HttpServerTest, AnswersHeadWithoutBody) {
  TestClient client(Start());
  client.SendRequest("HEAD", "/hello");
  const TestResponse head = client.ReadResponse(/*has_body=*/false);
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(head.head, HasSubstr("Content-Length: 2"));
  client.SendRequest("GET", "/hello");
  EXPECT_EQ(client.ReadResponse().body, "hi");
}

TEST_F(HttpServerTest, RefusesBodiesAndHeadsBeyondTheLimits) {
  options_.max_body_bytes = 1000;
  options_.max_head_bytes = 2000;
  const uint16_t port = Start();
  EXPECT_EQ(Fetch(port, "POST", "/echo", std::string(1000, 'x')).status, 200);
  EXPECT_EQ(Fetch(port, "POST", "/echo", std::string(1001, 'x')).status, 413);
  // Without a length the limit counts as the body comes.
  TestClient chunked(port);
  chunked.SendRequest("POST", "/echo", "",
                      "Transfer-Encoding: chunked\r\n"
                      "Content-Type: application/json\r\n");
  chunked.Send("258\r\n" + std::string(600, 'x') + "\r\n");
  chunked.Send("258\r\n" + std::string(600, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.ReadResponse().status, 413);
  EXPECT_EQ(
      Fetch(port, "GET", "/hello", "", "X: " + std::string(3000, 'x') + "\r\n")
          .status,
      431);
  EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
}

TEST_F(HttpServerTest, SaysWhyALargeBodyIsRefusedWhileItIsSent) {
  options_.max_body_bytes = 1000;
  EXPECT_EQ(Fetch(Start(), "POST", "/echo", std::string(8 << 20, 'x')).status,
            413);
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
  const uint16_t port = Start();
  for (const char* bytes :
       {"\r\n\r\n\r\nx\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "G\1T / HTTP/1.1\r\n\r\n", "GET /hello HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: 1\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"}) {
    TestClient client(port);
    client.Send(bytes);
    EXPECT_EQ(client.ReadResponse().status, 400) << bytes;
  }
  EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
}

TEST_F(HttpServerTest, AsksForJson) {
  const uint16_t port = Start();
  EXPECT_EQ(
      Fetch(port, "POST", "/echo", "{}", "Content-Type: text/plain\r\n").status,
      415);
  EXPECT_EQ(Fetch(port, "POST", "/echo", "{}",
                  "Content-Type: Application/JSON; charset=utf-8\r\n")
                .status,
            200);
  EXPECT_EQ(Fetch(port, "POST", "/echo", "{}",
                  "Content-Type: application/json\r\n"
                  "Content-Encoding: gzip\r\n")
                .status,
            415);
}

TEST_F(HttpServerTest, ContinuesABodyThatWaitsToBeAskedFor) {
  TestClient client(Start());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
      "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n");
  ASSERT_TRUE(client.ReceiveUntil("100 Continue\r\n\r\n"));
  EXPECT_EQ(client.ReadResponse(false).status, 100);
  client.Send("ok");
  EXPECT_EQ(client.ReadResponse().body, "ok");
}

TEST_F(HttpServerTest, ChecksHeadsBeforeItReadsBodies) {
  options_.check_head =
      [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.Header("authorization") == "Bearer key") return std::nullopt;
    return HttpResponse{.status = 401, .body = "who are you?"};
  };
  const uint16_t port = Start();
  TestClient client(port);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000000\r\n\r\n");
  EXPECT_EQ(client.ReadResponse().status, 401);
  EXPECT_EQ(
      Fetch(port, "GET", "/hello", "", "Authorization: Bearer key\r\n").status,
      200);
}

TEST_F(HttpServerTest, TimesOutHeadsAndBodies) {
  options_.head_timeout = options_.body_timeout = milliseconds(50);
  const uint16_t port = Start();
  TestClient head(port);
  head.Send("GET /hel");
  EXPECT_EQ(head.ReadResponse().status, 408);
  TestClient body(port);
  body.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Content-Length: 10\r\n\r\nx");
  EXPECT_EQ(body.ReadResponse().status, 408);
  TestClient idle(port);
  EXPECT_FALSE(idle.Receive());
  EXPECT_EQ(idle.received(), "");
}

TEST_F(HttpServerTest, StreamsWhatIsWritten) {
  TestClient client(Start());
  client.SendRequest("GET", "/stream");
  ASSERT_TRUE(client.ReceiveUntil("one,"));
  EXPECT_TRUE(waiting_->Write("two,"));
  ASSERT_TRUE(client.ReceiveUntil("two,"));
  waiting_->Write("three");
  waiting_->EndStream();
  const TestResponse response = client.ReadResponse();
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(response.body, "one,two,three");
  EXPECT_FALSE(waiting_->Write("too late"));
  client.SendRequest("GET", "/hello");  // the connection goes on
  EXPECT_EQ(client.ReadResponse().body, "hi");
}

TEST_F(HttpServerTest, StreamsToAnOldClientUntilItCloses) {
  TestClient client(Start());
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(client.ReceiveUntil("one,"));
  waiting_->EndStream();
  const TestResponse response = client.ReadResponse();
  EXPECT_EQ(response.body, "one,");
  EXPECT_THAT(response.head, Not(HasSubstr("chunked")));
}

TEST_F(HttpServerTest, FillsSilenceOfAStream) {
  options_.idle_interval = milliseconds(10);
  TestClient client(Start());
  client.SendRequest("GET", "/stream");
  EXPECT_TRUE(client.ReceiveUntil(": idle\n\r\n7\r\n: idle\n"));
  waiting_->EndStream();
}

TEST_F(HttpServerTest, NoticesWhoGoesWhileStreaming) {
  TestClient client(Start());
  client.SendRequest("GET", "/stream");
  ASSERT_TRUE(client.ReceiveUntil("one,"));
  client.Close();
  EXPECT_TRUE(aborted_.Wait());
  EXPECT_FALSE(waiting_->Write("more"));
}

TEST_F(HttpServerTest, NoticesWhoGoesWhileWaiting) {
  TestClient client(Start());
  client.SendRequest("GET", "/wait");
  ASSERT_TRUE(started_.Wait());
  client.Close();
  EXPECT_TRUE(aborted_.Wait());
  bool again = false;
  waiting_->OnAbort([&] { again = true; });
  EXPECT_TRUE(again);
}

TEST_F(HttpServerTest, AnAnswerThatHasEndedIsNotAborted) {
  TestClient client(Start());
  client.SendRequest("GET", "/wait");
  ASSERT_TRUE(started_.Wait());
  waiting_->Respond({.body = "done"});
  EXPECT_EQ(client.ReadResponse().body, "done");
  client.Close();
  server_->Stop(milliseconds(0));
  bool called = false;
  waiting_->OnAbort([&] { called = true; });
  EXPECT_FALSE(called);
}

TEST_F(HttpServerTest, CutsAStreamWhoseClientDoesNotRead) {
  options_.max_unsent_bytes = 64 << 10;
  TestClient client(Start(), /*receive_buffer=*/4096);
  client.SendRequest("GET", "/stream");
  ASSERT_TRUE(started_.Wait());
  const std::string piece(16 << 10, 'x');
  bool writable = true;
  for (int i = 0; i < 4096 && writable; ++i) writable = waiting_->Write(piece);
  EXPECT_FALSE(writable);
  EXPECT_TRUE(aborted_.Wait());
}

TEST_F(HttpServerTest, CutsAnAnswerThatIsNotRead) {
  options_.write_timeout = milliseconds(50);
  TestClient client(Start(), /*receive_buffer=*/4096);
  client.SendRequest("GET", "/wait");
  ASSERT_TRUE(started_.Wait());
  waiting_->Respond({.body = std::string(32 << 20, 'x')});
  while (server_->connections() > 0) std::this_thread::yield();
  while (client.Receive()) {
  }
  EXPECT_LT(client.received().size(), size_t{32} << 20);
}

TEST_F(HttpServerTest, LimitsConnections) {
  options_.max_connections = 2;
  const uint16_t port = Start();
  TestClient first(port), second(port);
  for (TestClient* client : {&first, &second}) {
    client->SendRequest("GET", "/stream");
    EXPECT_TRUE(client->ReceiveUntil("one,"));
  }
  TestClient third(port);
  EXPECT_EQ(third.ReadResponse().status, 503);
}

TEST_F(HttpServerTest, ClosesTheLongestIdleConnectionForANewOne) {
  options_.max_connections = 3;
  const uint16_t port = Start();
  TestClient busy(port), older(port), newer(port);
  busy.SendRequest("GET", "/stream");
  EXPECT_TRUE(busy.ReceiveUntil("one,"));
  for (TestClient* client : {&older, &newer}) {
    client->SendRequest("GET", "/hello");
    EXPECT_EQ(client->ReadResponse().status, 200);
  }
  EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
  EXPECT_FALSE(older.Receive());
  newer.SendRequest("GET", "/hello");
  EXPECT_EQ(newer.ReadResponse().status, 200);
  waiting_->EndStream();
  EXPECT_TRUE(busy.ReadResponse().complete);
}

TEST_F(HttpServerTest, WhoSendsNoMoreGetsTheAnswer) {
  const uint16_t port = Start();
  TestClient whole(port);
  whole.SendRequest("GET", "/wait");
  ASSERT_TRUE(started_.Wait());
  shutdown(whole.socket_number(), SHUT_WR);
  // It is asked whether it is there, by what no client minds.
  ASSERT_TRUE(whole.ReceiveUntil("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_EQ(whole.ReadResponse(/*has_body=*/false).status, 100);
  waiting_->Respond({.body = "done"});
  EXPECT_EQ(whole.ReadResponse().body, "done");
  EXPECT_FALSE(whole.Receive());

  TestClient stream(port);
  stream.SendRequest("GET", "/stream");
  ASSERT_TRUE(stream.ReceiveUntil("one,"));
  shutdown(stream.socket_number(), SHUT_WR);
  ASSERT_TRUE(stream.ReceiveUntil(": idle"));
  EXPECT_TRUE(waiting_->Write("two"));
  waiting_->EndStream();
  const TestResponse response = stream.ReadResponse();
  EXPECT_TRUE(response.complete);
  EXPECT_THAT(response.body, HasSubstr("two"));
}

TEST_F(HttpServerTest, WhoSendsNoMoreAndThenGoesIsNoticed) {
  TestClient client(Start());
  client.SendRequest("GET", "/wait");
  ASSERT_TRUE(started_.Wait());
  shutdown(client.socket_number(), SHUT_WR);
  ASSERT_TRUE(client.ReceiveUntil("100 Continue\r\n\r\n"));
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(client.socket_number(), SOL_SOCKET, SO_LINGER, &reset,
             sizeof(reset));
  client.Close();
  EXPECT_TRUE(aborted_.Wait());
}

TEST_F(HttpServerTest, BodiesTogetherHaveABudget) {
  options_.max_body_bytes_together = 100'000;
  Route("POST", "/keep", [this](auto exchange) {
    waiting_ = exchange;
    started_.Raise();
  });
  const uint16_t port = Start();
  const std::string large(80'000, 'x');
  // Each way that a body can end gives its bytes back.
  EXPECT_EQ(Fetch(port, "POST", "/echo", large).status, 200);
  {
    TestClient cut(port);
    cut.SendRequest("POST", "/echo", "",
                    "Transfer-Encoding: chunked\r\n"
                    "Content-Type: application/json\r\n");
    cut.Send("13880\r\n" + std::string(70'000, 'x'));
    // What is read counts, before the body is whole; one thread reads, so that
    // it has been when others were answered meanwhile.
    for (int i = 0; i < 500; ++i) {
      EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
    }
    EXPECT_EQ(Fetch(port, "POST", "/echo", large).status, 503);
  }
  while (server_->connections() > 0) std::this_thread::yield();
  TestClient kept(port);
  kept.SendRequest("POST", "/keep", large);
  ASSERT_TRUE(started_.Wait());
  EXPECT_EQ(Fetch(port, "POST", "/echo", large).status, 503);
  EXPECT_EQ(Fetch(port, "POST", "/echo", std::string(10'000, 'x')).status, 200);
  waiting_->Respond({.body = "done"});
  waiting_.reset();
  EXPECT_EQ(kept.ReadResponse().body, "done");
  while (server_->connections() > 1) std::this_thread::yield();
  EXPECT_EQ(Fetch(port, "POST", "/echo", large).status, 200);
}

// The deadline comes while a piece that was read waits to be looked at.
TEST_F(HttpServerTest, ADeadlineIsNotLostToAPieceThatHasComeAlready) {
  Flag release;
  Route("GET", "/block", [&](auto exchange) {
    started_.Raise();
    release.Wait();
    exchange->Respond({.body = "done"});
  });
  options_.head_timeout = milliseconds(100);
  const uint16_t port = Start();
  TestClient slow(port);
  while (server_->connections() < 1) std::this_thread::yield();
  TestClient blocks(port);
  blocks.SendRequest("GET", "/block");
  ASSERT_TRUE(started_.Wait());
  slow.Send("GET /hello HTTP/1.1\r\nX: " + std::string(700, 'x'));
  std::this_thread::sleep_for(milliseconds(300));
  release.Raise();
  EXPECT_EQ(slow.ReadResponse().status, 408);
}

TEST_F(HttpServerTest, ChecksWhatARequestMustHave) {
  const uint16_t port = Start();
  const auto status = [&](std::string_view bytes) {
    TestClient client(port);
    client.Send(bytes);
    return client.ReadResponse().status;
  };
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /hello HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status("GET http://a:1/hello?x HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
  EXPECT_EQ(status("GET HTTP://a HTTP/1.1\r\nHost: a\r\n\r\n"), 404);
  EXPECT_EQ(status("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n"), 411);
  EXPECT_EQ(status("POST /echo HTTP/1.1\r\nHost: a\r\n"
                   "Content-Type: application/json\r\n"
                   "Expect: wonders\r\nContent-Length: 2\r\n\r\n{}"),
            417);
}

TEST_F(HttpServerTest, CorsIsOffUnlessAnOriginIsGiven) {
  EXPECT_THAT(Fetch(Start(), "GET", "/hello").head,
              Not(HasSubstr("Access-Control")));
  options_.cors_origin = "https://chat.example";
  const uint16_t port = Start();
  EXPECT_THAT(
      Fetch(port, "GET", "/hello").head,
      HasSubstr("Access-Control-Allow-Origin: https://chat.example\r\n"));
  const TestResponse preflight = Fetch(port, "OPTIONS", "/echo");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(preflight.head, HasSubstr("authorization, content-type"));
}

TEST_F(HttpServerTest, WorkersLeaveTheOthersAlone) {
  Flag release;
  Route(
      "GET", "/slow",
      [&](auto exchange) {
        started_.Raise();
        release.Wait();
        exchange->Respond({.body = "slow"});
      },
      /*on_worker=*/true);
  options_.workers = 1;
  options_.max_waiting_for_worker = 1;
  const uint16_t port = Start();
  TestClient slow(port), queued(port);
  slow.SendRequest("GET", "/slow");
  ASSERT_TRUE(started_.Wait());
  EXPECT_EQ(Fetch(port, "GET", "/hello").body, "hi");
  // One of two more waits for the worker, the other is one too many.
  TestClient other(port);
  queued.SendRequest("GET", "/slow");
  other.SendRequest("GET", "/slow");
  pollfd ready[] = {{queued.socket_number(), POLLIN, 0},
                    {other.socket_number(), POLLIN, 0}};
  ASSERT_EQ(poll(ready, 2, 20'000), 1);
  const bool first = ready[0].revents != 0;
  EXPECT_EQ((first ? queued : other).ReadResponse().status, 503);
  release.Raise();
  EXPECT_EQ(slow.ReadResponse().body, "slow");
  EXPECT_EQ((first ? other : queued).ReadResponse().body, "slow");
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsAnInternalError) {
  Route("GET", "/throw", [](auto) { throw std::bad_alloc(); });
  const uint16_t port = Start();
  EXPECT_EQ(Fetch(port, "GET", "/throw").status, 500);
  EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
}

TEST_F(HttpServerTest, AStreamWhoseHandlerThrowsDoesNotEndWell) {
  for (const bool on_worker : {false, true}) {
    Route(
        "GET", on_worker ? "/worker" : "/thread",
        [](auto exchange) {
          exchange->BeginStream({.content_type = "text/event-stream"}, "");
          exchange->Write("one,");
          throw 1;
        },
        on_worker);
  }
  const uint16_t port = Start();
  for (const char* path : {"/thread", "/worker"}) {
    EXPECT_FALSE(Fetch(port, "GET", path).complete) << path;
  }
  EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
}

// On the I/O thread, where no handler catches anything.
TEST_F(HttpServerTest, WhatThrowsOnTheIoThreadFailsItsRequestAlone) {
  options_.check_head =
      [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.path == "/echo") throw std::bad_alloc();
    return std::nullopt;
  };
  Route("GET", "/gone", [this](auto exchange) {
    exchange->OnAbort([] { throw std::bad_alloc(); });
    started_.Raise();
  });
  const uint16_t port = Start();
  EXPECT_EQ(Fetch(port, "POST", "/echo", "{}").status, 500);
  {
    TestClient gone(port);
    gone.SendRequest("GET", "/gone");
    ASSERT_TRUE(started_.Wait());
  }
  EXPECT_EQ(Fetch(port, "GET", "/hello").status, 200);
  while (server_->connections() > 0) std::this_thread::yield();
}

TEST_F(HttpServerTest, StopLetsAnswersEndAndClosesTheRest) {
  const uint16_t port = Start();
  TestClient idle(port), streaming(port);
  idle.SendRequest("GET", "/hello");
  idle.ReadResponse();
  streaming.SendRequest("GET", "/stream");
  ASSERT_TRUE(streaming.ReceiveUntil("one,"));
  std::thread ends([&] {
    EXPECT_FALSE(idle.Receive());  // closed first
    waiting_->Write("last");
    waiting_->EndStream();
  });
  server_->Stop(std::chrono::seconds(20));
  ends.join();
  const TestResponse response = streaming.ReadResponse();
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(response.body, "one,last");
  EXPECT_FALSE(TestClient(port).connected());
}

TEST_F(HttpServerTest, StopCutsWhatDoesNotEnd) {
  TestClient client(Start());
  client.SendRequest("GET", "/stream");
  ASSERT_TRUE(client.ReceiveUntil("one,"));
  server_->Stop(milliseconds(10));
  EXPECT_TRUE(aborted_.Wait());
  EXPECT_FALSE(client.ReadResponse().complete);
}

TEST_F(HttpServerTest, NamesWhatIsWrongWithAnAddress) {
  const uint16_t port = Start();
  HttpServerOptions taken = options_;
  taken.port = port;
  EXPECT_EQ(HttpServer::Start(taken).status().code(),
            absl::StatusCode::kUnavailable);
  taken.host = "my host";
  EXPECT_EQ(HttpServer::Start(taken).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glm::serve
