//===- Report.h - What glmc explain prints ----------------------*- C++ -*-===//
//
// A plan on a machine, as text for people and as JSON for programs.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_EXPLAIN_REPORT_H
#define GLM_COMPILER_EXPLAIN_REPORT_H

#include "compiler/explain/CostModel.h"
#include "compiler/plan/PlanSummary.h"

#include "llvm/Support/raw_ostream.h"

namespace glm::explain {

/// A plan and what its steps cost. Refers to `plan`, which must outlive it.
struct Report {
  const plan::Plan *plan = nullptr;
  planfile::PlanSummary summary;
  Assumptions assumptions;
  std::vector<EntryCost> entries; // as in the plan

  /// Fails as costOf does.
  static llvm::Expected<Report> of(const plan::Plan &plan, Assumptions assumptions);

  /// The index of the entry called `name`; of the first one when `name` is empty and
  /// there is no decode_b1. Else a UsageError that lists the entries.
  llvm::Expected<size_t> find(llvm::StringRef name) const;
};

/// Where all weights, one full sequence's state and the arena would lie.
struct Room {
  double needBytes = 0, haveBytes = 0; // of all cards
  double expertShare = 1; // of the experts' bytes that fit beside everything else
};
Room roomOf(const Report &report);

struct TextOptions {
  bool kernels = false;  // a row a kernel instead of one an op
  bool ops = false;      // the kernels of each kind of layer
  bool launches = false; // every device launch
};

/// The tables of one entry.
void printEntry(llvm::raw_ostream &os, const Report &report, size_t entry,
                const TextOptions &options);

/// The same step on the other built-in machines, in one line. Fails as costOf does.
llvm::Error printElsewhere(llvm::raw_ostream &os, const Report &report, size_t entry);

/// One line an entry.
void printEntries(llvm::raw_ostream &os, const Report &report);

/// Every figure of the built-in machines with its source.
void printMachines(llvm::raw_ostream &os);

/// planfile::toJson with `machine`, `hit_rate` and a `prediction` in each entry; with
/// `launches` also every device launch.
llvm::json::Object toJson(const Report &report, bool launches);

} // namespace glm::explain

#endif // GLM_COMPILER_EXPLAIN_REPORT_H
