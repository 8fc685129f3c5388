// SPDX-License-Identifier: Apache-2.0
// The checks of scales and gated pairs.
#include "core/problem_checks.hpp"

namespace ggemm::core {
namespace {

using std::int64_t;

constexpr const char* scale_names[] = {"none", "tensor", "vector", "1x128", "128x128"};
constexpr const char* gate_names[] = {"none", "halves", "interleaved"};
constexpr kernels::Source one{nullptr, 0, 1, GGEMM_SOURCE_CONST, kernels::source_itself}, own{nullptr, 0, 0, GGEMM_SOURCE_I64, kernels::source_itself};  // own: a group's, which nobody knows here

static_assert(kernels::scale_tensor == GGEMM_SCALE_TENSOR && kernels::scale_vector == GGEMM_SCALE_VECTOR && kernels::scale_block_1x128 == GGEMM_SCALE_BLOCK_1X128 && kernels::scale_block_128x128 == GGEMM_SCALE_BLOCK_128X128);

// One number of each group.
GroupedLayout numbers(const checks::Place& place, const ggemm_grouped_scale& scale, int64_t groups) {
  if (scale.pointers > 1) fail(GGEMM_ERROR_ARGUMENT, "%s.pointers=%u must be 0 or 1", place.name, scale.pointers);
  GroupedLayout out{one, one};
  out.pointers = scale.pointers;
  if (out.pointers) return out;
  out.group_stride = scale.group_stride == GGEMM_PACKED ? 1 : scale.group_stride;
  int64_t bytes;
  if (__builtin_mul_overflow(out.group_stride, groups, &bytes) || __builtin_mul_overflow(bytes, int64_t(4), &bytes))
    fail(GGEMM_ERROR_ARGUMENT, "%s.group_stride=%lld with groups=%lld: the groups do not fit in 2^63 bytes", place.name, checks::ll(out.group_stride), checks::ll(groups));
  return out;
}

// Along one index of the operand: how many scales are stored, and how groups share them.
struct Along {
  kernels::Source count;
  bool ragged, by_blocks;
};
// size: the operand's, as it is stored. ragged: it is what the groups share.
Along along(int kind, const kernels::Source& size, bool depth, bool ragged, const ggemm_grouped_scale& scale, int64_t groups) {
  const bool by_blocks = depth || kind == GGEMM_SCALE_BLOCK_128X128;
  const bool shared = ragged && (!depth || kernels::scaled_by_blocks(kind));
  Along out{size, shared && !scale.pointers, by_blocks};
  if (shared && scale.pointers) out.count = own;
  else if (size.kind == GGEMM_SOURCE_CONST) out.count.value = depth ? kernels::scales_deep(kind, size.value) : kernels::scales_along(kind, size.value);
  // Room for a partial block of each group.
  if (out.ragged && by_blocks && scale.group_stride != 0) out.count.value = size.value / kernels::scale_block + groups;
  if (depth && !kernels::scaled_by_blocks(kind)) out.count = one;
  return out;
}

GroupedLayout layout(const checks::Place& place, const ggemm_grouped_desc& desc, const ggemm_grouped_scale& scale, const Along& rows, const Along& cols) {
  if (scale.kind == GGEMM_SCALE_NONE) return {one, one};
  if (scale.kind == GGEMM_SCALE_TENSOR) return numbers(place, scale, desc.groups);
  const ggemm_grouped_matrix matrix{GGEMM_F32, scale.pointers, scale.row_stride, scale.col_stride, scale.group_stride};
  GroupedLayout out = checks::check_grouped_matrix(place, desc, matrix, GGEMM_F32, {rows.count, cols.count, rows.ragged, cols.ragged});
  const bool apart = (rows.ragged && rows.by_blocks) || (cols.ragged && cols.by_blocks);
  if (apart && scale.group_stride != 0) out.group_stride = out.start_stride;
  checks::require_distance(place, out);
  return out;
}

}  // namespace

const char* scale_name(int scale) { return scale >= 0 && scale <= GGEMM_SCALE_BLOCK_128X128 ? scale_names[scale] : "none"; }
const char* gate_name(int gate) { return gate >= 0 && gate <= GGEMM_GATE_INTERLEAVED ? gate_names[gate] : "none"; }

namespace checks {

void check_scale_kinds(ProblemType& type, int scale_a, int scale_b) {
  const auto check = [&](int kind, const char* name) {
    if (static_cast<unsigned>(kind) > GGEMM_SCALE_BLOCK_128X128) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%d is not a ggemm_scale_kind", name, kind);
    if (kind == GGEMM_SCALE_NONE) return;
    if (type.sum == Sum::f64)
      fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%s with a.dtype=%s, b.dtype=%s: scales are f32, and sums in f64 take none", name, scale_name(kind), dtype_name(type.a), dtype_name(type.b));
    if (int_epilogue(type)) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%s: i8 products stored as i32 stay integers and take no scales", name, scale_name(kind));
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
  if (gate && int_epilogue(type)) fail(GGEMM_ERROR_ARGUMENT, "epilogue.gate=%s: i8 products stored as i32 take no gate", gate_name(gate));
  type.gate = static_cast<std::uint8_t>(gate & 3);
}

void check_even(const ProblemType& type, int64_t n) {
  if (type.gate && n % 2) fail(GGEMM_ERROR_ARGUMENT, "n=%lld with epilogue.gate=%s: columns in pairs must be even in number", ll(n), gate_name(type.gate));
}

void check_no_c(const ProblemType& type, bool reads_c, const kernels::Scalar& beta) {
  if (type.gate && reads_c) fail(GGEMM_ERROR_ARGUMENT, "beta %s with epilogue.gate=%s: gated pairs have no C", beta.pointer ? "is in device memory" : "is not 0", gate_name(type.gate));
}

MatrixLayout check_scale(const Place& place, const ggemm_scale& scale, int64_t rows, int64_t cols) {
  if (scale.reserved0) fail(GGEMM_ERROR_ARGUMENT, "%s.reserved0=%u: reserved words must be 0", place.name, scale.reserved0);
  if (scale.kind <= GGEMM_SCALE_TENSOR) return {1, 1};  // a single number's are not looked at
  return check_matrix(place, {GGEMM_F32, 0, scale.row_stride, scale.col_stride, 0}, GGEMM_F32, rows, cols);
}

void check_scales(GroupedProblem& p, const ggemm_grouped_desc& desc, const kernels::Source& m, const kernels::Source& n, const kernels::Source& k) {
  const bool ragged_m = desc.form == GGEMM_GROUPS_RAGGED_M, ragged_k = desc.form == GGEMM_GROUPS_RAGGED_K;
  const ggemm_grouped_scale &a = desc.scale_a, &b = desc.scale_b;
  const bool gathered = p.a_index.kind != GGEMM_SOURCE_CONST && a.kind > GGEMM_SCALE_TENSOR;
  if (gathered && a.kind == GGEMM_SCALE_BLOCK_128X128) fail(GGEMM_ERROR_ARGUMENT, "scale_a.kind=128x128 with a_index: rows that lie anywhere are in no block");
  if (gathered && a.pointers) fail(GGEMM_ERROR_ARGUMENT, "scale_a.pointers=%u with a_index: the scales of A's rows are one matrix", a.pointers);
  p.scale_a = layout(place_scale_a, desc, a, along(a.kind, m, false, ragged_m, a, p.groups), along(a.kind, k, true, ragged_k, a, p.groups));
  if (gathered) p.scale_a.start_stride = 0;
  p.scale_b = layout(place_scale_b, desc, b, along(b.kind, k, true, ragged_k, b, p.groups), along(b.kind, n, false, false, b, p.groups));
}

}  // namespace checks
}  // namespace ggemm::core
