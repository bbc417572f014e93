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

// Tokens of `listed` entries of a list of pools, in its order; fails on a pool
// that is not complete.
std::vector<int64_t> TokensOf(Launch& launch, std::span<const int32_t> listed,
                              int64_t members, int64_t context) {
  std::vector<int64_t> tokens;
  for (const int32_t pool : listed) {
    if (pool < 0) continue;
    if ((int64_t{pool} + 1) * members > context) {
      launch.Fail("a row chose pool " + std::to_string(pool) +
                  ", which is not complete");
      return {};
    }
    for (int64_t i = 0; i < members; ++i) tokens.push_back(pool * members + i);
  }
  return tokens;
}

// The tokens after the last complete pool.
void AddTail(int64_t members, int64_t context, std::vector<int64_t>& tokens) {
  for (int64_t i = context / members * members; i < context; ++i) {
    tokens.push_back(i);
  }
}

// What a head finds in a list of tokens, with s_t = scale * q . c_t.
struct Attention {
  double most;                // max_t s_t, -inf of nothing
  double sum;                 // sum_t exp(s_t - most)
  std::vector<double> mixed;  // sum_t exp(s_t - most) c_t
};

Attention Attend(std::span<const float> q, std::span<const float> cache,
                 const std::vector<int64_t>& tokens, double scale) {
  const int64_t width = std::ssize(q);
  std::vector<double> weight;
  for (int64_t token : tokens) {
    double dot = 0.0;
    for (int64_t i = 0; i < width; ++i) {
      dot += double{q[i]} * cache[token * width + i];
    }
    weight.push_back(scale * dot);
  }
  Attention found{-INFINITY, 0.0, std::vector<double>(width, 0.0)};
  if (tokens.empty()) return found;
  found.most = *std::max_element(weight.begin(), weight.end());
  for (double& w : weight) found.sum += w = std::exp(w - found.most);
  for (size_t n = 0; n < tokens.size(); ++n) {
    for (int64_t i = 0; i < width; ++i) {
      found.mixed[i] += weight[n] * cache[tokens[n] * width + i];
    }
  }
  return found;
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
    std::vector<int64_t> tokens =
        TokensOf(launch, chosen.subspan(t * k, k), members, context);
    if (!launch.ok()) return false;
    AddTail(members, context, tokens);
    for (int64_t h = t * heads; h < (t + 1) * heads; ++h) {
      const Attention a =
          Attend(q.subspan(h * width, width), cache, tokens, scale);
      for (int64_t i = 0; i < width; ++i) {
        out[h * width + i] =
            Rounded(tokens.empty() ? 0.0 : a.mixed[i] / a.sum, dtype);
      }
    }
  }
  return true;
}

// The same over stretches of the list, before the division: mixed[t, p, h] and
// stats[t, p, h] = (most, sum).
bool AttentionParts(Launch& launch) {
  const int64_t heads = launch.Param(2);
  const int64_t width = launch.Param(3);
  const int64_t k = launch.Param(4);
  const int64_t members = launch.Param(5);
  const int64_t parts = launch.Param(6);
  const auto q = launch.Floats(3, launch.rows() * heads * width);
  const auto chosen = launch.Ints(6, launch.rows() * k);
  const double scale = launch.Real(7);
  const auto mixed = launch.Floats(8, launch.rows() * parts * heads * width);
  const auto stats = launch.Floats(9, launch.rows() * parts * heads * 2);
  if (members < 1) return launch.Fail("P must be positive");
  if (parts < 1 || parts > k) return launch.Fail("parts must be 1 .. k");
  if (!launch.NeedSequences()) return false;

  const int64_t stretch = (k + parts - 1) / parts;
  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    const int64_t context = launch.Context(t);
    const auto cache = launch.Slot(4, t / launch.tokens(), context * width);
    if (!launch.ok()) return false;
    for (int64_t p = 0; p < parts; ++p) {
      const int64_t first = std::min(p * stretch, k);
      std::vector<int64_t> tokens = TokensOf(
          launch, chosen.subspan(t * k + first, std::min(stretch, k - first)),
          members, context);
      if (!launch.ok()) return false;
      if (p == parts - 1) AddTail(members, context, tokens);
      for (int64_t h = 0; h < heads; ++h) {
        const Attention a = Attend(q.subspan((t * heads + h) * width, width),
                                   cache, tokens, scale);
        const int64_t to = (t * parts + p) * heads + h;
        stats[to * 2] = static_cast<float>(a.most);
        stats[to * 2 + 1] = static_cast<float>(a.sum);
        std::copy(a.mixed.begin(), a.mixed.end(), &mixed[to * width]);
      }
    }
  }
  return true;
}

// out[t, h] = sum_p e_p mixed[t, p, h] / sum_p e_p sum_p with
// e_p = exp(most_p - max_p most_p), over the parts whose sum is not 0.
bool MergeParts(Launch& launch) {
  const int dtype = static_cast<int>(launch.Param(0));
  const int64_t heads = launch.Param(1);
  const int64_t width = launch.Param(2);
  const int64_t parts = launch.Param(3);
  const auto mixed = launch.Floats(3, launch.rows() * parts * heads * width);
  const auto stats = launch.Floats(4, launch.rows() * parts * heads * 2);
  const auto out = launch.Floats(5, launch.rows() * heads * width);
  if (!launch.ok()) return false;

  for (int64_t t = 0; t < launch.rows(); ++t) {
    if (!launch.Valid(t)) continue;
    for (int64_t h = 0; h < heads; ++h) {
      const auto at = [&](int64_t p) { return (t * parts + p) * heads + h; };
      double most = -INFINITY;
      for (int64_t p = 0; p < parts; ++p) {
        most = std::max(most, double{stats[at(p) * 2]});
      }
      double sum = 0.0;
      std::vector<double> all(width, 0.0);
      for (int64_t p = 0; p < parts; ++p) {
        const double own = stats[at(p) * 2 + 1];
        if (own == 0.0) continue;
        const double factor = std::exp(stats[at(p) * 2] - most);
        sum += factor * own;
        for (int64_t i = 0; i < width; ++i) {
          all[i] += factor * mixed[at(p) * width + i];
        }
      }
      for (int64_t i = 0; i < width; ++i) {
        out[(t * heads + h) * width + i] =
            Rounded(sum == 0.0 ? 0.0 : all[i] / sum, dtype);
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
    {"attention_parts", AttentionParts, 8e-6, false},
    {"merge_parts", MergeParts, 8e-6, false},
};

}  // namespace

std::span<const Op> AttentionOps() { return kOps; }

}  // namespace glm::reference
