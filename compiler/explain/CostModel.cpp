//===- CostModel.cpp - Predicted time of a step ---------------------------===//

#include "compiler/explain/CostModel.h"

#include "compiler/plan/PlanSummary.h"
#include "runtime/plan/collectives.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using namespace glm;
using namespace glm::explain;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

Work &Work::operator+=(const Work &other) {
  weightBytes += other.weightBytes, expertBytes += other.expertBytes;
  memoryBytes += other.memoryBytes, flops += other.flops;
  return *this;
}

Time &Time::operator+=(const Time &o) {
  memory += o.memory, link += o.link, compute += o.compute;
  smallGrid += o.smallGrid, launch += o.launch;
  barrier += o.barrier, step += o.step, allReduce += o.allReduce;
  return *this;
}

Time Time::operator*(double f) const {
  return {.memory = memory * f,
          .link = link * f,
          .compute = compute * f,
          .smallGrid = smallGrid * f,
          .launch = launch * f,
          .barrier = barrier * f,
          .step = step * f,
          .allReduce = allReduce * f};
}

std::optional<Layer> explain::layerOfOrigin(StringRef origin) {
  llvm::SmallVector<StringRef> parts;
  origin.split(parts, '.');
  for (size_t i = 1; i < parts.size(); ++i)
    if (unsigned number;
        llvm::all_of(parts[i], llvm::isDigit) && !parts[i].getAsInteger(10, number))
      return Layer{parts[i - 1].str(), number};
  return std::nullopt;
}

Assumptions explain::forPlan(const plan::Plan &plan, Assumptions assumptions) {
  if (plan.ranks() > 1)
    assumptions.machine.cards = 1;
  return assumptions;
}

double explain::linkBytes(const Work &work, const Assumptions &a) {
  return work.expertBytes * (1 - a.hitRate) / a.machine.cards;
}

namespace {

/// One phase of a device launch.
struct Phase {
  uint64_t blocks = 0;
  uint64_t steps = 1;                // launches that a block runs in order, the most
  llvm::SmallVector<size_t> members; // into EntryCost.launches
};

class Model {
public:
  Model(const plan::Plan &plan, const plan::Entry &entry, const Assumptions &a)
      : plan(plan), entry(entry), a(a) {}

  Expected<EntryCost> run() {
    cost.name = entry.name()->str();
    cost.rows = uint64_t(entry.sequences()) * entry.tokens();
    for (const plan::Launch *launch : *entry.launches())
      addLaunch(*launch);
    if (Error e = addDevices())
      return e;
    if (a.machine.cards > 1)
      addAllReduces();
    cost.floorUs = floorUs();
    return std::move(cost);
  }

private:
  const plan::Kernel &kernelOf(const LaunchCost &l) const {
    return *plan.kernels()->Get(l.kernel);
  }

  /// True for kernels on the matrix unit: the templates for many rows.
  bool onMatrixUnit(const LaunchCost &l) const {
    const plan::Kernel &kernel = kernelOf(l);
    StringRef op = kernel.op()->c_str();
    return StringRef(kernel.name()->c_str()).split('_').first.ends_with("Tile") ||
           op == "index_scores" || op == "sparse_attention" ||
           op == "attention_parts";
  }

  void addLaunch(const plan::Launch &launch) {
    LaunchCost l;
    l.kernel = launch.kernel();
    l.work = {launch.weight_bytes(), 0, launch.memory_bytes(), launch.flops()};
    if (launch.args())
      for (const plan::Arg *arg : *launch.args()) {
        bool isWeight = arg->kind() == plan::ArgKind::WEIGHT;
        l.isSplit |= isWeight || arg->kind() == plan::ArgKind::STATE;
        if (isWeight && plan::IsExperts(plan.weights()->Get(arg->index())->form()))
          l.work.expertBytes = l.work.weightBytes;
      }
    // Pointwise work is on values that every card has.
    l.isSplit &= StringRef(kernelOf(l).op()->c_str()) != "rowwise";
    if (launch.origin())
      if (auto layer = layerOfOrigin(launch.origin()->c_str()))
        l.layer = indexOf(*layer);
    cost.work += l.work;
    cost.launches.push_back(l);
  }

  int indexOf(const Layer &layer) {
    auto [it, isNew] = layerIndex.try_emplace(layer, cost.layers.size());
    if (isNew)
      cost.layers.push_back(layer);
    return it->second;
  }

  Error addDevices() {
    uint32_t next = 0, number = 0;
    if (entry.groups())
      for (const plan::Group *group : *entry.groups()) {
        auto fail = [&](const Twine &text) {
          return llvm::createStringError("entry " + cost.name + ": groups[" +
                                         Twine(number) + "]: " + text);
        };
        if (group->first() < next || group->first() > cost.launches.size())
          return fail("begins at launch " + Twine(group->first()) +
                      ", expected one from " + Twine(next) + " to " +
                      Twine(cost.launches.size()));
        if (group->kernel() >= plan.kernels()->size())
          return fail("kernel " + Twine(group->kernel()) + " of " +
                      Twine(plan.kernels()->size()));
        while (next < group->first())
          addAlone(next++);
        if (Error e = addGroup(*group, next, fail))
          return e;
        ++number;
      }
    while (next < cost.launches.size())
      addAlone(next++);
    return Error::success();
  }

  /// Blocks of one card.
  uint64_t blocksOf(uint64_t blocks, bool isSplit) const {
    return isSplit ? llvm::divideCeil(blocks, a.machine.cards) : blocks;
  }

  void addAlone(uint32_t index) {
    const auto &grid = *entry.launches()->Get(index)->grid();
    uint64_t blocks = 1;
    for (uint32_t extent : grid)
      blocks *= extent;
    const LaunchCost &l = cost.launches[index];
    if (plan::IsCollective(kernelOf(l)))
      return addCollective(index);
    Phase phase{blocksOf(blocks, l.isSplit), 1, {index}};
    addDevice(index, 1, l.kernel, phase);
  }

  /// Cards send what they have and get as much.
  void addCollective(uint32_t index) {
    LaunchCost &l = cost.launches[index];
    l.time = {.link = l.work.memoryBytes / 2 / (a.machine.linkCopyGBs.value * 1e3),
              .allReduce = a.machine.allReduceUs.value};
    DeviceLaunch device;
    device.first = index, device.kernel = l.kernel, device.blocks = 1;
    device.time = l.time;
    cost.time += device.time;
    cost.devices.push_back(device);
  }

  Error addGroup(const plan::Group &group, uint32_t &next,
                 llvm::function_ref<Error(const Twine &)> fail) {
    llvm::SmallVector<Phase> phases;
    const uint32_t first = next;
    uint32_t last = 0; // phase of the chain before
    // Phases up to this begin while many blocks of one before still run, and count as
    // part of that.
    uint32_t beside = 0;
    constexpr uint64_t kMany = 128;
    if (group.chains())
      for (uint32_t c = 0; c < group.chains()->size(); ++c) {
        const plan::Chain *chain = group.chains()->Get(c);
        if (chain->launches() > cost.launches.size() - next)
          return fail("covers more launches than the " + Twine(cost.launches.size()) +
                      " of the entry");
        if (!phases.empty() && chain->phase() < last)
          return fail("phase " + Twine(chain->phase()) + " after " + Twine(last));
        if (phases.empty() || (chain->phase() != last && chain->phase() > beside))
          phases.emplace_back();
        last = chain->phase();
        if (group.slack() && c < group.slack()->size() &&
            uint64_t(chain->rows()) * chain->columns() >= kMany)
          beside = std::max(beside, last + group.slack()->Get(c));
        phases.back().steps =
            std::max<uint64_t>(phases.back().steps, chain->launches());
        bool isSplit = false;
        for (uint32_t end = next + chain->launches(); next < end; ++next) {
          cost.launches[next].phase = phases.size() - 1;
          isSplit |= cost.launches[next].isSplit;
          phases.back().members.push_back(next);
        }
        phases.back().blocks +=
            blocksOf(uint64_t(chain->rows()) * chain->columns(), isSplit);
      }
    if (next == first)
      return fail("has no launch");
    addDevice(first, next - first, group.kernel(), phases);
    return Error::success();
  }

  /// Achievable part of the machine with this many blocks.
  double occupancy(uint64_t blocks) const {
    return std::min(1.0,
                    std::max<uint64_t>(blocks, 1) / a.machine.saturatingBlocks.value);
  }

  /// What memory, link and compute each take for one launch.
  Time roofs(const LaunchCost &l, uint64_t blocks) const {
    const Machine &m = a.machine;
    double cards = l.isSplit ? m.cards : 1, part = occupancy(blocks);
    double missed = linkBytes(l.work, a);
    Time t;
    // A missing expert is written before it is read.
    t.memory = (l.work.bytes() / cards + missed) / (m.bytesPerUs() * part);
    t.link = missed / (m.linkGatherGBs.value * 1e3);
    double tflops = onMatrixUnit(l) ? m.matrixTflops.value * m.matrixAchievable.value
                                    : m.vectorTflops.value * m.vectorAchievable.value;
    t.compute = l.work.flops / cards / (tflops * 1e6 * part);
    return t;
  }

  /// The longest of the three, as itself and what it loses to a small grid.
  Time longest(const Time &t, uint64_t blocks) const {
    double part = occupancy(blocks);
    Time longest;
    if (t.link > t.memory && t.link > t.compute) {
      longest.link = t.link;
      return longest;
    }
    bool isMemory = t.memory >= t.compute;
    double us = isMemory ? t.memory : t.compute;
    (isMemory ? longest.memory : longest.compute) = us * part;
    longest.smallGrid = us * (1 - part);
    return longest;
  }

  /// What a phase of few blocks waits for, step by step; many blocks hide it.
  Time stepsOf(const Phase &phase, bool waits) const {
    if (occupancy(phase.blocks) >= 1)
      return {};
    return {.step = (phase.steps - !waits) * a.machine.stepUs.value};
  }

  void addDevice(uint32_t first, uint32_t count, uint32_t kernel,
                 llvm::ArrayRef<Phase> phases) {
    DeviceLaunch device;
    device.first = first, device.count = count, device.kernel = kernel;
    device.phases = phases.size();
    Time overhead{.launch = a.machine.launchUs.value,
                  .barrier = (phases.size() - 1) * a.machine.barrierUs.value};
    for (const Phase &phase : phases) {
      device.blocks = std::max(device.blocks, phase.blocks);
      Time sum;
      double alone = 0; // sum of what the members would take by themselves
      for (size_t i : phase.members) {
        Time t = roofs(cost.launches[i], phase.blocks);
        sum += t;
        alone += longest(t, phase.blocks).total();
      }
      Time time = longest(sum, phase.blocks);
      Time steps = stepsOf(phase, &phase != phases.begin());
      for (size_t i : phase.members) {
        double own = longest(roofs(cost.launches[i], phase.blocks), phase.blocks).total();
        cost.launches[i].time = time * (alone > 0 ? own / alone : 0);
        cost.launches[i].time += overhead * (1.0 / count);
        cost.launches[i].time += steps * (1.0 / phase.members.size());
      }
      device.time += time;
      device.time += steps;
    }
    device.time += overhead;
    cost.time += device.time;
    cost.devices.push_back(device);
  }

  /// Two a layer: after the attention's and after the MLP's last product.
  void addAllReduces() {
    uint64_t element = plan.math()->string_view() == "fp32" ? 4 : 2;
    uint64_t bytes = cost.rows * plan.model()->hidden() * element;
    double one =
        a.machine.allReduceUs.value + bytes / (a.machine.linkCopyGBs.value * 1e3);
    cost.perLayer.allReduce = 2 * one;
    cost.time += cost.perLayer * cost.layers.size();
  }

  double floorUs() const {
    Time floor;
    for (const LaunchCost &l : cost.launches)
      floor += Time{.memory = l.work.bytes() / (l.isSplit ? double(a.machine.cards) : 1) /
                              a.machine.bytesPerUs(),
                    .link = linkBytes(l.work, a) / (a.machine.linkGatherGBs.value * 1e3)};
    return std::max(floor.memory, floor.link);
  }

  const plan::Plan &plan;
  const plan::Entry &entry;
  const Assumptions &a;
  EntryCost cost;
  std::map<Layer, int> layerIndex; // into cost.layers
};

} // namespace

Expected<EntryCost> explain::costOf(const plan::Plan &plan, const plan::Entry &entry,
                                    const Assumptions &assumptions) {
  return Model(plan, entry, assumptions).run();
}
