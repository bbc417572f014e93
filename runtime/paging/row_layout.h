// Where the pieces of a row lie: docs/spec/paging.md, Rows.
#ifndef GLM_RUNTIME_PAGING_ROW_LAYOUT_H_
#define GLM_RUNTIME_PAGING_ROW_LAYOUT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "runtime/paging/pager_layout.h"

namespace glm::paging {

inline constexpr uint64_t kRowPieceAlignment = 256;
inline constexpr uint64_t kRowAlignment = 4096;

struct RowLayout {
  uint32_t weights = 0;
  uint32_t pieces = 0;  // of each weight
  // Of weight w, piece c at [w * pieces + c], in bytes.
  std::array<uint64_t, kMostRowPieces> offsets = {};
  std::array<uint64_t, kMostRowPieces> sizes = {};
  uint64_t row_bytes = 0;

  uint32_t count() const { return weights * pieces; }

  // `sizes` has weights * pieces entries, at most kMostRowPieces, whose sum
  // does not wrap.
  static RowLayout Of(uint32_t weights, uint32_t pieces,
                      std::span<const uint64_t> sizes) {
    RowLayout layout;
    layout.weights = weights;
    layout.pieces = pieces;
    uint64_t at = 0;
    for (uint32_t i = 0; i < weights * pieces; ++i) {
      at = (at + kRowPieceAlignment - 1) / kRowPieceAlignment *
           kRowPieceAlignment;
      layout.offsets[i] = at;
      layout.sizes[i] = sizes[i];
      at += sizes[i];
    }
    layout.row_bytes = (at + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    return layout;
  }
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_ROW_LAYOUT_H_
