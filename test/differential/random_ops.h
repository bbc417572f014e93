// The choices of a graph: each gene adds one operation to the function's text.
// Private to this folder: graph.h is what it makes.
#ifndef TEST_DIFFERENTIAL_RANDOM_OPS_H_
#define TEST_DIFFERENTIAL_RANDOM_OPS_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "test/differential/function_text.h"
#include "test/differential/graph.h"

namespace glm::differential {

class Draws {
 public:
  explicit Draws(const Gene& gene) : gene_(gene) {}
  // 0 when the numbers have run out.
  uint32_t Below(uint32_t n) {
    return at_ < gene_.size() ? gene_[at_++] % n : 0;
  }
  template <typename T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Below(static_cast<uint32_t>(choices.size()))];
  }

 private:
  const Gene& gene_;
  size_t at_ = 0;
};

// A scalar of a row's body; uniform: the same for all columns.
struct Scalar {
  std::string name;
  bool uniform;
};

class RandomOps {
 public:
  RandomOps(const Genome& genome, Graph& graph, std::string& weights);
  void Add(const Gene& gene);
  void Finish();

 private:
  std::string Dtype(Draws& d) {
    return !graph_.f32 && d.Below(2) == 1 ? "bf16" : "f32";
  }
  // The last value of the chosen operation or of those before it: the choice
  // stays what it is when other operations are dropped.
  const Value& Pick(Draws& d) {
    const int op = static_cast<int>(d.Below(op_ + 1));
    size_t i = values_.size() - 1;
    while (i > 0 && made_by_[i] > op_ - op) --i;
    return values_[i];
  }
  Value Keep(Draws& d, const Value& value);

  Value LinearTo(Draws& d, const Value& x, const std::string& dtype, Dims row);
  Value Need(Draws& d, const std::string& dtype, Dims row,
             const std::string& function = "");
  std::string Apply(RowText& row, const std::string& function,
                    const std::string& x);
  Value ChooseIds(Draws& d);

  void Rowwise(Draws& d);
  std::vector<Scalar> Inputs(Draws& d, RowText& row, const Value& primary);
  void Body(Draws& d, RowText& row, std::vector<Scalar>& s);
  void Outs(Draws& d, RowText& row, const std::vector<Scalar>& s);
  void Linear(Draws& d);
  void LinearOfMany(Draws& d);
  void HeadLinear(Draws& d);
  void Experts(Draws& d);
  void Select(Draws& d);
  void Sinkhorn(Draws& d);
  void ShortConv(Draws& d);
  void DeltaRule(Draws& d);
  void Append(Draws& d);
  void Attention(Draws& d);

  Graph& graph_;
  int64_t rows_;
  Value seqs_;
  FunctionText f_;
  std::vector<Value> values_, ids_;
  std::vector<int> made_by_;  // of values_: number of the operation
  int op_ = 0;
  struct Window {
    std::string state, dtype;
    int64_t channels, kernel;
  };
  std::vector<Window> windows_, caches_;
};

}  // namespace glm::differential

#endif  // TEST_DIFFERENTIAL_RANDOM_OPS_H_
