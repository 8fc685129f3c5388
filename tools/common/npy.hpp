// SPDX-License-Identifier: Apache-2.0
// Arrays in ordinary memory, and NumPy's .npy files (format versions 1 to 3) that hold them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ggemm.h"

namespace ggemm::tools {

// Any strides in elements; element (i, j, ...) is at offset + i * strides[0] + j * strides[1] + ... of `bytes`.
struct Array {
  ggemm_dtype dtype = GGEMM_DTYPE_NONE;
  std::vector<std::int64_t> shape, strides;
  std::int64_t offset = 0;  // in elements
  std::vector<char> bytes;
  std::string name;  // of the file, for sentences

  std::int64_t count() const;
  std::string shape_text() const;  // "64x128"
};

// A packed row-major array of zeros.
Array make_array(ggemm_dtype dtype, std::vector<std::int64_t> shape);

// Reads A or B. `dtype` says what the elements are (NONE: as the file says): raw ones (V2, V1), which is how NumPy keeps bfloat16 and float8, are taken
// as it, and so are unsigned integers of its width if it is one of those; others are converted to it. `option`: what sentences name to say it by.
Array read_operand(const std::string& path, ggemm_dtype dtype, const char* option);
// Reads what D's own type serves: as the file says, or where its elements are raw or of a type that the library has not, as read_operand to `otherwise`.
Array read_npy(const std::string& path, ggemm_dtype otherwise);
// Integers of any width.
std::vector<std::int64_t> read_npy_integers(const std::string& path);
// bf16 and the fp8 types are written as raw elements, as NumPy does.
void write_npy(const std::string& path, const Array& array);

}  // namespace ggemm::tools
