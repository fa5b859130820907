# SPDX-License-Identifier: Apache-2.0
# All that depends on the SystemC version stands here: the C++ tag of the library's build, dynamic
# processes, and a probe that a program really links. Works with 2.3.4 and 3.x.
pkg_check_modules(DIECAST_SYSTEMC QUIET IMPORTED_TARGET systemc)
if(NOT DIECAST_SYSTEMC_FOUND)
  message(FATAL_ERROR "SystemC not found: apt-get install libsystemc-dev (or set PKG_CONFIG_PATH)")
endif()

add_library(diecast_systemc INTERFACE)
add_library(diecast::systemc ALIAS diecast_systemc)
target_link_libraries(diecast_systemc INTERFACE PkgConfig::DIECAST_SYSTEMC)
# Debian builds 2.3.4 as C++17 and its headers check that the tag is equal; C++20 code links cleanly.
target_compile_definitions(diecast_systemc INTERFACE SC_CPLUSPLUS=201703L SC_INCLUDE_DYNAMIC_PROCESSES)
if(DIECAST_SYSTEMC_INCLUDE_DIRS)
  target_include_directories(diecast_systemc SYSTEM INTERFACE ${DIECAST_SYSTEMC_INCLUDE_DIRS})
endif()

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::DIECAST_SYSTEMC)
set(CMAKE_REQUIRED_DEFINITIONS -DSC_CPLUSPLUS=201703L -DSC_INCLUDE_DYNAMIC_PROCESSES)
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("#include <systemc>\nint sc_main(int, char**) { sc_core::sc_event e; return 0; }"
                          DIECAST_SYSTEMC_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_DEFINITIONS)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT DIECAST_SYSTEMC_LINKS)
  message(FATAL_ERROR
    "SystemC ${DIECAST_SYSTEMC_VERSION} was found, but a program with SC_CPLUSPLUS=201703L does not link: "
    "the library was built for another C++ standard. Rebuild it as C++17, or change the tag in cmake/systemc.cmake.")
endif()
