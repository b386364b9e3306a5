# Installs headers, libraries, the command, docs, backend adapters, and a CMake package with one component per module.
# Install components, each a package of cmake/TouchstonePackage.cmake: cli, runtime, dev. With MPI there is also mpi,
# for programs that run under mpirun, so that the others do not need MPI.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/touchstone")
get_property(modules GLOBAL PROPERTY TOUCHSTONE_MODULES)
list(REMOVE_ITEM modules capi explore)  # the first is installed as touchstone::c, the second belongs to the command

# A build of a single target, such as the demo, lacks what other components need: fails before anything is copied.
function(require_built component)
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
      message(FATAL_ERROR \"$<TARGET_FILE_NAME:${target}> is not built; nothing was installed. Build all first: cmake --build ${PROJECT_BINARY_DIR}\")
    endif()" COMPONENT ${component})
  endforeach()
endfunction()
list(TRANSFORM modules PREPEND touchstone_ OUTPUT_VARIABLE libraries)
require_built(dev ${libraries})
require_built(runtime touchstone_c)
if(TARGET touchstone)
  require_built(cli touchstone)
endif()
if(TARGET touchstone-mpi)
  require_built(mpi touchstone-mpi)
endif()

set(TOUCHSTONE_DEPENDS "")
foreach(module IN LISTS modules)
  get_property(tree GLOBAL PROPERTY TOUCHSTONE_MODULE_${module}_TREE)
  get_property(headers GLOBAL PROPERTY TOUCHSTONE_MODULE_${module}_HEADERS)
  get_property(depends GLOBAL PROPERTY TOUCHSTONE_MODULE_${module}_DEPENDS)
  list(FILTER headers EXCLUDE REGEX "/mpi/messages\\.h$")  # which wants MPI's own
  foreach(header IN LISTS headers)
    touchstone_include_path(path "${tree}" "${header}")
    get_filename_component(folder "${path}" DIRECTORY)
    install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}" COMPONENT dev)
  endforeach()
  install(TARGETS touchstone_${module} EXPORT touchstone ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                                                 COMPONENT dev)
  list(JOIN depends " " depends)
  string(APPEND TOUCHSTONE_DEPENDS "set(touchstone_${module}_DEPENDS ${depends})\n")
endforeach()
get_property(plugin_header GLOBAL PROPERTY TOUCHSTONE_PLUGIN_HEADER)
install(FILES "${plugin_header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/touchstone" COMPONENT dev)
install(TARGETS touchstone_backend EXPORT touchstone)
get_property(c_header GLOBAL PROPERTY TOUCHSTONE_C_HEADER)
install(FILES "${c_header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
install(TARGETS touchstone_c EXPORT touchstone
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev)
install(EXPORT touchstone NAMESPACE touchstone:: FILE TouchstoneTargets.cmake DESTINATION "${package_dir}"
        COMPONENT dev)

list(JOIN modules " " TOUCHSTONE_COMPONENTS)
string(APPEND TOUCHSTONE_COMPONENTS " backend c")
configure_package_config_file(
  cmake/touchstone-config.cmake.in "${PROJECT_BINARY_DIR}/touchstone-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/touchstone-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/touchstone-config.cmake"
              "${PROJECT_BINARY_DIR}/touchstone-config-version.cmake" DESTINATION "${package_dir}" COMPONENT dev)

# One for the installed files, one in the build folder for the files there.
file(RELATIVE_PATH prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" prefix "${prefix}")
set(TOUCHSTONE_PREFIX "\${pcfiledir}/${prefix}")
set(TOUCHSTONE_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(TOUCHSTONE_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/touchstone.pc.in "${PROJECT_BINARY_DIR}/installed/touchstone.pc" @ONLY)
set(TOUCHSTONE_PREFIX "\${pcfiledir}")
set(TOUCHSTONE_LIBDIR "\${prefix}")
set(TOUCHSTONE_INCLUDEDIR "\${prefix}/include-roots/c")
configure_file(cmake/touchstone.pc.in "${PROJECT_BINARY_DIR}/touchstone.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/installed/touchstone.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

# The layout of the source tree, so that links work.
install(FILES README.md LICENSE CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT cli)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT cli PATTERN site EXCLUDE)
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev)

if(TARGET touchstone)
  install(TARGETS touchstone RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
  install(DIRECTORY "${PROJECT_BINARY_DIR}/reference/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}" COMPONENT cli)
  file(GLOB adapters fuzz/backends/*.py fuzz/backends/*.cpp fuzz/backends/*.json)
  install(FILES ${adapters} DESTINATION "${CMAKE_INSTALL_DATADIR}/touchstone/backends" COMPONENT cli)
  install(DIRECTORY fuzz/backends/profiles DESTINATION "${CMAKE_INSTALL_DATADIR}/touchstone/backends" COMPONENT cli)
endif()

if(TARGET touchstone-mpi)
  install(TARGETS touchstone-mpi RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT mpi)
endif()

if(TARGET touchstone_python)
  if(TOUCHSTONE_WHEEL)  # its root is site-packages
    set(TOUCHSTONE_PYTHON_FOLDER .)
  else()
    set(TOUCHSTONE_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING "Where Python finds packages, below the prefix")
    require_built(python touchstone_python)
    install(DIRECTORY "${PROJECT_BINARY_DIR}/python/touchstone_oracle-${PROJECT_VERSION}.dist-info"
            DESTINATION "${TOUCHSTONE_PYTHON_FOLDER}" COMPONENT python)
  endif()
  install(TARGETS touchstone_python LIBRARY DESTINATION "${TOUCHSTONE_PYTHON_FOLDER}/touchstone" COMPONENT python)
  install(DIRECTORY python/touchstone DESTINATION "${TOUCHSTONE_PYTHON_FOLDER}" COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()
