# glm_library(NAME SRCS a.cc ... DEPS x y)       static library
# glm_binary(NAME SRCS main.cc DEPS ...)         program in build/bin
# glm_test(NAME SRCS foo_test.cc DEPS ... [LABELS slow])   GoogleTest program + ctest entry
# glm_fuzzer(NAME SRCS foo_fuzz.cc DEPS ...)     libFuzzer target, GLM_BUILD_FUZZERS
# glm_absl                                       abseil, from its static archives
#
# Programs must start on machines without abseil, so the .a files are linked.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
execute_process(
  COMMAND ${PKG_CONFIG_EXECUTABLE} --libs --static absl_status absl_statusor absl_strings
          absl_span absl_flat_hash_map absl_str_format
  OUTPUT_VARIABLE _absl OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _absl_result)
if(_absl_result)
  message(FATAL_ERROR "abseil was not found; install libabsl-dev and pkg-config")
endif()
separate_arguments(_absl)
list(FILTER _absl INCLUDE REGEX "^-labsl")
list(REMOVE_DUPLICATES _absl)
add_library(glm_absl INTERFACE)
target_link_libraries(glm_absl INTERFACE
  "-Wl,-Bstatic -Wl,--start-group" ${_absl} "-Wl,--end-group -Wl,-Bdynamic" Threads::Threads)

add_library(glm_options INTERFACE)
target_compile_options(glm_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(GLM_WERROR)
  target_compile_options(glm_options INTERFACE -Werror)
endif()
if(GLM_SANITIZER)
  add_compile_options(-fsanitize=${GLM_SANITIZER} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GLM_SANITIZER})
endif()
if(GLM_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_custom_target(fuzzers) # builds all of them
endif()

function(glm_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE glm_options)
endfunction()

function(glm_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} glm_options)
endfunction()

function(glm_test name)
  if(NOT GLM_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock_main GTest::gtest glm_options)
  target_compile_definitions(${name} PRIVATE GLM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

function(glm_fuzzer name)
  if(NOT GLM_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} glm_options)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endfunction()
