// The size of a plan's elements.
#ifndef GLM_RUNTIME_PLAN_ELEMENT_BYTES_H_
#define GLM_RUNTIME_PLAN_ELEMENT_BYTES_H_

#include <cstdint>

#include "runtime/plan/plan_generated.h"

namespace glm::plan {

// Bytes of one element; 0 for a code that plan.fbs does not know, which no
// validated plan holds.
inline uint64_t ElementBytes(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::BF16:
    case DType::F16:
      return 2;
    case DType::I64:
    case DType::U64:
      return 8;
    case DType::U8:
      return 1;
  }
  return 0;
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_ELEMENT_BYTES_H_
