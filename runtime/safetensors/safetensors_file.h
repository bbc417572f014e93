// A safetensors file: the header, checked, and the tensors' bytes, mapped.
//
// Layout: u64 little-endian header length, header (JSON object, may be padded
// with spaces), data. One rule holds for every reader of this project, the same
// as in the reference library: the tensors cover the data exactly. Trailing
// bytes, gaps and overlaps are refused; tensors without elements are legal.
// What this is not: it knows no model and no shards (checkpoint.h).
//
// Nothing in the file is trusted. Lengths are checked before they are used and
// before anything is allocated for them.
#ifndef GLM_RUNTIME_SAFETENSORS_SAFETENSORS_FILE_H_
#define GLM_RUNTIME_SAFETENSORS_SAFETENSORS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/mapped_file.h"

namespace glm {

// Limits of the format as we accept it.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes
inline constexpr size_t kMaxSafetensorsTensors = 1'000'000;
inline constexpr size_t kMaxSafetensorsRank = 8;
inline constexpr size_t kMaxSafetensorsName = 1024;  // bytes

// Element type. kOther: a type that this project does not read (its spelling
// is in TensorEntry::dtype_name); its size is not known and not checked
// against the shape.
enum class StDType : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
  kOther
};

// The spelling in the file ("BF16"); "other" for kOther.
std::string_view StDTypeName(StDType dtype);
// Bytes of an element; 0 for kOther.
uint64_t StDTypeSize(StDType dtype);

struct TensorEntry {
  std::string name;
  std::string dtype_name;  // as spelled in the file
  StDType dtype = StDType::kOther;
  std::vector<int64_t> shape;  // elements, outermost first; empty: a scalar
  uint64_t offset = 0;         // bytes from the start of the file
  uint64_t size = 0;           // bytes
};

// "[2, 4096]"
std::string ShapeString(std::span<const int64_t> shape);

// Thread-safe after construction. Movable.
class SafetensorsFile {
 public:
  // Maps `path`. Errors: those of MappedFile::Open, kDataLoss for a file that
  // is cut short, kInvalidArgument for any other fault of the content. Every
  // message begins with the path.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  // The same on bytes that outlive the result; `name` stands in for the path.
  static absl::StatusOr<SafetensorsFile> Parse(std::span<const std::byte> bytes,
                                               std::string name);

  SafetensorsFile(SafetensorsFile&&) noexcept = default;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept = default;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return bytes_.size(); }

  // In order of their bytes in the file.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }

  // nullptr when there is none of that name.
  const TensorEntry* Find(std::string_view name) const;

  // `entry` must be one of tensors().
  std::span<const std::byte> Bytes(const TensorEntry& entry) const {
    return bytes_.subspan(entry.offset, entry.size);
  }

 private:
  SafetensorsFile() = default;

  std::string path_;
  MappedFile mapping_;  // empty after Parse
  std::span<const std::byte> bytes_;
  std::vector<TensorEntry> tensors_;
  std::unordered_map<std::string_view, uint32_t> by_name_;  // into tensors_
};

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_SAFETENSORS_FILE_H_
