// `BatchEngine` is the Engine over one StepRunner: a queue in order of arrival,
// and one thread that owns the runner and runs a batch (batch.h) by the
// scheduler's turns (scheduler.h).
//
//   GLM_ASSIGN_OR_RETURN(auto engine, BatchEngine::Create(*runner, options));
//
// The memory of all slots is there from the start (MemoryPlan), so a request
// that has a slot never waits for memory, and one that can never fit is refused
// when it is submitted.
//
// A step that fails ends its requests with its status; the others go on, and
// what was kept is forgotten. When two steps in a row end with kUnavailable, or
// counters cannot be read, the device is lost: all requests end and no more are
// taken. So they do when the thread meets an exception.
#ifndef GLM_RUNTIME_ENGINE_BATCH_ENGINE_H_
#define GLM_RUNTIME_ENGINE_BATCH_ENGINE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/engine/active_request.h"
#include "runtime/engine/batch.h"
#include "runtime/engine/batch_options.h"
#include "runtime/engine/engine.h"
#include "runtime/executor/step_runner.h"

namespace glm {

// Thread-safe.
class BatchEngine : public Engine {
 public:
  // `runner` must outlive the result, and nobody else uses it meanwhile.
  // Errors: kFailedPrecondition when the plan has no decode entry.
  static absl::StatusOr<std::unique_ptr<BatchEngine>> Create(
      StepRunner& runner, const BatchEngineOptions& options);

  // Cancels what is left and waits until it has ended.
  ~BatchEngine() override;

  const ModelInfo& model() const override { return runner_.model(); }
  absl::StatusOr<uint64_t> Submit(EngineRequest request) override;
  void Cancel(uint64_t id) override;
  void Drain(absl::Duration limit) override;
  EngineStats stats() const override;

 private:
  BatchEngine(StepRunner& runner, const BatchEngineOptions& options);

  // All of the thread.
  void Loop();
  void Turns();
  // The thread ends with an exception: so do all requests.
  void Break(std::string why);
  void CancelSome(std::unique_lock<std::mutex>& lock);
  void AdmitSome(std::unique_lock<std::mutex>& lock);
  void FailQueue(std::unique_lock<std::mutex>& lock);
  // Ends a request that has no slot and is in the queue no more.
  void EndWaiting(ActiveRequest& request, const absl::Status& status);
  void OnEnd(ActiveRequest& request, bool had_slot);
  void CopyCounters();  // under mutex_
  void CopyFailure();   // the same
  // Reads the counters of experts when it is time to.
  void LookAtExperts(std::unique_lock<std::mutex>& lock);
  void CancelAll();     // under mutex_

  StepRunner& runner_;
  const BatchEngineOptions options_;
  std::unique_ptr<Batch> batch_;                  // of the thread
  EngineStats::Clock::time_point traffic_due_{};  // of the thread

  mutable std::mutex mutex_;
  std::condition_variable wake_;   // orders
  std::condition_variable ended_;  // of a request
  std::deque<std::unique_ptr<ActiveRequest>> queue_;
  // Submitted, OnFinish not yet over; null: it has begun.
  std::unordered_map<uint64_t, std::shared_ptr<RequestListener>> live_;
  std::unordered_set<uint64_t> cancel_;  // of live_
  uint64_t next_id_ = 1;
  bool stop_ = false;
  EngineStats stats_;

  std::thread thread_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_BATCH_ENGINE_H_
