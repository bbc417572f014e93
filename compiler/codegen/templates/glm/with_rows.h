// with_rows.h - a number of rows as a constant of the code.
#pragma once

#include "glm/block.h"

namespace glm::kernel {

// f.template operator()<R>() with R the least of 1, 2, 4, 8 that is >= rows,
// which are at most kMost: what cannot be costs no registers.
template <int64_t kMost, class F>
GLM_FN void WithRows(int64_t rows, F f) {
  if (kMost <= 1 || rows <= 1) {
    f.template operator()<1>();
  } else if constexpr (kMost > 1) {
    if (kMost <= 2 || rows <= 2) {
      f.template operator()<2>();
    } else if constexpr (kMost > 2) {
      if (kMost <= 4 || rows <= 4) {
        f.template operator()<4>();
      } else if constexpr (kMost > 4) {
        f.template operator()<8>();
      }
    }
  }
}

}  // namespace glm::kernel
