// SPDX-License-Identifier: Apache-2.0
// What the commands that multiply files share: matrices of arrays, and the options of the product.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/device_memory.hpp"
#include "common/names.hpp"
#include "common/npy.hpp"
#include "common/reference.hpp"
#include "ggemm.h"

namespace CLI {
class App;
}

namespace ggemm::tools {

// dtypes, scalars and what follows the product.
struct ProductOptions {
  ggemm_dtype dtype = GGEMM_DTYPE_NONE, a_dtype = GGEMM_DTYPE_NONE, b_dtype = GGEMM_DTYPE_NONE, out_dtype = GGEMM_DTYPE_NONE;
  ggemm_compute compute = GGEMM_COMPUTE_DEFAULT;
  ActivationOptions activation;
  double alpha = 1;
  std::string config;
  bool trans_a = false, trans_b = false, check = false, explain = false;

  void add_to(CLI::App& command);
  Array read_a(const std::string& path) const { return read_operand(path, a_dtype == GGEMM_DTYPE_NONE ? dtype : a_dtype, "--dtype or --a-dtype"); }
  Array read_b(const std::string& path) const { return read_operand(path, b_dtype == GGEMM_DTYPE_NONE ? dtype : b_dtype, "--dtype or --b-dtype"); }
  // D's dtype for these inputs.
  ggemm_dtype out(ggemm_dtype a, ggemm_dtype b) const { return out_dtype == GGEMM_DTYPE_NONE ? default_out_dtype(a, b) : out_dtype; }
  // Sets the activation in a description and in a reference.
  void apply(ggemm_epilogue_desc& epilogue) const;
  void apply(ReferenceProduct& reference) const;
};

// A scalar as the product of these dtypes reads it; the bytes of f32, f64 or i32.
struct Scalar {
  alignas(8) unsigned char bytes[8];
};
Scalar make_scalar(double value, ggemm_dtype a, ggemm_dtype b, ggemm_dtype d, const char* option);

// The matrix that an array's last two dimensions are; `index` picks one of a 3-D array. Transposing swaps the strides.
MatrixView view(const Array& array, bool transposed = false, std::int64_t index = 0);
// Only a matrix, or a stack of them.
void require_dimensions(const Array& array, std::size_t dimensions);
// "a.npy is 64x128".
std::string described(const Array& array, bool transposed);

// One line about the error, on stdout.
void print_error(const ErrorReport& report, const std::string& what);

// A view's place in device memory, where `block` holds the array's bytes.
inline char* on_device(const DeviceBlock& block, const Array& array, const MatrixView& matrix) {
  return block.data() ? block.data() + (static_cast<const char*>(matrix.base) - array.bytes.data()) : nullptr;
}

}  // namespace ggemm::tools
