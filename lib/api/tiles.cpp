// SPDX-License-Identifier: Apache-2.0
// The tile order, by the kernels' own arithmetic.
#include <optional>

#include "api/guard.hpp"
#include "core/problem_checks.hpp"
#include "scheduler/group_params.cuh"
#include "scheduler/raster.cuh"

namespace ggemm::api {
namespace {

// One direction of a group's D.
struct Side {
  int64_t size;
  int64_t tile, cluster;  // elements of a tile, tiles of a cluster
  int64_t tiles() const { return kernels::clusters_along(size, static_cast<kernels::i32>(tile)); }
  int64_t clusters() const { return kernels::clusters_along(tiles(), static_cast<kernels::i32>(cluster)); }
  // Of a tile past the edge: nothing, at the end.
  int64_t begin(int64_t index) const { return index < tiles() ? index * tile : size; }
  int64_t end(int64_t index) const { return begin(index) + std::min(tile, size - begin(index)); }
};

struct Grid {
  ggemm_tile_grid grid;
  kernels::Source m, n;

  explicit Grid(const ggemm_tile_grid* given) : grid(import(given, "grid")) {
    if (grid.groups < 0) core::fail(GGEMM_ERROR_ARGUMENT, "grid.groups=%lld must be 0 or more", static_cast<long long>(grid.groups));
    if (grid.tile_m < 1 || grid.tile_n < 1) core::fail(GGEMM_ERROR_ARGUMENT, "grid.tile_m=%d, tile_n=%d must be 1 or more", grid.tile_m, grid.tile_n);
    if (grid.raster < 1) core::fail(GGEMM_ERROR_ARGUMENT, "grid.raster=%d must be 1 or more", grid.raster);
    check_cluster();
    if (grid.reserved0 || grid.reserved1) core::fail(GGEMM_ERROR_ARGUMENT, "grid.reserved0=%d, reserved1=%d: reserved words must be 0", grid.reserved0, grid.reserved1);
    m = core::checks::check_size_source(grid.m, "grid.m", grid.groups);
    n = core::checks::check_size_source(grid.n, "grid.n", grid.groups);
  }
  void check_cluster() {
    if (grid.cluster_m < 0 || grid.cluster_n < 0) core::fail(GGEMM_ERROR_ARGUMENT, "grid.cluster_m=%d, cluster_n=%d must be 0 or more", grid.cluster_m, grid.cluster_n);
    grid.cluster_m = std::max(grid.cluster_m, 1), grid.cluster_n = std::max(grid.cluster_n, 1);
    if (grid.swapped != 0 && grid.swapped != 1) core::fail(GGEMM_ERROR_ARGUMENT, "grid.swapped=%d must be 0 or 1", grid.swapped);
  }
  int64_t ctas() const { return int64_t{grid.cluster_m} * grid.cluster_n; }
  static int64_t size(const kernels::Source& source, int64_t group) { return std::max<int64_t>(0, kernels::read_source(source, group)); }
  Side rows(int64_t group) const { return {size(m, group), grid.tile_m, grid.cluster_m}; }
  Side columns(int64_t group) const { return {size(n, group), grid.tile_n, grid.cluster_n}; }
  // A swapped kernel sees rows and columns changed over.
  Side first(int64_t group) const { return grid.swapped ? columns(group) : rows(group); }
  Side second(int64_t group) const { return grid.swapped ? rows(group) : columns(group); }
  // The group's programs, added to those before it.
  int64_t end(int64_t before, int64_t group) const {
    const Side down = first(group), across = second(group);
    int64_t count;  // at most
    if (__builtin_mul_overflow(down.clusters(), across.clusters(), &count) || __builtin_mul_overflow(count, ctas(), &count) || __builtin_add_overflow(before, count, &count)) too_many(group);
    return before + ctas() * kernels::cluster_tiles(down.tiles(), across.tiles(), static_cast<kernels::i32>(down.cluster), static_cast<kernels::i32>(across.cluster));
  }
  // Groups that are alike are not counted one by one, however many there are.
  bool alike() const { return m.kind == GGEMM_SOURCE_CONST && n.kind == GGEMM_SOURCE_CONST; }
  int64_t count() const {
    int64_t all = 0;
    if (alike() && grid.groups > 0 && __builtin_mul_overflow(end(0, 0), grid.groups, &all)) too_many(grid.groups - 1);
    if (!alike())
      for (int64_t i = 0; i < grid.groups; ++i) all = end(all, i);
    return all;
  }
  // A program's group, and the programs before that; nothing if there is no such program.
  struct Place {
    int64_t group, before;
  };
  std::optional<Place> place(int64_t program) const {
    if (program < 0 || grid.groups == 0) return std::nullopt;
    if (alike()) {
      const int64_t each = end(0, 0), group = each ? program / each : grid.groups;
      return group < grid.groups ? std::optional<Place>({group, group * each}) : std::nullopt;
    }
    for (int64_t i = 0, before = 0; i < grid.groups; ++i) {
      const int64_t next = end(before, i);
      if (program < next) return Place{i, before};
      before = next;
    }
    return std::nullopt;
  }
  [[noreturn]] void too_many(int64_t group) const {
    core::fail(GGEMM_ERROR_ARGUMENT, "grid: %lld x %lld tiles in group %lld make 2^63 or more in all", static_cast<long long>(rows(group).tiles()),
               static_cast<long long>(columns(group).tiles()), static_cast<long long>(group));
  }
  // The tile of a program, counted in its group.
  kernels::TileCoord tile(int64_t program, int64_t group) const {
    const Side down = first(group), across = second(group);
    const kernels::TileCoord tile = kernels::cluster_tile<int64_t>(program / ctas(), down.tiles(), across.tiles(), grid.raster, static_cast<kernels::i32>(down.cluster),
                                                                   static_cast<kernels::i32>(across.cluster), program % ctas()).at;
    return grid.swapped ? kernels::TileCoord{tile.col, tile.row} : tile;
  }
};

}  // namespace
}  // namespace ggemm::api

using namespace ggemm;

extern "C" {

ggemm_status ggemm_tile_count(const ggemm_tile_grid* grid, int64_t* out_count) {
  return api::guard([&] {
    const int64_t count = api::Grid(grid).count();
    api::required(out_count, "out_count") = count;
  });
}

ggemm_status ggemm_tile_at(const ggemm_tile_grid* grid, int64_t pid, ggemm_tile* out_tile) {
  return api::guard([&] {
    const api::Grid g(grid);
    const auto place = g.place(pid);
    if (!place) core::fail(GGEMM_ERROR_ARGUMENT, "pid=%lld with %lld tiles", static_cast<long long>(pid), static_cast<long long>(g.count()));
    const auto [group, before] = *place;
    const kernels::TileCoord tile = g.tile(pid - before, group);
    const api::Side rows = g.rows(group), columns = g.columns(group);
    ggemm_tile out = GGEMM_TILE_INIT;
    out.group = group;
    out.tile_row = tile.row, out.tile_col = tile.col;
    out.row_begin = rows.begin(tile.row), out.row_end = rows.end(tile.row);
    out.col_begin = columns.begin(tile.col), out.col_end = columns.end(tile.col);
    api::put(out_tile, out, "out_tile");
  });
}

}  // extern "C"
