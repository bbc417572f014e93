//===- ReportText.cpp - glmc explain for people ---------------------------===//

#include "compiler/UsageError.h"
#include "compiler/explain/LayerKinds.h"
#include "compiler/explain/Report.h"

#include "runtime/plan/plan_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <charconv>
#include <cmath>

using namespace glm;
using namespace glm::explain;
using glm::planfile::grouped;
using llvm::formatv;

llvm::Expected<Report> Report::of(const plan::Plan &plan, Assumptions assumptions) {
  Report report{&plan, planfile::summarise(plan),
                forPlan(plan, std::move(assumptions)), {}};
  for (const plan::Entry *entry : *plan.entries()) {
    auto cost = costOf(plan, *entry, report.assumptions);
    if (!cost)
      return cost.takeError();
    report.entries.push_back(std::move(*cost));
  }
  return report;
}

llvm::Expected<size_t> Report::find(llvm::StringRef name) const {
  for (auto [i, entry] : llvm::enumerate(entries))
    if (entry.name == (name.empty() ? "decode_b1" : name))
      return i;
  if (name.empty())
    return 0;
  return usageError(
      "--entry " + name + ": the plan has " +
      llvm::join(llvm::map_range(entries, [](const EntryCost &e) { return e.name; }),
                 ", "));
}

Room explain::roomOf(const Report &report) {
  const planfile::PlanSummary &s = report.summary;
  const Machine &m = report.assumptions.machine;
  uint64_t arena = 0;
  for (const planfile::EntrySummary &entry : s.entries)
    arena = std::max(arena, entry.arenaBytes);
  Room room;
  room.needBytes = double(s.weightTotal) + s.stateBytesPerSequence +
                   s.stateBytesPerToken * s.maxContext + double(arena) * m.cards;
  room.haveBytes = m.memoryGiB.value * (1 << 30) * m.cards;
  if (room.needBytes > room.haveBytes && s.expertTotal > 0)
    room.expertShare =
        std::max(0.0, 1 - (room.needBytes - room.haveBytes) / double(s.expertTotal));
  return room;
}

/// 1234.56 -> "1,234.6".
static std::string number(double value, int decimals = 1) {
  double scale = std::pow(10, decimals);
  auto scaled = static_cast<uint64_t>(std::llround(value * scale));
  uint64_t unit = static_cast<uint64_t>(scale);
  std::string text = grouped(scaled / unit);
  if (decimals == 0)
    return text;
  std::string rest = std::to_string(scaled % unit);
  return text + "." + std::string(decimals - rest.size(), '0') + rest;
}
static std::string mega(double bytes) { return number(bytes / 1e6); }
/// "174.8 GB", "14.3 MB".
static std::string size(double bytes) {
  return bytes < 1e9 ? mega(bytes) + " MB" : number(bytes / 1e9) + " GB";
}
static std::string share(double part, double whole) {
  return number(whole > 0 ? 100 * part / whole : 0);
}

/// The shortest form: 0.9 -> "0.9", 20 -> "20".
static std::string plain(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), value).ptr);
}
/// With a star when it is an estimate.
static std::string figure(const Figure &f) {
  return plain(f.value) + (f.isEstimate() ? "*" : "");
}

static void printMachine(llvm::raw_ostream &os, const Machine &m, unsigned ranks) {
  auto part = [](const Figure &peak, const Figure &share) {
    return number(peak.value * share.value, 0) + " of " + number(peak.value, 0) +
           (share.isEstimate() || peak.isEstimate() ? "*" : "");
  };
  os << m.name << ": " << m.about
     << (m.cards > 1 || ranks > 1 ? "; of one card:\n" : "\n")
     << "  memory " << figure(m.memoryGiB) << " GiB, "
     << part(m.memoryGBs, m.memoryAchievable) << " GB/s from "
     << figure(m.saturatingBlocks) << " blocks on; link " << figure(m.linkGatherGBs)
     << " GB/s; bf16 matrix " << part(m.matrixTflops, m.matrixAchievable) << ", vector "
     << part(m.vectorTflops, m.vectorAchievable) << " TFLOP/s\n"
     << "  launch " << figure(m.launchUs) << " us, barrier " << figure(m.barrierUs)
     << " us, step " << figure(m.stepUs) << " us";
  if (m.cards > 1 || ranks > 1)
    os << ", all-reduce " << figure(m.allReduceUs) << " us";
  os << "   (* an estimate; --machines gives every source)\n";
}

static void printOps(llvm::raw_ostream &os, const Report &report, const EntryCost &cost,
                     bool byKernel) {
  const Assumptions &a = report.assumptions;
  const bool link = a.hitRate < 1;
  auto rows = costsByOp(*report.plan, cost, byKernel);
  size_t width = 16;
  for (const NamedCost &row : rows)
    width = std::max(width, row.name.size());
  auto line = [&](llvm::StringRef name, llvm::StringRef launches, llvm::StringRef weight,
                  llvm::StringRef memory, llvm::StringRef over, llvm::StringRef flops,
                  llvm::StringRef us, llvm::StringRef percent) {
    os << llvm::left_justify(name, width) << llvm::right_justify(launches, 10)
       << llvm::right_justify(weight, 12) << llvm::right_justify(memory, 22);
    if (link)
      os << llvm::right_justify(over, 10);
    os << llvm::right_justify(flops, 10) << llvm::right_justify(us, 11)
       << llvm::right_justify(percent, 7) << "\n";
  };
  auto row = [&](llvm::StringRef name, uint64_t launches, const Work &work,
                 const Time &time) {
    line(name, grouped(launches), mega(work.weightBytes), mega(work.memoryBytes),
         mega(linkBytes(work, a)), number(work.flops / 1e9, 2), number(time.total()),
         share(time.total(), cost.time.total()));
  };
  line(byKernel ? "kernel" : "op", "operations", "weights MB", "state+activations MB",
       "link MB", "Gflop", "us", "%");
  for (const NamedCost &r : rows)
    row(r.name, r.launches, r.work, r.time);
  if (Time all = cost.perLayer * cost.layers.size(); all.total() > 0)
    line("(all-reduce)", grouped(2 * cost.layers.size()), "", "", "", "",
         number(all.total()), share(all.total(), cost.time.total()));
  row("total", cost.launches.size(), cost.work, cost.time);
}

static void printBound(llvm::raw_ostream &os, const Report &report,
                       const EntryCost &cost) {
  const Time &t = cost.time;
  os << "predicted  " << number(t.total() / 1e3, 2) << " ms a step, "
     << number(cost.tokensPerSecond()) << " tok/s; with no overhead at all "
     << number(cost.floorUs / 1e3, 2) << " ms\n"
     << "bound by   ";
  std::pair<const char *, double> parts[] = {
      {"memory", t.memory},         {"link", t.link},       {"compute", t.compute},
      {"small grids", t.smallGrid}, {"launches", t.launch}, {"barriers", t.barrier},
      {"steps of blocks", t.step},  {"all-reduces", t.allReduce}};
  llvm::sort(parts, [](auto &a, auto &b) { return a.second > b.second; });
  llvm::ListSeparator comma;
  for (auto &[name, us] : parts)
    if (us > 0)
      os << comma << name << " " << number(us / 1e3, 2) << " ms ("
         << number(100 * us / t.total(), 0) << " %)";
  Room room = roomOf(report);
  const planfile::PlanSummary &s = report.summary;
  os << "\nmemory     " << size(room.needBytes) << " (weights " << size(s.weightTotal)
     << ", of them routed experts " << size(s.expertTotal) << "; state, arena) on "
     << size(room.haveBytes) << ": ";
  if (room.needBytes <= room.haveBytes)
    os << "fits";
  else
    os << "room for " << number(100 * room.expertShare, 0) << " % of the experts";
  os << "\n           ";
  if (report.assumptions.hitRate < 1)
    os << "hit rate " << formatv("{0:f2}", report.assumptions.hitRate) << ": "
       << mega(linkBytes(cost.work, report.assumptions))
       << " MB of experts over each link a step\n";
  else if (room.needBytes > room.haveBytes)
    os << "predicted as if every expert were resident; --experts paged and --hit-rate R "
          "for paging\n";
  else
    os << "no expert comes over the link\n";
}

static void printLayers(llvm::raw_ostream &os, const Report &report,
                        const EntryCost &cost, bool ops) {
  os << "    ops   launches  weights MB     us each         us      %   layers with "
        "the same kernels\n";
  // A grid may span layers, so that a layer has no whole number of them.
  auto each = [](double total, size_t n) {
    double value = total / n;
    return number(value, value == std::floor(value) ? 0 : 1);
  };
  const auto kinds = layerKinds(*report.plan, cost);
  for (auto [kind, marks] : llvm::zip(kinds, distinctOps(*report.plan, cost, kinds))) {
    const size_t n = kind.count();
    os << llvm::right_justify(each(kind.launches, n), 8)
       << llvm::right_justify(each(kind.devices, n), 11)
       << llvm::right_justify(mega(double(kind.work.weightBytes) / n), 12)
       << llvm::right_justify(number(kind.time.total() / n), 12)
       << llvm::right_justify(number(kind.time.total()), 11)
       << llvm::right_justify(share(kind.time.total(), cost.time.total()), 7) << "   "
       << kind.name(/*all=*/ops);
    // Two are enough to recognise it by.
    if (!marks.empty())
      os << " (" << llvm::join(llvm::ArrayRef(marks).take_front(2), ", ") << ")";
    os << "\n";
    if (ops)
      for (const auto &[name, count] : kind.kernels)
        os << llvm::right_justify(grouped(count), 8) << "  " << name << "\n";
  }
}

static void printLaunches(llvm::raw_ostream &os, const Report &report,
                          const EntryCost &cost, const plan::Entry &entry) {
  os << "\n    #   blocks  phases        KB        us  kernel, and what it comes from\n";
  for (auto [place, device] : llvm::enumerate(cost.devices)) {
    Work work;
    for (unsigned i = 0; i < device.count; ++i)
      work += cost.launches[device.first + i].work;
    os << llvm::right_justify(std::to_string(place), 5)
       << llvm::right_justify(grouped(device.blocks), 9)
       << llvm::right_justify(std::to_string(device.phases), 8)
       << llvm::right_justify(number(work.bytes() / 1e3), 10)
       << llvm::right_justify(number(device.time.total(), 2), 10) << "  "
       << report.plan->kernels()->Get(device.kernel)->name()->c_str();
    for (unsigned i = device.first; i < device.first + device.count; ++i) {
      const flatbuffers::String *origin = entry.launches()->Get(i)->origin();
      const char *text = origin ? origin->c_str() : "";
      const LaunchCost &l = cost.launches[i];
      if (device.count == 1)
        os << "  " << text;
      else
        os << "\n"
           << llvm::right_justify("phase " + std::to_string(l.phase), 22)
           << llvm::right_justify(number(l.work.bytes() / 1e3), 10)
           << llvm::right_justify(number(l.time.total(), 2), 10) << "    "
           << report.plan->kernels()->Get(l.kernel)->name()->c_str() << "  " << text;
    }
    os << "\n";
  }
}

void explain::printEntry(llvm::raw_ostream &os, const Report &report, size_t index,
                         const TextOptions &options) {
  const EntryCost &cost = report.entries[index];
  const planfile::PlanSummary &s = report.summary;
  os << cost.name << ": " << grouped(cost.rows) << (cost.rows == 1 ? " row, " : " rows, ")
     << grouped(cost.launches.size()) << " operations in " << grouped(cost.devices.size())
     << " launches; math " << s.math << ", fuse " << s.fuse << ", context full ("
     << grouped(s.maxContext) << " tokens)\n";
  printMachine(os, report.assumptions.machine, report.summary.ranks);
  os << "\n";
  printOps(os, report, cost, options.kernels);
  os << "\n";
  printBound(os, report, cost);
  os << "\n";
  printLayers(os, report, cost, options.ops);
  if (options.launches)
    printLaunches(os, report, cost, *report.plan->entries()->Get(index));
}

llvm::Error explain::printElsewhere(llvm::raw_ostream &os, const Report &report,
                                    size_t entry) {
  llvm::ListSeparator separator("; ");
  std::string text;
  llvm::raw_string_ostream list(text);
  for (const Machine &machine : builtinMachines()) {
    if (machine.name == report.assumptions.machine.name ||
        report.plan->ranks() > machine.cards)
      continue;
    auto cost = costOf(*report.plan, *report.plan->entries()->Get(entry),
                       forPlan(*report.plan, {machine, report.assumptions.hitRate}));
    if (!cost)
      return cost.takeError();
    list << separator << machine.name << " " << number(cost->time.total() / 1e3, 2)
         << " ms, " << number(cost->tokensPerSecond()) << " tok/s";
  }
  if (!text.empty())
    os << "elsewhere  " << text << "\n";
  return llvm::Error::success();
}

void explain::printEntries(llvm::raw_ostream &os, const Report &report) {
  os << "entry               rows       ops   launches  weights MB  other MB         ms  "
        "     tok/s\n";
  for (const EntryCost &e : report.entries)
    os << llvm::left_justify(e.name, 16) << llvm::right_justify(grouped(e.rows), 8)
       << llvm::right_justify(grouped(e.launches.size()), 10)
       << llvm::right_justify(grouped(e.devices.size()), 11)
       << llvm::right_justify(mega(e.work.weightBytes), 12)
       << llvm::right_justify(mega(e.work.memoryBytes), 10)
       << llvm::right_justify(number(e.time.total() / 1e3, 2), 11)
       << llvm::right_justify(number(e.tokensPerSecond()), 12) << "\n";
}

void explain::printMachines(llvm::raw_ostream &os) {
  for (const Machine &m : builtinMachines()) {
    os << m.name << ": " << m.about << ", " << m.cards
       << (m.cards == 1 ? " card\n" : " cards\n");
    for (const FigureField &field : figureFields())
      if (const Figure &f = m.*field.figure; f.value > 0)
        os << "  " << llvm::left_justify(field.name, 18)
           << llvm::right_justify(plain(f.value), 8) << "  " << f.source << "\n";
  }
}
