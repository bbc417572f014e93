// What servers of such models are known to get wrong, one test a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/text/chat_format.h"
#include "runtime/text/chat_output.h"
#include "runtime/text/chat_output_test_files.h"

namespace glm::text {
namespace {

const std::vector<nlohmann::ordered_json>& Tools() {
  static const std::vector<nlohmann::ordered_json> tools = [] {
    std::vector<nlohmann::ordered_json> list;
    for (const char* name :
         {"find", "list", "now", "sh", "mcp__mail-box__list"}) {
      list.push_back({{"name", name}});
    }
    list[0]["parameters"]["properties"] = {{"q", {{"type", "string"}}},
                                           {"n", {{"type", "integer"}}}};
    list[1]["parameters"]["properties"]["dir"]["type"] = "string";
    list[3]["parameters"]["properties"]["cmd"]["type"] = "string";
    return list;
  }();
  return tools;
}

std::string ReadWire(const Tokenizer& tokenizer, std::string_view wire,
                     bool inside = false,
                     const std::vector<std::string>& stop = {}) {
  ChatOutputOptions options;
  options.starts_inside_thinking = inside;
  options.tools = *ToolSchemas::Create(Tools());
  options.stop = stop;
  return Read(tokenizer, Wire(tokenizer, wire), options).Shown();
}

// In pieces as nano's tokenizer makes them, in bytes, and with spelled tags.
void Expect(std::string_view wire, std::string_view shown,
            bool inside = false) {
  for (const Tokenizer* tokenizer :
       {&Nano(), &ByteTokenizer(true), &ByteTokenizer(false)}) {
    EXPECT_EQ(ReadWire(*tokenizer, wire, inside), shown) << wire;
  }
}

TEST(KnownFaultsTest, CharactersOverSeveralTokens) {
  Expect("👩‍🚀 東京</think>👩‍🚀",
         "👩‍🚀 東京|👩‍🚀", true);
  Expect(
      "<tool_call>find<arg_key>q</arg_key><arg_value>👩‍🚀</arg_value>"
      "</tool_call>",
      "|\nfind {\"q\": \"👩‍🚀\"}");
  const Tokenizer& bytes = ByteTokenizer(true);
  const int32_t close = *bytes.TokenId("</think>");
  ChatOutputOptions options;
  options.starts_inside_thinking = true;
  EXPECT_EQ(Read(bytes, {0xE6, 0x9D}, options).Shown(), "\uFFFD|");
  EXPECT_EQ(Read(bytes, {'a', 0xFF, 'b'}, options).Shown(), "a\uFFFDb|");
  EXPECT_EQ(Read(bytes, {0xE6, 0x9D, close, 0xB1}, options).Shown(),
            "\uFFFD|\uFFFD");
}

TEST(KnownFaultsTest, StopStringsOverSeveralTokens) {
  const std::vector<std::string> stop = {"XYZ", "é"};
  for (const Tokenizer* tokenizer : {&Nano(), &ByteTokenizer(true)}) {
    EXPECT_EQ(ReadWire(*tokenizer, "abXYZq", false, stop), "|ab");
    EXPECT_EQ(ReadWire(*tokenizer, "abXY", false, stop), "|abXY");
    EXPECT_EQ(ReadWire(*tokenizer, "café noir", false, stop), "|caf");
    EXPECT_EQ(ReadWire(*tokenizer, "caffè", false, stop), "|caffè");
    EXPECT_EQ(ReadWire(*tokenizer, "XYZ</think>a XYZ", true, stop), "XYZ|a ");
    EXPECT_EQ(ReadWire(*tokenizer,
                       "X<tool_call>now</tool_call>YZ<tool_call>sh<arg_key>cmd"
                       "</arg_key><arg_value>XYZ</arg_value></tool_call>",
                       false, stop),
              "|XYZ\nnow {}\nsh {\"cmd\": \"XYZ\"}");
    EXPECT_EQ(ReadWire(*tokenizer, "X<think>r</think>YZ", false, stop), "r|");
    EXPECT_EQ(ReadWire(*tokenizer, "a<tool_call>sXYZ b", false, stop),
              "|a<tool_call>s");
  }
}

TEST(KnownFaultsTest, NothingComesAfterAStop) {
  ChatOutputOptions options;
  options.stop = {"\n\n"};
  ChatOutput output = *ChatOutput::Create(ByteTokenizer(true), options);
  std::string content;
  for (char byte : std::string_view("ab\n")) {
    content += output.Push(byte).content;
    EXPECT_FALSE(output.stopped());
  }
  content += output.Push('\n').content;
  EXPECT_TRUE(output.stopped());
  EXPECT_EQ(content, "ab");
  EXPECT_TRUE(output.Push('c').empty());
  EXPECT_TRUE(output.Finish().empty());
}

TEST(KnownFaultsTest, MarkersWorkWhetherSpecialOrNot) {
  for (bool special : {false, true}) {
    auto tokenizer = *Load(SmallTokenizer({}, {{"<think>", special},
                                               {"</think>", special},
                                               {"<tool_call>", special},
                                               {"</tool_call>", special},
                                               {"<arg_key>", special},
                                               {"</arg_key>", special},
                                               {"<arg_value>", special},
                                               {"</arg_value>", special}}));
    EXPECT_EQ(ReadWire(*tokenizer,
                       "ok</think>x<tool_call>sh<arg_key>cmd</arg_key>"
                       "<arg_value>ls</arg_value></tool_call>",
                       true),
              "ok|x\nsh {\"cmd\": \"ls\"}");
  }
}

TEST(KnownFaultsTest, TheStateFollowsThePrompt) {
  ChatRequest request;
  request.messages.push_back(Message::Text("user", "Hi </think>"));
  ChatOutputOptions options;
  options.starts_inside_thinking = EndsInsideThinking(*RenderChat(request));
  EXPECT_EQ(Read(Nano(), Wire(Nano(), "why</think>so"), options).Shown(),
            "why|so");
}

TEST(KnownFaultsTest, StopTokensAreNeverSeen) {
  for (const char* end : {"<|user|>", "<|observation|>", "<|endoftext|>"}) {
    EXPECT_EQ(ReadWire(Nano(), std::string("a") + end), "|a");
    EXPECT_EQ(ReadWire(Nano(), std::string("<tool_call>now</tool_call>") + end),
              "|\nnow {}");
    EXPECT_EQ(ReadWire(Nano(), std::string("<tool_call>sh<arg_key>cmd</arg_key>"
                                           "<arg_value>ls</arg_value>") +
                                   end),
              "|\nsh {\"cmd\": \"ls\"}");
  }
}

TEST(KnownFaultsTest, StrayAndDoubledKeyTags) {
  for (const char* key :
       {"<arg_key>dir</arg_key></arg_key>", "<arg_key><arg_key>dir</arg_key>",
        "<arg_key></arg_key>dir</arg_key>", "<arg_key>x<arg_key>dir</arg_key>",
        "<arg_key>dir</arg_value></arg_key>", "<arg_key>dir"}) {
    Expect("<tool_call>list" + std::string(key) +
               "<arg_value>/srv</arg_value></tool_call>",
           "|\nlist {\"dir\": \"/srv\"}");
  }
  Expect("<tool_call>now</tool_call>\n</tool_call> a </tool_call>",
         "|\n a </tool_call>\nnow {}");
}

TEST(KnownFaultsTest, MissingValueTag) {
  Expect("<tool_call>find<arg_key>q</arg_key>two words</arg_value></tool_call>",
         "|\nfind {\"q\": \"two words\"}");
  Expect(
      "<tool_call>find<arg_key>n</arg_key>\n7</arg_value><arg_key>q"
      "</arg_key><arg_value>x</arg_value></tool_call>",
      "|\nfind {\"n\": 7, \"q\": \"x\"}");
  Expect(
      "<tool_call>find<arg_key>n</arg_key><arg_value>7</arg_value><arg_key>"
      "q</arg_key>x</arg_value></tool_call>",
      "|\nfind {\"n\": 7, \"q\": \"x\"}");
  Expect("<tool_call>find<arg_key>q</arg_key>two words\n</tool_call>c",
         "|c\nfind {\"q\": \"two words\"}");
  Expect("<tool_call>find<arg_key>q</arg_key></arg_value></tool_call>",
         "|\nfind {\"q\": \"\"}");
  const std::string_view wire =
      "<tool_call>find<arg_key>q</arg_key>a <arg_key> b</arg_value>"
      "</tool_call>";
  EXPECT_EQ(ReadWire(Nano(), wire), "|\nfind {\"q\": \"a <arg_key> b\"}");
}

TEST(KnownFaultsTest, WhatCannotBeSavedIsNeverAnInventedCall) {
  for (const char* wire :
       {"<tool_call>find<arg_key>q</arg_key></tool_call>",
        "<tool_call>find<arg_key>q</tool_call>",
        "<tool_call>find<arg_key><arg_value>x</arg_value></tool_call>",
        "<tool_call>find</arg_key></tool_call>",
        "<tool_call>find<arg_value>x</arg_value></tool_call>",
        "<tool_call>find<arg_key>q</arg_key><arg_key>n</arg_key><arg_value>1"
        "</arg_value></tool_call>"}) {
    Expect(wire, "|" + std::string(wire));
  }
  // Of a call that the client has, what was complete stays.
  Expect(
      "<tool_call>find<arg_key>n</arg_key><arg_value>7</arg_value>"
      "<arg_key>q</arg_key></tool_call>",
      "|\nfind {\"n\": 7}");
}

TEST(KnownFaultsTest, CallsWithoutArguments) {
  Expect("<tool_call>now</tool_call>", "|\nnow {}");
  Expect("<tool_call>now\n</tool_call>", "|\nnow {}");
  Expect("<tool_call>now</tool_call><tool_call>mcp__mail-box__list</tool_call>",
         "|\nnow {}\nmcp__mail-box__list {}");
}

TEST(KnownFaultsTest, CallsInsideReasoning) {
  Expect("hm<tool_call>now</tool_call>", "hm|\nnow {}", true);
  Expect("hm<tool_call>now</tool_call></think>text", "hm|text\nnow {}", true);
  Expect("hm</think><tool_call>now</tool_call>", "hm|\nnow {}", true);
  Expect(
      "hm<tool_call>sh<arg_key>cmd</arg_key><arg_value>ls</arg_value>"
      "</tool_call>",
      "hm|\nsh {\"cmd\": \"ls\"}", true);
  // Not offered, and not whole: thoughts.
  Expect("hm<tool_call>no</tool_call></think>t",
         "hm<tool_call>no</tool_call>|t", true);
  Expect("a <tool_call>sh<arg_key>cmd</arg_key><arg_value>ls</think>t",
         "a <tool_call>sh<arg_key>cmd</arg_key><arg_value>ls|t", true);
  Expect("hm<tool_call>sh<arg_key>cmd</arg_key><arg_value>ls</arg_value>",
         "hm<tool_call>sh<arg_key>cmd</arg_key><arg_value>ls</arg_value>|",
         true);
  Expect("hm<tool_call>", "hm<tool_call>|", true);
}

TEST(KnownFaultsTest, SecondCallMarkerWhereTheFirstKeyBelongs) {
  Expect(
      "<tool_call>sh<tool_call>cmd</arg_key><arg_value>ls</arg_value>"
      "</tool_call>",
      "|\nsh {\"cmd\": \"ls\"}");
  Expect(
      "<tool_call>no<tool_call>cmd</arg_key><arg_value>ls</arg_value>"
      "</tool_call>",
      "|<tool_call>no<tool_call>cmd</arg_key><arg_value>ls</arg_value>"
      "</tool_call>");
  Expect(
      "<tool_call>now<tool_call>sh<arg_key>cmd</arg_key><arg_value>ls"
      "</arg_value></tool_call>",
      "|<tool_call>now\nsh {\"cmd\": \"ls\"}");
  Expect("<tool_call>now<tool_call>now<tool_call>now</tool_call>",
         "|<tool_call>now<tool_call>now\nnow {}");
  Expect(
      "<tool_call>find<arg_key>n</arg_key><arg_value>7</arg_value>"
      "<arg_key><tool_call>now</tool_call>",
      "|\nfind {\"n\": 7}\nnow {}");
}

// A client must be told "length": what is there is well-formed all the same,
// and a number that may have been cut is not given out.
TEST(KnownFaultsTest, ArgumentsCutByTheTokenLimit) {
  const std::string wire =
      "<tool_call>find<arg_key>q</arg_key><arg_value>ab</arg_value>"
      "<arg_key>n</arg_key><arg_value>1";
  Expect(wire, "|\nfind {\"q\": \"ab\"}");
}

}  // namespace
}  // namespace glm::text
