//===- StoredTensors.cpp - A checkpoint under canonical names -------------===//

#include "models/glm53/StoredTensors.h"
#include "models/glm53/WeightNames.h"
#include "runtime/safetensors/safetensors_header.h"

#include "llvm/ADT/SmallString.h"

using namespace llvm;

namespace glm::glm53 {

Expected<StoredTensors> StoredTensors::collect(const Checkpoint &checkpoint) {
  StoredTensors result(checkpoint);
  FaultList clashes("tensors are stored under two names",
                    "keep one of each and save the checkpoint again");
  for (std::string_view name : checkpoint.names()) {
    TensorRef ref = *checkpoint.Find(name);
    StoredTensor tensor{StringRef(name.data(), name.size()), ref.file,
                        ref.entry};
    auto [it, added] =
        result.tensors.try_emplace(canonicalName(tensor.name), tensor);
    if (!added)
      clashes.add(result.where(it->second) + " and '" + PrintableName(name) +
                  "'");
  }
  if (!clashes.empty())
    return createStringError(checkpoint.dir() + ": " + clashes.text());
  return result;
}

StoredTensor *StoredTensors::find(const Twine &canonical) {
  SmallString<128> buffer;
  StringRef name = canonical.toStringRef(buffer);
  auto it = tensors.find(std::string_view(name.data(), name.size()));
  return it == tensors.end() ? nullptr : &it->second;
}

std::string StoredTensors::where(const StoredTensor &tensor) const {
  return checkpoint->files()[tensor.file].path() + ": tensor '" +
         PrintableName(tensor.entry->name) + "'";
}

void FaultList::add(const Twine &item) {
  if (++count <= 10)
    shown.push_back(item.str());
}

std::string FaultList::text() const {
  std::string text =
      std::to_string(count) + " " + heading + "; " + remedy + ":";
  for (const std::string &item : shown)
    text += "\n  " + item;
  if (count > shown.size())
    text += "\n  and " + std::to_string(count - shown.size()) + " more";
  return text;
}

} // namespace glm::glm53
