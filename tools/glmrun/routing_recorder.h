// Records which experts each layer chooses while a sequence is generated.
//
// A StepRunner around an executor: steps run one launch at a time and give the
// same values, the sequence layer sees no difference but the time. Steps of one
// token are recorded, those that read a prompt are not. Tokens are chosen on
// the host.
//
// Not thread-safe.
#ifndef GLM_TOOLS_GLMRUN_ROUTING_RECORDER_H_
#define GLM_TOOLS_GLMRUN_ROUTING_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"
#include "runtime/paging/trace.h"

namespace glm::tools {

class RoutingRecorder : public StepRunner {
 public:
  // Where an entry keeps the ids that its routers chose: in order of layers.
  struct RouterTap {
    uint32_t layer = 0;  // of the model
    uint32_t buffer = 0;
    uint32_t after = 0;  // the operation that wrote it
  };

  // `executor` must outlive the result; `path` is the trace to write.
  // Errors: kFailedPrecondition (a plan without routers, or whose decode step
  // has no taps of them); those of TraceWriter::Create.
  static absl::StatusOr<RoutingRecorder> Create(ObservableRunner& executor,
                                                const std::string& path);

  const ModelInfo& model() const override { return executor_->model(); }
  const std::vector<EntryInfo>& entries() const override {
    return executor_->entries();
  }
  uint32_t slots() const override { return executor_->slots(); }
  absl::Status Step(uint32_t entry, const StepInputs& inputs) override;
  std::span<const float> logits(uint32_t row) const override {
    return executor_->logits(row);
  }

  uint64_t steps() const { return steps_; }
  const paging::TraceShape& shape() const { return shape_; }
  // Completes the file.
  absl::Status Finish() { return writer_.Finish(); }

 private:
  RoutingRecorder(ObservableRunner& executor, const paging::TraceShape& shape,
                  paging::TraceWriter writer)
      : executor_(&executor), shape_(shape), writer_(std::move(writer)) {}

  // The ids in a tap's buffer become the experts of its layer.
  absl::Status Keep(uint32_t entry, uint32_t layer, const RouterTap& tap);

  ObservableRunner* executor_;
  paging::TraceShape shape_;
  paging::TraceWriter writer_;
  std::map<uint32_t, std::vector<RouterTap>> taps_;  // by entry
  paging::RoutingStep step_;
  std::vector<std::byte> bytes_;
  uint64_t steps_ = 0;
};

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_ROUTING_RECORDER_H_
