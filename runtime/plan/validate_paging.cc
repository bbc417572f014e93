// Rows of paged experts, and the launches that find, copy and read them
// (docs/spec/paging.md).
#include <set>
#include <string>

#include "runtime/base/status_macros.h"
#include "runtime/plan/launch_check.h"

namespace glm::plan {
namespace {

bool SameRows(const Weight& a, const Weight& b) {
  bool same = a.form() == b.form() && a.dtype() == b.dtype() &&
              a.group() == b.group() && SizeOf(a.shape()) == SizeOf(b.shape());
  for (uint32_t i = 0; same && i < SizeOf(a.shape()); ++i) {
    same = a.shape()->Get(i) == b.shape()->Get(i);
  }
  return same;
}

absl::Status ValidateWeight(const Place& at, const Plan& plan, uint32_t weight,
                            uint32_t place, std::set<uint32_t>& used) {
  if (weight >= SizeOf(plan.weights())) {
    return at.Bad("weight ", weight, " of ", SizeOf(plan.weights()));
  }
  const Weight& one = *plan.weights()->Get(weight);
  const std::string name = Text(one.name());
  if (!IsExperts(one.form())) {
    return at.Bad(name, " is ", EnumNameWeightForm(one.form()),
                  ", no table of experts");
  }
  if (!used.insert(weight).second) return at.Bad(name, " is used twice");
  const auto& first = *plan.expert_rows()->Get(0)->weights();
  const Weight& like = *plan.weights()->Get(first[place]);
  if (!SameRows(one, like)) {
    return at.Bad(name, " is not as ", Text(like.name()),
                  " of the first layer");
  }
  const Weight& gate = *plan.weights()->Get(first[0]);
  if (IsCoded(one.form()) != IsCoded(gate.form()) ||
      one.shape()->Get(0) != gate.shape()->Get(0)) {
    return at.Bad(name, " has other experts or other pieces than ",
                  Text(gate.name()));
  }
  if (one.shape()->Get(0) > kMaxPagedExperts) {
    return at.Bad(name, " has ", one.shape()->Get(0), " experts, at most ",
                  kMaxPagedExperts, " can be paged");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateExpertRows(const Place& place, const Plan& plan) {
  const uint32_t layers = SizeOf(plan.expert_rows());
  if (layers > plan.model()->layers()) {
    return place.At("expert_rows")
        .Bad(layers, " layers, the model has ", plan.model()->layers());
  }
  std::set<uint32_t> used;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const Place at = place.At("expert_rows", layer, "");
    const auto* weights = plan.expert_rows()->Get(layer)->weights();
    const uint32_t expected =
        SizeOf(plan.expert_rows()->Get(0)->weights());  // checked first
    if (SizeOf(weights) == 0 || SizeOf(weights) > kMaxRowWeights ||
        SizeOf(weights) != expected) {
      return at.Bad(SizeOf(weights), " weights, expected 1 to ", kMaxRowWeights,
                    ", as many in each layer");
    }
    for (uint32_t i = 0; i < SizeOf(weights); ++i) {
      GLM_RETURN_IF_ERROR(ValidateWeight(at, plan, weights->Get(i), i, used));
    }
  }
  return absl::OkStatus();
}

void LaunchCheck::PagedWeights() {
  if (Text(kernel().op()) == "expert_linear") return;
  for (uint32_t i = 0; i < SizeOf(launch_.args()); ++i) {
    if (arg(i).kind() == ArgKind::WEIGHT &&
        known_.layer_of_weight.contains(arg(i).index())) {
      Fail(i, "is a weight of paged experts, which expert_linear alone takes");
    }
  }
}

void LaunchCheck::Pager(uint32_t index, uint64_t experts) {
  if (!Is(index, ArgKind::PAGER)) return;
  const auto& rows = *plan_.expert_rows()->Get(0)->weights();
  const uint64_t paged = plan_.weights()->Get(rows[0])->shape()->Get(0);
  if (experts != paged) {
    Fail(index, "has ", paged, " experts a layer, the kernel's are ", experts);
  }
}

void LaunchCheck::FindsRows(uint32_t layer, uint32_t chosen, uint32_t moves,
                            uint64_t choices) {
  Number(layer);
  const uint64_t own = Value(layer);
  if (own >= SizeOf(plan_.expert_rows())) {
    Fail(layer, "is layer ", own, " of ", SizeOf(plan_.expert_rows()));
  }
  // Launches before this one have been checked. The first begins the cache's
  // step, which rows that may leave are told by.
  bool first = true;
  for (uint32_t i = number_; i-- > 0;) {
    const Launch& before = *entry_.launches()->Get(i);
    if (Text(plan_.kernels()->Get(before.kernel())->op()) != "find_rows") {
      continue;
    }
    first = false;
    const uint64_t last = before.args()->Get(layer)->value();
    if (last >= own) {
      Fail(layer, "is layer ", own, " after layer ", last,
           ", layers rise in a step");
    }
    break;
  }
  if (first && own != 0)
    Fail(layer, "is layer ", own, ", the first is layer 0");
  if (!status_.ok()) return;
  if (arg(chosen).index() == arg(moves).index()) {
    Fail(moves, "is the buffer of argument ", chosen);
  }
  const uint32_t of = static_cast<uint32_t>(own);
  known_.paged.clear();
  known_.paged[arg(chosen).index()] = {PagedIds::kChosen, of, choices};
  known_.paged[arg(moves).index()] = {PagedIds::kMoves, of, choices};
}

const PagedIds* LaunchCheck::FindPaged(uint32_t index) const {
  const auto found = known_.paged.find(arg(index).index());
  return arg(index).kind() == ArgKind::BUFFER && found != known_.paged.end()
             ? &found->second
             : nullptr;
}

void LaunchCheck::CopiesRows(uint32_t chosen, uint32_t moves, uint32_t ready,
                             uint64_t choices) {
  const PagedIds* ids = FindPaged(chosen);
  const PagedIds* rows = FindPaged(moves);
  if (ids == nullptr || ids->stage != PagedIds::kChosen) {
    Fail(chosen, "holds no ids that find_rows left for this layer");
  }
  if (rows == nullptr || rows->stage != PagedIds::kMoves) {
    Fail(moves, "holds no moves that find_rows left for this layer");
  }
  if (!status_.ok()) return;
  if (ids->choices != choices) {
    Fail(chosen, "holds ", ids->choices, " ids, the kernel takes ", choices);
  }
  for (const uint32_t other : {chosen, moves}) {
    if (arg(ready).index() == arg(other).index()) {
      Fail(ready, "is the buffer of argument ", other);
    }
  }
  const uint32_t layer = ids->layer;
  Output(ready, static_cast<uint64_t>(DType::I32), choices);
  if (status_.ok()) {
    known_.paged[arg(ready).index()] = {PagedIds::kReady, layer, choices};
  }
}

void LaunchCheck::NeedsRows(uint32_t ids, uint32_t weight, uint64_t choices) {
  const auto layer = known_.layer_of_weight.find(arg(weight).index());
  if (!status_.ok() || layer == known_.layer_of_weight.end()) return;
  const PagedIds* found = FindPaged(ids);
  if (found == nullptr || found->stage != PagedIds::kReady ||
      found->layer != layer->second) {
    Fail(ids, "holds no ids that copy_rows left for layer ", layer->second,
         ", whose rows the kernel reads");
  } else if (found->choices != choices) {
    Fail(ids, "holds ", found->choices, " ids, the kernel takes ", choices);
  }
}

}  // namespace glm::plan
