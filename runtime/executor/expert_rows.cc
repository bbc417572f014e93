#include "runtime/executor/expert_rows.h"

#include <algorithm>

#include "runtime/executor/weight_layout.h"
#include "runtime/plan/weight_forms.h"

namespace glm {

std::optional<ExpertRows> ExpertRowsOf(const plan::Plan& plan, uint32_t rank) {
  const auto* layers = plan.expert_rows();
  if (layers == nullptr || layers->size() == 0) return std::nullopt;
  ExpertRows rows;
  rows.rank = rank;
  rows.shape.layers = layers->size();
  rows.shape.top_k = plan.model()->experts_per_token();
  std::vector<uint64_t> sizes;
  for (const plan::ExpertRows* layer : *layers) {
    for (const uint32_t w : *layer->weights()) rows.weights.push_back(w);
  }
  const uint32_t count = layers->Get(0)->weights()->size();
  uint32_t pieces = 1;
  for (uint32_t w = 0; w < count; ++w) {
    const plan::Weight& weight = *plan.weights()->Get(rows.weights[w]);
    rows.shape.experts = static_cast<uint32_t>(weight.shape()->Get(0));
    pieces = PiecesOfExpert(weight);
    for (uint32_t c = 0; c < pieces; ++c) {
      sizes.push_back(PieceSize(weight, c));
    }
  }
  rows.layout = paging::RowLayout::Of(count, pieces, sizes);
  uint32_t fewest = 0;
  for (const plan::Entry* entry : *plan.entries()) {
    const auto tokens = static_cast<uint32_t>(
        std::min<uint64_t>(uint64_t{entry->sequences()} * entry->tokens(),
                           paging::kMaxStepTokens));
    rows.step_tokens = std::max(rows.step_tokens, tokens);
    if (entry->kind() == plan::EntryKind::PREFILL) continue;
    fewest = fewest == 0 ? tokens : std::min(fewest, tokens);
  }
  rows.decode_tokens = std::max(fewest, 1u);
  return rows;
}

std::vector<bool> PagedWeights(const plan::Plan& plan) {
  std::vector<bool> paged(plan.weights() == nullptr ? 0
                                                    : plan.weights()->size());
  if (plan.expert_rows() == nullptr) return paged;
  for (const plan::ExpertRows* layer : *plan.expert_rows()) {
    for (const uint32_t w : *layer->weights()) paged[w] = true;
  }
  return paged;
}

const plan::Piece* RowPiece(const plan::Plan& plan, const ExpertRows& rows,
                            uint32_t row, uint32_t index) {
  const plan::Weight& weight = *plan.weights()->Get(rows.WeightOf(row, index));
  const uint32_t piece = rows.PieceOf(row, index);
  if (weight.pieces() == nullptr || weight.pieces()->size() == 0 ||
      plan::CutOf(weight, piece) != nullptr) {
    return nullptr;
  }
  return &plan::PieceOf(weight, rows.rank, piece);
}

std::optional<RowPlace> RowInFile(const plan::Plan& plan,
                                  const ExpertRows& rows, uint32_t row) {
  RowPlace place;
  for (uint32_t i = 0; i < rows.layout.count(); ++i) {
    const plan::Piece* piece = RowPiece(plan, rows, row, i);
    if (piece == nullptr) return std::nullopt;
    if (i == 0) place = {piece->file(), piece->offset()};
    if (piece->file() != place.file ||
        piece->offset() != place.offset + rows.layout.offsets[i]) {
      return std::nullopt;
    }
  }
  if (place.offset % paging::kRowAlignment != 0) return std::nullopt;
  return place;
}

}  // namespace glm
