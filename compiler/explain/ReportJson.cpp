//===- ReportJson.cpp - glmc explain --json -------------------------------===//

#include "compiler/explain/LayerKinds.h"
#include "compiler/explain/Report.h"

#include "runtime/plan/plan_generated.h"

#include "llvm/ADT/STLExtras.h"

using namespace glm;
using namespace glm::explain;
using llvm::json::Array;
using llvm::json::Object;

static Object timeJson(const Time &t) {
  return Object{{"memory", t.memory},        {"link", t.link},     {"compute", t.compute},
                {"small_grid", t.smallGrid}, {"launch", t.launch}, {"barrier", t.barrier},
                {"step", t.step},            {"all_reduce", t.allReduce}, {"total", t.total()}};
}

static void addWork(Object &object, const Work &work, const Assumptions &a) {
  object["weight_bytes"] = work.weightBytes;
  object["expert_bytes"] = work.expertBytes;
  object["memory_bytes"] = work.memoryBytes;
  object["link_bytes_a_card"] = linkBytes(work, a);
  object["flops"] = work.flops;
}

static Object machineJson(const Machine &m) {
  Object object{{"name", m.name}, {"about", m.about}, {"cards", m.cards}};
  for (const FigureField &field : figureFields())
    if (const Figure &figure = m.*field.figure; figure.value > 0)
      object[field.name] = Object{{"value", figure.value}, {"source", figure.source}};
  return object;
}

static Array launchesJson(const Report &report, const EntryCost &cost,
                          const plan::Entry &entry) {
  Array list;
  for (const DeviceLaunch &device : cost.devices) {
    Array members;
    for (unsigned i = device.first; i < device.first + device.count; ++i) {
      const LaunchCost &l = cost.launches[i];
      const flatbuffers::String *origin = entry.launches()->Get(i)->origin();
      Object member{{"launch", i},
                    {"kernel", report.plan->kernels()->Get(l.kernel)->name()->str()},
                    {"origin", origin ? origin->str() : ""},
                    {"phase", l.phase},
                    {"us", l.time.total()}};
      addWork(member, l.work, report.assumptions);
      members.push_back(std::move(member));
    }
    list.push_back(
        Object{{"kernel", report.plan->kernels()->Get(device.kernel)->name()->str()},
               {"phases", device.phases},
               {"blocks_a_card", device.blocks},
               {"us", timeJson(device.time)},
               {"members", std::move(members)}});
  }
  return list;
}

static Object predictionJson(const Report &report, size_t index, bool launches) {
  const EntryCost &cost = report.entries[index];
  Array kernels, layers;
  for (const NamedCost &row : costsByOp(*report.plan, cost, /*byKernel=*/true)) {
    Object kernel{
        {"kernel", row.name}, {"launches", row.launches}, {"us", timeJson(row.time)}};
    addWork(kernel, row.work, report.assumptions);
    kernels.push_back(std::move(kernel));
  }
  for (const LayerKind &kind : layerKinds(*report.plan, cost)) {
    Object counts;
    for (const auto &[name, count] : kind.kernels)
      counts[name] = count;
    Object layer{{"name", kind.name()},       {"layers", Array(kind.layers)},
                 {"launches", kind.launches}, {"device_launches", kind.devices},
                 {"us", timeJson(kind.time)}, {"kernels_of_a_layer", std::move(counts)}};
    addWork(layer, kind.work, report.assumptions);
    layers.push_back(std::move(layer));
  }
  Object object{{"us", timeJson(cost.time)},
                {"floor_us", cost.floorUs},
                {"rows", cost.rows},
                {"tokens_per_second", cost.tokensPerSecond()},
                {"device_launches", cost.devices.size()},
                {"kernels", std::move(kernels)},
                {"layer_kinds", std::move(layers)}};
  if (launches)
    object["launch_list"] =
        launchesJson(report, cost, *report.plan->entries()->Get(index));
  return object;
}

Object explain::toJson(const Report &report, bool launches) {
  Object root = planfile::toJson(report.summary);
  root["machine"] = machineJson(report.assumptions.machine);
  root["hit_rate"] = report.assumptions.hitRate;
  Room room = roomOf(report);
  root["room"] = Object{{"need_bytes", room.needBytes},
                        {"have_bytes", room.haveBytes},
                        {"expert_share", room.expertShare}};
  for (auto [i, entry] : llvm::enumerate(*root.getArray("entries")))
    (*entry.getAsObject())["prediction"] = predictionJson(report, i, launches);
  return root;
}
