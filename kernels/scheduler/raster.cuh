// SPDX-License-Identifier: Apache-2.0
// The L2-friendly order of tiles in one product: Triton's GROUP_SIZE_M (matmul tutorial, "L2 Cache Optimizations").
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

struct TileCoord {
  i64 row, col;  // in tiles
};

// The pid-th tile of tiles_m x tiles_n. `raster` rows of tiles are walked together, down the rows first, so that the CTAs that run at one
// time share rows of A and columns of B in L2. The last raster group may be smaller. 0 <= pid < tiles_m * tiles_n; raster >= 1.
// Int: kernels take u32, because a 64-bit division is a call; the host takes i64.
template <class Int>
GG_HD TileCoord raster_tile(Int pid, typename IfType<true, Int, Int>::type tiles_m, typename IfType<true, Int, Int>::type tiles_n, i32 raster) {
  const Int height = static_cast<Int>(raster) < tiles_m ? static_cast<Int>(raster) : tiles_m;
  const Int in_group = height * tiles_n, first = pid / in_group * height;
  const Int rows = tiles_m - first < height ? tiles_m - first : height;
  const Int rest = pid % in_group;
  return {static_cast<i64>(first + rest % rows), static_cast<i64>(rest / rows)};
}

// Where CTAs form clusters, raster_tile() numbers whole clusters, and this is the place in its cluster, `down` CTAs high, of the CTA of a rank.
template <class Int>
GG_HD TileCoord place_in_cluster(Int rank, i32 down) {
  return {static_cast<i64>(rank % static_cast<Int>(down)), static_cast<i64>(rank / static_cast<Int>(down))};
}

}  // namespace ggemm::kernels
