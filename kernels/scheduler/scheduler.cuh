// SPDX-License-Identifier: Apache-2.0
// Which tiles a CTA computes: every gridDim.x-th in the raster order, of one product or of all groups.
#pragma once
#include "scheduler/group_params.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/raster.cuh"

namespace ggemm::kernels {

// One tile of work.
struct Work {
  i32 group;                // 0 in a plain product
  i32 tile_row, tile_column;  // narrow, as they live through the mainloop; the host refuses sizes of 2^31 tiles a side
};

template <int BM, int BN>
class PlainScheduler {
 public:
  using Params = GemmParams;
  GG_DEVICE explicit PlainScheduler(const Params& params) : params_(params), next_(blockIdx.x) {}
  GG_DEVICE bool next(Work& work) {
    const u32 tiles_m = static_cast<u32>(ceil_div(params_.m, BM)), tiles_n = static_cast<u32>(ceil_div(params_.n, BN));
    if (next_ >= tiles_m * tiles_n) return false;
    const TileCoord tile = raster_tile(next_, tiles_m, tiles_n, params_.raster);
    work = {0, static_cast<i32>(tile.row), static_cast<i32>(tile.col)};
    next_ += gridDim.x;
    return true;
  }
  GG_DEVICE const GemmParams& problem(const Work&) const { return params_; }

 private:
  const Params& params_;
  u32 next_;  // the host refuses 2^31 tiles and more
};

// The warp's lanes, as scheduler/groups.cuh wants them.
struct DeviceWarp {
  using Vector = i32;
  GG_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  template <class Function>
  GG_DEVICE static i32 map(Function function) { return function(lane()); }
  GG_DEVICE static i32 inclusive_sum(i32 value) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const i32 below = __shfl_up_sync(0xffffffffu, value, step);
      if (lane() >= step) value += below;
    }
    return value;
  }
  GG_DEVICE static int first_above(i32 value, i32 x) {
    const u32 lanes = __ballot_sync(0xffffffffu, value > x);
    return lanes ? __ffs(static_cast<int>(lanes)) - 1 : 32;
  }
  GG_DEVICE static i32 at(i32 value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
};

template <int BM, int BN>
class GroupedScheduler {
 public:
  using Params = GroupedParams;
  GG_DEVICE explicit GroupedScheduler(const Params& params) : params_(params), next_(static_cast<i32>(blockIdx.x)) {}
  // Each warp finds the CTA's next tile by itself; all come to the same answer.
  GG_DEVICE bool next(Work& work) {
    const GroupedParams& p = params_;
    const i32 groups = static_cast<i32>(p.groups);
    const GroupTile found = cursor_.find(next_, groups, [&p](i32 g) { return static_cast<i32>(tiles(p.m, g, BM) * tiles(p.n, g, BN)); });
    if (found.group >= groups) return false;
    const TileCoord tile = raster_tile(static_cast<u32>(found.tile), tiles(p.m, found.group, BM), tiles(p.n, found.group, BN), p.raster);
    work = {found.group, static_cast<i32>(tile.row), static_cast<i32>(tile.col)};
    next_ += static_cast<i32>(gridDim.x);
    return true;
  }
  // Read anew where it is needed: keeping it would cost the mainloop registers.
  GG_DEVICE GemmParams problem(const Work& work) const { return group_params(params_, work.group); }

 private:
  GG_DEVICE static u32 tiles(const Source& size, i32 group, int tile) { return static_cast<u32>(ceil_div(max_of(read_source(size, group), 0), tile)); }

  const Params& params_;
  i32 next_;
  GroupCursor<DeviceWarp> cursor_;
};

}  // namespace ggemm::kernels
