// SPDX-License-Identifier: Apache-2.0
// The checks of scales and gated pairs.
#include "core/error.hpp"
#include "core/problem_checks.hpp"

namespace ggemm::core {
namespace {

using std::int64_t;

constexpr const char* scale_names[] = {"none", "tensor", "vector", "1x128", "128x128"};
constexpr const char* gate_names[] = {"none", "halves", "interleaved"};
constexpr Place place_a{"scale_a", "rows of scales", "columns of scales", false}, place_b{"scale_b", place_a.rows, place_a.cols, false};
constexpr kernels::Source one{nullptr, 0, 1, GGEMM_SOURCE_CONST, 0};

static_assert(kernels::scale_block_128x128 == GGEMM_SCALE_BLOCK_128X128 && kernels::scale_tensor == GGEMM_SCALE_TENSOR && kernels::scale_vector == GGEMM_SCALE_VECTOR);

int64_t along(int kind, int64_t m) { return kernels::scales_along(kind, m); }
int64_t depth(int kind, int64_t k) { return kernels::scales_deep(kind, k); }

// The strides of a single number are not looked at.
MatrixLayout layout(const Place& place, const ggemm_scale& scale, int64_t rows, int64_t cols) {
  if (scale.reserved0) fail(GGEMM_ERROR_ARGUMENT, "%s.reserved0=%u: reserved words must be 0", place.name, scale.reserved0);
  if (scale.kind <= GGEMM_SCALE_TENSOR) return {1, 1, false};
  return check_matrix(place, {GGEMM_F32, 0, scale.row_stride, scale.col_stride, 0}, GGEMM_F32, rows, cols);
}

GroupedLayout layout(const Place& place, const ggemm_grouped_scale& scale, int64_t groups) {
  if (scale.reserved0) fail(GGEMM_ERROR_ARGUMENT, "%s.reserved0=%u: reserved words must be 0", place.name, scale.reserved0);
  if (scale.kind == GGEMM_SCALE_NONE) return {one, one};
  GroupedLayout out = check_grouped_matrix(place, {GGEMM_F32, 0, scale.row_stride, scale.col_stride, 0}, groups);
  if (scale.kind != GGEMM_SCALE_TENSOR) return out;
  if (out.row_stride.kind != GGEMM_SOURCE_CONST) fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride.kind=%d: of scales by tensor it must be a constant", place.name, out.row_stride.kind);
  return {out.row_stride.value == GGEMM_PACKED ? one : out.row_stride, one};
}

}  // namespace

const char* scale_name(int scale) { return scale >= 0 && scale <= GGEMM_SCALE_BLOCK_128X128 ? scale_names[scale] : "none"; }
const char* gate_name(int gate) { return gate >= 0 && gate <= GGEMM_GATE_INTERLEAVED ? gate_names[gate] : "none"; }

void check_scale_kinds(ProblemType& type, int scale_a, int scale_b) {
  const auto check = [&](int kind, const char* name) {
    if (static_cast<unsigned>(kind) > GGEMM_SCALE_BLOCK_128X128) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%d is not a ggemm_scale_kind", name, kind);
    if (kind == GGEMM_SCALE_NONE) return;
    if (type.sum == Sum::f64) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%s with a.dtype=%s, b.dtype=%s: scales are f32, and sums in f64 take none", name, scale_name(kind), dtype_name(type.a), dtype_name(type.b));
    if (type.sum == Sum::i32 && type.d == GGEMM_I32) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%s: i8 products stored as i32 stay integers and take no scales", name, scale_name(kind));
  };
  check(scale_a, "scale_a");
  check(scale_b, "scale_b");
  type.scale_a = static_cast<std::uint8_t>(scale_a & 7);
  type.scale_b = static_cast<std::uint8_t>(scale_b & 7);
  // A block's 128 products of i8 are below 2^24 in all, where f32 counts every integer.
  if (scaled_by_blocks(type)) type.sum = Sum::f32;
}

void check_gate(ProblemType& type, int gate) {
  if (static_cast<unsigned>(gate) > GGEMM_GATE_INTERLEAVED) fail(GGEMM_ERROR_ARGUMENT, "epilogue.gate=%d is not a ggemm_gate", gate);
  if (gate && type.sum == Sum::i32 && type.d == GGEMM_I32) fail(GGEMM_ERROR_ARGUMENT, "epilogue.gate=%s: i8 products stored as i32 take no gate", gate_name(gate));
  type.gate = static_cast<std::uint8_t>(gate & 3);
}

void check_even(const ProblemType& type, int64_t n) {
  if (type.gate && n % 2) fail(GGEMM_ERROR_ARGUMENT, "n=%lld with epilogue.gate=%s: columns in pairs must be even in number", static_cast<long long>(n), gate_name(type.gate));
}

void check_no_c(const ProblemType& type, bool reads_c, const kernels::Scalar& beta) {
  if (type.gate && reads_c) fail(GGEMM_ERROR_ARGUMENT, "beta %s with epilogue.gate=%s: gated pairs have no C", beta.pointer ? "is in device memory" : "is not 0", gate_name(type.gate));
}

void check_scales(Problem& p, const ggemm_scale& a, const ggemm_scale& b) {
  p.scale_a = layout(place_a, a, along(a.kind, p.m), depth(a.kind, p.k));
  p.scale_b = layout(place_b, b, depth(b.kind, p.k), along(b.kind, p.n));
}

void check_scales(GroupedProblem& p, const ggemm_grouped_scale& a, const ggemm_grouped_scale& b) {
  p.scale_a = layout(place_a, a, p.groups);
  p.scale_b = layout(place_b, b, p.groups);
}

void bind_scales(kernels::GemmParams& params, const Problem& problem, const void* a, const void* b) {
  const bool product = params.m > 0 && params.n > 0 && params.k > 0;
  const auto bound = [&](const Place& place, int kind, const MatrixLayout& layout, const void* data, int64_t rows, int64_t cols) -> kernels::Matrix {
    if (kind == GGEMM_SCALE_NONE || !product) return {nullptr, 0, 0};
    check_pointer(data, place.name, sizeof(float), true, "scales, and m, n and k above 0");
    const int64_t row_stride = layout.packed_rows ? cols : layout.row_stride;
    if (kind != GGEMM_SCALE_TENSOR) check_strides(place, GGEMM_F32, row_stride, layout.col_stride, rows, cols);
    return {data, row_stride, layout.col_stride};
  };
  const int kind_a = problem.type.scale_a, kind_b = problem.type.scale_b;
  params.scale_a = bound(place_a, kind_a, problem.scale_a, a, along(kind_a, params.m), depth(kind_a, params.k));
  params.scale_b = bound(place_b, kind_b, problem.scale_b, b, depth(kind_b, params.k), along(kind_b, params.n));
  for (const void* scale : {params.scale_a.data, params.scale_b.data})
    if (scale && scale == params.d.data) fail(GGEMM_ERROR_ARGUMENT, "d=%p is %s too: D must not overlap the scales", scale, scale == a ? "scale_a" : "scale_b");
}

void bind_scales(kernels::GroupedParams& params, const GroupedProblem& problem, const void* a, const void* b) {
  const auto bound = [&](const Place& place, int kind, const GroupedLayout& layout, const void* data) -> kernels::SourceMatrix {
    if (kind == GGEMM_SCALE_NONE) return {nullptr, one, one};
    check_pointer(data, place.name, kind == GGEMM_SCALE_TENSOR ? sizeof(float) : sizeof(void*), params.groups > 0, "groups above 0");
    return {static_cast<const void* const*>(data), layout.row_stride, layout.col_stride};
  };
  params.scale_a = bound(place_a, problem.type.scale_a, problem.scale_a, a);
  params.scale_b = bound(place_b, problem.type.scale_b, problem.scale_b, b);
}

}  // namespace ggemm::core
