# Debian packages by CPack, one per install component: cli is touchstone, runtime libtouchstone0, dev libtouchstone-dev
# (./dev package).
set(TOUCHSTONE_MAINTAINER "The Touchstone authors <maintainers@touchstone.invalid>"
    CACHE STRING "Maintainer of the Debian packages, as NAME <ADDRESS>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME touchstone)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "${TOUCHSTONE_MAINTAINER}")
# CPack puts any other summary in front of each package's own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_COMPONENTS_ALL cli runtime dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/FinishPackages.cmake")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(same "(= ${PROJECT_VERSION}-1)")

set(CPACK_DEBIAN_CLI_PACKAGE_NAME touchstone)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS "clang-19")
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "python3-numpy, libtouchstone-dev")
set(CPACK_DEBIAN_CLI_DESCRIPTION
    "reference device, index arithmetic and fuzzer for tensor backends
Touchstone gives the right answer of a tensor kernel, correctly rounded, and
judges what another backend gave against every result that is legal. It
simplifies index expressions by proved rules, says when strided views are
one, and looks for the kernels that a backend gets wrong.
.
Kernels are compiled by clang for the devices that need it.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libtouchstone0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# CPack's own shlibs support calls ldconfig from maintainer scripts, which a trigger has replaced.
set(control symbols shlibs triggers)
list(TRANSFORM control PREPEND "${PROJECT_SOURCE_DIR}/cmake/debian/")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION
    "index arithmetic and legal results of tensor kernels, for C
The shared library of Touchstone: it simplifies index expressions, proves
rules, moves strided views, evaluates kernels with every element correctly
rounded, and judges the results of others.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtouchstone-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)  # it would examine every header
set(dev_depends "libtouchstone0 ${same}" libboost-dev libeigen3-dev libfmt-dev libgmp-dev libmpfr-dev libtbb-dev
                libxxhash-dev libz3-dev libzip-dev)
if(TOUCHSTONE_TCC_LIBRARY)
  list(APPEND dev_depends libtcc-dev)
endif()
list(JOIN dev_depends ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "cmake, pkg-config, libgmock-dev, libgtest-dev, touchstone")
set(CPACK_DEBIAN_DEV_DESCRIPTION
    "index arithmetic and legal results of tensor kernels, development
Headers and static libraries for C++20 with a CMake package, touchstone.h for
C with touchstone.pc, and examples.")
include(CPack)
