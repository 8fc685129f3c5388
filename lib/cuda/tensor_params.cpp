// SPDX-License-Identifier: Apache-2.0
#include "cuda/tensor_params.hpp"

#include <algorithm>

namespace ggemm::cuda {
namespace {

using core::Major;

// `lines` of `length` contiguous elements, `stride` apart. A single line may have any stride, but is told a legal one.
kernels::TensorMap map_of(const Device& device, int dtype, bool tf32, const void* data, std::int64_t length, std::int64_t lines, std::int64_t stride, int box_lines) {
  const std::int64_t size = static_cast<std::int64_t>(core::dtype_size(dtype)), bytes = lines > 1 ? stride * size : (length * size + 15) / 16 * 16;
  return device.tensor_map(dtype, tf32, data, length, lines, bytes, box_lines);
}

kernels::TensorMap operand(const Device& device, int dtype, bool tf32, const void* data, Major major, std::int64_t span, std::int64_t depth, std::int64_t span_stride, std::int64_t depth_stride, int tile_span, int tile_depth, int share) {
  const bool mn = major == Major::mn;
  const int box = kernels::box_rows(tile_span, tile_depth, static_cast<int>(core::dtype_size(dtype)), mn, share);
  return mn ? map_of(device, dtype, tf32, data, span, depth, depth_stride, box) : map_of(device, dtype, tf32, data, depth, span, span_stride, box);
}

}  // namespace

kernels::TensorParams tensor_params(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GemmParams& p) {
  kernels::TensorParams out{};
  out.problem = p;
  if (p.k > 0) {
    const bool tf32 = type.compute == GGEMM_COMPUTE_TF32;
    out.a = operand(device, type.a, tf32, p.a.data, type.major_a, p.m, p.k, p.a.row_stride, p.a.col_stride, config.tile_m, config.tile_k, config.cluster_n);
    out.b = operand(device, type.b, tf32, p.b.data, type.major_b, p.n, p.k, p.b.col_stride, p.b.row_stride, config.tile_n, config.tile_k, config.cluster_m);
  }
  const bool mn = type.major_d == Major::mn;
  const auto size = static_cast<std::int64_t>(core::dtype_size(type.d));
  const int columns = config.tile_n / config.warps_n, size_c = static_cast<int>(core::dtype_size(type.c)), size_d = static_cast<int>(size);
  // D as rows of contiguous elements, or as columns.
  const kernels::Matrix d = mn ? kernels::Matrix{p.d.data, p.d.col_stride, p.d.row_stride} : p.d;
  const std::int64_t length = mn ? p.m : p.n, lines = mn ? p.n : p.m;
  const bool fits = std::max(length, lines) < std::int64_t(1) << 31 && d.row_stride > 0 && d.row_stride < (std::int64_t(1) << 40) / size;
  if (kernels::store_by_boxes(columns, size_c, size_d, mn) && fits && d.col_stride == 1 && d.row_stride * size % 16 == 0 && reinterpret_cast<std::uintptr_t>(d.data) % 16 == 0) {
    out.d = map_of(device, type.d, false, d.data, length, lines, d.row_stride, mn ? kernels::store_columns(columns, size_c, size_d, mn) : 64);
    out.store = length * size % 16 == 0 ? kernels::TensorStore::boxes : kernels::TensorStore::whole_boxes;
  }
  return out;
}

}  // namespace ggemm::cuda
