#include "runtime/serve/page_routes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/serve/test_server.h"

namespace glm::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

using PageTest = ServeTest;

TEST_F(PageTest, ServesEachFileWithItsType) {
  Start(/*loaded=*/false);
  const std::pair<const char*, const char*> files[] = {
      {"/", "text/html; charset=utf-8"},
      {"/chat.js", "text/javascript; charset=utf-8"},
      {"/answer.js", "text/javascript; charset=utf-8"},
      {"/messages.js", "text/javascript; charset=utf-8"},
      {"/markdown.js", "text/javascript; charset=utf-8"},
      {"/server.js", "text/javascript; charset=utf-8"},
      {"/style.css", "text/css; charset=utf-8"},
      {"/icon.svg", "image/svg+xml"}};
  for (const auto& [path, type] : files) {
    SCOPED_TRACE(path);
    EXPECT_TRUE(IsPagePath(path));
    const TestResponse response = Get(path);
    EXPECT_EQ(response.status, 200);
    EXPECT_FALSE(response.body.empty());
    EXPECT_THAT(response.head,
                HasSubstr(std::string("\r\nContent-Type: ") + type + "\r\n"));
    EXPECT_THAT(response.head, HasSubstr("X-Content-Type-Options: nosniff"));
    EXPECT_THAT(response.head,
                HasSubstr("Content-Security-Policy: default-src 'self';"));
    EXPECT_THAT(response.head, HasSubstr("Cache-Control: no-cache"));
    EXPECT_THAT(response.head, Not(HasSubstr("no-store")));
  }
  EXPECT_FALSE(IsPagePath("/metrics"));
  EXPECT_FALSE(IsPagePath("/chat.js/"));
  EXPECT_EQ(Get("/page/index.html").status, 404);
  EXPECT_EQ(Post("/", Json::object()).status, 405);
}

TEST_F(PageTest, NamesNothingOfOtherServers) {
  Start();
  for (const char* path : {"/", "/chat.js", "/answer.js", "/messages.js",
                           "/markdown.js", "/server.js", "/style.css"}) {
    const std::string text = Get(path).body;
    EXPECT_THAT(text, Not(HasSubstr("://"))) << path;
    EXPECT_THAT(text, Not(HasSubstr("innerHTML"))) << path;
  }
}

TEST_F(PageTest, AClientThatHasItIsToldSo) {
  Start();
  const TestResponse page = Get("/chat.js");
  const size_t at = page.head.find("ETag: ") + 6;
  const std::string tag = page.head.substr(at, page.head.find('\r', at) - at);
  EXPECT_EQ(tag.size(), 18u);
  TestClient client(server_->port());
  for (const std::string& known : {tag, "\"other\", W/" + tag}) {
    client.SendRequest("GET", "/chat.js", "",
                       "If-None-Match: " + known + "\r\n");
    const TestResponse response = client.ReadResponse(/*has_body=*/false);
    EXPECT_EQ(response.status, 304);
    EXPECT_THAT(response.head, HasSubstr("ETag: " + tag));
    EXPECT_THAT(response.head, Not(HasSubstr("Content-Length")));
  }
  client.SendRequest("GET", "/", "", "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(client.ReadResponse().status, 200);
}

TEST_F(PageTest, NeedsNoKeyButTheRestDoes) {
  api_options_.api_keys = {"secret"};
  Start();
  EXPECT_EQ(Get("/").status, 200);
  EXPECT_EQ(Get("/style.css").status, 200);
  EXPECT_EQ(Get("/v1/models").status, 401);
  EXPECT_THAT(Get("/v1/models").head, HasSubstr("Cache-Control: no-store"));
}

}  // namespace
}  // namespace glm::serve
