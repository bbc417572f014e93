//===- PackLayout.cpp - What a packed file is made of ---------------------===//

#include "compiler/plan/PackLayout.h"

#include "runtime/safetensors/packed_weights.h"

#include "llvm/Support/MathExtras.h"

using namespace glm;
using namespace glm::planfile;

/// Raised when the same units would be written as other bytes. Files whose rows are
/// whole are as they were before others came.
static constexpr uint64_t kFormat = 1, kFormatOfRanks = 2;

PackUnit &PackLayout::startUnit(uint64_t alignment) {
  const uint64_t begin = llvm::alignTo(dataBytes(), alignment);
  if (!all.empty())
    all.back().end = begin;
  all.emplace_back();
  all.back().begin = all.back().end = begin;
  return all.back();
}

uint64_t PackLayout::addPiece(uint32_t input, uint64_t from, uint64_t size) {
  const uint64_t begin = llvm::alignTo(dataBytes(), kDense);
  for (uint64_t done = 0; done < size; done += kUnitBytes) {
    PackUnit &unit = startUnit(kDense);
    const uint64_t part = std::min(kUnitBytes, size - done);
    unit.parts.push_back({input, from + done, part, unit.begin});
    unit.end = unit.begin + part;
  }
  return begin;
}

void PackLayout::addRow(std::vector<PackPart> &parts) {
  PackUnit &unit = startUnit(kPage);
  for (PackPart &part : parts) {
    part.at = llvm::alignTo(unit.end, kDense);
    unit.end = part.at + part.size;
  }
  unit.end = llvm::alignTo(unit.end, kPage);
  unit.parts = parts;
}

void PackLayout::addMatrix(PackMatrix &matrix) {
  PackUnit &unit = startUnit(kDense);
  matrix.codesAt = unit.begin;
  matrix.scalesAt = llvm::alignTo(matrix.codesAt + matrix.codesSize(), kDense);
  unit.end = matrix.scalesAt + matrix.scalesSize();
  unit.matrix = matrix;
}

void PackLayout::finish() {
  if (!all.empty())
    all.back().end = llvm::alignTo(all.back().end, kPage);
}

uint64_t PackLayout::fileBytes() const {
  PackedChecksums sums;
  sums.blocks.resize(all.size());
  return dataBytes() + SerializeChecksums(sums).size();
}

uint64_t PackLayout::bytesToRead(size_t first) const {
  uint64_t bytes = 0;
  for (size_t i = first; i < all.size(); ++i) {
    if (all[i].matrix)
      bytes += all[i].matrix->rows * all[i].matrix->rowBytes();
    for (const PackPart &part : all[i].parts)
      bytes += part.size;
  }
  return bytes;
}

uint64_t PackLayout::identity() const {
  ByteHash hash;
  auto add = [&](auto... numbers) {
    (hash.AddNumber(static_cast<uint64_t>(numbers)), ...);
  };
  const bool divided = ranks > 1;
  add(divided ? kFormatOfRanks : kFormat, inputs.size());
  if (divided)
    add(ranks);
  for (const PackInput &input : inputs)
    add(input.size, input.fingerprint, input.modified);
  for (const PackUnit &unit : all) {
    add(unit.begin, unit.end, unit.parts.size(), unit.matrix.has_value());
    for (const PackPart &part : unit.parts) {
      add(part.input, part.from, part.size, part.at);
      if (divided)
        add(part.run, part.stride);
    }
    if (const auto &m = unit.matrix)
      add(m->input, m->from, m->stored, m->form, m->rows, m->columns, m->group,
          m->codesAt, m->scalesAt);
  }
  return hash.Digest();
}
