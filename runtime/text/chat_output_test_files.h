// Reads whole answers for the tests of ChatOutput.
#ifndef GLM_RUNTIME_TEXT_CHAT_OUTPUT_TEST_FILES_H_
#define GLM_RUNTIME_TEXT_CHAT_OUTPUT_TEST_FILES_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/chat_output.h"
#include "runtime/text/python_json.h"
#include "runtime/text/tokenizer_test_files.h"
#include "runtime/text/utf8.h"

namespace glm::text {

// Ids 0 to 255 are bytes, then the markers; those of arguments may be missing.
inline const Tokenizer& ByteTokenizer(bool argument_tags) {
  static const std::vector<std::pair<std::string, bool>> kMarkers = {
      {"<think>", true},      {"</think>", true},    {"<tool_call>", false},
      {"</tool_call>", true}, {"<|user|>", true},    {"<arg_key>", false},
      {"</arg_key>", true},   {"<arg_value>", true}, {"</arg_value>", false}};
  static const std::unique_ptr<Tokenizer> with =
      *Load(SmallTokenizer({}, kMarkers));
  static const std::unique_ptr<Tokenizer> without =
      *Load(SmallTokenizer({}, {kMarkers.begin(), kMarkers.begin() + 5}));
  return argument_tags ? *with : *without;
}

// Text that spells a marker becomes it.
inline std::vector<int32_t> Wire(const Tokenizer& tokenizer,
                                 std::string_view text) {
  return *tokenizer.Encode(text, {.parse_added_tokens = true});
}

struct Answer {
  std::string reasoning;
  std::string content;
  std::vector<ToolCallDelta> calls;  // one for each call
  bool stopped = false;

  // {reasoning|content} and "name arguments" of each call, to compare.
  std::string Shown() const {
    std::string shown = reasoning + "|" + content;
    for (const ToolCallDelta& call : calls) {
      shown += "\n" + call.name + " " + call.arguments;
    }
    return shown;
  }
};

// Adds a delta, and checks what every delta promises.
inline void Add(const ChatDelta& delta, Answer& answer) {
  answer.reasoning += delta.reasoning;
  answer.content += delta.content;
  for (const ToolCallDelta& call : delta.calls) {
    if (call.name.empty()) {
      ASSERT_EQ(call.index + 1, answer.calls.size());
      ASSERT_TRUE(call.id.empty());
      ASSERT_FALSE(call.arguments.empty());
      answer.calls.back().arguments += call.arguments;
    } else {
      ASSERT_EQ(call.index, answer.calls.size());
      ASSERT_FALSE(call.id.empty());
      answer.calls.push_back(call);
    }
  }
  for (const std::string* text : {&delta.reasoning, &delta.content}) {
    ASSERT_EQ(ValidUtf8Prefix(*text), text->size());
  }
}

inline Answer Read(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                   const ChatOutputOptions& options) {
  absl::StatusOr<ChatOutput> output = ChatOutput::Create(tokenizer, options);
  EXPECT_TRUE(output.ok()) << output.status();
  Answer answer;
  for (int32_t id : ids) {
    Add(output->Push(id), answer);
  }
  Add(output->Finish(), answer);
  EXPECT_TRUE(output->Finish().empty());
  EXPECT_EQ(output->calls(), answer.calls.size());
  for (const ToolCallDelta& call : answer.calls) {
    auto arguments = ParseJson(call.arguments);
    EXPECT_TRUE(arguments.ok() && arguments->is_object()) << call.arguments;
  }
  answer.stopped = output->stopped();
  return answer;
}

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_CHAT_OUTPUT_TEST_FILES_H_
