// SPDX-License-Identifier: Apache-2.0
#include "scheduler/raster.cuh"

#include <catch2/catch_test_macros.hpp>
#include <utility>
#include <vector>

using namespace ggemm::kernels;

namespace {

TileCoord tile(i64 pid, i64 tiles_m, i64 tiles_n, i32 raster) { return raster_tile(pid, tiles_m, tiles_n, raster); }

}  // namespace

TEST_CASE("raster: 4x4 tiles in groups of 2: program 15 computes tile (3, 3)") {
  const TileCoord last = tile(15, 4, 4, 2);
  CHECK(last.row == 3);
  CHECK(last.col == 3);
}

TEST_CASE("raster: M=1024, N=768 in 128x64 tiles, groups of 2: program 60 computes tile (4, 6)") {
  const TileCoord found = tile(60, 1024 / 128, 768 / 64, 2);
  CHECK(found.row == 4);
  CHECK(found.col == 6);
}

TEST_CASE("raster: the first group of 4x4 tiles in groups of 2 goes down its rows, column by column") {
  const std::vector<TileCoord> order = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 0}, {3, 0}};
  for (std::size_t pid = 0; pid < order.size(); ++pid) {
    CHECK(tile(static_cast<i64>(pid), 4, 4, 2).row == order[pid].row);
    CHECK(tile(static_cast<i64>(pid), 4, 4, 2).col == order[pid].col);
  }
}

// Straight from the definition: whole groups of rows, then columns, then the rows of the group.
TEST_CASE("raster: every tile comes exactly once, group by group, in 32 and 64 bits, for all grids up to 24x24 and groups up to 26") {
  i64 wrong = 0, checked = 0;
  for (i64 tiles_m = 1; tiles_m <= 24; ++tiles_m) {
    for (i64 tiles_n = 1; tiles_n <= 24; ++tiles_n) {
      for (i32 raster = 1; raster <= 26; ++raster) {
        i64 pid = 0;
        for (i64 first = 0; first < tiles_m; first += raster) {
          for (i64 column = 0; column < tiles_n; ++column) {
            for (i64 row = first; row < first + raster && row < tiles_m; ++row, ++pid) {
              const TileCoord wide = tile(pid, tiles_m, tiles_n, raster);
              const TileCoord narrow = raster_tile(static_cast<u32>(pid), static_cast<u32>(tiles_m), static_cast<u32>(tiles_n), raster);
              wrong += wide.row != row || wide.col != column || narrow.row != row || narrow.col != column;
              ++checked;
            }
          }
        }
        wrong += pid != tiles_m * tiles_n;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(checked == 26ll * 300 * 300);
}

TEST_CASE("raster: 64-bit grids beyond 2^32 tiles and the largest 32-bit ones") {
  const i64 tiles_m = 3000001, tiles_n = 5000011;
  const i32 raster = 8;
  const TileCoord last = tile(tiles_m * tiles_n - 1, tiles_m, tiles_n, raster);
  CHECK(last.row == tiles_m - 1);
  CHECK(last.col == tiles_n - 1);
  const TileCoord middle = tile(raster * tiles_n * 1000 + 13, tiles_m, tiles_n, raster);
  CHECK(middle.row == 8000 + 13 % 8);
  CHECK(middle.col == 1);
  const u32 side = 46340;  // side * side is just below 2^31
  const TileCoord corner = raster_tile(side * side - 1, side, side, 65535);
  CHECK(corner.row == side - 1);
  CHECK(corner.col == side - 1);
}

// Straight from the definition: as whole clusters go, but that a single row of tiles at the end is taken two tiles at a time, after the rows of its raster group above them.
TEST_CASE("raster: clusters of two rows turn at a single row, and take every tile once, in 32 and 64 bits, for all grids up to 17x17 and groups up to 10") {
  i64 wrong = 0, checked = 0;
  for (i64 tiles_m = 1; tiles_m <= 17; ++tiles_m) {
    for (i64 tiles_n = 1; tiles_n <= 17; ++tiles_n) {
      for (i32 raster = 1; raster <= 10; ++raster) {
        i64 pid = 0;
        const i64 pairs = tiles_m / 2, clusters = (tiles_m + 1) / 2;
        const auto expect = [&](i64 rank, i64 row, i64 column, bool turned) {
          const ClusterTile wide = cluster_tile(pid, tiles_m, tiles_n, raster, 2, 1, rank);
          const ClusterTile narrow = cluster_tile(static_cast<u32>(pid), static_cast<u32>(tiles_m), static_cast<u32>(tiles_n), raster, 2, 1, static_cast<u32>(rank));
          for (const ClusterTile& tile : {wide, narrow}) wrong += tile.at.row != row || tile.at.col != column || tile.turned != turned;
          ++checked;
        };
        for (i64 first = 0; first < clusters; first += raster) {
          const bool single = tiles_m % 2 && first + raster >= clusters;
          for (i64 column = 0; column < tiles_n; ++column) {
            for (i64 row = first; row < first + raster && row < pairs; ++row, ++pid)
              for (i64 rank = 0; rank < 2; ++rank) expect(rank, 2 * row + rank, column, false);
            if (!single || (column % 2 == 0 && column + 1 < tiles_n)) continue;
            for (i64 rank = 0; rank < 2; ++rank) expect(rank, tiles_m - 1, column / 2 * 2 + rank, true);
            ++pid;
          }
        }
        wrong += pid != cluster_tiles(tiles_m, tiles_n, 2, 1) || pid != cluster_tiles(static_cast<u32>(tiles_m), static_cast<u32>(tiles_n), 2, 1);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(checked > 17 * 17 * 10);
}

TEST_CASE("raster: other clusters are numbered whole, and none of them turns") {
  i64 wrong = 0;
  for (i64 tiles_m = 1; tiles_m <= 9; ++tiles_m) {
    for (i64 tiles_n = 1; tiles_n <= 9; ++tiles_n) {
      for (const auto& [down, across] : {std::pair{1, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
        const i64 clusters_m = (tiles_m + down - 1) / down, clusters_n = (tiles_n + across - 1) / across;
        wrong += cluster_tiles(tiles_m, tiles_n, down, across) != clusters_m * clusters_n;
        for (i64 pid = 0; pid < clusters_m * clusters_n; ++pid) {
          const TileCoord cluster = tile(pid, clusters_m, clusters_n, 3);
          for (i64 rank = 0; rank < down * across; ++rank) {
            const ClusterTile found = cluster_tile(pid, tiles_m, tiles_n, 3, down, across, rank);
            wrong += found.turned || found.at.row != cluster.row * down + rank % down || found.at.col != cluster.col * across + rank / down;
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}
