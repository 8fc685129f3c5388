// SPDX-License-Identifier: Apache-2.0
// The L2-friendly order of tiles in one product: Triton's GROUP_SIZE_M (matmul tutorial, "L2 Cache Optimizations").
#pragma once
#include "tile/panels.cuh"
#include "tile/walk.cuh"

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
  const Int in_group = height * tiles_n, group = pid < in_group ? 0 : pid / in_group, first = group * height;  // (a CTA's first tile is mostly of the first one, and waits for nothing so much as for a division)
  const Int rows = tiles_m - first < height ? tiles_m - first : height;
  const Int rest = pid - group * in_group;
  return {static_cast<i64>(first + rest % rows), static_cast<i64>(rest / rows)};
}

// Where CTAs form clusters, `down` CTAs high and `across` wide, whole clusters are numbered, which have a tile for each CTA: down the rows first, by rank.
// clusters_along: without the overflow of ceil_div, and in 32 bits where kernels ask for it.
template <class Int>
GG_HD constexpr Int clusters_along(Int tiles, i32 cluster) { return tiles / static_cast<Int>(cluster) + (tiles % static_cast<Int>(cluster) != 0); }

// Where a single row of tiles is left over, some clusters turn (tile/panels.cuh): these are walked with the rows above them, two columns at a time.
template <class Int>
GG_HD Int cluster_tiles(Int tiles_m, Int tiles_n, i32 down, i32 across) {
  if (clusters_turn(down, across)) return tiles_m / 2 * tiles_n + tiles_m % 2 * clusters_along(tiles_n, 2);
  return clusters_along(tiles_m, down) * clusters_along(tiles_n, across);
}

struct ClusterTile {
  TileCoord at;
  bool turned;
};

// Of the pid-th cluster the tile of the CTA of this rank, which may lie past the last row or column. 0 <= pid < cluster_tiles.
template <class Int>
GG_HD ClusterTile cluster_tile(Int pid, typename IfType<true, Int, Int>::type tiles_m, typename IfType<true, Int, Int>::type tiles_n, i32 raster, i32 down, i32 across,
                               typename IfType<true, Int, Int>::type rank) {
  const Int high = static_cast<Int>(down), clusters_m = clusters_along(tiles_m, down);
  if (!clusters_turn(down, across) || tiles_m % 2 == 0) {
    const TileCoord cluster = raster_tile(pid, clusters_m, clusters_along(tiles_n, across), raster);
    return {{cluster.row * down + static_cast<i64>(rank % high), cluster.col * across + static_cast<i64>(rank / high)}, false};
  }
  const Int height = static_cast<Int>(raster) < clusters_m ? static_cast<Int>(raster) : clusters_m, in_group = height * tiles_n;
  const Int first = pid / in_group * height, rest = pid % in_group, left = clusters_m - first;
  const bool last = left <= height;
  const Int upright = last ? left - 1 : height;  // of the raster group's rows of clusters
  const Int in_pair = last ? 2 * upright + 1 : 2 * upright, pair = rest / in_pair, within = rest % in_pair, columns = tiles_n - 2 * pair < 2 ? 1 : 2;
  if (last && within >= columns * upright) return {{static_cast<i64>(2 * (first + upright)), static_cast<i64>(2 * pair + rank)}, true};
  return {{static_cast<i64>(2 * (first + within % upright) + rank), static_cast<i64>(2 * pair + within / upright)}, false};
}

// The same for a walk that was worked out ahead. steps: of k.
GG_HD TileWalk tile_walk(u32 tiles_m, u32 tiles_n, u32 steps, i32 raster, i32 down, i32 across) {
  const u32 clusters_m = clusters_along(tiles_m, down), clusters_n = clusters_along(tiles_n, across), height = static_cast<u32>(min_of(raster, clusters_m));
  return {tiles_m, tiles_n, cluster_tiles(tiles_m, tiles_n, down, across), steps, raster, clusters_m, divisor(height * clusters_n), divisor(height), divisor(clusters_m % height ? clusters_m % height : height)};
}
// Of clusters that do not turn.
GG_HD TileCoord walked_tile(u32 pid, const TileWalk& walk) {
  const u32 group = divided(pid, walk.group), rest = pid - group * walk.group.by, first = group * walk.height.by;
  const Divisor height = walk.height, last = walk.last;  // both on their way at once
  const bool end = first + height.by > walk.clusters_m;
  const Divisor rows = {end ? last.by : height.by, end ? last.factor : height.factor, end ? last.shift : height.shift};
  const u32 column = divided(rest, rows);
  return {static_cast<i64>(first + rest - column * rows.by), static_cast<i64>(column)};
}
GG_HD ClusterTile cluster_tile(u32 pid, const TileWalk& walk, i32 down, i32 across, u32 rank) {
  if (clusters_turn(down, across) && walk.tiles_m % 2) return cluster_tile(pid, walk.tiles_m, walk.tiles_n, walk.raster, down, across, rank);
  const TileCoord cluster = walked_tile(pid, walk);
  const u32 high = static_cast<u32>(down);
  return {{static_cast<i64>(static_cast<u32>(cluster.row) * high + rank % high), static_cast<i64>(static_cast<u32>(cluster.col) * static_cast<u32>(across) + rank / high)}, false};
}

}  // namespace ggemm::kernels
