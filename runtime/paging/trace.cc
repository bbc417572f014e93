#include "runtime/paging/trace.h"

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::paging {
namespace {

constexpr char kMagic[] = "GLMTRACE";
constexpr size_t kMagicBytes = 8;
constexpr uint32_t kVersion = 1;
constexpr std::streamoff kStepsOffset = 24;

// Counts of a layer's experts that a step of so many tokens can have.
absl::Status CheckCount(uint64_t count, uint64_t tokens,
                        const TraceShape& shape, const std::string& where) {
  const uint64_t most = std::min<uint64_t>(shape.experts, tokens * shape.top_k);
  if (count >= shape.top_k && count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": ", count, " experts; ", tokens, " tokens of ", shape.top_k,
      " experts choose from ", shape.top_k, " to ", most, " distinct ones"));
}

absl::Status CheckTokens(uint64_t tokens, const std::string& where) {
  if (tokens >= 1 && tokens <= kMaxStepTokens) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": ", tokens, " tokens; a step has 1 to ", kMaxStepTokens));
}

absl::Status CheckExperts(std::span<const uint16_t> experts,
                          const TraceShape& shape, const std::string& where) {
  std::bitset<kMaxExperts> seen;
  for (const uint16_t expert : experts) {
    if (expert >= shape.experts) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": expert ", expert, " where the layer has ", shape.experts));
    }
    if (seen[expert]) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": expert ", expert, " is listed twice"));
    }
    seen[expert] = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TraceShape::Check(const std::string& where) const {
  if (layers < 1 || layers > kMaxLayers) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": ", layers, " layers; 1 to ", kMaxLayers, " are possible"));
  }
  if (experts < 1 || experts > kMaxExperts) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": ", experts, " experts; 1 to ", kMaxExperts, " are possible"));
  }
  if (top_k < 1 || top_k > experts) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": top_k ", top_k, " of ", experts, " experts"));
  }
  return absl::OkStatus();
}

absl::Status RoutingStep::Check(const TraceShape& shape,
                                const std::string& where) const {
  GLM_RETURN_IF_ERROR(CheckTokens(tokens, where));
  if (layers.size() != shape.layers) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", layers.size(), " layers where the trace has ",
                     shape.layers));
  }
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const std::string place = absl::StrCat(where, ", layer ", layer);
    GLM_RETURN_IF_ERROR(CheckCount(layers[layer].size(), tokens, shape, place));
    GLM_RETURN_IF_ERROR(CheckExperts(layers[layer], shape, place));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(
    const std::string& path) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot read: ", std::strerror(errno)));
  }
  return Read(std::move(file), path);
}

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Read(
    std::unique_ptr<std::istream> stream, std::string name) {
  std::unique_ptr<TraceReader> reader(
      new TraceReader(std::move(stream), std::move(name)));
  GLM_RETURN_IF_ERROR(reader->ReadHeader());
  return reader;
}

bool TraceReader::ReadValue(uint64_t& value, int bytes) {
  unsigned char buffer[8];
  if (!stream_->read(reinterpret_cast<char*>(buffer), bytes)) return false;
  value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{buffer[i]} << (8 * i);
  return true;
}

absl::Status TraceReader::ReadHeader() {
  char magic[kMagicBytes];
  if (!stream_->read(magic, kMagicBytes) ||
      std::memcmp(magic, kMagic, kMagicBytes) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        name_, ": not a routing trace: it does not begin with ", kMagic));
  }
  uint64_t version, layers, experts, top_k;
  if (!ReadValue(version, 4)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": ends in its header"));
  }
  if (version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": a trace of version ", version,
                     "; this program reads ", kVersion, ": record it again"));
  }
  if (!ReadValue(layers, 4) || !ReadValue(experts, 4) || !ReadValue(top_k, 4) ||
      !ReadValue(steps_, 8)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": ends in its header"));
  }
  shape_ = {static_cast<uint32_t>(layers), static_cast<uint32_t>(experts),
            static_cast<uint32_t>(top_k)};
  return shape_.Check(name_);
}

absl::StatusOr<bool> TraceReader::Next(RoutingStep& step) {
  if (at_ == steps_) {
    if (stream_->peek() != std::char_traits<char>::eof()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, ": bytes follow the last of ", steps_, " steps"));
    }
    return false;
  }
  const std::string where = absl::StrCat(name_, ": step ", at_);
  const absl::Status cut = absl::InvalidArgumentError(
      absl::StrCat(where, " of ", steps_, ": the file ends here"));
  uint64_t tokens;
  if (!ReadValue(tokens, 2)) return cut;
  GLM_RETURN_IF_ERROR(CheckTokens(tokens, where));
  step.tokens = static_cast<uint32_t>(tokens);
  step.layers.resize(shape_.layers);
  for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
    const std::string place = absl::StrCat(where, ", layer ", layer);
    uint64_t count;
    if (!ReadValue(count, 2)) return cut;
    GLM_RETURN_IF_ERROR(CheckCount(count, tokens, shape_, place));
    unsigned char bytes[2 * kMaxExperts];
    if (!stream_->read(reinterpret_cast<char*>(bytes),
                       static_cast<std::streamsize>(2 * count))) {
      return cut;
    }
    step.layers[layer].resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      step.layers[layer][i] =
          static_cast<uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8);
    }
    GLM_RETURN_IF_ERROR(CheckExperts(step.layers[layer], shape_, place));
  }
  ++at_;
  return true;
}

namespace {

// A trace takes the place of a trace, or of nothing: never of a device, or of
// a plan that was named by mistake.
absl::Status CheckTarget(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::exists(status)) return absl::OkStatus();
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a regular file; name a file to write"));
  }
  char magic[kMagicBytes] = {};
  std::ifstream(path, std::ios::binary).read(magic, kMagicBytes);
  if (std::filesystem::file_size(path, error) > 0 &&
      std::memcmp(magic, kMagic, kMagicBytes) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is there and no routing trace; name another file"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TraceWriter> TraceWriter::Create(const std::string& path,
                                                const TraceShape& shape) {
  GLM_RETURN_IF_ERROR(shape.Check(path));
  GLM_RETURN_IF_ERROR(CheckTarget(path));
  TraceWriter writer(path, shape);
  writer.out_.open(writer.Partial(), std::ios::binary | std::ios::trunc);
  writer.out_.write(kMagic, kMagicBytes);
  writer.WriteValue(kVersion, 4);
  writer.WriteValue(shape.layers, 4);
  writer.WriteValue(shape.experts, 4);
  writer.WriteValue(shape.top_k, 4);
  writer.WriteValue(0, 8);
  if (!writer.out_) {
    return absl::InternalError(
        absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  }
  return writer;
}

TraceWriter::~TraceWriter() {
  if (!out_.is_open()) return;
  out_.close();
  std::remove(Partial().c_str());
}

void TraceWriter::WriteValue(uint64_t value, int bytes) {
  char buffer[8];
  for (int i = 0; i < bytes; ++i)
    buffer[i] = static_cast<char>(value >> (8 * i));
  out_.write(buffer, bytes);
}

absl::Status TraceWriter::Add(const RoutingStep& step) {
  GLM_RETURN_IF_ERROR(
      step.Check(shape_, absl::StrCat(path_, ": step ", steps_)));
  WriteValue(step.tokens, 2);
  for (const std::vector<uint16_t>& experts : step.layers) {
    WriteValue(experts.size(), 2);
    for (const uint16_t expert : experts) WriteValue(expert, 2);
  }
  ++steps_;
  if (!out_) {
    return absl::InternalError(
        absl::StrCat(path_, ": cannot write: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status TraceWriter::Finish() {
  out_.seekp(kStepsOffset);
  WriteValue(steps_, 8);
  out_.close();
  if (!out_ || std::rename(Partial().c_str(), path_.c_str()) != 0) {
    const int error = errno;
    std::remove(Partial().c_str());
    return absl::InternalError(
        absl::StrCat(path_, ": cannot write: ", std::strerror(error)));
  }
  return absl::OkStatus();
}

}  // namespace glm::paging
