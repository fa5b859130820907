# SPDX-License-Identifier: Apache-2.0
# One library per room. Sources are globbed so that no file is ever in a folder but in no target.
# Off by default: what a compiler or an optimisation level we have not seen warns of must not stop a user.
# The debug preset turns it on.
option(DIECAST_WERROR "Treat warnings as errors" OFF)

# Files are compiled in batches of this many; names without linkage must differ within a room. 0 compiles each file
# alone, which shows a forgotten #include.
set(DIECAST_BATCH 16 CACHE STRING "Source files per batch (unity build); 0: one by one")

# In a batch a name of one file may hide that of another; scripts/build_separately has the warning in full.
if(DIECAST_BATCH GREATER 0 AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(DIECAST_SHADOW -Wshadow=local)
else()
  set(DIECAST_SHADOW -Wshadow)
endif()
# GCC collects garbage for a tenth of the time that a batch of platforms takes; half as long where it begins at 512 MiB
# (medians of six compilations: 32.3 and 30.8 CPU s).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()
add_library(diecast_warnings INTERFACE)
target_compile_options(diecast_warnings INTERFACE
  -Wall -Wextra -Wpedantic ${DIECAST_SHADOW} -Wconversion -ffp-contract=off $<$<BOOL:${DIECAST_WERROR}>:-Werror>
  # GCC 12 warns of overlapping copies inside std::string's own operator+ (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# What nearly every file reads is parsed once per room. Off with a compiler launcher: ccache does not store
# what is compiled with precompiled headers unless told to, and such builds show a forgotten #include.
set(DIECAST_PCH_DEFAULT ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(DIECAST_PCH_DEFAULT OFF)
endif()
option(DIECAST_PCH "Precompiled headers" ${DIECAST_PCH_DEFAULT})
set(DIECAST_PLAIN_HEADERS <algorithm> <cstdint> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <utility> <vector> <fmt/format.h>)
set(DIECAST_SYSTEMC_HEADERS ${DIECAST_PLAIN_HEADERS} <systemc> <tlm>)

# diecast_batches(TARGET): compiles the target's files in batches.
function(diecast_batches target)
  if(DIECAST_BATCH GREATER 0)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${DIECAST_BATCH})
  endif()
endfunction()

# diecast_room(NAME DEPENDS targets... HEADERS precompiled... EXCLUDE patterns...): all .cpp below the
# current folder, except those that match a pattern.
function(diecast_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;HEADERS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(pattern ${ROOM_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  add_library(diecast_${name} STATIC ${sources})
  add_library(diecast::${name} ALIAS diecast_${name})
  set_target_properties(diecast_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(diecast_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/diecast>)
  target_link_libraries(diecast_${name} PUBLIC ${ROOM_DEPENDS} PRIVATE $<BUILD_INTERFACE:diecast_warnings>)
  target_compile_features(diecast_${name} PUBLIC cxx_std_20)
  diecast_batches(diecast_${name})
  if(DIECAST_PCH)
    target_precompile_headers(diecast_${name} PRIVATE ${ROOM_HEADERS})
  endif()
endfunction()
