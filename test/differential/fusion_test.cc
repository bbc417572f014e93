// Random graphs through every way of the fusion passes (check_graphs.h).
//
//   GLM_FUSION_SEED=7 GLM_FUSION_GRAPHS=1000 fusion_test
//
// A failure prints the graph's seed and the smallest graph found that still
// fails, ready for glm-opt.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Signals.h"
#include "test/differential/check_graphs.h"

namespace glm::differential {
namespace {

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Fusion, RandomGraphsComputeTheSame) {
  constexpr uint64_t kTogether = 50;
  const uint64_t first = Number("GLM_FUSION_SEED", 1);
  const uint64_t graphs = Number("GLM_FUSION_GRAPHS", 100);
  llvm::sys::PrintStackTraceOnErrorSignal("fusion_test");
  CheckOptions options;
  options.folder = testing::TempDir() + "fusion_test";
  std::filesystem::create_directories(options.folder);
  CheckTotals totals;
  for (uint64_t from = 0; from < graphs && !HasFailure(); from += kTogether) {
    std::vector<Genome> genomes;
    for (uint64_t i = from; i < std::min(from + kTogether, graphs); ++i) {
      genomes.push_back(RandomGenome(first + i));
    }
    options.order = first + from;
    const auto failures = CheckGraphs(genomes, options, &totals);
    bool shrunk = false;  // one of the batch is enough to read
    for (size_t i = 0; i < genomes.size(); ++i) {
      if (!failures[i]) continue;
      ADD_FAILURE() << "GLM_FUSION_SEED=" << first + from + i << " "
                    << failures[i]->variant << " " << failures[i]->what;
      if (shrunk) continue;
      const Genome small = Shrink(genomes[i], *failures[i], options);
      CheckOptions one = options;
      one.variant = failures[i]->variant;
      const auto again = CheckGraphs({small}, one)[0];
      std::cout << "smallest: " << (again ? again->what : "") << "\n"
                << Print(small);
      shrunk = true;
    }
  }
  std::filesystem::remove_all(options.folder);
  std::cout << totals.graphs << " graphs, " << totals.operations
            << " operations, " << totals.launches_off << " launches, fused "
            << totals.launches_on << ", products cut in " << totals.split
            << "\n";
  // The graphs reach what they are made for.
  if (graphs >= 100) {
    EXPECT_LT(totals.launches_on * 2, totals.launches_off);
    EXPECT_GE(totals.split, 5);
  }
}

}  // namespace
}  // namespace glm::differential
