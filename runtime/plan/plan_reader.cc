#include "runtime/plan/plan_reader.h"

#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_validator.h"
#include "runtime/plan/validation_context.h"

namespace glm {
namespace {

// Deeper than the schema nests, which is 5.
constexpr uint32_t kMaxDepth = 16;
constexpr uint32_t kMaxTables = 4'000'000;

absl::Status CheckHeader(const std::string& path,
                         std::span<const std::byte> bytes,
                         plan::FileHeader& header) {
  if (bytes.size() < sizeof(header) ||
      std::memcmp(bytes.data(), plan::kFileMagic, sizeof(header.magic)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": not a plan file; a plan is made by `glmc compile`"));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version < plan::kOldestFileVersion ||
      header.version > plan::kFileVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": plan file version ", header.version, ", this program reads ",
        plan::kOldestFileVersion, " to ", plan::kFileVersion,
        "; compile the plan again with the glmc of this ", "release"));
  }
  const plan::Place place(path);
  if (header.file_size != bytes.size()) {
    return place.Bad("file has ", bytes.size(), " bytes, its header says ",
                     header.file_size);
  }
  if (header.flatbuffer_offset != plan::kFlatbufferOffset ||
      header.flatbuffer_size > plan::kMaxFlatbufferBytes ||
      header.flatbuffer_size > bytes.size() - plan::kFlatbufferOffset) {
    return place.Bad("flatbuffer at ", header.flatbuffer_offset, " of ",
                     header.flatbuffer_size, " bytes does not fit a file of ",
                     bytes.size(), " bytes");
  }
  static constexpr uint8_t kZeros[sizeof(header.padding)] = {};
  if (header.reserved != 0 ||
      std::memcmp(header.padding, kZeros, sizeof(kZeros)) != 0) {
    return place.Bad("reserved bytes of the header are not zero");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PlanFile>> PlanFile::Open(
    const std::string& path) {
  GLM_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  plan::FileHeader header;
  GLM_RETURN_IF_ERROR(CheckHeader(path, file.bytes(), header));
  const auto buffer =
      file.bytes().subspan(plan::kFlatbufferOffset, header.flatbuffer_size);
  const plan::Place place(path);
  if (XXH3_64bits(buffer.data(), buffer.size()) != header.flatbuffer_xxh3) {
    return place.Bad("hash of the flatbuffer differs from the header's");
  }
  const auto* data = reinterpret_cast<const uint8_t*>(buffer.data());
  flatbuffers::Verifier verifier(data, buffer.size(), kMaxDepth, kMaxTables);
  // The identifier is read by the verifier, within bounds.
  if (!plan::VerifyPlanBuffer(verifier)) {
    return place.Bad("flatbuffer is not well-formed");
  }
  const plan::Plan* root = plan::GetPlan(data);
  const bool paged = plan::SizeOf(root->expert_rows()) > 0;
  if (header.version < plan::FileVersion(paged)) {
    return place.Bad("has paged experts in a file of version ", header.version);
  }
  GLM_RETURN_IF_ERROR(ValidatePlan(
      path, *root, plan::kFlatbufferOffset + header.flatbuffer_size,
      file.size()));
  return std::shared_ptr<const PlanFile>(new PlanFile(std::move(file), root));
}

std::string PlanFile::folder() const {
  const size_t slash = path().rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path().substr(0, slash);
}

absl::StatusOr<std::span<const std::byte>> PlanFile::SegmentBytes(
    const plan::Segment& segment, const std::string& what) const {
  const plan::Place place(path());
  if (!file_.StillWhole()) {
    return place.Bad("file has become shorter while in use");
  }
  const auto bytes = file_.bytes().subspan(segment.offset(), segment.size());
  if (XXH3_64bits(bytes.data(), bytes.size()) != segment.xxh3()) {
    return place.At(what.c_str()).Bad("hash of the segment differs");
  }
  return bytes;
}

}  // namespace glm
