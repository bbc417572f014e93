// Conversations out of any bytes, and what must hold of each prompt: control
// tokens are where the format has them, and nowhere else.
#ifndef GLM_RUNTIME_TEXT_CHAT_PROMPTS_TEST_FILES_H_
#define GLM_RUNTIME_TEXT_CHAT_PROMPTS_TEST_FILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/text/chat_format.h"
#include "runtime/text/detokenizer.h"
#include "runtime/text/python_json.h"
#include "runtime/text/utf8.h"

namespace glm::text {

// Reads a conversation out of bytes, until they are at their end.
class ChatFromBytes {
 public:
  explicit ChatFromBytes(std::string_view bytes) : bytes_(bytes) {}

  ChatRequest Read() {
    ChatRequest chat;
    const uint8_t flags = Byte();
    chat.clear_thinking = flags & 1;
    chat.add_generation_prompt = flags & 2;
    chat.reasoning_effort = flags & 4 ? Text() : "low";
    for (int tools = flags >> 4 & 3; tools > 0; --tools) {
      nlohmann::ordered_json function = {{"name", Utf8()},
                                         {"description", Utf8()}};
      function["parameters"]["properties"][Utf8()]["description"] = Utf8();
      if (flags & 64) function["defer_loading"] = true;
      if (flags & 8) {
        function = {{"type", "function"}, {"function", function}};
      }
      chat.tools.push_back(std::move(function));
    }
    while (!bytes_.empty() && chat.messages.size() < 32) {
      chat.messages.push_back(ReadMessage());
    }
    return chat;
  }

 private:
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte;
  }

  // Bytes as they are, and markers that the bytes below 24 mean.
  std::string Text() {
    static constexpr std::string_view kMarkers[] = {"[gMASK]",
                                                    "<sop>",
                                                    "<|system|>",
                                                    "<|user|>",
                                                    "<|assistant|>",
                                                    "<|observation|>",
                                                    "<think>",
                                                    "</think>",
                                                    "<tool_call>",
                                                    "</tool_call>",
                                                    "<tool_response>",
                                                    "</tool_response>",
                                                    "<arg_key>",
                                                    "</arg_key>",
                                                    "<arg_value>",
                                                    "</arg_value>",
                                                    "<|endoftext|>",
                                                    "<|begin_of_image|>",
                                                    "<|image|>",
                                                    "<|end_of_image|>",
                                                    "<|begin_of_audio|>",
                                                    "</think></thi",
                                                    "nk><|us",
                                                    "er|>"};
    std::string text;
    for (size_t left = Byte() % 32; left > 0 && !bytes_.empty(); --left) {
      const uint8_t byte = Byte();
      if (byte < std::size(kMarkers)) {
        text += kMarkers[byte];
      } else {
        text += static_cast<char>(byte);
      }
    }
    return text;
  }
  std::string Utf8() { return LossyUtf8(Text()); }

  ContentPart ReadPart() {
    ContentPart part;
    part.kind = static_cast<ContentPart::Kind>(Byte() % 6);
    part.text = Text();
    part.id = Text();
    part.placeholder_count = Byte() % 4;
    return part;
  }

  Message ReadMessage() {
    static constexpr std::string_view kRoles[] = {"system", "user", "assistant",
                                                  "tool", "odd"};
    const uint8_t flags = Byte();
    Message message =
        Message::Text(std::string(kRoles[flags % std::size(kRoles)]), Text());
    if (flags & 64) message.content.clear();
    for (int parts = flags >> 5 & 1; parts > 0; --parts) {
      message.content.push_back(ReadPart());
    }
    if (flags & 128) message.reasoning_content = Text();
    message.tool_call_id = Text();
    for (int calls = Byte() % 4; calls > 0; --calls) {
      ToolCall call{.id = Text(), .name = Text(), .arguments = {}};
      switch (Byte() % 4) {
        case 0:
          call.arguments = Text();
          break;
        case 1:
          call.arguments[Text()] = Text();
          break;
        case 2:
          call.arguments[Utf8()] = {{Utf8(), Utf8()}};
          break;
        default:
          break;
      }
      message.tool_calls.push_back(std::move(call));
    }
    return message;
  }

  std::string_view bytes_;
};

// The control tokens among the ids.
inline std::vector<int32_t> ControlIds(const Tokenizer& tokenizer,
                                       const std::vector<int32_t>& ids) {
  std::vector<int32_t> control;
  for (int32_t id : ids) {
    if (tokenizer.IsAdded(id)) control.push_back(id);
  }
  return control;
}

inline bool IsMedium(const ContentPart& part) {
  return part.kind == ContentPart::Kind::kImage ||
         part.kind == ContentPart::Kind::kVideo ||
         part.kind == ContentPart::Kind::kAudio;
}

// The conversation with "#" in place of each text of users, tools, assistants
// and histories, but for ids: a prompt of the same control tokens.
inline ChatRequest Blanked(ChatRequest chat) {
  for (nlohmann::ordered_json& tool : chat.tools) {
    nlohmann::ordered_json& function =
        tool.contains("function") ? tool["function"] : tool;
    function["name"] = function["description"] = "#";
    function.erase("parameters");
  }
  for (Message& message : chat.messages) {
    for (ContentPart& part : message.content) part.text = "#";
    if (message.reasoning_content) message.reasoning_content = "#";
    for (ToolCall& call : message.tool_calls) {
      call.name = "#";
      nlohmann::ordered_json& arguments = call.arguments;
      if (arguments.is_string() && arguments != "") {
        auto parsed = ParseJson(arguments.get<std::string>());
        arguments = parsed.ok() ? *parsed : nullptr;  // it is not rendered
      }
      if (!arguments.is_object()) continue;
      nlohmann::ordered_json blank;
      for (size_t i = 0; i < arguments.size(); ++i) {
        blank[absl::StrCat("#", i)] = "#";
      }
      arguments = blank;
    }
  }
  return chat;
}

// The media of what an assistant said before its </think> are left out: no
// blank text tells where that was.
inline bool HasMediaOfAssistants(const ChatRequest& chat) {
  return std::any_of(chat.messages.begin(), chat.messages.end(),
                     [](const Message& message) {
                       return message.role == "assistant" &&
                              std::any_of(message.content.begin(),
                                          message.content.end(), IsMedium);
                     });
}

// What is wrong with the prompt of `chat`; empty where nothing is. An error
// that names a message or a tool is right.
inline std::string WrongInPrompt(const Tokenizer& tokenizer,
                                 const ChatRequest& chat) {
  const absl::StatusOr<std::vector<Segment>> segments = RenderChat(chat);
  if (!segments.ok()) {
    const std::string message(segments.status().message());
    return segments.status().code() == absl::StatusCode::kInvalidArgument &&
                   (message.starts_with("messages[") ||
                    message.starts_with("tools["))
               ? ""
               : absl::StrCat("an error of no place: ", message);
  }
  for (size_t i = 0; i < segments->size(); ++i) {
    if ((*segments)[i].text.empty() ||
        (i > 0 && (*segments)[i].control == (*segments)[i - 1].control)) {
      return absl::StrCat("segment ", i, " is empty or goes on");
    }
  }
  const absl::StatusOr<std::vector<int32_t>> ids =
      EncodeChat(tokenizer, *segments);
  if (!ids.ok()) return ids.status().ToString();
  if (Decode(tokenizer, *ids, {}) != LossyUtf8(Concatenate(*segments))) {
    return "the prompt is not the text that was rendered";
  }
  if (HasMediaOfAssistants(chat)) return "";
  const absl::StatusOr<std::vector<Segment>> blank = RenderChat(Blanked(chat));
  if (!blank.ok()) return blank.status().ToString();
  const absl::StatusOr<std::vector<int32_t>> meant =
      tokenizer.Encode(Concatenate(*blank), {true});
  if (!meant.ok()) return meant.status().ToString();
  if (ControlIds(tokenizer, *ids) != ControlIds(tokenizer, *meant)) {
    return "a text has become a control token, or one is lost";
  }
  return EndsInsideThinking(*segments) == EndsInsideThinking(*blank)
             ? ""
             : "a text changes whether the answer begins within thoughts";
}

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_CHAT_PROMPTS_TEST_FILES_H_
