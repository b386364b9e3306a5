# touchstone_module(NAME FOLDER [DEPENDS module...] [LINK lib...] [LINK_PRIVATE lib...]
#                   [LINK_HEADERS lib...])
#
# LINK libraries are part of the module's interface, LINK_PRIVATE ones are linked by its users
# unseen, LINK_HEADERS ones are header-only and used in its sources alone.
#
# One module is one folder and one static library, touchstone::NAME. Its include root holds nothing
# but touchstone/NAME, a link to its own folder, so that a translation unit sees the headers of the
# modules its target links and of no others: the layering of docs/architecture.md is a property of
# the compiler's command line, not of good manners.
set_property(GLOBAL PROPERTY TOUCHSTONE_MODULES "")

# touchstone_plugin_header(FILE): touchstone::backend, which gives a plugin the one header it needs,
# touchstone/backend.h, and nothing else.
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
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/touchstone")
  install(TARGETS touchstone_backend EXPORT touchstone)
endfunction()

# Under sanitizers most of the time that a file which reads JSON takes to compile is spent on
# optimising the library; such files read and write text, and nothing waits for them. Areas of the
# fuzzer do more than that.
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

# Where files are compiled several together (CMAKE_UNITY_BUILD), those of interp are taken by threes:
# their templates meet every type.
function(touchstone_batch target)
  get_target_property(type ${target} TYPE)
  if(target MATCHES "interp" AND NOT type STREQUAL "INTERFACE_LIBRARY")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 3)
  endif()
endfunction()

function(touchstone_module name folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK;LINK_PRIVATE;LINK_HEADERS" ${ARGN})
  set(root "${PROJECT_BINARY_DIR}/include-roots/${name}")
  set(source_dir "${PROJECT_SOURCE_DIR}/${folder}")
  if(TOUCHSTONE_WOVEN AND EXISTS "${TOUCHSTONE_WOVEN}/${folder}")  # the same with mutants in it
    set(source_dir "${TOUCHSTONE_WOVEN}/${folder}")
  endif()
  file(MAKE_DIRECTORY "${root}/touchstone")
  file(CREATE_LINK "${source_dir}" "${root}/touchstone/${name}" SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS "${source_dir}/*.cpp")
  touchstone_unoptimized_json(${sources})
  set(target touchstone_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    list(TRANSFORM ARG_LINK_HEADERS REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>" OUTPUT_VARIABLE headers)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:touchstone_build>" ${headers}
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
  set_property(GLOBAL PROPERTY TOUCHSTONE_MODULE_${name}_FOLDER ${folder})
  set_property(GLOBAL PROPERTY TOUCHSTONE_MODULE_${name}_DEPENDS ${ARG_DEPENDS})
endfunction()
