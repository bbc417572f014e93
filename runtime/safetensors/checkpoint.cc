#include "runtime/safetensors/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status_macros.h"
#include "runtime/safetensors/safetensors_header.h"
#include "runtime/safetensors/weight_index.h"

namespace glm {
namespace {

namespace fs = std::filesystem;

constexpr char kSingleName[] = "model.safetensors";
constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr size_t kShown = 10;  // items listed in a message

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string PlainName(const std::string& path) {
  return fs::path(path).filename().string();
}

// Sorted plain names of the folder's *.safetensors files.
std::vector<std::string> SafetensorsNames(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".safetensors" &&
        IsFile(it->path().string())) {
      names.push_back(it->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "a, b and 3 more"
std::string Listed(const std::vector<std::string>& items) {
  const size_t shown = std::min(items.size(), kShown);
  std::string text = absl::StrJoin(items.begin(), items.begin() + shown, ", ");
  if (items.size() > shown) {
    absl::StrAppend(&text, " and ", items.size() - shown, " more");
  }
  return text;
}

std::string Plural(size_t count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// Every shard of the index must be there before any is read.
absl::Status CheckShardsArePresent(const WeightIndex& index,
                                   const std::string& dir,
                                   const std::string& path) {
  std::vector<bool> missing(index.files.size());
  std::vector<std::string> missing_names;
  for (size_t i = 0; i < index.files.size(); ++i) {
    missing[i] = !IsFile(dir + "/" + index.files[i]);
    if (missing[i]) missing_names.push_back(index.files[i]);
  }
  if (missing_names.empty()) return absl::OkStatus();

  const auto affected =
      std::count_if(index.tensors.begin(), index.tensors.end(),
                    [&](const auto& tensor) { return missing[tensor.second]; });
  const std::unordered_set<std::string> named(index.files.begin(),
                                              index.files.end());
  std::vector<std::string> others = SafetensorsNames(dir);
  std::erase_if(others, [&](const auto& name) { return named.contains(name); });

  if (missing_names.size() == index.files.size() && !others.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": the index is stale: none of the ",
        Plural(index.files.size(), "file"), " that it names is here (",
        Listed(missing_names), "), while the folder holds ", Listed(others),
        "; fetch the index that belongs to these files"));
  }
  return absl::NotFoundError(absl::StrCat(
      path, ": ", missing_names.size(), " of ",
      Plural(index.files.size(), "file"), " that the index names ",
      missing_names.size() == 1 ? "is" : "are", " missing (",
      Plural(static_cast<size_t>(affected), "tensor"),
      " affected): ", absl::StrJoin(missing_names, ", "),
      "; the download may be cut short, fetch the missing files",
      others.empty()
          ? ""
          : absl::StrCat(" (not named by the index: ", Listed(others), ")")));
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::string& dir) {
  Checkpoint checkpoint;
  checkpoint.dir_ = dir;
  const std::string index_path = absl::StrCat(dir, "/", kIndexName);
  const std::string single_path = absl::StrCat(dir, "/", kSingleName);
  std::error_code error;
  if (!fs::is_directory(dir, error)) {
    return absl::NotFoundError(
        absl::StrCat(dir,
                     ": not a folder; name the folder that holds "
                     "config.json and the safetensors files"));
  }
  if (fs::exists(index_path, error)) {
    GLM_RETURN_IF_ERROR(checkpoint.OpenIndexed(index_path));
  } else if (fs::exists(single_path, error)) {
    GLM_RETURN_IF_ERROR(checkpoint.OpenSingle(single_path));
  } else {
    const std::vector<std::string> others = SafetensorsNames(dir);
    return absl::NotFoundError(absl::StrCat(
        dir, ": holds neither ", kSingleName, " nor ", kIndexName,
        others.empty() ? "; name the folder of a checkpoint"
                       : absl::StrCat(", only ", Listed(others),
                                      "; fetch the index as well")));
  }
  checkpoint.names_.reserve(checkpoint.by_name_.size());
  for (const auto& [name, ref] : checkpoint.by_name_) {
    checkpoint.names_.push_back(name);
  }
  std::sort(checkpoint.names_.begin(), checkpoint.names_.end());
  return checkpoint;
}

absl::Status Checkpoint::OpenSingle(const std::string& path) {
  GLM_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
  files_.push_back(std::move(file));
  for (const TensorEntry& entry : files_[0].tensors()) {
    by_name_.emplace(entry.name, TensorRef{0, &entry});
  }
  LookAtStrayFiles(/*indexed=*/false);
  return absl::OkStatus();
}

absl::Status Checkpoint::OpenIndexed(const std::string& path) {
  GLM_ASSIGN_OR_RETURN(const MappedFile mapping, MappedFile::Open(path));
  GLM_ASSIGN_OR_RETURN(const WeightIndex index,
                       ParseWeightIndex(mapping.bytes(), path));
  GLM_RETURN_IF_ERROR(CheckShardsArePresent(index, dir_, path));
  for (const std::string& name : index.files) {
    GLM_ASSIGN_OR_RETURN(SafetensorsFile file,
                         SafetensorsFile::Open(dir_ + "/" + name));
    files_.push_back(std::move(file));
  }
  GLM_RETURN_IF_ERROR(TakeIndexed(index, path));
  LookAtUnassigned();
  LookAtStrayFiles(/*indexed=*/true);
  return absl::OkStatus();
}

absl::Status Checkpoint::TakeIndexed(const WeightIndex& index,
                                     const std::string& path) {
  std::vector<std::string> absent;
  by_name_.reserve(index.tensors.size());
  for (const auto& [name, file] : index.tensors) {
    const TensorEntry* entry = files_[file].Find(name);
    if (entry == nullptr) {
      absent.push_back(
          absl::StrCat("'", PrintableName(name), "' in ", index.files[file]));
      continue;
    }
    by_name_.emplace(entry->name, TensorRef{file, entry});
  }
  if (absent.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": the index is stale: ", Plural(absent.size(), "tensor"),
      " are not in the file that it assigns them to: ", Listed(absent),
      "; index and shards come from different versions, fetch both again"));
}

// Tensors of the shards that the index assigns elsewhere or not at all.
void Checkpoint::LookAtUnassigned() {
  std::vector<std::string> copies;
  std::vector<std::string> unnamed;
  for (uint32_t i = 0; i < files_.size(); ++i) {
    const std::string file = PlainName(files_[i].path());
    for (const TensorEntry& entry : files_[i].tensors()) {
      const auto it = by_name_.find(entry.name);
      const std::string shown =
          absl::StrCat("'", PrintableName(entry.name), "' in ", file);
      if (it == by_name_.end()) {
        unnamed.push_back(shown);
        unindexed_.push_back({entry.name, file});
      } else if (it->second.file != i) {
        copies.push_back(shown);
      }
    }
  }
  if (!copies.empty()) {
    warnings_.push_back(absl::StrCat(
        "ignored ", copies.size(), copies.size() == 1 ? " copy" : " copies",
        " of tensors in files that the index does not assign them to: ",
        Listed(copies)));
  }
  if (!unnamed.empty()) {
    warnings_.push_back(
        absl::StrCat("ignored ", Plural(unnamed.size(), "tensor"),
                     " without a line in the index: ", Listed(unnamed)));
  }
}

// Files beside the checkpoint's. Their headers are read to tell the user what
// is in them; their tensors are never used, so their faults are no errors.
void Checkpoint::LookAtStrayFiles(bool indexed) {
  std::unordered_set<std::string> used;
  for (const SafetensorsFile& file : files_)
    used.insert(PlainName(file.path()));
  std::vector<std::string> ignored;
  for (const std::string& name : SafetensorsNames(dir_)) {
    if (used.contains(name)) continue;
    const auto file = SafetensorsFile::Open(dir_ + "/" + name);
    bool has_copies = false;
    if (file.ok()) {
      for (const TensorEntry& entry : file->tensors()) {
        if (by_name_.contains(entry.name)) {
          has_copies = true;
        } else {
          unindexed_.push_back({entry.name, name});
        }
      }
    }
    // Without an index, data of another kind beside the weights is common.
    if (indexed || has_copies) ignored.push_back(name);
  }
  if (ignored.empty()) return;
  warnings_.push_back(absl::StrCat(
      "ignored ", Plural(ignored.size(), "safetensors file"),
      indexed ? " that the index does not name: "
              : " with second copies of tensors of model.safetensors: ",
      Listed(ignored)));
}

std::optional<TensorRef> Checkpoint::Find(std::string_view name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

}  // namespace glm
