# Headers, libraries, the command and a CMake package with one component a module.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/touchstone")
get_property(modules GLOBAL PROPERTY TOUCHSTONE_MODULES)
foreach(module IN LISTS modules)
  get_property(prefix GLOBAL PROPERTY TOUCHSTONE_MODULE_${module}_PREFIX)
  get_property(headers GLOBAL PROPERTY TOUCHSTONE_MODULE_${module}_HEADERS)
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/touchstone/${prefix}")
  install(TARGETS touchstone_${module} EXPORT touchstone ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
install(EXPORT touchstone NAMESPACE touchstone:: FILE TouchstoneTargets.cmake DESTINATION "${package_dir}")

list(JOIN modules " " TOUCHSTONE_COMPONENTS)
string(APPEND TOUCHSTONE_COMPONENTS " backend")
configure_package_config_file(
  cmake/touchstone-config.cmake.in "${PROJECT_BINARY_DIR}/touchstone-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/touchstone-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/touchstone-config.cmake"
              "${PROJECT_BINARY_DIR}/touchstone-config-version.cmake" DESTINATION "${package_dir}")
if(TARGET touchstone)
  install(TARGETS touchstone RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
