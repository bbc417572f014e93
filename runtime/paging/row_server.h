// The host's end of the doorbell (docs/spec/paging.md): a thread that brings
// rows which lie in no memory that kernels reach, one after another, into the
// staging ring.
//
// While a step runs it looks at the doorbell, asleep for kNap between looks
// once nothing has been asked for a while; between steps it waits without
// waking. A row that cannot be read does not hang the step: its bytes become
// zeros and the step's owner asks for the status when the step is over.
#ifndef GLM_RUNTIME_PAGING_ROW_SERVER_H_
#define GLM_RUNTIME_PAGING_ROW_SERVER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/paging/pager_layout.h"

namespace glm::paging {

struct RowServerOptions {
  Doorbell* bell = nullptr;      // BellBytes(ring) of them, shared with kernels
  std::byte* staging = nullptr;  // [ring] rows, shared with kernels
  uint64_t staging_address = 0;  // the same, as kernels address it
  uint32_t ring = 0;
  uint64_t row_bytes = 0;
  uint32_t rows = 0;  // all there are: others are refused
};

// StepBegins and StepEnds from any thread, the rest from one.
class RowServer {
 public:
  // Fills `to` with a row. Called from the server's thread alone.
  using ReadRow =
      std::function<absl::Status(uint32_t row, std::span<std::byte> to)>;

  static constexpr std::chrono::microseconds kNap{20};

  // The memory outlives the server.
  // Errors: kResourceExhausted where the system gives no thread.
  static absl::StatusOr<std::unique_ptr<RowServer>> Create(
      const RowServerOptions& options, ReadRow read);
  // No step runs.
  ~RowServer();
  RowServer(const RowServer&) = delete;
  RowServer& operator=(const RowServer&) = delete;

  // Around each step; several may run at once. Rows are served while one does.
  void StepBegins();
  void StepEnds();

  // Puts the doorbell back to where it was at first. No step runs.
  void Restart();

  // The first error since the last call: kDataLoss, or that of ReadRow.
  absl::Status TakeStatus();

  uint64_t rows_read() const {
    return rows_read_.load(std::memory_order_relaxed);
  }
  // Time spent reading.
  double seconds_read() const {
    return 1e-9 * static_cast<double>(ns_read_.load(std::memory_order_relaxed));
  }

 private:
  RowServer(const RowServerOptions& options, ReadRow read);
  void Run();
  // False when nothing is asked for, or the ring is full.
  bool ServeNext();

  const RowServerOptions options_;
  const ReadRow read_;
  std::atomic<bool> stop_{false};
  std::atomic<int> running_{0};  // steps
  std::atomic<uint64_t> rows_read_{0};
  std::atomic<uint64_t> ns_read_{0};
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::mutex bell_mutex_;  // guards what follows, and the bell
  uint32_t next_ = 0;      // request
  absl::Status status_;
  std::thread thread_;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_ROW_SERVER_H_
