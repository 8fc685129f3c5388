# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=<tools/bench/kernels> -DOUTPUT=<file.cpp> -P embed.cmake: the benchmark's kernels as text.
cmake_minimum_required(VERSION 3.22)
file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*.cu)
list(SORT names)
set(arrays "")
set(rows "")
set(index 0)
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "// ${name}\nconst unsigned char text_${index}[] = {\n${bytes}0};\n")
  string(APPEND rows "      {\"${name}\", reinterpret_cast<const char*>(text_${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed.cmake; do not edit.
#include \"bench/kernels.hpp\"

namespace ggemm::bench {
namespace {

${arrays}
}  // namespace

const std::vector<jit::EmbeddedFile>& kernel_files() {
  static const std::vector<jit::EmbeddedFile> files = {
${rows}  };
  return files;
}

}  // namespace ggemm::bench
")
