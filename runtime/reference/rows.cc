#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

// out[t] = table[ids[t]]; an id outside the table gives zeros.
bool Embed(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(1));
  const int64_t width = launch.Param(2);
  const int64_t vocab = launch.Param(3);
  const auto ids = launch.Ints(3, launch.rows());
  const auto table = launch.Floats(4, vocab * width);
  const auto out = launch.Floats(5, launch.rows() * width);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    const bool known = ids[t] >= 0 && ids[t] < vocab;
    for (int64_t i = 0; i < width; ++i) {
      out[t * width + i] =
          Rounded(known ? table[ids[t] * width + i] : 0.0f, dtype);
    }
  }
  return true;
}

// out[t] = x[rows[t]]; -1 gives zeros.
bool GatherRows(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(1));
  const int64_t width = launch.Param(2);
  const auto x = launch.Floats(3, 0);
  const auto rows = launch.Ints(4, launch.rows());
  const auto out = launch.Floats(5, launch.rows() * width);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    if (rows[t] >= 0 && (rows[t] + 1) * width > std::ssize(x)) {
      return launch.Fail("row " + std::to_string(rows[t]) + " is outside x");
    }
    for (int64_t i = 0; i < width; ++i) {
      out[t * width + i] =
          Rounded(rows[t] >= 0 ? x[rows[t] * width + i] : 0.0f, dtype);
    }
  }
  return true;
}

// out[t, j] = x[t, ids[t, j]]; -1 gives 0.
bool TakeCols(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(1));
  const int64_t k = launch.Param(2);
  const int64_t columns = launch.Integer(4);
  const auto x = launch.Floats(3, launch.rows() * columns);
  const auto ids = launch.Ints(5, launch.rows() * k);
  const auto out = launch.Floats(6, launch.rows() * k);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    for (int64_t j = t * k; j < (t + 1) * k; ++j) {
      if (ids[j] >= columns) {
        return launch.Fail("column " + std::to_string(ids[j]) +
                           " is outside x");
      }
      out[j] = Rounded(ids[j] >= 0 ? x[t * columns + ids[j]] : 0.0f, dtype);
    }
  }
  return true;
}

// The k largest candidates; equal: lower column; NaN: last. With a limit they
// stand in order of column, without one the largest first.
bool TopK(Launch& launch) {
  const int64_t k = launch.Param(0);
  const int64_t pool = launch.Param(1);
  const int64_t columns = launch.Integer(4);
  const auto scores = launch.Floats(3, launch.rows() * columns);
  const auto ids = launch.Ints(5, launch.rows() * k);
  if (pool > 0 && !launch.NeedSequences()) return false;
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    const int64_t candidates =
        pool > 0 ? std::min(columns, launch.Context(t) / pool) : columns;
    std::vector<int32_t> order(candidates);
    std::iota(order.begin(), order.end(), 0);
    const float* row = scores.data() + t * columns;
    std::sort(order.begin(), order.end(), [row](int32_t a, int32_t b) {
      if (std::isnan(row[a]) != std::isnan(row[b])) return std::isnan(row[b]);
      return row[a] > row[b] || (!(row[a] < row[b]) && a < b);
    });
    if (pool > 0) {
      std::sort(order.begin(), order.begin() + std::min(k, candidates));
    }
    for (int64_t j = 0; j < k; ++j) {
      ids[t * k + j] = j < candidates ? order[j] : -1;
    }
  }
  return true;
}

// Softmax of rows + eps; columns; then (iterations - 1) times rows, columns.
bool Sinkhorn(Launch& launch) {
  const int64_t n = launch.Param(0);
  const int64_t iterations = launch.Param(1);
  const auto z = launch.Floats(3, launch.rows() * n * n);
  const double eps = launch.Real(4);
  const auto comb = launch.Floats(5, launch.rows() * n * n);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    std::vector<double> c(n * n);
    for (int64_t i = 0; i < n; ++i) {
      const float* row = z.data() + (t * n + i) * n;
      const double most = *std::max_element(row, row + n);
      double sum = 0.0;
      for (int64_t j = 0; j < n; ++j) sum += std::exp(row[j] - most);
      for (int64_t j = 0; j < n; ++j) {
        c[i * n + j] = std::exp(row[j] - most) / sum + eps;
      }
    }
    for (int64_t pass = 0; pass < iterations; ++pass) {
      for (int64_t i = 0; i < n && pass > 0; ++i) {
        double sum = eps;
        for (int64_t j = 0; j < n; ++j) sum += c[i * n + j];
        for (int64_t j = 0; j < n; ++j) c[i * n + j] /= sum;
      }
      for (int64_t j = 0; j < n; ++j) {
        double sum = eps;
        for (int64_t i = 0; i < n; ++i) sum += c[i * n + j];
        for (int64_t i = 0; i < n; ++i) c[i * n + j] /= sum;
      }
    }
    for (int64_t i = 0; i < n * n; ++i) {
      comb[t * n * n + i] = static_cast<float>(c[i]);
    }
  }
  return true;
}

constexpr Op kOps[] = {
    {"embed", Embed, 0, true},           {"gather_rows", GatherRows, 0, true},
    {"take_cols", TakeCols, 0, true},    {"top_k", TopK, 0, true},
    {"sinkhorn", Sinkhorn, 4e-6, false},
};

}  // namespace

std::span<const Op> RowOps() { return kOps; }

}  // namespace glm::reference
