// `KernelCompiler` compiles a plan's kernel source on this machine: for devices
// that the plan has no code object for. A table of functions like GpuDriver;
// hip_compiler.cc fills it from hipRTC. There is none for CUDA, whose driver
// assembles PTX for newer devices by itself. Private to device/gpu.
#ifndef GLM_RUNTIME_DEVICE_GPU_KERNEL_COMPILER_H_
#define GLM_RUNTIME_DEVICE_GPU_KERNEL_COMPILER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/device/gpu/gpu_driver.h"

namespace glm {

using CompilerProgram = struct CompilerProgramObject*;

struct KernelCompiler {
  const char* api = "";                             // "hipRTC"
  const char* (*error_text)(int result) = nullptr;  // never null

  GpuCall<int(CompilerProgram* program, const char* source, const char* name,
              int headers, const char** texts, const char** names)>
      create;
  GpuCall<int(CompilerProgram program, int count, const char** options)>
      compile;
  GpuCall<int(CompilerProgram program, size_t* size)> log_size;
  GpuCall<int(CompilerProgram program, char* log)> log;
  GpuCall<int(CompilerProgram program, size_t* size)> code_size;
  GpuCall<int(CompilerProgram program, char* code)> code;
  GpuCall<int(CompilerProgram* program)> destroy;
};

// hipRTC of this machine, opened once a process and never closed.
// Errors: kUnavailable with what was tried and what to install.
absl::StatusOr<const KernelCompiler*> LoadHipCompiler();

// The code object of `source` for `architecture`, as load_module takes it.
// `name` is the plan's, for errors.
//
// Errors: kFailedPrecondition with the kernel in which the first error is and
// the compiler's words, kResourceExhausted, kInternal.
absl::StatusOr<std::string> CompileKernels(const KernelCompiler& compiler,
                                           const std::string& source,
                                           const std::string& architecture,
                                           const std::string& name);

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_KERNEL_COMPILER_H_
