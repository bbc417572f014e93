//===- LayerKinds.cpp - Costs by kernel and by layer ----------------------===//

#include "compiler/explain/LayerKinds.h"

#include "runtime/plan/plan_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace glm;
using namespace glm::explain;

std::vector<NamedCost> explain::costsByOp(const plan::Plan &plan, const EntryCost &cost,
                                          bool byKernel) {
  std::map<std::string, NamedCost> rows;
  for (const LaunchCost &l : cost.launches) {
    const plan::Kernel *kernel = plan.kernels()->Get(l.kernel);
    std::string name = byKernel ? kernel->name()->str() : kernel->op()->str();
    NamedCost &row = rows[name];
    row.name = name;
    ++row.launches;
    row.work += l.work;
    row.time += l.time;
  }
  std::vector<NamedCost> sorted;
  for (auto &[name, row] : rows)
    sorted.push_back(std::move(row));
  llvm::sort(sorted, [](const NamedCost &a, const NamedCost &b) {
    double left = a.time.total(), right = b.time.total();
    return left != right ? left > right : a.name < b.name;
  });
  return sorted;
}

std::string LayerKind::name(bool all) const {
  if (layers.empty())
    return "outside layers";
  std::vector<std::string> runs;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end + 1 < layers.size() && layers[end + 1] == layers[end] + 1)
      ++end;
    std::string run = std::to_string(layers[i]);
    if (end > i)
      run += (end == i + 1 ? ", " : "-") + std::to_string(layers[end]);
    runs.push_back(std::move(run));
    i = end + 1;
  }
  if (!all && runs.size() > 4) {
    runs.erase(runs.begin() + 2, runs.end() - 1);
    runs.insert(runs.begin() + 2, "...");
  }
  llvm::StringRef what = stack;
  if (layers.size() == 1)
    what.consume_back("s");
  return std::to_string(layers.size()) + " " + what.str() + ": " + llvm::join(runs, ", ");
}

std::vector<LayerKind> explain::layerKinds(const plan::Plan &plan,
                                           const EntryCost &cost) {
  // One kind for each layer, and one for what is outside; then equal ones join.
  std::vector<LayerKind> each(cost.layers.size() + 1);
  auto at = [&](const LaunchCost &l) -> LayerKind & {
    return each[l.layer < 0 ? cost.layers.size() : l.layer];
  };
  for (auto [i, layer] : llvm::enumerate(cost.layers)) {
    each[i].stack = layer.stack;
    each[i].layers = {layer.number};
    each[i].time += cost.perLayer;
  }
  for (const LaunchCost &l : cost.launches) {
    LayerKind &kind = at(l);
    ++kind.launches;
    ++kind.kernels[plan.kernels()->Get(l.kernel)->name()->str()];
    kind.work += l.work;
    kind.time += l.time;
  }
  for (const DeviceLaunch &device : cost.devices)
    ++at(cost.launches[device.first]).devices;

  std::vector<LayerKind> kinds;
  std::map<std::tuple<bool, std::string, std::map<std::string, uint64_t>>, size_t> index;
  for (LayerKind &one : each) {
    if (one.launches == 0)
      continue;
    auto [it, isNew] = index.try_emplace(
        std::tuple(one.layers.empty(), one.stack, one.kernels), kinds.size());
    if (isNew) {
      kinds.push_back(std::move(one));
      continue;
    }
    LayerKind &kind = kinds[it->second];
    llvm::append_range(kind.layers, one.layers);
    kind.launches += one.launches;
    kind.devices += one.devices;
    kind.work += one.work;
    kind.time += one.time;
  }
  for (LayerKind &kind : kinds)
    llvm::sort(kind.layers);
  return kinds;
}

std::vector<std::vector<std::string>>
explain::distinctOps(const plan::Plan &plan, const EntryCost &cost,
                     llvm::ArrayRef<LayerKind> kinds) {
  std::map<std::string, std::string> opOf; // of a kernel
  for (const plan::Kernel *kernel : *plan.kernels())
    opOf[kernel->name()->str()] = kernel->op()->str();
  std::map<std::string, size_t> kindsWith; // an op
  size_t ofLayers = 0;
  auto opsOf = [&](const LayerKind &kind) {
    std::set<std::string> ops;
    for (const auto &[kernel, count] : kind.kernels)
      ops.insert(opOf[kernel]);
    return ops;
  };
  for (const LayerKind &kind : kinds)
    if (!kind.layers.empty()) {
      ++ofLayers;
      for (const std::string &op : opsOf(kind))
        ++kindsWith[op];
    }
  std::vector<std::vector<std::string>> distinct(kinds.size());
  const auto rows = costsByOp(plan, cost, /*byKernel=*/false);
  for (auto [kind, ops] : llvm::zip(kinds, distinct)) {
    if (kind.layers.empty())
      continue;
    auto there = opsOf(kind);
    for (const NamedCost &row : rows)
      if (there.count(row.name) && kindsWith[row.name] < ofLayers)
        ops.push_back(row.name);
  }
  return distinct;
}
