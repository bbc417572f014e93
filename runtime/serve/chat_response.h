// Answers of /v1/chat/completions: chat.completion and chat.completion.chunk.
//
// Reasoning is `reasoning_content`, beside `content`. Logprobs have one entry
// for each generated token in order, reasoning and markup among them: their
// number is usage.completion_tokens.
#ifndef GLM_RUNTIME_SERVE_CHAT_RESPONSE_H_
#define GLM_RUNTIME_SERVE_CHAT_RESPONSE_H_

#include <memory>

#include "runtime/serve/response_parts.h"

namespace glm::serve {

// `tokenizer` must outlive the result.
std::unique_ptr<AnswerFormat> MakeChatFormat(AnswerHead head,
                                             const text::Tokenizer& tokenizer);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_CHAT_RESPONSE_H_
