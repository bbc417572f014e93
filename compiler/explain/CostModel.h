//===- CostModel.h - Predicted time of a step -------------------*- C++ -*-===//
//
// What one step of a plan moves and computes, and how long a machine should
// take. Work comes from the plan's tables alone; nothing here knows a model.
// The model of time is docs/explain.md. It is no simulation: caches, clocks and
// the host are left out, and so is what overlaps between launches.
//
// Units: bytes, flops, microseconds.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_EXPLAIN_COSTMODEL_H
#define GLM_COMPILER_EXPLAIN_COSTMODEL_H

#include "compiler/explain/MachineTable.h"

namespace glm::plan {
struct Entry;
struct Plan;
} // namespace glm::plan

namespace glm::explain {

/// What a step is assumed to meet.
struct Assumptions {
  Machine machine;
  /// Share of the routed experts' bytes that are in the cards' memory, 0..1.
  /// The rest comes over the link.
  double hitRate = 1;
};

/// Of the whole step, before it is split over cards.
struct Work {
  uint64_t weightBytes = 0;
  uint64_t expertBytes = 0; // the part of weightBytes from tables of experts
  uint64_t memoryBytes = 0; // activations and state, read and written
  uint64_t flops = 0;

  uint64_t bytes() const { return weightBytes + memoryBytes; }
  Work &operator+=(const Work &other);
};

/// Microseconds by what bounds them; a phase counts as what takes it longest.
struct Time {
  double memory = 0, link = 0, compute = 0;
  double smallGrid = 0; // what memory or compute lose to too few blocks
  double launch = 0, barrier = 0, step = 0, allReduce = 0;

  double total() const {
    return memory + link + compute + smallGrid + launch + barrier + step + allReduce;
  }
  Time &operator+=(const Time &other);
  Time operator*(double factor) const;
};

/// A layer as origins name it: `layers.3.mlp.gate` is number 3 of the stack
/// `layers`.
struct Layer {
  std::string stack;
  unsigned number = 0;

  auto operator<=>(const Layer &) const = default;
};
/// The first number that follows a name in an origin; nullopt when there is
/// none.
std::optional<Layer> layerOfOrigin(llvm::StringRef origin);

/// A launch of the plan.
struct LaunchCost {
  unsigned kernel = 0;  // into Plan.kernels
  int layer = -1;       // into EntryCost.layers; -1: in no layer
  unsigned phase = 0;   // of its device launch
  bool isSplit = false; // over the cards
  Work work;
  Time time; // its part of the device launch
};

/// Launches `first`..`first + count - 1`, which run as one grid.
struct DeviceLaunch {
  unsigned first = 0, count = 1;
  unsigned kernel = 0; // into Plan.kernels: the launch's, or the group's
  unsigned phases = 1;
  uint64_t blocks = 0; // of one card, in the widest phase
  Time time;
};

struct EntryCost {
  std::string name;
  uint64_t rows = 0;                 // tokens of the step
  std::vector<LaunchCost> launches;  // as in the plan
  std::vector<DeviceLaunch> devices; // in order
  std::vector<Layer> layers;         // in order of appearance
  Work work;
  Time perLayer;      // what a layer takes besides its launches: all-reduces
  Time time;          // of everything
  double floorUs = 0; // all bytes once, at the achievable rate, and nothing else

  /// 0 when the step launches nothing.
  double tokensPerSecond() const {
    return time.total() > 0 ? rows / time.total() * 1e6 : 0;
  }
};

/// `assumptions` for this plan: one of several ranks is what a card runs, and
/// leaves nothing to divide among the machine's cards.
Assumptions forPlan(const plan::Plan &plan, Assumptions assumptions);

/// Bytes that cross the link to each card.
double linkBytes(const Work &work, const Assumptions &assumptions);

/// The cost of `entry`, which is part of `plan`. Fails when a group names
/// launches or kernels that are not there; the error names entry and group.
llvm::Expected<EntryCost> costOf(const plan::Plan &plan, const plan::Entry &entry,
                                 const Assumptions &assumptions);

} // namespace glm::explain

#endif // GLM_COMPILER_EXPLAIN_COSTMODEL_H
