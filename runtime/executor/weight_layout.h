// Where the pieces of one weight go: the rules that the memory plan counts with
// and the weight store follows. Private to runtime/executor.
//
// A piece is one of what plan.fbs says a weight consists of. Synthetic experts
// may share one in memory, so pieces in memory are counted apart.
#ifndef GLM_RUNTIME_EXECUTOR_WEIGHT_LAYOUT_H_
#define GLM_RUNTIME_EXECUTOR_WEIGHT_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/executor/synthetic_weights.h"
#include "runtime/plan/element_bytes.h"
#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"

namespace glm {

// Copies and tables start at multiples of this.
inline constexpr uint64_t kCopyAlignment = 256;

inline uint64_t AlignCopy(uint64_t bytes) {
  return (bytes + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
}

// Where weights come from and whether they are used there.
struct WeightPlacement {
  bool map = true;  // Device::SupportsMappedWeights
  std::optional<SyntheticWeights> synthetic = {};  // instead of files
  uint32_t rank = 0;                               // of Plan.ranks
};

// Pieces that make up one matrix: codes and scales are two.
inline uint32_t PiecesOfExpert(const plan::Weight& weight) {
  return weight.group() > 0 ? 2 : 1;
}

// Of one rank.
inline uint32_t PieceCount(const plan::Weight& weight) {
  return plan::PiecesOfRank(weight);
}

// Bytes of piece `index`.
inline uint64_t PieceSize(const plan::Weight& weight, uint32_t index) {
  const auto& shape = *weight.shape();
  if (weight.group() > 0) {
    const uint64_t n = shape[shape.size() - 2], k = shape[shape.size() - 1];
    if (index % 2 == 1)
      return (k + weight.group() - 1) / weight.group() * n * 2;
    return weight.form() == plan::WeightForm::DENSE_INT8 ? k * n
                                                         : (k + 7) / 8 * n * 4;
  }
  uint64_t elements = 1;
  const uint32_t first = IsExperts(weight.form()) ? 1 : 0;
  for (uint32_t d = first; d < shape.size(); ++d) elements *= shape[d];
  return elements * ElementBytes(weight.dtype());
}

// Pieces in memory, the first ones of the weight.
inline uint32_t StoredPieces(const plan::Weight& weight,
                             const WeightPlacement& placement) {
  const uint32_t count = PieceCount(weight);
  if (!placement.synthetic || placement.synthetic->experts == 0 ||
      !IsExperts(weight.form())) {
    return count;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(
      count, uint64_t{placement.synthetic->experts} * PiecesOfExpert(weight)));
}

// Alignment that a kernel needs of piece `index`: its element's size, but that
// of 16 codes for int8.
inline uint64_t PieceAlignment(const plan::Weight& weight, uint32_t index) {
  if (weight.group() == 0) return ElementBytes(weight.dtype());
  if (index % 2 == 1) return 2;
  return weight.form() == plan::WeightForm::DENSE_INT8 ? 16 : 4;
}

// Whether piece `index` can be used where it lies in a mapped file.
inline bool UsedInPlace(const plan::Weight& weight, uint32_t index,
                        const WeightPlacement& placement) {
  return placement.map && !placement.synthetic &&
         plan::CutOf(weight, index) == nullptr &&
         plan::PieceOf(weight, placement.rank, index).offset() %
                 PieceAlignment(weight, index) ==
             0;
}

// What a weight takes. The bytes of a paged one are in rows
// (docs/spec/paging.md): it has a table alone.
struct WeightLayout {
  uint64_t mapped_bytes = 0;
  uint64_t copied_bytes = 0;  // each piece rounded up to kCopyAlignment
  uint64_t table_bytes = 0;   // rounded up likewise; 0 for DENSE
};

inline WeightLayout LayOut(const plan::Weight& weight,
                           const WeightPlacement& placement,
                           bool paged = false) {
  WeightLayout layout;
  const bool in_files =
      weight.pieces() != nullptr && weight.pieces()->size() > 0;
  if (!in_files && !placement.synthetic) return layout;
  const uint32_t stored = paged ? 0 : StoredPieces(weight, placement);
  for (uint32_t i = 0; i < stored; ++i) {
    const uint64_t size = PieceSize(weight, i);
    if (UsedInPlace(weight, i, placement)) {
      layout.mapped_bytes += size;
    } else {
      layout.copied_bytes += AlignCopy(size);
    }
  }
  if (weight.form() != plan::WeightForm::DENSE) {
    layout.table_bytes = AlignCopy(uint64_t{8} * PieceCount(weight));
  }
  return layout;
}

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_WEIGHT_LAYOUT_H_
