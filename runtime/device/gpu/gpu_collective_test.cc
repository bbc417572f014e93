// What NCCL is asked for, over a table that writes it down, on the fake GPU.
#include "runtime/device/gpu/gpu_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/device/gpu/collective_library.h"
#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Calls so far, and the call that fails.
std::mutex log_mutex;  // communicators are aborted from threads of their own
std::vector<std::string>* log = nullptr;
std::string failing;
uint64_t base = 0;  // addresses are told from here on

int Note(const std::string& name, const std::string& text) {
  const std::lock_guard lock(log_mutex);
  log->push_back(name + text);
  return name == failing ? 3 : 0;
}

long Number(Communicator one) { return reinterpret_cast<intptr_t>(one); }
uint64_t Offset(const void* address) {
  return reinterpret_cast<uint64_t>(address) - base;
}

int InitAll(Communicator* all, int count, const int* devices) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    all[i] = reinterpret_cast<Communicator>(intptr_t{100} + i);
    absl::StrAppend(&text, " ", devices[i]);
  }
  return Note("init",
              absl::StrCat(text, " p2p off ", std::getenv("NCCL_P2P_DISABLE")));
}
int Destroy(Communicator one) {
  return Note("destroy", absl::StrCat(" ", Number(one)));
}
int Abort(Communicator one) {
  return Note("abort", absl::StrCat(" ", Number(one)));
}
int AllReduce(const void* from, void* to, size_t count, int type, int op,
              Communicator one, GpuStream stream) {
  EXPECT_NE(stream, nullptr);
  return Note("reduce",
              absl::StrCat(" ", Offset(from), " ", Offset(to), " x", count,
                           " type ", type, " op ", op, " of ", Number(one)));
}
int AllGather(const void* from, void* to, size_t count, int type,
              Communicator one, GpuStream stream) {
  EXPECT_NE(stream, nullptr);
  return Note("gather",
              absl::StrCat(" ", Offset(from), " ", Offset(to), " x", count,
                           " type ", type, " of ", Number(one)));
}
const char* ErrorText(int) { return "internal error"; }

class GpuCollectiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    log = &log_;
    failing.clear();
    library_.api = "NCCL";
    library_.version = "2.0.0";
    library_.error_text = ErrorText;
    library_.init_all = {InitAll, "ncclCommInitAll"};
    library_.destroy = {Destroy, "ncclCommDestroy"};
    library_.abort = {Abort, "ncclCommAbort"};
    library_.all_reduce = {AllReduce, "ncclAllReduce"};
    library_.all_gather = {AllGather, "ncclAllGather"};
    device_ = *CreateGpuDeviceOver(gpu_.driver(), 0);
    memory_ = *device_->Allocate(4096, MemoryKind::kDevice, "test");
    queue_ = *device_->CreateQueue();
    base = memory_->address();
  }
  CollectiveCall Call(CollectiveOp op) const {
    return {op, CollectiveElement::kF32, memory_.get(), 256, memory_.get(), 512,
            16};
  }

  FakeGpu gpu_;
  std::vector<std::string> log_;
  CollectiveLibrary library_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(GpuCollectiveTest, CallsGoToTheStreamAndAreRecordedOnce) {
  {
    auto group = CreateGpuGroupOver(library_, {.ordinals = {2, 3}});
    ASSERT_TRUE(group.ok()) << group.status();
    EXPECT_EQ((*group)->Describe(),
              "2 ranks through NCCL 2.0.0, devices 2, 3, direct path off "
              "(--p2p)");
    Collective& end = (*group)->rank(1);
    EXPECT_EQ(end.rank(), 1u);
    EXPECT_EQ(end.ranks(), 2u);
    EXPECT_TRUE(end.Enqueue(*queue_, Call(CollectiveOp::kAllReduce)).ok());
    ASSERT_TRUE(queue_->BeginCapture().ok());
    CollectiveCall gather = Call(CollectiveOp::kAllGather);
    gather.element = CollectiveElement::kBF16;
    EXPECT_TRUE(end.Enqueue(*queue_, gather).ok());
    auto graph = queue_->EndCapture();
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_TRUE(queue_->Replay(**graph).ok());
    EXPECT_TRUE(queue_->Finish().ok());
  }
  EXPECT_THAT(log_, ElementsAre("init 2 3 p2p off 1",
                                "reduce 256 512 x16 type 7 op 0 of 101",
                                "gather 256 512 x16 type 9 of 101",
                                "destroy 100", "destroy 101"));
}

TEST_F(GpuCollectiveTest, ThePeerPathIsOnWhenAskedForAlone) {
  ::setenv("NCCL_P2P_DISABLE", "0", 1);
  EXPECT_TRUE(CreateGpuGroupOver(library_, {.ordinals = {0, 1}}).ok());
  EXPECT_EQ(log_[0], "init 0 1 p2p off 1");
  log_.clear();
  auto group = CreateGpuGroupOver(library_, {.ordinals = {0, 1}, .peer = true});
  EXPECT_EQ(log_[0], "init 0 1 p2p off 0");
  EXPECT_THAT((*group)->Describe(), HasSubstr("direct path on"));
}

TEST_F(GpuCollectiveTest, ErrorsHaveTheLibrarysWords) {
  failing = "init";
  EXPECT_EQ(
      CreateGpuGroupOver(library_, {.ordinals = {0, 1}}).status(),
      absl::InternalError("NCCL ncclCommInitAll: internal error (error 3)"));
  EXPECT_THAT(log_, ElementsAre("init 0 1 p2p off 1"));

  failing = "reduce";
  auto group = CreateGpuGroupOver(library_, {.ordinals = {0, 1}});
  ASSERT_TRUE(group.ok());
  ASSERT_TRUE(queue_->BeginCapture().ok());
  const absl::Status status =
      (*group)->rank(0).Enqueue(*queue_, Call(CollectiveOp::kAllReduce));
  EXPECT_THAT(status.message(), HasSubstr("NCCL ncclAllReduce"));
  EXPECT_EQ(queue_->EndCapture().status(), status) << "it broke the capture";
}

TEST_F(GpuCollectiveTest, AnAbortIsFinal) {
  auto group = CreateGpuGroupOver(library_, {.ordinals = {0, 1}});
  ASSERT_TRUE(group.ok());
  EXPECT_TRUE((*group)->Restart().ok()) << "nothing was ended";
  (*group)->Abort(absl::InternalError("gone"));
  (*group)->Abort(absl::InternalError("gone again"));
  EXPECT_EQ((*group)->Restart().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(
      (*group)->rank(1).Enqueue(*queue_, Call(CollectiveOp::kAllReduce)).code(),
      absl::StatusCode::kAborted);
  *group = nullptr;
  EXPECT_THAT(log_, UnorderedElementsAre("init 0 1 p2p off 1", "abort 100",
                                         "abort 101"));
}

TEST_F(GpuCollectiveTest, RangesAreChecked) {
  auto group = CreateGpuGroupOver(library_, {.ordinals = {0, 1}});
  CollectiveCall call = Call(CollectiveOp::kAllReduce);
  call.count = 1024;
  EXPECT_EQ((*group)->rank(0).Enqueue(*queue_, call).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CollectiveLibraryTest, ALibraryThatIsAbsentIsNamed) {
  for (const auto& [load, name] :
       {std::pair(&LoadNccl, "libnccl.so.2"), {&LoadRccl, "librccl.so.1"}}) {
    const auto library = load();
    if (library.ok()) {
      EXPECT_FALSE((*library)->version.empty());
      continue;
    }
    EXPECT_EQ(library.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(library.status().message(), HasSubstr(name));
    EXPECT_THAT(library.status().message(), HasSubstr("LD_LIBRARY_PATH"));
  }
}

}  // namespace
}  // namespace glm
