// What a FakeGpu holds: the objects that it gave out, memory, and work that
// waits. Private to fake_driver.cc.
#ifndef GLM_RUNTIME_DEVICE_GPU_FAKE_GPU_STATE_H_
#define GLM_RUNTIME_DEVICE_GPU_FAKE_GPU_STATE_H_

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/device/gpu/fake_driver.h"

// A kernel in the host's calling convention.
extern "C" {
using FakeKernel = void(const unsigned long long*, const unsigned*,
                        unsigned long long, unsigned long long);
}

namespace glm {

struct GpuModuleObject {
  std::string text;
};
struct GpuFunctionObject {
  FakeKernel* run;
};
struct GpuGraphObject {
  std::vector<std::function<void()>> nodes;
};
struct GpuGraphExecObject : GpuGraphObject {};
struct GpuStreamObject {
  std::deque<std::function<void()>> pending;
  uint64_t enqueued = 0, done = 0;
  GpuGraphObject* capture = nullptr;

  void RunUntil(uint64_t count) {
    for (; done < count; ++done) {
      pending.front()();
      pending.pop_front();
    }
  }
};
struct GpuEventObject {
  GpuStreamObject* stream = nullptr;
  uint64_t at = 0;  // of the stream's work
  std::chrono::steady_clock::time_point time;
};

class FakeGpu::State {
 public:
  explicit State(FakeGpu& gpu) : gpu_(gpu) {}
  ~State() {
    for (const auto& [base, bytes] : memory) std::free(base);
    for (GpuStreamObject* stream : streams) delete stream;
    for (GpuEventObject* event : events) delete event;
    for (GpuModuleObject* module : modules) delete module;
    for (GpuFunctionObject* function : functions) delete function;
    for (GpuGraphObject* graph : graphs) delete graph;
    for (GpuGraphExecObject* exec : execs) delete exec;
  }

  // Notes a call; true when it is the one to refuse.
  bool Refuses(const char* name) {
    gpu_.calls.push_back(name);
    return static_cast<int>(gpu_.calls.size()) == gpu_.fail_at;
  }

  bool Expect(bool right, const std::string& what) {
    if (!right) gpu_.misuse.push_back(what);
    return right;
  }

  template <typename T>
  bool Alive(const std::set<T*>& set, T* object, const char* kind) {
    return Expect(set.contains(object),
                  absl::StrCat(gpu_.calls.back(), ": no such ", kind));
  }

  // Whether the range lies in one block of memory.
  void CheckRange(uint64_t address, uint64_t bytes) {
    auto* begin = reinterpret_cast<std::byte*>(address);
    for (const auto& [base, size] : memory) {
      if (begin >= base && begin + bytes <= base + size) return;
    }
    Expect(false, absl::StrCat(gpu_.calls.back(), ": stray address"));
  }

  // Fresh memory is dirty, and not aligned to more than a driver promises.
  std::byte* Take(size_t bytes) {
    auto* whole = static_cast<std::byte*>(
        std::aligned_alloc(4096, (bytes + 256 + 4095) / 4096 * 4096));
    assert(whole != nullptr);
    std::memset(whole, 0xcd, bytes + 256);
    memory[whole] = bytes + 256;
    taken += bytes;
    return whole + 256;
  }
  void Free(std::byte* data) {
    const auto it = memory.find(data - 256);
    if (!Expect(it != memory.end(), "memory freed twice")) return;
    for (GpuStreamObject* stream : streams) stream->RunUntil(stream->enqueued);
    taken -= it->second - 256;
    std::free(it->first);
    memory.erase(it);
  }

  int Enqueue(GpuStreamObject* stream, std::function<void()> work) {
    if (!Alive(streams, stream, "stream")) return kFault;
    if (stream->capture != nullptr) {
      stream->capture->nodes.push_back(std::move(work));
    } else {
      stream->pending.push_back(std::move(work));
      ++stream->enqueued;
    }
    return kGpuSuccess;
  }

  std::map<std::byte*, size_t> memory;
  uint64_t taken = 0;
  int contexts = 0;
  std::set<GpuStreamObject*> streams;
  std::set<GpuEventObject*> events;
  std::set<GpuModuleObject*> modules;
  std::set<GpuFunctionObject*> functions;  // go with their modules
  std::set<GpuGraphObject*> graphs;
  std::set<GpuGraphExecObject*> execs;

 private:
  FakeGpu& gpu_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_FAKE_GPU_STATE_H_
