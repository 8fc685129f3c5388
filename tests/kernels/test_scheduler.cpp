// SPDX-License-Identifier: Apache-2.0
// ggemm_tile_at() against the scheduler that the sm90 kernels run, for every CTA of small launches.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <set>
#include <utility>

#include "ggemm.h"

// What scheduler.cuh asks of CUDA. The warps' exchanges are declared only: the schedulers that use them are not run here.
#define GG_DEVICE
#define __shared__ static
namespace ggemm::kernels {
struct Index {
  unsigned x;
};
static Index blockIdx, gridDim, threadIdx;
inline int __shfl_up_sync(unsigned, int, int) { return 0; }
inline int __shfl_sync(unsigned, int, int) { return 0; }
inline unsigned __ballot_sync(unsigned, bool) { return 0; }
inline int __ffs(int) { return 0; }
inline void __syncwarp() {}
inline void __syncthreads() {}
}  // namespace ggemm::kernels
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

namespace {

constexpr int tile_m = 3, tile_n = 5;

struct Launch {
  std::int64_t m, n;
  int raster;
  bool swapped;
  unsigned clusters;  // that the device holds at once
};

ggemm_tile_grid grid_of(const Launch& launch, int cluster_m, int cluster_n) {
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.m = ggemm_const(launch.m), grid.n = ggemm_const(launch.n);
  grid.tile_m = tile_m, grid.tile_n = tile_n;
  grid.raster = launch.raster;
  grid.cluster_m = cluster_m, grid.cluster_n = cluster_n;
  grid.swapped = launch.swapped;
  return grid;
}

// Runs every CTA of the launch, its i-th tile being program CTA + i CTAs. Returns how many tiles are not what ggemm_tile_at() says, or not each of D's once.
template <class Scheduler>
int faults(const Launch& launch, int cluster_m, int cluster_n) {
  const ggemm_tile_grid grid = grid_of(launch, cluster_m, cluster_n);
  GemmParams params{};
  params.m = launch.swapped ? launch.n : launch.m, params.n = launch.swapped ? launch.m : launch.n;
  params.raster = launch.raster;
  gridDim.x = launch.clusters * static_cast<unsigned>(cluster_m * cluster_n);
  const std::int64_t rows = (launch.m + tile_m - 1) / tile_m, columns = (launch.n + tile_n - 1) / tile_n;
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  std::int64_t programs = 0;
  int wrong = 0;
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
    Scheduler scheduler(params);
    for (std::int64_t pid = blockIdx.x; scheduler.next(); pid += gridDim.x, ++programs) {
      const std::int64_t row = launch.swapped ? scheduler.tile_column() : scheduler.tile_row(), column = launch.swapped ? scheduler.tile_row() : scheduler.tile_column();
      ggemm_tile tile = GGEMM_TILE_INIT;
      if (ggemm_tile_at(&grid, pid, &tile) != GGEMM_OK) return 1000;
      wrong += tile.group != 0 || tile.tile_row != row || tile.tile_col != column;
      wrong += tile.row_begin != std::min(row * tile_m, launch.m) || tile.row_end != std::min((row + 1) * tile_m, launch.m);
      wrong += tile.col_begin != std::min(column * tile_n, launch.n) || tile.col_end != std::min((column + 1) * tile_n, launch.n);
      wrong += row < rows && column < columns && !seen.insert({row, column}).second;
    }
  }
  std::int64_t count = -1;
  if (ggemm_tile_count(&grid, &count) != GGEMM_OK) return 1000;
  return wrong + (count != programs) + (static_cast<std::int64_t>(seen.size()) != rows * columns);
}

// The kernel of a swapped configuration has tile and cluster changed over.
template <int CM, int CN>
void check_cluster() {
  int wrong = 0, launches = 0;
  for (std::int64_t m = 1; m <= 6 * tile_m; m += 2)
    for (std::int64_t n = 1; n <= 6 * tile_n; n += 3)
      for (const int raster : {1, 2, 3, 8})
        for (const unsigned clusters : {1u, 3u}) {
          const Launch upright{m, n, raster, false, clusters}, swapped{m, n, raster, true, clusters};
          wrong += faults<PersistentScheduler<tile_m, tile_n, CM, CN, 1>>(upright, CM, CN);
          wrong += faults<PersistentScheduler<tile_n, tile_m, CN, CM, 1>>(swapped, CM, CN);
          launches += 2;
        }
  INFO("clusters of " << CM << "x" << CN);
  CHECK(wrong == 0);
  CHECK(launches == 9 * 10 * 4 * 2 * 2);
}

}  // namespace

TEST_CASE("schedulers: a program's tile is the one that the persistent scheduler gives its CTA, with every cluster, either way round") {
  check_cluster<1, 1>();
  check_cluster<2, 1>();
  check_cluster<1, 2>();
  check_cluster<2, 2>();
  check_cluster<4, 1>();
  check_cluster<1, 4>();
}

TEST_CASE("schedulers: where k is cut into slices, every CTA of a tile has that tile, a slice of its own and no other tile") {
  int wrong = 0, ctas = 0;
  for (std::int64_t m = 1; m <= 6 * tile_m; m += 4)
    for (std::int64_t n = 1; n <= 6 * tile_n; n += 7)
      for (const unsigned slices : {1u, 2u, 3u, 7u}) {
        constexpr int cm = 2, ck = 1;
        const ggemm_tile_grid grid = grid_of({m, n, 2, false, 1}, cm, 1);
        GemmParams params{};
        params.m = m, params.n = n, params.raster = 2;
        std::int64_t programs = 0;
        REQUIRE(ggemm_tile_count(&grid, &programs) == GGEMM_OK);
        gridDim.x = static_cast<unsigned>(programs) * slices;
        std::set<std::pair<std::int64_t, unsigned>> seen;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x, ++ctas) {
          PersistentScheduler<tile_m, tile_n, cm, 1, ck> scheduler(params, slices);
          const SlicePlace place(blockIdx.x, gridDim.x, slices);
          ggemm_tile tile = GGEMM_TILE_INIT;
          REQUIRE(ggemm_tile_at(&grid, place.cell, &tile) == GGEMM_OK);
          wrong += !scheduler.next() || scheduler.tile_row() != tile.tile_row || scheduler.tile_column() != tile.tile_col;
          wrong += scheduler.next() || place.slice >= slices || !seen.insert({place.cell, place.slice}).second;
        }
      }
  CHECK(wrong == 0);
  CHECK(ctas > 1000);
}

TEST_CASE("depth: parts of k follow one another from 0 to its end, and none is longer by more than a tile") {
  int wrong = 0;
  for (i32 tiles = 0; tiles <= 70; ++tiles)
    for (i32 parts = 1; parts <= 80; ++parts) {
      i32 next = 0;
      for (i32 part = 0; part < parts; ++part) {
        const DepthPart here = depth_part(tiles, parts, part);
        wrong += here.first != next || here.tiles < tiles / parts || here.tiles > (tiles + parts - 1) / parts;
        next += here.tiles;
      }
      wrong += next != tiles;
    }
  CHECK(wrong == 0);
}

TEST_CASE("schedulers: a CTA of a plain launch computes the tile of its own number alone") {
  int wrong = 0, tiles = 0;
  for (std::int64_t m = 1; m <= 20; m += 3)
    for (std::int64_t n = 1; n <= 30; n += 4)
      for (const int raster : {1, 2, 5}) {
        const ggemm_tile_grid grid = grid_of({m, n, raster, false, 1}, 0, 0);
        GemmParams params{};
        params.m = m, params.n = n, params.raster = raster;
        std::int64_t count = 0;
        REQUIRE(ggemm_tile_count(&grid, &count) == GGEMM_OK);
        for (blockIdx.x = 0; blockIdx.x < count; ++blockIdx.x, ++tiles) {
          PlainScheduler<tile_m, tile_n> scheduler(params);
          ggemm_tile tile = GGEMM_TILE_INIT;
          REQUIRE(ggemm_tile_at(&grid, blockIdx.x, &tile) == GGEMM_OK);
          wrong += !scheduler.next() || scheduler.tile_row() != tile.tile_row || scheduler.tile_column() != tile.tile_col || scheduler.next();
        }
      }
  CHECK(wrong == 0);
  CHECK(tiles > 1000);
}
