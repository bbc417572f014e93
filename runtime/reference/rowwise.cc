#include <cmath>
#include <vector>

#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

using Columns = std::vector<double>;

double Pointwise(const RowInst& inst, double a, double b) {
  switch (inst.op) {
    case RowOp::kAdd:
      return a + b;
    case RowOp::kSub:
      return a - b;
    case RowOp::kMul:
      return a * b;
    case RowOp::kDiv:
      return a / b;
    case RowOp::kMin:
      return b < a ? b : a;
    case RowOp::kMax:
      return b > a ? b : a;
    case RowOp::kNeg:
      return -a;
    case RowOp::kExp:
      return std::exp(a);
    case RowOp::kRsqrt:
      return 1.0 / std::sqrt(a);
    case RowOp::kSigmoid:
      return 1.0 / (1.0 + std::exp(-a));
    case RowOp::kRoundBf16:
      return Rounded(a, 1);
    default:
      return inst.imm;  // kConst
  }
}

double Reduce(const RowInst& inst, const Columns& values) {
  double result = inst.op == RowOp::kReduceAdd ? 0.0 : -INFINITY;
  for (double v : values) {
    result = inst.op == RowOp::kReduceAdd ? result + v : std::fmax(result, v);
  }
  return result;
}

bool Takes(RowOp op, int count) {
  const bool binary = op >= RowOp::kAdd && op <= RowOp::kMax;
  const bool none = op == RowOp::kConst || op == RowOp::kLoad;
  return count == 2 ? binary : !none && op != RowOp::kStore;
}

// Values must be defined before use, and accesses have a factor a dim.
bool Check(Launch& launch, const RowProgram& program) {
  if (program.dims.size() < 2 || program.dims[0] != -1) {
    return launch.Fail("the dims of a program are -1, the rows, and columns");
  }
  for (size_t d = 1; d < program.dims.size(); ++d) {
    if (program.dims[d] < 1) return launch.Fail("a dim must be positive");
  }
  for (size_t i = 0; i < program.code.size(); ++i) {
    const RowInst& inst = program.code[i];
    const std::string where = "instruction " + std::to_string(i);
    if (inst.op > RowOp::kRoundBf16) {
      return launch.Fail(where + " is unknown");
    }
    if ((Takes(inst.op, 1) && inst.a >= i) ||
        ((Takes(inst.op, 2) || inst.op == RowOp::kStore) && inst.b >= i)) {
      return launch.Fail(where + " uses a value that is not yet defined");
    }
    if (inst.op != RowOp::kLoad && inst.op != RowOp::kStore) continue;
    const uint32_t tensors =
        inst.op == RowOp::kLoad ? program.operand_count : program.result_count;
    if (inst.a >= tensors || inst.coeff.size() != program.dims.size()) {
      return launch.Fail(where + " names no tensor, or lacks coefficients");
    }
  }
  return launch.ok();
}

}  // namespace

bool Rowwise(Launch& launch, const RowProgram& program) {
  if (!Check(launch, program)) return false;
  std::vector<int64_t> dims = program.dims;
  dims[0] = launch.rows();
  const size_t last = dims.size() - 1;
  int64_t points = 1;
  for (size_t d = 0; d < last; ++d) points *= dims[d];

  std::vector<Columns> values(program.code.size(), Columns(dims[last]));
  std::vector<int64_t> index(dims.size());
  for (int64_t point = 0; point < points; ++point) {
    int64_t rest = point;
    for (size_t d = last; d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    if (!launch.Valid(index[0])) continue;

    for (size_t i = 0; i < program.code.size(); ++i) {
      const RowInst& inst = program.code[i];
      Columns& value = values[i];
      if (inst.op == RowOp::kReduceAdd || inst.op == RowOp::kReduceMax) {
        value.assign(value.size(), Reduce(inst, values[inst.a]));
        continue;
      }
      if (inst.op != RowOp::kLoad && inst.op != RowOp::kStore) {
        for (size_t c = 0; c < value.size(); ++c) {
          value[c] =
              Pointwise(inst, Takes(inst.op, 1) ? values[inst.a][c] : 0.0,
                        Takes(inst.op, 2) ? values[inst.b][c] : 0.0);
        }
        continue;
      }
      const bool load = inst.op == RowOp::kLoad;
      const auto tensor =
          launch.Floats(3 + inst.a + (load ? 0 : program.operand_count), 0);
      for (size_t c = 0; c < value.size(); ++c) {
        index[last] = static_cast<int64_t>(c);
        int64_t address = inst.offset;
        for (size_t d = 0; d < dims.size(); ++d) {
          address += inst.coeff[d] * index[d];
        }
        if (address < 0 || address >= std::ssize(tensor)) {
          return launch.Fail("instruction " + std::to_string(i) +
                             " leaves its tensor at element " +
                             std::to_string(address));
        }
        if (load) {
          value[c] = tensor[address];
        } else {
          tensor[address] = Rounded(values[inst.b][c], inst.dtype);
        }
      }
    }
  }
  return launch.ok();
}

}  // namespace glm::reference
