// The two ways in which generated ids become the text of an answer.
#ifndef GLM_RUNTIME_SERVE_ANSWER_TEXT_H_
#define GLM_RUNTIME_SERVE_ANSWER_TEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/serve/answer.h"
#include "runtime/text/chat_output.h"
#include "runtime/text/tokenizer.h"

namespace glm::serve {

// Reasoning, content and calls. With `parallel_calls` false a second call ends
// the answer and is not part of it.
absl::StatusOr<std::unique_ptr<AnswerText>> MakeChatText(
    const text::Tokenizer& tokenizer, text::ChatOutputOptions options,
    bool parallel_calls);

// Everything but special tokens, up to a stop string.
absl::StatusOr<std::unique_ptr<AnswerText>> MakeCompletionText(
    const text::Tokenizer& tokenizer, std::vector<std::string> stop);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_ANSWER_TEXT_H_
