// SPDX-License-Identifier: Apache-2.0
// The tile order, by the kernels' own arithmetic.
#include "api/guard.hpp"
#include "scheduler/group_params.cuh"
#include "scheduler/raster.cuh"

namespace ggemm::api {
namespace {

struct Grid {
  ggemm_tile_grid grid;

  explicit Grid(const ggemm_tile_grid* given) : grid(import(given, "grid")) {
    if (grid.groups < 0) core::fail(GGEMM_ERROR_ARGUMENT, "grid.groups=%lld must be 0 or more", static_cast<long long>(grid.groups));
    if (grid.tile_m < 1 || grid.tile_n < 1) core::fail(GGEMM_ERROR_ARGUMENT, "grid.tile_m=%d, tile_n=%d must be 1 or more", grid.tile_m, grid.tile_n);
    if (grid.raster < 1) core::fail(GGEMM_ERROR_ARGUMENT, "grid.raster=%d must be 1 or more", grid.raster);
    if (grid.reserved0) core::fail(GGEMM_ERROR_ARGUMENT, "grid.reserved0=%d: reserved words must be 0", grid.reserved0);
    check(grid.m, "grid.m");
    check(grid.n, "grid.n");
  }
  void check(const ggemm_source& s, const char* field) const {
    if (static_cast<unsigned>(s.kind) > GGEMM_SOURCE_I64) core::fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%d is not a ggemm_source_kind", field, static_cast<int>(s.kind));
    if (s.reserved0) core::fail(GGEMM_ERROR_ARGUMENT, "%s.reserved0=%u: reserved words must be 0", field, s.reserved0);
    if (s.kind == GGEMM_SOURCE_CONST && s.value < 0) core::fail(GGEMM_ERROR_ARGUMENT, "%s=%lld: sizes must be 0 or more", field, static_cast<long long>(s.value));
    if (s.kind != GGEMM_SOURCE_CONST && !s.data && grid.groups > 0) core::fail(GGEMM_ERROR_ARGUMENT, "%s.data is NULL with groups=%lld", field, static_cast<long long>(grid.groups));
  }
  int64_t size(const ggemm_source& s, int64_t group) const {
    return std::max<int64_t>(0, kernels::read_source({s.data, s.byte_stride, s.value, static_cast<kernels::i32>(s.kind), 0}, group));
  }
  int64_t rows(int64_t group) const { return tiles(size(grid.m, group), grid.tile_m); }
  int64_t columns(int64_t group) const { return tiles(size(grid.n, group), grid.tile_n); }
  // The group's tiles, added to those before it.
  int64_t end(int64_t before, int64_t group) const {
    int64_t count;
    if (__builtin_mul_overflow(rows(group), columns(group), &count) || __builtin_add_overflow(before, count, &count))
      core::fail(GGEMM_ERROR_ARGUMENT, "grid: %lld x %lld tiles in group %lld make 2^63 or more in all",
                 static_cast<long long>(rows(group)), static_cast<long long>(columns(group)), static_cast<long long>(group));
    return count;
  }

 private:
  // Without the overflow of (size + tile - 1) / tile.
  static int64_t tiles(int64_t size, int64_t tile) { return size / tile + (size % tile != 0); }
};

}  // namespace
}  // namespace ggemm::api

using namespace ggemm;

extern "C" {

ggemm_status ggemm_tile_count(const ggemm_tile_grid* grid, int64_t* out_count) {
  return api::guard([&] {
    const api::Grid g(grid);
    int64_t count = 0;
    for (int64_t i = 0; i < g.grid.groups; ++i) count = g.end(count, i);
    api::required(out_count, "out_count") = count;
  });
}

ggemm_status ggemm_tile_at(const ggemm_tile_grid* grid, int64_t pid, ggemm_tile* out_tile) {
  return api::guard([&] {
    const api::Grid g(grid);
    int64_t before = 0;
    for (int64_t i = 0; pid >= 0 && i < g.grid.groups; ++i) {
      const int64_t end = g.end(before, i);
      if (pid >= end) {
        before = end;
        continue;
      }
      const kernels::TileCoord tile = kernels::raster_tile<int64_t>(pid - before, g.rows(i), g.columns(i), g.grid.raster);
      ggemm_tile out = GGEMM_TILE_INIT;
      out.group = i;
      out.tile_row = tile.row, out.tile_col = tile.col;
      out.row_begin = tile.row * g.grid.tile_m, out.row_end = out.row_begin + std::min<int64_t>(g.grid.tile_m, g.size(g.grid.m, i) - out.row_begin);
      out.col_begin = tile.col * g.grid.tile_n, out.col_end = out.col_begin + std::min<int64_t>(g.grid.tile_n, g.size(g.grid.n, i) - out.col_begin);
      return api::put(out_tile, out, "out_tile");
    }
    core::fail(GGEMM_ERROR_ARGUMENT, "pid=%lld with %lld tiles", static_cast<long long>(pid), static_cast<long long>(before));
  });
}

}  // extern "C"
