// `PlanFile` is an opened, completely validated plan: whoever holds one may
// follow every index, offset and size in it without a check of its own.
//
// It maps the file and hands out the flatbuffer and the segments in place. It
// does not open weight files and knows no device.
//
//   GLM_ASSIGN_OR_RETURN(auto file, PlanFile::Open("model.glmplan"));
//   for (const plan::Entry* entry : *file->plan().entries()) ...
//
// To use the tables include "runtime/plan/plan_generated.h" in the source file.
#ifndef GLM_RUNTIME_PLAN_PLAN_READER_H_
#define GLM_RUNTIME_PLAN_PLAN_READER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/base/mapped_file.h"

namespace glm {

namespace plan {
struct Plan;
struct Segment;
}  // namespace plan

// Immutable and thread-safe.
class PlanFile {
 public:
  // Maps `path`, checks the header, the hash, the flatbuffer's structure and
  // its meaning (plan_validator.h).
  //
  // Errors: those of MappedFile::Open; kInvalidArgument when the file is no
  // plan or of an unknown version; kDataLoss when it is damaged. Every message
  // begins with the path.
  //
  // Cost: reads the flatbuffer (a few MiB) once, not the segments.
  static absl::StatusOr<std::shared_ptr<const PlanFile>> Open(
      const std::string& path);

  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;

  const std::string& path() const { return file_.path(); }

  // The folder that relative weight paths start from; "." when `path` has none.
  std::string folder() const;

  const plan::Plan& plan() const { return *plan_; }

  // The bytes of a segment of this plan, its hash checked at each call.
  // `what` names the segment in the error.
  //
  // Errors: kDataLoss when the hash differs or the file has been cut since.
  absl::StatusOr<std::span<const std::byte>> SegmentBytes(
      const plan::Segment& segment, const std::string& what) const;

 private:
  PlanFile(MappedFile file, const plan::Plan* plan)
      : file_(std::move(file)), plan_(plan) {}

  MappedFile file_;
  const plan::Plan* plan_;  // inside file_
};

}  // namespace glm

#endif  // GLM_RUNTIME_PLAN_PLAN_READER_H_
