#include "runtime/device/gpu/gpu_collective.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/collective_library.h"

namespace glm {
namespace {

template <typename... Params, typename... Args>
absl::Status Check(const CollectiveLibrary& library,
                   const GpuCall<int(Params...)>& call, Args... args) {
  const int result = call.function(args...);
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(library.api, " ", call.name, ": ",
                                          library.error_text(result),
                                          " (error ", result, ")"));
}

void* Pointer(const Memory& memory, uint64_t offset) {
  return reinterpret_cast<void*>(memory.address() + offset);
}

// Set once, when the group ends: its communicators are not to be used again.
using Ended = std::shared_ptr<std::atomic<bool>>;

class GpuMeeting : public QueueWork {
 public:
  GpuMeeting(const CollectiveLibrary& library, Communicator one, Ended ended,
             const CollectiveCall& call)
      : library_(library), one_(one), ended_(std::move(ended)), call_(call) {}

  absl::Status Run(void* stream) const override {
    if (ended_->load()) {
      return absl::AbortedError("the ranks' meeting has been ended");
    }
    if (stream == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(library_.api, " works on queues of GPUs"));
    }
    const void* from = Pointer(*call_.from, call_.from_offset);
    void* to = Pointer(*call_.to, call_.to_offset);
    const int type = call_.element == CollectiveElement::kF32
                         ? kLibraryFloat32
                         : kLibraryBfloat16;
    const auto on = static_cast<GpuStream>(stream);
    if (call_.op == CollectiveOp::kAllReduce) {
      return Check(library_, library_.all_reduce, from, to,
                   static_cast<size_t>(call_.count), type, kLibrarySum, one_,
                   on);
    }
    return Check(library_, library_.all_gather, from, to,
                 static_cast<size_t>(call_.count), type, one_, on);
  }

 private:
  const CollectiveLibrary& library_;
  Communicator one_;
  Ended ended_;
  CollectiveCall call_;
};

class GpuEnd : public Collective {
 public:
  GpuEnd(const CollectiveLibrary& library, Communicator one, Ended ended,
         uint32_t rank, uint32_t ranks)
      : library_(library),
        one_(one),
        ended_(std::move(ended)),
        rank_(rank),
        ranks_(ranks) {}

  uint32_t rank() const override { return rank_; }
  uint32_t ranks() const override { return ranks_; }

  absl::Status Enqueue(Queue& queue, const CollectiveCall& call) override {
    GLM_RETURN_IF_ERROR(CheckCollective(call, ranks_));
    return queue.Run(
        std::make_shared<GpuMeeting>(library_, one_, ended_, call));
  }

 private:
  const CollectiveLibrary& library_;
  Communicator one_;
  Ended ended_;
  uint32_t rank_, ranks_;
};

class GpuGroup final : public CollectiveGroup {
 public:
  GpuGroup(const CollectiveLibrary& library, GpuGroupOptions options)
      : library_(library), options_(std::move(options)) {}
  ~GpuGroup() override {
    for (std::thread& ending : ending_) ending.join();
    if (ended_->load()) return;  // Abort has destroyed them
    for (Communicator one : all_) library_.destroy.function(one);
  }

  absl::Status Start() {
    const int count = static_cast<int>(options_.ordinals.size());
    all_.resize(count, nullptr);
    const absl::Status status = Check(library_, library_.init_all, all_.data(),
                                      count, options_.ordinals.data());
    if (!status.ok()) {
      all_.clear();
      return status;
    }
    for (int r = 0; r < count; ++r) {
      ends_.push_back(std::make_unique<GpuEnd>(library_, all_[r], ended_,
                                               static_cast<uint32_t>(r),
                                               static_cast<uint32_t>(count)));
    }
    return absl::OkStatus();
  }

  std::string Describe() const override {
    return absl::StrCat(
        ranks(), " ranks through ", library_.api, " ", library_.version,
        ", devices ", absl::StrJoin(options_.ordinals, ", "),
        options_.peer ? ", direct path on" : ", direct path off (--p2p)");
  }
  uint32_t ranks() const override {
    return static_cast<uint32_t>(ends_.size());
  }
  Collective& rank(uint32_t rank) override { return *ends_[rank]; }

  void Abort(const absl::Status&) override {
    if (ended_->exchange(true)) return;
    // The library's call ends the kernels of its rank first, and returns when
    // the graphs that hold such work are gone, which is after this.
    for (Communicator one : all_) {
      ending_.emplace_back([this, one] { library_.abort.function(one); });
    }
  }

  absl::Status Restart() override {
    if (!ended_->load()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(
        "the ranks' meeting through ", library_.api,
        " was ended by an earlier error; start the program again"));
  }

  std::chrono::milliseconds step_limit() const override {
    return std::chrono::minutes(2);
  }

 private:
  const CollectiveLibrary& library_;
  const GpuGroupOptions options_;
  std::vector<Communicator> all_;
  std::vector<std::unique_ptr<Collective>> ends_;
  const Ended ended_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<std::thread> ending_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CollectiveGroup>> CreateGpuGroupOver(
    const CollectiveLibrary& library, const GpuGroupOptions& options) {
  // The library looks when it begins. What the user's environment says is
  // replaced: a path that hangs machines is not to be on by accident.
  ::setenv("NCCL_P2P_DISABLE", options.peer ? "0" : "1", 1);
  auto group = std::make_unique<GpuGroup>(library, options);
  GLM_RETURN_IF_ERROR(group->Start());
  return group;
}

absl::StatusOr<std::unique_ptr<CollectiveGroup>> CreateGpuGroup(
    const GpuGroupOptions& options) {
  const bool hip = options.api == GpuApi::kHip;
  GLM_ASSIGN_OR_RETURN(const CollectiveLibrary* library,
                       hip ? LoadRccl() : LoadNccl());
  return CreateGpuGroupOver(*library, options);
}

}  // namespace glm
