//===- PlanSummary.h - The numbers of a plan --------------------*- C++ -*-===//
//
// What `glmc compile` prints and `glmc explain` begins with: counts and bytes that
// follow from the plan's tables alone.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_PLANSUMMARY_H
#define GLM_COMPILER_PLAN_PLANSUMMARY_H

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glm::plan {
struct Plan;
} // namespace glm::plan

namespace glm::planfile {

struct KernelRow {
  std::string op;
  uint64_t launches = 0, weightBytes = 0, memoryBytes = 0, flops = 0;
};

struct EntrySummary {
  std::string name;
  uint64_t launches = 0;   // of the device
  uint64_t operations = 0; // launches with those inside groups: as if unfused
  uint64_t weightBytes = 0; // read by one step
  uint64_t memoryBytes = 0; // activations and state, read and written
  uint64_t flops = 0;
  uint64_t arenaBytes = 0;
  std::vector<KernelRow> ops; // by bytes, largest first
};

/// Routed experts that steps page (docs/spec/paging.md): a row is one expert of one
/// layer, as it lies in a slot.
struct PagedSummary {
  uint64_t layers = 0, rows = 0, rowBytes = 0;
  uint64_t rowsPerToken = 0; // that a decoded token chooses, in all layers
  uint64_t leastSlots = 0;   // that one layer of the largest step may ask for
  uint64_t stepTokens = 0;   // of that step
};

struct PlanSummary {
  std::string math, fuse;
  uint64_t weightTotal = 0;           // bytes of all weights
  bool hasWeights = true;             // false: compiled with --weights none
  uint64_t expertTotal = 0;           // the part of it in tables of experts
  std::optional<PagedSummary> paged;  // nullopt: experts are resident
  uint64_t stateBytesPerSequence = 0; // constant part
  double stateBytesPerToken = 0;      // growth
  uint64_t maxContext = 0;
  unsigned ranks = 1;                 // all bytes and operations are of one
  std::vector<EntrySummary> entries;  // as in the plan

  /// The decode entry of one sequence; nullptr when the plan has none.
  const EntrySummary *decode() const;
};

PlanSummary summarise(const plan::Plan &plan);

/// 1234567 -> "1,234,567".
std::string grouped(uint64_t n);

/// `--json`: launches, weight_bytes, state_bytes_per_sequence,
/// state_bytes_per_token of one decoded token, and the entries.
llvm::json::Object toJson(const PlanSummary &summary);

/// Three lines for people, and more for several ranks, for paged experts and for a plan
/// without weights.
std::string toText(const PlanSummary &summary);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_PLANSUMMARY_H
