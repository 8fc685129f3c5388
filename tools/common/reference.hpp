// SPDX-License-Identifier: Apache-2.0
// Products held against float64, element by element, and the bound that they must keep:
//   |D - ref| <= |alpha| g(k + 2) (|A||B|) + g(3) (|beta C| + |bias|) + u_out |ref| + eta_out,   g(n) = n u / (1 - n u),
// u = 2^-23 for f32 sums and 2^-52 for f64; tf32 adds 2^-9 |alpha| (|A||B|); an activation scales the part before it by its steepest slope.
// int32 results are compared exactly.
#pragma once
#include <cstdint>
#include <vector>

#include "ggemm.h"

namespace ggemm::tools {

// A matrix in ordinary memory; strides in elements. A NULL base is an absent matrix.
struct MatrixView {
  ggemm_dtype dtype = GGEMM_DTYPE_NONE;
  const void* base = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 0;
};

struct ReferenceProduct {
  MatrixView a, b, c, d;
  double alpha = 1, beta = 0;
  ggemm_compute compute = GGEMM_COMPUTE_DEFAULT;
  ggemm_bias bias = GGEMM_BIAS_NONE;
  ggemm_dtype bias_dtype = GGEMM_DTYPE_NONE;
  const void* bias_data = nullptr;
  ggemm_activation activation = GGEMM_ACTIVATION_NONE;
  double p0 = 0, p1 = 0;
};

struct ErrorReport {
  std::int64_t elements = 0;
  double max_error = 0;     // largest |D - ref|
  double max_share = 0;     // largest |D - ref| over its bound; at most 1 passes
  std::int64_t row = -1, col = -1;  // of the largest share
  double got = 0, wanted = 0;       // there

  bool passed() const { return max_share <= 1; }
  void add(const ErrorReport& other);
};

// Checks these rows of D.
ErrorReport check_rows(const ReferenceProduct& product, const std::vector<std::int64_t>& rows);
// All rows if that takes at most `limit` multiplications, else so many of them, evenly spread, first and last among them.
std::vector<std::int64_t> sample_rows(std::int64_t m, std::int64_t n, std::int64_t k, double limit);
// The activation in float64.
double activate(ggemm_activation activation, double x, double p0, double p1);

}  // namespace ggemm::tools
