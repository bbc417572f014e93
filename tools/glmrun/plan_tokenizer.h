// The tokenizer that a plan carries.
#ifndef GLM_TOOLS_GLMRUN_PLAN_TOKENIZER_H_
#define GLM_TOOLS_GLMRUN_PLAN_TOKENIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/text/tokenizer.h"

namespace glm::tools {

// Null: it carries none. Errors: kDataLoss (the segment is damaged), those of
// Tokenizer::FromJson.
absl::StatusOr<std::unique_ptr<text::Tokenizer>> LoadTokenizer(
    const PlanFile& plan);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_PLAN_TOKENIZER_H_
