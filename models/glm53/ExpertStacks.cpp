//===- ExpertStacks.cpp - Routed experts in a checkpoint ------------------===//
//
// The part of WeightResolver that stacks all experts of a layer: unquantised
// one by one, fused as transformers saves them, or int4 as AutoRound packs it;
// and takes int4 tensors of any linear.
//
//===----------------------------------------------------------------------===//

#include "models/glm53/WeightResolver.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace glm::glm53 {

void WeightResolver::resolveExperts(WeightInfo &info) {
  auto [prefix, projection] = StringRef(info.name).rsplit('.');
  int64_t plain = 0, packed = 0;
  for (int64_t e = 0; e < info.shape[0]; ++e) {
    std::string expert = (prefix + "." + Twine(e) + "." + projection).str();
    bool isPlain = stored.contains(expert);
    bool isPacked = stored.contains(expert + ".qweight");
    plain += isPlain;
    packed += isPacked;
    if (isPlain || isPacked)
      claims.stored(expert, /*isRoutedExpert=*/true, isPacked);
  }
  if (plain && packed) {
    mixed.add(info.name + ": " + Twine(plain) + " experts unquantised, " +
              Twine(packed) + " int4");
    for (int64_t e = 0; e < info.shape[0]; ++e)
      for (StringRef suffix : {"", ".qweight", ".qzeros", ".scales"})
        if (StoredTensor *tensor = stored.find(prefix + "." + Twine(e) + "." +
                                               projection + suffix))
          tensor->used = true;
    return;
  }
  if (packed)
    return resolvePackedExperts(info);
  if (!plain && resolveFusedExperts(info))
    return;
  resolvePlainExperts(info);
}

void WeightResolver::resolvePlainExperts(WeightInfo &info) {
  auto [prefix, projection] = StringRef(info.name).rsplit('.');
  info.form = WeightInfo::Form::ExpertsDense;
  info.group = 0;
  ArrayRef<int64_t> shape = ArrayRef(info.shape).drop_front();
  for (int64_t e = 0; e < info.shape[0]; ++e) {
    std::string name = (prefix + "." + Twine(e) + "." + projection).str();
    if (StoredTensor *tensor = stored.find(name))
      takeFloat(*tensor, info, shape);
    else
      missing.add(name + " " + ShapeString(shape));
  }
}

/// transformers keeps all experts in one tensor, gate and up of each expert one
/// after the other: gate_up_proj [E, 2N, K] and down_proj [E, N, K].
bool WeightResolver::resolveFusedExperts(WeightInfo &info) {
  auto [prefix, projection] = StringRef(info.name).rsplit('.');
  bool isDown = projection == "down_proj";
  StoredTensor *fused =
      stored.find(prefix + (isDown ? ".down_proj" : ".gate_up_proj"));
  if (!fused)
    return false;
  fused->used = true;
  info.form = WeightInfo::Form::ExpertsDense;
  info.group = 0;
  claims.stored(info.name, /*isRoutedExpert=*/true, /*packed=*/false);
  int64_t parts = isDown ? 1 : 2;
  if (!checkShape(*fused,
                  {info.shape[0], parts * info.shape[1], info.shape[2]}) ||
      !setDType(*fused, info))
    return true;
  uint64_t size = info.bytes() / info.shape[0];
  uint64_t part = projection == "up_proj";
  for (int64_t e = 0; e < info.shape[0]; ++e)
    addPiece(info, *fused, (e * parts + part) * size, size);
  return true;
}

//===----------------------------------------------------------------------===//
// int4
//===----------------------------------------------------------------------===//

StoredTensor *WeightResolver::takePacked(const Twine &name, StDType dtype,
                                         ArrayRef<int64_t> shape) {
  StoredTensor *tensor = stored.find(name);
  if (!tensor) {
    missing.add(name + " " + ShapeString(shape));
    return nullptr;
  }
  tensor->used = true;
  if (tensor->entry->dtype != dtype) {
    dtypes.add(stored.where(*tensor) + " is " + tensor->entry->dtype_name +
               ", expected " + std::string(StDTypeName(dtype)));
    return nullptr;
  }
  return checkShape(*tensor, shape) ? tensor : nullptr;
}

void WeightResolver::resolvePackedExperts(WeightInfo &info) {
  auto [prefix, projection] = StringRef(info.name).rsplit('.');
  for (int64_t e = 0; e < info.shape[0]; ++e)
    takeGptq4(prefix + "." + Twine(e) + "." + projection, info.shape[1],
              info.shape[2], info);
}

void WeightResolver::takeGptq4(const Twine &stem, int64_t n, int64_t k,
                               WeightInfo &info) {
  std::string name = stem.str();
  // A last partial word or group counts as one.
  int64_t words = divideCeil(k, 8);
  int64_t groups = divideCeil(k, info.group);
  StoredTensor *codes =
      takePacked(name + ".qweight", StDType::kI32, {words, n});
  StoredTensor *scales =
      takePacked(name + ".scales", StDType::kF16, {groups, n});
  StoredTensor *zeros = takePacked(name + ".qzeros", StDType::kI32,
                                   {groups, int64_t(divideCeil(n, 8))});
  if (zeros)
    checkZeroPoints(*zeros, n);
  if (StoredTensor *order = stored.find(name + ".g_idx")) {
    order->used = true;
    actOrder.add(stored.where(*order));
  }
  if (!codes || !scales)
    return;
  addPiece(info, *codes, 0, codes->entry->size);
  addPiece(info, *scales, 0, scales->entry->size);
}

/// The zero of symmetric int4 is 8. GPTQ v1 stores it minus one, v2 as it is,
/// and the flag that tells them apart is not to be trusted: both are the same
/// here. Nibbles past column n-1 are padding.
void WeightResolver::checkZeroPoints(const StoredTensor &tensor, int64_t n) {
  auto bytes = checkpoint.files()[tensor.file].Bytes(*tensor.entry);
  // Nearly always all bytes are equal, and 0x77 or 0x88.
  if (bytes.empty())
    return;
  int first = std::to_integer<int>(bytes[0]);
  if ((first == 0x77 || first == 0x88) &&
      std::equal(bytes.begin() + 1, bytes.end(), bytes.begin()))
    return;
  uint64_t rowBytes = divideCeil(n, 8) * 4;
  for (uint64_t i = 0; i < bytes.size(); ++i)
    for (int half : {0, 1}) {
      int64_t column = 2 * (i % rowBytes) + half;
      int zero = std::to_integer<int>(bytes[i]) >> (4 * half) & 15;
      if (column >= n || zero == 7 || zero == 8)
        continue;
      zeroPoints.add(stored.where(tensor) + " has " + Twine(zero) + " (group " +
                     Twine(i / rowBytes) + ", column " + Twine(column) +
                     "), expected 7 or 8");
      return;
    }
}

} // namespace glm::glm53
