// Where the pieces of one weight go: the rules that the memory plan counts with
// and the weight store follows. Private to runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_WEIGHT_LAYOUT_H_
#define GLM_RUNTIME_EXECUTOR_WEIGHT_LAYOUT_H_

#include <cstdint>

#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"

namespace glm {

// Copies and tables start at multiples of this.
inline constexpr uint64_t kCopyAlignment = 256;

inline uint64_t AlignCopy(uint64_t bytes) {
  return (bytes + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
}

// Alignment that a kernel needs of piece `index`: its element's size, but that
// of 16 codes for int8.
inline uint64_t PieceAlignment(const plan::Weight& weight, uint32_t index) {
  switch (weight.form()) {
    case plan::WeightForm::EXPERTS_GPTQ4:
    case plan::WeightForm::DENSE_GPTQ4:
      return index % 2 == 0 ? 4 : 2;
    case plan::WeightForm::DENSE_INT8:
      return index % 2 == 0 ? 16 : 2;
    default:
      break;
  }
  switch (weight.dtype()) {
    case plan::DType::U8:
      return 1;
    case plan::DType::BF16:
    case plan::DType::F16:
      return 2;
    case plan::DType::I64:
    case plan::DType::U64:
      return 8;
    default:
      return 4;
  }
}

// Whether piece `index` can be used where it lies in a mapped file.
inline bool UsedInPlace(const plan::Weight& weight, uint32_t index,
                        bool map_weights) {
  return map_weights && weight.pieces()->Get(index)->offset() %
                                PieceAlignment(weight, index) ==
                            0;
}

struct WeightLayout {
  uint64_t mapped_bytes = 0;
  uint64_t copied_bytes = 0;  // each piece rounded up to kCopyAlignment
  uint64_t table_bytes = 0;   // rounded up likewise; 0 for DENSE
};

inline WeightLayout LayOut(const plan::Weight& weight, bool map_weights) {
  WeightLayout layout;
  if (weight.pieces() == nullptr) return layout;
  for (uint32_t i = 0; i < weight.pieces()->size(); ++i) {
    const uint64_t size = weight.pieces()->Get(i)->size();
    if (UsedInPlace(weight, i, map_weights)) {
      layout.mapped_bytes += size;
    } else {
      layout.copied_bytes += AlignCopy(size);
    }
  }
  if (weight.form() != plan::WeightForm::DENSE) {
    layout.table_bytes = AlignCopy(8 * weight.pieces()->size());
  }
  return layout;
}

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_WEIGHT_LAYOUT_H_
