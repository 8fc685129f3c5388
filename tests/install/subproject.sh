#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures a project that takes ggemm by add_subdirectory, as FetchContent does: no tests, no tools, no install rules of ours, and the
# target ggemm::ggemm. Configures only; the build is the same as the project's own.
# Usage: subproject.sh <work folder> <source folder> <cmake>
set -euo pipefail
work=$1 source=$2 cmake=$3
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cat >"$work/CMakeLists.txt" <<TXT
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C CXX)
add_subdirectory("$source" ggemm)
add_executable(plain "$source/docs/examples/plain.c")
target_link_libraries(plain PRIVATE ggemm::ggemm)
get_property(targets DIRECTORY "$source" PROPERTY BUILDSYSTEM_TARGETS)
foreach(target ggemm_cli Catch2)
  if(TARGET \${target})
    message(FATAL_ERROR "\${target} is made although ggemm is a part of another project")
  endif()
endforeach()
foreach(target IN LISTS targets)
  if(target MATCHES "test")
    message(FATAL_ERROR "\${target} is made although ggemm is a part of another project")
  endif()
endforeach()
if(CMAKE_BUILD_TYPE)
  message(FATAL_ERROR "ggemm has set the build type of the project that it is a part of")
endif()
TXT
"$cmake" -S "$work" -B "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
echo "configured as a part of another project"
