# Build switches and compiler settings shared by every target.
option(TOUCHSTONE_BUILD_TESTS "Build the test suite" ${PROJECT_IS_TOP_LEVEL})
option(TOUCHSTONE_BUILD_BENCH "Build the benchmarks" OFF)
option(TOUCHSTONE_BUILD_FUZZERS "Build the libFuzzer programs; needs clang" OFF)
option(TOUCHSTONE_ENGINE "Run the fuzz targets under libFuzzer as tests; needs clang and TOUCHSTONE_SANITIZE"
       OFF)
set(TOUCHSTONE_ENGINE_SECONDS 30 CACHE STRING "Seconds of each target under libFuzzer, as a test")
option(TOUCHSTONE_BUILD_CLI "Build the touchstone command" ON)
set(TOUCHSTONE_PYTHON OFF CACHE STRING "Build the Python module: ON, OFF, or AUTO, where pybind11 and Python's headers are there")
option(TOUCHSTONE_WERROR "Treat warnings as errors" OFF)
option(TOUCHSTONE_WHEEL "Install the Python package as a wheel has it, for python/wheel_backend.py" OFF)
set(TOUCHSTONE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=; empty for none")
option(TOUCHSTONE_COVERAGE "Instrument for coverage" OFF)
option(TOUCHSTONE_MUTANTS "Weave in the faults of fuzz/mutants, for the fuzzer to find" OFF)
set(TOUCHSTONE_MUTANT_TABLES "" CACHE STRING "Tables of mutants besides those of fuzz/mutants")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(TOUCHSTONE_CCACHE ccache)
if(TOUCHSTONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Hashes paths relative to the build folder, so that all checkouts and build folders with equal
  # flags share objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "CCACHE_PREFIX=${CMAKE_CURRENT_LIST_DIR}/timed" "TOUCHSTONE_COSTS=${PROJECT_BINARY_DIR}/costs.log"
      "${TOUCHSTONE_CCACHE}")
endif()

add_library(touchstone_build INTERFACE)
# No contraction and no excess precision: the scalar functions promise exact IEEE steps.
target_compile_options(touchstone_build INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                                  -ffp-contract=off -fno-fast-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports nonexistent overlaps in std::string (GCC bug 105651), and reads past the end of
  # Boost's small_vector.
  target_compile_options(touchstone_build INTERFACE -Wno-restrict -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
  # Unity files include sources, so GCC takes their unnamed namespaces for those of headers.
  target_compile_options(touchstone_build INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's stable_sort calls a function that it declares deprecated.
  target_compile_options(touchstone_build INTERFACE -Wno-deprecated-declarations)
endif()
if(TOUCHSTONE_WERROR)
  target_compile_options(touchstone_build INTERFACE -Werror)
endif()
if(TOUCHSTONE_SANITIZE)
  target_compile_options(touchstone_build INTERFACE -fsanitize=${TOUCHSTONE_SANITIZE}
                                                    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(touchstone_build INTERFACE -fsanitize=${TOUCHSTONE_SANITIZE})
endif()
if(TOUCHSTONE_COVERAGE)
  target_compile_options(touchstone_build INTERFACE --coverage)
  target_link_options(touchstone_build INTERFACE --coverage)
endif()
