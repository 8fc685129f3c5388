// SPDX-License-Identifier: Apache-2.0
// What is wrong with a group: its numbers and pointers in memory, which no description shows.
#pragma once
#include "scheduler/group_params.cuh"

namespace ggemm::kernels {

enum class Fault : i32 { none, size, end, null, align, stride, span, index };     // as ggemm_fault
enum class Field : i32 { none, m, n, k, a, b, c, d, bias, scale_a, scale_b };     // as ggemm_field

struct GroupFault {
  Fault fault;
  Field field;
};

GG_HD u64 magnitude_of(i64 x) { return x < 0 ? 0 - static_cast<u64>(x) : static_cast<u64>(x); }
// x * y is not in 64 bits.
GG_HD bool product_overflows(i64 x, i64 y) {
  if (x == 0 || y == 0) return false;
  return magnitude_of(x) > (~u64(0) >> 1) / magnitude_of(y);
}
// Two of a matrix's elements have one address. Of strides a, b elements b / g and a / g apart do, g being their greatest common divisor; it is not looked for where all that
// the shorter stride reaches lies within the longer one, as it nearly always does.
GG_HD bool elements_meet(const Matrix& matrix, i64 rows, i64 columns) {
  const u64 down = magnitude_of(matrix.row_stride), across = magnitude_of(matrix.col_stride);
  const bool rows_longer = down >= across;
  const u64 longer = rows_longer ? down : across, shorter = rows_longer ? across : down;
  const i64 along_longer = rows_longer ? rows : columns, along_shorter = rows_longer ? columns : rows;
  if (along_longer <= 1) return shorter == 0 && along_shorter > 1;
  if (along_shorter <= 1) return longer == 0;
  if (shorter == 0) return true;
  if (static_cast<u64>(along_shorter - 1) <= (longer - 1) / shorter) return false;
  u64 g = shorter;
  for (u64 rest = longer % shorter; rest != 0;) {
    const u64 next = g % rest;
    g = rest, rest = next;
  }
  return longer / g < static_cast<u64>(along_shorter) && shorter / g < static_cast<u64>(along_longer);
}
// The first element and the last are 2^63 bytes apart, or more.
GG_HD bool spans_too_much(const Matrix& matrix, i64 rows, i64 columns, i64 size) {
  if (product_overflows(rows - 1, matrix.row_stride) || product_overflows(columns - 1, matrix.col_stride)) return true;
  const i64 down = (rows - 1) * matrix.row_stride, across = (columns - 1) * matrix.col_stride;
  const i64 all = static_cast<i64>(static_cast<u64>(down) + static_cast<u64>(across));
  return ((down < 0) == (across < 0) && (all < 0) != (down < 0)) || product_overflows(all, size);
}

// A number of group g as it is in memory.
GG_HD Fault number_fault(const Source& source, i64 g) {
  if (source.kind == 0) return Fault::none;
  const i64 number = read_number(source, g);
  if (source.mode == source_ends) return number < (g > 0 ? read_number(source, g - 1) : 0) || number > source.value ? Fault::end : Fault::none;
  return number < 0 || (source.mode == source_count && number > source.value) ? Fault::size : Fault::none;
}

GG_HD Fault pointer_fault(const void* pointer, i64 size) {
  return !pointer ? Fault::null : reinterpret_cast<u64>(pointer) % static_cast<u64>(size) ? Fault::align : Fault::none;
}

// beta is 0, as the epilogue computes.
GG_HD bool is_zero(const Scalar& scalar, i32 dtype) {
  const u64 bits = !scalar.pointer ? scalar.bits : dtype == 1 ? *static_cast<const u64*>(scalar.pointer) : *static_cast<const u32*>(scalar.pointer);
  return dtype == 1 ? bits << 1 == 0 : dtype == 2 ? static_cast<u32>(bits) << 1 == 0 : static_cast<u32>(bits) == 0;
}

GG_HD Fault scale_fault(const Matrix& scales, int kind, i64 rows, i64 columns) {
  if (kind == scale_none) return Fault::none;
  const Fault fault = pointer_fault(scales.data, 4);
  return fault == Fault::none && spans_too_much(scales, rows, columns, 4) ? Fault::span : fault;
}

// The first thing that is wrong with group g, but for its indices. What is not looked at may be anything.
GG_HD GroupFault group_fault(const GroupedParams& p, i64 g, const GroupChecks& c) {
  Fault fault = Fault::none;
  if (c.numbers) {
    if ((fault = number_fault(p.m, g)) != Fault::none) return {fault, Field::m};
    if ((fault = number_fault(p.n, g)) != Fault::none) return {fault, Field::n};
    if ((fault = number_fault(p.k, g)) != Fault::none) return {fault, Field::k};
  }
  const GemmParams x = group_params(p, g, c.shape);
  if (x.m == 0 || x.n == 0) return {Fault::none, Field::none};
  if (paired(c.shape) && x.n % 2) return {Fault::size, Field::n};
  if ((fault = pointer_fault(x.d.data, c.size_d)) != Fault::none) return {fault, Field::d};
  const i64 columns_of_d = paired(c.shape) ? x.n / 2 : x.n;
  // (Where rows of D lie by an index, a group's rows are not D's, whose strides are constants.)
  if (!p.rows.d_index.kind && elements_meet(x.d, x.m, columns_of_d)) return {Fault::stride, Field::d};
  if (spans_too_much(x.d, x.m, columns_of_d, c.size_d)) return {Fault::span, Field::d};
  if (x.k > 0) {
    if ((fault = pointer_fault(x.a.data, c.size_a)) != Fault::none) return {fault, Field::a};
    if ((fault = pointer_fault(x.b.data, c.size_b)) != Fault::none) return {fault, Field::b};
    if (spans_too_much(x.a, x.m, x.k, c.size_a)) return {Fault::span, Field::a};
    if (spans_too_much(x.b, x.k, x.n, c.size_b)) return {Fault::span, Field::b};
    const int a = scale_a_of(c.shape), b = scale_b_of(c.shape);
    if ((fault = scale_fault(x.scale_a, a, scales_along(a, x.m), scales_deep(a, x.k))) != Fault::none) return {fault, Field::scale_a};
    if ((fault = scale_fault(x.scale_b, b, scales_deep(b, x.k), scales_along(b, x.n))) != Fault::none) return {fault, Field::scale_b};
  }
  if (!is_zero(x.epilogue.beta, c.scalar)) {
    if ((fault = pointer_fault(x.c.data, c.size_c)) != Fault::none) return {fault, Field::c};
    if (spans_too_much(x.c, x.m, x.n, c.size_c)) return {Fault::span, Field::c};
  }
  if (c.size_bias && (fault = pointer_fault(x.bias, c.size_bias)) != Fault::none) return {fault, Field::bias};
  return {Fault::none, Field::none};
}

// Rows of group g whose indices are looked at.
GG_HD i64 group_row_count(const GroupedParams& p, i64 g) { return read_source(p.n, g) > 0 ? max_of(read_source(p.m, g), 0) : 0; }

// Row i of a group.
GG_HD GroupFault index_fault(const GroupRows& rows, i64 i) {
  if (rows.a_index.kind && read_number(rows.a_index, i) >= rows.a_index.value) return {Fault::index, Field::a};
  if (rows.d_index.kind && read_number(rows.d_index, i) >= rows.d_index.value) return {Fault::index, Field::d};
  return {Fault::none, Field::none};
}

}  // namespace ggemm::kernels
