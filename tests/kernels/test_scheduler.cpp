// SPDX-License-Identifier: Apache-2.0
// ggemm_tile_at() against the scheduler that the sm90 kernels run, for every CTA of small launches.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
namespace ptx {
inline int renewed(int x) { return x; }
}  // namespace ptx
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

// Runs every CTA of the launch, its i-th tile being program CTA + i CTAs. Returns how many tiles are not what ggemm_tile_at() says, or not each of D's once, or a CTA's last one otherwise than it says.
template <int CM, int CN>
int faults(const Launch& launch, int cluster_m, int cluster_n) {
  const ggemm_tile_grid grid = grid_of(launch, cluster_m, cluster_n);
  const auto along = [](std::int64_t size, int tile) { return static_cast<u32>((size + tile - 1) / tile); };
  const u32 down = along(launch.m, tile_m), across = along(launch.n, tile_n);
  const TileWalk walk = launch.swapped ? tile_walk(across, down, 0, launch.raster, CM, CN) : tile_walk(down, across, 0, launch.raster, CM, CN);
  gridDim.x = launch.clusters * static_cast<unsigned>(cluster_m * cluster_n);
  const std::int64_t rows = (launch.m + tile_m - 1) / tile_m, columns = (launch.n + tile_n - 1) / tile_n;
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  std::int64_t programs = 0, count = -1;
  if (ggemm_tile_count(&grid, &count) != GGEMM_OK) return 1000;
  int wrong = 0;
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
    const DepthDeal none{};
    PersistentScheduler<CM, CN, 1> scheduler(walk, none);
    for (std::int64_t pid = blockIdx.x; scheduler.next(); pid += gridDim.x, ++programs) {
      const TileCoord place = scheduler.place().at;
      const std::int64_t row = launch.swapped ? place.col : place.row, column = launch.swapped ? place.row : place.col;
      ggemm_tile tile = GGEMM_TILE_INIT;
      if (ggemm_tile_at(&grid, pid, &tile) != GGEMM_OK) return 1000;
      wrong += tile.group != 0 || tile.tile_row != row || tile.tile_col != column;
      wrong += tile.row_begin != std::min(row * tile_m, launch.m) || tile.row_end != std::min((row + 1) * tile_m, launch.m);
      wrong += tile.col_begin != std::min(column * tile_n, launch.n) || tile.col_end != std::min((column + 1) * tile_n, launch.n);
      wrong += row < rows && column < columns && !seen.insert({row, column}).second;
      wrong += scheduler.last() != (pid + gridDim.x >= count);
    }
  }
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
          wrong += faults<CM, CN>(upright, CM, CN);
          wrong += faults<CN, CM>(swapped, CM, CN);
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

TEST_CASE("schedulers: division by a number that is known ahead is division, up to 2^31") {
  constexpr u32 top = (1u << 31) - 1;
  int wrong = 0, divisions = 0;
  const auto check = [&](u32 by) {
    const Divisor divisor = ggemm::kernels::divisor(by);
    for (const u32 number : {0u, 1u, by - 1, by, by + 1, 2 * by - 1, 2 * by, 12345678u, top / by * by - 1, top / by * by, top - 1, top})
      if (number <= top) wrong += divided(number, divisor) != number / by, ++divisions;
  };
  for (u32 by = 1; by < 5000; ++by) check(by);
  for (u32 shift = 12; shift < 31; ++shift)
    for (const u32 near : {0u, 1u, 2u, 77u}) check((1u << shift) - near), check((1u << shift) + near);
  for (u32 by = top; by > top - 100; --by) check(by);
  CHECK(wrong == 0);
  CHECK(divisions > 50000);
}

namespace {

// A product in clusters of so many rows of tiles, as the schedulers see it and as users ask about it.
struct InClusters {
  ggemm_tile_grid grid;
  TileWalk walk;
  u32 tiles;  // of clusters
  InClusters(std::int64_t m, std::int64_t n, i32 steps, unsigned cm)
      : grid(grid_of({m, n, 2, false, 1}, cm, 1)), walk(tile_walk(static_cast<u32>((m + tile_m - 1) / tile_m), static_cast<u32>((n + tile_n - 1) / tile_n), steps, 2, cm, 1)) {
    std::int64_t programs = 0;
    REQUIRE(ggemm_tile_count(&grid, &programs) == GGEMM_OK);
    tiles = static_cast<u32>(programs) / cm;
  }
};

}  // namespace

TEST_CASE("schedulers: where k is cut, every CTA of a cluster has its tile of the same piece, and pieces are those of the cursor") {
  int wrong = 0, pieces = 0;
  for (std::int64_t m = 1; m <= 6 * tile_m; m += 4)
    for (std::int64_t n = 1; n <= 6 * tile_n; n += 7)
      for (const unsigned clusters : {1u, 3u, 5u}) {
        constexpr unsigned cm = 2, ck = 2;
        constexpr i32 steps = 7;
        const InClusters product(m, n, steps, cm);
        const auto& [grid, walk, tiles] = product;
        for (const u32 cut : {0u, tiles / 2, tiles}) {
          const DepthDeal deal{tiles - cut, cut, cut ? clusters : 1, 0};
          gridDim.x = clusters * cm * ck;
          for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
            const u32 cluster = blockIdx.x / (cm * ck);
            PersistentScheduler<cm, 1, ck, true> scheduler(walk, deal);
            for (PieceCursor cursor(cluster, clusters); cursor.next(deal, steps, cluster, clusters); ++pieces) {
              ggemm_tile tile = GGEMM_TILE_INIT;
              REQUIRE(ggemm_tile_at(&grid, std::int64_t(cursor.tile()) * cm + blockIdx.x % cm, &tile) == GGEMM_OK);
              wrong += !scheduler.next() || scheduler.place().at.row != tile.tile_row || scheduler.place().at.col != tile.tile_col || scheduler.piece() != cursor.tile();
              const DepthPart here = scheduler.depth(), there = cursor.depth(deal, steps, cluster);
              wrong += here.first != there.first || here.tiles != there.tiles;
              PieceCursor after = cursor;
              wrong += scheduler.last() == after.next(deal, steps, cluster, clusters);
            }
            wrong += scheduler.next();
          }
        }
      }
  CHECK(wrong == 0);
  CHECK(pieces > 1000);
}

TEST_CASE("schedulers: of slices each cluster has one, those of the same steps of k follow one another, and each tile's pieces cover k in their order") {
  int wrong = 0, slices_seen = 0;
  for (const std::int64_t m : {1, 2 * tile_m, 5 * tile_m})
    for (const std::int64_t n : {1, 3 * tile_n})
      for (const u32 slices : {1u, 2u, 5u, 33u})
        for (const i32 steps : {0, 5, 33, 100}) {
          if (steps < static_cast<i32>(slices) && slices > 1) continue;
          constexpr unsigned cm = 2;
          const InClusters product(m, n, steps, cm);
          const auto& [grid, walk, tiles] = product;
          const DepthDeal deal = depth_deal(0, tiles, tiles * slices);
          std::vector<i32> next(tiles);  // of each tile's k
          i32 before = 0;
          gridDim.x = tiles * slices * cm;
          for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x, ++slices_seen) {
            SliceScheduler<cm, 1> scheduler(walk, deal);
            if (!scheduler.next()) {
              ++wrong;
              continue;
            }
            const u32 tile = scheduler.piece() / slices, number = scheduler.piece() % slices;
            REQUIRE(tile < tiles);
            ggemm_tile at = GGEMM_TILE_INIT;
            REQUIRE(ggemm_tile_at(&grid, std::int64_t(tile) * cm + blockIdx.x % cm, &at) == GGEMM_OK);
            wrong += scheduler.place().at.row != at.tile_row || scheduler.place().at.col != at.tile_col;
            const DepthPart depth = scheduler.depth();
            wrong += depth.first != next[tile] || depth.first < before || number != blockIdx.x / cm / tiles;
            before = depth.first;
            if (blockIdx.x % cm == cm - 1) next[tile] += depth.tiles;
            wrong += scheduler.next();
          }
          for (const i32 end : next) wrong += end != steps;
        }
  CHECK(wrong == 0);
  CHECK(slices_seen > 1000);
}

namespace {

struct Piece {
  u32 cluster;
  DepthPart depth;
  TilePiece place;
};

// How many things are wrong with the pieces of a deal.
int faults_of(const DepthDeal& deal, u32 steps, u32 clusters) {
  int wrong = 0;
  std::vector<std::vector<Piece>> tiles(deal.whole + deal.cut);
  std::set<u32> slots;
  for (u32 cluster = 0; cluster < clusters; ++cluster) {
    u32 share = 0, pieces = 0;
    PieceCursor cursor(cluster, clusters);
    for (i64 last = -1; cursor.next(deal, steps, cluster, clusters); last = cursor.tile()) {
      if (cursor.tile() >= tiles.size()) return wrong + 1000;
      wrong += cursor.tile() <= last;
      const Piece piece{cluster, cursor.depth(deal, steps, cluster), tile_piece(deal, steps, cursor.tile(), cluster)};
      tiles[cursor.tile()].push_back(piece);
      if (cursor.tile() >= deal.whole) share += static_cast<u32>(piece.depth.tiles), ++pieces;
      else wrong += cursor.tile() % clusters != cluster;
    }
    wrong += cursor.next(deal, steps, cluster, clusters);  // it stays at the end
    // Shares are even. Where there are as many for each tile, they are pieces.
    const u64 all = u64(deal.cut) * steps;
    wrong += cluster < deal.sharers ? share < all / deal.sharers || share > (all + deal.sharers - 1) / deal.sharers : share != 0;
    if (deal.cut && deal.sharers % deal.cut == 0) wrong += pieces != (cluster < deal.sharers);
  }
  for (u32 tile = 0; tile < tiles.size(); ++tile) {
    // Clusters came in their order, so these must be in the order of k.
    u32 next = 0, number = 0;
    for (const Piece& piece : tiles[tile]) {
      wrong += piece.depth.first != static_cast<i32>(next) || (piece.depth.tiles < 1 && steps > 0);
      next += static_cast<u32>(piece.depth.tiles);
      wrong += piece.place.count != tiles[tile].size() || piece.place.number != number++;
      if (tile < deal.whole) continue;
      wrong += piece.place.cell != tile - deal.whole || piece.place.slot + piece.place.number >= piece_slots(deal) || !slots.insert(piece.place.slot + piece.place.number).second;
    }
    wrong += next != steps || tiles[tile].empty();
  }
  return wrong;
}

}  // namespace

TEST_CASE("depth: of every deal each tile's every step is in one piece, pieces are in the order of k and know their number, count and slot") {
  int deals = 0;
  for (u32 clusters = 1; clusters <= 9; ++clusters)
    for (u32 whole : {0u, 1u, clusters, 2 * clusters, 2 * clusters + 3})
      for (u32 cut = 0; cut <= 2 * clusters; ++cut)
        for (u32 sharers = 1; sharers <= (cut ? clusters : 1); ++sharers)
          for (u32 steps = 0; steps <= 13; ++steps) {
            if (cut && sharers > cut * steps) continue;
            // Whether it is known that all tiles have as many pieces or not.
            const int wrong = faults_of({whole, cut, sharers, 0}, steps, clusters) + faults_of(depth_deal(whole, cut, sharers), steps, clusters);
            if (wrong) FAIL_CHECK(wrong << " faults: whole " << whole << ", cut " << cut << ", sharers " << sharers << ", clusters " << clusters << ", steps " << steps);
            ++deals;
          }
  CHECK(deals > 20000);
  // Slices of all tiles: more sharers than tiles, all of them clusters.
  for (u32 tiles = 1; tiles <= 12; ++tiles)
    for (u32 slices = 2; slices <= 17; ++slices)
      for (u32 steps = slices; steps <= 40; steps += 3) CHECK(faults_of({0, tiles, tiles * slices, 0}, steps, tiles * slices) + faults_of(depth_deal(0, tiles, tiles * slices), steps, tiles * slices) == 0);
}

TEST_CASE("depth: of CTAs that have one thing each every tile's every step is one's, first pieces come first, and pieces know their number, count and slot") {
  int deals = 0;
  for (u32 whole : {0u, 1u, 5u})
    for (u32 cut = 0; cut <= 5; ++cut)
      for (u32 pieces = 2; pieces <= 6; ++pieces)
        for (u32 steps = pieces; steps <= 14; ++steps)
          for (u32 first = 1; first + pieces - 1 <= steps; ++first, ++deals) {
            const DepthDeal deal = depth_deal(whole, cut, cut ? cut * pieces : 1);
            std::vector<std::vector<bool>> seen(whole + cut, std::vector<bool>(steps));
            std::set<u32> slots;
            int wrong = 0;
            const PieceWalk walk = piece_walk(deal, first, steps);
            for (u32 cta = 0; cta < whole + cut * deal.pieces; ++cta) {
              const CutPlace at = cut_place(walk, cta);
              const u32 tile = at.tile;
              const DepthPart part = cut_depth(walk, at);
              const TilePiece piece = cut_piece(walk, at);
              if (tile >= seen.size() || part.tiles < 1 || part.first < 0 || part.first + part.tiles > static_cast<i32>(steps)) {
                wrong += 100;
                break;
              }
              for (i32 step = part.first; step < part.first + part.tiles; ++step) wrong += seen[tile][static_cast<std::size_t>(step)], seen[tile][static_cast<std::size_t>(step)] = true;
              if (tile < whole) {
                wrong += cta != tile || piece.count != 1;
                continue;
              }
              wrong += piece.count != pieces || piece.number != (cta - whole) / cut || piece.cell != tile - whole || piece.slot + piece.number >= piece_slots(deal) || !slots.insert(piece.slot + piece.number).second;
              wrong += piece.number == 0 ? part.first != 0 || part.tiles != static_cast<i32>(first) : part.first < static_cast<i32>(first);
              // In the order of k: a later piece begins behind an earlier one.
              if (piece.number > 0) wrong += part.first != cut_depth(walk, cut_place(walk, cta - cut)).first + cut_depth(walk, cut_place(walk, cta - cut)).tiles;
            }
            for (const auto& tile : seen) for (const bool step : tile) wrong += !step;
            if (wrong) FAIL_CHECK(wrong << " faults: whole " << whole << ", cut " << cut << ", pieces " << pieces << ", first " << first << ", steps " << steps);
          }
  CHECK(deals > 1000);
}

TEST_CASE("depth: what a launch that counts its tiles has left over is cut where that ends it sooner, and nothing else is") {
  int wrong = 0, uncut = 0, cut = 0;
  for (const bool large : {false, true})
    for (u32 clusters = 1; clusters <= 40; ++clusters)
      for (u32 tiles = 0; tiles <= 3 * clusters; ++tiles)
        for (u32 steps = 1; steps <= 120; steps += steps < 40 ? 1 : 7) {
          const DepthDeal deal = deal_left_over(tiles, steps, clusters, large);
          if (deal.cut == 0) {
            wrong += deal.whole < tiles;
            ++uncut;
            continue;
          }
          ++cut;
          const u32 longest = (steps + deal.pieces - 1) / deal.pieces;
          wrong += deal.whole + deal.cut != tiles || deal.whole % clusters || 2 * deal.cut > clusters || deal.sharers > clusters || longest + (large ? 28 : 12) > steps || deal.pieces > 8 || steps / deal.pieces < 4;
          wrong += faults_of(deal, steps, clusters) + (piece_slots(deal) > clusters);
        }
  CHECK(wrong == 0);
  CHECK((uncut > 10000 && cut > 10000));
  const auto few_rows = [](u32 tiles, u32 steps) { return deal_left_over(tiles, steps, 132, false); };
  // One tile; a few; a round of all and some more.
  CHECK((few_rows(1, 112).pieces == 8 && few_rows(1, 24).pieces == 6 && few_rows(32, 112).pieces == 4 && few_rows(132 + 32, 112).whole == 132));
  // A k that is short; nearly half of the device's, which memory keeps busy.
  CHECK((few_rows(16, 12).cut == 0 && few_rows(60, 56).cut == 0 && few_rows(67, 112).cut == 0));
  // A k beyond all numbers is cut as any other.
  CHECK((few_rows(1, 0x7fffffff).pieces == 8 && few_rows(60, 0x7fffffff).pieces == 2));
  // Large tiles: eight rounds and a quarter; half a round; a k that does not hide how their pieces meet.
  const auto large = [](u32 tiles, u32 steps) { return deal_left_over(tiles, steps, 66, true); };
  CHECK((large(8 * 66 + 16, 224).pieces == 4 && large(8 * 66 + 16, 224).whole == 8 * 66 && large(33, 112).pieces == 2 && large(22, 32).cut == 0 && large(34, 224).cut == 0));
}

TEST_CASE("depth: shares of large deals begin where exact arithmetic has them, and their tiles' pieces are the sharers between") {
  std::mt19937_64 random(1);
  const auto below = [&](u64 bound) { return static_cast<u32>(random() % bound); };
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const u32 cut = 1 + below(i % 2 ? 4096 : 300), sharers = 1 + below(std::min<u64>(most_sharers, 0xffffffffu / cut - 2)), steps = 1 + below(u64(1) << (1 + below(31)));
    if (u64(cut) * steps < sharers) continue;
    const u32 whole = below(1000);
    const DepthDeal deal = i % 3 ? depth_deal(whole, cut, sharers) : DepthDeal{whole, cut, sharers, 0};
    const auto begin = [&](u32 sharer) { return static_cast<u64>(static_cast<unsigned __int128>(sharer) * cut * steps / sharers); };
    const u32 sharer = below(sharers);
    const DepthPoint point = share_begin(deal, steps, sharer), end = share_begin(deal, steps, sharer + 1);
    wrong += u64(point.tile) * steps + point.step != begin(sharer) || u64(end.tile) * steps + end.step != begin(sharer + 1);
    const TilePiece piece = tile_piece(deal, steps, deal.whole + point.tile, sharer);
    const u64 first = u64(point.tile) * steps, last = first + steps - 1;
    const u32 from = sharer - piece.number, to = from + piece.count - 1;
    wrong += piece.number >= piece.count || begin(from) > first || begin(from + 1) <= first || begin(to) > last || begin(to + 1) <= last;
  }
  CHECK(wrong == 0);
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
        const PlainParams params{{}, tile_walk(static_cast<u32>(ceil_div(m, tile_m)), static_cast<u32>(ceil_div(n, tile_n)), 0, raster, 1, 1)};
        std::int64_t count = 0;
        REQUIRE(ggemm_tile_count(&grid, &count) == GGEMM_OK);
        for (blockIdx.x = 0; blockIdx.x < count; ++blockIdx.x, ++tiles) {
          ggemm_tile tile = GGEMM_TILE_INIT;
          REQUIRE(ggemm_tile_at(&grid, blockIdx.x, &tile) == GGEMM_OK);
          const auto check = [&](auto scheduler) { wrong += !scheduler.next() || scheduler.tile_row() != tile.tile_row || scheduler.tile_column() != tile.tile_col || scheduler.next(); };
          check(PlainScheduler<false>(params)), check(PlainScheduler<true>(params));
        }
      }
  CHECK(wrong == 0);
  CHECK(tiles > 1000);
}

TEST_CASE("tiles: groups that are alike, which are not counted one by one, have those of groups whose sizes are in memory") {
  const std::int64_t sizes[2] = {100, 70};
  for (const int swapped : {0, 1})
    for (const int clusters : {1, 2})
      for (std::int64_t groups = 0; groups < 4; ++groups) {
        ggemm_tile_grid alike = GGEMM_TILE_GRID_INIT;
        alike.groups = groups, alike.tile_m = 32, alike.tile_n = 16, alike.raster = 3, alike.cluster_m = clusters, alike.swapped = swapped;
        ggemm_tile_grid told = alike;
        alike.m = ggemm_const(sizes[0]), alike.n = ggemm_const(sizes[1]);
        told.m = ggemm_i64_at(sizes, 0), told.n = ggemm_i64_at(sizes + 1, 0);
        std::int64_t count = -1, told_count = -2;
        REQUIRE(ggemm_tile_count(&alike, &count) == GGEMM_OK);
        REQUIRE(ggemm_tile_count(&told, &told_count) == GGEMM_OK);
        REQUIRE(count == told_count);
        for (std::int64_t pid = -1; pid <= count; ++pid) {
          ggemm_tile a = GGEMM_TILE_INIT, b = GGEMM_TILE_INIT;
          const ggemm_status status = ggemm_tile_at(&alike, pid, &a);
          REQUIRE(status == ggemm_tile_at(&told, pid, &b));
          REQUIRE((status == GGEMM_OK) == (pid >= 0 && pid < count));
          REQUIRE((a.group == b.group && a.tile_row == b.tile_row && a.tile_col == b.tile_col && a.row_begin == b.row_begin && a.row_end == b.row_end && a.col_begin == b.col_begin && a.col_end == b.col_end));
        }
      }
  ggemm_tile_grid many = GGEMM_TILE_GRID_INIT;
  many.tile_m = 128, many.tile_n = 64, many.m = ggemm_const(1024), many.n = ggemm_const(768);
  std::int64_t count = 0;
  many.groups = INT64_MAX / 96;
  REQUIRE(ggemm_tile_count(&many, &count) == GGEMM_OK);
  CHECK(count == INT64_MAX / 96 * 96);
  ggemm_tile last = GGEMM_TILE_INIT;
  REQUIRE(ggemm_tile_at(&many, count - 1, &last) == GGEMM_OK);
  CHECK((last.group == many.groups - 1 && last.row_end == 1024 && last.col_end == 768));
  CHECK(ggemm_tile_at(&many, -1, &last) == GGEMM_ERROR_ARGUMENT);
  CHECK(std::string(ggemm_last_error()).find("pid=-1 with " + std::to_string(count) + " tiles") != std::string::npos);
  many.groups = INT64_MAX;
  CHECK(ggemm_tile_count(&many, &count) == GGEMM_ERROR_ARGUMENT);
}
