#include "runtime/safetensors/safetensors_file.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/safetensors/safetensors_header.h"

namespace glm {
namespace {

constexpr uint64_t kPrefix = 8;  // bytes of the header length

struct DTypeInfo {
  std::string_view name;
  uint64_t size;
};

// In the order of StDType.
constexpr DTypeInfo kDTypes[] = {
    {"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1},
    {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
    {"BF16", 2},    {"U32", 4}, {"I32", 4}, {"F32", 4},
    {"U64", 8},     {"I64", 8}, {"F64", 8}, {"other", 0},
};
static_assert(std::size(kDTypes) == static_cast<size_t>(StDType::kOther) + 1);

uint64_t ReadU64(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) {
    value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  }
  return value;
}

absl::Status Fault(const std::string& path, const TensorEntry& tensor,
                   const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": tensor '", PrintableName(tensor.name), "': ", what));
}

// The bytes must be what dtype and shape need.
absl::Status CheckSize(const std::string& path, const TensorEntry& tensor) {
  uint64_t size = StDTypeSize(tensor.dtype);
  if (size == 0) return absl::OkStatus();
  for (const int64_t dim : tensor.shape) {
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(dim), &size)) {
      return Fault(path, tensor,
                   absl::StrCat("shape ", ShapeString(tensor.shape),
                                " has more bytes than 64 bits can count"));
    }
  }
  if (size != tensor.size) {
    return Fault(path, tensor,
                 absl::StrCat(tensor.dtype_name, " ", ShapeString(tensor.shape),
                              " needs ", size, " bytes, data_offsets give ",
                              tensor.size));
  }
  return absl::OkStatus();
}

// Tensors, sorted by offset, must cover [0, data_size) exactly.
absl::Status CheckCover(const std::string& path,
                        const std::vector<TensorEntry>& tensors,
                        uint64_t data_size) {
  uint64_t end = 0;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.size > data_size || tensor.offset > data_size - tensor.size) {
      return absl::DataLossError(absl::StrCat(
          path, ": tensor '", PrintableName(tensor.name), "' ends ",
          tensor.offset, " + ", tensor.size, " bytes into the data, which is ",
          data_size, " bytes long; the file may be cut short, fetch it again"));
    }
    if (tensor.offset < end) {
      return Fault(path, tensor, "its bytes overlap those of another tensor");
    }
    if (tensor.offset > end) {
      return Fault(path, tensor,
                   absl::StrCat("a gap of ", tensor.offset - end,
                                " bytes that belong to no tensor precedes it"));
    }
    end = tensor.offset + tensor.size;
  }
  if (end != data_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", data_size - end,
        " bytes follow the last tensor; the file is damaged or was written by "
        "a faulty tool, fetch or save it again"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view StDTypeName(StDType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].name;
}

uint64_t StDTypeSize(StDType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].size;
}

std::string ShapeString(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", shape[i]);
  }
  return text + "]";
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  GLM_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(path));
  GLM_ASSIGN_OR_RETURN(SafetensorsFile file, Parse(mapping.bytes(), path));
  file.mapping_ = std::move(mapping);
  return file;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Parse(
    std::span<const std::byte> bytes, std::string name) {
  if (bytes.size() < kPrefix) {
    return absl::DataLossError(
        absl::StrCat(name, ": ", bytes.size(),
                     " bytes are too few for a safetensors file; the file may "
                     "be cut short, fetch it again"));
  }
  const uint64_t header_size = ReadU64(bytes);
  if (header_size > kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the header claims ", header_size,
                     " bytes, more than the ", kMaxSafetensorsHeader,
                     " that are allowed; this is not a safetensors "
                     "file or it is damaged"));
  }
  if (header_size > bytes.size() - kPrefix) {
    return absl::DataLossError(
        absl::StrCat(name, ": the header claims ", header_size,
                     " bytes, the file has ", bytes.size() - kPrefix,
                     " left; the file may be cut short, fetch it again"));
  }
  const std::string_view header(
      reinterpret_cast<const char*>(bytes.data()) + kPrefix, header_size);

  SafetensorsFile file;
  GLM_ASSIGN_OR_RETURN(file.tensors_, ParseSafetensorsHeader(header, name));
  std::sort(file.tensors_.begin(), file.tensors_.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::tie(a.offset, a.size, a.name) <
                     std::tie(b.offset, b.size, b.name);
            });
  const uint64_t data_start = kPrefix + header_size;
  for (const TensorEntry& tensor : file.tensors_) {
    GLM_RETURN_IF_ERROR(CheckSize(name, tensor));
  }
  GLM_RETURN_IF_ERROR(
      CheckCover(name, file.tensors_, bytes.size() - data_start));

  file.by_name_.reserve(file.tensors_.size());
  for (uint32_t i = 0; i < file.tensors_.size(); ++i) {
    file.tensors_[i].offset += data_start;
    file.by_name_.emplace(file.tensors_[i].name, i);
  }
  file.path_ = std::move(name);
  file.bytes_ = bytes;
  return file;
}

const TensorEntry* SafetensorsFile::Find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

}  // namespace glm
