//===- StepAttention.cpp - KDA and DSA layers -----------------------------===//

#include "models/glm53/StepBuilder.h"

#include <cmath>

using namespace mlir;
using namespace glm;
using namespace glm::glm53;

//===----------------------------------------------------------------------===//
// KDA: short convolutions, gates, delta rule, gated norm
//===----------------------------------------------------------------------===//

/// silu(conv(proj x)) of q, k or v; q and k are normalised a head, q scaled.
Value StepBuilder::kdaHeads(StringRef which, Value x, bool normalise, double scale) {
  const int64_t heads = config.linearNumHeads, D = config.linearHeadDim;
  std::string attn = "self_attn.";
  Value raw = linear(attn + which + "_proj", x,
                     layerWeight(attn + which + "_proj"), act({rows, heads * D}));
  Value conv = model::ShortConvOp::create(
      b, loc(attn + which + "_conv1d"), f32({rows, heads * D}), raw,
      layerWeight(attn + which + "_conv1d"), seqs,
      symbol(layerName(which + "_window")));

  RowwiseBuilder act1(b, loc(attn + which + ".silu"), {rows, heads, D});
  Value v;
  {
    auto [t, h, d] = act1.dims<3>();
    act1.out(0, {t, h, d}, act1.silu(act1.in(conv, {t, h * D + d})));
    v = act1.finish({f32({rows, heads, D})})[0];
  }
  if (!normalise)
    return v;
  RowwiseBuilder row(b, loc(attn + which + ".l2norm"), {rows, heads, D});
  auto [t, h, d] = row.dims<3>();
  Value e = row.in(v, {t, h, d});
  Value r = row.rsqrt(row.add(row.sum(row.mul(e, e)), row.num(1e-6)));
  row.out(0, {t, h, d}, row.mul(row.mul(e, r), row.num(scale)));
  return row.finish({f32({rows, heads, D})})[0];
}

/// g = bound * sigma(exp(A_log) * (f_b(f_a x) + dt_bias)): log decay, [T,h,D].
Value StepBuilder::kdaGate(Value x) {
  const int64_t heads = config.linearNumHeads, D = config.linearHeadDim;
  Value low = linear("self_attn.f_a_proj", x, layerWeight("self_attn.f_a_proj"),
                     act({rows, D}));
  Value raw = linear("self_attn.f_b_proj", low, layerWeight("self_attn.f_b_proj"),
                     f32({rows, heads, D}));
  Value logA = layerWeight("self_attn.A_log");
  Value bias = layerWeight("self_attn.dt_bias");
  RowwiseBuilder row(b, loc("self_attn.decay"), {rows, heads, D});
  auto [t, h, d] = row.dims<3>();
  Value shifted = row.add(row.in(raw, {t, h, d}), row.in(bias, {h * D + d}));
  Value gate = row.sigmoid(row.mul(row.exp(row.in(logA, {h})), shifted));
  row.out(0, {t, h, d}, row.mul(row.num(config.linearLowerBound), gate));
  return row.finish({f32({rows, heads, D})})[0];
}

/// o_proj of RMSNorm(o) * w * sigma(g_b(g_a x)), the norm over each head.
Value StepBuilder::kdaOutput(Value o, Value x) {
  const int64_t heads = config.linearNumHeads, D = config.linearHeadDim;
  Value low = linear("self_attn.g_a_proj", x, layerWeight("self_attn.g_a_proj"),
                     act({rows, D}));
  Value gate = linear("self_attn.g_b_proj", low, layerWeight("self_attn.g_b_proj"),
                      f32({rows, heads, D}));
  Value w = layerWeight("self_attn.o_norm");
  RowwiseBuilder row(b, loc("self_attn.gated_norm"), {rows, heads, D});
  auto [t, h, d] = row.dims<3>();
  Value v = row.in(o, {t, h, d});
  Value mean = row.mul(row.sum(row.mul(v, v)), row.num(1.0 / D));
  Value r = row.rsqrt(row.add(mean, row.num(config.rmsNormEps)));
  Value normed = row.mul(row.mul(v, r), row.in(w, {d}));
  row.out(0, {t, h, d},
          row.mul(normed, row.sigmoid(row.in(gate, {t, h, d}))));
  Value n = row.finish({act({rows, heads, D})})[0];
  return linear("self_attn.o_proj", n, layerWeight("self_attn.o_proj"),
                f32({rows, config.hiddenSize}));
}

Value StepBuilder::kda(Value x) {
  const int64_t heads = config.linearNumHeads, D = config.linearHeadDim;
  Value q = kdaHeads("q", x, true, 1.0 / std::sqrt((double)D));
  Value k = kdaHeads("k", x, true, 1.0);
  Value v = kdaHeads("v", x, false, 1.0);
  Value gate = kdaGate(x);

  Value betaRaw = linear("self_attn.b_proj", x, layerWeight("self_attn.b_proj"),
                         f32({rows, heads}));
  RowwiseBuilder row(b, loc("self_attn.beta"), {rows, heads});
  auto [t, h] = row.dims<2>();
  row.out(0, {t, h}, row.sigmoid(row.in(betaRaw, {t, h})));
  Value beta = row.finish({f32({rows, heads})})[0];

  Value o = model::DeltaRuleOp::create(b, loc("self_attn.delta_rule"),
                                       f32({rows, heads, D}), q, k, v, gate, beta,
                                       seqs, symbol(layerName("kda_state")));
  return kdaOutput(o, x);
}

//===----------------------------------------------------------------------===//
// DSA: NoPE MLA over pools chosen by the indexer
//===----------------------------------------------------------------------===//

/// Pools that each row attends to, I32 [T, topk / P]; advances the index keys.
Value StepBuilder::selectPools(Value x, Value qr) {
  const int64_t heads = config.indexNHeads, D = config.indexHeadDim;
  const int64_t P = config.indexKpool, topPools = config.indexTopk / P;
  std::string idx = "self_attn.indexer.";
  Value rawKey = linear(idx + "wk", x, layerWeight(idx + "wk"), f32({rows, D}));
  Value gate = linear(idx + "kpool_gate", x,
                      layerWeight(idx + "index_kpool_compress_gate"), f32({rows, D}));

  // kI = LayerNorm(wk x), eps 1e-6
  Value w = layerWeight(idx + "k_norm"), bias = layerWeight(idx + "k_norm.bias");
  RowwiseBuilder norm(b, loc(idx + "k_norm"), {rows, D});
  Value key;
  {
    auto [t, d] = norm.dims<2>();
    Value v = norm.in(rawKey, {t, d});
    Value c = norm.sub(v, norm.mul(norm.sum(v), norm.num(1.0 / D)));
    Value var = norm.mul(norm.sum(norm.mul(c, c)), norm.num(1.0 / D));
    Value r = norm.rsqrt(norm.add(var, norm.num(1e-6)));
    norm.out(0, {t, d},
             norm.add(norm.mul(norm.mul(c, r), norm.in(w, {d})), norm.in(bias, {d})));
    key = norm.finish({f32({rows, D})})[0];
  }
  model::KPoolOp::create(b, loc(idx + "kpool"), key, gate,
                         layerWeight(idx + "index_kpool_compress_ape"), seqs,
                         symbol(layerName("index_tail")),
                         symbol(layerName("index_pools")));

  Value q = linear(idx + "wq_b", qr, layerWeight(idx + "wq_b"), act({rows, heads, D}));
  Value rawW = linear(idx + "weights_proj", x, layerWeight(idx + "weights_proj"),
                      f32({rows, heads}));
  RowwiseBuilder row(b, loc(idx + "weights"), {rows, heads});
  auto [t, h] = row.dims<2>();
  row.out(0, {t, h},
          row.mul(row.in(rawW, {t, h}), row.num(1.0 / std::sqrt((double)heads))));
  Value weights = row.finish({f32({rows, heads})})[0];
  Value scores = model::IndexScoresOp::create(
      b, loc(idx + "scores"), f32({rows, options.maxContext / P}), q, weights, seqs,
      symbol(layerName("index_pools")), b.getI64IntegerAttr(P),
      b.getF32FloatAttr(1.0 / std::sqrt((double)D)));
  Value ids = model::TopKOp::create(
      b, loc(idx + "top_k"), RankedTensorType::get({rows, topPools}, b.getI32Type()),
      scores, seqs, P);
  tap("pool_ids", ids);
  return ids;
}

Value StepBuilder::dsa(Value x) {
  const int64_t heads = config.numAttentionHeads, r = config.kvLoraRank;
  const int64_t dk = config.qkHeadDim, dv = config.vHeadDim;
  Value qa = linear("self_attn.q_a_proj", x, layerWeight("self_attn.q_a_proj"),
                    f32({rows, config.qLoraRank}));
  Value qr = rmsNorm("self_attn.q_a_layernorm", qa,
                     layerWeight("self_attn.q_a_layernorm"));
  Value q = linear("self_attn.q_b_proj", qr, layerWeight("self_attn.q_b_proj"),
                   act({rows, heads, dk}));
  Value kv = linear("self_attn.kv_a_proj", x,
                    layerWeight("self_attn.kv_a_proj_with_mqa"), f32({rows, r}));
  Value c = rmsNorm("self_attn.kv_a_layernorm", kv,
                    layerWeight("self_attn.kv_a_layernorm"));
  auto latent = symbol(layerName("latent"));
  model::LatentAppendOp::create(b, loc("self_attn.latent_append"), c, seqs, latent);
  Value pools = selectPools(x, qr);

  // Absorbed form: q' = Wk^T q, attention over latents, o = Wv (sum a c).
  Value kvB = layerWeight("self_attn.kv_b_proj");
  Value absorbed = model::HeadLinearOp::create(
      b, loc("self_attn.absorb_q"), act({rows, heads, r}), q, kvB, /*first=*/0,
      /*stride=*/dk + dv, /*transposed=*/true);
  Value mixed = model::SparseAttentionOp::create(
      b, loc("self_attn.attention"), act({rows, heads, r}), absorbed, pools, seqs,
      latent, b.getI64IntegerAttr(config.indexKpool),
      b.getF32FloatAttr(1.0 / std::sqrt((double)dk)));
  Value o = model::HeadLinearOp::create(
      b, loc("self_attn.absorb_v"), act({rows, heads, dv}), mixed, kvB,
      /*first=*/dk, /*stride=*/dk + dv, /*transposed=*/false);
  return linear("self_attn.o_proj", o, layerWeight("self_attn.o_proj"),
                f32({rows, config.hiddenSize}));
}
