#include "runtime/serve/chat_response.h"

#include <utility>

#include "runtime/serve/json_text.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

class ChatFormat : public AnswerFormat {
 public:
  ChatFormat(AnswerHead head, const text::Tokenizer& tokenizer)
      : head_(std::move(head)), tokenizer_(tokenizer) {}

  std::string Opening(uint32_t index) override {
    ordered_json delta;
    delta["role"] = "assistant";
    delta["content"] = "";
    return ChunkOf(index, std::move(delta), nullptr, "");
  }

  std::string Chunk(const ChoiceDelta& choice) override {
    ordered_json delta = ordered_json::object();
    if (!choice.text.reasoning.empty()) {
      delta["reasoning_content"] = choice.text.reasoning;
    }
    if (!choice.text.content.empty()) delta["content"] = choice.text.content;
    for (const text::ToolCallDelta& call : choice.text.calls) {
      ordered_json json;
      json["index"] = call.index;
      AddCall(call, /*whole=*/false, json);
      delta["tool_calls"].push_back(std::move(json));
    }
    return ChunkOf(choice.index, std::move(delta), Logprobs(choice.tokens),
                   choice.finish_reason);
  }

  std::string UsageChunk(const AnswerUsage& usage) override {
    ordered_json json = HeadJson(head_, "chat.completion.chunk");
    json["choices"] = ordered_json::array();
    json["usage"] = UsageJson(usage);
    return JsonText(json);
  }

  std::string Whole(std::span<const ChoiceDelta> choices,
                    const AnswerUsage& usage) override {
    ordered_json json = HeadJson(head_, "chat.completion");
    json["choices"] = ordered_json::array();
    for (const ChoiceDelta& choice : choices) {
      json["choices"].push_back(WholeChoice(choice));
    }
    json["usage"] = UsageJson(usage);
    return JsonText(json);
  }

 private:
  std::string ChunkOf(uint32_t index, ordered_json delta, ordered_json logprobs,
                      const std::string& finish) {
    ordered_json json = HeadJson(head_, "chat.completion.chunk");
    ordered_json choice;
    choice["index"] = index;
    choice["delta"] = std::move(delta);
    choice["logprobs"] = std::move(logprobs);
    choice["finish_reason"] =
        finish.empty() ? ordered_json(nullptr) : ordered_json(finish);
    json["choices"].push_back(std::move(choice));
    if (head_.include_usage) json["usage"] = nullptr;
    return JsonText(json);
  }

  ordered_json WholeChoice(const ChoiceDelta& choice) {
    ordered_json message;
    message["role"] = "assistant";
    // Null where there are calls alone.
    if (choice.text.content.empty() && !choice.text.calls.empty()) {
      message["content"] = nullptr;
    } else {
      message["content"] = choice.text.content;
    }
    if (!choice.text.reasoning.empty()) {
      message["reasoning_content"] = choice.text.reasoning;
    }
    for (const text::ToolCallDelta& call : choice.text.calls) {
      ordered_json json;
      AddCall(call, /*whole=*/true, json);
      message["tool_calls"].push_back(std::move(json));
    }
    ordered_json json;
    json["index"] = choice.index;
    json["message"] = std::move(message);
    json["logprobs"] = Logprobs(choice.tokens);
    json["finish_reason"] = choice.finish_reason;
    return json;
  }

  static void AddCall(const text::ToolCallDelta& call, bool whole,
                      ordered_json& json) {
    if (whole || !call.id.empty()) {
      json["id"] = call.id;
      json["type"] = "function";
      json["function"]["name"] = call.name;
    }
    json["function"]["arguments"] = call.arguments;
  }

  // Null where none are wanted.
  ordered_json Logprobs(const std::vector<GeneratedToken>& tokens) const {
    if (!head_.logprobs) return nullptr;
    ordered_json content = ordered_json::array();
    for (const GeneratedToken& token : tokens) {
      ordered_json entry = Entry(token.id, token.logprob);
      entry["top_logprobs"] = ordered_json::array();
      for (const TokenLogprob& top : token.top) {
        entry["top_logprobs"].push_back(Entry(top.id, top.logprob));
      }
      content.push_back(std::move(entry));
    }
    ordered_json json;
    json["content"] = std::move(content);
    json["refusal"] = nullptr;
    return json;
  }

  ordered_json Entry(int32_t id, float logprob) const {
    ordered_json entry;
    entry["token"] = TokenText(tokenizer_, id);
    entry["logprob"] = JsonLogprob(logprob);
    entry["bytes"] = ordered_json::array();
    for (const char byte : tokenizer_.TokenBytes(id)) {
      entry["bytes"].push_back(static_cast<uint8_t>(byte));
    }
    return entry;
  }

  const AnswerHead head_;
  const text::Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeChatFormat(AnswerHead head,
                                             const text::Tokenizer& tokenizer) {
  return std::make_unique<ChatFormat>(std::move(head), tokenizer);
}

}  // namespace glm::serve
