// SPDX-License-Identifier: Apache-2.0
// Before a grouped product by tensor maps: reads each group's sizes, strides and pointers, and writes its record. Four threads a group: one
// for each of A, B and D, one for the rest.
#include "ptx/launch.cuh"
#include "ptx/tensor.cuh"
#include "scheduler/group_params.cuh"
#include "scheduler/raster.cuh"
#include "lines.cuh"

using namespace ggemm::kernels;

// Writes the map of `lines` after `model`, if it can be told; says whether.
GG_DEVICE bool write_map(TensorMap& out, const TensorMap& model, const Lines& lines, int size) {
  if (lines.lines == 0 || lines.length == 0 || !reachable(lines, size)) return false;
  out = model;
  ptx::tensor_map_replace(out, lines.data, static_cast<u32>(lines.length), static_cast<u32>(lines.lines), static_cast<u64>(pitch(lines, size)));
  ptx::tensor_map_release();
  return true;
}

extern "C" __global__ void __launch_bounds__(prepare_threads) GG_KERNEL_NAME(const __grid_constant__ PrepareParams params) {
  ptx::launch_next();
  const i64 index = i64(blockIdx.x) * prepare_threads + threadIdx.x, group = index / prepare_lanes;
  const int lane = static_cast<int>(threadIdx.x) % 32, part = lane % prepare_lanes;
  const bool on = group < params.problem.groups;
  bool reached = false;
  if (index == 0) *params.taken = 0;
  if (on) {
    const GemmParams upright = group_params(params.problem, group, params.shape);
    const int large = params.large_above >= 0 && upright.m > params.large_above ? 1 : 0;
    const PrepareKernel& kernel = params.kernels[large];
    const GemmParams p = kernel.swap ? transposed(upright) : upright;
    GroupRecord& record = params.records[group];
    if (part == 0) reached = write_map(record.a, kernel.a, lines_of(p.a, p.m, p.k, kernel.mn_a), kernel.size_a);
    if (part == 1) reached = write_map(record.b, kernel.b, lines_of(p.b, p.k, p.n, !kernel.mn_b), kernel.size_b);
    if (part == 2) {
      const Lines d = lines_of(p.d, p.m, paired(params.shape) ? p.n / 2 : p.n, kernel.mn_d);
      record.facts.store = kernel.boxes && write_map(record.d, kernel.d, d, kernel.size_d) ? store_way(d, kernel.size_d) : TensorStore::threads;
    }
    if (part == 3) {
      record.facts.problem = p;
      record.facts.start = group_start(params.problem, group);
      record.facts.reserved = 0;
      kernel.tiles[group] = group < live_groups(params.problem) ? static_cast<i32>(cluster_tiles(ceil_div(p.m, kernel.tile_m), ceil_div(p.n, kernel.tile_n), kernel.cluster_m, kernel.cluster_n)) : 0;
      if (params.large_above >= 0) params.kernels[1 - large].tiles[group] = 0;
    }
  }
  const u32 all = __ballot_sync(0xffffffffu, reached);
  if (on && part == 3) params.records[group].facts.reach = static_cast<i32>(all >> (lane - 3) & 3);
}
