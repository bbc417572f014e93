// CollectiveLibrary from libnccl and librccl.
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/collective_library.h"
#include "runtime/device/gpu/symbol_library.h"

namespace glm {
namespace {

// 22703 and, before 2.9, 2804.
std::string VersionText(int version) {
  const int major = version < 10000 ? 1000 : 10000;
  return absl::StrCat(version / major, ".", version % major / 100, ".",
                      version % 100);
}

absl::Status Fill(CollectiveLibrary& table, const char* api,
                  std::initializer_list<const char*> names) {
  SymbolLibrary library;  // leaves what it opened open
  GLM_RETURN_IF_ERROR(library.Open(names));
  table.api = api;
  int (*version)(int*) = nullptr;
  library.Bind(version, "ncclGetVersion");
  library.Bind(table.error_text, "ncclGetErrorString");
  library.Bind(table.init_all, "ncclCommInitAll");
  library.Bind(table.destroy, "ncclCommDestroy");
  library.Bind(table.abort, "ncclCommAbort");
  library.Bind(table.all_reduce, "ncclAllReduce");
  library.Bind(table.all_gather, "ncclAllGather");
  GLM_RETURN_IF_ERROR(library.Complete());
  int number = 0;
  if (version(&number) == 0) table.version = VersionText(number);
  return absl::OkStatus();
}

absl::Status Missing(const absl::Status& status, const char* api,
                     const char* remedy) {
  return absl::UnavailableError(absl::StrCat(
      api, ", through which several GPUs run one model: ", status.message(),
      "; ", remedy));
}

}  // namespace

absl::StatusOr<const CollectiveLibrary*> LoadNccl() {
  static CollectiveLibrary* const table = new CollectiveLibrary;
  static const absl::Status* const status =
      new absl::Status(Fill(*table, "NCCL", {"libnccl.so.2", "libnccl.so"}));
  if (status->ok()) return table;
  return Missing(*status, "NCCL",
                 "install libnccl2, or name its folder in LD_LIBRARY_PATH");
}

absl::StatusOr<const CollectiveLibrary*> LoadRccl() {
  static CollectiveLibrary* const table = new CollectiveLibrary;
  static const absl::Status* const status = new absl::Status(
      Fill(*table, "RCCL",
           {"librccl.so.1", "librccl.so", "/opt/rocm/lib/librccl.so.1"}));
  if (status->ok()) return table;
  return Missing(*status, "RCCL",
                 "install ROCm's rccl, or name its folder in LD_LIBRARY_PATH");
}

}  // namespace glm
