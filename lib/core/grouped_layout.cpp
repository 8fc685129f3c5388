// SPDX-License-Identifier: Apache-2.0
// The checks of where groups' matrices lie: strides of each, and the distance from one to the next.
#include <algorithm>

#include "core/problem_checks.hpp"

namespace ggemm::core {
namespace {

using namespace checks;
using std::int64_t;

bool all_constant(const GroupedLayout& layout, const Stored& stored) {
  return is_constant(stored.rows) && is_constant(stored.cols) && is_constant(layout.row_stride) && is_constant(layout.col_stride);
}

// The distance of groups that follow each other.
int64_t packed_group_stride(const Place& place, const GroupedLayout& layout, const Stored& stored) {
  if (!all_constant(layout, stored)) return GGEMM_PACKED;
  const int64_t row_stride = layout.row_stride.value == GGEMM_PACKED ? stored.cols.value : layout.row_stride.value;
  int64_t down, across;
  if (__builtin_mul_overflow(stored.rows.value, row_stride, &down) || __builtin_mul_overflow(stored.cols.value, layout.col_stride.value, &across) ||
      down == INT64_MIN || across == INT64_MIN)
    fail(GGEMM_ERROR_ARGUMENT, "%s: %lldx%lld elements with strides %lld, %lld do not fit in 2^63 bytes", place.name, ll(stored.rows.value),
         ll(stored.cols.value), ll(row_stride), ll(layout.col_stride.value));
  return std::max(down < 0 ? -down : down, across < 0 ? -across : across);
}

// Groups whose matrices are apart by a distance.
void place_apart(const Place& place, const ggemm_grouped_matrix& matrix, int dtype, int64_t groups, const Stored& stored, GroupedLayout& layout) {
  if (groups <= 1) return;  // nothing is at a distance
  layout.group_stride = matrix.group_stride == GGEMM_PACKED ? packed_group_stride(place, layout, stored) : matrix.group_stride;
  if (layout.group_stride == GGEMM_PACKED) return;
  const bool empty = is_constant(stored.rows, 0) || is_constant(stored.cols, 0);
  if (place.output && !empty && matrix.group_stride == 0)
    fail(GGEMM_ERROR_ARGUMENT, "%s.group_stride=0 with groups=%lld: groups of D must not coincide", place.name, ll(groups));
  int64_t bytes;
  if (__builtin_mul_overflow(layout.group_stride, groups - 1, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(dtype_size(dtype)), &bytes))
    fail(GGEMM_ERROR_ARGUMENT, "%s.group_stride=%lld with groups=%lld: the groups do not fit in 2^63 bytes", place.name, ll(layout.group_stride),
         ll(groups));
  const int64_t row_stride = layout.row_stride.value == GGEMM_PACKED ? stored.cols.value : layout.row_stride.value;
  if (place.output && !empty && all_constant(layout, stored) && groups_meet({groups, layout.group_stride}, {stored.rows.value, row_stride}, {stored.cols.value, layout.col_stride.value}))
    fail(GGEMM_ERROR_ARGUMENT, "%s.group_stride=%lld with groups=%lld of %lldx%lld elements, strides %lld, %lld: groups of D must not overlap", place.name,
         ll(layout.group_stride), ll(groups), ll(stored.rows.value), ll(stored.cols.value), ll(layout.row_stride.value), ll(layout.col_stride.value));
}

}  // namespace

kernels::Source checks::check_source(const ggemm_source& source, const char* owner, const char* field, int64_t groups) {
  if (static_cast<unsigned>(source.kind) > GGEMM_SOURCE_I64)
    fail(GGEMM_ERROR_ARGUMENT, "%s%s.kind=%d is not a ggemm_source_kind", owner, field, static_cast<int>(source.kind));
  if (source.reserved0) fail(GGEMM_ERROR_ARGUMENT, "%s%s.reserved0=%u: reserved words must be 0", owner, field, source.reserved0);
  if (source.kind == GGEMM_SOURCE_CONST) return {nullptr, 0, source.value, 0, kernels::source_itself};
  const int64_t bytes = source.kind == GGEMM_SOURCE_I32 ? 4 : 8;
  if (!source.data && groups > 0) fail(GGEMM_ERROR_ARGUMENT, "%s%s.data is NULL with groups=%lld", owner, field, ll(groups));
  if (reinterpret_cast<std::uintptr_t>(source.data) % bytes || source.byte_stride % bytes)
    fail(GGEMM_ERROR_ARGUMENT, "%s%s.data=%p, byte_stride=%lld must be multiples of %lld bytes", owner, field, source.data, ll(source.byte_stride),
         ll(bytes));
  return {source.data, source.byte_stride, 0, static_cast<kernels::i32>(source.kind), kernels::source_itself};
}

kernels::Source checks::check_size_source(const ggemm_source& source, const char* field, int64_t groups) {
  const kernels::Source checked = check_source(source, field, "", groups);
  if (is_constant(checked)) check_size(checked.value, field);
  return checked;
}

// Of C only where C is read.
void checks::require_distance(const Place& place, const GroupedLayout& layout) {
  if (!layout.pointers && layout.group_stride == GGEMM_PACKED)
    fail(GGEMM_ERROR_ARGUMENT,
         "%s.group_stride=GGEMM_PACKED with %s, %s, %s.row_stride or %s.col_stride a group's own: the distance of groups must be given", place.name,
         place.rows, place.cols, place.name, place.name);
}

GroupedLayout checks::check_grouped_matrix(const Place& place, const ggemm_grouped_desc& desc, const ggemm_grouped_matrix& matrix, int dtype,
                                           const Stored& stored) {
  const bool by_form = desc.form == GGEMM_GROUPS_POINTERS;
  const int64_t groups = desc.groups;
  if (matrix.pointers > 1) fail(GGEMM_ERROR_ARGUMENT, "%s.pointers=%u must be 0 or 1", place.name, matrix.pointers);
  GroupedLayout layout{check_source(matrix.row_stride, place.name, ".row_stride", groups),
                       check_source(matrix.col_stride, place.name, ".col_stride", groups)};
  if (is_constant(layout.col_stride, GGEMM_PACKED)) layout.col_stride.value = 1;
  if (is_constant(layout.row_stride, GGEMM_PACKED) && !is_constant(layout.col_stride, 1))
    fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride=GGEMM_PACKED: a packed row stride needs col_stride 1 or GGEMM_PACKED", place.name);
  layout.pointers = by_form || matrix.pointers;
  // Where all is constant, the checks of a plain problem know more.
  const bool known = all_constant(layout, stored);
  if (!known && place.output && (is_constant(layout.row_stride, 0) || is_constant(layout.col_stride, 0)))
    fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride or col_stride is a constant 0: elements of D must not coincide", place.name);
  if ((layout.pointers || stored.one()) && matrix.group_stride != 0 && matrix.group_stride != GGEMM_PACKED)
    fail(GGEMM_ERROR_ARGUMENT, "%s.group_stride=%lld with form=%s%s: it is not looked at, and must be 0 or GGEMM_PACKED", place.name,
         ll(matrix.group_stride), form_name(desc.form), layout.pointers && !by_form ? " and pointers" : "");
  if (stored.one()) {
    if (matrix.pointers) fail(GGEMM_ERROR_ARGUMENT, "%s.pointers=1 with form=%s: it is one matrix there", place.name, form_name(desc.form));
    if (!is_constant(layout.row_stride) || !is_constant(layout.col_stride))
      fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride or col_stride is a group's own with form=%s: it is one matrix there, of constant strides", place.name,
           form_name(desc.form));
  }
  if (known) {
    const int64_t row_stride = layout.row_stride.value == GGEMM_PACKED ? stored.cols.value : layout.row_stride.value;
    check_strides(place, dtype, row_stride, layout.col_stride.value, stored.rows.value, stored.cols.value);
    if (stored.one()) layout.row_stride.value = row_stride;
  }
  if (by_form) return layout;
  if (stored.ragged_rows) layout.start_stride = layout.row_stride.value;
  if (stored.ragged_cols) layout.start_stride = layout.col_stride.value;
  if (!layout.pointers && !stored.one()) place_apart(place, matrix, dtype, groups, stored, layout);
  return layout;
}

}  // namespace ggemm::core
