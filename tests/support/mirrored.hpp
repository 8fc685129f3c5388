// SPDX-License-Identifier: Apache-2.0
// The same product, told as its transpose: D' = B' A'.
#pragma once
#include <utility>

#include "ggemm.h"

namespace ggemm::tests {

template <class Matrix>
Matrix turned(Matrix matrix) {
  std::swap(matrix.row_stride, matrix.col_stride);
  return matrix;
}

// Of a plain or grouped description, whose packed strides are of rows and so must be none.
template <class Desc>
Desc mirrored(const Desc& desc) {
  Desc out = desc;
  std::swap(out.m, out.n);
  out.a = turned(desc.b), out.b = turned(desc.a), out.c = turned(desc.c), out.d = turned(desc.d);
  out.scale_a = turned(desc.scale_b), out.scale_b = turned(desc.scale_a);
  if (desc.epilogue.bias) out.epilogue.bias = desc.epilogue.bias == GGEMM_BIAS_PER_ROW ? GGEMM_BIAS_PER_COLUMN : GGEMM_BIAS_PER_ROW;
  if constexpr (requires { out.expected_m; }) std::swap(out.expected_m, out.expected_n);
  return out;
}

template <class Args>
Args mirrored_args(const Args& args) {
  Args out = args;
  std::swap(out.a, out.b);
  std::swap(out.scale_a, out.scale_b);
  return out;
}

}  // namespace ggemm::tests
