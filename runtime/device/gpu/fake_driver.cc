#include "runtime/device/gpu/fake_driver.h"

#include <array>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/device/gpu/fake_gpu_state.h"

// conformance/toy_kernels.c.
extern "C" {
FakeKernel toy_sum, toy_logits, toy_page, toy_paged_logits, test_add,
    test_coordinates, test_indirect;
FakeKernel SampleBest_8_1, SampleWeigh_8_1, SamplePick_8_1;
FakeKernel group_25d756a9aa444d69, group_4ee69adc83862a5d;
}

namespace glm {
namespace {

constexpr size_t kParameterWords = 16;

constexpr std::pair<const char*, FakeKernel*> kKernels[] = {
    {"toy_sum", toy_sum},
    {"toy_logits", toy_logits},
    {"toy_page", toy_page},
    {"toy_paged_logits", toy_paged_logits},
    {"group_25d756a9aa444d69", group_25d756a9aa444d69},
    {"group_4ee69adc83862a5d", group_4ee69adc83862a5d},
    {"SampleBest_8_1", SampleBest_8_1},
    {"SampleWeigh_8_1", SampleWeigh_8_1},
    {"SamplePick_8_1", SamplePick_8_1},
    {"test_add", test_add},
    {"test_coordinates", test_coordinates},
    {"test_indirect", test_indirect}};

FakeGpu* current = nullptr;

using State = FakeGpu::State;

State& Now() {
  assert(current != nullptr);
  return current->state();
}

int Copied(char* text, size_t size, const std::string& from) {
  std::snprintf(text, size, "%s", from.c_str());
  return kGpuSuccess;
}

template <typename T>
int Create(std::set<T*>& set, T** object, T* made) {
  set.insert(made);
  *object = made;
  return kGpuSuccess;
}

template <typename T>
void Destroy(std::set<T*>& set, T* object, const char* kind) {
  if (!Now().Alive(set, object, kind)) return;
  set.erase(object);
  delete object;
}

// Adds what every call does to the table's functions.
template <auto kFunction, bool kGivesBack = false>
struct Fake;
template <typename... Args, int (*kFunction)(State&, Args...), bool kGivesBack>
struct Fake<kFunction, kGivesBack> {
  static inline const char* name = "";
  static int Run(Args... args) {
    State& state = Now();
    const bool refused = state.Refuses(name);
    if (refused && !kGivesBack) return FakeGpu::kFault;
    const int result = kFunction(state, args...);
    return refused ? FakeGpu::kFault : result;
  }
  static GpuCall<int(Args...)> Named(const char* call) {
    name = call;
    return {Run, call};
  }
};

int Count(State&, int* count) {
  *count = 1;
  return kGpuSuccess;
}
int Name(State&, int, char* text, size_t size) {
  return Copied(text, size, "Fake GPU");
}
int Architecture(State&, int, char* text, size_t size) {
  return Copied(text, size, current->architecture);
}
int Open(State& state, int, GpuContext* context) {
  *context = nullptr;
  ++state.contexts;
  return kGpuSuccess;
}
int Close(State& state, int) {
  --state.contexts;
  return kGpuSuccess;
}
int MakeCurrent(State& state, int, GpuContext) {
  state.Expect(state.contexts > 0, "device used before it was opened");
  return kGpuSuccess;
}
int MemoryInfo(State& state, size_t* available, size_t* total) {
  *available = current->memory_bytes - state.taken;
  *total = current->memory_bytes;
  return kGpuSuccess;
}
int Allocate(State& state, uint64_t* address, size_t bytes) {
  if (bytes > current->memory_bytes - state.taken) return kGpuOutOfMemory;
  *address = reinterpret_cast<uint64_t>(state.Take(bytes));
  return kGpuSuccess;
}
int Release(State& state, uint64_t address) {
  state.Free(reinterpret_cast<std::byte*>(address));
  return kGpuSuccess;
}
int AllocateHost(State& state, void** data, size_t bytes) {
  if (bytes > current->memory_bytes) return kGpuOutOfMemory;
  *data = state.Take(bytes);
  return kGpuSuccess;
}
int ReleaseHost(State& state, void* data) {
  state.Free(static_cast<std::byte*>(data));
  return kGpuSuccess;
}
int HostAddress(State&, uint64_t* address, void* data) {
  *address = reinterpret_cast<uint64_t>(data);
  return kGpuSuccess;
}

int LoadModule(State& state, GpuModuleHandle* module, const void* image,
               char* log, size_t log_size) {
  const std::string text = static_cast<const char*>(image);
  if (text.find(".entry ") == std::string::npos) {
    Copied(log, log_size, "fake assembler: no entry");
    return 218;
  }
  return Create(state.modules, module, new GpuModuleObject{text});
}
int UnloadModule(State& state, GpuModuleHandle module) {
  Destroy(state.modules, module, "module");
  return kGpuSuccess;
}
int FindFunction(State& state, GpuFunction* function, GpuModuleHandle module,
                 const char* name) {
  if (!state.Alive(state.modules, module, "module")) return FakeGpu::kFault;
  for (const auto& [known, run] : kKernels) {
    if (std::string_view(name) == known &&
        module->text.find(absl::StrCat(".entry ", name, "(")) !=
            std::string::npos) {
      return Create(state.functions, function, new GpuFunctionObject{run});
    }
  }
  return kGpuNotFound;
}

int Units(State&, int* units, int) {
  *units = current->units;
  return kGpuSuccess;
}
int Occupancy(State& state, int* blocks, GpuFunction function, int, size_t) {
  if (!state.Alive(state.functions, function, "kernel")) return FakeGpu::kFault;
  *blocks = current->blocks_per_unit;
  return kGpuSuccess;
}

int CreateStream(State& state, GpuStream* stream, unsigned) {
  return Create(state.streams, stream, new GpuStreamObject);
}
int DestroyStream(State& state, GpuStream stream) {
  if (state.streams.contains(stream)) stream->RunUntil(stream->enqueued);
  for (GpuEventObject* event : state.events) {
    if (event->stream == stream) event->stream = nullptr;
  }
  Destroy(state.streams, stream, "stream");
  return kGpuSuccess;
}
int Copy(State& state, uint64_t to, uint64_t from, size_t bytes,
         GpuStream stream) {
  state.CheckRange(to, bytes);
  state.CheckRange(from, bytes);
  return state.Enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to),
                reinterpret_cast<const void*>(from), bytes);
  });
}
int Fill(State& state, uint64_t to, unsigned char value, size_t bytes,
         GpuStream stream) {
  state.CheckRange(to, bytes);
  return state.Enqueue(
      stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
int Launch(State& state, GpuFunction function, unsigned x, unsigned y,
           unsigned z, unsigned, unsigned, unsigned, unsigned, GpuStream stream,
           void** parameters, void**) {
  if (!state.Alive(state.functions, function, "kernel")) return FakeGpu::kFault;
  std::array<unsigned long long, kParameterWords> words;
  std::memcpy(words.data(), parameters[0], sizeof(words));
  return state.Enqueue(stream, [=, run = function->run] {
    const unsigned grid[] = {x, y, z};
    run(words.data(), grid, 0, uint64_t{x} * y * z);
  });
}

int CreateEvent(State& state, GpuEventHandle* event, unsigned) {
  return Create(state.events, event, new GpuEventObject);
}
int DestroyEvent(State& state, GpuEventHandle event) {
  Destroy(state.events, event, "event");
  return kGpuSuccess;
}
int RecordEvent(State& state, GpuEventHandle event, GpuStream stream) {
  if (!state.Alive(state.events, event, "event")) return FakeGpu::kFault;
  state.Expect(stream->capture == nullptr, "event recorded in a capture");
  event->stream = stream;
  const int result = state.Enqueue(stream, [&state, event] {
    if (state.events.contains(event)) {
      event->time = std::chrono::steady_clock::now();
    }
  });
  event->at = stream->enqueued;
  return result;
}
int WaitEvent(State& state, GpuEventHandle event) {
  if (!state.Alive(state.events, event, "event")) return FakeGpu::kFault;
  if (event->stream != nullptr) event->stream->RunUntil(event->at);
  return kGpuSuccess;
}
int Elapsed(State&, float* milliseconds, GpuEventHandle begin,
            GpuEventHandle end) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return kGpuSuccess;
}

int BeginCapture(State& state, GpuStream stream, int) {
  if (!state.Alive(state.streams, stream, "stream")) return FakeGpu::kFault;
  state.Expect(stream->capture == nullptr, "two captures of one stream");
  stream->capture = new GpuGraphObject;
  return kGpuSuccess;
}
// Also ends a capture when it is refused: then without a graph.
int EndCapture(State& state, GpuStream stream, GpuGraphHandle* graph) {
  if (!state.Alive(state.streams, stream, "stream")) return FakeGpu::kFault;
  GpuGraphObject* captured = std::exchange(stream->capture, nullptr);
  if (!state.Expect(captured != nullptr, "end without capture")) {
    return FakeGpu::kFault;
  }
  if (static_cast<int>(current->calls.size()) == current->fail_at) {
    delete captured;
    return FakeGpu::kFault;
  }
  return Create(state.graphs, graph, captured);
}
int DestroyGraph(State& state, GpuGraphHandle graph) {
  Destroy(state.graphs, graph, "graph");
  return kGpuSuccess;
}
int Instantiate(State& state, GpuGraphExec* exec, GpuGraphHandle graph,
                unsigned long long) {
  if (!state.Alive(state.graphs, graph, "graph")) return FakeGpu::kFault;
  return Create(state.execs, exec, new GpuGraphExecObject{*graph});
}
int DestroyExec(State& state, GpuGraphExec exec) {
  Destroy(state.execs, exec, "instantiated graph");
  return kGpuSuccess;
}
int LaunchGraph(State& state, GpuGraphExec exec, GpuStream stream) {
  if (!state.Alive(state.execs, exec, "graph")) return FakeGpu::kFault;
  return state.Enqueue(stream, [nodes = exec->nodes] {
    for (const auto& node : nodes) node();
  });
}

}  // namespace

FakeGpu::FakeGpu() : state_(std::make_unique<State>(*this)) {
  assert(current == nullptr);
  current = this;
  driver_.api = "Fake";
  driver_.version = "1.0";
  driver_.error_text = [](int result) {
    return result == kGpuOutOfMemory ? "out of memory"
           : result == kGpuNotFound  ? "not found"
                                     : "made to fail";
  };
  driver_.count = Fake<Count>::Named("count");
  driver_.name = Fake<Name>::Named("name");
  driver_.architecture = Fake<Architecture>::Named("architecture");
  driver_.open = Fake<Open>::Named("open");
  driver_.close = Fake<Close, true>::Named("close");
  driver_.make_current = Fake<MakeCurrent>::Named("make_current");
  driver_.memory_info = Fake<MemoryInfo>::Named("memory_info");
  driver_.allocate = Fake<Allocate>::Named("allocate");
  driver_.release = Fake<Release, true>::Named("release");
  driver_.allocate_host = Fake<AllocateHost>::Named("allocate_host");
  driver_.release_host = Fake<ReleaseHost, true>::Named("release_host");
  driver_.host_address = Fake<HostAddress>::Named("host_address");
  driver_.load_module = Fake<LoadModule>::Named("load_module");
  driver_.unload_module = Fake<UnloadModule, true>::Named("unload_module");
  driver_.find_function = Fake<FindFunction>::Named("find_function");
  driver_.units = Fake<Units>::Named("units");
  driver_.occupancy = Fake<Occupancy>::Named("occupancy");
  driver_.create_stream = Fake<CreateStream>::Named("create_stream");
  driver_.destroy_stream = Fake<DestroyStream, true>::Named("destroy_stream");
  driver_.copy = Fake<Copy>::Named("copy");
  driver_.fill = Fake<Fill>::Named("fill");
  driver_.launch = Fake<Launch>::Named("launch");
  driver_.create_event = Fake<CreateEvent>::Named("create_event");
  driver_.destroy_event = Fake<DestroyEvent, true>::Named("destroy_event");
  driver_.record_event = Fake<RecordEvent>::Named("record_event");
  driver_.wait_event = Fake<WaitEvent>::Named("wait_event");
  driver_.elapsed = Fake<Elapsed>::Named("elapsed");
  driver_.begin_capture = Fake<BeginCapture>::Named("begin_capture");
  driver_.end_capture = Fake<EndCapture, true>::Named("end_capture");
  driver_.destroy_graph = Fake<DestroyGraph, true>::Named("destroy_graph");
  driver_.instantiate = Fake<Instantiate>::Named("instantiate");
  driver_.destroy_exec = Fake<DestroyExec, true>::Named("destroy_exec");
  driver_.launch_graph = Fake<LaunchGraph>::Named("launch_graph");
}

FakeGpu::~FakeGpu() {
  state_.reset();
  current = nullptr;
}

std::map<std::string, int> FakeGpu::Alive() const {
  const State& state = *state_;
  std::map<std::string, int> alive;
  const auto add = [&](const char* kind, size_t count) {
    if (count > 0) alive[kind] = static_cast<int>(count);
  };
  add("memory", state.memory.size());
  add("context", state.contexts);
  add("stream", state.streams.size());
  add("event", state.events.size());
  add("module", state.modules.size());
  add("graph", state.graphs.size());
  add("instantiated graph", state.execs.size());
  return alive;
}

}  // namespace glm
