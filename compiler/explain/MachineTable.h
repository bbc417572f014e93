//===- MachineTable.h - What the cost model knows of machines ---*- C++ -*-===//
//
// Speeds, sizes and overheads of a machine, each with where the number comes
// from. The table is data: machines.json, which is part of the program, or a
// file of the same form. docs/explain.md gives the meaning of every field.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_EXPLAIN_MACHINETABLE_H
#define GLM_COMPILER_EXPLAIN_MACHINETABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace glm::explain {

/// A number and its origin: "measured", "datasheet" or "estimate", then how.
struct Figure {
  double value = 0;
  std::string source;

  bool isEstimate() const { return llvm::StringRef(source).starts_with("estimate"); }
};

/// `cards` equal cards. All figures are of one card.
struct Machine {
  std::string name;  // h200
  std::string about; // one line
  unsigned cards = 1;
  Figure memoryGiB;
  Figure memoryGBs;        // peak
  Figure memoryAchievable; // of the peak, 0..1
  Figure saturatingBlocks; // workgroups of 256 that reach the achievable rate
  Figure linkCopyGBs;      // host to card, copy engine
  Figure linkGatherGBs;    // host to card, read by a kernel
  Figure matrixTflops;     // bf16, peak
  Figure matrixAchievable;
  Figure vectorTflops; // fp32, peak
  Figure vectorAchievable;
  Figure launchUs;    // a node of a replayed graph
  Figure barrierUs;   // between the phases of one launch
  Figure stepUs;      // a launch that a block runs after another one
  Figure allReduceUs; // a small message; with several cards only

  /// Achievable bytes a microsecond.
  double bytesPerUs() const { return memoryGBs.value * memoryAchievable.value * 1e3; }
};

/// Name of a figure in the file, and the figure.
struct FigureField {
  const char *name;
  Figure Machine::*figure;
  bool isShare; // 0..1
};
llvm::ArrayRef<FigureField> figureFields();

/// Largest file of machines that is read, in bytes.
inline constexpr uint64_t kMaxMachineFileBytes = 1 << 20;

/// The machines in `text`. Errors begin with `path` and name the field, for
/// example "my.json: machines[0].launch_us.value: -1 is not more than 0". An
/// unknown field is an error.
llvm::Expected<std::vector<Machine>> parseMachines(llvm::StringRef text,
                                                   llvm::StringRef path);

/// The text of machines.json, which is part of the program.
llvm::StringRef builtinMachineText();

/// Its machines, in their order.
const std::vector<Machine> &builtinMachines();

/// `spec` is the name of a machine in the table, a file FILE.json that holds
/// one machine, or FILE.json:NAME. Of an unknown name, a UsageError that lists
/// the known ones.
llvm::Expected<Machine> findMachine(llvm::StringRef spec);

} // namespace glm::explain

#endif // GLM_COMPILER_EXPLAIN_MACHINETABLE_H
