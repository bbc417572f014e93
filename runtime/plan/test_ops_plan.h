// A valid plan that launches every op of docs/spec/kernels.md once an entry,
// with small sizes that all differ where they may, three of them in a group. It
// has no code: tests look at what the validator says when one number changes.
#ifndef GLM_RUNTIME_PLAN_TEST_OPS_PLAN_H_
#define GLM_RUNTIME_PLAN_TEST_OPS_PLAN_H_

#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/test_plan.h"

namespace glm::plan {

// The name that the kernel of `group` must have: docs/spec/kernels.md, Groups.
inline std::string GroupKernelName(const PlanT& plan, const EntryT& entry,
                                   const GroupT& group) {
  std::ostringstream text;
  uint32_t next = group.first;
  for (size_t c = 0; c < group.chains.size(); ++c) {
    const Chain& chain = group.chains[c];
    text << chain.phase();
    if (!group.slack.empty() && group.slack[c] > 0)
      text << "+" << group.slack[c];
    text << " " << chain.rows() << " " << chain.columns() << ":";
    for (uint32_t i = 0; i < chain.launches(); ++i) {
      const LaunchT& launch = *entry.launches[next++];
      text << " " << plan.kernels[launch.kernel]->name;
      for (const uint32_t extent : launch.grid) text << " " << extent;
      text << " " << launch.args[2].value() << ",";
    }
    text << ";";
  }
  const std::string all = text.str();
  char name[32];
  std::snprintf(
      name, sizeof name, "group_%016llx",
      static_cast<unsigned long long>(XXH3_64bits(all.data(), all.size())));
  return name;
}

// Builds one entry; kernels, weights and states are shared by name.
class OpsPlanBuilder {
 public:
  explicit OpsPlanBuilder(PlanT& plan) : plan_(plan) {}

  void AddEntry(const std::string& name, EntryKind kind, uint32_t sequences,
                uint32_t tokens) {
    entry_ = &Add(plan_.entries);
    entry_->name = name;
    entry_->kind = kind;
    entry_->sequences = sequences;
    entry_->tokens = tokens;
    entry_->logit_rows = 2;
    const uint64_t t = uint64_t{sequences} * tokens;
    const uint32_t rows = static_cast<uint32_t>(t);
    const uint32_t few = rows <= 8;
    Buffer("ids", DType::I32, {t});
    Buffer("seqs", DType::I32, {sequences, 4});
    Buffer("rows", DType::I32, {2});
    entry_->ids = 0, entry_->seqs = 1, entry_->rows = 2;
    rows_ = rows;

    Launch("embed", "Embed", {1, 0, 6, 8}, {rows, 1, 1},
           {At("ids"), W("table", {8, 6}), Out("x", {t, 6})});
    RowwiseLaunch(rows);
    Launch("linear", few ? "Linear" : "LinearTile", {0, 1, 0, 70, 6},
           {few ? 3u : (rows + 63) / 64, 1, 1},
           {At("y"), W("w", {70, 6}), Out("z", {t, 70})});
    Launch("head_linear", few ? "HeadLinear" : "HeadLinearTile",
           {0, 1, 0, 2, 5, 3, 15, 3, 1, 0},
           {few ? 1u : (rows + 127) / 128, few ? 2u : 1u, few ? 1u : 2u},
           {At("x"), W("wh", {10, 3}), Out("h", {t, 2, 5})});
    Launch("top_k", "TopK", {2, 0}, {rows, 1, 1},
           {At("z"), S(70), Out("experts", {t, 2}, DType::I32)});
    Launch("take_cols", "TakeCols", {0, 0, 2}, {rows, 1, 1},
           {At("z"), S(70), At("experts"), Out("chosen", {t, 2})});
    // Five experts, ids up to 69: the kernel gives zeros for those outside.
    Launch("expert_linear", 2 * rows <= 5 ? "ExpertLinear" : "ExpertLinearTile",
           {0, 1, 1, 0, 5, 2, 7, 6, 0, 0}, {1, 2 * rows <= 5 ? 2 * rows : 5, 1},
           {At("x"), At("experts"), W("we", {5, 7, 6}), Out("e", {t, 2, 7})});
    Launch("linear_parts", "LinearParts", {0, 1, 5, 6, 1, 3}, {3, 1, 1},
           {At("x"), W("wp", {5, 6}), Out("p", {t, 3, 5})});
    Launch("sum_parts", "SumParts", {0, 3, 5}, {rows, 1, 1},
           {At("p"), Out("ps", {t, 5})});
    Launch("short_conv", "ShortConv", {0, 1, 0, 6, 4, 2},
           {2, sequences, (tokens + 63) / 64},
           {S(sequences), At("x"), W("wc", {6, 4}),
            State("window", DType::F32, {6, 3}), S(256), Out("c", {t, 6})});
    Launch("delta_rule", few ? "DeltaRule" : "DeltaRuleChunk", {0, 0, 2, 3, 3},
           {2, sequences, 1},
           {S(sequences), At("x"), At("c"), At("y"), At("x"), At("z"),
            State("delta", DType::F32, {2, 3, 3}), S(256), Out("o", {t, 6})});
    Launch("latent_append", "LatentAppend", {0, 1, 6}, {rows, 1, 1},
           {At("x"), State("latent", DType::BF16, {16, 6}), S(256)});
    Launch("kpool", "KPool", {0, 1, 1, 6, 4},
           {sequences, (tokens + 63) / 64, 1},
           {S(sequences), At("x"), At("y"), W("ape", {4, 6}),
            State("tail", DType::BF16, {3, 2, 6}), S(256),
            State("pools", DType::BF16, {4, 6}), S(256)});
    Launch("index_scores", "IndexScores", {0, 0, 1, 1, 6, 4, 1},
           {1, (rows + 31) / 32, 1},
           {At("x"), At("y"), State("pools", DType::BF16, {4, 6}), S(256),
            S(0x3f800000), Out("scores", {t, 4}), S(4)});
    Launch("top_k", "TopK", {3, 4}, {rows, 1, 1},
           {At("scores"), S(4), Out("pool_ids", {t, 3}, DType::I32)});
    Launch("sparse_attention", "SparseAttention", {0, 1, 0, 1, 6, 3, 4},
           {1, rows, 1},
           {At("x"), State("latent", DType::BF16, {16, 6}), S(256),
            At("pool_ids"), S(0x3f800000), Out("a", {t, 1, 6})});
    Launch("attention_parts", "AttentionParts", {0, 1, 2, 6, 3, 4, 2},
           {2, 1, rows},
           {At("z"), State("latent", DType::BF16, {16, 6}), S(256),
            At("pool_ids"), S(0x3f800000), Out("mixed", {t, 2, 2, 6}),
            Out("stats", {t, 2, 2, 2})});
    Launch("merge_parts", "MergeParts", {0, 2, 6, 2, 1}, {1, rows, 1},
           {At("mixed"), At("stats"), Out("merged", {t, 2, 6})});
    Launch("sinkhorn", "Sinkhorn", {2, 3}, {rows, 1, 1},
           {At("x"), S(0x3f800000), Out("s", {t, 2, 2})});
    Launch("linear", few ? "Linear" : "LinearTile", {0, 2, 0, 9, 6, 3, 8},
           {few ? 1u : (rows + 15) / 16, 1, 1},
           {At("y"), W("w4", {9, 6}, WeightForm::DENSE_GPTQ4, 8),
            Out("z4", {t, 9})});
    Launch("linear", few ? "Linear" : "LinearTile", {0, 2, 0, 9, 6, 4, 16},
           {few ? 1u : (rows + 15) / 16, 1, 1},
           {At("y"), W("w8", {9, 6}, WeightForm::DENSE_INT8, 16),
            Out("z8", {t, 9})});
    if (plan_.ranks > 1) {
      Launch("all_reduce", "AllReduce", {0, 6}, {1, 1, 1},
             {At("o"), Out("sum", {t, 6})});
      Launch("all_gather", "AllGather", {0, 6, plan_.ranks}, {1, 1, 1},
             {At("o"), Out("all", {plan_.ranks, t, 6})});
    }
    Paging(0, rows);
    Paging(1, rows);
    rows_ = 2, head_ = true;
    Launch("gather_rows", "GatherRows", {0, 0, 6}, {2, 1, 1},
           {At("a"), At("rows"), Out("last", {2, 6})});
    Launch("linear", "Linear", {0, 1, 0, 8, 6}, {1, 1, 1},
           {At("last"), W("table", {8, 6}), Out("logits", {2, 8})});
    head_ = false;
    entry_->logits = index_["logits"];
    AddGroup(rows);
    TapT& tap = Add(entry_->taps);
    tap.name = "layer0.pool_ids";
    tap.buffer = index_["pool_ids"];
    tap.after = static_cast<uint32_t>(entry_->launches.size() - 1);
    for (auto& buffer : entry_->buffers) {
      buffer->last = static_cast<uint32_t>(entry_->launches.size() - 1);
    }
    entry_->arena_bytes = offset_;
    index_.clear();
    offset_ = 0;
  }

 private:
  // A product of paged rows, of one weight a layer.
  void Paging(uint32_t layer, uint64_t t) {
    const auto named = [&](const char* what) {
      return what + std::to_string(layer);
    };
    const uint32_t rows = static_cast<uint32_t>(t);
    Launch("find_rows", "FindRows", {5, 2, 1}, {1, 1, 1},
           {At("experts"), Pager(), S(layer),
            Out(named("found"), {t, 2}, DType::I32),
            Out(named("moves"), {1 + 2 * (2 * t < 5 ? 2 * t : 5)}, DType::I32),
            Out(named("arrivals"), {5, 1}, DType::I32)});
    Launch("copy_rows", "CopyRows", {5, 2, 1}, {64, 1, 1},
           {At(named("moves")), Pager(), At(named("arrivals"))});
    const bool few = 2 * rows <= 5;
    Launch("paged_expert_linear",
           few ? "PagedExpertLinear" : "PagedExpertLinearTile",
           {0, 1, 1, 0, 5, 2, 7, 6, 0, 0}, {1, few ? 2 * rows : 5, 1},
           {At("x"), At(named("found")), W(named("paged"), {5, 7, 6}),
            Out(named("pe"), {t, 2, 7}), At(named("arrivals")), S(1), S(0)});
    if (layer == plan_.expert_rows.size()) {
      Add(plan_.expert_rows).weights = {weights_.at(named("paged"))};
    }
  }
  static Arg Pager() { return Arg(0, 0, ArgKind::PAGER); }

  // expert_linear beside linear_parts, whose sums wait for both.
  void AddGroup(uint32_t rows) {
    GroupT& group = Add(entry_->groups);
    group.first = 6;
    group.chains = {Chain(1, 0, 1, 1), Chain(1, 0, 1, 3), Chain(1, 1, rows, 1)};
    group.kernel = static_cast<uint32_t>(plan_.kernels.size());
    KernelT& kernel = Add(plan_.kernels);
    kernel.name = GroupKernelName(plan_, *entry_, group);
    kernel.op = "group";
    kernel.threads = 256;
  }

  static Arg S(uint64_t value) { return Arg(value, 0, ArgKind::SCALAR); }
  Arg At(const std::string& buffer) {
    return Arg(0, index_.at(buffer), ArgKind::BUFFER);
  }
  Arg Out(const std::string& name, std::vector<uint64_t> shape,
          DType dtype = DType::F32) {
    Buffer(name, dtype, std::move(shape));
    return At(name);
  }

  void Buffer(const std::string& name, DType dtype,
              std::vector<uint64_t> shape) {
    BufferT& b = Add(entry_->buffers);
    b.name = name;
    b.dtype = dtype;
    b.size = 4;
    for (const uint64_t extent : shape) b.size *= extent;
    b.shape = std::move(shape);
    b.offset = offset_;
    offset_ +=
        (b.size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    index_[name] = static_cast<uint32_t>(entry_->buffers.size() - 1);
  }

  // BF16; three extents are a table of experts. No data: --weights none.
  Arg W(const std::string& name, std::vector<uint64_t> shape,
        WeightForm form = WeightForm::DENSE, uint32_t group = 0) {
    const auto [at, fresh] =
        weights_.emplace(name, static_cast<uint32_t>(plan_.weights.size()));
    if (fresh) {
      WeightT& w = Add(plan_.weights);
      w.name = name;
      w.dtype = DType::BF16;
      w.form = shape.size() == 3 ? WeightForm::EXPERTS_DENSE : form;
      w.group = group;
      w.shape = std::move(shape);
    }
    return Arg(0, at->second, ArgKind::WEIGHT);
  }

  Arg State(const char* name, DType dtype, std::vector<uint64_t> shape) {
    const auto [at, fresh] =
        states_.emplace(name, static_cast<uint32_t>(plan_.states.size()));
    if (fresh) {
      StateT& s = Add(plan_.states);
      s.name = name;
      s.dtype = dtype;
      s.shape = std::move(shape);
      s.bytes_per_slot = 256;
    }
    return Arg(0, at->second, ArgKind::STATE);
  }

  void Launch(const std::string& op, const std::string& kernel_template,
              std::vector<int64_t> params, std::vector<uint32_t> grid,
              std::vector<Arg> args) {
    std::string name = kernel_template;
    for (const int64_t p : params) name += "_" + std::to_string(p);
    LaunchOf(name, op, std::move(params), std::move(grid), std::move(args));
  }

  LaunchT& LaunchOf(const std::string& name, const std::string& op,
                    std::vector<int64_t> params, std::vector<uint32_t> grid,
                    std::vector<Arg> args) {
    const auto [at, fresh] =
        kernels_.emplace(name, static_cast<uint32_t>(plan_.kernels.size()));
    if (fresh) {
      KernelT& kernel = Add(plan_.kernels);
      kernel.name = name;
      kernel.op = op;
      kernel.threads = 256;
      kernel.params = std::move(params);
    }
    LaunchT& launch = Add(entry_->launches);
    launch.kernel = at->second;
    launch.grid = std::move(grid);
    launch.args = {head_ ? S(0) : At("seqs"), S(entry_->tokens), S(rows_)};
    launch.args.insert(launch.args.end(), args.begin(), args.end());
    return launch;
  }

  // y[t, i, j] = x[t, 3 i + j] * bias[3 i + j + 1], i < 2, j < 3.
  void RowwiseLaunch(uint32_t rows) {
    const std::vector<Arg> args = {At("x"), W("bias", {7}),
                                   Out("y", {rows, 6})};
    LaunchT& launch =
        LaunchOf("row_scale", "rowwise", {}, {2 * rows, 1, 1}, args);
    KernelT& kernel = *plan_.kernels[launch.kernel];
    if (kernel.program != nullptr) return;
    kernel.program = std::make_unique<RowProgramT>();
    kernel.program->dims = {-1, 2, 3};
    kernel.program->operand_count = 2;
    kernel.program->result_count = 1;
    const auto access = [&](RowOp op, uint32_t a, uint32_t b,
                            std::vector<int64_t> coeff, int64_t offset,
                            DType dtype) {
      RowInstT& inst = Add(kernel.program->code);
      inst.op = op, inst.a = a, inst.b = b, inst.offset = offset;
      inst.coeff = std::move(coeff);
      inst.dtype = dtype;
    };
    access(RowOp::LOAD, 0, 0, {6, 3, 1}, 0, DType::F32);
    access(RowOp::LOAD, 1, 0, {0, 3, 1}, 1, DType::BF16);
    access(RowOp::MUL, 0, 1, {}, 0, DType::F32);
    access(RowOp::STORE, 0, 2, {6, 3, 1}, 0, DType::F32);
  }

  PlanT& plan_;
  EntryT* entry_ = nullptr;
  uint64_t offset_ = 0;
  uint32_t rows_ = 0;  // T of the next launch
  bool head_ = false;  // the next launch takes the rows of the logits
  std::map<std::string, uint32_t> index_, weights_, states_, kernels_;
};

// Entries decode_b2 and prefill_n12. With more ranks each has collectives too,
// and two weights that no launch reads have data: `cut`, the left and the right
// columns of a stored matrix of int8, and `rows`, its upper and lower rows.
inline PlanT MakeOpsPlan(uint32_t ranks = 1) {
  PlanT plan;
  plan.ranks = ranks;
  plan.math = "fp32";
  plan.fuse = "on";
  plan.model = std::make_unique<ModelT>();
  plan.model->layers = 2;
  plan.model->experts_per_token = 2;
  plan.model->vocab = 8;
  plan.model->max_context = 16;
  OpsPlanBuilder builder(plan);
  builder.AddEntry("decode_b2", EntryKind::DECODE, 2, 1);
  builder.AddEntry("prefill_n12", EntryKind::PREFILL, 1, 12);
  if (ranks == 2) {
    // Codes [4, 64] at 100, scales [4, 4] at 400.
    WeightFileT& file = Add(plan.weight_files);
    file.path = "w.bin";
    file.size = 432;
    WeightT& cut = Add(plan.weights);
    cut.name = "cut";
    cut.form = WeightForm::DENSE_INT8;
    cut.shape = {4, 32};
    cut.group = 16;
    cut.cuts = {Cut(4, 32, 64), Cut(4, 4, 8)};
    cut.pieces = {Piece(100, 224, 0), Piece(400, 28, 0), Piece(132, 224, 0),
                  Piece(404, 28, 0)};
    WeightT& rows = Add(plan.weights);
    rows.name = "rows";
    rows.form = WeightForm::DENSE_INT8;
    rows.shape = {2, 64};
    rows.group = 16;
    rows.pieces = {Piece(100, 128, 0), Piece(400, 16, 0), Piece(228, 128, 0),
                   Piece(416, 16, 0)};
  }
  return plan;
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_TEST_OPS_PLAN_H_
