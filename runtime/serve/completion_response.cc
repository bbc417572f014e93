#include "runtime/serve/completion_response.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/serve/json_text.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

size_t Characters(const std::string& utf8) {
  return static_cast<size_t>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class CompletionFormat : public AnswerFormat {
 public:
  CompletionFormat(AnswerHead head, const text::Tokenizer& tokenizer,
                   uint32_t choices)
      : head_(std::move(head)), tokenizer_(tokenizer), offsets_(choices) {}

  std::string Chunk(const ChoiceDelta& choice) override {
    ordered_json json = HeadJson(head_, "text_completion");
    json["choices"].push_back(Choice(choice));
    if (head_.include_usage) json["usage"] = nullptr;
    return JsonText(json);
  }

  std::string UsageChunk(const AnswerUsage& usage) override {
    return Whole({}, usage);
  }

  std::string Whole(std::span<const ChoiceDelta> choices,
                    const AnswerUsage& usage) override {
    ordered_json json = HeadJson(head_, "text_completion");
    json["choices"] = ordered_json::array();
    for (const ChoiceDelta& choice : choices) {
      json["choices"].push_back(Choice(choice));
    }
    json["usage"] = UsageJson(usage);
    return JsonText(json);
  }

 private:
  ordered_json Choice(const ChoiceDelta& choice) {
    ordered_json json;
    json["text"] = choice.text.content;
    json["index"] = choice.index;
    json["logprobs"] = Logprobs(choice);
    json["finish_reason"] = choice.finish_reason.empty()
                                ? ordered_json(nullptr)
                                : ordered_json(choice.finish_reason);
    return json;
  }

  ordered_json Logprobs(const ChoiceDelta& choice) {
    if (!head_.logprobs) return nullptr;
    ordered_json json = {{"tokens", ordered_json::array()},
                         {"token_logprobs", ordered_json::array()},
                         {"top_logprobs", ordered_json::array()},
                         {"text_offset", ordered_json::array()}};
    for (const GeneratedToken& token : choice.tokens) {
      const std::string text = TokenText(tokenizer_, token.id);
      json["tokens"].push_back(text);
      json["token_logprobs"].push_back(JsonLogprob(token.logprob));
      json["text_offset"].push_back(offsets_[choice.index]);
      offsets_[choice.index] += Characters(text);
      ordered_json top = ordered_json::object();
      for (const TokenLogprob& other : token.top) {
        top[TokenText(tokenizer_, other.id)] = JsonLogprob(other.logprob);
      }
      json["top_logprobs"].push_back(std::move(top));
    }
    return json;
  }

  const AnswerHead head_;
  const text::Tokenizer& tokenizer_;
  std::vector<size_t> offsets_;  // by choice, of its next token, in characters
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeCompletionFormat(
    AnswerHead head, const text::Tokenizer& tokenizer, uint32_t choices) {
  return std::make_unique<CompletionFormat>(std::move(head), tokenizer,
                                            choices);
}

}  // namespace glm::serve
