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
  if (Text(kernel().op()) == "paged_expert_linear") return;
  for (uint32_t i = 0; i < SizeOf(launch_.args()); ++i) {
    if (arg(i).kind() == ArgKind::WEIGHT &&
        known_.layer_of_weight.contains(arg(i).index())) {
      Fail(i, "is a weight of paged experts, which ",
           "paged_expert_linear alone takes");
    }
  }
}

uint64_t LaunchCheck::row_weights() const {
  return SizeOf(plan_.expert_rows()) == 0
             ? 0
             : SizeOf(plan_.expert_rows()->Get(0)->weights());
}

void LaunchCheck::RowWeights(uint64_t weights) {
  if (status_.ok() && weights != row_weights()) {
    Fail(0, "is of rows of ", weights, " weights, the plan's have ",
         row_weights());
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

void LaunchCheck::FindsRows(const FoundRows& args, uint64_t choices) {
  Number(args.layer);
  const uint64_t own = Value(args.layer);
  if (own >= SizeOf(plan_.expert_rows())) {
    Fail(args.layer, "is layer ", own, " of ", SizeOf(plan_.expert_rows()));
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
    const uint64_t last = before.args()->Get(args.layer)->value();
    if (last >= own) {
      Fail(args.layer, "is layer ", own, " after layer ", last,
           ", layers rise in a step");
    }
    break;
  }
  if (first && own != 0) {
    Fail(args.layer, "is layer ", own, ", the first is layer 0");
  }
  if (!status_.ok()) return;
  const uint32_t of = static_cast<uint32_t>(own);
  known_.paged.clear();
  for (const auto& [index, stage] : {std::pair{args.chosen, PagedIds::kChosen},
                                     {args.moves, PagedIds::kMoves},
                                     {args.arrivals, PagedIds::kArrivals}}) {
    if (!known_.paged.emplace(arg(index).index(), PagedIds{stage, of, choices})
             .second) {
      Fail(index, "is the buffer of another argument");
    }
  }
}

const PagedIds* LaunchCheck::FindPaged(uint32_t index,
                                       PagedIds::Stage stage) const {
  const auto found = known_.paged.find(arg(index).index());
  return arg(index).kind() == ArgKind::BUFFER && found != known_.paged.end() &&
                 found->second.stage == stage
             ? &found->second
             : nullptr;
}

void LaunchCheck::CopiesRows(uint32_t moves, uint32_t arrivals,
                             uint64_t choices, uint64_t counts) {
  if (!status_.ok()) return;
  const PagedIds* rows = FindPaged(moves, PagedIds::kMoves);
  if (rows == nullptr) {
    Fail(moves, "holds no moves that find_rows left for this layer");
  } else if (rows->choices != choices) {
    Fail(moves, "holds moves of ", rows->choices, " ids, the kernel's are ",
         choices);
  }
  const PagedIds* begun = FindPaged(arrivals, PagedIds::kArrivals);
  if (begun == nullptr) {
    Fail(arrivals, "holds no arrivals that find_rows left for this layer");
  }
  if (!status_.ok()) return;
  const uint32_t layer = begun->layer;
  Output(arrivals, static_cast<uint64_t>(DType::I32), counts);
  known_.paged[arg(arrivals).index()] = {PagedIds::kArrived, layer, choices};
}

void LaunchCheck::NeedsRows(const NeededRows& args, uint64_t choices) {
  if (!status_.ok()) return;
  const auto layer = known_.layer_of_weight.find(arg(args.weight).index());
  if (layer == known_.layer_of_weight.end()) {
    Fail(args.weight, "is no weight of paged experts");
    return;
  }
  const uint32_t of = layer->second;
  const auto& weights = *plan_.expert_rows()->Get(of)->weights();
  const uint64_t which = Value(args.which);
  Number(args.which);
  if (which >= SizeOf(&weights) ||
      weights.Get(static_cast<uint32_t>(which)) != arg(args.weight).index()) {
    Fail(args.which, "says weight ", which, " of a row, which is not argument ",
         args.weight);
  }
  const PagedIds* ids = FindPaged(args.ids, PagedIds::kChosen);
  const PagedIds* arrived = FindPaged(args.arrivals, PagedIds::kArrived);
  if (ids == nullptr || ids->layer != of) {
    Fail(args.ids, "holds no ids that find_rows left for layer ", of,
         ", whose rows the kernel reads");
  } else if (ids->choices != choices) {
    Fail(args.ids, "holds ", ids->choices, " ids, the kernel takes ", choices);
  }
  if (arrived == nullptr || arrived->layer != of) {
    Fail(args.arrivals, "holds no arrivals that copy_rows counted for layer ",
         of, ", whose rows the kernel reads");
  }
}

}  // namespace glm::plan
