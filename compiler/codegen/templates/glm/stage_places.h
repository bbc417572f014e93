// stage_places.h - where the operands of a product (gpu_product.h) lie in a
// stage of shared memory.
#pragma once

#include "glm/gpu.h"

#ifdef GLM_GPU

namespace glm::kernel {

inline constexpr int kStageColumns = 32;
inline constexpr int64_t kTileOutputs = 128;
// Of the first stage: the order of ChunkPlace begins anew there.
inline constexpr int kStageAlignment = 512;

// Byte offset of 8 columns of a row in a stage [rows][32]. The order of a row's
// chunks keeps reads of a column of rows, and of whole rows, off each other's
// banks.
GLM_FN int ChunkPlace(int row, int chunk) {
  return row * 64 + (chunk ^ (row >> 1 & 3)) * 16;
}

// A copy of 16 bytes to `to` of a stage, of zeros unless `read`; none at all
// unless `exists`.
struct Copy16 {
  const void* from;
  int to;
  bool exists;
  bool read;
};

}  // namespace glm::kernel

#endif  // GLM_GPU
