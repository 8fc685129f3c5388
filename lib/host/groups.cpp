// SPDX-License-Identifier: Apache-2.0
#include "host/groups.hpp"

#include <cstdint>

#include "core/error.hpp"
#include "epilogue/value.cuh"
#include "scheduler/group_params.cuh"

namespace ggemm::host {
namespace {

using kernels::i64;

bool beta_is_zero(const core::ProblemType& type, const kernels::EpilogueParams& epilogue) {
  if (type.sum == core::Sum::f64) return kernels::scalar_value<double>(epilogue.beta) == 0;
  if (type.sum == core::Sum::i32 && type.d == GGEMM_I32) return kernels::scalar_value<kernels::i32>(epilogue.beta) == 0;
  return kernels::scalar_value<float>(epilogue.beta) == 0;
}

void check_pointer(const char* name, const void* pointer, int dtype, i64 group) {
  if (!pointer) core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld] is NULL", name, group);
  const std::size_t size = core::dtype_size(dtype);
  if (reinterpret_cast<std::uintptr_t>(pointer) % size != 0)
    core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld] = %p is not a multiple of its element's %zu bytes", name, group, pointer, size);
}

// Offsets in bytes are counted in 64 bits.
void check_span(const char* name, const kernels::Matrix& matrix, i64 rows, i64 columns, int dtype, i64 group) {
  i64 down, across, all, bytes;
  if (__builtin_mul_overflow(rows - 1, matrix.row_stride, &down) || __builtin_mul_overflow(columns - 1, matrix.col_stride, &across) ||
      __builtin_add_overflow(down, across, &all) || __builtin_mul_overflow(all, static_cast<i64>(core::dtype_size(dtype)), &bytes))
    core::fail(GGEMM_ERROR_ARGUMENT, "%s[%lld]: %lld x %lld elements with strides %lld and %lld span more than 2^63 bytes", name, group, rows,
               columns, matrix.row_stride, matrix.col_stride);
}

void check_scale(const char* name, int kind, const kernels::Matrix& scales, i64 rows, i64 columns, i64 group) {
  if (!kind) return;
  check_pointer(name, scales.data, GGEMM_F32, group);
  check_span(name, scales, rows, columns, GGEMM_F32, group);
}

void check_d_strides(const kernels::GemmParams& params, i64 group) {
  if (params.d.row_stride == 0 && params.m > 1)
    core::fail(GGEMM_ERROR_ARGUMENT, "d.row_stride[%lld] = 0 with m[%lld] = %lld: rows of D would share their elements", group, group, params.m);
  if (params.d.col_stride == 0 && params.n > 1)
    core::fail(GGEMM_ERROR_ARGUMENT, "d.col_stride[%lld] = 0 with n[%lld] = %lld: columns of D would share their elements", group, group, params.n);
}

}  // namespace

void check_c(const core::ProblemType& type, const kernels::GemmParams& params) {
  if (!params.c.data && params.m > 0 && params.n > 0 && !beta_is_zero(type, params.epilogue))
    core::fail(GGEMM_ERROR_ARGUMENT, "c is NULL, but beta is not 0");
}

i64 check_groups(const core::ProblemType& type, const kernels::GroupedParams& grouped) {
  i64 filled = 0;
  for (i64 g = 0; g < grouped.groups; ++g) {
    const kernels::GemmParams params = kernels::group_params(grouped, g, core::group_shape(type));
    if (params.m == 0 || params.n == 0) continue;
    if (type.gate && params.n % 2) core::fail(GGEMM_ERROR_ARGUMENT, "n[%lld] = %lld with epilogue.gate=%s: columns in pairs must be even in number", g, params.n, core::gate_name(type.gate));
    const i64 columns = type.gate ? params.n / 2 : params.n;
    check_pointer("d", params.d.data, type.d, g);
    check_d_strides(params, g);
    check_span("d", params.d, params.m, columns, type.d, g);
    if (params.k > 0) {
      check_pointer("a", params.a.data, type.a, g);
      check_pointer("b", params.b.data, type.b, g);
      check_span("a", params.a, params.m, params.k, type.a, g);
      check_span("b", params.b, params.k, params.n, type.b, g);
      check_scale("scale_a", type.scale_a, params.scale_a, kernels::scales_along(type.scale_a, params.m), kernels::scales_deep(type.scale_a, params.k), g);
      check_scale("scale_b", type.scale_b, params.scale_b, kernels::scales_deep(type.scale_b, params.k), kernels::scales_along(type.scale_b, params.n), g);
    }
    if (!beta_is_zero(type, params.epilogue)) {
      check_pointer("c", params.c.data, type.c, g);
      check_span("c", params.c, params.m, params.n, type.c, g);
    }
    if (type.bias != GGEMM_BIAS_NONE) check_pointer("bias", params.bias, type.bias_dtype, g);
    ++filled;
  }
  return filled;
}

}  // namespace ggemm::host
