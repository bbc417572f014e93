//===- KernelTable.cpp - Operation to kernel ------------------------------===//

#include "passes/KernelTable.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace glm;
using namespace glm::passes;

static RankedTensorType typeOf(Value v) {
  return cast<RankedTensorType>(v.getType());
}
static ArrayRef<int64_t> shapeOf(Value v) { return typeOf(v).getShape(); }
static int64_t code(Value v) { return dtypeCode(typeOf(v).getElementType()); }
static int64_t rowOf(Value v) {
  int64_t n = 1;
  for (int64_t d : shapeOf(v).drop_front())
    n *= d;
  return n;
}

StringRef passes::originOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : llvm::reverse(fused.getLocations()))
      if (StringRef s = originOf(inner); !s.empty())
        return s;
  return "";
}

int64_t passes::dtypeCode(Type element) {
  if (element.isF32())
    return 0;
  if (element.isBF16())
    return 1;
  if (element.isF16())
    return 2;
  return 3; // I32
}

int64_t passes::tensorBytes(RankedTensorType type) {
  return llvm::divideCeil(
      type.getNumElements() * type.getElementTypeBitWidth(), 8);
}

int64_t passes::stateSlotBytes(model::StateOp state) {
  return llvm::alignTo(tensorBytes(cast<RankedTensorType>(state.getType())), 256);
}

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
  // A block of the products of many rows has 128 outputs and so many rows: few
  // where few outputs would leave a GPU without work.
  static int64_t rowsOfTile(int64_t outputs) {
    return outputs <= 32 ? 16 : outputs <= 1536 ? 64 : 128;
  }
  // Tokens a sequence from which the delta rule goes by chunks of 16.
  static constexpr int64_t kChunkTokens = 32;

  // What a block touches (Parts.h).
  static constexpr Split kWhole = {}, kRows = {true, 0}, kColumns = {false, 1},
                         kBoth = {true, 1};
  static TensorArg in(Value v, Split s = kWhole) { return {v, false, s}; }
  static TensorArg out(Value v, Split s = kWhole) { return {v, true, s}; }
  /// Columns are equal parts only when the tiles divide them.
  static Split even(Split s, int64_t n, int64_t tile) {
    return n % tile == 0 || n < tile ? s : Split{s.rows, 0};
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
    if (gemv)
      k.grid = {tiles(n, 32), 1, 1};
    else
      k.grid = {tiles(k.rows, rowsOfTile(n)), tiles(n, 128), 1};
    k.alone = !gemv; // stages of a tile fill the shared memory
    k.parts = {1, k.grid[0] * k.grid[1]};
    k.args = {in(op.getInput()), in(op.getWeight()),
              out(op.getResult(), gemv ? even(kColumns, n, 32) : kWhole)};
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
    KernelChoice k;
    k.op = "expert_linear", k.rows = shapeOf(op.getIds())[0];
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
    if (k.rows * topK <= experts) {
      k.templateName = "ExpertLinear", k.grid = {tiles(n, 64), k.rows * topK, 1};
      k.parts = {k.rows, topK * tiles(n, 64)};
      k.args = {in(op.getInput(), kRows), in(op.getIds(), kRows), in(op.getWeight()),
                out(op.getResult(), even(kBoth, n, 64))};
    } else {
      k.templateName = "ExpertLinearTile", k.grid = {tiles(n, 128), experts, 1};
      k.alone = true;
      k.parts = {1, k.grid[0] * k.grid[1]};
      k.args = {in(op.getInput()), in(op.getIds()), in(op.getWeight()),
                out(op.getResult())};
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

  KernelChoice shortConv(model::ShortConvOp op) {
    int64_t c = shapeOf(op.getInput())[1], kernel = shapeOf(op.getWeight()).back();
    KernelChoice k;
    k.op = "short_conv", k.templateName = "ShortConv";
    int64_t columns = tiles(c, 256);
    k.params = {code(op.getInput()), code(op.getWeight()), code(op.getResult()),
                c, kernel, columns};
    k.rows = step.rows();
    k.grid = {columns, step.sequences, 1}, k.parts = {step.sequences, columns};
    if (c % columns == 0)
      k.tiling = {columns, c};
    Split split = c % columns == 0 ? kBoth : kRows;
    if (int64_t stretches = tiles(step.tokens, 64); stretches > 1) {
      k.grid[2] = stretches, k.parts = {1, columns * step.sequences * stretches};
      k.tiling = {}, split = kWhole;
    }
    k.args = {step.sequences, in(op.getInput(), split), in(op.getWeight()),
              StateArg{op.getStateAttr()}, out(op.getResult(), split)};
    k.weightBytes = tensorBytes(typeOf(op.getWeight()));
    k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                    tensorBytes(typeOf(op.getResult())) +
                    2 * step.sequences * stateSlotBytes(state(op.getStateAttr()));
    k.flops = 2 * k.rows * c * kernel;
    return k;
  }

  KernelChoice deltaRule(model::DeltaRuleOp op) {
    ArrayRef<int64_t> q = shapeOf(op.getQ());
    int64_t dv = shapeOf(op.getV())[2];
    KernelChoice k;
    bool chunk = step.tokens >= kChunkTokens && q[2] <= 128;
    k.hungry = true; // a stripe of the state
    k.op = "delta_rule", k.templateName = chunk ? "DeltaRuleChunk" : "DeltaRule";
    k.params = {code(op.getQ()), code(op.getResult()), q[1], q[2], dv};
    k.rows = step.rows();
    k.grid = {chunk ? q[1] * tiles(dv, 64) : q[1], step.sequences, 1};
    k.parts = {step.sequences, k.grid[0]};
    // Several blocks of a head read all its keys.
    Split split = k.grid[0] == q[1] ? kBoth : kRows;
    k.args = {step.sequences};
    for (Value v : {op.getQ(), op.getK(), op.getV(), op.getGate(), op.getBeta()})
      k.args.push_back(in(v, split));
    k.args.append({StateArg{op.getStateAttr()}, out(op.getResult(), split)});
    k.memoryBytes = 2 * step.sequences * stateSlotBytes(state(op.getStateAttr()));
    for (Value v : {op.getQ(), op.getK(), op.getV(), op.getGate(), op.getResult()})
      k.memoryBytes += tensorBytes(typeOf(v));
    k.flops = k.rows * q[1] * 7 * q[2] * dv;
    return k;
  }

  KernelChoice latentAppend(model::LatentAppendOp op) {
    KernelChoice k;
    Type cache = cast<RankedTensorType>(state(op.getStateAttr()).getType())
                     .getElementType();
    k.op = "latent_append", k.templateName = "LatentAppend";
    k.params = {code(op.getInput()), dtypeCode(cache), shapeOf(op.getInput())[1]};
    k.rows = step.rows();
    k.grid = {k.rows, 1, 1}, k.parts = {k.rows, 1};
    k.args = {in(op.getInput(), kRows), StateArg{op.getStateAttr()}};
    k.memoryBytes = 2 * tensorBytes(typeOf(op.getInput()));
    return k;
  }

  KernelChoice kpool(model::KPoolOp op) {
    KernelChoice k;
    Type cache = cast<RankedTensorType>(state(op.getStateAttr()).getType())
                     .getElementType();
    k.op = "kpool", k.templateName = "KPool";
    k.params = {code(op.getKey()), code(op.getApe()), dtypeCode(cache),
                shapeOf(op.getKey())[1], shapeOf(op.getApe())[0]};
    k.rows = step.rows();
    int64_t pools = llvm::divideCeil(step.tokens, shapeOf(op.getApe())[0]);
    k.grid = {step.sequences, tiles(pools, 16), 1}, k.parts = {step.sequences, 1};
    Split split = kRows;
    if (k.grid[1] > 1)
      k.parts = {1, k.grid[0] * k.grid[1]}, split = kWhole;
    k.args = {step.sequences, in(op.getKey(), split), in(op.getGate(), split),
              in(op.getApe()), StateArg{op.getTailAttr()}, StateArg{op.getStateAttr()}};
    k.weightBytes = tensorBytes(typeOf(op.getApe()));
    k.memoryBytes = 3 * tensorBytes(typeOf(op.getKey()));
    k.flops = k.rows * shapeOf(op.getKey())[1] * 8;
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
    k.grid = {tiles(q[1], 4), k.rows, 1}, k.parts = {k.rows, tiles(q[1], 4)};
    k.alone = true; // the scores of 4 heads fill the shared memory
    Split split = even(kBoth, q[1], 4);
    k.args = {in(op.getQuery(), split), StateArg{op.getStateAttr()},
              in(op.getPools(), kRows), op.getScale().convertToFloat(),
              out(op.getResult(), split)};
    int64_t tokens = topK * pool + pool - 1;
    k.memoryBytes = tensorBytes(typeOf(op.getQuery())) +
                    tensorBytes(typeOf(op.getResult())) +
                    k.rows * tokens * q[2] * cache.getIntOrFloatBitWidth() / 8;
    k.flops = 4 * k.rows * q[1] * tokens * q[2];
    return k;
  }

  static int64_t tiles(int64_t n, int64_t tile) {
    return llvm::divideCeil(n, tile);
  }
};

} // namespace

FailureOr<KernelChoice> passes::chooseKernel(Operation *op, const StepShape &step,
                                             SymbolTable &symbols) {
  Table table{step, symbols};
  return llvm::TypeSwitch<Operation *, FailureOr<KernelChoice>>(op)
      .Case([&](model::EmbedOp o) { return table.embed(o); })
      .Case([&](model::GatherRowsOp o) { return table.gatherRows(o); })
      .Case([&](model::LinearOp o) { return table.linear(o); })
      .Case([&](model::LinearPartsOp o) { return table.linearParts(o); })
      .Case([&](model::SumPartsOp o) { return table.sumParts(o); })
      .Case([&](model::HeadLinearOp o) { return table.headLinear(o); })
      .Case([&](model::ExpertLinearOp o) { return table.expertLinear(o); })
      .Case([&](model::SinkhornOp o) { return table.sinkhorn(o); })
      .Case([&](model::TopKOp o) { return table.topK(o); })
      .Case([&](model::TakeColsOp o) { return table.takeCols(o); })
      .Case([&](model::ShortConvOp o) { return table.shortConv(o); })
      .Case([&](model::DeltaRuleOp o) { return table.deltaRule(o); })
      .Case([&](model::LatentAppendOp o) { return table.latentAppend(o); })
      .Case([&](model::KPoolOp o) { return table.kpool(o); })
      .Case([&](model::IndexScoresOp o) { return table.indexScores(o); })
      .Case([&](model::SparseAttentionOp o) { return table.sparseAttention(o); })
      .Default([](Operation *o) -> FailureOr<KernelChoice> {
        return o->emitOpError("has no kernel; docs/spec/kernels.md lists those "
                              "that exist");
      });
}
