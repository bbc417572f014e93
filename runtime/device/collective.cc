#include "runtime/device/collective.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

class SimulatedRank : public Collective {
 public:
  SimulatedRank(uint32_t rank, uint32_t ranks) : rank_(rank), ranks_(ranks) {}

  uint32_t rank() const override { return rank_; }
  uint32_t ranks() const override { return ranks_; }

  absl::Status Enqueue(Queue& queue, const CollectiveCall& call) override {
    GLM_RETURN_IF_ERROR(CheckCollective(call, ranks_));
    const uint64_t bytes = call.count * ElementBytes(call.element);
    uint64_t to = call.to_offset;
    if (call.op == CollectiveOp::kAllGather) to += rank_ * bytes;
    if (call.from == call.to && call.from_offset == to) return absl::OkStatus();
    return queue.Copy(*call.to, to, *call.from, call.from_offset, bytes);
  }

 private:
  uint32_t rank_, ranks_;
};

}  // namespace

absl::Status CheckCollective(const CollectiveCall& call, uint32_t ranks) {
  const uint64_t size = ElementBytes(call.element);
  const bool gather = call.op == CollectiveOp::kAllGather;
  const uint64_t parts = gather ? ranks : 1;
  const auto inside = [](const Memory& memory, uint64_t offset,
                         uint64_t bytes) {
    return offset <= memory.size() && bytes <= memory.size() - offset;
  };
  if (call.count > (uint64_t{1} << 46) / size / parts ||
      !inside(*call.from, call.from_offset, call.count * size) ||
      !inside(*call.to, call.to_offset, parts * call.count * size) ||
      call.from_offset % size != 0 || call.to_offset % size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a collective of ", call.count, " elements from byte ",
                     call.from_offset, " of ", call.from->size(), " to byte ",
                     call.to_offset, " of ", call.to->size(), " lies outside"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Collective> SimulateRank(uint32_t rank, uint32_t ranks) {
  return std::make_unique<SimulatedRank>(rank, ranks);
}

}  // namespace glm
