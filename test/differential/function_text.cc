#include "test/differential/function_text.h"

#include <algorithm>
#include <bit>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace glm::differential {
namespace {

std::string DimsText(const Dims& dims) { return absl::StrJoin(dims, "x"); }

template <typename Range, typename Get>
std::string List(const Range& range, Get get) {
  return absl::StrJoin(range, ", ", [&](std::string* out, const auto& item) {
    absl::StrAppend(out, get(item));
  });
}

uint16_t Bf16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}
uint16_t F16(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

}  // namespace

int64_t Product(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

std::string Value::Type() const {
  if (dtype == "i4") {
    return absl::StrCat("tensor<", DimsText(dims),
                        "xi4, #glm.group_quant<group = 16>>");
  }
  return absl::StrCat("tensor<", DimsText(dims), "x", dtype, ">");
}

std::string RowText::Map(const std::string& index) const {
  std::vector<std::string> all;
  for (size_t i = 0; i < domain_.size(); ++i) all.push_back(D(i));
  return absl::StrCat("affine_map<(", absl::StrJoin(all, ", "), ") -> (", index,
                      ")>");
}

std::string RowText::In(const Value& value, const std::string& index) {
  inputs_.push_back(value);
  in_maps_.push_back(Map(index));
  return scalars_.emplace_back(Next());
}

std::string RowText::Num(double value) {
  const std::string name = Next();
  absl::StrAppend(&body_, "    ", name,
                  absl::StrFormat(" = arith.constant %.8e : f32\n", value));
  return name;
}

std::string RowText::Op(const std::string& op, const std::string& a,
                        const std::string& b) {
  const std::string name = Next();
  absl::StrAppend(&body_, "    ", name, " = ", op, " ", a);
  if (!b.empty()) absl::StrAppend(&body_, ", ", b);
  if (!op.starts_with("glm.")) absl::StrAppend(&body_, " : f32");
  absl::StrAppend(&body_, "\n");
  return name;
}

std::string RowText::Reduce(const std::string& kind, const std::string& a) {
  const std::string name = Next();
  absl::StrAppend(&body_, "    ", name, " = glm.row_reduce \"", kind, "\" ", a,
                  "\n");
  return name;
}

void RowText::Out(size_t target, const std::string& index,
                  const std::string& scalar) {
  targets_.push_back(target);
  out_maps_.push_back(Map(index));
  yields_.push_back(scalar);
}

std::string RowText::Finish(const std::string& results,
                            const std::vector<Value>& types) const {
  const auto type = [](const Value& v) { return v.Type(); };
  const auto floats = [](const std::string&) { return std::string("f32"); };
  return absl::StrCat(
      "  ", results, " = glm.rowwise [", absl::StrJoin(domain_, ", "), "] ins(",
      List(inputs_, [](const Value& v) { return v.name; }), " : ",
      List(inputs_, type), ")\n      maps [", absl::StrJoin(in_maps_, ", "),
      "]\n      outs [", absl::StrJoin(out_maps_, ", "), "] targets [",
      absl::StrJoin(targets_, ", "), "] -> (", List(types, type),
      ") {\n  ^bb0(",
      List(scalars_, [](const std::string& s) { return s + ": f32"; }), "):\n",
      body_, "    glm.yield ", absl::StrJoin(yields_, ", "), " : ",
      List(yields_, floats), "\n  }");
}

std::string FunctionText::Loc(int number) const {
  return absl::StrCat(" loc(\"", name_, ".v", number, "\")\n");
}

std::string FunctionText::Piece(size_t begin) const {
  return absl::StrCat("0, ", begin, ", ", weights_.size() - begin);
}

void FunctionText::AppendValues(const std::string& dtype, int64_t count,
                                double scale) {
  weights_.resize((weights_.size() + 63) / 64 * 64);
  std::mt19937 random(static_cast<uint32_t>(count * 131 + next_));
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (int64_t i = 0; i < count; ++i) {
    const float value = uniform(random);
    if (dtype == "f32") {
      weights_.append(reinterpret_cast<const char*>(&value), 4);
    } else if (dtype == "i32") {
      const uint32_t codes = random();
      weights_.append(reinterpret_cast<const char*>(&codes), 4);
    } else {
      const uint16_t bits = dtype == "bf16" ? Bf16(value) : F16(value);
      weights_.append(reinterpret_cast<const char*>(&bits), 2);
    }
  }
}

Value FunctionText::Weight(const std::string& dtype, Dims dims, double scale) {
  const Value w = {absl::StrCat("%w", next_), dtype, std::move(dims)};
  const std::string symbol = absl::StrCat("@", name_, ".w", next_++);
  AppendValues(dtype, Product(w.dims), scale);
  const size_t size = Product(w.dims) * (dtype == "f32" ? 4 : 2);
  absl::StrAppend(&symbols_, "glm.weight ", symbol, " : ", w.Type(),
                  " pieces [", Piece(weights_.size() - size), "]\n");
  absl::StrAppend(&body_, "  ", w.name, " = glm.get_weight ", symbol, " : ",
                  w.Type(), "\n");
  return w;
}

Value FunctionText::Experts(const std::string& dtype, Dims dims, double scale) {
  const Value w = {absl::StrCat("%w", next_), dtype, std::move(dims)};
  const std::string symbol = absl::StrCat("@", name_, ".w", next_++);
  const int64_t n = w.dims[1], k = w.dims[2];
  std::vector<std::string> pieces;
  const auto add = [&](const std::string& of, int64_t count, double range,
                       size_t bytes) {
    AppendValues(of, count, range);
    pieces.push_back(Piece(weights_.size() - count * bytes));
  };
  for (int64_t e = 0; e < w.dims[0]; ++e) {
    if (dtype == "i4") {
      add("i32", (k + 7) / 8 * n, 0, 4);
      add("f16", (k + 15) / 16 * n, scale / 8, 2);
    } else {
      add(dtype, n * k, scale, dtype == "f32" ? 4 : 2);
    }
  }
  absl::StrAppend(&symbols_, "glm.weight ", symbol, " experts : ", w.Type(),
                  " pieces [", absl::StrJoin(pieces, ", "), "]\n");
  absl::StrAppend(&body_, "  ", w.name, " = glm.get_weight ", symbol, " : ",
                  w.Type(), "\n");
  return w;
}

std::string FunctionText::State(const std::string& dtype, const Dims& dims,
                                int64_t tokens_per_row) {
  const std::string symbol = absl::StrCat("@", name_, ".s", next_++);
  absl::StrAppend(&symbols_, "glm.state ", symbol, " : tensor<", DimsText(dims),
                  "x", dtype, ">");
  if (tokens_per_row > 0) {
    absl::StrAppend(&symbols_, " tokens_per_row ", tokens_per_row);
  }
  absl::StrAppend(&symbols_, "\n");
  return symbol;
}

Value FunctionText::Call(const std::string& op,
                         const std::vector<Value>& operands,
                         const std::string& attributes,
                         const std::string& dtype, Dims dims) {
  const Value result = {absl::StrCat("%v", next_), dtype, std::move(dims)};
  absl::StrAppend(&body_, "  ", result.name, " = glm.", op, " ",
                  List(operands, [](const Value& v) { return v.name; }),
                  attributes, " : (",
                  List(operands, [](const Value& v) { return v.Type(); }),
                  ") -> ", result.Type(), Loc(next_));
  ++next_;
  return result;
}

Value FunctionText::CallWithSeqs(const std::string& op, const Value& operand,
                                 const Value& seqs,
                                 const std::string& attributes, Dims dims) {
  const Value result = {absl::StrCat("%v", next_), "i32", std::move(dims)};
  absl::StrAppend(&body_, "  ", result.name, " = glm.", op, " ", operand.name,
                  " seqs(", seqs.name, ")", attributes, " : (", operand.Type(),
                  ", ", seqs.Type(), ") -> ", result.Type(), Loc(next_));
  ++next_;
  return result;
}

void FunctionText::Effect(const std::string& op,
                          const std::vector<Value>& operands,
                          const std::string& attributes) {
  absl::StrAppend(
      &body_, "  glm.", op, " ",
      List(operands, [](const Value& v) { return v.name; }), attributes, " : ",
      List(operands, [](const Value& v) { return v.Type(); }), Loc(next_++));
}

std::vector<Value> FunctionText::Rowwise(const RowText& row,
                                         std::vector<Value> types) {
  const std::string base = absl::StrCat("%v", next_);
  for (size_t i = 0; i < types.size(); ++i) {
    types[i].name = types.size() > 1 ? absl::StrCat(base, "#", i) : base;
  }
  const std::string results =
      types.size() > 1 ? absl::StrCat(base, ":", types.size()) : base;
  absl::StrAppend(&body_, row.Finish(results, types), Loc(next_++));
  return types;
}

void FunctionText::Tap(const Value& value) {
  std::string name = value.name.substr(1);
  std::replace(name.begin(), name.end(), '#', '.');
  absl::StrAppend(&body_, "  glm.tap \"", name, "\" ", value.name, " : ",
                  value.Type(), "\n");
}

}  // namespace glm::differential
