// KernelCompiler from libhiprtc.
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/kernel_compiler.h"
#include "runtime/device/gpu/symbol_library.h"

namespace glm {
namespace {

absl::Status Fill(KernelCompiler& compiler) {
  static SymbolLibrary* const library = new SymbolLibrary;
  GLM_RETURN_IF_ERROR(
      library->Open({"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5",
                     "/opt/rocm/lib/libhiprtc.so"}));
  compiler.api = "hipRTC";
  library->Bind(compiler.error_text, "hiprtcGetErrorString");
  library->Bind(compiler.create, "hiprtcCreateProgram");
  library->Bind(compiler.compile, "hiprtcCompileProgram");
  library->Bind(compiler.log_size, "hiprtcGetProgramLogSize");
  library->Bind(compiler.log, "hiprtcGetProgramLog");
  library->Bind(compiler.code_size, "hiprtcGetCodeSize");
  library->Bind(compiler.code, "hiprtcGetCode");
  library->Bind(compiler.destroy, "hiprtcDestroyProgram");
  return library->Complete();
}

}  // namespace

absl::StatusOr<const KernelCompiler*> LoadHipCompiler() {
  static KernelCompiler* const compiler = new KernelCompiler;
  static const absl::Status* const status = new absl::Status(Fill(*compiler));
  if (status->ok()) return compiler;
  return absl::UnavailableError(absl::StrCat(
      "hipRTC, which compiles kernels on this machine: ", status->message(),
      "; install ROCm's hipRTC (package hiprtc or hip-runtime-amd)"));
}

}  // namespace glm
