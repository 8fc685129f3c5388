// SPDX-License-Identifier: Apache-2.0
// The transposed product, of everything that says one, and which problems are computed so. Twice transposed is as before.
#include <utility>

#include "core/problem_checks.hpp"

namespace ggemm::core {
namespace {

using checks::is_constant;

MatrixLayout transposed(const MatrixLayout& m) { return {m.col_stride, m.row_stride, m.packed_cols, m.packed_rows}; }
GroupedLayout transposed(const GroupedLayout& m) { return {m.col_stride, m.row_stride, m.pointers, m.group_stride, m.start_stride}; }
kernels::SourceMatrix transposed(const kernels::SourceMatrix& m) {
  kernels::SourceMatrix out = m;
  std::swap(out.row_stride, out.col_stride);
  return out;
}

ProblemType described_otherwise(const ProblemType& type) {
  ProblemType out = core::transposed(type);
  out.transposed = !type.transposed;
  return out;
}

// Numbers in place of packed strides, which are of rows alone: a row's elements. Whether the host knows them.
bool unpack(GroupedProblem& p) {
  const auto unpacked = [](GroupedLayout& layout, const kernels::Source& columns, int scale = -1) {
    if (!is_constant(layout.row_stride, GGEMM_PACKED)) return true;
    const bool known = is_constant(columns);
    layout.row_stride.value = scale < 0 ? columns.value : kernels::scaled_by_blocks(scale) ? kernels::scales_deep(scale, columns.value) : 1;
    return known || (scale >= 0 && !kernels::scaled_by_blocks(scale));
  };
  kernels::Source scales_b = p.n;
  scales_b.value = kernels::scales_along(p.type.scale_b, p.n.value);
  return unpacked(p.a, p.k) && unpacked(p.b, p.n) && unpacked(p.c, p.n) && unpacked(p.scale_a, p.k, p.type.scale_a) && unpacked(p.scale_b, scales_b);
}

// The matrices of a product.
template <class Product>
void transpose_matrices(const Product& from, Product& to) {
  to.a = transposed(from.b), to.b = transposed(from.a), to.c = transposed(from.c), to.d = transposed(from.d);
  to.scale_a = transposed(from.scale_b), to.scale_b = transposed(from.scale_a);
}

}  // namespace

ProblemType transposed(const ProblemType& type) {
  ProblemType out = type;
  std::swap(out.a, out.b);
  std::swap(out.major_a, out.major_b);
  out.major_d = type.major_d == Major::mn ? Major::k : Major::mn;
  out.scale_a = type.scale_b, out.scale_b = type.scale_a;
  if (type.bias) out.bias = type.bias == GGEMM_BIAS_PER_COLUMN ? GGEMM_BIAS_PER_ROW : GGEMM_BIAS_PER_COLUMN;
  constexpr int of_a = operand_a | strided_a, of_b = operand_b | strided_b;
  out.unreachable = static_cast<std::uint8_t>((type.unreachable & of_a) << 1 | (type.unreachable & of_b) >> 1 | (type.unreachable & too_long));
  return out;
}

Problem transposed(const Problem& problem) {
  Problem out = problem;
  out.type = described_otherwise(problem.type);
  std::swap(out.m, out.n);
  transpose_matrices(problem, out);
  return out;
}

GroupedProblem transposed(const GroupedProblem& problem) {
  GroupedProblem out = problem;
  out.type = described_otherwise(problem.type);
  std::swap(out.m, out.n);
  std::swap(out.expected_m, out.expected_n);
  out.stored_m = out.m, out.expected_largest_m = out.expected_m;  // m and n are constants
  transpose_matrices(problem, out);
  return out;
}

kernels::GroupedParams transposed(const kernels::GroupedParams& params) {
  kernels::GroupedParams out = params;
  std::swap(out.m, out.n);
  transpose_matrices(params, out);
  return out;
}

Problem checks::in_rows(const Problem& problem) { return problem.type.major_d == Major::mn && !problem.type.gate ? transposed(problem) : problem; }

// (What checked mode finds it says of A or B, as they are described.)
GroupedProblem checks::in_rows(const GroupedProblem& problem) {
  const bool ordered = !(problem.type.grouped & (gathered_rows | scattered_rows | checked_groups)) && problem.form != GGEMM_GROUPS_RAGGED_M && problem.form != GGEMM_GROUPS_MASKED;
  const bool alike = is_constant(problem.m) && is_constant(problem.n);  // else hints of m would have to be some of n
  GroupedProblem out = problem;
  return problem.type.major_d == Major::mn && !problem.type.gate && ordered && alike && unpack(out) ? transposed(out) : problem;
}

}  // namespace ggemm::core
