// `WeightStore` opens the weight files of a plan and turns each Weight into the
// 8-byte value that a kernel argument of kind WEIGHT gets: the address of the
// one piece (DENSE), or of a table of addresses (all other forms).
//
// On a device that can address mapped files the pieces are used in place; a
// piece whose file offset breaks its element's alignment, or that lies
// scattered (plan::Cut), is copied. Of a plan of several ranks it holds what
// one of them has. Elsewhere all pieces are copied to one device allocation.
// Copies start at multiples of 256 bytes. Synthetic weights are made in such an
// allocation.
//
// Of a paged weight (docs/spec/paging.md) only the table is here, empty until
// kernels fill it; its pieces are for row_store.h to fetch.
#ifndef GLM_RUNTIME_EXECUTOR_WEIGHT_STORE_H_
#define GLM_RUNTIME_EXECUTOR_WEIGHT_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/mapped_file.h"
#include "runtime/device/device.h"
#include "runtime/executor/memory_io.h"
#include "runtime/executor/synthetic_weights.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

// Immutable after Open; reading is thread-safe.
class WeightStore {
 public:
  // Opens and checks the files: present, of the plan's size, and (with
  // `fingerprints`) of the plan's fingerprint. A file is taken from the first
  // of the folders `weights_dirs` that has one of its name, or else from where
  // the plan says. `on_read` follows the fingerprints: bytes done, bytes to do.
  //
  // Errors: kFailedPrecondition naming the file, what was expected, what was
  // found and the remedy; also when the plan was compiled without weights.
  static absl::StatusOr<std::unique_ptr<WeightStore>> Open(
      std::shared_ptr<const PlanFile> plan,
      const std::vector<std::string>& weights_dirs, bool fingerprints,
      const std::function<void(uint64_t done, uint64_t total)>& on_read = {},
      const std::atomic<bool>* cancel = nullptr);

  // Weights of a generator: no files, whatever the plan names.
  //
  // Errors: kFailedPrecondition naming a weight that cannot be made.
  static absl::StatusOr<std::unique_ptr<WeightStore>> Synthetic(
      std::shared_ptr<const PlanFile> plan, const SyntheticWeights& synthetic);

  // Resolves all addresses on `device`, copying or making what must be:
  // `on_loaded` follows the bytes of that. Where the host cannot reach the
  // device's memory, two buffers of 8 MiB take turns, one being filled while
  // the device reads the other.
  absl::Status Bind(
      Device& device,
      const std::function<void(uint64_t done, uint64_t total)>& on_loaded = {},
      const std::atomic<bool>* cancel = nullptr, uint32_t rank = 0);

  // The argument for Plan.weights[weight]; after Bind.
  uint64_t ArgumentOf(uint32_t weight) const { return arguments_[weight]; }

  // The bytes of one piece, for tools. Errors: those of ReadPiece.
  absl::StatusOr<std::vector<std::byte>> PieceBytes(uint32_t weight,
                                                    uint32_t piece) const;

  // As many of a piece's bytes as `to` holds, from `first` on, which begins an
  // element. Thread-safe.
  // Errors: kDataLoss naming a file that became shorter or cannot be read.
  absl::Status ReadPiece(uint32_t weight, uint32_t piece, uint64_t first,
                         std::span<std::byte> to) const;

  bool synthetic() const { return synthetic_.has_value(); }
  // Of Plan.weight_files[file]; not of synthetic weights.
  const std::string& FilePath(uint32_t file) const {
    return files_[file].path();
  }
  // Where kernels find its bytes; 0 where they cannot. After Bind.
  uint64_t MappedAddress(uint32_t file) const {
    return file < mapped_.size() && mapped_[file] != nullptr
               ? mapped_[file]->address()
               : 0;
  }

  // The bytes of a weight's address table as they are now.
  absl::Status ReadTable(MemoryIo& io, uint32_t weight,
                         std::span<std::byte> to) const {
    return io.Read(*tables_, arguments_[weight] - tables_->address(), to);
  }

  // Experts of a weight that differ: expert e equals expert e mod this.
  uint32_t DistinctExperts(uint32_t weight) const;

  // kDataLoss when a mapped file has become shorter.
  absl::Status StillWhole() const;

 private:
  WeightStore() = default;

  // Bytes of a stored piece from `first` on.
  absl::Status Produce(uint32_t weight, uint32_t piece, uint64_t first,
                       std::span<std::byte> to) const;

  std::shared_ptr<const PlanFile> plan_;
  std::optional<SyntheticWeights> synthetic_;
  uint32_t rank_ = 0;
  std::vector<MappedFile> files_;
  std::vector<std::unique_ptr<Memory>> mapped_;  // of each file, or empty
  std::unique_ptr<Memory> copies_;
  std::unique_ptr<Memory> tables_;
  std::vector<uint64_t> arguments_;  // [weights]
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_WEIGHT_STORE_H_
