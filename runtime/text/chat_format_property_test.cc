// Conversations at random, with control tokens in their texts.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/text/chat_prompts_test_files.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::text {
namespace {

TEST(ChatFormatPropertyTest, NoTextOfAConversationBecomesAControlToken) {
  std::mt19937 random(1);
  int spelt = 0;  // prompts that are others where their texts are read
  for (int turn = 0; turn < 4000; ++turn) {
    std::string bytes;
    // Many markers, some of any bytes.
    for (size_t left = random() % 400; left > 0; --left) {
      bytes += static_cast<char>(random() % (random() % 4 > 0 ? 32 : 256));
    }
    const ChatRequest chat = ChatFromBytes(bytes).Read();
    ASSERT_EQ(WrongInPrompt(Nano(), chat), "") << "turn " << turn;
    const auto segments = RenderChat(chat);
    if (!segments.ok()) continue;
    const auto ids = *EncodeChat(Nano(), *segments);
    const auto read = *Nano().Encode(Concatenate(*segments), {true});
    spelt += ControlIds(Nano(), ids) != ControlIds(Nano(), read) ? 1 : 0;
  }
  EXPECT_GT(spelt, 1000);
}

}  // namespace
}  // namespace glm::text
