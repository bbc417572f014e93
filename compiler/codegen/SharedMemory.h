//===- SharedMemory.h - What a block of a kernel shares ---------*- C++ -*-===//
//
// Passes join launches without counting the shared memory (LDS) that their
// kernels declare: the compiler of the source adds it up. What it came to is
// read here from the code object, before a driver refuses it.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_CODEGEN_SHAREDMEMORY_H
#define GLM_COMPILER_CODEGEN_SHAREDMEMORY_H

#include "compiler/codegen/KernelCompiler.h"

#include <map>

namespace glm::codegen {

/// Bytes of static shared memory that a block may have: the limit of sm_90.
/// That of gfx1201 is 64 KiB, but all GPUs get the same source.
inline constexpr uint64_t kMaxSharedBytes = 48 << 10;

/// Bytes by kernel of a code object of `target`; the host's share none. For PTX
/// the declarations that a kernel and what it calls refer to are added up, as
/// ptxas does.
llvm::Expected<std::map<std::string, uint64_t>>
sharedBytes(llvm::StringRef code, const CodeTarget &target);

/// An error that names the kernel that shares most, when that is too much.
llvm::Error checkSharedMemory(llvm::StringRef code, const CodeTarget &target);

} // namespace glm::codegen

#endif // GLM_COMPILER_CODEGEN_SHAREDMEMORY_H
