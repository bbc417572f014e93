#include "runtime/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

struct Op {
  std::string_view name;
  bool (*run)(Launch&);
  double of_largest;  // docs/spec/numerics.md
  bool exact;
};

constexpr Op kOps[] = {
    {"linear", Linear, 4e-6, false},
    {"linear_parts", LinearParts, 4e-6, false},
    {"sum_parts", SumParts, 4e-6, false},
    {"head_linear", HeadLinear, 4e-6, false},
    {"expert_linear", ExpertLinear, 4e-6, false},
    {"embed", Embed, 0, true},
    {"gather_rows", GatherRows, 0, true},
    {"take_cols", TakeCols, 0, true},
    {"top_k", TopK, 0, true},
    {"sinkhorn", Sinkhorn, 4e-6, false},
    {"short_conv", ShortConv, 1e-6, false},
    {"delta_rule", DeltaRule, 2e-5, false},
    {"latent_append", LatentAppend, 0, true},
    {"kpool", KPool, 2e-6, false},
    {"index_scores", IndexScores, 8e-6, false},
    {"sparse_attention", SparseAttention, 8e-6, false},
};

// 2^-precision steps between neighbours of a format, as a float's last place.
double RoundTo(double value, int bits, int least_exponent, double largest) {
  if (!std::isfinite(value) || value == 0.0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent, least_exponent);
  const double step = std::ldexp(1.0, exponent - bits);
  const double rounded = std::nearbyint(value / step) * step;
  if (std::fabs(rounded) > largest) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return rounded;
}

}  // namespace

bool Run(const Call& call, std::string* error) {
  Launch launch(call);
  if (launch.ok()) {
    if (call.op == "rowwise") {
      if (call.program == nullptr) {
        launch.Fail("needs a program");
      } else {
        Rowwise(launch, *call.program);
      }
    } else {
      const Op* found = nullptr;
      for (const Op& op : kOps) {
        if (op.name == call.op) found = &op;
      }
      if (found == nullptr) {
        launch.Fail("is not an op of docs/spec/kernels.md");
      } else {
        found->run(launch);
      }
    }
  }
  if (!launch.ok()) *error = launch.error();
  return launch.ok();
}

Bound BoundOf(std::string_view op, int dtype) {
  // One step between neighbours of the result's type, relative to the value:
  // two correct results may lie on either side of a tie.
  const double step = dtype == 1 ? 0x1p-7 : dtype == 2 ? 0x1p-10 : 1e-6;
  if (op == "rowwise") return {.of_value = step, .of_largest = 8e-6};
  for (const Op& known : kOps) {
    if (known.name != op) continue;
    if (known.exact) break;
    return {.of_value = step, .of_largest = known.of_largest};
  }
  return {};
}

float Rounded(double value, int dtype) {
  if (dtype == 1) {
    return static_cast<float>(RoundTo(value, 8, -125, 0x1.FEp127));
  }
  if (dtype == 2) {
    return static_cast<float>(RoundTo(value, 11, -13, 65504.0));
  }
  return static_cast<float>(value);
}

}  // namespace glm::reference
