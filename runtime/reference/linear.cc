#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

// sum_k x[k] w[k], in parts that do not wait for each other.
double Dot(std::span<const float> x, std::span<const float> w) {
  constexpr size_t kParts = 8;
  double parts[kParts] = {};
  size_t k = 0;
  for (; k + kParts <= x.size(); k += kParts) {
    for (size_t i = 0; i < kParts; ++i) parts[i] += double{x[k + i]} * w[k + i];
  }
  double sum = 0.0;
  for (; k < x.size(); ++k) sum += double{x[k]} * w[k];
  for (const double part : parts) sum += part;
  return sum;
}

// y[t, n] = sum_k x[t, k] w[n, k]
bool Linear(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(2));
  const int64_t outputs = launch.Param(3);
  const int64_t columns = launch.Param(4);
  const auto x = launch.Floats(3, launch.rows() * columns);
  const auto w = launch.Floats(4, outputs * columns);
  const auto y = launch.Floats(5, launch.rows() * outputs);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    for (int64_t n = 0; n < outputs; ++n) {
      y[t * outputs + n] = Rounded(
          Dot(x.subspan(t * columns, columns), w.subspan(n * columns, columns)),
          dtype);
    }
  }
  return true;
}

// y[t, p, n] = sum_o sum_i x[t, o, p, i] w[n, o, p, i]
bool LinearParts(Launch& launch) {
  const int64_t outputs = launch.Param(2);
  const int64_t columns = launch.Param(3);
  const int64_t outer = launch.Param(4);
  const int64_t parts = launch.Param(5);
  const auto x = launch.Floats(3, launch.rows() * columns);
  const auto w = launch.Floats(4, outputs * columns);
  const auto y = launch.Floats(5, launch.rows() * parts * outputs);
  if (outer <= 0 || parts <= 0 || columns % (outer * parts) != 0) {
    return launch.Fail("parts do not divide the columns");
  }
  if (!launch.ok()) return false;

  const int64_t width = columns / outer / parts;
  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    for (int64_t p = 0; p < parts; ++p) {
      for (int64_t n = 0; n < outputs; ++n) {
        double sum = 0.0;
        for (int64_t o = 0; o < outer; ++o) {
          const int64_t from = (o * parts + p) * width;
          for (int64_t i = from; i < from + width; ++i) {
            sum += double{x[t * columns + i]} * w[n * columns + i];
          }
        }
        y[(t * parts + p) * outputs + n] = Rounded(sum, 0);
      }
    }
  }
  return true;
}

// y[t, n] = sum_p x[t, p, n]
bool SumParts(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(0));
  const int64_t parts = launch.Param(1);
  const int64_t outputs = launch.Param(2);
  const auto x = launch.Floats(3, launch.rows() * parts * outputs);
  const auto y = launch.Floats(4, launch.rows() * outputs);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    for (int64_t n = 0; n < outputs; ++n) {
      double sum = 0.0;
      for (int64_t p = 0; p < parts; ++p) {
        sum += x[(t * parts + p) * outputs + n];
      }
      y[t * outputs + n] = Rounded(sum, dtype);
    }
  }
  return true;
}

// y[t, h, n] = sum_k x[t, h, k] W_h[n][k]
bool HeadLinear(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(2));
  const int64_t heads = launch.Param(3);
  const int64_t outputs = launch.Param(4);
  const int64_t columns = launch.Param(5);
  const int64_t head_stride = launch.Param(6);
  const int64_t n_stride = launch.Param(7);
  const int64_t k_stride = launch.Param(8);
  const int64_t base = launch.Param(9);
  const auto x = launch.Floats(3, launch.rows() * heads * columns);
  const auto y = launch.Floats(5, launch.rows() * heads * outputs);
  if (heads == 0 || outputs == 0 || columns == 0) return launch.ok();
  const auto w = launch.Floats(4, base + (heads - 1) * head_stride +
                                      (outputs - 1) * n_stride +
                                      (columns - 1) * k_stride + 1);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t row = t * heads + h;
      for (int64_t n = 0; n < outputs; ++n) {
        double sum = 0.0;
        for (int64_t k = 0; k < columns; ++k) {
          sum += double{x[row * columns + k]} *
                 w[base + h * head_stride + n * n_stride + k * k_stride];
        }
        y[row * outputs + n] = Rounded(sum, dtype);
      }
    }
  }
  return true;
}

// y[t, s] = W[ids[t, s]] x[t] or W[ids[t, s]] x[t, s]; no expert: zeros.
bool ExpertLinear(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(3));
  const int64_t experts = launch.Param(4);
  const int64_t top_k = launch.Param(5);
  const int64_t outputs = launch.Param(6);
  const int64_t columns = launch.Param(7);
  const bool per_slot = launch.Param(9) != 0;
  const int64_t places = launch.rows() * top_k;
  const auto x =
      launch.Floats(3, (per_slot ? places : launch.rows()) * columns);
  const auto ids = launch.Ints(4, places);
  const int64_t distinct = launch.DistinctExperts(5, experts);
  const auto w = launch.Floats(5, distinct * outputs * columns);
  const auto y = launch.Floats(6, places * outputs);
  if (!launch.ok()) return false;

  for (int64_t place = 0; place < places; ++place) {
    if (!launch.Valid(place / top_k)) continue;
    const int64_t expert = ids[place];
    const int64_t row = per_slot ? place : place / top_k;
    for (int64_t n = 0; n < outputs; ++n) {
      double sum = 0.0;
      if (expert >= 0 && expert < experts) {
        sum = Dot(
            x.subspan(row * columns, columns),
            w.subspan((expert % distinct * outputs + n) * columns, columns));
      }
      y[place * outputs + n] = Rounded(sum, dtype);
    }
  }
  return true;
}

constexpr Op kOps[] = {
    {"linear", Linear, 4e-6, false},
    {"linear_parts", LinearParts, 4e-6, false},
    {"sum_parts", SumParts, 4e-6, false},
    {"head_linear", HeadLinear, 4e-6, false},
    {"expert_linear", ExpertLinear, 4e-6, false},
    {"paged_expert_linear", ExpertLinear, 4e-6, false},
};

}  // namespace

std::span<const Op> LinearOps() { return kOps; }

void DequantizeGptq4(std::span<const int32_t> words,
                     std::span<const float> scales, int64_t rows,
                     int64_t columns, int64_t group, std::span<float> values) {
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < columns; ++k) {
      const uint32_t word = static_cast<uint32_t>(words[k / 8 * rows + n]);
      const int code = static_cast<int>(word >> (4 * (k % 8)) & 15u);
      values[n * columns + k] =
          scales[k / group * rows + n] * static_cast<float>(code - 8);
    }
  }
}

void DequantizeInt8(std::span<const int8_t> codes,
                    std::span<const float> scales, int64_t rows,
                    int64_t columns, int64_t group, std::span<float> values) {
  const int64_t groups = (columns + group - 1) / group;
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < columns; ++k) {
      values[n * columns + k] = scales[n * groups + k / group] *
                                static_cast<float>(codes[n * columns + k]);
    }
  }
}

}  // namespace glm::reference
