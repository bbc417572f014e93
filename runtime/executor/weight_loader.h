// Fills device memory with what the host makes or reads, a stream of ranges.
// Private to runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_WEIGHT_LOADER_H_
#define GLM_RUNTIME_EXECUTOR_WEIGHT_LOADER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/device.h"

namespace glm {

// Where the host reaches the memory it is filled in place. Elsewhere two
// buffers take turns: one is filled, by all cores, while the device reads the
// other. Ranges that follow each other share a copy, since models have
// thousands of small ones.
class WeightLoader {
 public:
  // Writes bytes `first`... of a range. Called from several threads at once;
  // `first` is a multiple of 256. An error ends the load.
  using Producer =
      absl::FunctionRef<absl::Status(uint64_t first, std::span<std::byte> to)>;

  explicit WeightLoader(Device& device) : device_(device) {}

  // Fills bytes `offset`... of `to`, a multiple of 256; they are there after
  // Finish.
  absl::Status Write(const Memory& to, uint64_t offset, uint64_t bytes,
                     Producer produce);

  // Waits for all copies.
  absl::Status Finish();

 private:
  struct Lane {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Memory> buffer;
    const Memory* to = nullptr;  // null: the buffer holds nothing
    uint64_t start = 0;          // where in `to`
    uint64_t filled = 0;
  };

  // Copies what the lane holds and goes on with the other.
  absl::Status Flush();
  absl::Status Ready(Lane& lane);
  absl::Status Fill(std::span<std::byte> to, uint64_t first, Producer produce);

  Device& device_;
  std::unique_ptr<ThreadPool> pool_;
  std::array<Lane, 2> lanes_;
  int lane_ = 0;
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_WEIGHT_LOADER_H_
