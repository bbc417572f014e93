#include "tools/glmrun/plan_tokenizer.h"

#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"

namespace glm::tools {

absl::StatusOr<std::unique_ptr<text::Tokenizer>> LoadTokenizer(
    const PlanFile& plan) {
  const plan::Segment* segment = plan.plan().tokenizer();
  if (segment == nullptr || segment->size() == 0) return nullptr;
  GLM_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                       plan.SegmentBytes(*segment, "tokenizer"));
  return text::Tokenizer::FromJson(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
      absl::StrCat(plan.path(), ": tokenizer.json"));
}

}  // namespace glm::tools
