# SPDX-License-Identifier: Apache-2.0
# Writes the text files of a folder into a C++ file: cmake -DFOLDER=<folder> -DSUFFIXES=<.a,.b> -DFUNCTION=<ggemm::a::function>
# -DHEADER=<header that declares it> -DOUTPUT=<file.cpp> -P embed.cmake. The function returns a const std::vector<ggemm::core::EmbeddedFile>&.
# As numbers, because a string literal of such length is more than the standard promises and some texts would need escapes.
cmake_minimum_required(VERSION 3.22)
foreach(variable FOLDER SUFFIXES FUNCTION HEADER OUTPUT)
  if(NOT ${variable})
    message(FATAL_ERROR "embed.cmake: -D${variable}= is missing")
  endif()
endforeach()

string(REPLACE "," ";" patterns "${SUFFIXES}")
list(TRANSFORM patterns PREPEND ${FOLDER}/*)
file(GLOB_RECURSE names RELATIVE ${FOLDER} ${patterns})
list(SORT names COMPARE STRING)
if(NOT names)
  message(FATAL_ERROR "embed.cmake: there is no file with suffix ${SUFFIXES} in ${FOLDER}")
endif()

set(arrays "")
set(rows "")
set(index 0)
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} digits HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" digits "${digits}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," digits "${digits}")
  string(FIND "${digits}" "0x00," nul)
  if(NOT nul EQUAL -1)
    message(FATAL_ERROR "embed.cmake: ${FOLDER}/${name} holds a NUL byte")
  endif()
  string(APPEND arrays "// ${name}\nconst unsigned char text_${index}[] = {\n${digits}0};\n")
  string(APPEND rows "      {\"${name}\", reinterpret_cast<const char*>(text_${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUTPUT} "// Made by cmake/embed.cmake; do not edit.
#include \"${HEADER}\"

namespace {

${arrays}
}  // namespace

const std::vector<ggemm::core::EmbeddedFile>& ${FUNCTION}() {
  static const std::vector<ggemm::core::EmbeddedFile> files = {
${rows}  };
  return files;
}
")
