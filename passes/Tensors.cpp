//===- Tensors.cpp - What lowering asks of tensors and names --------------===//

#include "passes/Tensors.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace glm;
using namespace glm::passes;

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
