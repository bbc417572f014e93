// `WeightStore` opens the weight files of a plan and turns each Weight into the
// 8-byte value that a kernel argument of kind WEIGHT gets: the address of the
// one piece (DENSE), or of a table of addresses (all other forms).
//
// On a device that can address mapped files the pieces are used in place; a
// piece whose file offset breaks its element's alignment is copied. Elsewhere
// all pieces are copied to one device allocation. Copies start at multiples of
// 256 bytes.
#ifndef GLM_RUNTIME_EXECUTOR_WEIGHT_STORE_H_
#define GLM_RUNTIME_EXECUTOR_WEIGHT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/mapped_file.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

// Immutable after Open; reading is thread-safe.
class WeightStore {
 public:
  // Opens and checks the files: present, of the plan's size, and (with
  // `fingerprints`) of the plan's fingerprint. `weights_dir` replaces the
  // folder part of every path; empty keeps the plan's paths. `on_read` follows
  // the fingerprints: bytes done, bytes to do.
  //
  // Errors: kFailedPrecondition naming the file, what was expected, what was
  // found and the remedy; also when the plan was compiled without weights.
  static absl::StatusOr<std::unique_ptr<WeightStore>> Open(
      std::shared_ptr<const PlanFile> plan, const std::string& weights_dir,
      bool fingerprints,
      const std::function<void(uint64_t done, uint64_t total)>& on_read = {});

  // Resolves all addresses on `device`, copying what must be copied.
  absl::Status Bind(Device& device, Queue& queue);

  // The argument for Plan.weights[weight]; after Bind.
  uint64_t ArgumentOf(uint32_t weight) const { return arguments_[weight]; }

  // The bytes of one piece, in the mapped file.
  std::span<const std::byte> PieceBytes(uint32_t weight, uint32_t piece) const;

  // kDataLoss when a mapped file has become shorter.
  absl::Status StillWhole() const;

 private:
  WeightStore() = default;

  std::shared_ptr<const PlanFile> plan_;
  std::vector<MappedFile> files_;
  std::vector<std::unique_ptr<Memory>> mapped_;  // of each file, or empty
  std::unique_ptr<Memory> copies_;
  std::unique_ptr<Memory> tables_;
  std::vector<uint64_t> arguments_;  // [weights]
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_WEIGHT_STORE_H_
