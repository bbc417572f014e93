//===- Chains.h - Launches that one block can run in order ------*- C++ -*-===//
//
// A launch is taken into the chains of its producers when its part of what they
// wrote is their part (Parts.h), when no other chain stands between, and when
// dividing the work as coarsely as the chain's coarsest member is not too dear.
// Shapes, bytes and splits decide; no operation is known here by name.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_CHAINS_H
#define GLM_PASSES_CHAINS_H

#include "passes/Parts.h"

#include <memory>

namespace glm::passes {

struct Chain {
  llvm::SmallVector<size_t> members; ///< numbers of launches, ascending
  /// Chains that it waits for; that wait for it.
  llvm::SmallSetVector<Chain *, 8> before, after;
  int64_t rows = 1, columns = 1;
  int64_t level = 0; ///< 1 + the highest of `before`
};

/// The chains of a function's launches, made as the object is. Remarks say what
/// joined and why the rest did not.
class Chains {
public:
  /// `maxSerial`, `maxBytes`, `earlyBytes`: options of glm-fuse-blocks.
  Chains(mlir::func::FuncOp func, int64_t maxSerial, int64_t maxBytes,
         int64_t earlyBytes);

  /// Chains in an order that they can run in.
  llvm::SmallVector<Chain *> inOrder();

  kern::LaunchOp launch(size_t number) { return launches[number]; }

  /// The columns that a launch takes in a chain of `columns`; 1, which no chain
  /// of more divides, when it cannot have any that fit.
  static int64_t columnsIn(kern::LaunchOp launch, int64_t columns);

private:
  /// Blocks of a chain that waits for what another kernel counts: each holds its
  /// place meanwhile, and the other's pace, not theirs, says when they are done.
  static constexpr int64_t kMostAwaiting = 128;

  struct Shape {
    int64_t rows, columns;
  };
  using Members = llvm::ArrayRef<size_t>;

  static Shape shapeAlone(kern::LaunchOp launch);
  void add(kern::LaunchOp launch);
  llvm::SmallSetVector<size_t, 8> dependencies(size_t number);
  void link(Chain *first, Chain *second);
  void settle(Chain *chain);
  bool waitsFor(Chain *chain, llvm::ArrayRef<Chain *> targets);
  std::optional<Shape> shapeOf(Members members);
  int64_t widen(Members members, int64_t columns);
  std::string refuse(Chain *own, Chain *other);
  std::string tooDear(Members members, Shape shape);
  bool widerFollows(Chain *chain);
  llvm::SmallVector<size_t> merged(Chain *a, Chain *b);
  Chain *join(Chain *into, Chain *own);
  llvm::SmallVector<size_t> early(Chain *chain);
  llvm::SmallVector<size_t> late(Chain *chain);
  llvm::SmallVector<size_t> eager(Chain *chain);
  Chain *split(Chain *chain, Members apart, llvm::StringRef why);
  void coarsen(Chain *chain, llvm::function_ref<bool()> wanted);
  bool waitsBeside(Chain *chain);
  int64_t weightBytes(Members members);

  int64_t maxSerial, maxBytes;
  llvm::SmallVector<kern::LaunchOp> launches;
  std::vector<Touched> touched;
  /// Launches that each waits for, and that wait for it.
  std::vector<llvm::SmallSetVector<size_t, 8>> producers, consumers;
  llvm::SmallVector<Chain *> chainOf;
  std::vector<std::unique_ptr<Chain>> chains;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<kern::LaunchOp>> allReaders;
  llvm::DenseMap<mlir::Value, size_t> writer;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<size_t>> readers;
  llvm::DenseMap<mlir::Attribute, size_t> stateUser;
};

} // namespace glm::passes

#endif // GLM_PASSES_CHAINS_H
