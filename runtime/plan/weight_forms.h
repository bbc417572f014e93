// What the form of a weight means for its pieces.
#ifndef GLM_RUNTIME_PLAN_WEIGHT_FORMS_H_
#define GLM_RUNTIME_PLAN_WEIGHT_FORMS_H_

#include "runtime/plan/plan_generated.h"

namespace glm::plan {

// A form of integer codes with group scales.
inline bool IsCoded(WeightForm form) {
  return form == WeightForm::EXPERTS_GPTQ4 || form == WeightForm::DENSE_GPTQ4 ||
         form == WeightForm::DENSE_INT8;
}

// A form of stacked experts, `shape` = [E, N, K].
inline bool IsExperts(WeightForm form) {
  return form == WeightForm::EXPERTS_DENSE || form == WeightForm::EXPERTS_GPTQ4;
}

// The first weight that has no data anywhere, of which there are none or all:
// the plan was compiled with --weights none. Null when there is none.
inline const Weight* WeightWithoutData(const Plan& plan) {
  if (plan.weights() == nullptr) return nullptr;
  for (const Weight* weight : *plan.weights()) {
    if (weight->pieces() == nullptr || weight->pieces()->size() == 0) {
      return weight;
    }
  }
  return nullptr;
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_WEIGHT_FORMS_H_
