// A checkpoint folder: which file holds which tensor.
//
// Either one `model.safetensors`, or shards that `model.safetensors.index.json`
// names. With an index, the index is the authority: a tensor is read from the
// file that the index assigns to it and from nowhere else. Copies in other
// files and files that the index does not name are ignored, and said so in
// warnings(). What this is not: it knows no model; whether a tensor is needed
// is its user's question.
//
// Thread-safe after Open. Movable.
#ifndef GLM_RUNTIME_SAFETENSORS_CHECKPOINT_H_
#define GLM_RUNTIME_SAFETENSORS_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/safetensors/safetensors_file.h"

namespace glm {

struct WeightIndex;

// A tensor of a checkpoint: an entry of one of its files.
struct TensorRef {
  uint32_t file = 0;                   // into Checkpoint::files()
  const TensorEntry* entry = nullptr;  // of that file
};

class Checkpoint {
 public:
  // Opens every file that holds tensors and checks their headers; reads no
  // tensor data. Errors (all begin with the path at fault): kNotFound for a
  // folder without weights and for shards that the index names but that are
  // not there (all of them are listed), kFailedPrecondition for an index that
  // does not belong to the files, otherwise those of SafetensorsFile.
  static absl::StatusOr<Checkpoint> Open(const std::string& dir);

  // A tensor that is stored in the folder under a name which the checkpoint
  // does not have: in a file that the index does not name, or in a shard
  // without a line in the index.
  struct Unindexed {
    std::string name;
    std::string file;  // plain file name
  };

  const std::string& dir() const { return dir_; }
  const std::vector<SafetensorsFile>& files() const { return files_; }

  // Sorted names of all tensors.
  const std::vector<std::string_view>& names() const { return names_; }

  std::optional<TensorRef> Find(std::string_view name) const;

  const std::vector<Unindexed>& unindexed() const { return unindexed_; }

  // One line each, for the user.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Checkpoint() = default;
  absl::Status OpenSingle(const std::string& path);
  absl::Status OpenIndexed(const std::string& path);
  absl::Status TakeIndexed(const WeightIndex& index, const std::string& path);
  void LookAtUnassigned();
  void LookAtStrayFiles(bool indexed);

  std::string dir_;
  std::vector<SafetensorsFile> files_;
  std::unordered_map<std::string_view, TensorRef> by_name_;
  std::vector<std::string_view> names_;
  std::vector<Unindexed> unindexed_;
  std::vector<std::string> warnings_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_CHECKPOINT_H_
