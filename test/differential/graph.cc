#include "test/differential/graph.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "test/differential/random_ops.h"

namespace glm::differential {

Genome RandomGenome(uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 1);
  const auto gene = [&] {
    Gene g(48);
    for (uint32_t& n : g) n = static_cast<uint32_t>(random() >> 32);
    return g;
  };
  Genome genome;
  genome.step = gene();
  const size_t ops = 2 + random() % 9;
  for (size_t i = 0; i < ops; ++i) genome.ops.push_back(gene());
  return genome;
}

Graph BuildGraph(const Genome& genome, const std::string& name,
                 std::string& weights) {
  Graph graph;
  graph.name = name;
  RandomOps ops(genome, graph, weights);
  for (const Gene& gene : genome.ops) ops.Add(gene);
  ops.Finish();
  return graph;
}

std::string ModuleText(const std::vector<Graph>& graphs,
                       const std::string& weight_file, uint64_t size,
                       uint64_t fingerprint) {
  std::string text = absl::StrCat(
      "module attributes {glm.producer = \"test\", glm.math = \"fp32\", ",
      "glm.fuse = \"on\",\n  glm.model = {name = \"random\", layers = 1 : "
      "i64, ",
      "hidden = 8 : i64, vocab = ", kVocab, " : i64, pool_tokens = ", kPool,
      " : i64, max_context = ", kContext,
      " : i64, experts = 1 : i64, experts_per_token = 1 : i64},\n",
      "  glm.weight_files = [{path = \"", weight_file, "\", size = ", size,
      " : i64, fingerprint = ", static_cast<int64_t>(fingerprint),
      " : i64}]} {\n");
  for (const Graph& graph : graphs) text += graph.symbols;
  for (const Graph& graph : graphs) text += graph.function;
  return text + "}\n";
}

}  // namespace glm::differential
