#include "runtime/serve/log_writer.h"

#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glm::serve {
namespace {

using testing::HasSubstr;

class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() { EXPECT_EQ(pipe(pipe_), 0); }
  ~LogWriterTest() override {
    close(pipe_[0]);
    if (pipe_[1] >= 0) close(pipe_[1]);
  }
  std::string ReadAll() {
    close(pipe_[1]);
    pipe_[1] = -1;
    std::string all;
    char bytes[4096];
    for (ssize_t got; (got = read(pipe_[0], bytes, sizeof(bytes))) > 0;) {
      all.append(bytes, static_cast<size_t>(got));
    }
    return all;
  }

  int pipe_[2] = {-1, -1};
};

TEST_F(LogWriterTest, WritesLinesInOrder) {
  {
    LogWriter log(pipe_[1]);
    log.Write("one");
    log.Write("two " + std::string(10'000, 'x'));
    log.Write("three");
  }
  EXPECT_EQ(ReadAll(), "one\ntwo " + std::string(10'000, 'x') + "\nthree\n");
}

// More than a pipe holds: whoever writes goes on, and so does the end.
TEST_F(LogWriterTest, NobodyWaitsForAReaderThatDoesNotRead) {
  {
    LogWriter log(pipe_[1], /*most_waiting=*/100);
    for (int i = 0; i < 4000; ++i) log.Write(std::string(1000, 'x'));
    EXPECT_GT(log.dropped(), 1000u);
  }
  EXPECT_THAT(ReadAll(), HasSubstr("xxx\n"));
}

}  // namespace
}  // namespace glm::serve
