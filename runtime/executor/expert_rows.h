// The paged experts of a plan: docs/spec/paging.md, Rows. Private to
// runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_EXPERT_ROWS_H_
#define GLM_RUNTIME_EXECUTOR_EXPERT_ROWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/paging/row_layout.h"
#include "runtime/paging/trace.h"
#include "runtime/plan/plan_generated.h"

namespace glm {

struct ExpertRows {
  paging::TraceShape shape;  // layers: those with experts
  paging::RowLayout layout;
  std::vector<uint32_t> weights;  // [layers][layout.weights], into Plan.weights
  uint32_t step_tokens = 1;       // of the largest step, as a cache counts them
  uint32_t decode_tokens = 1;     // of the smallest one that is no prompt's
  uint32_t rank = 0;              // of Plan.ranks: rows are parts of experts

  uint32_t LayerOf(uint32_t row) const { return row / shape.experts; }
  uint32_t ExpertOf(uint32_t row) const { return row % shape.experts; }
  // Piece `index` of a row (RowLayout) is piece PieceOf of weight WeightOf.
  uint32_t WeightOf(uint32_t row, uint32_t index) const {
    return weights[LayerOf(row) * layout.weights + index / layout.pieces];
  }
  uint32_t PieceOf(uint32_t row, uint32_t index) const {
    return ExpertOf(row) * layout.pieces + index % layout.pieces;
  }
};

// Nullopt where experts are resident. The plan has been validated.
std::optional<ExpertRows> ExpertRowsOf(const plan::Plan& plan,
                                       uint32_t rank = 0);

// Of each of Plan.weights, whether it is paged.
std::vector<bool> PagedWeights(const plan::Plan& plan);

// Where piece `index` of a row lies; null in a plan without weights, and where
// it lies scattered (plan::Cut).
const plan::Piece* RowPiece(const plan::Plan& plan, const ExpertRows& rows,
                            uint32_t row, uint32_t index);

// Where a row lies whole in a weight file, as it would in a slot.
struct RowPlace {
  uint32_t file = 0;
  uint64_t offset = 0;  // a multiple of 4096
};
// Nullopt where the row is in parts. The last page may reach past the file's
// end, where a mapping has zeros.
std::optional<RowPlace> RowInFile(const plan::Plan& plan,
                                  const ExpertRows& rows, uint32_t row);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_EXPERT_ROWS_H_
