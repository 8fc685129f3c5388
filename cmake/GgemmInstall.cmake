# SPDX-License-Identifier: Apache-2.0
# The installed tree holds no absolute path: it may be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ggemm)
install(TARGETS ggemm EXPORT ggemm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev)
install(FILES include/ggemm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(EXPORT ggemm NAMESPACE ggemm:: FILE ggemmConfig.cmake DESTINATION ${package_dir} COMPONENT dev)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ggemmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ggemmConfigVersion.cmake DESTINATION ${package_dir} COMPONENT dev)

# How to come from the .pc file's folder to the prefix; longer than ../.. where libraries lie in lib/<architecture>.
file(RELATIVE_PATH GGEMM_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" GGEMM_PC_PREFIX "${GGEMM_PC_PREFIX}")
configure_file(ggemm.pc.in ${PROJECT_BINARY_DIR}/ggemm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ggemm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

install(FILES LICENSE docs/third_party.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
if(GGEMM_BUILD_TOOLS)
  if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")  # where the loader looks by itself
    file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(ggemm_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  endif()
  install(TARGETS ggemm_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  install(FILES docs/ggemm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
endif()
