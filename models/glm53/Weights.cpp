//===- Weights.cpp - The model's weights ----------------------------------===//

#include "models/glm53/Weights.h"
#include "models/glm53/WeightInventory.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace glm::glm53 {

uint64_t WeightInfo::bytes() const {
  if (isCoded()) {
    uint64_t rows = 1, k = shape.back();
    for (int64_t dim : ArrayRef(shape).drop_back())
      rows *= dim;
    uint64_t codes = form == Form::DenseInt8 ? k : 4 * divideCeil(k, 8);
    return rows * (codes + 2 * divideCeil(k, uint64_t(group)));
  }
  uint64_t size = dtype == DType::F32 ? 4 : 2;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

Weights Weights::declare(const Config &config, WeightOptions options) {
  Weights result;
  result.weights = expectedWeights(config, options.mtp);
  result.quantise(options);
  result.indexNames();
  return result;
}

/// Gives weights that are stored unquantised the form that is asked for.
void Weights::quantise(const WeightOptions &options) {
  if (options.dense == DenseForm::AsStored)
    return;
  for (WeightInfo &info : weights) {
    bool wanted = info.use == WeightInfo::Use::Projection ||
                  (info.use == WeightInfo::Use::Head && options.denseHead);
    if (!wanted || info.form != WeightInfo::Form::Dense)
      continue;
    info.form = options.dense == DenseForm::Int8 ? WeightInfo::Form::DenseInt8
                                                 : WeightInfo::Form::DenseGptq4;
    info.group = kQuantisedGroup;
    if (!info.pieces.empty())
      info.source = info.pieces.front();
    info.pieces.clear();
  }
}

const WeightInfo *Weights::find(StringRef name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &weights[it->second];
}

void Weights::indexNames() {
  for (size_t i = 0; i < weights.size(); ++i)
    byName[weights[i].name] = i;
}

} // namespace glm::glm53
