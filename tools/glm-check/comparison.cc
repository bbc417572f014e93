#include "tools/glm-check/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::check {
namespace {

// [row, ...] of flat element `index`.
std::string IndexString(int64_t index, const std::vector<int64_t>& shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    text = absl::StrCat(index % shape[d], text.empty() ? "" : ", ", text);
    index /= shape[d];
  }
  return absl::StrCat("[", text, "]");
}

void CompareValues(const std::vector<double>& got, const GoldenTensor& want,
                   TensorResult& result) {
  int64_t worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double d = std::fabs(got[i] - want.values[i]);
    // A NaN is the worst difference there is.
    if (std::isnan(d) || d > result.max_abs) {
      result.max_abs = std::isnan(d) ? HUGE_VAL : d;
      worst = i;
    }
  }
  result.rel_l2 = RelL2(got, want.values);
  result.worst = IndexString(worst, want.shape);
}

std::set<int64_t> IdSet(const double* begin, int64_t count) {
  std::set<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    if (begin[i] >= 0) ids.insert(static_cast<int64_t>(begin[i]));
  }
  return ids;
}

// Tokens that a row at `position` attends to: its pools' and the tail.
std::set<int64_t> TokensOf(const Row& pools, int64_t position, int64_t pool) {
  std::set<int64_t> tokens;
  for (double p : pools) {
    if (p < 0) continue;
    for (int64_t s = 0; s < pool; ++s) {
      tokens.insert(static_cast<int64_t>(p) * pool + s);
    }
  }
  for (int64_t t = (position + 1) / pool * pool; t <= position; ++t) {
    tokens.insert(t);
  }
  return tokens;
}

class Comparer {
 public:
  Comparer(const GoldenCase& golden, int64_t pool) : golden_(golden), pool_(pool) {}

  // Tensors `<section>.layerL.<what>` against the taps of that section, whose
  // rows stand at the positions up to `last`.
  absl::Status Section(const std::string& section,
                       const std::map<std::string, std::vector<Row>>& taps,
                       int64_t last, CaseResult& out) {
    for (const auto& [name, want] : golden_.tensors) {
      if (!name.starts_with(section + ".layer")) continue;
      const std::string tap = name.substr(section.size() + 1);
      TensorResult result;
      result.name = absl::StrCat(golden_.name, ".", name);
      result.rows = want.rows();
      const bool index = tap.ends_with(".index_topk");
      const auto it = taps.find(
          index ? tap.substr(0, tap.rfind('.')) + ".pool_ids" : tap);
      if (it == taps.end()) {
        return absl::FailedPreconditionError(absl::StrCat(
            result.name, ": the plan has no tap of that name"));
      }
      if (static_cast<int64_t>(it->second.size()) < want.rows()) {
        return absl::FailedPreconditionError(absl::StrCat(
            result.name, " has ", want.rows(), " rows, the run gave ",
            it->second.size()));
      }
      const std::vector<Row> rows(it->second.end() - want.rows(),
                                  it->second.end());
      if (index) {
        CompareIndex(rows, want, last, result);
      } else if (tap.ends_with("_ids")) {
        CompareIds(rows, want, result);
      } else if (tap.ends_with("topk_weights")) {
        GLM_RETURN_IF_ERROR(CompareWeights(section, tap, rows, taps, want, result));
      } else {
        GLM_RETURN_IF_ERROR(CompareRows(rows, want, result));
      }
      out.tensors.push_back(result);
    }
    return absl::OkStatus();
  }

  absl::Status CompareRows(const std::vector<Row>& rows, const GoldenTensor& want,
                           TensorResult& result) {
    std::vector<double> got;
    for (const Row& row : rows) got.insert(got.end(), row.begin(), row.end());
    if (got.size() != want.values.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          result.name, " has ", want.values.size(), " elements, the plan gives ",
          got.size(), "; is the golden file of this model?"));
    }
    CompareValues(got, want, result);
    return absl::OkStatus();
  }

 private:
  void CompareIndex(const std::vector<Row>& rows, const GoldenTensor& want,
                    int64_t last, TensorResult& result) {
    result.ids = true;
    const int64_t width = want.row_size();
    for (int64_t r = 0; r < want.rows(); ++r) {
      const int64_t position = last - (want.rows() - 1 - r);
      if (TokensOf(rows[r], position, pool_) !=
          IdSet(want.values.data() + r * width, width)) {
        if (result.wrong_rows++ == 0) result.worst = absl::StrCat("[", r, "]");
      }
    }
  }

  void CompareIds(const std::vector<Row>& rows, const GoldenTensor& want,
                  TensorResult& result) {
    result.ids = true;
    const int64_t width = want.row_size();
    for (int64_t r = 0; r < want.rows(); ++r) {
      if (IdSet(rows[r].data(), rows[r].size()) !=
          IdSet(want.values.data() + r * width, width)) {
        if (result.wrong_rows++ == 0) result.worst = absl::StrCat("[", r, "]");
      }
    }
  }

  // Weights go with their ids, whose order is free: both sides by expert id.
  absl::Status CompareWeights(const std::string& section, const std::string& tap,
                              std::vector<Row> rows,
                              const std::map<std::string, std::vector<Row>>& taps,
                              const GoldenTensor& want, TensorResult& result) {
    const std::string ids_name = tap.substr(0, tap.rfind('.')) + ".topk_ids";
    const auto got_ids = taps.find(ids_name);
    const auto want_ids = golden_.tensors.find(section + "." + ids_name);
    if (got_ids == taps.end() || want_ids == golden_.tensors.end()) {
      return CompareRows(rows, want, result);
    }
    GoldenTensor sorted = want;
    const int64_t width = want.row_size();
    const size_t skip = got_ids->second.size() - rows.size();
    for (int64_t r = 0; r < want.rows(); ++r) {
      if (static_cast<int64_t>(rows[r].size()) != width ||
          got_ids->second[skip + r].size() != rows[r].size() ||
          want_ids->second.values.size() != want.values.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            result.name, " has ", width, " experts a row, the plan chooses ",
            rows[r].size(), "; is the golden file of this model?"));
      }
      SortBy(got_ids->second[skip + r].data(), rows[r].data(), width);
      SortBy(want_ids->second.values.data() + r * width,
             sorted.values.data() + r * width, width);
    }
    return CompareRows(rows, sorted, result);
  }

  static void SortBy(const double* ids, double* weights, int64_t count) {
    std::vector<std::pair<double, double>> pairs;
    for (int64_t i = 0; i < count; ++i) pairs.emplace_back(ids[i], weights[i]);
    std::sort(pairs.begin(), pairs.end());
    for (int64_t i = 0; i < count; ++i) weights[i] = pairs[i].second;
  }

  const GoldenCase& golden_;
  int64_t pool_;
};

int64_t ArgMax(const Row& row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

}  // namespace

double RelL2(const std::vector<double>& got, const std::vector<double>& want) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  if (std::isnan(difference)) return HUGE_VAL;
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

absl::StatusOr<CaseResult> Compare(const GoldenCase& golden, const Replay& replay,
                                   int64_t pool) {
  CaseResult out;
  out.name = golden.name;
  Comparer comparer(golden, pool);
  const int64_t length = golden.input_ids.size();
  GLM_RETURN_IF_ERROR(
      comparer.Section("prefill", replay.prefill, length - 1, out));
  GLM_RETURN_IF_ERROR(comparer.Section("decode0", replay.decode0, length, out));

  if (auto it = golden.tensors.find("prefill.logits"); it != golden.tensors.end()) {
    TensorResult result;
    result.name = golden.name + ".prefill.logits";
    result.rows = it->second.rows();
    const size_t rows = std::min<size_t>(result.rows, replay.prefill_logits.size());
    const std::vector<Row> last(replay.prefill_logits.end() - rows,
                                replay.prefill_logits.end());
    GLM_RETURN_IF_ERROR(comparer.CompareRows(last, it->second, result));
    out.prefill_rel_l2 = result.rel_l2;
    out.tensors.push_back(result);
  }
  for (size_t i = 0; i < golden.step_logits.size(); ++i) {
    TensorResult result;
    result.name = absl::StrCat(golden.name, ".step", i, ".logits");
    result.rows = 1;
    const GoldenTensor want = {
        {1, static_cast<int64_t>(golden.step_logits[i].size())},
        golden.step_logits[i]};
    GLM_RETURN_IF_ERROR(
        comparer.CompareRows({replay.step_logits[i]}, want, result));
    out.step_max_abs = std::max(out.step_max_abs, result.max_abs);
    out.tensors.push_back(result);
  }
  for (size_t i = 0; i < golden.step_tokens.size() && i < replay.step_logits.size();
       ++i) {
    ++out.tokens;
    if (ArgMax(replay.step_logits[i]) != golden.step_tokens[i]) {
      if (out.wrong_tokens++ == 0) out.first_wrong = i;
    }
  }
  return out;
}

}  // namespace glm::check
