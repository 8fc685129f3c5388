// SPDX-License-Identifier: Apache-2.0
// One group of a grouped call as a plain product.
#pragma once
#include "params.cuh"

namespace ggemm::kernels {

GG_HD Matrix group_matrix(const SourceMatrix& source, i64 group, i64 columns) {
  const i64 row_stride = read_source(source.row_stride, group), col_stride = read_source(source.col_stride, group);
  return {source.data ? source.data[group] : nullptr, row_stride == packed_stride ? columns : row_stride, col_stride == packed_stride ? 1 : col_stride};
}

// Reads group g's sizes, strides and pointers. Negative sizes count as 0.
GG_HD GemmParams group_params(const GroupedParams& p, i64 g) {
  GemmParams out;
  out.m = max_of(read_source(p.m, g), 0);
  out.n = max_of(read_source(p.n, g), 0);
  out.k = max_of(read_source(p.k, g), 0);
  out.a = group_matrix(p.a, g, out.k);
  out.b = group_matrix(p.b, g, out.n);
  out.c = group_matrix(p.c, g, out.n);
  out.d = group_matrix(p.d, g, out.n);
  out.bias = p.bias ? p.bias[g] : nullptr;
  out.epilogue = p.epilogue;
  out.raster = p.raster;
  out.reserved = 0;
  return out;
}

}  // namespace ggemm::kernels
