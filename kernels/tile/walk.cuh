// SPDX-License-Identifier: Apache-2.0
// How the clusters of a launch walk a plain product's tiles, worked out by the host: a division takes a lone thread as long as the products of half a slot, and until the first
// tile is found nothing is loaded.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

// Division by one number of numbers below 2^31 (Granlund and Montgomery, "Division by invariant integers using multiplication").
struct Divisor {
  u32 by = 1, factor = 1, shift = 0;
};
GG_HD constexpr Divisor divisor(u32 by) {
  u32 shift = 0;
  while ((u64(1) << shift) < by) ++shift;
  return {by, static_cast<u32>((((u64(1) << shift) - by) << 32) / by + 1), shift};
}
GG_HD constexpr u32 divided(u32 number, const Divisor& by) { return (static_cast<u32>(static_cast<u64>(by.factor) * number >> 32) + number) >> by.shift; }

// tiles_m x tiles_n tiles, which are so many cluster tiles, each of so many steps of k. The raster groups are of height.by rows of clusters, and of group.by clusters; the last
// one may have fewer rows.
struct TileWalk {
  u32 tiles_m, tiles_n, tiles, steps;
  i32 raster;
  u32 clusters_m;
  Divisor group, height, last;
};

}  // namespace ggemm::kernels
