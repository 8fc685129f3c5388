// SPDX-License-Identifier: Apache-2.0
// One group of a grouped call as a plain product.
#pragma once
#include "params.cuh"
#include "tile/scales.cuh"

namespace ggemm::kernels {

GG_HD Matrix group_matrix(const SourceMatrix& source, i64 group, i64 columns) {
  const i64 row_stride = read_source(source.row_stride, group), col_stride = read_source(source.col_stride, group);
  return {source.data ? source.data[group] : nullptr, row_stride == packed_stride ? columns : row_stride, col_stride == packed_stride ? 1 : col_stride};
}

// columns: of the matrix of A's scales or of B's. The numbers of tensors are an array of their own.
GG_HD Matrix group_scale(const SourceMatrix& source, int kind, i64 group, i64 columns) {
  if (kind == scale_none) return {nullptr, 0, 0};
  if (kind == scale_tensor) return {reinterpret_cast<const float*>(source.data) + group * source.row_stride.value, 0, 0};
  return group_matrix(source, group, columns);
}

// Reads group g's sizes, strides and pointers. Negative sizes count as 0. shape: tile/scales.cuh's group_shape.
GG_HD GemmParams group_params(const GroupedParams& p, i64 g, u32 shape = 0) {
  const int scale_a = static_cast<int>(shape & 7), scale_b = static_cast<int>(shape >> 3 & 7);
  const bool paired = shape >> 6;
  GemmParams out;
  out.m = max_of(read_source(p.m, g), 0);
  out.n = max_of(read_source(p.n, g), 0);
  out.k = max_of(read_source(p.k, g), 0);
  out.a = group_matrix(p.a, g, out.k);
  out.b = group_matrix(p.b, g, out.n);
  out.c = group_matrix(p.c, g, out.n);
  out.d = group_matrix(p.d, g, paired ? out.n / 2 : out.n);
  out.bias = p.bias ? p.bias[g] : nullptr;
  out.epilogue = p.epilogue;
  out.raster = p.raster;
  out.reserved = 0;
  out.scale_a = group_scale(p.scale_a, out.k > 0 ? scale_a : scale_none, g, scales_deep(scale_a, out.k));
  out.scale_b = group_scale(p.scale_b, out.k > 0 ? scale_b : scale_none, g, scales_along(scale_b, out.n));
  return out;
}

}  // namespace ggemm::kernels
