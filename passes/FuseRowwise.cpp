//===- FuseRowwise.cpp - Join rowwise operations --------------------------===//
//
// Why: an intermediate row that is stored by one launch and read back by the next
// costs a launch and two trips through memory; joined, it stays in registers.
// Contract: bit-different from the unfused form where the intermediate was bf16
// (one rounding fewer); exact for f32, but for a * b + c across the seam, which the
// kernels' compiler contracts.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace glm::passes {
#define GEN_PASS_DEF_FUSEROWWISEPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

AffineMap mapAt(ArrayAttr maps, size_t i) {
  return cast<AffineMapAttr>(maps[i]).getValue();
}

struct FuseRowwise final : passes::impl::FuseRowwisePassBase<FuseRowwise> {
  using FuseRowwisePassBase::FuseRowwisePassBase;

  void runOnOperation() override {
    // Consumers in order: a fused operation is its consumer's successor and is
    // tried again, so chains collapse from the top.
    for (auto op : llvm::to_vector(getOperation().getOps<model::RowwiseOp>())) {
      model::RowwiseOp consumer = op;
      Location at = op.getLoc(); // of remarks, however much the operation takes in
      while (model::RowwiseOp producer = findProducer(consumer, at)) {
        consumer = fuse(producer, consumer);
        remark::passed(at, remarkOpts()) << "joined";
      }
    }
  }

private:
  static remark::RemarkOpts remarkOpts() {
    return remark::RemarkOpts::name("rowwise-into-rowwise").category("glm-fuse");
  }

  model::RowwiseOp findProducer(model::RowwiseOp consumer, Location at) {
    SmallVector<std::string> refusals;
    for (Value input : consumer.getInputs()) {
      auto producer = input.getDefiningOp<model::RowwiseOp>();
      if (!producer || producer->getBlock() != consumer->getBlock())
        continue;
      std::string why = refuse(producer, consumer);
      if (why.empty())
        return producer;
      if (!llvm::is_contained(refusals, why))
        refusals.push_back(why);
    }
    // Reported when the consumer takes in nothing more, so once.
    for (const std::string &why : refusals)
      remark::missed(at, remarkOpts()) << why;
    return nullptr;
  }

  /// The reason why the two do not join; empty when they do.
  std::string refuse(model::RowwiseOp producer, model::RowwiseOp consumer) {
    if (producer.getDomain() != consumer.getDomain())
      return "iteration shapes differ";
    for (auto [i, input] : llvm::enumerate(consumer.getInputs())) {
      if (input.getDefiningOp() != producer)
        continue;
      AffineMap read = mapAt(consumer.getInMaps(), i);
      bool found = false;
      for (auto [j, target] : llvm::enumerate(producer.getTargets()))
        found |= producer.getResults()[target] == input &&
                 mapAt(producer.getOutMaps(), j) == read;
      if (!found)
        return "the consumer reads the row at another place than it was written";
    }
    // A tap has no launch of its own: it waits for the fused operation.
    for (Value result : producer.getResults())
      for (Operation *user : result.getUsers())
        if (user != consumer && !isa<model::TapOp>(user) &&
            user->getBlock() == consumer->getBlock() &&
            user->isBeforeInBlock(consumer))
          return "another operation between the two reads the row";
    if (consumer.getDomain()[0] <= maxGroupedRows && consumer.hasReduction() &&
        !producer.hasReduction() && readsProduct(producer))
      return "the producer follows a product column by column, the consumer needs "
             "the whole row";
    if (producer.getInputs().size() + consumer.getInputs().size() >
        static_cast<size_t>(maxInputs))
      return "the fused body would have more loads than max-inputs";
    return "";
  }

  /// Pointwise work on a product's result can run in the product's own blocks
  /// (FuseBlocks.cpp), or where ranks summed it in those of the product that follows,
  /// unless it is tied to a reduction of the whole row.
  static bool readsProduct(model::RowwiseOp op) {
    return llvm::any_of(op.getInputs(), [](Value v) {
      return isa_and_nonnull<model::LinearOp, model::HeadLinearOp,
                             model::ExpertLinearOp, model::AllReduceOp>(
          v.getDefiningOp());
    });
  }

  model::RowwiseOp fuse(model::RowwiseOp producer, model::RowwiseOp consumer) {
    OpBuilder b(consumer);
    Location loc = FusedLoc::get(&getContext(),
                                 {producer.getLoc(), consumer.getLoc()});
    auto block = std::make_unique<Block>();
    OpBuilder body(&getContext());
    body.setInsertionPointToEnd(block.get());
    SmallVector<Value> inputs, yields;
    SmallVector<Attribute> inMaps, outMaps;
    SmallVector<int64_t> targets;
    SmallVector<Type> types;
    IRMapping map;
    auto input = [&](Value v, AffineMap m) -> Value {
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] == v && cast<AffineMapAttr>(inMaps[i]).getValue() == m)
          return block->getArgument(i);
      inputs.push_back(v);
      inMaps.push_back(AffineMapAttr::get(m));
      return block->addArgument(b.getF32Type(), loc);
    };
    auto clone = [&](model::RowwiseOp op) {
      for (Operation &inner : op.getBody().front().without_terminator())
        body.clone(inner, map);
    };

    Block &first = producer.getBody().front(), &second = consumer.getBody().front();
    for (auto [i, arg] : llvm::enumerate(first.getArguments()))
      map.map(arg, input(producer.getInputs()[i], mapAt(producer.getInMaps(), i)));
    clone(producer);
    auto firstYield = cast<model::YieldOp>(first.getTerminator());
    for (auto [i, arg] : llvm::enumerate(second.getArguments())) {
      AffineMap read = mapAt(consumer.getInMaps(), i);
      Value value;
      for (auto [j, target] : llvm::enumerate(producer.getTargets()))
        if (producer.getResults()[target] == consumer.getInputs()[i] &&
            mapAt(producer.getOutMaps(), j) == read)
          value = map.lookup(firstYield.getValues()[j]);
      map.map(arg, value ? value : input(consumer.getInputs()[i], read));
    }
    clone(consumer);

    // Results of the producer that others still read stay results.
    SmallVector<Value> replaced;
    auto keep = [&](model::RowwiseOp op, model::YieldOp yield, Value result) {
      unsigned number = cast<OpResult>(result).getResultNumber();
      for (auto [j, target] : llvm::enumerate(op.getTargets()))
        if (target == number) {
          yields.push_back(map.lookup(yield.getValues()[j]));
          outMaps.push_back(op.getOutMaps()[j]);
          targets.push_back(types.size());
        }
      types.push_back(result.getType());
      replaced.push_back(result);
    };
    for (Value result : producer.getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *u) { return u != consumer; }))
        keep(producer, firstYield, result);
    auto secondYield = cast<model::YieldOp>(second.getTerminator());
    for (Value result : consumer.getResults())
      keep(consumer, secondYield, result);
    model::YieldOp::create(body, loc, yields);

    auto fused = model::RowwiseOp::create(
        b, loc, types, inputs, producer.getDomain(), b.getArrayAttr(inMaps),
        b.getArrayAttr(outMaps), targets);
    fused.getBody().push_back(block.release());
    for (auto [old, fresh] : llvm::zip(replaced, fused.getResults())) {
      for (Operation *user : llvm::to_vector(old.getUsers()))
        if (isa<model::TapOp>(user) && user->getBlock() == fused->getBlock() &&
            user->isBeforeInBlock(fused))
          user->moveAfter(fused);
      old.replaceAllUsesWith(fresh);
    }
    consumer.erase();
    producer.erase();
    return fused;
  }
};

} // namespace
