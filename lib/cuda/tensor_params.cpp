// SPDX-License-Identifier: Apache-2.0
#include "cuda/tensor_params.hpp"

#include "lines.cuh"
#include "scheduler/raster.cuh"
#include "tile/terms.cuh"

namespace ggemm::cuda {
namespace {

using core::Major;

int size_of(int dtype) { return static_cast<int>(core::dtype_size(dtype)); }

// How a kernel's operands and D lie, and the boxes that it moves of them.
struct Layout {
  const core::ProblemType& type;
  const core::Config& config;

  bool mn_a() const { return type.major_a == Major::mn; }
  bool mn_b() const { return type.major_b == Major::mn; }
  bool mn_d() const { return type.major_d == Major::mn; }
  bool tf32() const { return type.compute == GGEMM_COMPUTE_TF32; }
  int box_a() const { return kernels::box_rows(config.tile_m, config.tile_k, size_of(type.a), mn_a(), config.cluster_n); }
  int box_b() const { return kernels::box_rows(config.tile_n, config.tile_k, size_of(type.b), mn_b(), config.cluster_m); }
  // Of D, which a warpgroup stores; pairs have no C.
  int columns() const { return kernels::stored_columns(config.tile_n / config.warps_n, config.cluster_k, type.gate != GGEMM_GATE_NONE); }
  int size_c() const { return size_of(type.gate ? type.d : type.c); }
  bool boxes() const { return kernels::store_by_boxes(columns(), size_c(), size_of(type.d), mn_d()); }
  int box_d() const { return mn_d() ? kernels::store_columns(columns(), size_c(), size_of(type.d), true) : 64; }
};

kernels::TensorMap map_of(const Device& device, int dtype, bool tf32, const kernels::Lines& lines, int box) {
  return device.tensor_map(dtype, tf32, lines.data, lines.length, lines.lines, kernels::pitch(lines, size_of(dtype)), box);
}

// Any matrix: a map of it is right but for what a kernel will replace.
kernels::Lines any_lines(const void* address) { return {address, 16, 16, 1, 16}; }

}  // namespace

kernels::TensorParams tensor_params(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GemmParams& p) {
  const Layout layout{type, config};
  kernels::TensorParams out{};
  out.problem = p;
  const auto count = [](std::int64_t tiles) { return static_cast<kernels::u32>(tiles); };  // few enough, as was checked
  out.walk = kernels::tile_walk(count(kernels::ceil_div(p.m, config.tile_m)), count(kernels::ceil_div(p.n, config.tile_n)), count(kernels::ceil_div(p.k, config.tile_k)), p.raster, config.cluster_m, config.cluster_n);
  const std::int64_t depth = core::by_terms(type) ? kernels::term_count * kernels::term_depth(p.k, config.tile_k) : p.k;
  if (p.k > 0) {
    out.a = map_of(device, type.a, layout.tf32(), kernels::lines_of(p.a, p.m, depth, layout.mn_a()), layout.box_a());
    out.b = map_of(device, type.b, layout.tf32(), kernels::lines_of(p.b, depth, p.n, !layout.mn_b()), layout.box_b());
  }
  const kernels::Lines d = kernels::lines_of(p.d, p.m, type.gate ? p.n / 2 : p.n, layout.mn_d());
  if (layout.boxes()) out.store = kernels::store_way(d, size_of(type.d));
  if (out.store != kernels::TensorStore::threads) out.d = map_of(device, type.d, false, d, layout.box_d());
  return out;
}

kernels::PrepareParams prepare_params(const Device& device, const core::ProblemType& described, std::span<const core::Config> configs, const kernels::GroupedParams& p, void* workspace) {
  kernels::PrepareParams out{};
  out.problem = p;
  out.records = static_cast<kernels::GroupRecord*>(workspace);
  kernels::i32* tiles = reinterpret_cast<kernels::i32*>(out.records + p.groups);
  const kernels::Lines any = any_lines(workspace);
  for (std::size_t i = 0; i < configs.size(); ++i, tiles += p.groups) {
    const bool swap = configs[i].swap;
    const core::ProblemType type = core::kernel_type(described, configs[i]);
    const core::Config c = swap ? core::transposed(configs[i]) : configs[i];
    const Layout layout{type, c};
    kernels::PrepareKernel& kernel = out.kernels[i];
    kernel.a = map_of(device, type.a, layout.tf32(), any, layout.box_a());
    kernel.b = map_of(device, type.b, layout.tf32(), any, layout.box_b());
    kernel.boxes = layout.boxes();
    if (kernel.boxes) kernel.d = map_of(device, type.d, false, any, layout.box_d());
    kernel.tiles = tiles;
    kernel.tile_m = c.tile_m, kernel.tile_n = c.tile_n, kernel.cluster_m = c.cluster_m, kernel.cluster_n = c.cluster_n;
    kernel.size_a = size_of(type.a), kernel.size_b = size_of(type.b), kernel.size_d = size_of(type.d);
    kernel.mn_a = layout.mn_a(), kernel.mn_b = layout.mn_b(), kernel.mn_d = layout.mn_d();
    kernel.swap = swap;
  }
  out.taken = reinterpret_cast<kernels::u32*>(tiles);
  out.large_above = configs.size() > 1 ? configs[0].large_above : -1;
  out.shape = core::group_shape(described);
  out.by_index = p.rows.a_index.kind ? 1 : 0;
  return out;
}

std::size_t prepare_bytes(std::int64_t groups) { return static_cast<std::size_t>(groups) * (sizeof(kernels::GroupRecord) + 2 * sizeof(kernels::i32)) + sizeof(kernels::u32); }

}  // namespace ggemm::cuda
