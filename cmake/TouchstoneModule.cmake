# touchstone_module(NAME FOLDER [ROOMS folder...] [DEPENDS module...] [LINK lib...] [LINK_PRIVATE lib...]
#                   [LINK_HEADERS lib...])
#
# LINK libraries are part of the module's interface, LINK_PRIVATE ones are linked by its users
# without their headers, LINK_HEADERS ones are header-only and used in its sources only.
#
# A module is one static library, touchstone::NAME, of the sources in FOLDER, or in its subfolders ROOMS as well. The
# include path of a header is touchstone/ and its file path without lib/. The include root of a module contains links to
# its own headers only, so a translation unit sees only the headers of modules that its target links: the compiler enforces
# the layering of docs/architecture.md.
set_property(GLOBAL PROPERTY TOUCHSTONE_MODULES "")

# touchstone_plugin_header(FILE): touchstone::backend, which provides only the one header that a
# plugin needs, touchstone/backend.h.
function(touchstone_plugin_header file)
  set(root "${PROJECT_BINARY_DIR}/include-roots/plugin")
  file(MAKE_DIRECTORY "${root}/touchstone")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${file}" "${root}/touchstone/backend.h" SYMBOLIC)
  add_library(touchstone_backend INTERFACE)
  add_library(touchstone::backend ALIAS touchstone_backend)
  set_target_properties(touchstone_backend PROPERTIES EXPORT_NAME backend)
  target_include_directories(
    touchstone_backend INTERFACE "$<BUILD_INTERFACE:${root}>"
                                 "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_property(GLOBAL PROPERTY TOUCHSTONE_PLUGIN_HEADER ${file})
endfunction()

# Under sanitizers, files that read JSON spend most of their compile time on optimising that
# library; they process text, and their speed does not matter. The fuzzer's areas are not included.
function(touchstone_unoptimized_json)
  if(NOT TOUCHSTONE_SANITIZE)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" json LIMIT_COUNT 1 REGEX "^#include <nlohmann/json.hpp>")
    if(json AND NOT source MATCHES "_area\\.cpp$")
      set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS -O0)
    endif()
  endforeach()
endfunction()

# touchstone_json_first(VARIABLE): puts sources that read JSON first, so that a unity build parses
# that library, which takes three seconds, only once.
function(touchstone_json_first variable)
  set(first "")
  set(rest "")
  foreach(source IN LISTS ${variable})
    file(STRINGS "${source}" json LIMIT_COUNT 1 REGEX "^#include <nlohmann/json.hpp>")
    if(json)
      list(APPEND first "${source}")
    else()
      list(APPEND rest "${source}")
    endif()
  endforeach()
  set(${variable} ${first} ${rest} PARENT_SCOPE)
endfunction()

# In unity builds (CMAKE_UNITY_BUILD) the files of interp are grouped by threes: their templates are
# instantiated for every type.
function(touchstone_batch target)
  get_target_property(type ${target} TYPE)
  if(target MATCHES "interp" AND NOT type STREQUAL "INTERFACE_LIBRARY")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 3)
  endif()
endfunction()

# touchstone_include_path(VARIABLE SOURCE_DIR HEADER): "lib/ops/op.h" of SOURCE_DIR is included as touchstone/ops/op.h,
# "interp/oracle/verdict.h" as touchstone/interp/oracle/verdict.h.
function(touchstone_include_path variable source_dir header)
  file(RELATIVE_PATH path "${source_dir}" "${header}")
  string(REGEX REPLACE "^lib/" "" path "${path}")
  set(${variable} "touchstone/${path}" PARENT_SCOPE)
endfunction()

# touchstone_include_root(ROOT SOURCE_DIR HEADER...): fills ROOT with links to these headers of SOURCE_DIR.
function(touchstone_include_root root source_dir)
  file(REMOVE_RECURSE "${root}/touchstone")
  foreach(header IN LISTS ARGN)
    touchstone_include_path(path "${source_dir}" "${header}")
    get_filename_component(folder "${root}/${path}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    file(CREATE_LINK "${header}" "${root}/${path}" SYMBOLIC)
  endforeach()
endfunction()

# Sources that the demo does not use: a sixth of what it would compile.
set(TOUCHSTONE_BEYOND_THE_DEMO
    lib/base/html.cpp lib/base/line_log.cpp lib/base/line_stream.cpp lib/base/mutant.cpp
    symbolic/rules/bound_rules.cpp
    symbolic/check/definedness.cpp symbolic/check/entailment.cpp symbolic/check/derivation_check.cpp
    symbolic/check/entailment_bounds.cpp
    symbolic/check/points.cpp symbolic/check/inequalities.cpp
    symbolic/check/entailment_points.cpp symbolic/derive/ring_text.cpp symbolic/check/ring.cpp
    symbolic/ask/question.cpp symbolic/ask/truncated_parts.cpp symbolic/ask/jsonl.cpp symbolic/ask/session.cpp
    symbolic/derive/arithmetic.cpp symbolic/derive/fold_identities.cpp symbolic/derive/derive.cpp
    symbolic/derive/rewrite.cpp
    symbolic/expr/evaluate.cpp symbolic/node/node_expr.cpp symbolic/simplify/contradiction.cpp
    shapetracker/ask/check.cpp shapetracker/ask/jsonl.cpp shapetracker/ask/jsonl_question.cpp
    shapetracker/ask/reason.cpp shapetracker/invert/contraction.cpp shapetracker/invert/movement_ops.cpp
    lib/lazy/replace_movement.cpp
    lib/tensor/check_finite.cpp lib/tensor/einsum.cpp lib/tensor/schedules.cpp lib/tensor/print.cpp
    lib/tensor/tensor_update.cpp lib/codegen/traced.cpp
    interp/certify/certificate_json.cpp interp/oracle/find_order.cpp interp/oracle/blame.cpp interp/certify/certify.cpp interp/certify/certify_block.cpp
    interp/oracle/explain.cpp interp/oracle/real.cpp interp/certify/second_path.cpp interp/oracle/semantics.cpp interp/device/series.cpp
    fuzz/judge/probe.cpp fuzz/judge/probe_power.cpp)

# The preset demo, which builds one program, does not compile them. The linker reports one that is needed again.
function(touchstone_only_demo variable)
  if(NOT TOUCHSTONE_IN_A_HURRY)
    return()
  endif()
  foreach(source IN LISTS TOUCHSTONE_BEYOND_THE_DEMO)
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${source}")
      message(FATAL_ERROR "TOUCHSTONE_BEYOND_THE_DEMO names ${source}, which is not there")
    endif()
    list(REMOVE_ITEM ${variable} "${PROJECT_SOURCE_DIR}/${source}")
  endforeach()
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

function(touchstone_module name folder)
  cmake_parse_arguments(ARG "" "" "ROOMS;DEPENDS;LINK;LINK_PRIVATE;LINK_HEADERS" ${ARGN})
  set(root "${PROJECT_BINARY_DIR}/include-roots/${name}")
  set(tree "${PROJECT_SOURCE_DIR}")
  if(TOUCHSTONE_WOVEN AND EXISTS "${TOUCHSTONE_WOVEN}/${folder}")  # the same with mutants in it
    set(tree "${TOUCHSTONE_WOVEN}")
  endif()
  set(source_dir "${tree}/${folder}")
  set(source_globs "${source_dir}/*.cpp")
  set(header_globs "${source_dir}/*.h")
  foreach(room IN LISTS ARG_ROOMS)
    list(APPEND source_globs "${source_dir}/${room}/*.cpp")
    list(APPEND header_globs "${source_dir}/${room}/*.h")
  endforeach()
  file(GLOB headers CONFIGURE_DEPENDS ${header_globs})
  touchstone_include_root("${root}" "${tree}" ${headers})
  file(GLOB sources CONFIGURE_DEPENDS ${source_globs})
  touchstone_only_demo(sources)
  touchstone_unoptimized_json(${sources})
  touchstone_json_first(sources)
  set(target touchstone_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    list(TRANSFORM ARG_LINK_HEADERS REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>" OUTPUT_VARIABLE unseen)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:touchstone_build>" ${unseen}
                                            ${ARG_LINK_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(touchstone::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  touchstone_batch(${target})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(
    ${target} ${scope} "$<BUILD_INTERFACE:${root}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  list(TRANSFORM ARG_DEPENDS PREPEND touchstone_ OUTPUT_VARIABLE deps)
  target_link_libraries(${target} ${scope} ${deps} ${ARG_LINK})

  set_property(GLOBAL APPEND PROPERTY TOUCHSTONE_MODULES ${name})
  set_property(GLOBAL PROPERTY TOUCHSTONE_MODULE_${name}_TREE "${tree}")
  set_property(GLOBAL PROPERTY TOUCHSTONE_MODULE_${name}_HEADERS ${headers})
  set_property(GLOBAL PROPERTY TOUCHSTONE_MODULE_${name}_DEPENDS ${ARG_DEPENDS})
endfunction()

# touchstone_c_library(MODULE HEADER): touchstone::c, the shared library libtouchstone, built from that module and its
# dependencies. It exports only the functions of the header.
function(touchstone_c_library module header)
  set(root "${PROJECT_BINARY_DIR}/include-roots/c")
  get_filename_component(file "${header}" NAME)
  file(MAKE_DIRECTORY "${root}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${header}" "${root}/${file}" SYMBOLIC)
  target_compile_definitions(touchstone_${module} PRIVATE TOUCHSTONE_VERSION="${PROJECT_VERSION}")
  get_property(depends GLOBAL PROPERTY TOUCHSTONE_MODULE_${module}_DEPENDS)
  list(TRANSFORM depends PREPEND touchstone_)
  set(exports "${PROJECT_SOURCE_DIR}/cmake/libtouchstone.map")
  add_library(touchstone_c SHARED "$<TARGET_OBJECTS:touchstone_${module}>")
  add_library(touchstone::c ALIAS touchstone_c)
  set_target_properties(
    touchstone_c PROPERTIES OUTPUT_NAME touchstone EXPORT_NAME c VERSION ${PROJECT_VERSION} SOVERSION 0
                            LINKER_LANGUAGE CXX LINK_DEPENDS "${exports}")
  target_link_libraries(touchstone_c PRIVATE "$<BUILD_INTERFACE:touchstone_build>" ${depends})
  target_link_options(touchstone_c PRIVATE "-Wl,--version-script=${exports}" -Wl,--as-needed)
  target_include_directories(touchstone_c INTERFACE "$<BUILD_INTERFACE:${root}>"
                                                    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_property(GLOBAL PROPERTY TOUCHSTONE_C_HEADER "${header}")
endfunction()
