// Answers of /v1/completions: text_completion, in one piece and in chunks.
#ifndef GLM_RUNTIME_SERVE_COMPLETION_RESPONSE_H_
#define GLM_RUNTIME_SERVE_COMPLETION_RESPONSE_H_

#include <memory>

#include "runtime/serve/response_parts.h"

namespace glm::serve {

// `tokenizer` must outlive the result.
std::unique_ptr<AnswerFormat> MakeCompletionFormat(
    AnswerHead head, const text::Tokenizer& tokenizer, uint32_t choices);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_COMPLETION_RESPONSE_H_
