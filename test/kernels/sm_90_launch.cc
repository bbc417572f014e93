#include "test/kernels/sm_90_launch.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "gtest/gtest.h"

namespace glm {
namespace {

// The driver's calls that a launch needs, by their names in its ABI.
class Driver {
 public:
  static Driver& Get() {
    static Driver* const driver = new Driver;
    return *driver;
  }

  bool ready() const { return reason_.empty(); }
  const std::string& reason() const { return reason_; }

  void* Kernel(const char* name) {
    void*& function = kernels_[name];
    if (function == nullptr) {
      Check(get_function(&function, module_, name), name);
    }
    return function;
  }
  void Check(int result, const char* what) {
    ASSERT_EQ(result, 0) << what << " failed";
  }

  int (*allocate)(uint64_t*, size_t);
  int (*release)(uint64_t);
  int (*to_device)(uint64_t, const void*, size_t);
  int (*to_host)(void*, uint64_t, size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void*, void**, void**);
  int (*synchronize)();

 private:
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) {
      reason_ = dlerror();
      return;
    }
    int (*init)(unsigned);
    int (*retain)(void**, int);
    int (*current)(void*);
    int (*load)(void**, const void*);
    Bind(init, "cuInit");
    Bind(retain, "cuDevicePrimaryCtxRetain");
    Bind(current, "cuCtxSetCurrent");
    Bind(load, "cuModuleLoadData");
    Bind(get_function, "cuModuleGetFunction");
    Bind(allocate, "cuMemAlloc_v2");
    Bind(release, "cuMemFree_v2");
    Bind(to_device, "cuMemcpyHtoD_v2");
    Bind(to_host, "cuMemcpyDtoH_v2");
    Bind(launch, "cuLaunchKernel");
    Bind(synchronize, "cuCtxSynchronize");
    const char* path = std::getenv("GLM_DEVICE_KERNELS_PTX");
    std::ifstream file(path ? path : GLM_DEVICE_KERNELS, std::ios::binary);
    const std::string code{std::istreambuf_iterator<char>(file), {}};
    void* context = nullptr;
    if (init(0) != 0 || retain(&context, 0) != 0 || current(context) != 0) {
      reason_ = "no NVIDIA GPU";
    } else if (const int result = load(&module_, code.c_str()); result != 0) {
      reason_ = "cuModuleLoadData: " + std::to_string(result);
    }
  }

  template <class F>
  void Bind(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    if (function == nullptr) reason_ = std::string("no ") + name;
  }

  std::string reason_;
  void* library_ = nullptr;
  void* module_ = nullptr;
  int (*get_function)(void**, void*, const char*) = nullptr;
  std::map<std::string, void*> kernels_;
};

// Copies of the visible ranges on the device; addresses in `words` and in what
// the ranges hold are translated.
class Copies {
 public:
  explicit Copies(const Visible& visible) {
    for (auto [address, bytes] : visible.ranges) {
      Copy copy{address, bytes, 0};
      if (bytes == 0) continue;
      Driver::Get().Check(Driver::Get().allocate(&copy.device, bytes),
                          "cuMemAlloc");
      copies_.push_back(copy);
    }
  }
  ~Copies() {
    for (const Copy& copy : copies_) Driver::Get().release(copy.device);
  }

  uint64_t Translated(uint64_t word) const {
    for (const Copy& copy : copies_) {
      if (word == copy.host) return copy.device;
    }
    return word;
  }
  // An argument may also point into a range.
  uint64_t TranslatedArgument(uint64_t word) const {
    for (const Copy& copy : copies_) {
      if (word >= copy.host && word - copy.host < copy.bytes) {
        return copy.device + (word - copy.host);
      }
    }
    return word;
  }
  void Upload() {
    for (const Copy& copy : copies_) {
      std::vector<uint8_t> bytes(copy.bytes);
      std::memcpy(bytes.data(), reinterpret_cast<void*>(copy.host), copy.bytes);
      // A table of addresses.
      for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + i, 8);
        word = Translated(word);
        std::memcpy(bytes.data() + i, &word, 8);
      }
      Driver::Get().Check(
          Driver::Get().to_device(copy.device, bytes.data(), copy.bytes),
          "cuMemcpyHtoD");
    }
  }
  void Download() {
    for (const Copy& copy : copies_) {
      std::vector<uint8_t> bytes(copy.bytes);
      Driver::Get().Check(
          Driver::Get().to_host(bytes.data(), copy.device, copy.bytes),
          "cuMemcpyDtoH");
      std::memcpy(reinterpret_cast<void*>(copy.host), bytes.data(), copy.bytes);
    }
  }

 private:
  struct Copy {
    uint64_t host, bytes, device;
  };
  std::vector<Copy> copies_;
};

class NeedsGpu : public testing::Environment {
 public:
  void SetUp() override {
    if (!Driver::Get().ready()) {
      GTEST_SKIP() << "needs an NVIDIA GPU: " << Driver::Get().reason();
    }
  }
};
const auto* const kEnvironment =
    testing::AddGlobalTestEnvironment(new NeedsGpu);

}  // namespace

void LaunchKernel(KernelEntry entry, const std::vector<uint64_t>& words,
                  const uint32_t* grid, uint64_t begin, uint64_t,
                  const Visible& visible, uint32_t) {
  if (begin != 0) return;
  Driver& driver = Driver::Get();
  Copies copies(visible);
  copies.Upload();
  // device_kernels.hip gives each kernel 16 arguments, groups more, in one
  // struct.
  std::vector<uint64_t> args;
  for (uint64_t word : words) args.push_back(copies.TranslatedArgument(word));
  args.resize(std::max<size_t>(16, args.size()), ~uint64_t{0});
  void* parameters[] = {args.data()};
  driver.Check(
      driver.launch(driver.Kernel(entry.name), grid[0], grid[1], grid[2], 256,
                    1, 1, 0, nullptr, parameters, nullptr),
      entry.name);
  driver.Check(driver.synchronize(), entry.name);
  copies.Download();
}

}  // namespace glm
