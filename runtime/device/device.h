// `Device` is the seam between the executor and what runs kernels. The
// executor, the sequence layer and the tools are written and tested against
// this header alone; only `tools/` names a concrete device.
//
// What crosses the seam is what a plan can say: memory, copies, launches,
// order. No math, no tensor type and no policy. A method is added when a plan
// needs it, never because a driver offers it.
//
// Two rules keep graphs honest on every backend:
//   * A launch's arguments are fixed when it is recorded. What changes from
//     step to step (ids, positions, pointers) lies in memory that kernels read.
//   * Step inputs are copied from kShared memory by copies inside the graph,
//     never by a copy just before a replay.
//
// Threads: a Device may be used from several threads, a Queue from one at a
// time. Objects must not outlive their device.
#ifndef GLM_RUNTIME_DEVICE_DEVICE_H_
#define GLM_RUNTIME_DEVICE_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm {

enum class MemoryKind {
  kDevice,  // where kernels run fastest
  kShared,  // the host reads and writes it in place; kernels may as well
};

// A contiguous range of memory that kernels can address. Freed by the
// destructor, after the caller has made sure that nothing uses it any more.
class Memory {
 public:
  virtual ~Memory() = default;

  uint64_t address() const { return address_; }  // what kernels get
  uint64_t size() const { return size_; }        // bytes

  // The same bytes for the host, or null when the host cannot reach them.
  // Always set for kShared, and for kDevice where the two are one memory.
  std::byte* host_data() const { return host_data_; }

 protected:
  Memory(uint64_t address, uint64_t size, std::byte* host_data)
      : address_(address), size_(size), host_data_(host_data) {}

 private:
  uint64_t address_;
  uint64_t size_;
  std::byte* host_data_;
};

// An entry point of a module.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

// A loaded code object.
class Module {
 public:
  virtual ~Module() = default;

  // The kernel of this name; lives as long as the module.
  // Errors: kNotFound.
  virtual absl::StatusOr<const Kernel*> Find(std::string_view name) = 0;
};

// Recorded work, ready for replay.
class Graph {
 public:
  virtual ~Graph() = default;
};

// A point in a queue's order.
class Event {
 public:
  virtual ~Event() = default;
};

// Blocks that begin after all blocks before them have ended.
struct LaunchPhase {
  uint32_t end = 0;      // the blocks up to this one, from the phase before on
  uint64_t cost_ns = 0;  // as LaunchCall::cost_ns
};

// One grid launch. `args` and `phases` are copied by the call.
struct LaunchCall {
  const Kernel* kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};  // workgroups
  uint32_t threads = 1;                      // work-items a workgroup
  uint32_t lds_bytes = 0;
  std::span<const uint64_t> args;  // each 8 bytes, in the kernel's order

  // A group's phases, in order; empty: one phase. A GPU's kernel waits by
  // itself, the host runs the phases one after the other.
  std::span<const LaunchPhase> phases = {};

  // A hint: about how long one core of the host would take. Only decides
  // whether spreading the launch pays; 0 = not known.
  uint64_t cost_ns = 0;
};

// Work that is no kernel: another library's, or the host's (collective.h).
class QueueWork {
 public:
  virtual ~QueueWork() = default;

  // Called by Queue::Run. `stream` is the queue's own (CUstream, hipStream_t):
  // the call enqueues there, in a capture it is recorded. Null where the queue
  // works in the caller: the call does the work.
  virtual absl::Status Run(void* stream) const = 0;
};

// An in-order queue. Calls enqueue, unless they say that they wait; an
// implementation may as well be synchronous.
//
// Between BeginCapture and EndCapture, Copy, Launch and Run are recorded and
// not run; every other call fails with kFailedPrecondition.
class Queue {
 public:
  virtual ~Queue() = default;

  // Copies `bytes` bytes; the ranges lie inside their memories and do not
  // overlap (else kInvalidArgument). They stay alive until the copy is done.
  virtual absl::Status Copy(const Memory& to, uint64_t to_offset,
                            const Memory& from, uint64_t from_offset,
                            uint64_t bytes) = 0;

  // Errors: kFailedPrecondition where a GPU could not hold all blocks that wait
  // for an earlier phase and one more.
  virtual absl::Status Launch(const LaunchCall& call) = 0;

  // `work`, in its turn; a graph that recorded it keeps it.
  // Errors: those of the work; kUnimplemented.
  virtual absl::Status Run(std::shared_ptr<const QueueWork> work) {
    return absl::UnimplementedError("the device's queue takes kernels alone");
  }

  virtual absl::Status BeginCapture() = 0;
  virtual absl::StatusOr<std::unique_ptr<Graph>> EndCapture() = 0;
  virtual absl::Status Replay(const Graph& graph) = 0;

  virtual absl::Status Record(Event& event) = 0;

  // Waits until what was enqueued before the last Record(event) is done, like
  // Finish.
  virtual absl::Status Wait(const Event& event) = 0;

  // Waits until everything enqueued so far is done. Reports the first error of
  // the work since the last call. Must not spin for long: an idle process uses
  // no processor time.
  virtual absl::Status Finish() = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  // For people: "host, 8 threads, x86-64-v4".
  virtual std::string Describe() const = 0;

  // Whether a code object of CodeObject.target / .isa can run here.
  //
  // Errors: kFailedPrecondition, with what the plan has, what this machine has
  // and the remedy. kNotFound when the target is that of another backend.
  virtual absl::Status CheckCodeObject(std::string_view target,
                                       std::string_view isa) const = 0;

  // Whether weights may be used in place from a mapped file (MapHostMemory).
  virtual bool SupportsMappedWeights() const = 0;

  // Whether calls of a queue return before their work is done.
  virtual bool RunsAhead() const = 0;

  // Bytes that kDevice allocations can still take without harm.
  virtual uint64_t AvailableBytes() const = 0;

  // Zeroed memory, aligned to 4096 bytes. `bytes` > 0. `purpose` appears in
  // errors ("arena").
  // Errors: kResourceExhausted, kInvalidArgument (0 bytes).
  virtual absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      uint64_t bytes, MemoryKind kind, std::string_view purpose) = 0;

  // Makes the caller's memory addressable by kernels, for reading, without a
  // copy. The bytes must outlive the result.
  // Errors: kUnimplemented unless SupportsMappedWeights().
  virtual absl::StatusOr<std::unique_ptr<Memory>> MapHostMemory(
      std::span<const std::byte> bytes) = 0;

  // Loads a code object that CheckCodeObject accepted. `name` appears in
  // errors. The image is copied or consumed by the call.
  // Errors: kDataLoss when the image cannot be loaded.
  virtual absl::StatusOr<std::unique_ptr<Module>> LoadModule(
      std::span<const std::byte> image, std::string_view name) = 0;

  // Whether Compile may work.
  virtual bool Compiles() const { return false; }

  // The code object of a plan's kernel source for this very device. `name`
  // appears in errors.
  // Errors: kUnavailable (no compiler; what was tried and what to install),
  // kFailedPrecondition (its words, and the kernel they are about),
  // kUnimplemented unless Compiles().
  virtual absl::StatusOr<std::string> Compile(std::string_view source,
                                              std::string_view name) {
    return absl::UnimplementedError("nothing compiles for this device");
  }

  virtual absl::StatusOr<std::unique_ptr<Queue>> CreateQueue() = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> CreateEvent() = 0;

  // Seconds between two recorded events, `begin` before `end`; waits for both.
  // Errors: kFailedPrecondition when one was never recorded.
  virtual absl::StatusOr<double> SecondsBetween(const Event& begin,
                                                const Event& end) = 0;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_DEVICE_H_
