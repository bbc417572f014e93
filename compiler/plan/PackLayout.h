//===- PackLayout.h - What a packed file is made of -------------*- C++ -*-===//
//
// The bytes of a packed file (docs/spec/packing.md) before any is written: which
// byte of which input goes where, and which matrices are quantised to where.
// Offsets and sizes are bytes.
//
// Units lie back to back and are what progress is counted in: a unit is written
// whole, has one checksum, and an interrupted packing goes on at the first unit
// that is not complete.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_PACKLAYOUT_H
#define GLM_COMPILER_PLAN_PACKLAYOUT_H

#include "compiler/plan/WeightQuantizer.h"

#include <optional>
#include <string>
#include <vector>

namespace glm::planfile {

/// A file that is read. `modified` is its time of modification in ns.
struct PackInput {
  std::string path;
  uint64_t size = 0;
  uint64_t fingerprint = 0; // weight_fingerprint.h
  int64_t modified = 0;
};

/// `size` bytes of an input from `from` on, which go to byte `at` of the file. With
/// `run` they are runs of so many bytes each, `stride` apart in the input.
struct PackPart {
  uint32_t input;
  uint64_t from, size, at;
  uint64_t run = 0, stride = 0;
};

/// A matrix [rows, columns] of `stored` at byte `from` of an input, of which
/// codes and scales are made.
struct PackMatrix {
  std::string name;
  uint32_t input;
  uint64_t from;
  StoredFloat stored;
  CodeForm form;
  int64_t rows, columns, group;
  uint64_t codesAt = 0, scalesAt = 0; // set by addMatrix

  uint64_t rowBytes() const { return columns * (stored == StoredFloat::F32 ? 4 : 2); }
  uint64_t codesSize() const {
    return form == CodeForm::Int8 ? rows * columns : 4 * rows * ((columns + 7) / 8);
  }
  uint64_t scalesSize() const { return 2 * rows * ((columns + group - 1) / group); }
};

/// Bytes [begin, end): parts by rising `at`, which are copied, with zeros
/// between them and after the last; or one matrix.
struct PackUnit {
  uint64_t begin = 0, end = 0;
  std::vector<PackPart> parts;
  std::optional<PackMatrix> matrix;
};

class PackLayout {
public:
  static constexpr uint64_t kPage = 4096; // rows of experts, and the end
  static constexpr uint64_t kDense = 256; // every piece
  /// A larger weight becomes several units of this size.
  static constexpr uint64_t kUnitBytes = 64 << 20;

  std::vector<PackInput> inputs;
  /// Whose rows of experts these are: 1, each row a whole expert; N, the parts that
  /// N ranks have of one; 0, there are none.
  uint32_t ranks = 0;

  /// Copies of one weight. Returns where they begin.
  uint64_t addPiece(uint32_t input, uint64_t from, uint64_t size);
  /// The parts of one row of an expert; `at` of each is set.
  void addRow(std::vector<PackPart> &parts);
  void addMatrix(PackMatrix &matrix);
  /// To be called after the last unit.
  void finish();

  const std::vector<PackUnit> &units() const { return all; }
  uint64_t dataBytes() const { return all.empty() ? 0 : all.back().end; }
  /// With the checksums behind the data.
  uint64_t fileBytes() const;
  /// Bytes that are read from inputs for units from `first` on.
  uint64_t bytesToRead(size_t first = 0) const;
  /// A hash of everything above: two layouts of the same identity give the same
  /// file. Paths do not count, contents (size, fingerprint, time) do.
  uint64_t identity() const;

private:
  PackUnit &startUnit(uint64_t alignment);

  std::vector<PackUnit> all;
};

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_PACKLAYOUT_H
