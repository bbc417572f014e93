// `AnswerMaker` says what an answer to a chat is held to: JSON by
// response_format, calls by tool_choice, arguments of tools that are strict.
#ifndef GLM_RUNTIME_SERVE_ANSWER_MAKER_H_
#define GLM_RUNTIME_SERVE_ANSWER_MAKER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/grammar/answer_grammars.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/served_model.h"

namespace glm::serve {

class AnswerMaker {
 public:
  // Compiles what `request` wants, once. The model outlives the maker.
  //
  // Errors: kInvalidArgument with the parameter: a schema that is not
  // supported or too large (code invalid_schema), or whose shortest text is
  // longer than any answer of so many tokens; kUnimplemented where the server
  // has no grammars.
  static absl::StatusOr<AnswerMaker> Of(const ChatCompletionRequest& request,
                                        bool inside_thinking,
                                        size_t prompt_tokens,
                                        const ServedModel& model);

  // Of one choice; null: any text.
  std::shared_ptr<TokenConstraint> Make() const;

 private:
  explicit AnswerMaker(grammar::AnswerGrammars* grammars)
      : grammars_(grammars) {}

  absl::Status AddJson(const ChatCompletionRequest& request);
  absl::Status AddTools(const ChatCompletionRequest& request);
  absl::Status CheckRoom(const ChatCompletionRequest& request,
                         size_t prompt_tokens, const ServedModel& model) const;

  grammar::AnswerGrammars* grammars_;  // null: any text
  grammar::AnswerRules rules_;
  grammar::JsonConstraintOptions options_;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_ANSWER_MAKER_H_
