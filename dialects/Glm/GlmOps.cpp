//===- GlmOps.cpp - Verifiers of the model-level dialect ------------------===//
//
// Labels in comments are those of docs/spec/glm-ops.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/Glm/Glm.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace glm::model;

#include "dialects/Glm/GlmDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Glm/GlmAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Glm/GlmOps.cpp.inc"

void GlmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Glm/GlmAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Glm/GlmOps.cpp.inc"
      >();
}

static ArrayRef<int64_t> shapeOf(Value v) {
  return cast<RankedTensorType>(v.getType()).getShape();
}

static int64_t product(ArrayRef<int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

/// Reports `op expects <what> to be <want>, got <got>`.
static LogicalResult expectShape(Operation *op, StringRef what, Value v,
                                 ArrayRef<int64_t> want) {
  if (shapeOf(v) == want)
    return success();
  InFlightDiagnostic d = op->emitOpError("expects ") << what << " of shape [";
  llvm::interleaveComma(want, d);
  d << "], got [";
  llvm::interleaveComma(shapeOf(v), d);
  return d << "]";
}

/// Looks a state up and checks its shape; `-1` in `want` matches any size.
static LogicalResult expectState(Operation *op, SymbolTableCollection &symbols,
                                 FlatSymbolRefAttr name,
                                 ArrayRef<int64_t> want) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op->emitOpError("names no state: ") << name;
  ArrayRef<int64_t> got = cast<RankedTensorType>(state.getType()).getShape();
  bool same = got.size() == want.size();
  for (size_t i = 0; same && i < want.size(); ++i)
    same = want[i] == -1 || want[i] == got[i];
  if (same)
    return success();
  InFlightDiagnostic d = op->emitOpError("expects state ") << name << " [";
  llvm::interleaveComma(want, d);
  d << "], got [";
  llvm::interleaveComma(got, d);
  return d << "]";
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  // C2
  if (getExperts() && type.getRank() != 3)
    return emitOpError("expects experts of shape [E, N, K], got ") << type;
  auto quant = dyn_cast_or_null<GroupQuantAttr>(type.getEncoding());
  bool coded = type.getElementType().isInteger();
  if (static_cast<bool>(type.getEncoding()) != coded ||
      (coded && (!quant || quant.getGroup() <= 0)))
    return emitOpError(
               "expects #glm.group_quant of a positive group exactly for "
               "i4 and i8, got ")
           << type;
  if (coded && (getExperts() ? !type.getElementType().isInteger(4)
                             : type.getRank() != 2))
    return emitOpError("expects codes of experts to be i4, others of shape "
                       "[N, K], got ")
           << type;
  // C3
  if (getSource().has_value() != getSourceType().has_value() ||
      (getSource() && (getSource()->size() != 3 || getPieces() || !coded ||
                       getExperts() || !isa<FloatType>(*getSourceType()))))
    return emitOpError("expects a source (file, offset, size) of a float type "
                       "only for a quantised matrix without pieces");
  // C1
  if (!getPieces())
    return getCuts() ? emitOpError("expects pieces where it has cuts") : success();
  int64_t count = coded ? 2 : 1;
  // C4
  if (getCuts() && getCuts()->size() != static_cast<size_t>(3 * count))
    return emitOpError("expects ")
           << count << " cuts (rows, bytes, stride), got " << getCuts()->size()
           << " numbers";
  if (getExperts())
    count *= type.getDimSize(0);
  int64_t ranks = 1;
  if (auto attr = (*this)->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(
          "glm.ranks"))
    ranks = attr.getInt();
  const int64_t given = getPieces()->size();
  if (given == 3 * count || given == 3 * count * ranks)
    return success();
  InFlightDiagnostic d = emitOpError("expects ")
                         << count << " pieces (file, offset, size)";
  if (ranks > 1)
    d << ", of all or of each of " << ranks << " ranks";
  return d << ", got " << given << " numbers";
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight = symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError("names no weight: ") << getWeightAttr();
  // C1
  if (weight.getType() != getResult().getType())
    return emitOpError("expects ")
           << weight.getType() << ", got " << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  // C1
  if (shapeOf(getTable()).size() != 2)
    return emitOpError("expects a table of two dimensions");
  return expectShape(*this, "result", getResult(),
                     {shapeOf(getIds())[0], shapeOf(getTable())[1]});
}

LogicalResult GatherRowsOp::verify() {
  // C1
  SmallVector<int64_t> want(shapeOf(getInput()));
  want[0] = shapeOf(getRows())[0];
  return expectShape(*this, "result", getResult(), want);
}

LogicalResult AllReduceOp::verify() {
  // C1
  if (getInput().getType() != getResult().getType())
    return emitOpError("expects a result of the input's type ")
           << getInput().getType();
  return success();
}

LogicalResult AllGatherOp::verify() {
  // C1
  auto x = cast<RankedTensorType>(getInput().getType());
  auto y = cast<RankedTensorType>(getResult().getType());
  if (y.getRank() != x.getRank() + 1 ||
      y.getShape().drop_front() != x.getShape() ||
      y.getElementType() != x.getElementType())
    return emitOpError("expects a result of ranks x the input's type ") << x;
  return success();
}

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getInput()), w = shapeOf(getWeight());
  // C1
  if (x.size() < 2 || w.size() != 2)
    return emitOpError("expects input [T, ...K] and a weight [N, K]");
  if (product(x.drop_front()) != w[1])
    return emitOpError("expects rows of ")
           << w.back() << " elements, got " << product(x.drop_front());
  // C2
  ArrayRef<int64_t> y = shapeOf(getResult());
  if (y.size() < 2 || y[0] != x[0] || product(y.drop_front()) != w[0])
    return emitOpError("expects result rows of ") << w[0] << " elements";
  // C3
  auto type = cast<RankedTensorType>(getWeight().getType());
  if (type.getElementType().isInteger() &&
      !isa_and_nonnull<GroupQuantAttr>(type.getEncoding()))
    return emitOpError(
               "expects a weight of codes to have #glm.group_quant, got ")
           << type;
  return success();
}

LogicalResult LinearPartsOp::verify() {
  // C1
  ArrayRef<int64_t> x = shapeOf(getInput()), w = shapeOf(getWeight());
  ArrayRef<int64_t> y = shapeOf(getResult());
  if (x.size() < 2 || w.size() != 2 || product(x.drop_front()) != w[1])
    return emitOpError("expects input [T, ...K] and a weight [N, K]");
  if (y[0] != x[0] || y[2] != w[0] || y[1] < 1 || x.back() % y[1] != 0)
    return emitOpError("expects a result [")
           << x[0] << ", parts, " << w[0] << "] whose parts divide " << x.back();
  return success();
}

LogicalResult SumPartsOp::verify() {
  // C1
  ArrayRef<int64_t> x = shapeOf(getInput()), y = shapeOf(getResult());
  if (y.size() < 2 || y[0] != x[0] || product(y.drop_front()) != x[2])
    return emitOpError("expects result rows of ") << x[2] << " elements";
  return success();
}

LogicalResult HeadLinearOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getInput()), w = shapeOf(getWeight());
  // C1
  if (x.size() != 3 || w.size() != 2)
    return emitOpError("expects input [T, heads, K] and a weight of two "
                       "dimensions");
  int64_t heads = x[1], stride = getStride();
  if (w[0] != heads * stride)
    return emitOpError("expects ")
           << heads * stride << " weight rows for " << heads
           << " heads of stride " << stride << ", got " << w[0];
  // C3
  ArrayRef<int64_t> y = shapeOf(getResult());
  if (y.size() != 3)
    return emitOpError("expects result [T, heads, N]");
  int64_t rows = getTransposed() ? x[2] : y[2];
  // C2
  if (static_cast<int64_t>(getFirst()) < 0 ||
      static_cast<int64_t>(getFirst()) + rows > stride)
    return emitOpError("rows ") << getFirst() << " to " << getFirst() + rows
                                << " leave the head's stride of " << stride;
  // C3
  int64_t inner = getTransposed() ? y[2] : x[2];
  if (inner != w[1])
    return emitOpError("expects ") << w[1] << " columns, got " << inner;
  return expectShape(*this, "result", getResult(), {x[0], heads, y[2]});
}

LogicalResult ExpertLinearOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getInput()), w = shapeOf(getWeight());
  ArrayRef<int64_t> ids = shapeOf(getIds());
  // C1
  if (w.size() != 3 || (x.size() != 2 && x.size() != 3) || x.back() != w[2] ||
      x[0] != ids[0] || (x.size() == 3 && x[1] != ids[1]))
    return emitOpError("expects input [T, K] or [T, top_k, K] with K = ")
           << w.back() << ", and ids [T, top_k]";
  // C2
  if (failed(expectShape(*this, "result", getResult(), {x[0], ids[1], w[1]})))
    return failure();
  // C3
  if (!getArrivals() != !getRowWeight())
    return emitOpError("expects row_weight with arrivals, and neither without");
  if (!getArrivals())
    return success();
  ArrayRef<int64_t> arrivals = shapeOf(getArrivals());
  if (arrivals[0] != w[0] || static_cast<int64_t>(*getRowWeight()) >= arrivals[1])
    return emitOpError("expects arrivals [E, weights] with E = ")
           << w[0] << " and more than " << *getRowWeight() << " weights";
  return success();
}

LogicalResult SinkhornOp::verify() {
  // C1
  ArrayRef<int64_t> z = shapeOf(getLogits());
  if (z[1] != z[2])
    return emitOpError("expects square maps, got ") << z[1] << " x " << z[2];
  return expectShape(*this, "result", getResult(), z);
}

LogicalResult TopKOp::verify() {
  // C1
  ArrayRef<int64_t> s = shapeOf(getScores()), ids = shapeOf(getIds());
  if (s[0] != ids[0])
    return emitOpError("expects ids for ") << s[0] << " rows, got " << ids[0];
  if (getPool() == 0 && ids[1] > s[1])
    return emitOpError("expects k <= ") << s[1] << " columns, got " << ids[1];
  // C2
  if ((static_cast<int64_t>(getPool()) > 0) != static_cast<bool>(getSeqs()))
    return emitOpError("expects seqs exactly when pool > 0");
  return success();
}

LogicalResult TakeColsOp::verify() {
  // C1
  if (shapeOf(getInput()).size() != 2 ||
      shapeOf(getInput())[0] != shapeOf(getIds())[0])
    return emitOpError("expects input [T, C] with as many rows as ids");
  return expectShape(*this, "result", getResult(), shapeOf(getIds()));
}

//===----------------------------------------------------------------------===//
// Pager users
//===----------------------------------------------------------------------===//

LogicalResult FindRowsOp::verify() {
  // C1
  if (failed(expectShape(*this, "chosen", getChosen(), shapeOf(getIds()))))
    return failure();
  // C2
  int64_t most = std::min(shapeOf(getArrivals())[0], product(shapeOf(getIds())));
  return expectShape(*this, "moves", getMoves(), {1 + 2 * most});
}

LogicalResult CopyRowsOp::verify() {
  // C1
  if (failed(expectShape(*this, "arrived", getArrived(), shapeOf(getArrivals()))))
    return failure();
  // C2
  if (!getArrivals().hasOneUse())
    return emitOpError("counts up the buffer of arrivals, which others read too");
  return success();
}

//===----------------------------------------------------------------------===//
// State users
//===----------------------------------------------------------------------===//

LogicalResult ShortConvOp::verify() {
  // C1
  ArrayRef<int64_t> x = shapeOf(getInput()), w = shapeOf(getWeight());
  bool filter = w.size() == 2 || (w.size() == 3 && w[1] == 1);
  if (x.size() != 2 || !filter || w[0] != x[1] || w.back() < 2)
    return emitOpError("expects a filter [C, kernel] for ")
           << x.back() << " channels";
  return expectShape(*this, "result", getResult(), x);
}
LogicalResult ShortConvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  return expectState(*this, symbols, getStateAttr(),
                     {shapeOf(getInput())[1], shapeOf(getWeight()).back() - 1});
}

LogicalResult DeltaRuleOp::verify() {
  // C1
  ArrayRef<int64_t> q = shapeOf(getQ()), v = shapeOf(getV());
  if (q.size() != 3 || v.size() != 3)
    return emitOpError("expects q, k, v of three dimensions");
  if (failed(expectShape(*this, "k", getK(), q)) ||
      failed(expectShape(*this, "v", getV(), {q[0], q[1], v[2]})) ||
      failed(expectShape(*this, "gate", getGate(), q)) ||
      failed(expectShape(*this, "beta", getBeta(), {q[0], q[1]})))
    return failure();
  return expectShape(*this, "result", getResult(), {q[0], q[1], v[2]});
}
LogicalResult DeltaRuleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  return expectState(*this, symbols, getStateAttr(),
                     {shapeOf(getQ())[1], shapeOf(getQ())[2], shapeOf(getV())[2]});
}

LogicalResult LatentAppendOp::verify() {
  // C1
  if (shapeOf(getInput()).size() != 2)
    return emitOpError("expects rows [T, W]");
  return success();
}
LogicalResult LatentAppendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  return expectState(*this, symbols, getStateAttr(), {-1, shapeOf(getInput())[1]});
}

LogicalResult KPoolOp::verify() {
  // C1
  ArrayRef<int64_t> k = shapeOf(getKey()), ape = shapeOf(getApe());
  if (k.size() != 2)
    return emitOpError("expects key [T, D]");
  if (ape.size() != 2 || ape[1] != k.back() || ape[0] < 2)
    return emitOpError("expects ape [P, ") << k.back() << "] with P >= 2";
  return expectShape(*this, "gate", getGate(), k);
}
LogicalResult KPoolOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  int64_t d = shapeOf(getKey())[1], p = shapeOf(getApe())[0];
  if (failed(expectState(*this, symbols, getTailAttr(), {p - 1, 2, d})))
    return failure();
  return expectState(*this, symbols, getStateAttr(), {-1, d});
}

LogicalResult IndexScoresOp::verify() {
  // C1
  ArrayRef<int64_t> q = shapeOf(getQuery());
  if (q.size() != 3)
    return emitOpError("expects query [T, heads, D]");
  if (shapeOf(getScores())[0] != q[0])
    return emitOpError("expects scores for ")
           << q[0] << " rows, got " << shapeOf(getScores())[0];
  return expectShape(*this, "weights", getWeights(), {q[0], q[1]});
}
LogicalResult IndexScoresOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  return expectState(*this, symbols, getStateAttr(),
                     {shapeOf(getScores())[1], shapeOf(getQuery())[2]});
}

LogicalResult SparseAttentionOp::verify() {
  // C1
  if (shapeOf(getQuery()).size() != 3)
    return emitOpError("expects query [T, heads, W]");
  if (shapeOf(getPools())[0] != shapeOf(getQuery())[0])
    return emitOpError("expects pools for ")
           << shapeOf(getQuery())[0] << " rows, got " << shapeOf(getPools())[0];
  return expectShape(*this, "result", getResult(), shapeOf(getQuery()));
}
LogicalResult
SparseAttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  return expectState(*this, symbols, getStateAttr(), {-1, shapeOf(getQuery())[2]});
}

LogicalResult AttentionPartsOp::verify() {
  // C1
  ArrayRef<int64_t> q = shapeOf(getQuery()), mixed = shapeOf(getMixed());
  if (q.size() != 3)
    return emitOpError("expects query [T, heads, W]");
  if (shapeOf(getPools())[0] != q[0])
    return emitOpError("expects pools for ")
           << q[0] << " rows, got " << shapeOf(getPools())[0];
  int64_t listed = shapeOf(getPools())[1];
  if (mixed[1] < 1 || mixed[1] > listed)
    return emitOpError("expects 1 to ")
           << listed << " parts of the pools, got " << mixed[1];
  if (failed(expectShape(*this, "mixed", getMixed(), {q[0], mixed[1], q[1], q[2]})))
    return failure();
  return expectShape(*this, "stats", getStats(), {q[0], mixed[1], q[1], 2});
}
LogicalResult
AttentionPartsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  return expectState(*this, symbols, getStateAttr(), {-1, shapeOf(getQuery())[2]});
}

LogicalResult MergePartsOp::verify() {
  // C1
  ArrayRef<int64_t> m = shapeOf(getMixed());
  if (failed(expectShape(*this, "stats", getStats(), {m[0], m[1], m[2], 2})))
    return failure();
  return expectShape(*this, "result", getResult(), {m[0], m[2], m[3]});
}
