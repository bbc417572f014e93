#include "runtime/device/gpu/symbol_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace glm {

absl::Status SymbolLibrary::Open(std::initializer_list<const char*> names) {
  std::string reasons;
  for (const char* name : names) {
    library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) {
      path_ = name;
      return absl::OkStatus();
    }
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", ::dlerror());
  }
  return absl::UnavailableError(reasons);
}

void* SymbolLibrary::Find(const char* name) const {
  return ::dlsym(library_, name);
}

absl::Status SymbolLibrary::Complete() const {
  if (missing_.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(path_, " is too old, it has no", missing_));
}

}  // namespace glm
