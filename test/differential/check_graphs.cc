#include "test/differential/check_graphs.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "runtime/safetensors/weight_fingerprint.h"
#include "test/differential/compile.h"
#include "test/differential/run_plan.h"

namespace glm::differential {
namespace {

// The default of glm-fuse-phases.
constexpr uint32_t kMaxWaiting = 160;
// Of the largest value: sums in another order and roundings to bf16 left out,
// as they grow over a graph's operations.
constexpr double kReordered = 1e-3, kRounded = 0.1;

struct Way {
  Variant variant;
  std::string like;  // the variant that it must equal
};

// Passes to leave out, and those that change the order of sums.
std::vector<std::string> Uncut(std::vector<std::string> passes) {
  passes.insert(passes.end(), {"glm-split-linear", "glm-split-attention"});
  return passes;
}

const std::vector<Way>& Ways() {
  static const auto& ways = *new std::vector<Way>{
      {{"off", false, {}}, ""},
      {{"rowwise", true, Uncut({"glm-widen-rows", "glm-fuse-blocks"})}, "off"},
      {{"grouped", true, Uncut({"glm-widen-rows"})}, "rowwise"},
      {{"wide", true, Uncut({"glm-fuse-blocks"})}, "rowwise"},
      {{"on", true, {}}, "wide"},
      {{"no-rowwise", true, Uncut({"glm-widen-rows", "glm-fuse-rowwise"})},
       "off"},
      {{"no-siblings", true, Uncut({"glm-widen-rows", "glm-fuse-siblings"})},
       "rowwise"},
      {{"no-phases", true, Uncut({"glm-widen-rows", "glm-fuse-phases"})},
       "rowwise"},
  };
  return ways;
}

const Way& Named(const std::string& name) {
  return *std::find_if(Ways().begin(), Ways().end(),
                       [&](const Way& w) { return w.variant.name == name; });
}

// Some graphs as one module, and what its variants did.
class Batch {
 public:
  Batch(const std::vector<Genome>& genomes, const CheckOptions& options)
      : options_(options) {
    std::string weights;
    for (size_t i = 0; i < genomes.size(); ++i) {
      graphs_.push_back(BuildGraph(genomes[i], absl::StrCat("g", i), weights));
    }
    const std::string path = options.folder + "/weights.bin";
    std::ofstream(path, std::ios::binary) << weights;
    fingerprint_ = FingerprintFile(path).value_or(0);
    size_ = weights.size();
    failures_.resize(graphs_.size());
  }

  const std::vector<Graph>& graphs() const { return graphs_; }
  const std::vector<std::optional<Failure>>& failures() const {
    return failures_;
  }
  const EntryRun* run(const std::string& variant, size_t graph) const {
    const auto it = runs_.find({variant, graph});
    return it == runs_.end() ? nullptr : &it->second;
  }

  // The graphs `first`, `first` + `stride`, ... through one variant.
  void Run(const std::string& variant, size_t first = 0, size_t stride = 1) {
    std::vector<size_t> numbers;
    for (size_t i = first; i < graphs_.size(); i += stride) {
      if (!failures_[i]) numbers.push_back(i);
    }
    RunSome(Named(variant), numbers);
    for (const size_t i : numbers) {
      if (!failures_[i]) Compare(Named(variant), i);
    }
  }

 private:
  // All at once; where that is refused, one half after the other, to find out
  // whose fault it is.
  void RunSome(const Way& way, const std::vector<size_t>& numbers) {
    if (numbers.empty()) return;
    std::vector<Graph> some;
    for (const size_t i : numbers) some.push_back(graphs_[i]);
    const std::string& name = way.variant.name;
    const std::string path =
        absl::StrCat(options_.folder, "/", name, ".glmplan");
    const std::string text =
        ModuleText(some, "weights.bin", size_, fingerprint_);
    std::string error;
    if (CompilePlan(text, way.variant, path, &error)) {
      auto runs =
          RunPlan(path, some, options_.order, name == "off" || name == "on");
      if (runs.ok()) {
        for (size_t i = 0; i < numbers.size(); ++i) {
          runs_[{name, numbers[i]}] = std::move((*runs)[i]);
        }
        return;
      }
      error = std::string(runs.status().message());
    }
    if (numbers.size() == 1) {
      failures_[numbers[0]] = Failure{name, "is refused: " + error};
      return;
    }
    const auto middle = numbers.begin() + numbers.size() / 2;
    RunSome(way, {numbers.begin(), middle});
    RunSome(way, {middle, numbers.end()});
  }

  void Compare(const Way& way, size_t number) {
    const Graph& graph = graphs_[number];
    const EntryRun& got = *run(way.variant.name, number);
    const auto fail = [&](const std::string& what) {
      if (!failures_[number])
        failures_[number] = Failure{way.variant.name, what};
    };
    // Of two that advance a state in one launch the check sees what the last
    // left.
    const bool seen = way.variant.name == "off" || !graph.shares_state;
    if (!got.outside.empty() && seen) fail(got.outside);
    if (got.waiting > kMaxWaiting) {
      fail(absl::StrCat(got.waiting, " blocks wait in one launch"));
    }
    if (way.like.empty()) return;
    const EntryRun& want = *run(way.like, number);
    if (got.launches > want.launches) {
      fail(absl::StrCat(got.launches, " launches, ", way.like, " has ",
                        want.launches));
    }
    const bool same_members = got.members == want.members;
    const bool rounds_less =
        (way.variant.name == "rowwise" || way.variant.name == "wide") &&
        !graph.f32;
    if (way.like == "rowwise" && !same_members) {
      fail("operations came or went");
    }
    const bool exact =
        !rounds_less && (same_members || way.variant.name != "on");
    if (!exact && graph.selects) return;
    const double tolerance = exact ? 0 : graph.f32 ? kReordered : kRounded;
    const std::string difference = Difference(got, want, tolerance);
    if (!difference.empty()) {
      fail(absl::StrCat("differs from ", way.like, ": ", difference));
    }
  }

  CheckOptions options_;
  std::vector<Graph> graphs_;
  uint64_t size_ = 0, fingerprint_ = 0;
  std::map<std::pair<std::string, size_t>, EntryRun> runs_;
  std::vector<std::optional<Failure>> failures_;
};

// Genomes one step smaller: without some operations, or with one choice less.
std::vector<Genome> Smaller(const Genome& genome) {
  std::vector<Genome> all;
  const size_t n = genome.ops.size();
  for (size_t length = n; length > 0; length /= 2) {
    for (size_t from = 0; from + length <= n; from += length) {
      Genome g = genome;
      for (size_t i = from; i < from + length; ++i) g.ops[i].clear();
      all.push_back(std::move(g));
    }
  }
  return all;
}

// The same operations with smaller choices, a gene's numbers in halves and then
// one by one.
std::vector<Genome> Simpler(const Genome& genome) {
  std::vector<Genome> all;
  const auto add = [&](auto gene_of) {
    const size_t size = gene_of(const_cast<Genome&>(genome)).size();
    for (size_t length = size; length > 0; length /= 2) {
      for (size_t from = 0; from + length <= size; from += length) {
        Genome g = genome;
        Gene& gene = gene_of(g);
        const auto begin = gene.begin() + from;
        if (std::all_of(begin, begin + length,
                        [](uint32_t v) { return v == 0; })) {
          continue;
        }
        std::fill(begin, begin + length, 0);
        all.push_back(std::move(g));
      }
    }
  };
  add([](Genome& g) -> Gene& { return g.step; });
  for (size_t i = 0; i < genome.ops.size(); ++i) {
    add([i](Genome& g) -> Gene& { return g.ops[i]; });
  }
  return all;
}

size_t Length(const Genome& genome) { return Print(genome).size(); }

}  // namespace

std::vector<std::optional<Failure>> CheckGraphs(
    const std::vector<Genome>& genomes, const CheckOptions& options,
    CheckTotals* totals) {
  Batch batch(genomes, options);
  if (options.variant.empty()) {
    for (const char* variant : {"off", "rowwise", "grouped", "wide", "on"}) {
      batch.Run(variant);
    }
    batch.Run("no-rowwise", 0, 3);
    batch.Run("no-siblings", 1, 3);
    batch.Run("no-phases", 2, 3);
  } else {
    std::vector<std::string> needed = {options.variant};
    while (!Named(needed.back()).like.empty()) {
      needed.push_back(Named(needed.back()).like);
    }
    for (auto it = needed.rbegin(); it != needed.rend(); ++it) batch.Run(*it);
  }
  if (totals != nullptr) {
    for (size_t i = 0; i < genomes.size(); ++i) {
      const EntryRun* off = batch.run("off", i);
      const EntryRun* on = batch.run("on", i);
      const EntryRun* grouped = batch.run("grouped", i);
      ++totals->graphs;
      if (off == nullptr || on == nullptr || grouped == nullptr) continue;
      for (const auto& [name, count] : off->members)
        totals->operations += count;
      totals->launches_off += off->launches;
      totals->launches_on += on->launches;
      totals->split += on->members != grouped->members;
    }
  }
  return batch.failures();
}

Genome Shrink(const Genome& genome, const Failure& failure,
              const CheckOptions& options) {
  CheckOptions one = options;
  one.variant = failure.variant;
  Genome best = genome;
  // The first of `candidates` that fails and is shorter to read.
  const auto step = [&](std::vector<Genome> candidates) {
    std::erase_if(candidates,
                  [&](const Genome& g) { return Length(g) >= Length(best); });
    constexpr size_t kTogether = 24;
    for (size_t from = 0; from < candidates.size(); from += kTogether) {
      const std::vector<Genome> some(
          candidates.begin() + from,
          candidates.begin() + std::min(from + kTogether, candidates.size()));
      const auto failures = CheckGraphs(some, one);
      for (size_t i = 0; i < some.size(); ++i) {
        if (failures[i] && failures[i]->variant == failure.variant) {
          best = some[i];
          return true;
        }
      }
    }
    return false;
  };
  do {
    while (step(Smaller(best))) {
    }
  } while (step(Simpler(best)));
  return best;
}

std::string Print(const Genome& genome) {
  std::string weights;
  const Graph graph = BuildGraph(genome, "g", weights);
  return ModuleText({graph}, "weights.bin", weights.size(), 0);
}

}  // namespace glm::differential
