# SPDX-License-Identifier: Apache-2.0
# Debian packages: libggemm0, libggemm-dev and ggemm, by `cpack` in a build that was configured with -DCMAKE_INSTALL_PREFIX=/usr, so that libraries
# lie where Debian has them.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  return()
endif()
set(GGEMM_PACKAGE_MAINTAINER "The ggemm developers" CACHE STRING "Who makes the Debian packages, as 'Name <address>'")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${GGEMM_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE ggemm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})  # libggemm.so.0 itself, which the component's dependency brings
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")  # the interface only grows
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENTS_ALL lib dev)

set(CPACK_DEBIAN_LIB_PACKAGE_NAME libggemm${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_SUGGESTS libopenblas0)
set(CPACK_COMPONENT_LIB_DESCRIPTION
"The library: D = act(alpha A B + beta C + bias), for one product or for many of
different sizes in one launch. Kernels are compiled at run time by NVRTC for the
GPU that is there, and cached. Without a GPU the CPU computes.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libggemm-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DEPENDS lib)
set(CPACK_COMPONENT_DEV_DESCRIPTION
"The header of the C interface, the files for pkg-config and CMake, and examples.")

if(GGEMM_BUILD_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ggemm)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION math)
  set(CPACK_COMPONENT_TOOLS_DEPENDS lib)
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION
"The command line: computes products of .npy files, says what of a GPU's software
is found and what is missing, tunes, measures, and shows the order of tiles.")
endif()

# What Debian wants of every package: the licence, with the notices of what is compiled in, and two changelogs.
string(TIMESTAMP GGEMM_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ docs/third_party.md GGEMM_THIRD_PARTY)
configure_file(cmake/package/copyright.in package/copyright @ONLY)
configure_file(cmake/package/changelog.Debian.in package/changelog.Debian @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${PROJECT_BINARY_DIR}/package/copyright ${PROJECT_BINARY_DIR}/package/changelog.Debian DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES CHANGELOG.md DESTINATION ${folder} RENAME changelog COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libggemm-dev COMPONENT dev EXCLUDE_FROM_ALL)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package/compress.cmake)
include(CPack)
