#include "tools/glm-check/golden_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"
#include "tools/glm-check/replay.h"

namespace glm::check {
namespace {

std::string Number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", v);
  return text;
}

// fp32: every tensor on its own, ids as sets, every greedy choice.
void JudgeExact(const GoldenBounds& bounds, const GoldenCase& golden,
                const CaseResult& result, GoldenVerdict& verdict) {
  // Files of greedy runs record logits alone, bounded absolutely.
  const bool greedy = golden.tensors.contains("greedy");
  for (const TensorResult& t : result.tensors) {
    if (t.ids) {
      if (t.wrong_rows > 0) {
        verdict.reasons.push_back(
            t.name + ": ids of " + std::to_string(t.wrong_rows) + " of " +
            std::to_string(t.rows) + " rows differ, first " + t.worst);
      }
    } else if (greedy ? !(t.max_abs <= bounds.step_max_abs)
                      : !(t.rel_l2 <= bounds.rel_l2)) {
      verdict.reasons.push_back(t.name + ": relative L2 " + Number(t.rel_l2) +
                                ", largest |d| " + Number(t.max_abs) + " at " +
                                t.worst);
    }
  }
  if (result.wrong_tokens > 0) {
    verdict.reasons.push_back(result.name + ": " +
                              std::to_string(result.wrong_tokens) + " of " +
                              std::to_string(result.tokens) +
                              " greedy tokens differ, first at step " +
                              std::to_string(result.first_wrong));
  }
}

double MeanError(const std::vector<CaseResult>& results) {
  double sum = 0;
  int64_t cases = 0;  // that have logits
  for (const CaseResult& r : results) {
    double steps = 0;
    int64_t count = 0;
    for (const TensorResult& t : r.tensors) {
      if (t.name.find(".step") == std::string::npos) continue;
      steps += t.rel_l2;
      ++count;
    }
    if (r.prefill_rel_l2 == 0 && count == 0) continue;
    sum += r.prefill_rel_l2 > 0 ? r.prefill_rel_l2 : steps / count;
    ++cases;
  }
  return cases == 0 ? 0 : sum / cases;
}

// Choices that agree with the recorded token, all cases together.
double GreedyPercent(const std::vector<CaseResult>& results) {
  int64_t tokens = 0, wrong = 0;
  for (const CaseResult& r : results) {
    tokens += r.tokens;
    wrong += r.wrong_tokens;
  }
  return tokens == 0 ? 100 : 100.0 * (tokens - wrong) / tokens;
}

// What the reference's own bf16 run differs from its fp32 run, as MeanError.
absl::StatusOr<double> BaselineError(const std::string& path,
                                     const std::vector<GoldenCase>& golden) {
  GLM_ASSIGN_OR_RETURN(const std::vector<GoldenCase> other, ReadGolden(path));
  double sum = 0;
  int64_t count = 0;
  for (const GoldenCase& g : golden) {
    for (const GoldenCase& o : other) {
      const auto want = g.tensors.find("prefill.logits");
      const auto got = o.tensors.find("prefill.logits");
      if (o.name != g.name || want == g.tensors.end() ||
          got == o.tensors.end() ||
          got->second.values.size() != want->second.values.size()) {
        continue;
      }
      sum += RelL2(got->second.values, want->second.values);
      ++count;
    }
  }
  if (count == 0) {
    return absl::InvalidArgumentError(
        path + ": has no case with the prefill logits of the golden file");
  }
  return sum / count;
}

// bf16 and quantised weights: the network amplifies rounding, so the mean over
// cases is judged.
absl::Status JudgeRounded(const GoldenBounds& bounds,
                          const std::vector<GoldenCase>& golden,
                          GoldenVerdict& verdict) {
  verdict.bound = bounds.mean_rel_l2;
  if (!bounds.baseline.empty()) {
    GLM_ASSIGN_OR_RETURN(verdict.bound, BaselineError(bounds.baseline, golden));
  }
  if (!(verdict.mean_rel_l2 <= verdict.bound)) {
    verdict.reasons.push_back("mean relative L2 over cases is " +
                              Number(verdict.mean_rel_l2) + ", bound " +
                              Number(verdict.bound));
  }
  if (bounds.min_greedy >= 0) {
    if (!(verdict.greedy_percent >= bounds.min_greedy)) {
      verdict.reasons.push_back(Number(verdict.greedy_percent) +
                                " % of the greedy tokens agree, at least " +
                                Number(bounds.min_greedy) + " % must");
    }
    return absl::OkStatus();
  }
  int64_t wrong = 0;
  bool greedy = false;
  for (size_t i = 0; i < golden.size(); ++i) {
    greedy |= golden[i].tensors.contains("greedy");
    wrong += verdict.cases[i].wrong_tokens > 0;
  }
  // One case in eight may choose another token somewhere.
  if (greedy && wrong * 8 > static_cast<int64_t>(verdict.cases.size())) {
    verdict.reasons.push_back(
        std::to_string(wrong) + " of " + std::to_string(verdict.cases.size()) +
        " cases have another greedy token, one in eight may");
  }
  return absl::OkStatus();
}

}  // namespace

const TensorResult* GoldenVerdict::Worst() const {
  const TensorResult* worst = nullptr;
  for (const CaseResult& r : cases) {
    for (const TensorResult& t : r.tensors) {
      if (!t.ids && (worst == nullptr || t.rel_l2 > worst->rel_l2)) worst = &t;
    }
  }
  return worst;
}

absl::StatusOr<GoldenVerdict> CheckGolden(ObservableRunner& executor,
                                          const std::vector<GoldenCase>& golden,
                                          const std::string& path,
                                          const GoldenBounds& bounds) {
  const plan::Plan& plan = executor.plan_file().plan();
  const uint32_t vocab = executor.model().vocab;
  GoldenVerdict verdict;
  for (const GoldenCase& c : golden) {
    std::vector<int32_t> ids = c.input_ids;
    ids.insert(ids.end(), c.step_tokens.begin(), c.step_tokens.end());
    for (int32_t id : ids) {
      if (id < 0 || static_cast<uint32_t>(id) >= vocab) {
        return absl::InvalidArgumentError(
            path + ": case " + c.name + " holds token " + std::to_string(id) +
            ", the vocabulary has " + std::to_string(vocab) +
            " entries; is the golden file of this model?");
      }
    }
    int64_t positions = 1;
    for (const auto& [name, tensor] : c.tensors) {
      if (name.starts_with("prefill.")) {
        positions = std::max(positions, tensor.rows());
      }
    }
    positions = std::min<int64_t>(positions, c.input_ids.size());
    const size_t fed = c.step_tokens.empty() ? 0 : c.step_tokens.size() - 1;
    GLM_ASSIGN_OR_RETURN(
        const Replay replay,
        RunTokens(executor, c.input_ids,
                  {c.step_tokens.begin(), c.step_tokens.begin() + fed},
                  positions));
    GLM_ASSIGN_OR_RETURN(CaseResult result,
                         Compare(c, replay, plan.model()->pool_tokens()));
    if (result.tensors.empty() && result.tokens == 0) {
      return absl::InvalidArgumentError(
          path + ": case " + c.name +
          " has no tensor that glm-check knows; nothing was compared");
    }
    verdict.cases.push_back(std::move(result));
  }

  verdict.math = plan.math()->str();
  verdict.bound = bounds.rel_l2;
  verdict.mean_rel_l2 = MeanError(verdict.cases);
  verdict.greedy_percent = GreedyPercent(verdict.cases);
  if (verdict.math == "fp32" && !bounds.mean) {
    for (size_t i = 0; i < golden.size(); ++i) {
      JudgeExact(bounds, golden[i], verdict.cases[i], verdict);
    }
  } else {
    GLM_RETURN_IF_ERROR(JudgeRounded(bounds, golden, verdict));
  }
  return verdict;
}

}  // namespace glm::check
