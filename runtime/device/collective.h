// Sums and joins between devices: the seam beside device.h. A plan of several
// ranks runs on as many devices, each with a queue of its own; a collective is
// work in each of these queues that meets that of the others.
//
// `Collective` is one rank's end, `CollectiveGroup` all of them in one process.
// What is not here: how ranks find each other across processes, and any choice
// of a device.
//
// Every rank enqueues the same collectives in the same order. All ranks get the
// same bits.
//
// Threads: an end belongs to the thread of its queue; a group's methods may be
// called from any.
#ifndef GLM_RUNTIME_DEVICE_COLLECTIVE_H_
#define GLM_RUNTIME_DEVICE_COLLECTIVE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

enum class CollectiveOp { kAllReduce, kAllGather };
enum class CollectiveElement { kF32, kBF16 };

inline uint64_t ElementBytes(CollectiveElement element) {
  return element == CollectiveElement::kF32 ? 4 : 2;
}

// Ranges of device memory; they are the same or do not overlap.
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  CollectiveElement element = CollectiveElement::kF32;
  const Memory* from = nullptr;
  uint64_t from_offset = 0;  // bytes
  const Memory* to = nullptr;
  uint64_t to_offset = 0;
  // Elements of `from`. kAllReduce: of `to` as well, each the sum over ranks in
  // fp32, rounded once. kAllGather: `to` has ranks x count, rank after rank;
  // the ranges must not be the same.
  uint64_t count = 0;
};

class Collective {
 public:
  virtual ~Collective() = default;

  virtual uint32_t rank() const = 0;
  virtual uint32_t ranks() const = 0;

  // Enqueues on `queue`, which a capture may record. The memories stay alive
  // until the work is done, this object as long as graphs of it.
  //
  // Errors: of the call, kInvalidArgument where a range lies outside; of the
  // work, those that the queue reports: kDeadlineExceeded when ranks did not
  // come, kAborted when the group was ended, with why.
  virtual absl::Status Enqueue(Queue& queue, const CollectiveCall& call) = 0;
};

class CollectiveGroup {
 public:
  virtual ~CollectiveGroup() = default;

  // For people: "2 ranks of the host".
  virtual std::string Describe() const = 0;

  virtual uint32_t ranks() const = 0;

  // Lives as long as the group.
  virtual Collective& rank(uint32_t rank) = 0;

  // Ends what waits for another rank, on all of them, with kAborted and `why`,
  // and what comes later. The first call counts.
  virtual void Abort(const absl::Status& why) = 0;

  // After a collective or a rank failed, when no rank runs anything: they meet
  // again. Errors: kUnavailable where a group cannot after an Abort.
  virtual absl::Status Restart() = 0;

  // How long a step may take before it is ended with an error, for groups whose
  // collectives wait without a limit of their own; 0: these have one.
  virtual std::chrono::milliseconds step_limit() const {
    return std::chrono::milliseconds(0);
  }
};

// kInvalidArgument unless the ranges lie in their memories.
absl::Status CheckCollective(const CollectiveCall& call, uint32_t ranks);

// One rank of several that are not there: what a sum should be is the rank's
// own part, what is gathered from others stays what it was. For times of one
// rank; the results mean nothing.
std::unique_ptr<Collective> SimulateRank(uint32_t rank, uint32_t ranks);

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_COLLECTIVE_H_
