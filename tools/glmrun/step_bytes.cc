#include "tools/glmrun/step_bytes.h"

#include <algorithm>
#include <string_view>

#include "runtime/plan/plan_generated.h"

namespace glm::tools {
namespace {

// The state that argument `index` of `launch` names, and the bytes of a row.
const plan::State& StateOf(const plan::Plan& plan, const plan::Launch& launch,
                           uint32_t index, uint64_t& row_bytes) {
  const plan::State& state =
      *plan.states()->Get(launch.args()->Get(index)->index());
  row_bytes =
      state.bytes_per_slot() / std::max<uint64_t>(1, state.shape()->Get(0));
  return state;
}

// Bytes that the plan counts and this context does not need.
uint64_t Unreached(const plan::Plan& plan, const plan::Entry& entry,
                   const plan::Launch& launch, uint32_t context) {
  const plan::Kernel& kernel = *plan.kernels()->Get(launch.kernel());
  const std::string_view op = kernel.op()->c_str();
  uint64_t row_bytes = 0;
  if (op == "index_scores") {  // pools of each sequence, once
    const plan::State& pools = StateOf(plan, launch, 5, row_bytes);
    const auto per_pool = static_cast<uint64_t>(kernel.params()->Get(5));
    const uint64_t rows = pools.shape()->Get(0);
    return entry.sequences() * row_bytes *
           (rows - std::min(rows, context / per_pool));
  }
  const bool parts = op == "attention_parts";
  if (op == "sparse_attention" || parts) {  // the chosen tokens of each row
    StateOf(plan, launch, 4, row_bytes);
    const uint32_t at = parts ? 4 : 5;
    const auto k = static_cast<uint64_t>(kernel.params()->Get(at));
    const auto pool = static_cast<uint64_t>(kernel.params()->Get(at + 1));
    const uint64_t tokens = k * pool + pool - 1;
    return launch.args()->Get(2)->value() * row_bytes *
           (tokens - std::min<uint64_t>(tokens, context));
  }
  return 0;
}

}  // namespace

uint64_t BytesAtContext(const plan::Plan& plan, const plan::Entry& entry,
                        uint32_t context) {
  uint64_t bytes = 0;
  for (const plan::Launch* launch : *entry.launches()) {
    const uint64_t full = launch->weight_bytes() + launch->memory_bytes();
    bytes += full - std::min(full, Unreached(plan, entry, *launch, context));
  }
  return bytes;
}

}  // namespace glm::tools
