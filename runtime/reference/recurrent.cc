#include <cmath>
#include <vector>

#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

// y[t, c] = sum_j w[c, j] x[t - (kernel - 1) + j, c]; rows before the step come
// from the state, zeros at position 0.
bool ShortConv(Launch& launch) {
  const int in_dtype = static_cast<int>(launch.Param(0));
  const int dtype = static_cast<int>(launch.Param(2));
  const int64_t channels = launch.Param(3);
  const int64_t past = launch.Param(4) - 1;
  const auto x = launch.Floats(4, launch.rows() * channels);
  const auto w = launch.Floats(5, channels * (past + 1));
  const auto y = launch.Floats(8, launch.rows() * channels);
  if (past < 0) return launch.Fail("kernel must be positive");
  if (!launch.NeedSequences()) return false;

  for (int64_t s = 0; s < launch.sequences(); ++s) {
    const int64_t length = launch.Length(s);
    if (length == 0) continue;
    const auto state = launch.Slot(6, s, channels * past);
    if (!launch.ok()) return false;
    for (int64_t c = 0; c < channels; ++c) {
      // The sequence's inputs of this channel, from the past on.
      std::vector<double> input(past + length);
      for (int64_t j = 0; j < past; ++j) {
        input[j] = launch.Position(s) == 0 ? 0.0 : state[c * past + j];
      }
      for (int64_t t = 0; t < length; ++t) {
        input[past + t] = x[(s * launch.tokens() + t) * channels + c];
      }
      for (int64_t t = 0; t < length; ++t) {
        double sum = 0.0;
        for (int64_t j = 0; j <= past; ++j) {
          sum += w[c * (past + 1) + j] * input[t + j];
        }
        y[(s * launch.tokens() + t) * channels + c] = Rounded(sum, dtype);
      }
      for (int64_t j = 0; j < past; ++j) {
        state[c * past + j] = Rounded(input[length + j], in_dtype);
      }
    }
  }
  return true;
}

// S[d, :] *= exp(g[d]); delta = beta (v - S^T k); S += k delta^T; o = S^T q
bool DeltaRule(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(1));
  const int64_t heads = launch.Param(2);
  const int64_t depth = launch.Param(3);
  const int64_t width = launch.Param(4);
  const int64_t rows = launch.rows() * heads;
  const auto q = launch.Floats(4, rows * depth);
  const auto k = launch.Floats(5, rows * depth);
  const auto v = launch.Floats(6, rows * width);
  const auto g = launch.Floats(7, rows * depth);
  const auto beta = launch.Floats(8, rows);
  const auto o = launch.Floats(11, rows * width);
  if (!launch.NeedSequences()) return false;

  for (int64_t s = 0; s < launch.sequences(); ++s) {
    if (launch.Length(s) == 0) continue;
    const auto state = launch.Slot(9, s, heads * depth * width);
    if (!launch.ok()) return false;
    for (int64_t h = 0; h < heads; ++h) {
      float* slot = state.data() + h * depth * width;
      std::vector<double> S(depth * width, 0.0);
      if (launch.Position(s) > 0) S.assign(slot, slot + depth * width);
      for (int64_t t = 0; t < launch.Length(s); ++t) {
        const int64_t row = (s * launch.tokens() + t) * heads + h;
        const float* key = k.data() + row * depth;
        const float* query = q.data() + row * depth;
        for (int64_t j = 0; j < width; ++j) {
          double memory = 0.0;
          for (int64_t d = 0; d < depth; ++d) {
            S[d * width + j] *= std::exp(double{g[row * depth + d]});
            memory += S[d * width + j] * key[d];
          }
          const double delta = beta[row] * (v[row * width + j] - memory);
          double out = 0.0;
          for (int64_t d = 0; d < depth; ++d) {
            S[d * width + j] += key[d] * delta;
            out += S[d * width + j] * query[d];
          }
          o[row * width + j] = Rounded(out, dtype);
        }
      }
      for (int64_t i = 0; i < depth * width; ++i) {
        slot[i] = static_cast<float>(S[i]);
      }
    }
  }
  return true;
}

constexpr Op kOps[] = {
    {"short_conv", ShortConv, 1e-6, false},
    {"delta_rule", DeltaRule, 2e-5, false},
};

}  // namespace

std::span<const Op> RecurrentOps() { return kOps; }

}  // namespace glm::reference
