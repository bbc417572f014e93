#include "runtime/device/host/host_module.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/elf_image.h"

namespace glm {
namespace {

absl::Status WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot hold a code object in memory: ", std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> HostModule::Load(
    std::span<const std::byte> image, std::string_view name) {
  if (WholeElfType(image) != ET_DYN) {
    return absl::DataLossError(absl::StrCat(
        std::string(name),
        ": the host code object is cut or no shared library; the plan is "
        "damaged; compile it again"));
  }
  const int fd = ::memfd_create("glm-kernels", MFD_CLOEXEC);
  if (fd < 0) {
    return absl::InternalError(
        absl::StrCat("memfd_create: ", std::strerror(errno)));
  }
  absl::Status status = WriteAll(fd, image);
  void* library = nullptr;
  if (status.ok()) {
    // The loader tells libraries apart by device and inode, so the name, which
    // repeats when the descriptor is reused, does not matter.
    library = ::dlopen(absl::StrCat("/proc/self/fd/", fd).c_str(),
                       RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      status = absl::DataLossError(absl::StrCat(
          std::string(name), ": the host code object cannot be loaded: ",
          ::dlerror(), "; the plan is damaged; compile it again"));
    }
  }
  ::close(fd);
  if (!status.ok()) return status;
  return std::unique_ptr<Module>(new HostModule(library, std::string(name)));
}

HostModule::~HostModule() { ::dlclose(library_); }

absl::StatusOr<const Kernel*> HostModule::Find(std::string_view name) {
  auto& kernel = kernels_[std::string(name)];
  if (kernel == nullptr) {
    void* symbol = ::dlsym(library_, std::string(name).c_str());
    if (symbol == nullptr) {
      return absl::NotFoundError(absl::StrCat(
          name_, ": the host code object has no kernel ", std::string(name)));
    }
    kernel = std::make_unique<HostKernel>(
        reinterpret_cast<HostKernelFunction>(symbol));
  }
  return kernel.get();
}

}  // namespace glm
