//===- Parts.h - How a grid divides its work --------------------*- C++ -*-===//
//
// A launch has rows x columns blocks; block r * columns + x does part r of the
// rows and part x of the columns. For each argument a `Split` says what of the
// buffer a block touches when rows and columns are cut in equal parts:
//
//   whole            anything
//   rows             part r of dimension 0, all that lies under it
//   columns(outer)   of each row, seen as [outer, columns, width]: [:, x, :]
//
// Two launches whose splits of a buffer agree can run one after the other in one
// block, which then reads no other block's results. Nothing here knows an
// operation: KernelTable.cpp gives each its splits.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_PARTS_H
#define GLM_PASSES_PARTS_H

#include "dialects/Kern/Kern.h"

#include "llvm/ADT/SetVector.h"

namespace glm::passes {

struct Split {
  bool rows = false;
  int64_t outer = 0; ///< 0: all columns

  int64_t encode() const { return outer * 2 + rows; }
  static Split decode(int64_t v) { return {(v & 1) != 0, v >> 1}; }
};

/// What a launch, or every launch inside an operation, touches. Weights and
/// constants are not among it. A launch may read and write each of its states.
struct Touched {
  llvm::SmallSetVector<mlir::Value, 8> reads, writes;
  llvm::SmallSetVector<mlir::Value, 2> counted; ///< among both, kern.launch
  llvm::SmallSetVector<mlir::Attribute, 4> states;

  void add(kern::LaunchOp launch);
  static Touched of(mlir::Operation *op);
};

/// Whether the order of the two matters.
bool dependent(const Touched &a, const Touched &b);
/// Whether b, which is after a, may not begin before a has ended: it does not wait
/// for a by itself.
bool mustFollow(const Touched &a, const Touched &b);

/// A launch's parts; without the attribute, all rows and columns are one part of
/// a grid that cannot be divided.
llvm::ArrayRef<int64_t> partsOf(kern::LaunchOp launch);

/// Limits of a grid's kernel: 8-byte arguments (a GPU takes 4 KiB, the first word
/// is the counters' address) and phases.
inline constexpr int64_t kMaxArgumentWords = 500, kMaxPhases = 8;

/// Arguments of all launches inside `grid`.
int64_t argumentWords(kern::GridOp grid);
/// Whether a launch inside `grid` is marked alone, hungry.
bool isAlone(kern::GridOp grid);
bool isHungry(kern::GridOp grid);
/// Whether a launch counts up what is done, so that others may wait beside it; whether
/// it waits for such counts by itself.
bool counts(kern::LaunchOp launch);
bool awaits(kern::LaunchOp launch);
bool counts(kern::GridOp grid);

/// What makes two grids the same kernel: "phase[+slack] rows columns: kernel gx gy gz T, ...;"
/// for each chain (docs/spec/kernels.md, Groups).
std::string describeGrid(kern::GridOp grid);

/// Whether block (r, x) of rows x columns blocks finds in its own part all that
/// `second` reads of what `first` writes, and the other way round.
bool meetsInBlock(kern::LaunchOp first, kern::LaunchOp second, int64_t rows,
                  int64_t columns);

} // namespace glm::passes

#endif // GLM_PASSES_PARTS_H
