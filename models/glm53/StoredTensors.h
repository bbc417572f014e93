//===- StoredTensors.h - A checkpoint under canonical names -----*- C++ -*-===//
//
// Every tensor of a checkpoint under its canonical name, with a mark for what
// has been used: in the end each one must be used or known to be ignorable.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_STOREDTENSORS_H
#define GLM_MODELS_GLM53_STOREDTENSORS_H

#include "runtime/safetensors/checkpoint.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace glm::glm53 {

struct StoredTensor {
  llvm::StringRef name; ///< As stored.
  uint32_t file = 0;    ///< Into Checkpoint::files().
  const TensorEntry *entry = nullptr;
  bool used = false;
};

class StoredTensors {
public:
  /// Fails when two stored names mean the same tensor.
  static llvm::Expected<StoredTensors> collect(const Checkpoint &checkpoint);

  /// nullptr when there is none; does not mark it.
  StoredTensor *find(const llvm::Twine &canonical);
  bool contains(const llvm::Twine &canonical) { return find(canonical); }

  /// By canonical name, sorted.
  std::map<std::string, StoredTensor, std::less<>> &all() { return tensors; }

  /// "FILE: tensor 'NAME'", the head of a message about it.
  std::string where(const StoredTensor &tensor) const;

private:
  explicit StoredTensors(const Checkpoint &checkpoint)
      : checkpoint(&checkpoint) {}

  const Checkpoint *checkpoint;
  std::map<std::string, StoredTensor, std::less<>> tensors;
};

/// Faults of one kind: the first ten and a count.
class FaultList {
public:
  FaultList(std::string heading, std::string remedy)
      : heading(std::move(heading)), remedy(std::move(remedy)) {}

  void add(const llvm::Twine &item);
  bool empty() const { return count == 0; }

  /// "COUNT HEADING; REMEDY:" and an indented line for each item shown.
  std::string text() const;

private:
  std::string heading;
  std::string remedy;
  std::vector<std::string> shown;
  size_t count = 0;
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_STOREDTENSORS_H
