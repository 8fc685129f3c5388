// SPDX-License-Identifier: Apache-2.0
// One group of a grouped call as a plain product.
#pragma once
#include "grouped_call.cuh"
#include "tile/scales.cuh"

namespace ggemm::kernels {

// What all groups before g take of a ragged m or k.
GG_HD i64 group_start(const GroupedParams& p, SourceNumbers m, SourceNumbers k) {
  return p.m.mode == source_ends ? end_of(p.m, m.before) : p.k.mode == source_ends ? end_of(p.k, k.before) : 0;
}
GG_HD i64 group_start(const GroupedParams& p, i64 g) { return group_start(p, read_numbers(p.m, g), read_numbers(p.k, g)); }

// Where group g's part of a SourceVector or SourceMatrix begins.
template <class Operand>
GG_HD const void* group_data(const Operand& operand, i64 g, i64 start) {
  const char* const data = static_cast<const char*>(operand.data);
  const i64 pointer = number_at(data + g * i64(sizeof(void*)), data && operand.pointers ? 2 : 0, 0);
  return !data ? nullptr : operand.pointers ? reinterpret_cast<const void*>(pointer) : data + g * operand.group_bytes + start * operand.start_bytes;
}

// packed: what a constant packed_stride stands for; in memory that is a number like others.
GG_HD i64 read_stride(const Source& source, i64 group, i64 packed) {
  const i64 stride = read_number(source, group);
  return source.kind == 0 && stride == packed_stride ? packed : stride;
}

GG_HD Matrix group_matrix(const SourceMatrix& source, i64 group, i64 start, i64 columns) {
  return {group_data(source, group, start), read_stride(source.row_stride, group, columns), read_stride(source.col_stride, group, 1)};
}

GG_HD Scalar group_scalar(const Scalar& scalar, i64 byte_stride, i64 group) {
  return {scalar.pointer ? static_cast<const char*>(scalar.pointer) + group * byte_stride : nullptr, scalar.bits};
}

// start: of the group's scales, counted in scales. columns: of the matrix.
GG_HD Matrix group_scale(const SourceMatrix& source, int kind, i64 group, i64 start, i64 columns) {
  if (kind == scale_none) return {nullptr, 0, 0};
  return group_matrix(source, group, start, columns);
}

// Group g of these sizes, whose first row (of a ragged k: whose depth) is number `start`: reads its strides and pointers. shape: tile/scales.cuh's group_shape.
GG_HD GemmParams group_params(const GroupedParams& p, i64 g, i64 start, i64 m, i64 n, i64 k, u32 shape) {
  const int scale_a = scale_a_of(shape), scale_b = scale_b_of(shape);
  GemmParams out;
  out.m = m, out.n = n, out.k = k;
  out.a = group_matrix(p.a, g, start, out.k);
  out.b = group_matrix(p.b, g, start, out.n);
  out.c = group_matrix(p.c, g, start, out.n);
  out.d = group_matrix(p.d, g, start, paired(shape) ? out.n / 2 : out.n);
  out.bias = group_data(p.bias, g, start);
  out.epilogue = p.epilogue;
  out.epilogue.alpha = group_scalar(p.epilogue.alpha, p.alpha_stride, g);
  out.epilogue.beta = group_scalar(p.epilogue.beta, p.beta_stride, g);
  out.raster = p.raster;
  out.max_ctas = p.max_ctas;
  // Along a ragged m A's scales follow it, along a ragged k those by blocks of either; a group's blocks begin where it does.
  const bool ragged_k = p.k.mode == source_ends;
  const auto first = [&](int kind) { return ragged_k ? start / scale_block : scale_at(kind, start); };
  out.scale_a = group_scale(p.scale_a, out.k > 0 ? scale_a : scale_none, g, first(scale_a), scales_deep(scale_a, out.k));
  out.scale_b = group_scale(p.scale_b, out.k > 0 ? scale_b : scale_none, g, first(scale_b), scales_along(scale_b, out.n));
  return out;
}

// Reads the sizes too. Negative ones count as 0.
GG_HD GemmParams group_params(const GroupedParams& p, i64 g, u32 shape = 0) {
  return group_params(p, g, group_start(p, g), max_of(read_source(p.m, g), 0), max_of(read_source(p.n, g), 0), max_of(read_source(p.k, g), 0), shape);
}

// A plain product as the only group of a grouped one.
GG_HD GroupedParams one_group(const GemmParams& p) {
  const auto constant = [](i64 value) { return Source{nullptr, 0, value, 0, source_itself}; };
  const auto matrix = [&](const Matrix& m) { return SourceMatrix{m.data, 0, 0, 0, 0, constant(m.row_stride), constant(m.col_stride)}; };
  GroupedParams out{};
  out.groups = 1;
  out.m = constant(p.m), out.n = constant(p.n), out.k = constant(p.k);
  out.a = matrix(p.a), out.b = matrix(p.b), out.c = matrix(p.c), out.d = matrix(p.d);
  out.bias = {p.bias, 0, 0, 0, 0};
  out.epilogue = p.epilogue;
  out.raster = p.raster;
  out.max_ctas = p.max_ctas;
  out.scale_a = matrix(p.scale_a), out.scale_b = matrix(p.scale_b);
  return out;
}

// Where group g's rows of A and D lie, if they are not in order.
GG_HD GroupRows group_rows(const GroupedParams& p, i64 g) {
  const i64 start = group_start(p, g);
  GroupRows out = p.rows;
  out.a_index.data = static_cast<const char*>(out.a_index.data) + start * out.a_index.byte_stride;
  out.d_index.data = static_cast<const char*>(out.d_index.data) + start * out.d_index.byte_stride;
  if (out.weights) out.weights += start;
  return out;
}

// How many groups there are to compute.
GG_HD i64 live_groups(const GroupedParams& p) { return p.status && *p.status ? 0 : p.groups; }

}  // namespace ggemm::kernels
