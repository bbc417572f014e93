//===- Build.cpp - Symbols of the module, then its steps ------------------===//

#include "models/glm53/Build.h"
#include "models/glm53/StepBuilder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace glm;
using namespace glm::glm53;

static void declareWeight(OpBuilder &b, const WeightInfo &info) {
  Type element;
  Attribute encoding;
  switch (info.dtype) {
  case WeightInfo::DType::F32:
    element = b.getF32Type();
    break;
  case WeightInfo::DType::BF16:
    element = b.getBF16Type();
    break;
  case WeightInfo::DType::F16:
    element = b.getF16Type();
    break;
  }
  Type stored = element;
  if (info.isCoded()) {
    bool bytes = info.form == WeightInfo::Form::DenseInt8;
    element = b.getIntegerType(bytes ? 8 : 4);
    encoding = model::GroupQuantAttr::get(b.getContext(), info.group);
  }
  auto flatten = [&](ArrayRef<WeightInfo::Piece> pieces) {
    SmallVector<int64_t> flat;
    for (const WeightInfo::Piece &p : pieces)
      flat.append({p.file, static_cast<int64_t>(p.offset),
                   static_cast<int64_t>(p.size)});
    return flat.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(flat);
  };
  SmallVector<int64_t> cuts;
  for (const WeightInfo::Cut &cut : info.cuts)
    cuts.append({static_cast<int64_t>(cut.rows), static_cast<int64_t>(cut.rowBytes),
                 static_cast<int64_t>(cut.stride)});
  model::WeightOp::create(
      b, b.getUnknownLoc(), b.getStringAttr(info.name),
      TypeAttr::get(RankedTensorType::get(info.shape, element, encoding)),
      info.isExperts() ? b.getUnitAttr() : UnitAttr(), flatten(info.pieces),
      cuts.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(cuts),
      info.source ? TypeAttr::get(stored) : TypeAttr(),
      info.source ? flatten(*info.source) : DenseI64ArrayAttr());
}

OwningOpRef<ModuleOp> glm53::declareWeights(MLIRContext *context,
                                            const Weights &weights, int64_t ranks) {
  context->loadDialect<model::GlmDialect>();
  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  module.get()->setAttr("glm.ranks", b.getI64IntegerAttr(ranks));
  b.setInsertionPointToEnd(module->getBody());
  for (const WeightInfo &info : weights.all())
    declareWeight(b, info);
  return module;
}

void glm53::takePieces(Weights &weights, ModuleOp module) {
  for (auto [info, op] : llvm::zip(weights.all(), module.getOps<model::WeightOp>())) {
    info.pieces.clear();
    info.cuts.clear();
    info.source.reset();
    if (!op.getPieces())
      continue;
    if (auto cuts = op.getCuts())
      for (size_t i = 0; i + 2 < cuts->size(); i += 3)
        info.cuts.push_back({static_cast<uint64_t>((*cuts)[i]),
                             static_cast<uint64_t>((*cuts)[i + 1]),
                             static_cast<uint64_t>((*cuts)[i + 2])});
    ArrayRef<int64_t> p = *op.getPieces();
    for (size_t i = 0; i + 2 < p.size(); i += 3)
      info.pieces.push_back({static_cast<uint32_t>(p[i]), static_cast<uint64_t>(p[i + 1]),
                             static_cast<uint64_t>(p[i + 2])});
  }
}

/// Memory that a sequence carries, layer by layer (docs/spec/model.md, state).
static void declareStates(OpBuilder &b, const Config &config,
                          const BuildOptions &options) {
  Type f32 = b.getF32Type();
  Type act = options.math == BuildOptions::Math::Fp32 ? f32 : b.getBF16Type();
  auto state = [&](int64_t layer, StringRef name, ArrayRef<int64_t> shape,
                   Type element, int64_t tokensPerRow) {
    model::StateOp::create(b, b.getUnknownLoc(),
                           ("layers." + Twine(layer) + "." + name).str(),
                           RankedTensorType::get(shape, element), tokensPerRow);
  };
  for (auto [i, kind] : llvm::enumerate(config.layers)) {
    if (kind.attention == AttentionKind::Kda) {
      for (StringRef which : {"q_window", "k_window", "v_window"})
        state(i, which, {config.linearDim(), config.linearConvKernelDim - 1}, act, 0);
      state(i, "kda_state",
            {config.linearNumHeads, config.linearHeadDim, config.linearHeadDim}, f32,
            0);
      continue;
    }
    const int64_t P = config.indexKpool;
    state(i, "latent", {options.maxContext, config.kvLoraRank}, act, 1);
    state(i, "index_pools", {options.maxContext / P, config.indexHeadDim}, act, P);
    state(i, "index_tail", {P - 1, 2, config.indexHeadDim}, act, 0);
  }
}

/// The weights of each MoE layer whose experts are paged.
static ArrayAttr expertRows(OpBuilder &b, const Config &config) {
  SmallVector<Attribute> layers;
  for (auto [i, kind] : llvm::enumerate(config.layers)) {
    if (kind.ffn == FfnKind::Dense)
      continue;
    SmallVector<Attribute> weights;
    for (StringRef name : {"gate_proj", "up_proj", "down_proj"})
      weights.push_back(FlatSymbolRefAttr::get(b.getStringAttr(
          "layers." + Twine(i) + ".mlp.experts." + name)));
    layers.push_back(b.getArrayAttr(weights));
  }
  return b.getArrayAttr(layers);
}

OwningOpRef<ModuleOp> glm53::buildModule(MLIRContext *context, const Config &config,
                                         const Weights &weights,
                                         const BuildOptions &options) {
  context->loadDialect<model::GlmDialect>();
  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  for (const WeightInfo &info : weights.all())
    declareWeight(b, info);
  declareStates(b, config, options);

  for (int64_t batch : options.decodeBatches)
    StepBuilder(b, config, options, batch, 1, batch)
        .emit("decode_b" + std::to_string(batch), "DECODE");
  for (int64_t tokens : options.verifyTokens)
    StepBuilder(b, config, options, 1, tokens, tokens)
        .emit("verify_n" + std::to_string(tokens), "VERIFY");
  const int64_t n = options.prefillChunk;
  StepBuilder(b, config, options, 1, n, std::min(n, options.logitRows))
      .emit("prefill_n" + std::to_string(n), "PREFILL");

  bool fp32 = options.math == BuildOptions::Math::Fp32;
  ModuleOp op = *module;
  if (options.ranks > 1)
    op->setAttr("glm.ranks", b.getI64IntegerAttr(options.ranks));
  op->setAttr("glm.math", b.getStringAttr(fp32 ? "fp32" : "bf16"));
  if (options.pagedExperts)
    op->setAttr("glm.expert_rows", expertRows(b, config));
  auto number = [&](StringRef name, int64_t v) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(v));
  };
  op->setAttr("glm.model",
              b.getDictionaryAttr(
                  {b.getNamedAttr("name", b.getStringAttr(config.modelType)),
                   number("layers", config.numHiddenLayers),
                   number("hidden", config.hiddenSize),
                   number("vocab", config.vocabSize),
                   number("pool_tokens", config.indexKpool),
                   number("max_context", options.maxContext),
                   number("experts", config.nRoutedExperts),
                   number("experts_per_token", config.numExpertsPerTok)}));
  op->setAttr("glm.generation",
              b.getDictionaryAttr(
                  {b.getNamedAttr("stop_ids",
                                  b.getDenseI32ArrayAttr(config.generation.stopIds)),
                   b.getNamedAttr("temperature",
                                  b.getF32FloatAttr(config.generation.temperature)),
                   b.getNamedAttr("top_p",
                                  b.getF32FloatAttr(config.generation.topP))}));
  if (failed(verify(op)))
    return nullptr;
  return module;
}
