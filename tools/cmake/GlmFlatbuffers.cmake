# glm_flatbuffers(NAME schema.fbs): generates NAME_generated.h beside the schema's place in
# the build tree and an interface library to depend on.
find_program(FLATC flatc REQUIRED)
find_package(FlatBuffers CONFIG REQUIRED)

function(glm_flatbuffers name schema)
  get_filename_component(base ${schema} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${base}_generated.h)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${FLATC} --cpp --cpp-std c++17 --scoped-enums --gen-object-api
            -o ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    VERBATIM)
  add_custom_target(${name}_gen DEPENDS ${out})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_gen)
  # Header-only use: nothing to link.
endfunction()
