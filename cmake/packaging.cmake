# SPDX-License-Identifier: Apache-2.0
# cmake --install gives a package: binaries, libraries, headers, configs, presets and documentation, found by
# find_package(diecast). The targets are diecast::models, ::sw, ::hw, ::platforms and ::systemc.
include(CMakePackageConfigHelpers)
set(DIECAST_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/diecast)

# The headers keep the folders of the source tree: #include "platforms/app/app.hpp" in both.
foreach(room models sw hw platforms)
  install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/diecast FILES_MATCHING PATTERN "*.hpp"
          PATTERN configs EXCLUDE PATTERN presets EXCLUDE)
endforeach()

# Results must not depend on fused multiply-adds; kernels built elsewhere are held to it as the rooms are.
target_compile_options(diecast_models INTERFACE $<INSTALL_INTERFACE:-ffp-contract=off>)

set_target_properties(diecast_systemc PROPERTIES EXPORT_NAME systemc)
install(TARGETS diecast_systemc diecast_models diecast_sw diecast_hw diecast_platforms EXPORT diecast_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT diecast_targets NAMESPACE diecast:: FILE diecastTargets.cmake DESTINATION ${DIECAST_PACKAGE_DIR})

set(DIECAST_DATA_DIR ${CMAKE_INSTALL_DATADIR}/diecast)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/diecastConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/diecastConfig.cmake
  INSTALL_DESTINATION ${DIECAST_PACKAGE_DIR} PATH_VARS DIECAST_DATA_DIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/diecastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/diecastConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/diecastConfigVersion.cmake
        DESTINATION ${DIECAST_PACKAGE_DIR})

install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
