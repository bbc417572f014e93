// A shared library that may be absent, and functions in it that may be. Private
// to device/gpu.
#ifndef GLM_RUNTIME_DEVICE_GPU_SYMBOL_LIBRARY_H_
#define GLM_RUNTIME_DEVICE_GPU_SYMBOL_LIBRARY_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "runtime/device/gpu/gpu_driver.h"

namespace glm {

// Never closes what it opened: drivers leave threads behind.
class SymbolLibrary {
 public:
  // Opens the first of `names` that is there.
  // Errors: kUnavailable with the loader's text for each.
  absl::Status Open(std::initializer_list<const char*> names);

  // Sets `call` to the function `name`; what is absent is reported by
  // Complete().
  template <typename... Args>
  void Bind(GpuCall<int(Args...)>& call, const char* name) {
    Bind(call.function, name);
    call.name = name;
  }
  template <typename... Args, typename Result>
  void Bind(Result (*&function)(Args...), const char* name) {
    function = reinterpret_cast<Result (*)(Args...)>(Find(name));
    if (function == nullptr) missing_ += std::string(" ") + name;
  }

  // Null when there is none.
  void* Find(const char* name) const;

  // Errors: kUnavailable naming all functions that Bind did not find.
  absl::Status Complete() const;

  const std::string& path() const { return path_; }

 private:
  void* library_ = nullptr;
  std::string path_;
  std::string missing_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_SYMBOL_LIBRARY_H_
