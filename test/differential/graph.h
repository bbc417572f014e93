// Random graphs of the `glm` dialect, made of numbers.
//
// A genome is lists of numbers, one list an operation; each choice that a graph
// needs is the next number modulo what there is to choose from. So every genome
// is a valid graph, and a failing one becomes smaller by emptying lists and by
// turning numbers to 0 (Shrink): nothing has to be repaired.
#ifndef TEST_DIFFERENTIAL_GRAPH_H_
#define TEST_DIFFERENTIAL_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace glm::differential {

// Of every graph's model.
inline constexpr int64_t kVocab = 16, kContext = 64, kPool = 4;

using Gene = std::vector<uint32_t>;

struct Genome {
  Gene step;  // rows, sizes, element types
  // In order; an operation reads values of earlier ones. An empty one is none.
  std::vector<Gene> ops;
};

Genome RandomGenome(uint64_t seed);

struct Graph {
  std::string name;      // of the entry and, with a dot, of all its symbols
  std::string symbols;   // glm.weight, glm.state
  std::string function;  // func.func
  int64_t sequences = 1, tokens = 1, logit_rows = 1;
  bool f32 = true;            // no value is rounded to bf16
  bool selects = false;       // a top_k may turn the last bit into another row
  bool shares_state = false;  // two operations advance one state
  bool whole = false;  // rows read each other: every step must fill all rows
};

// The bytes of its weights are appended to `weights`, which the module's one
// weight file holds.
Graph BuildGraph(const Genome& genome, const std::string& name,
                 std::string& weights);

// A module of these graphs over a weight file of this name, size and
// fingerprint.
std::string ModuleText(const std::vector<Graph>& graphs,
                       const std::string& weight_file, uint64_t size,
                       uint64_t fingerprint);

}  // namespace glm::differential

#endif  // TEST_DIFFERENTIAL_GRAPH_H_
