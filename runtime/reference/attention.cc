#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/reference/launch.h"

namespace glm::reference {
namespace {

// Row position + j of the slot's cache = c[t].
bool LatentAppend(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(1));
  const int64_t width = launch.Param(2);
  const auto c = launch.Floats(3, launch.rows() * width);
  if (!launch.NeedSequences()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    const int64_t place = launch.Context(t) - 1;
    const auto cache = launch.Slot(4, t / launch.tokens(), (place + 1) * width);
    if (!launch.ok()) return false;
    for (int64_t i = 0; i < width; ++i) {
      cache[place * width + i] = Rounded(c[t * width + i], dtype);
    }
  }
  return true;
}

// pool_p[d] = sum_s softmax_s(g_s[d] + ape[s, d]) k_s[d] over the P members of
// each pool completed in this step; the tail keeps members of the next one.
bool KPool(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(2));
  const int64_t depth = launch.Param(3);
  const int64_t members = launch.Param(4);
  const auto k = launch.Floats(4, launch.rows() * depth);
  const auto g = launch.Floats(5, launch.rows() * depth);
  const auto ape = launch.Floats(6, members * depth);
  if (members < 1) return launch.Fail("P must be positive");
  if (!launch.NeedSequences()) return false;

  for (int64_t s = 0; s < launch.sequences(); ++s) {
    if (launch.Length(s) == 0) continue;
    const int64_t begin = launch.Position(s);
    const int64_t end = begin + launch.Length(s);
    const auto tail = launch.Slot(7, s, (members - 1) * 2 * depth);
    const auto pools = launch.Slot(9, s, end / members * depth);
    if (!launch.ok()) return false;
    const std::vector<float> before(tail.begin(), tail.end());
    // (k, g) of a position of the sequence.
    const auto member = [&](int64_t place, int64_t which, int64_t d) {
      if (place < begin) {
        return before[(place % members * 2 + which) * depth + d];
      }
      const int64_t row = s * launch.tokens() + place - begin;
      return (which == 0 ? k : g)[row * depth + d];
    };

    for (int64_t p = begin / members; p < end / members; ++p) {
      for (int64_t d = 0; d < depth; ++d) {
        double most = -INFINITY;
        for (int64_t i = 0; i < members; ++i) {
          most = std::max(
              most, double{member(p * members + i, 1, d)} + ape[i * depth + d]);
        }
        double sum = 0.0;
        double mix = 0.0;
        for (int64_t i = 0; i < members; ++i) {
          const double weight = std::exp(double{member(p * members + i, 1, d)} +
                                         ape[i * depth + d] - most);
          sum += weight;
          mix += weight * member(p * members + i, 0, d);
        }
        pools[p * depth + d] = Rounded(mix / sum, dtype);
      }
    }
    for (int64_t place = end / members * members; place < end; ++place) {
      for (int64_t which = 0; which < 2; ++which) {
        for (int64_t d = 0; d < depth; ++d) {
          tail[(place % members * 2 + which) * depth + d] =
              Rounded(member(place, which, d), dtype);
        }
      }
    }
  }
  return true;
}

// scores[t, p] = sum_h w[t, h] max(0, scale * q[t, h] . pool_p) for complete
// pools p; other columns untouched.
bool IndexScores(Launch& launch) {
  const int64_t heads = launch.Param(3);
  const int64_t depth = launch.Param(4);
  const int64_t members = launch.Param(5);
  const auto q = launch.Floats(3, launch.rows() * heads * depth);
  const auto w = launch.Floats(4, launch.rows() * heads);
  const double scale = launch.Real(7);
  const int64_t columns = launch.Integer(9);
  const auto scores = launch.Floats(8, launch.rows() * columns);
  if (members < 1) return launch.Fail("P must be positive");
  if (!launch.NeedSequences()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    const int64_t candidates = launch.Context(t) / members;
    if (candidates > columns) {
      return launch.Fail("row " + std::to_string(t) + " has more pools than C");
    }
    const auto pools = launch.Slot(5, t / launch.tokens(), candidates * depth);
    if (!launch.ok()) return false;
    for (int64_t p = 0; p < candidates; ++p) {
      double score = 0.0;
      for (int64_t h = t * heads; h < (t + 1) * heads; ++h) {
        double dot = 0.0;
        for (int64_t d = 0; d < depth; ++d) {
          dot += double{q[h * depth + d]} * pools[p * depth + d];
        }
        score += w[h] * std::max(0.0, scale * dot);
      }
      scores[t * columns + p] = static_cast<float>(score);
    }
  }
  return true;
}

// out_h = sum_t softmax_t(scale * q_h . c_t) c_t over the tokens of the listed
// pools and the tail; no token: zeros.
bool SparseAttention(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(2));
  const int64_t heads = launch.Param(3);
  const int64_t width = launch.Param(4);
  const int64_t k = launch.Param(5);
  const int64_t members = launch.Param(6);
  const auto q = launch.Floats(3, launch.rows() * heads * width);
  const auto chosen = launch.Ints(6, launch.rows() * k);
  const double scale = launch.Real(7);
  const auto out = launch.Floats(8, launch.rows() * heads * width);
  if (members < 1) return launch.Fail("P must be positive");
  if (!launch.NeedSequences()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    const int64_t context = launch.Context(t);
    const auto cache = launch.Slot(4, t / launch.tokens(), context * width);
    if (!launch.ok()) return false;

    std::vector<int64_t> tokens;
    for (int64_t j = t * k; j < (t + 1) * k; ++j) {
      if (chosen[j] < 0) continue;
      if ((chosen[j] + 1) * members > context) {
        return launch.Fail("row " + std::to_string(t) + " chose pool " +
                           std::to_string(chosen[j]) +
                           ", which is not complete");
      }
      for (int64_t i = 0; i < members; ++i) {
        tokens.push_back(chosen[j] * members + i);
      }
    }
    for (int64_t i = context / members * members; i < context; ++i) {
      tokens.push_back(i);
    }

    for (int64_t h = t * heads; h < (t + 1) * heads; ++h) {
      std::vector<double> weight;
      for (int64_t token : tokens) {
        double dot = 0.0;
        for (int64_t i = 0; i < width; ++i) {
          dot += double{q[h * width + i]} * cache[token * width + i];
        }
        weight.push_back(scale * dot);
      }
      const double most = tokens.empty()
                              ? 0.0
                              : *std::max_element(weight.begin(), weight.end());
      double sum = 0.0;
      for (double& w : weight) sum += w = std::exp(w - most);
      for (int64_t i = 0; i < width; ++i) {
        double mix = 0.0;
        for (size_t n = 0; n < tokens.size(); ++n) {
          mix += weight[n] / sum * cache[tokens[n] * width + i];
        }
        out[h * width + i] = Rounded(mix, dtype);
      }
    }
  }
  return true;
}

constexpr Op kOps[] = {
    {"latent_append", LatentAppend, 0, true},
    {"kpool", KPool, 2e-6, false},
    {"index_scores", IndexScores, 8e-6, false},
    {"sparse_attention", SparseAttention, 8e-6, false},
};

}  // namespace

std::span<const Op> AttentionOps() { return kOps; }

}  // namespace glm::reference
