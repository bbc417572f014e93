// Answers put together at random: whatever the model writes, however it is cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "absl/strings/str_replace.h"
#include "runtime/text/chat_format.h"
#include "runtime/text/chat_markers.h"
#include "runtime/text/chat_output.h"
#include "runtime/text/chat_output_test_files.h"
#include "runtime/text/detokenizer.h"

namespace glm::text {
namespace {

constexpr std::string_view kTypes[] = {"string",  "integer", "number", "object",
                                       "boolean", "array",   "null"};

// "get" with an argument of each type, and "get_all" without any.
std::vector<nlohmann::ordered_json> Tools() {
  std::vector<nlohmann::ordered_json> tools = {{{"name", "get"}},
                                               {{"name", "get_all"}}};
  for (std::string_view type : kTypes) {
    tools[0]["parameters"]["properties"][std::string(type)]["type"] = type;
  }
  return tools;
}

constexpr std::string_view kStops[] = {"stop", "é",    "<arg",
                                       "\n\n", "東京", "0"};

// nano's tokenizer, whose tags of arguments are text.
const Tokenizer& NanoWithoutTags() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    const std::string json = absl::StrReplaceAll(
        NanoTokenizerJson(), {{"<arg_", "<no_"}, {"</arg_", "</no_"}});
    return *Tokenizer::FromJson(json, "nano without tags");
  }();
  return *tokenizer;
}

class Random {
 public:
  explicit Random(uint32_t seed, const Tokenizer& tokenizer = Nano())
      : engine_(seed), tokenizer_(tokenizer) {
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (!tokenizer.IsAdded(id)) ids_[tokenizer.TokenBytes(id)].push_back(id);
    }
  }

  const Tokenizer& tokenizer() const { return tokenizer_; }

  uint32_t Below(uint32_t limit) { return engine_() % limit; }

  template <typename List>
  auto Of(const List& list) {
    return list[Below(std::size(list))];
  }

  // Any tokens that stand for `bytes`.
  void AppendText(std::string_view bytes, std::vector<int32_t>& ids) {
    while (!bytes.empty()) {
      const size_t size = 1 + Below(std::min<uint32_t>(bytes.size(), 9));
      auto entry = ids_.find(bytes.substr(0, size));
      if (entry == ids_.end()) continue;
      ids.push_back(Of(entry->second));
      bytes.remove_prefix(size);
    }
  }

  // `wire` with its markers, the rest in any tokens.
  std::vector<int32_t> Tokens(const std::vector<int32_t>& wire) {
    std::vector<int32_t> ids;
    std::string text;
    for (int32_t id : wire) {
      if (tokenizer_.IsAdded(id)) {
        AppendText(std::exchange(text, ""), ids);
        ids.push_back(id);
      } else {
        text += tokenizer_.TokenBytes(id);
      }
    }
    AppendText(text, ids);
    return ids;
  }

 private:
  std::mt19937 engine_;
  const Tokenizer& tokenizer_;
  std::map<std::string_view, std::vector<int32_t>> ids_;
};

constexpr std::string_view kParts[] = {
    "<think>",
    "</think>",
    "<tool_call>",
    "<tool_call>get",
    "</tool_call>",
    "</tool_call>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<arg_key>string</arg_key><arg_value>",
    "<arg_key>number</arg_key>",
    "</arg_value></tool_call>",
    "</arg_value>\n<arg_key>",
    "get",
    "_all",
    "string",
    "integer",
    "object",
    "7",
    "-0",
    "1e5",
    "true",
    "null",
    "[1,{}]",
    "{\"k\": [\"v\"]}",
    "\"q\"",
    " ",
    "\n",
    "\n\n",
    "a",
    "stop",
    "sto",
    "é",
    "東京",
    "👩‍🚀",
    "<",
    "</",
    "<b>",
    "\\",
    "\"",
    "\xFF",
    "\xE6\x9D",
    "\xC3",
    "<|user|>",
    "<tool_call>get_all</tool_call>",
    "<tool_call>get<arg_key>integer</arg_key><arg_value>7</arg_value>"};

std::vector<int32_t> RandomWire(Random& random) {
  std::vector<int32_t> wire;
  for (uint32_t parts = random.Below(30); parts > 0; --parts) {
    const std::string_view part = random.Of(kParts);
    if (ValidUtf8Prefix(part) == part.size()) {
      const std::vector<int32_t> ids = *random.tokenizer().Encode(
          part, {.parse_added_tokens = random.Below(8) > 0});
      wire.insert(wire.end(), ids.begin(), ids.end());
    } else {
      random.AppendText(part, wire);
    }
  }
  return wire;
}

ChatOutputOptions RandomOptions(Random& random) {
  ChatOutputOptions options;
  options.starts_inside_thinking = random.Below(4) == 0;
  if (random.Below(4) > 0) options.tools = *ToolSchemas::Create(Tools());
  options.parse_tools = random.Below(8) > 0;
  for (uint32_t stops = random.Below(3); stops > 0; --stops) {
    options.stop.emplace_back(random.Of(kStops));
  }
  return options;
}

// The deltas of several tokens at once, as a step of drafted tokens gives them.
Answer ReadInSteps(Random& random, const std::vector<int32_t>& ids,
                   const ChatOutputOptions& options) {
  ChatOutput output = *ChatOutput::Create(random.tokenizer(), options);
  Answer answer;
  for (size_t at = 0; at < ids.size();) {
    std::vector<ChatDelta> step;
    for (uint32_t n = 1 + random.Below(8); n > 0 && at < ids.size(); --n) {
      step.push_back(output.Push(ids[at++]));
    }
    for (const ChatDelta& delta : step) Add(delta, answer);
  }
  Add(output.Finish(), answer);
  answer.stopped = output.stopped();
  return answer;
}

class CutsTest : public testing::TestWithParam<const Tokenizer*> {};

TEST_P(CutsTest, DoNotMatter) {
  const Tokenizer& tokenizer = *GetParam();
  Random random(5, tokenizer);
  int calls = 0;
  int stops = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::vector<int32_t> wire = RandomWire(random);
    const ChatOutputOptions options = RandomOptions(random);
    const Answer answer = Read(tokenizer, wire, options);
    const std::string shown = answer.Shown();
    const Answer other = Read(tokenizer, random.Tokens(wire), options);
    ASSERT_EQ(other.Shown(), shown) << "round " << round;
    ASSERT_EQ(other.stopped, answer.stopped);
    ASSERT_EQ(ReadInSteps(random, random.Tokens(wire), options).Shown(), shown);
    for (const std::string& stop : options.stop) {
      if (answer.calls.empty()) {
        ASSERT_EQ(answer.content.find(stop), std::string::npos)
            << stop << " in " << answer.content;
      }
    }
    calls += answer.calls.size();
    stops += answer.stopped;
  }
  // The parts are such that all this happens.
  EXPECT_GT(calls, 500);
  EXPECT_GT(stops, 150);
}

INSTANTIATE_TEST_SUITE_P(Tags, CutsTest,
                         testing::Values(&Nano(), &NanoWithoutTags()),
                         [](const auto& info) {
                           return info.index == 0 ? "Tokens" : "Text";
                         });

TEST(ChatOutputPropertyTest, NothingIsLostWhereNothingIsParsed) {
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int32_t> wire = RandomWire(random);
    std::erase_if(wire, [](int32_t id) {
      return IsThinkMarker(MarkerIds(Nano()).Of(id)) ||
             Nano().TokenBytes(id) == "<|user|>";
    });
    // A marker ends an unfinished character, which plain decoding does not.
    std::string whole;
    Detokenizer text(Nano(), {});
    for (int32_t id : wire) {
      if (Nano().IsAdded(id)) whole += text.Finish();
      whole += text.Push(id);
    }
    whole += text.Finish();
    ChatOutputOptions options;
    options.parse_tools = false;
    ASSERT_EQ(Read(Nano(), wire, options).Shown(), "|" + whole);
  }
}

// An answer that ends anywhere is well-formed, and begins as the whole one.
TEST(ChatOutputPropertyTest, EveryPrefixIsAnAnswer) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const std::vector<int32_t> wire = random.Tokens(RandomWire(random));
    const ChatOutputOptions options = RandomOptions(random);
    const Answer whole = Read(Nano(), wire, options);
    for (size_t size = 0; size < wire.size(); ++size) {
      ChatOutput output = *ChatOutput::Create(Nano(), options);
      Answer part;
      for (size_t i = 0; i < size; ++i) Add(output.Push(wire[i]), part);
      ASSERT_TRUE(whole.reasoning.starts_with(part.reasoning));
      ASSERT_TRUE(whole.content.starts_with(part.content));
      ASSERT_LE(part.calls.size(), whole.calls.size());
      for (size_t i = 0; i < part.calls.size(); ++i) {
        ASSERT_EQ(part.calls[i].name, whole.calls[i].name);
        ASSERT_TRUE(
            whole.calls[i].arguments.starts_with(part.calls[i].arguments));
      }
      Read(Nano(), {wire.begin(), wire.begin() + size}, options);
    }
  }
}

nlohmann::ordered_json RandomValue(Random& random, std::string_view type) {
  if (type == "integer") return int32_t(random.Below(1000)) - 500;
  if (type == "number") return random.Below(1000) / 8.0;
  if (type == "boolean") return random.Below(2) == 0;
  if (type == "null") return nullptr;
  std::string text;
  for (uint32_t parts = random.Below(4); parts > 0; --parts) {
    const std::string_view part = random.Of(kParts);
    if (ValidUtf8Prefix(part) == part.size()) text += part;
  }
  if (type == "object") return {{"k", text}, {"n", random.Below(9)}};
  if (type == "array") return {text, nullptr, random.Below(9)};
  return text;
}

// What the chat format writes for an answer is read as that answer, whatever
// tags its texts spell.
TEST(ChatOutputPropertyTest, ReadsWhatTheChatFormatWrites) {
  Random random(8);
  for (int round = 0; round < 2000; ++round) {
    Message message = Message::Text("assistant", random.Below(2) ? "so" : "");
    message.reasoning_content = "why <tool_call>get</think>";
    std::string expected =
        *message.reasoning_content + "|" +
        (message.content.empty() ? "" : message.content[0].text);
    for (uint32_t calls = random.Below(4); calls > 0; --calls) {
      nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
      for (uint32_t n = random.Below(4); n > 0; --n) {
        const std::string type(random.Of(kTypes));
        arguments[type] = RandomValue(random, type);
      }
      message.tool_calls.push_back({"", "get", arguments});
      expected += "\nget " + PythonJson(arguments);
    }
    ChatRequest request;
    request.messages.push_back(message);
    request.add_generation_prompt = false;
    ChatRequest before;
    const std::vector<int32_t> prompt =
        *EncodeChat(Nano(), *RenderChat(before));
    const std::vector<int32_t> all = *EncodeChat(Nano(), *RenderChat(request));
    const size_t opening = prompt.size();  // <|assistant|><think>
    ASSERT_GE(all.size(), opening);
    ChatOutputOptions options;
    options.starts_inside_thinking = true;
    options.tools = *ToolSchemas::Create(Tools());
    const std::vector<int32_t> ids(all.begin() + opening, all.end());
    ASSERT_EQ(Read(Nano(), random.Tokens(ids), options).Shown(), expected);
  }
}

}  // namespace
}  // namespace glm::text
