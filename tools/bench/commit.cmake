# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<source tree> -DOUTPUT=<file.cpp> -P commit.cmake: the commit as a function. Written only when it changes.
cmake_minimum_required(VERSION 3.22)
set(commit "")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// Made by commit.cmake; do not edit.
#include \"bench/commit.hpp\"

const char* ggemm::bench::built_commit() { return \"@commit@\"; }
")
