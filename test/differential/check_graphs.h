// The property: every way through the fusion passes computes the same.
//
//   off         no fusion
//   rowwise     glm-fuse-rowwise alone: the same bits as off when nothing is bf16
//   grouped     all but the two splits and glm-widen-rows: the same bits as
//               rowwise
//   wide        rowwise and glm-widen-rows: the same bits when nothing is bf16
//   on          all: near wide, the same bits where nothing was cut
//   no-...      grouped without one pass: the same bits as what it changes not
//
// Operations are the same in all, launches are never more, blocks that wait are
// at most the option, and in off and on each operation is within its bound of
// its reference function.
#ifndef TEST_DIFFERENTIAL_CHECK_GRAPHS_H_
#define TEST_DIFFERENTIAL_CHECK_GRAPHS_H_

#include <optional>
#include <string>
#include <vector>

#include "test/differential/graph.h"

namespace glm::differential {

struct Failure {
  std::string variant;  // the one that differs
  std::string what;
};

struct CheckOptions {
  std::string folder;   // for plans and weights; files are overwritten
  uint64_t order = 1;   // of blocks
  std::string variant;  // empty: all, those without one pass for a third each
};

// What became of a batch, for a report.
struct CheckTotals {
  int graphs = 0;
  int operations = 0;
  int launches_off = 0, launches_on = 0;
  int split = 0;  // graphs with a product that was cut
};

// One entry a genome: nullopt when it keeps the property.
std::vector<std::optional<Failure>> CheckGraphs(
    const std::vector<Genome>& genomes, const CheckOptions& options,
    CheckTotals* totals = nullptr);

// A smaller genome that fails in the same variant.
Genome Shrink(const Genome& genome, const Failure& failure,
              const CheckOptions& options);

// The module of one graph, to read.
std::string Print(const Genome& genome);

}  // namespace glm::differential

#endif  // TEST_DIFFERENTIAL_CHECK_GRAPHS_H_
