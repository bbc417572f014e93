#include "runtime/safetensors/safetensors_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

std::string LittleEndian(uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

uint64_t BytesOf(StDType dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = StDTypeSize(dtype);
  for (const int64_t dim : shape) bytes *= static_cast<uint64_t>(dim);
  return bytes;
}

}  // namespace

void SafetensorsWriter::Add(std::string name, StDType dtype,
                            std::vector<int64_t> shape,
                            std::span<const std::byte> data) {
  tensors_.push_back({std::move(name), dtype, std::move(shape), data});
}

void SafetensorsWriter::SetMetadata(std::string key, std::string value) {
  metadata_[std::move(key)] = std::move(value);
}

absl::StatusOr<std::string> SafetensorsWriter::Header() const {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata_.empty()) header["__metadata__"] = metadata_;
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", tensor.name, "' was added twice"));
    }
    if (BytesOf(tensor.dtype, tensor.shape) != tensor.data.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", tensor.name, "' has ", tensor.data.size(),
                       " bytes, ", std::string(StDTypeName(tensor.dtype)), " ",
                       ShapeString(tensor.shape), " needs another number"));
    }
    const uint64_t end = offset + tensor.data.size();
    header.emplace(tensor.name,
                   nlohmann::ordered_json{{"dtype", StDTypeName(tensor.dtype)},
                                          {"shape", tensor.shape},
                                          {"data_offsets", {offset, end}}});
    offset = end;
  }
  std::string text = header.dump();
  const uint64_t unpadded = 8 + text.size();
  text.append((alignment_ - unpadded % alignment_) % alignment_, ' ');
  return text;
}

absl::Status SafetensorsWriter::Write(const std::string& path) const {
  GLM_ASSIGN_OR_RETURN(const std::string header, Header());
  const std::string partial = path + ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  out << LittleEndian(header.size()) << header;
  for (const Tensor& tensor : tensors_) {
    out.write(reinterpret_cast<const char*>(tensor.data.data()),
              static_cast<std::streamsize>(tensor.data.size()));
  }
  out.close();
  if (!out || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(partial.c_str());
    return absl::InternalError(
        absl::StrCat(path, ": cannot write: ", std::strerror(error)));
  }
  return absl::OkStatus();
}

}  // namespace glm
