#include "tools/glmrun/routing_recorder.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"

namespace glm::tools {
namespace {

// The layer of a tap `layerN.topk_ids`; -1 for other taps.
int64_t RouterLayer(std::string_view name) {
  constexpr std::string_view kPrefix = "layer";
  constexpr std::string_view kSuffix = ".topk_ids";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  uint32_t layer = 0;
  const char* end = name.data() + name.size() - kSuffix.size();
  const auto [stop, error] =
      std::from_chars(name.data() + kPrefix.size(), end, layer);
  return error == std::errc() && stop == end ? layer : -1;
}

// Router taps that hold one token's ids, in order of layers.
std::vector<RoutingRecorder::RouterTap> RouterTaps(const plan::Entry& entry,
                                                   uint32_t top_k) {
  std::vector<RoutingRecorder::RouterTap> taps;
  if (entry.taps() == nullptr) return taps;
  for (const plan::Tap* tap : *entry.taps()) {
    const int64_t layer = RouterLayer(tap->name()->string_view());
    if (layer < 0) continue;
    const plan::Buffer* buffer = entry.buffers()->Get(tap->buffer());
    if (buffer->dtype() != plan::DType::I32 || buffer->shape() == nullptr ||
        buffer->shape()->size() != 2 || buffer->shape()->Get(0) != 1 ||
        buffer->shape()->Get(1) != top_k) {
      continue;
    }
    taps.push_back({static_cast<uint32_t>(layer), tap->buffer(), tap->after()});
  }
  std::sort(taps.begin(), taps.end(),
            [](const auto& a, const auto& b) { return a.layer < b.layer; });
  return taps;
}

}  // namespace

absl::StatusOr<RoutingRecorder> RoutingRecorder::Create(
    ObservableRunner& executor, const std::string& path) {
  const plan::Plan& plan = executor.plan_file().plan();
  std::map<uint32_t, std::vector<RouterTap>> taps;
  paging::TraceShape shape = {0, plan.model()->experts(),
                              plan.model()->experts_per_token()};
  for (uint32_t i = 0; i < executor.entries().size(); ++i) {
    const EntryInfo& info = executor.entries()[i];
    if (info.prefill || info.sequences != 1 || info.tokens != 1) continue;
    taps[i] = RouterTaps(*plan.entries()->Get(i), shape.top_k);
    shape.layers = static_cast<uint32_t>(taps[i].size());
  }
  if (shape.layers == 0) {
    return absl::FailedPreconditionError(
        "the plan's decode step shows no router's choice: its model has no "
        "experts, or it was compiled without taps of them");
  }
  GLM_ASSIGN_OR_RETURN(paging::TraceWriter writer,
                       paging::TraceWriter::Create(path, shape));
  RoutingRecorder recorder(executor, shape, std::move(writer));
  recorder.taps_ = std::move(taps);
  recorder.step_.layers.resize(shape.layers);
  return recorder;
}

absl::Status RoutingRecorder::Step(uint32_t entry, const StepInputs& inputs) {
  const auto found = taps_.find(entry);
  if (found == taps_.end()) return executor_->Step(entry, inputs);
  const std::vector<RouterTap>& taps = found->second;
  uint32_t kept = 0;
  GLM_RETURN_IF_ERROR(executor_->StepObserved(
      entry, inputs, [&](const OperationRange& done) -> absl::Status {
        for (uint32_t layer = 0; layer < taps.size(); ++layer) {
          if (taps[layer].after - done.first >= done.count) continue;
          GLM_RETURN_IF_ERROR(Keep(entry, layer, taps[layer]));
          ++kept;
        }
        return absl::OkStatus();
      }));
  if (kept != shape_.layers) {
    return absl::InternalError(absl::StrCat(
        "the step showed ", kept, " of ", shape_.layers, " routers' choices"));
  }
  ++steps_;
  return writer_.Add(step_);
}

absl::Status RoutingRecorder::Keep(uint32_t entry, uint32_t layer,
                                   const RouterTap& tap) {
  GLM_RETURN_IF_ERROR(executor_->ReadBuffer(entry, tap.buffer, bytes_));
  std::vector<uint16_t>& experts = step_.layers[layer];
  experts.clear();
  for (uint32_t i = 0; i < shape_.top_k; ++i) {
    int32_t id;
    std::memcpy(&id, bytes_.data() + i * sizeof(id), sizeof(id));
    if (id < 0 || static_cast<uint32_t>(id) >= shape_.experts) {
      return absl::InternalError(absl::StrCat("the router of layer ", tap.layer,
                                              " chose expert ", id, " of ",
                                              shape_.experts));
    }
    experts.push_back(static_cast<uint16_t>(id));
  }
  return absl::OkStatus();
}

}  // namespace glm::tools
