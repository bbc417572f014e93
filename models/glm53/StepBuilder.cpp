//===- StepBuilder.cpp - Skeleton of a step and the residual streams ------===//

#include "models/glm53/StepBuilder.h"

using namespace mlir;
using namespace glm;
using namespace glm::glm53;

//===----------------------------------------------------------------------===//
// Names and types
//===----------------------------------------------------------------------===//

Location StepBuilder::loc(const Twine &what) {
  return NameLoc::get(b.getStringAttr(layer < 0 ? what.str() : layerName(what)));
}

RankedTensorType StepBuilder::f32(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, b.getF32Type());
}

RankedTensorType StepBuilder::act(ArrayRef<int64_t> shape) {
  if (options.math == BuildOptions::Math::Fp32)
    return f32(shape);
  return RankedTensorType::get(shape, b.getBF16Type());
}

std::string StepBuilder::layerName(const Twine &what) const {
  return ("layers." + Twine(layer) + "." + what).str();
}

FlatSymbolRefAttr StepBuilder::symbol(const Twine &name) {
  return FlatSymbolRefAttr::get(b.getStringAttr(name));
}

Value StepBuilder::weight(const Twine &name) {
  auto op = module.lookupSymbol<model::WeightOp>(b.getStringAttr(name));
  assert(op && "Weights declares every weight that the builder reads");
  return model::GetWeightOp::create(b, loc("weight"), op.getType(), symbol(name));
}

Value StepBuilder::layerWeight(const Twine &name) {
  return weight(layerName(name));
}

void StepBuilder::tap(StringRef what, Value v) {
  model::TapOp::create(b, loc(what), ("layer" + Twine(layer) + "." + what).str(), v);
}

//===----------------------------------------------------------------------===//
// Shared pieces
//===----------------------------------------------------------------------===//

Value StepBuilder::linear(const Twine &what, Value x, Value w,
                          RankedTensorType type) {
  return model::LinearOp::create(b, loc(what), type, x, w);
}

Value StepBuilder::sumOfRanks(const Twine &what, Value part) {
  if (options.ranks == 1)
    return part;
  return model::AllReduceOp::create(b, loc(what), part.getType(), part);
}

/// y = w x / sqrt(mean(x^2) + eps)
Value StepBuilder::rmsNorm(const Twine &what, Value x, Value w) {
  auto shape = cast<RankedTensorType>(x.getType()).getShape();
  RowwiseBuilder row(b, loc(what), shape);
  auto [t, c] = row.dims<2>();
  Value v = row.in(x, {t, c});
  Value mean = row.mul(row.sum(row.mul(v, v)), row.num(1.0 / shape[1]));
  Value r = row.rsqrt(row.add(mean, row.num(config.rmsNormEps)));
  row.out(0, {t, c}, row.mul(row.mul(v, r), row.in(w, {c})));
  return row.finish({act(shape)})[0];
}

/// silu(min(g, limit)) * clamp(u, -limit, limit), over any shape.
Value StepBuilder::swiglu(const Twine &what, Value gate, Value up) {
  auto shape = cast<RankedTensorType>(gate.getType()).getShape();
  RowwiseBuilder row(b, loc(what), shape);
  SmallVector<AffineExpr> index;
  for (size_t i = 0; i < shape.size(); ++i)
    index.push_back(b.getAffineDimExpr(i));
  Value limit = row.num(config.swigluLimit), low = row.num(-config.swigluLimit);
  Value g = row.min(row.in(gate, index), limit);
  Value u = row.max(row.min(row.in(up, index), limit), low);
  row.out(0, index, row.mul(row.silu(g), u));
  return row.finish({act(shape)})[0];
}

//===----------------------------------------------------------------------===//
// Residual streams
//===----------------------------------------------------------------------===//

Value StepBuilder::expandStreams(Value embedded) {
  RowwiseBuilder row(b, loc("streams"), {rows, config.hiddenSize});
  auto [t, h] = row.dims<2>();
  Value e = row.in(embedded, {t, h});
  for (int64_t s = 0; s < config.hcMult; ++s)
    row.out(0, {t, row.at(s), h}, e);
  return row.finish({act({rows, config.hcMult, config.hiddenSize})})[0];
}

StepBuilder::HcMap StepBuilder::hcMap(StringRef which, Value streams) {
  const int64_t n = config.hcMult, H = config.hiddenSize;
  std::string hc = ("hc_" + which).str();
  Value scale = layerWeight(hc + "_scale"), base = layerWeight(hc + "_base");

  // r = 1 / sqrt(mean(flat^2) + eps) over the n streams of a token
  RowwiseBuilder norm(b, loc(hc + ".rms"), {rows, H});
  Value r;
  {
    auto [t, h] = norm.dims<2>();
    Value squares;
    for (int64_t s = 0; s < n; ++s) {
      Value v = norm.in(streams, {t, norm.at(s), h});
      Value vv = norm.mul(v, v);
      squares = squares ? norm.add(squares, vv) : vv;
    }
    Value mean = norm.mul(norm.sum(squares), norm.num(1.0 / (n * H)));
    norm.out(0, {t}, norm.rsqrt(norm.add(mean, norm.num(config.rmsNormEps))));
    r = norm.finish({f32({rows})})[0];
  }
  Value m = linear(hc + ".fn", streams, layerWeight(hc + "_fn"),
                   f32({rows, config.hcRows()}));

  // gate(part, first) = m[first + s] r scale[part] + base[first + s]
  auto gate = [&](RowwiseBuilder &row, ArrayRef<AffineExpr> at, int64_t part) {
    Value v = row.mul(row.in(m, {at[0], at[1]}), row.in(r, {at[0]}));
    Value scaled = row.mul(v, row.in(scale, {row.at(part)}));
    return row.add(scaled, row.in(base, {at[1]}));
  };
  HcMap map;
  {
    RowwiseBuilder row(b, loc(hc + ".pre"), {rows, n});
    auto [t, s] = row.dims<2>();
    row.out(0, {t, s},
            row.add(row.sigmoid(gate(row, {t, s}, 0)), row.num(config.hcEps)));
    map.pre = row.finish({f32({rows, n})})[0];
  }
  {
    RowwiseBuilder row(b, loc(hc + ".post"), {rows, n});
    auto [t, s] = row.dims<2>();
    row.out(0, {t, s},
            row.mul(row.num(2.0), row.sigmoid(gate(row, {t, s + n}, 1))));
    map.post = row.finish({f32({rows, n})})[0];
  }
  RowwiseBuilder row(b, loc(hc + ".comb"), {rows, n, n});
  auto [t, i, j] = row.dims<3>();
  row.out(0, {t, i, j}, gate(row, {t, i * n + j + 2 * n}, 2));
  Value z = row.finish({f32({rows, n, n})})[0];
  map.comb = model::SinkhornOp::create(b, loc(hc + ".sinkhorn"), z.getType(), z,
                                       config.hcSinkhornIters,
                                       APFloat((float)config.hcEps));
  return map;
}

/// x = sum_s pre[s] X[s]
Value StepBuilder::collapse(StringRef which, const HcMap &map, Value streams) {
  RowwiseBuilder row(b, loc("hc_" + which + ".collapse"), {rows, config.hiddenSize});
  auto [t, h] = row.dims<2>();
  Value x;
  for (int64_t s = 0; s < config.hcMult; ++s) {
    Value term = row.mul(row.in(map.pre, {t, row.at(s)}),
                         row.in(streams, {t, row.at(s), h}));
    x = x ? row.add(x, term) : term;
  }
  row.out(0, {t, h}, x);
  return row.finish({f32({rows, config.hiddenSize})})[0];
}

/// X'[j] = post[j] y + sum_s comb[s][j] X[s]
Value StepBuilder::mix(StringRef which, const HcMap &map, Value y, Value streams) {
  const int64_t n = config.hcMult;
  RowwiseBuilder row(b, loc("hc_" + which + ".mix"), {rows, config.hiddenSize});
  auto [t, h] = row.dims<2>();
  Value yv = row.in(y, {t, h});
  SmallVector<Value> x;
  for (int64_t s = 0; s < n; ++s)
    x.push_back(row.in(streams, {t, row.at(s), h}));
  for (int64_t j = 0; j < n; ++j) {
    Value sum = row.mul(row.in(map.post, {t, row.at(j)}), yv);
    for (int64_t s = 0; s < n; ++s)
      sum = row.add(sum, row.mul(row.in(map.comb, {t, row.at(s), row.at(j)}), x[s]));
    row.out(0, {t, row.at(j), h}, sum);
  }
  return row.finish({act({rows, n, config.hiddenSize})})[0];
}

Value StepBuilder::meanStreams(Value streams) {
  RowwiseBuilder row(b, loc("mean"), {logitRows, config.hiddenSize});
  auto [t, h] = row.dims<2>();
  Value sum;
  for (int64_t s = 0; s < config.hcMult; ++s) {
    Value v = row.in(streams, {t, row.at(s), h});
    sum = sum ? row.add(sum, v) : v;
  }
  row.out(0, {t, h}, row.mul(sum, row.num(1.0 / config.hcMult)));
  return row.finish({f32({logitRows, config.hiddenSize})})[0];
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

void StepBuilder::emit(StringRef name, StringRef kind) {
  module = cast<ModuleOp>(b.getInsertionBlock()->getParentOp());
  auto i32 = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getI32Type());
  };
  auto logits = f32({logitRows, config.vocabSize});
  auto type = b.getFunctionType({i32({rows}), i32({sequences, 4}), i32({logitRows})},
                                {logits});
  auto func = func::FuncOp::create(b, loc(name), name, type);
  func->setAttr("glm.kind", b.getStringAttr(kind));
  func->setAttr("glm.sequences", b.getI64IntegerAttr(sequences));
  func->setAttr("glm.tokens", b.getI64IntegerAttr(tokens));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(func.addEntryBlock());
  seqs = func.getArgument(1);

  const int64_t H = config.hiddenSize;
  Value embedded = model::EmbedOp::create(b, loc("embed"), act({rows, H}),
                                          func.getArgument(0), weight("embed_tokens"));
  Value streams = expandStreams(embedded);
  for (layer = 0; layer < config.numHiddenLayers; ++layer) {
    LayerKind kind = config.layers[layer];
    HcMap map = hcMap("attn", streams);
    Value x = rmsNorm("input_layernorm", collapse("attn", map, streams),
                      layerWeight("input_layernorm"));
    Value y = sumOfRanks("self_attn.all_reduce",
                         kind.attention == AttentionKind::Kda ? kda(x) : dsa(x));
    streams = mix("attn", map, y, streams);

    map = hcMap("ffn", streams);
    x = rmsNorm("post_attention_layernorm", collapse("ffn", map, streams),
                layerWeight("post_attention_layernorm"));
    y = sumOfRanks("mlp.all_reduce",
                   kind.ffn == FfnKind::Dense ? denseFfn("mlp", x) : moe(x));
    streams = mix("ffn", map, y, streams);
    tap("streams", streams);
  }
  layer = -1;
  Value last = model::GatherRowsOp::create(
      b, loc("logit_rows"), act({logitRows, config.hcMult, H}), streams,
      func.getArgument(2));
  Value h = rmsNorm("norm", meanStreams(last), weight("norm"));
  func::ReturnOp::create(b, loc("return"), head(h));
}

/// With several ranks each has a part of the vocabulary, where that divides.
Value StepBuilder::head(Value h) {
  Value w = weight("lm_head");
  const int64_t part = cast<RankedTensorType>(w.getType()).getDimSize(0);
  const int64_t ranks = config.vocabSize / part;
  Value own = linear("lm_head", h, w, f32({logitRows, part}));
  if (ranks == 1)
    return own;
  Value all = model::AllGatherOp::create(b, loc("lm_head.all_gather"),
                                         f32({ranks, logitRows, part}), own);
  // From rank by rank to row by row.
  RowwiseBuilder row(b, loc("lm_head.logits"), {logitRows, ranks, part});
  auto [t, r, c] = row.dims<3>();
  row.out(0, {t, r * part + c}, row.in(all, {r, t, c}));
  return row.finish({f32({logitRows, config.vocabSize})})[0];
}
