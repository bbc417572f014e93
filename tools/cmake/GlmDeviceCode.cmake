# glm_device_code(OUTPUT TARGET SOURCE DEPENDS a b ...)   a test's kernels as device code
#
# TARGET: gfx1201 (code object) or sm_90 (PTX), with the flags of
# compiler/codegen/KernelCompiler.cpp.
set(GLM_FLAGS_gfx1201 -x hip --offload-arch=gfx1201 --offload-device-only -nogpuinc
    -nogpulib --no-gpu-bundle-output -fuse-cuid=none -mcode-object-version=5)
set(GLM_FLAGS_sm_90 -x cuda --cuda-gpu-arch=sm_90a --cuda-device-only -nocudainc
    -nocudalib --cuda-path=/nonexistent --cuda-feature=+ptx80 -S)

function(glm_device_code output target source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_CXX_COMPILER} ${GLM_FLAGS_${target}} -ffreestanding -std=c++20 -O3
            -ffp-contract=fast -fno-exceptions -fno-rtti
            -I${CMAKE_SOURCE_DIR}/compiler/codegen/templates -I${CMAKE_SOURCE_DIR}
            ${source} -o ${output}
    DEPENDS ${source} ${ARG_DEPENDS} VERBATIM)
endfunction()
