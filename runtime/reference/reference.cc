#include "runtime/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

const Op* Find(std::string_view name) {
  for (const auto ops :
       {LinearOps(), RowOps(), RecurrentOps(), AttentionOps()}) {
    for (const Op& op : ops) {
      if (op.name == name) return &op;
    }
  }
  return nullptr;
}

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
      const Op* found = Find(call.op);
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
  const Op* known = Find(op);
  if (known != nullptr && !known->exact) {
    return {.of_value = step, .of_largest = known->of_largest};
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
