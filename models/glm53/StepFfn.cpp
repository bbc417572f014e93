//===- StepFfn.cpp - Dense and mixture-of-experts layers ------------------===//

#include "models/glm53/StepBuilder.h"

using namespace mlir;
using namespace glm;
using namespace glm::glm53;

Value StepBuilder::denseFfn(StringRef prefix, Value x) {
  std::string p = (prefix + ".").str();
  Value gateW = layerWeight(p + "gate_proj");
  const int64_t inner = cast<RankedTensorType>(gateW.getType()).getDimSize(0);
  Value gate = linear(p + "gate_proj", x, gateW, f32({rows, inner}));
  Value up = linear(p + "up_proj", x, layerWeight(p + "up_proj"), f32({rows, inner}));
  return linear(p + "down_proj", swiglu(p + "act", gate, up),
                layerWeight(p + "down_proj"), f32({rows, config.hiddenSize}));
}

/// The chosen experts once their rows have slots, and the counts of what has arrived.
std::pair<Value, Value> StepBuilder::pagedRows(Value ids) {
  constexpr int64_t kRowWeights = 3; // gate, up, down
  const int64_t E = config.nRoutedExperts;
  auto type = cast<RankedTensorType>(ids.getType());
  auto moves = RankedTensorType::get({1 + 2 * std::min(E, type.getNumElements())},
                                     b.getI32Type());
  auto arrivals = RankedTensorType::get({E, kRowWeights}, b.getI32Type());
  auto found = model::FindRowsOp::create(b, loc("mlp.find_rows"), type, moves, arrivals,
                                         ids, moeLayer);
  Value arrived =
      model::CopyRowsOp::create(b, loc("mlp.copy_rows"), arrivals, found.getMoves(),
                                found.getArrivals(), type.getDimSize(1));
  return {found.getChosen(), arrived};
}

Value StepBuilder::moe(Value x) {
  const int64_t E = config.nRoutedExperts, K = config.numExpertsPerTok;
  const int64_t H = config.hiddenSize, inner = config.moeIntermediateSize;

  // Router: the bias takes part in the choice only.
  Value logits = linear("mlp.gate", x, layerWeight("mlp.gate"), f32({rows, E}));
  Value score, biased;
  {
    RowwiseBuilder row(b, loc("mlp.score"), {rows, E});
    auto [t, e] = row.dims<2>();
    row.out(0, {t, e}, row.sigmoid(row.in(logits, {t, e})));
    score = row.finish({f32({rows, E})})[0];
  }
  {
    RowwiseBuilder row(b, loc("mlp.biased"), {rows, E});
    auto [t, e] = row.dims<2>();
    row.out(0, {t, e},
            row.add(row.in(score, {t, e}),
                    row.in(layerWeight("mlp.gate.e_score_correction_bias"), {e})));
    biased = row.finish({f32({rows, E})})[0];
  }
  Value ids = model::TopKOp::create(
      b, loc("mlp.top_k"), RankedTensorType::get({rows, K}, b.getI32Type()), biased,
      Value(), 0);
  Value chosen = model::TakeColsOp::create(b, loc("mlp.chosen"), f32({rows, K}),
                                           score, ids);
  Value weights;
  {
    RowwiseBuilder row(b, loc("mlp.weights"), {rows, K});
    auto [t, s] = row.dims<2>();
    Value v = row.in(chosen, {t, s});
    Value share = row.div(v, row.add(row.sum(v), row.num(1e-20)));
    row.out(0, {t, s}, row.mul(share, row.num(config.routedScalingFactor)));
    weights = row.finish({f32({rows, K})})[0];
  }
  tap("topk_ids", ids);
  tap("topk_weights", weights);

  // Taps and weights are of the choice itself; products wait for the rows.
  Value arrived;
  if (options.pagedExperts)
    std::tie(ids, arrived) = pagedRows(ids);
  ++moeLayer;
  int64_t rowWeight = 0; // in the order of plan.fbs ExpertRows
  auto expert = [&](StringRef name, Value in, RankedTensorType type) -> Value {
    std::string what = ("mlp.experts." + name).str();
    IntegerAttr which = arrived ? b.getI64IntegerAttr(rowWeight++) : IntegerAttr();
    return model::ExpertLinearOp::create(b, loc(what), type, in, ids, layerWeight(what),
                                         arrived, which);
  };
  Value gate = expert("gate_proj", x, f32({rows, K, inner}));
  Value up = expert("up_proj", x, f32({rows, K, inner}));
  Value down = expert("down_proj", swiglu("mlp.experts.act", gate, up),
                      f32({rows, K, H}));
  Value routed;
  {
    RowwiseBuilder row(b, loc("mlp.combine"), {rows, H});
    auto [t, h] = row.dims<2>();
    Value sum;
    for (int64_t s = 0; s < K; ++s) {
      Value term = row.mul(row.in(weights, {t, row.at(s)}),
                           row.in(down, {t, row.at(s), h}));
      sum = sum ? row.add(sum, term) : term;
    }
    row.out(0, {t, h}, sum);
    routed = row.finish({f32({rows, H})})[0];
  }
  Value shared = denseFfn("mlp.shared_experts", x);
  RowwiseBuilder row(b, loc("mlp.sum"), {rows, H});
  auto [t, h] = row.dims<2>();
  row.out(0, {t, h}, row.add(row.in(routed, {t, h}), row.in(shared, {t, h})));
  return row.finish({f32({rows, H})})[0];
}
