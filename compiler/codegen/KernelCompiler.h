//===- KernelCompiler.h - Source to code object -----------------*- C++ -*-===//
//
// Compiles generated kernels with clang-22 as separate processes: a crash of the
// compiler is an error message, and every command can be repeated in a shell.
// Results are kept in a cache by hash of (source, flags, compiler version).
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_CODEGEN_KERNELCOMPILER_H
#define GLM_COMPILER_CODEGEN_KERNELCOMPILER_H

#include "compiler/codegen/KernelEmitter.h"

#include "llvm/Support/Error.h"

#include <atomic>
#include <functional>

namespace glm::codegen {

/// What code is made for: `host` with an instruction set level of x86-64, or a GPU.
struct CodeTarget {
  std::string name; // host | gfx1201 | sm_90
  std::string isa;  // host: x86-64-v3 | x86-64-v4; a GPU: empty

  /// Reads `host`, `host:x86-64-v3`, `host:x86-64-v4`, `gfx1201`, `sm_90`; plain
  /// `host` is this machine's own level. Errors: UsageError.
  static llvm::Expected<CodeTarget> parse(llvm::StringRef text);

  bool isHost() const { return name == "host"; }
  /// As it is read.
  std::string text() const { return isa.empty() ? name : name + ":" + isa; }
};

struct CompileOptions {
  std::string clang;    // program; empty: clang++-22, then clang++ of version 22
  std::string cacheDir; // empty: $XDG_CACHE_HOME/glmc or ~/.cache/glmc
  bool useCache = true;
  std::vector<std::string> flags; // after the usual ones: a test's, for less work
  /// Files of source compiled, of all: when the work begins, with each file, and a
  /// few times a second in between. Not called for what the cache has.
  std::function<void(size_t done, size_t total)> progress;
  /// Set by a signal: compilers that run are ended, and the error is an
  /// InterruptedError.
  const std::atomic<bool> *cancel = nullptr;
};

/// Whether there is a compiler to run, before long work that needs one at its end.
llvm::Error checkCompiler(const CompileOptions &options);

/// Bytes of the code object that holds all kernels of `sources`: a shared library
/// for the host, an ELF for gfx1201, the text of PTX with a final NUL for sm_90.
/// A GPU's come from one source. The error names the command that failed, or the
/// kernel whose blocks share too much memory (SharedMemory.h).
llvm::Expected<std::string> compileKernels(const std::vector<KernelSource> &sources,
                                           const CodeTarget &target,
                                           const CompileOptions &options);

} // namespace glm::codegen

#endif // GLM_COMPILER_CODEGEN_KERNELCOMPILER_H
