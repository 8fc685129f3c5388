# SPDX-License-Identifier: Apache-2.0
# cmake -DTEXTS=<file>,<file>... -DOUTPUT=<file.cpp> -P embed_text.cmake: the files, one after the other, as an array of bytes.
string(REPLACE "," ";" files "${TEXTS}")
set(bytes "")
foreach(file IN LISTS files)
  file(READ ${file} hex HEX)
  string(APPEND bytes "${hex}")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "// Made by embed_text.cmake; do not edit.
#include \"demo/text.hpp\"

namespace ggemm::tools {
namespace {
const unsigned char bytes[] = {
${bytes}};
}  // namespace

std::string_view demo_text() { return {reinterpret_cast<const char*>(bytes), sizeof bytes}; }

}  // namespace ggemm::tools
")
