#include "runtime/text/detokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/text/nano_golden_test_data.h"
#include "runtime/text/reasoning_splitter.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::text {
namespace {

constexpr int32_t kThink = 256;
constexpr int32_t kThinkEnd = 257;

// Ids 0 to 255 are bytes, then "<think>", "</think>" (special) and "<t>".
const Tokenizer& Bytes() {
  static const std::unique_ptr<Tokenizer> tokenizer = *Load(SmallTokenizer(
      {}, {{"<think>", true}, {"</think>", true}, {"<t>", false}}));
  return *tokenizer;
}

std::vector<int32_t> IdsOf(std::string_view bytes) {
  std::vector<int32_t> ids;
  for (char byte : bytes) {
    ids.push_back(static_cast<uint8_t>(byte));
  }
  return ids;
}

std::string DecodeBytes(std::string_view bytes) {
  return Decode(Bytes(), IdsOf(bytes), {});
}

TEST(DetokenizerTest, DecodesNanosGoldenContinuations) {
  for (const NanoGolden& golden : NanoGoldens()) {
    EXPECT_EQ(Decode(Nano(), golden.greedy, {}), golden.completion);
  }
}

TEST(DetokenizerTest, HoldsACharacterUntilItIsWhole) {
  Detokenizer out(Bytes(), {});
  EXPECT_EQ(out.Push(0xF0), "");
  EXPECT_EQ(out.Push(0x9F), "");
  EXPECT_TRUE(out.holds_bytes());
  EXPECT_EQ(out.Push(0x91), "");
  EXPECT_EQ(out.Push(0xA9), "\U0001F469");
  EXPECT_FALSE(out.holds_bytes());
  EXPECT_EQ(out.Finish(), "");
}

TEST(DetokenizerTest, AnEndInsideACharacterIsOneReplacement) {
  Detokenizer out(Bytes(), {});
  EXPECT_EQ(out.Push('a'), "a");
  EXPECT_EQ(out.Push(0xE6), "");
  EXPECT_EQ(out.Push(0x9D), "");
  EXPECT_EQ(out.Finish(), "\uFFFD");
  EXPECT_EQ(out.Finish(), "");
}

TEST(DetokenizerTest, InvalidBytesDoNotStall) {
  Detokenizer out(Bytes(), {});
  EXPECT_EQ(out.Push(0xFF), "\uFFFD");
  EXPECT_EQ(out.Push(0x80), "\uFFFD");
  EXPECT_EQ(out.Push(0xE6), "");
  EXPECT_EQ(out.Push('x'), "\uFFFDx");
}

TEST(DetokenizerTest, ReplacesMaximalPartsAsUnicodeRecommends) {
  // Table 3-8 and its neighbours in the Unicode standard.
  EXPECT_EQ(DecodeBytes("a\xF1\x80\x80\xE1\x80\xC2"
                        "b\x80"
                        "c\x80\xBF"
                        "d"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(DecodeBytes("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                        "A"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(DecodeBytes("\xED\xA0\x80\xF4\x91\x92\x93\xFF"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(DecodeBytes("\xF4\x8F\xBF\xBF"), "\U0010FFFF");
}

TEST(DetokenizerTest, SkipsSpecialTokensOnlyWhenAsked) {
  std::vector<int32_t> ids = {'a', kThink, 'b', 258, -5, 99999};
  EXPECT_EQ(Decode(Bytes(), ids, {}), "a<think>b<t>");
  EXPECT_EQ(Decode(Bytes(), ids, {.skip_special = true}), "ab<t>");
}

TEST(DetokenizerTest, EveryCutOfAnyByteSequenceGivesTheSameText) {
  std::mt19937 random(7);
  const std::string_view parts[] = {"a",          "\u00E9", "\u6771",
                                    "\U0001F469", "\xFF",   "\xE6\x9D",
                                    "\xF0\x9F",   "\x80",   "\xC3"};
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (int i = random() % 12; i > 0; --i) {
      bytes += random() % 4 ? std::string(parts[random() % std::size(parts)])
                            : std::string(1, static_cast<char>(random()));
    }
    LossyUtf8Decoder decoder;
    std::string streamed;
    for (size_t at = 0; at < bytes.size();) {
      size_t size = std::min<size_t>(1 + random() % 4, bytes.size() - at);
      size_t before = streamed.size();
      decoder.Push(std::string_view(bytes).substr(at, size), streamed);
      std::string_view added = std::string_view(streamed).substr(before);
      ASSERT_EQ(ValidUtf8Prefix(added), added.size());
      at += size;
    }
    decoder.Finish(streamed);
    ASSERT_EQ(streamed, LossyUtf8(bytes));
    ASSERT_EQ(DecodeBytes(bytes), streamed);
  }
}

TEST(DetokenizerTest, ValidTextSurvivesEncodingAndStreaming) {
  std::string text = "👩‍🚀 東京 é\u0085\u180E <think> don't 12345\n\n";
  std::vector<int32_t> ids = *Nano().Encode(text, {});
  EXPECT_EQ(Decode(Nano(), ids, {}), text);
}

TEST(ReasoningSplitterTest, FollowsTheMarkersById) {
  ReasoningSplitter splitter = *ReasoningSplitter::Create(Bytes(), true);
  EXPECT_EQ(splitter.Push('a'), OutputChannel::kReasoning);
  EXPECT_EQ(splitter.Push(kThink), OutputChannel::kMarker);
  EXPECT_EQ(splitter.Push('a'), OutputChannel::kReasoning);
  EXPECT_EQ(splitter.Push(kThinkEnd), OutputChannel::kMarker);
  EXPECT_EQ(splitter.Push('a'), OutputChannel::kContent);
  EXPECT_EQ(splitter.Push(kThinkEnd), OutputChannel::kMarker);
  EXPECT_EQ(splitter.Push('a'), OutputChannel::kContent);
  EXPECT_EQ(splitter.Push(kThink), OutputChannel::kMarker);
  EXPECT_TRUE(splitter.inside_thinking());
  splitter.LeaveThinking();
  EXPECT_EQ(splitter.Push('a'), OutputChannel::kContent);
}

ReasoningDelta SplitAll(const std::vector<int32_t>& ids, bool inside) {
  ReasoningTextSplitter splitter(
      Bytes(), *ReasoningSplitter::Create(Bytes(), inside), {});
  ReasoningDelta all;
  for (int32_t id : ids) {
    ReasoningDelta delta = splitter.Push(id);
    all.reasoning += delta.reasoning;
    all.content += delta.content;
  }
  ReasoningDelta rest = splitter.Finish();
  return {all.reasoning + rest.reasoning, all.content + rest.content};
}

TEST(ReasoningSplitterTest, TextThatSpellsAMarkerIsText) {
  ReasoningDelta all = SplitAll(IdsOf("a</think>b"), true);
  EXPECT_EQ(all.reasoning, "a</think>b");
  EXPECT_EQ(all.content, "");
}

TEST(ReasoningSplitterTest, AnUnfinishedCharacterEndsAtTheMarker) {
  ReasoningDelta all =
      SplitAll({'a', 0xE6, 0x9D, kThinkEnd, 0xB1, 'b', 0xF0}, true);
  EXPECT_EQ(all.reasoning, "a\uFFFD");
  EXPECT_EQ(all.content, "\uFFFDb\uFFFD");
}

TEST(ReasoningSplitterTest, WithoutMarkerEverythingStaysWhereItBegan) {
  EXPECT_EQ(SplitAll(IdsOf("abc"), true).reasoning, "abc");
  EXPECT_EQ(SplitAll(IdsOf("abc"), false).content, "abc");
}

TEST(ReasoningSplitterTest, NeedsTheMarkersInTheTokenizer) {
  auto tokenizer = *Load(SmallTokenizer({}, {}));
  EXPECT_EQ(ReasoningSplitter::Create(*tokenizer, true).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace glm::text
