// SPDX-License-Identifier: Apache-2.0
#include "host/groups.hpp"

#include <cstdint>

#include "core/error.hpp"
#include "scheduler/group_check.cuh"

namespace ggemm::host {
namespace {

using kernels::Fault;
using kernels::Field;
using kernels::i32;
using kernels::i64;

static_assert(static_cast<int>(Fault::index) == GGEMM_FAULT_INDEX && static_cast<int>(Field::scale_b) == GGEMM_FIELD_SCALE_B);

constexpr const char* names[] = {"", "m", "n", "k", "a", "b", "c", "d", "bias", "scale_a", "scale_b"};  // by Field

struct Operand {
  const void* data;
  int dtype;
  i64 rows, columns;
  kernels::Matrix matrix;
};
Operand operand_of(const core::ProblemType& type, const kernels::GemmParams& x, Field field) {
  switch (field) {
    case Field::a:
      return {x.a.data, type.a, x.m, x.k, x.a};
    case Field::b:
      return {x.b.data, type.b, x.k, x.n, x.b};
    case Field::c:
      return {x.c.data, type.c, x.m, x.n, x.c};
    case Field::d:
      return {x.d.data, type.d, x.m, core::columns_of_d(type, x.n), x.d};
    case Field::scale_a:
      return {x.scale_a.data, GGEMM_F32, kernels::scales_along(type.scale_a, x.m), kernels::scales_deep(type.scale_a, x.k), x.scale_a};
    case Field::scale_b:
      return {x.scale_b.data, GGEMM_F32, kernels::scales_deep(type.scale_b, x.k), kernels::scales_along(type.scale_b, x.n), x.scale_b};
    default:
      return {x.bias, type.bias_dtype, 0, 0, {}};
  }
}

[[noreturn]] void fail_number(const core::ProblemType& type, const kernels::GroupedParams& p, i64 g, const kernels::GroupFault& what) {
  const kernels::Source& source = what.field == Field::m ? p.m : what.field == Field::n ? p.n : p.k;
  const char* const name = names[static_cast<int>(what.field)];
  const i64 number = source.kind ? kernels::read_number(source, g) : source.value;
  if (what.fault == Fault::end)
    core::fail(GGEMM_ERROR_ARGUMENT, "ends[%lld] = %lld, after %lld and with %s=%lld in all: ends must not fall or pass the last", g, number,
               g > 0 ? kernels::read_number(source, g - 1) : 0, name, source.value);
  if (source.mode == kernels::source_count)
    core::fail(GGEMM_ERROR_ARGUMENT, "counts[%lld] = %lld, with room for %s=%lld", g, number, name, source.value);
  if (number >= 0 && type.gate)
    core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld] = %lld with epilogue.gate=%s: columns in pairs must be even in number", name, g, number, core::gate_name(type.gate));
  core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld] = %lld: sizes must be 0 or more", name, g, number);
}

[[noreturn]] void fail_operand(const core::ProblemType& type, const kernels::GemmParams& x, i64 g, const kernels::GroupFault& what) {
  const Operand o = operand_of(type, x, what.field);
  const char* const name = names[static_cast<int>(what.field)];
  switch (what.fault) {
    case Fault::null:
      core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld] is NULL", name, g);
    case Fault::align:
      core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld] = %p is not a multiple of its element's %zu bytes", name, g, o.data, core::dtype_size(o.dtype));
    case Fault::stride:
      if (x.d.row_stride == 0 && o.rows > 1)
        core::fail(GGEMM_ERROR_ARGUMENT, "d.row_stride[%lld] = 0 with m[%lld] = %lld: rows of D would share their elements", g, g, x.m);
      if (x.d.col_stride == 0 && o.columns > 1)
        core::fail(GGEMM_ERROR_ARGUMENT, "d.col_stride[%lld] = 0 with n[%lld] = %lld: columns of D would share their elements", g, g, x.n);
      core::fail(GGEMM_ERROR_ARGUMENT, "d.row_stride[%lld] = %lld, d.col_stride[%lld] = %lld: of %lld x %lld elements some would share their place", g,
                 x.d.row_stride, g, x.d.col_stride, o.rows, o.columns);
    default:
      core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld]: %lld x %lld elements with strides %lld and %lld span more than 2^63 bytes", name, g, o.rows,
                 o.columns, o.matrix.row_stride, o.matrix.col_stride);
  }
}

[[noreturn]] void fail_index(const kernels::GroupedParams& p, i64 row, const kernels::GroupFault& what) {
  const kernels::Source& index = what.field == Field::a ? p.rows.a_index : p.rows.d_index;
  const char* const name = names[static_cast<int>(what.field)];
  core::fail(GGEMM_ERROR_ARGUMENT, "%s_index[%lld] = %lld with %s_rows=%lld", name, row, kernels::read_number(index, row), name, index.value);
}

// The first of group g's rows whose index is no row; as many as there are if there is none.
i64 first_wrong_row(const kernels::GroupedParams& p, i64 g, kernels::GroupFault& what) {
  const kernels::GroupRows rows = kernels::group_rows(p, g);
  const i64 count = rows.a_index.kind || rows.d_index.kind ? kernels::group_row_count(p, g) : 0;
  for (i64 i = 0; i < count; ++i)
    if (what = kernels::index_fault(rows, i); what.fault != Fault::none) return i;
  return count;
}

}  // namespace

void check_c(const core::ProblemType& type, const kernels::GemmParams& params) {
  if (!params.c.data && params.m > 0 && params.n > 0 && !kernels::is_zero(params.epilogue.beta, core::group_checks(type, false).scalar))
    core::fail(GGEMM_ERROR_ARGUMENT, "c is NULL, but beta is not 0");
}

FoundFault find_fault(const kernels::GroupedParams& grouped, const kernels::GroupChecks& checks) {
  for (i64 g = 0; g < grouped.groups; ++g) {
    kernels::GroupFault what = kernels::group_fault(grouped, g, checks);
    if (what.fault != Fault::none) return {what, g, 0};
    const i64 row = checks.numbers ? first_wrong_row(grouped, g, what) : 0;
    if (what.fault != Fault::none) return {what, g, kernels::group_start(grouped, g) + row};
  }
  return {};
}

i64 check_groups(const core::ProblemType& type, const kernels::GroupedParams& grouped) {
  if (type.transposed) {  // sentences are of what was described
    core::ProblemType described = core::transposed(type);
    described.transposed = 0;
    return check_groups(described, core::transposed(grouped));
  }
  const bool checked = grouped.status != nullptr;
  const FoundFault found = find_fault(grouped, core::group_checks(type, checked));
  if (checked) found.tell(const_cast<i32*>(grouped.status));
  if (found.what.fault == Fault::index) fail_index(grouped, found.row, found.what);
  if (found.what.fault == Fault::size || found.what.fault == Fault::end) fail_number(type, grouped, found.group, found.what);
  if (found.what.fault != Fault::none) fail_operand(type, kernels::group_params(grouped, found.group, core::group_shape(type)), found.group, found.what);
  i64 filled = 0;
  for (i64 g = 0; g < grouped.groups; ++g) filled += kernels::read_source(grouped.m, g) > 0 && kernels::read_source(grouped.n, g) > 0;
  return filled;
}

}  // namespace ggemm::host
