//===- KernelTable.cpp - Operation to kernel ------------------------------===//

#include "passes/KernelTable.h"
#include "passes/KernelArgs.h"
#include "passes/StateKernels.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace glm;
using namespace glm::passes;
using namespace glm::passes::args;

/// Bytes of one matrix [..., N, K]: with codes and scales when it is quantised.
static int64_t matrixBytes(RankedTensorType w) {
  int64_t n = w.getShape().drop_back().back(), k = w.getShape().back();
  auto quant = dyn_cast_or_null<model::GroupQuantAttr>(w.getEncoding());
  if (!quant)
    return n * k * w.getElementTypeBitWidth() / 8;
  int64_t codes = w.getElementType().isInteger(8) ? k : 4 * llvm::divideCeil(k, 8);
  return n * (codes + 2 * llvm::divideCeil(k, quant.getGroup()));
}

namespace {

/// Builds the row of one operation. Geometry shared with the templates: the
/// numbers below are the tile sizes written at the head of each template.
struct Table {
  const StepShape &step;
  SymbolTable &symbols;

  // Rows up to this many are a product of vectors: every weight is read once,
  // all rows stay in registers.
  static constexpr int64_t kGemvRows = 8;
  // Rows up to which its sums leave room for a third block of a unit.
  static constexpr int64_t kLeanRows = 4;
  // Heads of a block of attention, and blocks of a step that merge its parts.
  static constexpr int64_t kAttendHeads = 16, kMergeBlocks = 64;
  // Blocks that copy rows of experts, and experts of a layer whose lists leave room
  // for other kernels' shared memory.
  static constexpr int64_t kCopyBlocks = 64, kFewExperts = 320;
  // A block of the products of many rows has 128 outputs and so many rows: few
  // where few outputs would leave a GPU without work.
  static int64_t rowsOfTile(int64_t outputs) {
    return outputs <= 32 ? 16 : outputs <= 1536 ? 64 : 128;
  }

  model::StateOp state(FlatSymbolRefAttr name) {
    return symbols.lookup<model::StateOp>(name.getValue());
  }

  KernelChoice embed(model::EmbedOp op) {
    int64_t h = shapeOf(op.getResult())[1], t = shapeOf(op.getIds())[0];
    KernelChoice k;
    k.op = "embed", k.templateName = "Embed";
    k.params = {code(op.getTable()), code(op.getResult()), h,
                shapeOf(op.getTable())[0]};
    k.grid = {t, 1, 1}, k.rows = t, k.parts = {t, 1};
    k.args = {in(op.getIds(), kRows), in(op.getTable()), out(op.getResult(), kRows)};
    k.weightBytes = t * h * typeOf(op.getTable()).getElementTypeBitWidth() / 8;
    k.memoryBytes = t * 4 + tensorBytes(typeOf(op.getResult()));
    return k;
  }

  KernelChoice gatherRows(model::GatherRowsOp op) {
    KernelChoice k;
    k.op = "gather_rows", k.templateName = "GatherRows";
    k.params = {code(op.getInput()), code(op.getResult()), rowOf(op.getResult())};
    k.rows = shapeOf(op.getRows())[0];
    k.grid = {k.rows, 1, 1}, k.parts = {k.rows, 1};
    k.args = {in(op.getInput()), in(op.getRows(), kRows), out(op.getResult(), kRows)};
    k.memoryBytes = 2 * tensorBytes(typeOf(op.getResult()));
    return k;
  }

  /// Work of the runtime: a launch that has no code (docs/spec/kernels.md,
  /// Collectives).
  KernelChoice collective(Value x, Value y) {
    KernelChoice k;
    k.rows = shapeOf(x)[0];
    k.params = {code(x), rowOf(x)};
    k.alone = true, k.parts = {1, 1};
    k.args = {in(x), out(y)};
    k.memoryBytes = tensorBytes(typeOf(x)) + tensorBytes(typeOf(y));
    return k;
  }
  KernelChoice allReduce(model::AllReduceOp op) {
    KernelChoice k = collective(op.getInput(), op.getResult());
    k.op = "all_reduce", k.templateName = "AllReduce";
    return k;
  }
  KernelChoice allGather(model::AllGatherOp op) {
    KernelChoice k = collective(op.getInput(), op.getResult());
    k.op = "all_gather", k.templateName = "AllGather";
    k.params.push_back(shapeOf(op.getResult())[0]);
    return k;
  }

  KernelChoice linear(model::LinearOp op) {
    int64_t n = shapeOf(op.getWeight())[0], kk = shapeOf(op.getWeight())[1];
    KernelChoice k;
    k.op = "linear", k.rows = shapeOf(op.getInput())[0];
    RankedTensorType w = typeOf(op.getWeight());
    k.params = {code(op.getInput()), dtypeCode(w.getElementType()),
                code(op.getResult()), n, kk};
    if (auto quant = dyn_cast_or_null<model::GroupQuantAttr>(w.getEncoding())) {
      // The scales' dtype, the plan's WeightForm, the group.
      k.params[1] = 2;
      k.params.append({w.getElementType().isInteger(8) ? 4 : 3, quant.getGroup()});
    }
    bool gemv = k.rows <= kGemvRows;
    k.templateName = gemv ? "Linear" : "LinearTile";
    // As templates/glm/linear.h has it: few long outputs are spread over more
    // blocks.
    int64_t width = n > 1536 || kk < 2048 || w.getEncoding() ? 32
                    : n > 128 && n <= 512                    ? 8
                                                            : 16;
    if (gemv)
      k.grid = {tiles(n, width), 1, 1};
    else
      k.grid = {tiles(k.rows, rowsOfTile(n)), tiles(n, 128), 1};
    k.alone = !gemv; // stages of a tile fill the shared memory
    k.parts = {1, k.grid[0] * k.grid[1]};
    k.args = {in(op.getInput()), in(op.getWeight()),
              out(op.getResult(), gemv ? even(kColumns, n, width) : kWhole)};
    k.hungry = k.rows > kLeanRows || w.getEncoding();
    k.weightBytes = matrixBytes(w);
    k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                    tensorBytes(typeOf(op.getResult()));
    k.flops = 2 * k.rows * n * kk;
    return k;
  }

  KernelChoice linearParts(model::LinearPartsOp op) {
    ArrayRef<int64_t> w = shapeOf(op.getWeight()), y = shapeOf(op.getResult());
    int64_t last = shapeOf(op.getInput()).back();
    KernelChoice k;
    k.op = "linear_parts", k.templateName = "LinearParts", k.rows = y[0];
    k.params = {code(op.getInput()), code(op.getWeight()), w[0], w[1], w[1] / last,
                y[1]};
    k.grid = {y[1], 1, 1}, k.parts = {1, y[1]};
    k.args = {in(op.getInput(), {false, w[1] / last}), in(op.getWeight()),
              out(op.getResult(), kColumns)};
    k.hungry = k.rows > kLeanRows;
    k.weightBytes = tensorBytes(typeOf(op.getWeight()));
    k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                    tensorBytes(typeOf(op.getResult()));
    k.flops = 2 * k.rows * w[0] * w[1];
    return k;
  }

  KernelChoice sumParts(model::SumPartsOp op) {
    ArrayRef<int64_t> x = shapeOf(op.getInput());
    KernelChoice k;
    k.op = "sum_parts", k.templateName = "SumParts", k.rows = x[0];
    k.params = {code(op.getResult()), x[1], x[2]};
    k.grid = {x[0], 1, 1}, k.parts = {x[0], 1};
    k.args = {in(op.getInput(), kRows), out(op.getResult(), kRows)};
    k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                    tensorBytes(typeOf(op.getResult()));
    k.flops = x[0] * x[1] * x[2];
    return k;
  }

  KernelChoice headLinear(model::HeadLinearOp op) {
    int64_t heads = shapeOf(op.getInput())[1], kk = shapeOf(op.getInput())[2];
    int64_t n = shapeOf(op.getResult())[2], r = shapeOf(op.getWeight())[1];
    bool t = op.getTransposed();
    KernelChoice k;
    k.op = "head_linear", k.rows = shapeOf(op.getInput())[0];
    k.params = {code(op.getInput()), code(op.getWeight()), code(op.getResult()),
                heads, n, kk, static_cast<int64_t>(op.getStride()) * r,
                t ? 1 : r, t ? r : 1, static_cast<int64_t>(op.getFirst()) * r};
    bool gemv = k.rows <= kGemvRows;
    k.templateName = gemv ? "HeadLinear" : "HeadLinearTile";
    if (gemv)
      k.grid = {tiles(n, 64), heads, 1};
    else
      k.grid = {tiles(k.rows, 128), tiles(n, 128), heads};
    k.alone = !gemv;
    k.parts = {1, k.grid[0] * k.grid[1] * k.grid[2]};
    k.args = {in(op.getInput(), gemv && n <= 64 ? kColumns : kWhole),
              in(op.getWeight()),
              out(op.getResult(), gemv ? even(kColumns, n, 64) : kWhole)};
    k.hungry = k.rows > kLeanRows;
    k.weightBytes = heads * n * kk *
                    typeOf(op.getWeight()).getElementTypeBitWidth() / 8;
    k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                    tensorBytes(typeOf(op.getResult()));
    k.flops = 2 * k.rows * heads * n * kk;
    return k;
  }

  KernelChoice expertLinear(model::ExpertLinearOp op) {
    RankedTensorType w = typeOf(op.getWeight());
    int64_t experts = w.getDimSize(0), n = w.getDimSize(1), kk = w.getDimSize(2);
    int64_t topK = shapeOf(op.getIds())[1];
    auto quant = dyn_cast_or_null<model::GroupQuantAttr>(w.getEncoding());
    const bool paged = static_cast<bool>(op.getArrivals());
    KernelChoice k;
    k.op = paged ? "paged_expert_linear" : "expert_linear", k.rows = shapeOf(op.getIds())[0];
    k.params = {code(op.getInput()),
                quant ? 2 : 1,
                quant ? 1 : dtypeCode(w.getElementType()),
                code(op.getResult()),
                experts,
                topK,
                n,
                kk,
                quant ? quant.getGroup() : 0,
                shapeOf(op.getInput()).size() == 3};
    // Fewer choices than experts: few rows share one, each is its own product.
    const bool gemv = k.rows * topK <= experts;
    if (gemv) {
      // As templates/glm/expert_linear.h has it.
      int64_t width = kk >= 4096 ? 32 : 64;
      k.templateName = paged ? "PagedExpertLinear" : "ExpertLinear";
      k.grid = {tiles(n, width), k.rows * topK, 1};
      k.parts = {k.rows, topK * tiles(n, width)};
      k.args = {in(op.getInput(), kRows), in(op.getIds(), kRows), in(op.getWeight()),
                out(op.getResult(), even(kBoth, n, width))};
    } else {
      k.templateName = paged ? "PagedExpertLinearTile" : "ExpertLinearTile";
      k.grid = {tiles(n, 128), experts, 1};
      k.alone = true;
      k.parts = {1, k.grid[0] * k.grid[1]};
      k.args = {in(op.getInput()), in(op.getIds()), in(op.getWeight()),
                out(op.getResult())};
    }
    if (paged) {
      Value arrivals = op.getArrivals();
      k.args.push_back(TensorArg{arrivals, false, {}, gemv});
      k.args.push_back(shapeOf(arrivals)[1]);
      k.args.push_back(static_cast<int64_t>(*op.getRowWeight()));
    }
    k.weightBytes = std::min(experts, k.rows * topK) * matrixBytes(w);
    k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                    tensorBytes(typeOf(op.getResult()));
    k.flops = 2 * k.rows * topK * n * kk;
    return k;
  }

  KernelChoice sinkhorn(model::SinkhornOp op) {
    KernelChoice k;
    int64_t n = shapeOf(op.getLogits())[1];
    k.op = "sinkhorn", k.templateName = "Sinkhorn";
    k.params = {n, static_cast<int64_t>(op.getIterations())};
    k.rows = shapeOf(op.getLogits())[0];
    k.grid = {k.rows, 1, 1}, k.parts = {k.rows, 1};
    k.args = {in(op.getLogits(), kRows), op.getEps().convertToFloat(),
              out(op.getResult(), kRows)};
    k.memoryBytes = 2 * tensorBytes(typeOf(op.getResult()));
    k.flops = k.rows * n * n * 4 * static_cast<int64_t>(op.getIterations());
    return k;
  }

  KernelChoice topK(model::TopKOp op) {
    KernelChoice k;
    k.op = "top_k", k.templateName = "TopK";
    k.params = {shapeOf(op.getIds())[1], static_cast<int64_t>(op.getPool())};
    k.rows = shapeOf(op.getScores())[0];
    k.grid = {k.rows, 1, 1}, k.parts = {k.rows, 1};
    k.args = {in(op.getScores(), kRows), shapeOf(op.getScores())[1],
              out(op.getIds(), kRows)};
    k.memoryBytes = tensorBytes(typeOf(op.getScores())) +
                    tensorBytes(typeOf(op.getIds()));
    return k;
  }

  KernelChoice findRows(model::FindRowsOp op) {
    ArrayRef<int64_t> arrivals = shapeOf(op.getArrivals());
    KernelChoice k;
    k.op = "find_rows", k.templateName = "FindRows";
    k.params = {arrivals[0], shapeOf(op.getIds())[1], arrivals[1]};
    k.rows = shapeOf(op.getIds())[0];
    k.parts = {1, 1};
    k.alone = arrivals[0] > kFewExperts; // their lists are shared memory
    k.args = {in(op.getIds()),     PagerArg{},          static_cast<int64_t>(op.getLayer()),
              out(op.getChosen()), out(op.getMoves()), out(op.getArrivals())};
    k.memoryBytes =
        2 * tensorBytes(typeOf(op.getIds())) + tensorBytes(typeOf(op.getMoves()));
    return k;
  }

  KernelChoice copyRows(model::CopyRowsOp op) {
    ArrayRef<int64_t> arrivals = shapeOf(op.getArrivals());
    KernelChoice k;
    k.op = "copy_rows", k.templateName = "CopyRows";
    k.params = {arrivals[0], static_cast<int64_t>(op.getTopK()), arrivals[1]};
    k.rows = step.rows();
    k.grid = {kCopyBlocks, 1, 1}, k.parts = {1, kCopyBlocks};
    k.args = {in(op.getMoves()), PagerArg{}, TensorArg{op.getArrived(), true, {}, true}};
    k.memoryBytes = tensorBytes(typeOf(op.getMoves()));
    return k;
  }

  KernelChoice takeCols(model::TakeColsOp op) {
    KernelChoice k;
    k.op = "take_cols", k.templateName = "TakeCols";
    k.params = {code(op.getInput()), code(op.getResult()),
                shapeOf(op.getIds())[1]};
    k.rows = shapeOf(op.getIds())[0];
    k.grid = {k.rows, 1, 1}, k.parts = {k.rows, 1};
    k.args = {in(op.getInput(), kRows), shapeOf(op.getInput())[1],
              in(op.getIds(), kRows), out(op.getResult(), kRows)};
    k.memoryBytes = 3 * tensorBytes(typeOf(op.getResult()));
    return k;
  }

  KernelChoice indexScores(model::IndexScoresOp op) {
    ArrayRef<int64_t> q = shapeOf(op.getQuery());
    auto pools = cast<RankedTensorType>(state(op.getStateAttr()).getType());
    int64_t columns = shapeOf(op.getScores())[1];
    KernelChoice k;
    k.op = "index_scores", k.templateName = "IndexScores", k.rows = step.rows();
    // As many rows as the tile has room for, but few where a step has few: their
    // products lie in shared memory.
    int64_t together = std::clamp<int64_t>(128 / q[1], 1, k.rows <= kGemvRows ? 1 : 32);
    k.params = {code(op.getQuery()), code(op.getWeights()),
                dtypeCode(pools.getElementType()), q[1], q[2],
                static_cast<int64_t>(op.getPool()), together};
    k.grid = {tiles(columns, 64), tiles(k.rows, 32), 1};
    k.parts = {1, k.grid[0] * k.grid[1]};
    k.args = {in(op.getQuery()), in(op.getWeights()), StateArg{op.getStateAttr()},
              op.getScale().convertToFloat(), out(op.getScores()), columns};
    k.memoryBytes = tensorBytes(typeOf(op.getQuery())) +
                    tensorBytes(typeOf(op.getScores())) +
                    step.sequences * tensorBytes(pools);
    k.flops = 2 * k.rows * columns * q[1] * q[2];
    return k;
  }

  /// Bytes and operations of attention over all tokens that a row may list.
  void countAttention(KernelChoice &k, Value query, Value pools, int64_t pool,
                      FlatSymbolRefAttr name) {
    ArrayRef<int64_t> q = shapeOf(query);
    int64_t tokens = shapeOf(pools)[1] * pool + pool - 1;
    Type cache = cast<RankedTensorType>(state(name).getType()).getElementType();
    k.memoryBytes = tensorBytes(typeOf(query)) +
                    k.rows * tokens * q[2] * cache.getIntOrFloatBitWidth() / 8;
    k.flops = 4 * k.rows * q[1] * tokens * q[2];
  }

  KernelChoice sparseAttention(model::SparseAttentionOp op) {
    ArrayRef<int64_t> q = shapeOf(op.getQuery());
    Type cache = cast<RankedTensorType>(state(op.getStateAttr()).getType())
                     .getElementType();
    int64_t topK = shapeOf(op.getPools())[1], pool = op.getPool();
    KernelChoice k;
    k.op = "sparse_attention", k.templateName = "SparseAttention";
    k.params = {code(op.getQuery()), dtypeCode(cache), code(op.getResult()),
                q[1], q[2], topK, pool};
    k.rows = step.rows();
    k.grid = {tiles(q[1], kAttendHeads), k.rows, 1};
    k.parts = {k.rows, k.grid[0]};
    k.alone = true; // scores and latents fill the shared memory
    Split split = even(kBoth, q[1], kAttendHeads);
    k.args = {in(op.getQuery(), split), StateArg{op.getStateAttr()},
              in(op.getPools(), kRows), op.getScale().convertToFloat(),
              out(op.getResult(), split)};
    countAttention(k, op.getQuery(), op.getPools(), pool, op.getStateAttr());
    k.memoryBytes += tensorBytes(typeOf(op.getResult()));
    return k;
  }

  KernelChoice attentionParts(model::AttentionPartsOp op) {
    ArrayRef<int64_t> q = shapeOf(op.getQuery());
    Type cache = cast<RankedTensorType>(state(op.getStateAttr()).getType())
                     .getElementType();
    int64_t topK = shapeOf(op.getPools())[1], pool = op.getPool();
    int64_t parts = shapeOf(op.getMixed())[1];
    KernelChoice k;
    k.op = "attention_parts", k.templateName = "AttentionParts";
    k.params = {code(op.getQuery()), dtypeCode(cache), q[1], q[2], topK, pool, parts};
    k.rows = step.rows();
    k.grid = {parts, tiles(q[1], kAttendHeads), k.rows};
    k.parts = {k.rows, k.grid[0] * k.grid[1]};
    k.hungry = true; // the mixed latents of 16 heads
    k.args = {in(op.getQuery(), kRows), StateArg{op.getStateAttr()},
              in(op.getPools(), kRows), op.getScale().convertToFloat(),
              out(op.getMixed(), kRows), out(op.getStats(), kRows)};
    countAttention(k, op.getQuery(), op.getPools(), pool, op.getStateAttr());
    k.memoryBytes += tensorBytes(typeOf(op.getMixed())) +
                     tensorBytes(typeOf(op.getStats()));
    return k;
  }

  KernelChoice mergeParts(model::MergePartsOp op) {
    ArrayRef<int64_t> m = shapeOf(op.getMixed());
    KernelChoice k;
    k.op = "merge_parts", k.templateName = "MergeParts", k.rows = m[0];
    // Blocks that may wait for the parts in the same launch.
    int64_t columns = std::clamp<int64_t>(kMergeBlocks / m[0], 1, m[2]);
    while (m[2] % columns != 0)
      --columns;
    k.params = {code(op.getResult()), m[2], m[3], m[1], columns};
    k.grid = {columns, k.rows, 1}, k.parts = {k.rows, columns};
    k.args = {in(op.getMixed(), kRows), in(op.getStats(), kRows),
              out(op.getResult(), kBoth)};
    k.memoryBytes = tensorBytes(typeOf(op.getMixed())) +
                    tensorBytes(typeOf(op.getStats())) +
                    tensorBytes(typeOf(op.getResult()));
    k.flops = 2 * typeOf(op.getMixed()).getNumElements();
    return k;
  }
};

} // namespace

FailureOr<KernelChoice> passes::chooseKernel(Operation *op, const StepShape &step,
                                             SymbolTable &symbols) {
  Table table{step, symbols};
  return llvm::TypeSwitch<Operation *, FailureOr<KernelChoice>>(op)
      .Case([&](model::EmbedOp o) { return table.embed(o); })
      .Case([&](model::GatherRowsOp o) { return table.gatherRows(o); })
      .Case([&](model::AllReduceOp o) { return table.allReduce(o); })
      .Case([&](model::AllGatherOp o) { return table.allGather(o); })
      .Case([&](model::LinearOp o) { return table.linear(o); })
      .Case([&](model::LinearPartsOp o) { return table.linearParts(o); })
      .Case([&](model::SumPartsOp o) { return table.sumParts(o); })
      .Case([&](model::HeadLinearOp o) { return table.headLinear(o); })
      .Case([&](model::ExpertLinearOp o) { return table.expertLinear(o); })
      .Case([&](model::SinkhornOp o) { return table.sinkhorn(o); })
      .Case([&](model::TopKOp o) { return table.topK(o); })
      .Case([&](model::TakeColsOp o) { return table.takeCols(o); })
      .Case([&](model::FindRowsOp o) { return table.findRows(o); })
      .Case([&](model::CopyRowsOp o) { return table.copyRows(o); })
      .Case([&](model::ShortConvOp o) { return shortConvKernel(o, step, symbols); })
      .Case([&](model::DeltaRuleOp o) { return deltaRuleKernel(o, step, symbols); })
      .Case([&](model::LatentAppendOp o) { return latentAppendKernel(o, step, symbols); })
      .Case([&](model::KPoolOp o) { return kpoolKernel(o, step, symbols); })
      .Case([&](model::IndexScoresOp o) { return table.indexScores(o); })
      .Case([&](model::SparseAttentionOp o) { return table.sparseAttention(o); })
      .Case([&](model::AttentionPartsOp o) { return table.attentionParts(o); })
      .Case([&](model::MergePartsOp o) { return table.mergeParts(o); })
      .Default([](Operation *o) -> FailureOr<KernelChoice> {
        return o->emitOpError("has no kernel; docs/spec/kernels.md lists those "
                              "that exist");
      });
}
