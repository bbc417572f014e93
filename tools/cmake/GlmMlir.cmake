# MLIR and LLVM, as shared libraries. Never list a static component (MLIRIR, ...): two copies
# of the IR in one process break it silently.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(glm_mlir INTERFACE)
target_include_directories(glm_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(glm_mlir INTERFACE MLIR LLVM)
# clang-22 counts this directory among its own, so CMake would leave it out of the rpath.
list(APPEND CMAKE_BUILD_RPATH ${LLVM_LIBRARY_DIR})
list(APPEND CMAKE_INSTALL_RPATH ${LLVM_LIBRARY_DIR})

# A compiler-side library: MLIR headers come precompiled (5 s once instead of 4 s a file).
function(glm_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_link_libraries(${name} PUBLIC glm_mlir ${ARG_DEPS} PRIVATE glm_options)
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  if(TARGET glm_pch)
    target_precompile_headers(${name} REUSE_FROM glm_pch)
    add_dependencies(${name} glm_pch)
  endif()
endfunction()

file(WRITE ${CMAKE_BINARY_DIR}/glm_pch.cpp "")
add_library(glm_pch OBJECT ${CMAKE_BINARY_DIR}/glm_pch.cpp)
target_link_libraries(glm_pch PRIVATE glm_mlir glm_options)
target_compile_options(glm_pch PRIVATE -Xclang -fno-pch-timestamp)
target_precompile_headers(glm_pch PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Math/IR/Math.h> <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h>
  <mlir/Interfaces/SideEffectInterfaces.h>)
