//===- WeightResolver.cpp - Finds weights in a checkpoint -----------------===//

#include "models/glm53/WeightResolver.h"
#include "models/glm53/WeightInventory.h"
#include "models/glm53/WeightNames.h"

using namespace llvm;

namespace glm::glm53 {

Expected<Weights> Weights::resolve(const Config &config,
                                   const Checkpoint &checkpoint,
                                   WeightOptions options) {
  Expected<StoredTensors> stored = StoredTensors::collect(checkpoint);
  if (!stored)
    return stored.takeError();
  return WeightResolver(config, checkpoint, std::move(*stored), options).run();
}

WeightResolver::WeightResolver(const Config &config,
                               const Checkpoint &checkpoint,
                               StoredTensors tensors, WeightOptions options)
    : config(config), checkpoint(checkpoint), stored(std::move(tensors)),
      options(options), claims(config.quantization),
      fileNumbers(checkpoint.files().size(), -1),
      missing("expected tensors are missing",
              "fetch the checkpoint again, or check that config.json belongs "
              "to it"),
      shapes("tensors have another shape than config.json implies",
             "check that config.json belongs to this checkpoint"),
      dtypes("tensors have a dtype that is not supported here",
             "supported are BF16, F32 and F16, and for int4 weights I32 "
             "qweight and qzeros with F16 scales"),
      mixed("expert stacks mix forms or dtypes",
            "all experts of one projection of a layer must be stored alike"),
      packedDense("weights are int4 that no int4 kernel reads",
                  "store them as BF16; int4 is supported for the weights of "
                  "plain linears and routed experts"),
      zeroPoints("qzeros hold zero points that are not symmetric int4's",
                 "asymmetric int4 is not supported, quantise with sym = true"),
      actOrder("tensors reorder the columns (g_idx of desc_act)",
               "quantise with desc_act = false"),
      unknown(
          "stored tensors have no place in the model",
          "check that config.json (num_hidden_layers = " +
              std::to_string(config.numHiddenLayers) +
              ", n_routed_experts = " + std::to_string(config.nRoutedExperts) +
              ") belongs to this checkpoint") {}

std::string WeightResolver::mtpPrefix() const {
  return "layers." + std::to_string(config.numHiddenLayers) + ".";
}

Expected<Weights> WeightResolver::run() {
  if (Error error = refuseOtherPackings())
    return error;
  if (Error error = checkLayerKinds())
    return error;
  if (Error error = checkMtp())
    return error;
  result.weights = expectedWeights(config, options.mtp);
  for (WeightInfo &info : result.weights) {
    if (info.form == WeightInfo::Form::Dense)
      resolveDense(info);
    else
      resolveExperts(info);
  }
  sortOutTheRest();
  if (Error error = joinFaults())
    return error;
  for (std::string &warning : claims.warnings())
    result.messages.push_back(std::move(warning));
  result.quantise(options);
  result.indexNames();
  return std::move(result);
}

/// Weights of a packing that we do not read, refused by its name.
Error WeightResolver::refuseOtherPackings() {
  FaultList fp8("tensors are fp8 with block scales, which is not supported",
                "use BF16 weights, or routed experts as AutoRound packs them "
                "(symmetric int4, auto_round:auto_gptq), such as "
                "Intel/GLM-5.3-Flash-W4A16-AutoRound");
  FaultList other("tensors are packed in a format that is not supported "
                  "(compressed-tensors or NVFP4)",
                  "use BF16 weights, or routed experts as AutoRound packs them "
                  "(symmetric int4, auto_round:auto_gptq)");
  for (auto &[name, tensor] : stored.all()) {
    if (isVision(name) ||
        (!options.mtp && StringRef(name).starts_with(mtpPrefix())))
      continue;
    StringRef suffix = StringRef(name).rsplit('.').second;
    if (suffix == "weight_scale_inv" || tensor.entry->dtype == StDType::kF8E4M3)
      fp8.add(stored.where(tensor));
    else if (suffix == "weight_packed" || suffix == "weight_scale" ||
             suffix == "weight_scale_2")
      other.add(stored.where(tensor));
  }
  // NVFP4 scales are F8_E4M3 too; the packed weights tell them apart.
  for (FaultList *list : {&other, &fp8})
    if (!list->empty())
      return createStringError(checkpoint.dir() + ": " + list->text());
  return Error::success();
}

/// config.json and the tensors must agree about the kind of each layer.
Error WeightResolver::checkLayerKinds() {
  FaultList kinds("layers are of another kind in config.json than in the "
                  "stored tensors",
                  "check layer_types and mlp_layer_types");
  for (size_t i = 0; i < config.layers.size(); ++i) {
    std::string layer = "layers." + std::to_string(i);
    bool isKda = config.layers[i].attention == AttentionKind::Kda;
    bool hasKda = stored.contains(layer + ".self_attn.A_log");
    bool hasDsa = stored.contains(layer + ".self_attn.kv_b_proj");
    if (hasKda != hasDsa && hasKda != isKda)
      kinds.add(layer + " is " +
                (isKda ? "linear_attention, stored is deepseek_sparse_attention"
                       : "deepseek_sparse_attention, stored is "
                         "linear_attention"));
    bool isMoe = config.layers[i].ffn == FfnKind::Moe;
    bool hasMoe = stored.contains(layer + ".mlp.gate");
    bool hasDense = stored.contains(layer + ".mlp.gate_proj");
    if (hasMoe != hasDense && hasMoe != isMoe)
      kinds.add(
          layer + " is " +
          (isMoe ? "sparse, stored is dense" : "dense, stored is sparse"));
  }
  if (kinds.empty())
    return Error::success();
  return createStringError(checkpoint.dir() + ": " + kinds.text());
}

/// Says where the MTP layer is when it is not where it should be.
Error WeightResolver::checkMtp() {
  std::string prefix = mtpPrefix();
  auto it = stored.all().lower_bound(prefix);
  bool present =
      it != stored.all().end() && StringRef(it->first).starts_with(prefix);
  std::string what;
  if (config.numNextnPredictLayers == 0) {
    if (options.mtp)
      return createStringError(checkpoint.dir() +
                               "/config.json: num_nextn_predict_layers = 0: "
                               "there is no MTP layer to compile");
    return Error::success();
  }
  if (present)
    return Error::success();

  size_t count = 0;
  std::string file;
  for (const Checkpoint::Unindexed &tensor : checkpoint.unindexed()) {
    if (!StringRef(canonicalName(tensor.name)).starts_with(prefix))
      continue;
    ++count;
    file = tensor.file;
  }
  what = "config.json declares an MTP layer (" +
         prefix.substr(0, prefix.size() - 1) + "), ";
  if (count)
    what += "whose " + std::to_string(count) + " tensors are in " + file +
            " but not in the index; add them to the index to use it";
  else
    what += "of which the checkpoint has no tensor";
  if (options.mtp)
    return createStringError(checkpoint.dir() + ": " + what);
  result.messages.push_back(std::move(what));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Taking tensors
//===----------------------------------------------------------------------===//

void WeightResolver::addPiece(WeightInfo &info, const StoredTensor &tensor,
                              uint64_t offset, uint64_t size) {
  int32_t &number = fileNumbers[tensor.file];
  if (number < 0) {
    const SafetensorsFile &file = checkpoint.files()[tensor.file];
    number = static_cast<int32_t>(result.weightFiles.size());
    result.weightFiles.push_back({file.path(), file.size()});
  }
  info.pieces.push_back(
      {static_cast<uint32_t>(number), tensor.entry->offset + offset, size});
}

bool WeightResolver::checkShape(const StoredTensor &tensor,
                                ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(tensor.entry->shape) == shape)
    return true;
  shapes.add(stored.where(tensor) + " is " + ShapeString(tensor.entry->shape) +
             ", expected " + ShapeString(shape));
  return false;
}

bool WeightResolver::setDType(const StoredTensor &tensor, WeightInfo &info) {
  WeightInfo::DType dtype;
  switch (tensor.entry->dtype) {
  case StDType::kBF16:
    dtype = WeightInfo::DType::BF16;
    break;
  case StDType::kF16:
    dtype = WeightInfo::DType::F16;
    break;
  case StDType::kF32:
    dtype = WeightInfo::DType::F32;
    break;
  default:
    dtypes.add(stored.where(tensor) + " is " + tensor.entry->dtype_name);
    return false;
  }
  if (info.pieces.empty())
    info.dtype = dtype;
  if (info.dtype == dtype)
    return true;
  mixed.add(stored.where(tensor) + " is " + tensor.entry->dtype_name +
            ", others of " + info.name + " are not");
  return false;
}

void WeightResolver::takeFloat(StoredTensor &tensor, WeightInfo &info,
                               ArrayRef<int64_t> shape) {
  tensor.used = true;
  if (checkShape(tensor, shape) && setDType(tensor, info))
    addPiece(info, tensor, 0, tensor.entry->size);
}

void WeightResolver::resolveDense(WeightInfo &info) {
  bool isConv = StringRef(info.name).ends_with("_conv1d");
  if (StoredTensor *tensor = stored.find(info.name)) {
    std::vector<int64_t> shape = info.shape;
    if (isConv && tensor->entry->shape.size() == 3)
      shape = {shape[0], 1, shape[1]};
    takeFloat(*tensor, info, shape);
    if (info.shape.size() == 2 && !isConv)
      claims.stored(info.name, /*isRoutedExpert=*/false, /*packed=*/false);
    return;
  }
  StoredTensor *packed = stored.find(info.name + ".qweight");
  if (packed && info.use != WeightInfo::Use::Other) {
    info.form = WeightInfo::Form::DenseGptq4;
    info.group = config.quantization.method == Quantization::Method::Gptq4
                     ? config.quantization.groupSize
                     : kQuantisedGroup;
    claims.stored(info.name, /*isRoutedExpert=*/false, /*packed=*/true);
    takeGptq4(info.name, info.shape[0], info.shape[1], info);
    return;
  }
  if (packed) {
    for (StringRef suffix : {".qweight", ".qzeros", ".scales", ".g_idx"})
      if (StoredTensor *part = stored.find(info.name + suffix))
        part->used = true;
    packedDense.add(stored.where(*packed));
    return;
  }
  if (!isConv || !resolveFusedConv(info))
    missing.add(info.name + " " + ShapeString(info.shape));
}

/// transformers keeps q, k and v as one conv1d [3C, 1, kernel], in this order.
bool WeightResolver::resolveFusedConv(WeightInfo &info) {
  auto [self, name] = StringRef(info.name).rsplit('.');
  StoredTensor *fused = stored.find(self + ".conv1d");
  if (!fused)
    return false;
  fused->used = true;
  if (!checkShape(*fused, {3 * info.shape[0], 1, info.shape[1]}) ||
      !setDType(*fused, info))
    return true;
  uint64_t part = StringRef("qkv").find(name.front());
  addPiece(info, *fused, part * info.bytes(), info.bytes());
  return true;
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

/// A fused copy of something that was taken in parts.
static bool isFusedCopy(StringRef name) {
  return name.ends_with(".self_attn.conv1d") ||
         name.ends_with(".mlp.experts.gate_up_proj") ||
         name.ends_with(".mlp.experts.down_proj");
}

void WeightResolver::sortOutTheRest() {
  size_t vision = 0, mtp = 0, stale = 0;
  for (auto &[name, tensor] : stored.all()) {
    if (tensor.used)
      continue;
    std::optional<int64_t> layer = layerOf(name);
    if (isVision(name))
      ++vision;
    else if (!options.mtp && layer == config.numHiddenLayers)
      ++mtp;
    else if (layer && *layer < config.numHiddenLayers && isFusedCopy(name))
      ++stale;
    else
      unknown.add(stored.where(tensor));
  }
  auto say = [&](size_t count, StringRef what) {
    if (count)
      result.messages.push_back(
          ("ignored " + Twine(count) + " tensors of " + what).str());
  };
  for (const std::string &warning : checkpoint.warnings())
    result.messages.push_back(warning);
  say(vision, "the vision tower");
  say(mtp, "the MTP layer");
  say(stale, "stale fused copies");
}

Error WeightResolver::joinFaults() {
  std::string text;
  for (FaultList *list : {&packedDense, &mixed, &actOrder, &zeroPoints, &dtypes,
                          &shapes, &missing, &unknown})
    if (!list->empty())
      text +=
          (text.empty() ? "" : "\n") + checkpoint.dir() + ": " + list->text();
  return text.empty() ? Error::success() : createStringError(Twine(text));
}

} // namespace glm::glm53
