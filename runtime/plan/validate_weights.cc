// Weights and states: shapes, pieces, sizes.
#include <set>
#include <string>

#include "runtime/base/status_macros.h"
#include "runtime/plan/validation_context.h"

namespace glm::plan {
namespace {

absl::Status ValidateFiles(const Place& place, const Plan& plan) {
  for (uint32_t i = 0; i < SizeOf(plan.weight_files()); ++i) {
    const WeightFile& file = *plan.weight_files()->Get(i);
    const Place at = place.At("weight_files", i, "");
    if (file.path()->size() == 0 || file.path()->size() > 4096 ||
        file.path()->str().find('\0') != std::string::npos) {
      return at.Bad("path is empty, too long or holds a zero byte");
    }
    if (file.size() > kMaxBytes) return at.Bad("size ", file.size());
  }
  return absl::OkStatus();
}

// The size that piece `index` must have; the shape has been checked.
uint64_t PieceSize(const Weight& weight, uint64_t elements, uint32_t index) {
  if (weight.form() == WeightForm::DENSE) {
    return elements * ElementBytes(weight.dtype());
  }
  const uint32_t rank = SizeOf(weight.shape());
  const uint64_t n = weight.shape()->Get(rank - 2);
  const uint64_t k = weight.shape()->Get(rank - 1);
  if (weight.form() == WeightForm::EXPERTS_DENSE) {
    return n * k * ElementBytes(weight.dtype());
  }
  const uint64_t group = weight.group();
  if (index % 2 != 0) return (k + group - 1) / group * n * 2;
  return weight.form() == WeightForm::DENSE_INT8 ? n * k : (k + 7) / 8 * n * 4;
}

// All pieces, each with the room that aligning a copy of it can cost, and the
// table of their addresses. nullopt when it does not fit.
std::optional<uint64_t> WeightBytes(const Weight& weight, uint64_t elements) {
  const bool grouped = IsCoded(weight.form());
  uint64_t bytes = PieceSize(weight, elements, 0);
  if (grouped) bytes += PieceSize(weight, elements, 1);
  const auto all =
      CheckedMul(bytes + (grouped ? 2 : 1) * (kBufferAlignment + 8),
                 IsExperts(weight.form()) ? weight.shape()->Get(0) : 1);
  return all ? CheckedAdd(*all, kBufferAlignment) : std::nullopt;
}

// `piece` as `cut` says: ranges that do not overlap and are `size` bytes.
absl::Status ValidateCut(const Place& at, const Cut& cut, uint64_t size) {
  const auto bytes = CheckedMul(cut.rows(), cut.row_bytes());
  if (!bytes || *bytes != size || cut.stride() < cut.row_bytes()) {
    return at.Bad(cut.rows(), " rows of ", cut.row_bytes(),
                  " bytes at a stride of ", cut.stride(), ", expected ", size,
                  " bytes that do not overlap");
  }
  const auto span = CheckedMul(cut.rows() - 1, cut.stride());
  if (!span || *span > kMaxBytes) {
    return at.Bad("a stride of ", cut.stride());
  }
  return absl::OkStatus();
}

absl::Status ValidatePieces(const Place& at, const Plan& plan,
                            const Weight& weight, uint64_t elements) {
  const uint32_t count = SizeOf(weight.pieces());
  const uint32_t parts = IsCoded(weight.form()) ? 2 : 1;  // of a matrix
  if (SizeOf(weight.cuts()) != 0 &&
      (SizeOf(weight.cuts()) != parts || count == 0)) {
    return at.Bad(SizeOf(weight.cuts()), " cuts with ", count,
                  " pieces, expected ", count == 0 ? 0 : parts);
  }
  if (count == 0) return absl::OkStatus();
  uint64_t expected = parts;
  if (IsExperts(weight.form())) expected *= weight.shape()->Get(0);
  if (count != expected && count != expected * plan.ranks()) {
    return at.Bad(count, " pieces, expected ", expected,
                  plan.ranks() == 1 ? ""
                                    : absl::StrCat(" of all or of each of ",
                                                   plan.ranks(), " ranks"));
  }
  for (uint32_t i = 0; i < SizeOf(weight.cuts()); ++i) {
    GLM_RETURN_IF_ERROR(ValidateCut(at.At("cuts", i, ""),
                                    *weight.cuts()->Get(i),
                                    PieceSize(weight, elements, i)));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Piece& piece = *weight.pieces()->Get(i);
    const Place here = at.At("pieces", i, "");
    if (piece.file() >= SizeOf(plan.weight_files())) {
      return here.Bad("file ", piece.file(), " of ",
                      SizeOf(plan.weight_files()));
    }
    uint64_t size = PieceSize(weight, elements, i);
    if (SizeOf(weight.cuts()) > 0) {
      const Cut& cut = *weight.cuts()->Get(i % parts);
      size = (cut.rows() - 1) * cut.stride() + cut.row_bytes();
    }
    if (piece.size() != size) {
      return here.Bad("size ", piece.size(), ", the shape ",
                      ShapeText(weight.shape()), " needs ", size);
    }
    const auto end = CheckedAdd(piece.offset(), piece.size());
    const uint64_t file_size = plan.weight_files()->Get(piece.file())->size();
    if (!end || *end > file_size) {
      return here.Bad("bytes ", piece.offset(), " + ", piece.size(),
                      " lie outside ",
                      plan.weight_files()->Get(piece.file())->path()->str(),
                      " of ", file_size, " bytes");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateShape(const Place& at, DType dtype,
                           const flatbuffers::Vector<uint64_t>* shape,
                           uint64_t& elements) {
  if (ElementBytes(dtype) == 0) {
    return at.Bad("unknown dtype ", static_cast<int>(dtype));
  }
  if (SizeOf(shape) == 0 || SizeOf(shape) > kMaxRank) {
    return at.Bad("rank ", SizeOf(shape), ", expected 1 to ", kMaxRank);
  }
  const auto product = Elements(shape);
  const auto bytes =
      product ? CheckedMul(*product, ElementBytes(dtype)) : std::nullopt;
  if (!bytes || *bytes == 0 || *bytes > kMaxBytes) {
    return at.Bad("shape ", ShapeText(shape), " is empty or too large");
  }
  elements = *product;
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateWeights(const Place& place, const Plan& plan) {
  GLM_RETURN_IF_ERROR(ValidateFiles(place, plan));
  std::set<std::string> names;
  uint64_t total = 0;
  for (uint32_t i = 0; i < SizeOf(plan.weights()); ++i) {
    const Weight& weight = *plan.weights()->Get(i);
    GLM_RETURN_IF_ERROR(
        ValidateName(place.At("weights", i, ""), weight.name()));
    const Place at = place.At("weights", i, Text(weight.name()));
    if (!names.insert(Text(weight.name())).second) {
      return at.Bad("name is used twice");
    }
    uint64_t elements = 0;
    GLM_RETURN_IF_ERROR(
        ValidateShape(at, weight.dtype(), weight.shape(), elements));
    if (weight.form() > WeightForm::MAX) {
      return at.Bad("unknown form ", static_cast<int>(weight.form()));
    }
    if (IsExperts(weight.form()) && SizeOf(weight.shape()) != 3) {
      return at.Bad("shape ", ShapeText(weight.shape()),
                    ", experts need [E, N, K]");
    }
    const bool coded = IsCoded(weight.form());
    const bool one = coded && !IsExperts(weight.form());
    if (one && SizeOf(weight.shape()) != 2) {
      return at.Bad("shape ", ShapeText(weight.shape()),
                    ", a quantised matrix needs [N, K]");
    }
    // Kernels read 8 codes of int4, 16 of int8 with one scale.
    const uint32_t step = weight.form() == WeightForm::DENSE_INT8 ? 16 : 8;
    if (coded != (weight.group() > 0) || (one && weight.group() % step != 0)) {
      return at.Bad("group size ", weight.group());
    }
    GLM_RETURN_IF_ERROR(ValidatePieces(at, plan, weight, elements));
    const auto bytes = WeightBytes(weight, elements);
    const auto sum = bytes ? CheckedAdd(total, *bytes) : std::nullopt;
    if (!sum || *sum > kMaxBytes) {
      return at.Bad("the weights up to here exceed ", kMaxBytes, " bytes");
    }
    total = *sum;
  }
  return absl::OkStatus();
}

absl::Status ValidateStates(const Place& place, const Plan& plan) {
  std::set<std::string> names;
  uint64_t total = 0;
  for (uint32_t i = 0; i < SizeOf(plan.states()); ++i) {
    const State& state = *plan.states()->Get(i);
    GLM_RETURN_IF_ERROR(ValidateName(place.At("states", i, ""), state.name()));
    const Place at = place.At("states", i, Text(state.name()));
    if (!names.insert(Text(state.name())).second) {
      return at.Bad("name is used twice");
    }
    uint64_t elements = 0;
    GLM_RETURN_IF_ERROR(
        ValidateShape(at, state.dtype(), state.shape(), elements));
    const uint64_t bytes = elements * ElementBytes(state.dtype());
    if (state.bytes_per_slot() < bytes || state.bytes_per_slot() > kMaxBytes ||
        state.bytes_per_slot() % kStateAlignment != 0) {
      return at.Bad("bytes_per_slot ", state.bytes_per_slot(),
                    ", expected a multiple of ", kStateAlignment,
                    " of at least ", bytes);
    }
    total += state.bytes_per_slot();  // both at most kMaxBytes
    if (total > kMaxBytes) {
      return at.Bad("the states up to here exceed ", kMaxBytes,
                    " bytes a sequence");
    }
    if (state.tokens_per_row() > 0) {
      // floor: a row that is never complete needs no place.
      const uint64_t rows =
          plan.model()->max_context() / state.tokens_per_row();
      if (state.shape()->Get(0) < rows) {
        return at.Bad(state.shape()->Get(0), " rows, a context of ",
                      plan.model()->max_context(), " tokens needs ", rows);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace glm::plan
