//===- KernelTable.h - Operation to kernel ----------------------*- C++ -*-===//
//
// For each structured `glm` operation: which template implements it, with which
// parameters, over which grid, with which arguments. docs/spec/kernels.md is the
// same table in words. Rowwise operations have no row here: their kernel is their
// own region (LowerGlmToKern.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_KERNELTABLE_H
#define GLM_PASSES_KERNELTABLE_H

#include "passes/Parts.h"
#include "passes/Tensors.h"

#include <variant>

namespace glm::passes {

/// Rows of the step that an operation belongs to.
struct StepShape {
  int64_t sequences = 0; // S
  int64_t tokens = 0;    // N, tokens a sequence
  int64_t rows() const { return sequences * tokens; }
};

/// A state's base address followed, as two arguments, by its bytes a slot.
struct StateArg {
  mlir::FlatSymbolRefAttr state;
};
/// A tensor operand or result; `write` marks what the kernel writes, `split` what
/// a block touches of it, `counted` counters by which blocks tell, or wait for, what
/// is done (kern.launch).
struct TensorArg {
  mlir::Value value;
  bool write = false;
  Split split = {};
  bool counted = false;
};
/// The address of the pager.
struct PagerArg {};
using KernelArg = std::variant<TensorArg, StateArg, PagerArg, int64_t, float>;

struct KernelChoice {
  std::string op;           // docs/spec/kernels.md
  std::string templateName; // C++ template in compiler/codegen/templates
  llvm::SmallVector<int64_t> params;
  int64_t threads = 256;
  std::array<int64_t, 3> grid = {1, 1, 1};
  llvm::SmallVector<KernelArg> args; // after seqs, N, T
  int64_t rows = 0;                  // T
  std::array<int64_t, 2> parts = {0, 0}; // rows x columns; 0: one part
  // Columns may also be a multiple of .first that divides .second; the number is
  // then the last of `params`.
  std::optional<std::pair<int64_t, int64_t>> tiling;
  bool alone = false;  // shares its grid with no other kernel
  bool hungry = false; // needs more than 120 registers a work-item on a gfx1201
  int64_t weightBytes = 0;
  int64_t memoryBytes = 0;
  int64_t flops = 0;
};

/// Fails with a diagnostic when `op` has no kernel.
mlir::FailureOr<KernelChoice> chooseKernel(mlir::Operation *op,
                                           const StepShape &step,
                                           mlir::SymbolTable &symbols);

} // namespace glm::passes

#endif // GLM_PASSES_KERNELTABLE_H
