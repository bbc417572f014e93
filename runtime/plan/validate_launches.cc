// Launches against docs/spec/kernels.md: what each op takes, how much of it its
// kernel touches, and the grid that touches exactly that. A kernel is native
// code that trusts these numbers.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "runtime/base/status_macros.h"
#include "runtime/plan/launch_check.h"

namespace glm::plan {
namespace {

constexpr uint64_t kF32 = 0, kI32 = 3;  // dtype codes

bool Named(const LaunchCheck& l, std::string_view kernel_template) {
  return std::string_view(l.kernel().name()->c_str())
      .starts_with(std::string(kernel_template) + "_");
}

void Embed(LaunchCheck& l) {
  l.Input(3, kI32, l.rows());
  l.DenseWeight(4, l.Param(0), Product({l.Param(3), l.Param(2)}));
  l.Output(5, l.Param(1), Product({l.rows(), l.Param(2)}));
  l.Grid(l.rows());
}

void GatherRows(LaunchCheck& l) {
  l.LogitRows(4);
  l.Input(3, l.Param(0), Product({l.step_rows(), l.Param(2)}));
  l.Input(4, kI32, l.rows());
  l.Output(5, l.Param(1), Product({l.rows(), l.Param(2)}));
  l.Grid(l.rows());
}

// Rows of a block of LinearTile.
uint64_t RowsOfTile(uint64_t outputs) {
  return outputs <= 32 ? 16 : outputs <= 1536 ? 64 : 128;
}

void Linear(LaunchCheck& l) {
  const uint64_t outputs = l.Param(3), columns = l.Param(4);
  l.Input(3, l.Param(0), Product({l.rows(), columns}));
  if (SizeOf(l.kernel().params()) == 5) {
    l.DenseWeight(4, l.Param(1), Product({outputs, columns}));
  } else {
    l.CodedWeight(4, l.Param(5), outputs, columns, l.Param(6));
  }
  l.Output(5, l.Param(2), Product({l.rows(), outputs}));
  if (Named(l, "LinearTile")) {
    l.Grid(Tiles(l.rows(), RowsOfTile(outputs)), Tiles(outputs, 128));
  } else {
    const bool narrow =
        outputs <= 1536 && columns >= 2048 && SizeOf(l.kernel().params()) == 5;
    const bool few = outputs > 128 && outputs <= 512;
    l.Grid(Tiles(outputs, !narrow ? 32 : few ? 8 : 16));
  }
}

void LinearParts(LaunchCheck& l) {
  const uint64_t outputs = l.Param(2), columns = l.Param(3);
  const uint64_t outer = l.Param(4), parts = l.Param(5);
  if (outer == 0 || parts == 0 || columns % Product({outer, parts}) != 0) {
    l.Fail(3, columns, " columns in ", outer, " stretches of ", parts,
           " parts");
  }
  l.Input(3, l.Param(0), Product({l.rows(), columns}));
  l.DenseWeight(4, l.Param(1), Product({outputs, columns}));
  l.Output(5, kF32, Product({l.rows(), parts, outputs}));
  l.Grid(parts);
}

void SumParts(LaunchCheck& l) {
  const uint64_t parts = l.Param(1), outputs = l.Param(2);
  l.Input(3, kF32, Product({l.rows(), parts, outputs}));
  l.Output(4, l.Param(0), Product({l.rows(), outputs}));
  l.Grid(l.rows());
}

void HeadLinear(LaunchCheck& l) {
  const uint64_t heads = l.Param(3), outputs = l.Param(4), columns = l.Param(5);
  uint64_t last = l.Param(9);
  for (const auto& [extent, stride] : {std::pair(heads, l.Param(6)),
                                       {outputs, l.Param(7)},
                                       {columns, l.Param(8)}}) {
    const uint64_t reach = Product({std::max<uint64_t>(extent, 1) - 1, stride});
    last = CheckedAdd(last, reach).value_or(~uint64_t{0} - 1);
  }
  l.Input(3, l.Param(0), Product({l.rows(), heads, columns}));
  l.DenseWeight(4, l.Param(1), CheckedAdd(last, 1).value_or(last));
  l.Output(5, l.Param(2), Product({l.rows(), heads, outputs}));
  if (Named(l, "HeadLinearTile")) {
    l.Grid(Tiles(l.rows(), 128), Tiles(outputs, 128), heads);
  } else {
    l.Grid(Tiles(outputs, 64), heads);
  }
}

void ExpertLinear(LaunchCheck& l) {
  const uint64_t experts = l.Param(4), top_k = l.Param(5);
  const uint64_t outputs = l.Param(6), columns = l.Param(7);
  const uint64_t choices = Product({l.rows(), top_k});
  l.Input(3, l.Param(0),
          Product({l.Param(9) != 0 ? choices : l.rows(), columns}));
  l.Input(4, kI32, choices);
  l.ExpertTable(5, l.Param(1), l.Param(2), experts, outputs, columns,
                l.Param(8));
  l.Output(6, l.Param(3), Product({choices, outputs}));
  if (Named(l, "ExpertLinearTile") || Named(l, "PagedExpertLinearTile")) {
    l.Grid(Tiles(outputs, 128), experts);
  } else {
    l.Grid(Tiles(outputs, columns >= 4096 ? 32 : 64), choices);
  }
}

void PagedExpertLinear(LaunchCheck& l) {
  ExpertLinear(l);
  const uint64_t choices = Product({l.rows(), l.Param(5)});
  l.NeedsRows({.ids = 4, .weight = 5, .arrivals = 7, .which = 9}, choices);
  l.NumberIs(8, l.row_weights(), "weights of a row");
}

void ShortConv(LaunchCheck& l) {
  const uint64_t channels = l.Param(3), kernel = l.Param(4);
  const uint64_t elements = Product({l.rows(), channels});
  l.NeedSequences();
  l.NumberIs(3, l.sequences(), "sequences");
  l.Input(4, l.Param(0), elements);
  l.DenseWeight(5, l.Param(1), Product({channels, kernel}));
  // Blocks of 64 tokens after the first take the rows before theirs from x.
  if (kernel == 0 || (kernel > 65 && l.tokens() > 64)) {
    l.Fail(4, "a convolution of ", kernel, " rows");
  }
  l.Slot(6, l.Param(0), Product({channels, std::max<uint64_t>(kernel, 1) - 1}));
  l.Output(8, l.Param(2), elements);
  const uint64_t columns = l.Param(5);
  if (columns < Tiles(channels, 256) || columns > channels) {
    l.Fail(4, columns, " blocks for ", channels, " channels");
  }
  l.Grid(columns, l.sequences(), Tiles(l.tokens(), 64));
}

void DeltaRule(LaunchCheck& l) {
  const uint64_t heads = l.Param(2), d = l.Param(3), dv = l.Param(4);
  const uint64_t keys = Product({l.rows(), heads, d});
  const uint64_t values = Product({l.rows(), heads, dv});
  l.NeedSequences();
  l.NumberIs(3, l.sequences(), "sequences");
  l.Input(4, l.Param(0), keys);
  l.Input(5, l.Param(0), keys);
  l.Input(6, l.Param(0), values);
  l.Input(7, kF32, keys);
  l.Input(8, kF32, Product({l.rows(), heads}));
  l.Slot(9, kF32, Product({heads, d, dv}));
  l.Output(11, l.Param(1), values);
  const uint64_t blocks = Named(l, "DeltaRuleChunk") ? Tiles(dv, 64) : 1;
  l.Grid(Product({heads, blocks}), l.sequences());
}

void LatentAppend(LaunchCheck& l) {
  l.NeedSequences();
  l.Input(3, l.Param(0), Product({l.rows(), l.Param(2)}));
  l.Slot(4, l.Param(1), Product({l.model().max_context(), l.Param(2)}));
  l.Grid(l.rows());
}

// Complete pools of a full context.
uint64_t Pools(const LaunchCheck& l, uint64_t pool) {
  return l.model().max_context() / std::max<uint64_t>(pool, 1);
}

void KPool(LaunchCheck& l) {
  const uint64_t width = l.Param(3), pool = l.Param(4);
  l.NeedSequences();
  l.NumberIs(3, l.sequences(), "sequences");
  l.Input(4, l.Param(0), Product({l.rows(), width}));
  l.Input(5, l.Param(0), Product({l.rows(), width}));
  l.DenseWeight(6, l.Param(1), Product({pool, width}));
  l.Slot(7, l.Param(2), Product({std::max<uint64_t>(pool, 1) - 1, 2, width}));
  l.Slot(9, l.Param(2), Product({Pools(l, pool), width}));
  l.Grid(l.sequences(),
         Tiles(Tiles(l.tokens(), std::max<uint64_t>(pool, 1)), 16));
}

void IndexScores(LaunchCheck& l) {
  const uint64_t heads = l.Param(3), width = l.Param(4);
  const uint64_t pools = Pools(l, l.Param(5)), columns = l.Value(9);
  l.NeedSequences();
  l.Input(3, l.Param(0), Product({l.rows(), heads, width}));
  l.Input(4, l.Param(1), Product({l.rows(), heads}));
  l.Slot(5, l.Param(2), Product({pools, width}));
  l.Number(7);
  l.Number(9);
  if (columns < pools) {
    l.Fail(9, columns, " columns, a full context has ", pools, " pools");
  }
  l.Output(8, kF32, Product({l.rows(), columns}));
  l.Grid(Tiles(columns, 64), Tiles(l.rows(), 32));
}

// Of a row: kernels count them with 32 bits, and look some ahead.
constexpr uint64_t kMostScores = uint64_t{1} << 30;

void TopK(LaunchCheck& l) {
  const uint64_t columns = l.Value(4), count = Product({l.rows(), l.Param(0)});
  if (l.Param(1) > 0) l.NeedSequences();
  l.Number(4);
  if (columns > kMostScores) {
    l.Fail(4, columns, " columns, at most ", kMostScores);
  }
  l.Input(3, kF32, Product({l.rows(), columns}));
  l.Output(5, kI32, count);
  l.Grid(l.rows());
  l.LeavesIds(5, columns, count);
}

void TakeCols(LaunchCheck& l) {
  const uint64_t columns = l.Value(4), count = Product({l.rows(), l.Param(2)});
  l.Number(4);
  l.Input(3, l.Param(0), Product({l.rows(), columns}));
  l.Input(5, kI32, count);
  l.UsesIds(5, columns, count);
  l.Output(6, l.Param(1), count);
  l.Grid(l.rows());
}

// Rows of experts that a step can move in a layer, and their number.
uint64_t Moves(uint64_t experts, uint64_t choices) {
  return 1 + 2 * std::min(experts, choices);
}

void FindRows(LaunchCheck& l) {
  const uint64_t experts = l.Param(0);
  const uint64_t choices = Product({l.rows(), l.Param(1)});
  l.NeedSequences();
  l.Input(3, kI32, choices);
  l.Pager(4, experts);
  l.Output(6, kI32, choices);
  l.Output(7, kI32, Moves(experts, choices));
  l.Output(8, kI32, Product({experts, l.Param(2)}));
  l.RowWeights(l.Param(2));
  if (l.Param(1) != l.model().experts_per_token()) {
    l.Fail(3, "are the choices of ", l.Param(1),
           " experts a token, the model's ", l.model().experts_per_token());
  }
  l.FindsRows({.layer = 5, .chosen = 6, .moves = 7, .arrivals = 8}, choices);
  l.Grid(1);
}

void CopyRows(LaunchCheck& l) {
  const uint64_t experts = l.Param(0);
  const uint64_t choices = Product({l.rows(), l.Param(1)});
  l.NeedSequences();
  l.Input(3, kI32, Moves(experts, choices));
  l.Pager(4, experts);
  l.RowWeights(l.Param(2));
  l.CopiesRows(3, 5, choices, Product({experts, l.Param(2)}));
  l.Grid(64);
}

void SparseAttention(LaunchCheck& l) {
  const uint64_t heads = l.Param(3), width = l.Param(4), k = l.Param(5);
  const uint64_t elements = Product({l.rows(), heads, width});
  const uint64_t listed = Product({l.rows(), k});
  l.NeedSequences();
  l.Input(3, l.Param(0), elements);
  l.Slot(4, l.Param(1), Product({l.model().max_context(), width}));
  l.Input(6, kI32, listed);
  l.UsesIds(6, Pools(l, l.Param(6)), listed);
  l.Number(7);
  l.Output(8, l.Param(2), elements);
  l.Grid(Tiles(heads, 16), l.rows());
}

void AttentionParts(LaunchCheck& l) {
  const uint64_t heads = l.Param(2), width = l.Param(3), k = l.Param(4);
  const uint64_t parts = l.Param(6), listed = Product({l.rows(), k});
  if (parts == 0 || parts > k) l.Fail(6, k, " pools in ", parts, " parts");
  l.NeedSequences();
  l.Input(3, l.Param(0), Product({l.rows(), heads, width}));
  l.Slot(4, l.Param(1), Product({l.model().max_context(), width}));
  l.Input(6, kI32, listed);
  l.UsesIds(6, Pools(l, l.Param(5)), listed);
  l.Number(7);
  l.Output(8, kF32, Product({l.rows(), parts, heads, width}));
  l.Output(9, kF32, Product({l.rows(), parts, heads, 2}));
  l.Grid(parts, Tiles(heads, 16), l.rows());
}

void MergeParts(LaunchCheck& l) {
  const uint64_t heads = l.Param(1), width = l.Param(2), parts = l.Param(3);
  const uint64_t columns = l.Param(4);
  if (columns == 0 || heads % columns != 0) {
    l.Fail(5, columns, " blocks for ", heads, " heads");
  }
  l.Input(3, kF32, Product({l.rows(), parts, heads, width}));
  l.Input(4, kF32, Product({l.rows(), parts, heads, 2}));
  l.Output(5, l.Param(0), Product({l.rows(), heads, width}));
  l.Grid(columns, l.rows());
}

void Sinkhorn(LaunchCheck& l) {
  const uint64_t elements = Product({l.rows(), l.Param(0), l.Param(0)});
  l.Input(3, kF32, elements);
  l.Number(4);
  l.Output(5, kF32, elements);
  l.Grid(l.rows());
}

// What the runtime does by itself: a launch without code, in no group.
void AllReduce(LaunchCheck& l) {
  const uint64_t elements = Product({l.rows(), l.Param(1)});
  if (l.ranks() < 2) l.Fail(3, "a sum over ranks in a plan of one");
  if (l.Param(0) > 1) l.Fail(3, "a sum of dtype ", l.Param(0));
  l.Input(3, l.Param(0), elements);
  l.Output(4, l.Param(0), elements);
  l.Grid(1);
}

void AllGather(LaunchCheck& l) {
  const uint64_t elements = Product({l.rows(), l.Param(1)});
  if (l.ranks() < 2) l.Fail(3, "a gather over ranks in a plan of one");
  if (l.Param(0) > 1) l.Fail(3, "elements of dtype ", l.Param(0));
  if (l.Param(2) != l.ranks()) {
    l.Fail(4, "the parts of ", l.Param(2), " ranks, the plan has ", l.ranks());
  }
  l.Input(3, l.Param(0), elements);
  l.Output(4, l.Param(0), Product({l.ranks(), elements}));
  l.Grid(1);
}

struct Rule {
  std::string_view op;
  std::string_view templates[2];  // one of them begins the kernel's name
  uint32_t params;
  uint32_t args;
  void (*check)(LaunchCheck&);
  uint32_t more_params = 0;  // of its other form
};

constexpr Rule kRules[] = {
    {"embed", {"Embed"}, 4, 6, Embed},
    {"gather_rows", {"GatherRows"}, 3, 6, GatherRows},
    {"linear", {"Linear", "LinearTile"}, 5, 6, Linear, 2},
    {"head_linear", {"HeadLinear", "HeadLinearTile"}, 10, 6, HeadLinear},
    {"expert_linear",
     {"ExpertLinear", "ExpertLinearTile"},
     10,
     7,
     ExpertLinear},
    {"paged_expert_linear",
     {"PagedExpertLinear", "PagedExpertLinearTile"},
     10,
     10,
     PagedExpertLinear},
    {"linear_parts", {"LinearParts"}, 6, 6, LinearParts},
    {"sum_parts", {"SumParts"}, 3, 5, SumParts},
    {"short_conv", {"ShortConv"}, 6, 9, ShortConv},
    {"delta_rule", {"DeltaRule", "DeltaRuleChunk"}, 5, 12, DeltaRule},
    {"latent_append", {"LatentAppend"}, 3, 6, LatentAppend},
    {"kpool", {"KPool"}, 5, 11, KPool},
    {"index_scores", {"IndexScores"}, 7, 10, IndexScores},
    {"top_k", {"TopK"}, 2, 6, TopK},
    {"take_cols", {"TakeCols"}, 3, 7, TakeCols},
    {"find_rows", {"FindRows"}, 3, 9, FindRows},
    {"copy_rows", {"CopyRows"}, 3, 6, CopyRows},
    {"sparse_attention", {"SparseAttention"}, 7, 9, SparseAttention},
    {"attention_parts", {"AttentionParts"}, 7, 10, AttentionParts},
    {"merge_parts", {"MergeParts"}, 5, 6, MergeParts},
    {"sinkhorn", {"Sinkhorn"}, 2, 6, Sinkhorn},
    {"all_reduce", {"AllReduce"}, 2, 5, AllReduce},
    {"all_gather", {"AllGather"}, 3, 5, AllGather},
};

const Rule* RuleOf(std::string_view op) {
  for (const Rule& rule : kRules) {
    if (rule.op == op) return &rule;
  }
  return nullptr;
}

absl::Status ValidateLaunch(const Place& at, const Plan& plan,
                            const Entry& entry, uint32_t number, Known& known,
                            WritersOf& writers) {
  LaunchCheck check(at, plan, entry, number, known, writers);
  check.LeadingArgs();
  check.PagedWeights();
  if (!check.status().ok()) return check.status();
  if (check.kernel().program() != nullptr) {
    CheckRowwise(check);
  } else if (const Rule* rule = RuleOf(Text(check.kernel().op()))) {
    const uint32_t more = rule->params + rule->more_params;
    const bool other = SizeOf(check.kernel().params()) == more;
    check.Counts(other ? more : rule->params, rule->args);
    if (check.status().ok()) rule->check(check);
  }
  return check.status();
}

}  // namespace

absl::Status ValidateKernelName(const Place& at, const Kernel& kernel) {
  const std::string name = Text(kernel.name()), op = Text(kernel.op());
  const std::string stem = name.substr(0, name.find('_'));
  const auto claims = [&](const Rule& rule) {
    return stem == rule.templates[0] || stem == rule.templates[1];
  };
  if ((stem == "row" && op != "rowwise") ||
      (stem == "group") != (op == "group") ||
      std::any_of(std::begin(kRules), std::end(kRules),
                  [&](const Rule& r) { return claims(r) && r.op != op; })) {
    return at.Bad("the name is not one of op ", op);
  }
  const Rule* rule = RuleOf(op);
  if (rule == nullptr) return absl::OkStatus();
  std::string expected = stem;
  for (uint32_t i = 0; i < SizeOf(kernel.params()); ++i) {
    absl::StrAppend(&expected, "_", kernel.params()->Get(i));
  }
  if (!claims(*rule) || name != expected) {
    return at.Bad("the name does not match op ", op, " and params, expected ",
                  std::string(rule->templates[0]),
                  expected.substr(stem.size()));
  }
  return absl::OkStatus();
}

absl::Status ValidateLaunches(const Place& place, const Plan& plan,
                              const Entry& entry, WritersOf& writers) {
  Known known;
  for (uint32_t layer = 0; layer < SizeOf(plan.expert_rows()); ++layer) {
    for (const uint32_t weight : *plan.expert_rows()->Get(layer)->weights()) {
      known.layer_of_weight[weight] = layer;
    }
  }
  for (uint32_t i = 0; i < SizeOf(entry.launches()); ++i) {
    const Launch& launch = *entry.launches()->Get(i);
    const Place at = place.At(
        "launches", i, Text(plan.kernels()->Get(launch.kernel())->name()));
    GLM_RETURN_IF_ERROR(ValidateLaunch(at, plan, entry, i, known, writers));
  }
  return absl::OkStatus();
}

}  // namespace glm::plan
