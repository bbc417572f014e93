// What the form of a weight means for its pieces, and which of them are whose.
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

// Pieces of one rank.
inline uint32_t PiecesOfRank(const Weight& weight) {
  const uint64_t matrices =
      IsExperts(weight.form()) ? weight.shape()->Get(0) : 1;
  return static_cast<uint32_t>(matrices) * (IsCoded(weight.form()) ? 2 : 1);
}

// Piece `index` of `rank`: the ranks share their pieces or have some each.
inline const Piece& PieceOf(const Weight& weight, uint32_t rank,
                            uint32_t index) {
  const uint32_t own = PiecesOfRank(weight);
  const bool shared = weight.pieces()->size() == own;
  return *weight.pieces()->Get(shared ? index : rank * own + index);
}

// How piece `index` lies in its file; null when it is contiguous.
inline const Cut* CutOf(const Weight& weight, uint32_t index) {
  const auto* cuts = weight.cuts();
  return cuts == nullptr || cuts->size() == 0 ? nullptr
                                              : cuts->Get(index % cuts->size());
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
