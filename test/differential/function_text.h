// The text of one entry function as it grows: values, weights, states and the
// operations that make them. It checks nothing; random_ops.h chooses.
#ifndef TEST_DIFFERENTIAL_FUNCTION_TEXT_H_
#define TEST_DIFFERENTIAL_FUNCTION_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace glm::differential {

using Dims = std::vector<int64_t>;

int64_t Product(const Dims& dims);

struct Value {
  std::string name;       // %v3 or %v3#1
  std::string dtype;      // f32 | bf16 | f16 | i32
  Dims dims;              // all of them
  int64_t ids_below = 0;  // i32: top_k's columns

  std::string Type() const;
  Dims Row() const { return {dims.begin() + 1, dims.end()}; }
  int64_t Width() const { return Product(Row()); }
};

// One glm.rowwise: accesses and body, then Finish.
class RowText {
 public:
  explicit RowText(Dims domain) : domain_(std::move(domain)) {}

  const Dims& domain() const { return domain_; }
  // The index of dimension `i` as text: d1.
  static std::string D(size_t i) { return "d" + std::to_string(i); }

  // Scalars of the body, as text.
  std::string In(const Value& value, const std::string& index);
  std::string Num(double value);
  std::string Op(const std::string& op, const std::string& a,
                 const std::string& b = "");
  std::string Reduce(const std::string& kind, const std::string& a);
  void Out(size_t target, const std::string& index, const std::string& scalar);

  // `%r = glm.rowwise ...` for results of these types.
  std::string Finish(const std::string& results,
                     const std::vector<Value>& types) const;

 private:
  std::string Map(const std::string& index) const;
  std::string Next() { return "%s" + std::to_string(next_++); }

  Dims domain_;
  std::vector<Value> inputs_;
  std::vector<std::string> scalars_, in_maps_, out_maps_, yields_;
  std::vector<size_t> targets_;
  std::string body_;
  int next_ = 0;
};

class FunctionText {
 public:
  // Bytes of weights are appended to `weights`.
  FunctionText(std::string name, std::string& weights)
      : name_(std::move(name)), weights_(weights) {}

  const std::string& symbols() const { return symbols_; }
  const std::string& body() const { return body_; }

  // A dense weight of uniform values in [-scale, scale].
  Value Weight(const std::string& dtype, Dims dims, double scale);
  // A stack of experts [E, N, K]; dtype "i4" has groups of 16.
  Value Experts(const std::string& dtype, Dims dims, double scale);
  // The symbol of a new state.
  std::string State(const std::string& dtype, const Dims& dims,
                    int64_t tokens_per_row);

  // `%v = text : (types of `operands`) -> type`, with the operands' names
  // before `attributes`.
  Value Call(const std::string& op, const std::vector<Value>& operands,
             const std::string& attributes, const std::string& dtype,
             Dims dims);
  // `glm.top_k %a seqs(%s)`: i32.
  Value CallWithSeqs(const std::string& op, const Value& operand,
                     const Value& seqs, const std::string& attributes,
                     Dims dims);
  // Call without a result.
  void Effect(const std::string& op, const std::vector<Value>& operands,
              const std::string& attributes);
  // Results of `row`; `types` give dtype and dims.
  std::vector<Value> Rowwise(const RowText& row, std::vector<Value> types);
  void Tap(const Value& value);

 private:
  std::string Loc(int number) const;
  std::string Piece(size_t begin) const;
  void AppendValues(const std::string& dtype, int64_t count, double scale);

  std::string name_;
  std::string& weights_;
  std::string symbols_, body_;
  int next_ = 0;
};

}  // namespace glm::differential

#endif  // TEST_DIFFERENTIAL_FUNCTION_TEXT_H_
