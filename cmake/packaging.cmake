# SPDX-License-Identifier: Apache-2.0
# cmake --install gives a package: binaries, libraries, headers, configs, presets and documentation, found by
# find_package(diecast). The targets are diecast::models, ::sw, ::hw, ::platforms and ::systemc.
include(CMakePackageConfigHelpers)
set(DIECAST_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/diecast)

# The headers keep the folders of the source tree: #include "platforms/app/app.hpp" in both.
foreach(room models sw hw platforms)
  install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/diecast COMPONENT libdiecast-dev
          FILES_MATCHING PATTERN "*.hpp" PATTERN configs EXCLUDE PATTERN presets EXCLUDE)
endforeach()

# Results must not depend on fused multiply-adds; kernels built elsewhere are held to it as the rooms are.
target_compile_options(diecast_models INTERFACE $<INSTALL_INTERFACE:-ffp-contract=off>)

set_target_properties(diecast_systemc PROPERTIES EXPORT_NAME systemc)
install(TARGETS diecast_systemc diecast_models diecast_sw diecast_hw diecast_platforms EXPORT diecast_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libdiecast-dev)
install(EXPORT diecast_targets NAMESPACE diecast:: FILE diecastTargets.cmake DESTINATION ${DIECAST_PACKAGE_DIR}
        COMPONENT libdiecast-dev)

set(DIECAST_DATA_DIR ${CMAKE_INSTALL_DATADIR}/diecast)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/diecastConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/diecastConfig.cmake
  INSTALL_DESTINATION ${DIECAST_PACKAGE_DIR} PATH_VARS DIECAST_DATA_DIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/diecastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/diecastConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/diecastConfigVersion.cmake
        DESTINATION ${DIECAST_PACKAGE_DIR} COMPONENT libdiecast-dev)

install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
# In a folder of their own, as in the checkout: both have a README.md, and they link to each other.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs OPTIONAL)

# Scripts that read results, the Python module beside them, completion and manual pages.
install(PROGRAMS scripts/report scripts/compare scripts/sweep scripts/regress scripts/sensitivity scripts/degrade
                 scripts/alphabeta scripts/calibrate scripts/energy scripts/flight2torch
                 scripts/goal2workload scripts/chakra2workload
        DESTINATION ${CMAKE_INSTALL_DATADIR}/diecast/scripts)
install(FILES scripts/start.py DESTINATION ${CMAKE_INSTALL_DATADIR}/diecast/scripts)  # what they import first
install(DIRECTORY python/diecast DESTINATION ${CMAKE_INSTALL_DATADIR}/diecast/python FILES_MATCHING PATTERN "*.py")
foreach(binary pod sip cube noc hbm bench)
  set(page ${CMAKE_BINARY_DIR}/man/diecast-${binary}.1)
  add_custom_command(OUTPUT ${page} DEPENDS diecast-${binary} ${PROJECT_SOURCE_DIR}/scripts/make_man
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/make_man $<TARGET_FILE:diecast-${binary}> ${page} VERBATIM)
  list(APPEND DIECAST_MANUAL ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  # bash-completion finds a completion by the name of the command.
  install(FILES platforms/completion/diecast DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME diecast-${binary})
endforeach()
add_custom_target(manual ALL DEPENDS ${DIECAST_MANUAL})

# What is packed is what was built: no target is made anew, tests least of all.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY TRUE)

# cpack -G DEB in a build directory makes a Debian package per component; dpkg-shlibdeps finds what each depends on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME diecast)
set(CPACK_PACKAGE_VENDOR "Diecast")
# CPack's own default: any other text heads the descriptions of all packages.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_NAME} built using CMake")
set(DIECAST_MAINTAINER "Diecast maintainers <maintainers@users.noreply.a-seed-aa968cc4.example>"
    CACHE STRING "Maintainer of the Debian packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT ${DIECAST_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
set(CPACK_COMPONENTS_ALL "")

# diecast_package(NAME SECTION SUMMARY DESCRIPTION text [DEPENDS packages] [RECOMMENDS packages] [SUGGESTS packages]): the
# Debian package of the component NAME. dpkg-shlibdeps adds the libraries that its binaries need.
macro(diecast_package name section summary)
  cmake_parse_arguments(PACKAGE "" "DESCRIPTION;DEPENDS;RECOMMENDS;SUGGESTS" "" ${ARGN})
  list(APPEND CPACK_COMPONENTS_ALL ${name})
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${PACKAGE_DESCRIPTION}")
  foreach(relation DEPENDS RECOMMENDS SUGGESTS)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${relation} "${PACKAGE_${relation}}")
  endforeach()
endmacro()

diecast_package(diecast electronics "collective communication on multi-die AI accelerators"
  DESCRIPTION "Simulates collectives on a pod of multi-die packages, in SystemC: times, waits and bottlenecks."
  RECOMMENDS "python3" SUGGESTS "libdiecast-dev, python3-matplotlib, python3-pandas, gtkwave")
# What diecastConfig.cmake looks for.
string(CONCAT diecast_libraries "libboost-context-dev, libboost-dev,, libboost-program-options-dev, libfmt-dev, "
  "libpugixml-dev, libsystemc-dev, nlohmann-json3-dev, pkg-config")
diecast_package(libdiecast-dev libdevel "headers and libraries to build platforms on Diecast"
  DESCRIPTION "Static libraries, headers and the CMake package diecast."
  DEPENDS "diecast (= ${PROJECT_VERSION}), ${diecast_libraries}" SUGGESTS "cmake, g++")
if(MPI_CXX_FOUND)
  diecast_package(diecast-mpi electronics "a pod of Diecast over several processes"
    DESCRIPTION "What diecast-pod --processes starts: simulates some packages of a pod beside other processes."
    DEPENDS "diecast (= ${PROJECT_VERSION}), openmpi-bin")
endif()
include(CPack)
