// SPDX-License-Identifier: Apache-2.0
// What a consumer warpgroup of sm90.cu does with a tile, whatever product it is of.
#pragma once
#include "ptx/launch.cuh"
#include "roles/cta.cuh"
#include "scheduler/raster.cuh"

namespace ggemm::kernels {

// A consumer warpgroup: its place in the ring, its place in the staging. CLUSTER_K: as in the traits.
template <int CLUSTER_K>
struct Consumer {
  const int group;  // Shape::group
  u32 turn = 0;  // counts tiles
  Shape::Cursor at;
  Steps::Cursor cursor;
  Epilogue::Held held;  // of the tile before

  GG_DEVICE u32 party() const { return blockIdx.x % Shape::CLUSTER * Shape::CONSUMERS + static_cast<u32>(group); }  // as slices.cuh has them
  // The CTA's tile, or a piece of it along k: Tile is Plain's or Grouped's, and says of what product, where, and how D and C are reached.
  template <class Tile>
  GG_DEVICE void run(const Cta& cta, Tile tile) {
    Mainloop mainloop;
    const auto first_row = [&](i64 row) { return row * T::BM + group % Shape::CONSUMERS / T::WARPS_N * Shape::WM; };
    const auto first_column = [&](i64 column) { return column * T::BN + group % Shape::CONSUMERS % T::WARPS_N * Shape::WN; };
    // C comes while the tile is multiplied, where it is this CTA that stores it.
    constexpr bool AHEAD = Steps::BRINGS_C && !T::LEAVES && !T::SLICED && CLUSTER_K == 1;
    const auto ask_c = [&](i64 row, i64 column) { Epilogue::ask_c(tile.problem(), tile.c(), tile.store(), row, column, cta.staging(group), group, cursor); };
    if constexpr (AHEAD) {
      if (tile.c().map) {
        if constexpr (T::GROUPED) store_held(cta, -1);  // one product reads C for all tiles or for none, and what is held has read none
        const TileCoord at_first = tile.place();
        ask_c(first_row(at_first.row), first_column(at_first.col));
      }
    }
    [[maybe_unused]] const u32 own = turn - 1;
    if constexpr (T::TEAMS > 1) cta.turns.wait(own);
    mainloop.consume(cta.ring, at, cta.slots, group % Shape::CONSUMERS, tile.tiles, tile.unusual(), [&] {
      if constexpr (T::TEAMS > 1) cta.turns.pass(own);
    }, [&](i32 step) { store_held(cta, step); });
    store_held(cta, -1);
    // While the last products are under way.
    tile.renew();
    const TileCoord tile_at = tile.place();
    const bool hold = Epilogue::Held::HELD > 0 && !tile.last();
    const i64 row = ptx::renewed(tile_at.row), column = ptx::renewed(tile_at.col);
    mainloop.finish(cta.ring, tile.tiles);
    const i64 first = first_row(row);
    i64 across = first_column(column);
    using Sums = Shape::Sum[Shape::BLOCKS][Reduction::WN / 2];
    const auto finish = [&](Sums& sums) {
      if constexpr (T::LEAVES) {
        ptx::launch_next();
        return Slices::leave(flat(sums), tile.slices(), tile.piece(), party());
      } else if constexpr (T::SLICED) {
        const DepthDeal deal = tile.slices().deal;
        if (T::GROUPED && deal.pieces == 0) __builtin_unreachable();  // deal_left_over's
        const TilePiece among = tile_piece(deal, tile.steps(), tile.piece(), blockIdx.x / Shape::CLUSTER);
        if (among.count > 1 && !Slices::run(flat(sums), tile.slices(), among, party(), 1 + group)) return;
      }
      if constexpr (!T::LEAVES) {
        if constexpr (!AHEAD) ask_c(first, across);
        Epilogue::run(sums, tile.problem(), tile.d(), tile.c(), tile.store(), tile.rows(), tile.start(), first, across, cta.staging(group), group, cursor, held, hold);
      }
    };
    if constexpr (CLUSTER_K == 1) {
      finish(mainloop.sums);
    } else {
      const u32 rank = Shape::part_of_k();
      across += rank * Reduction::WN;
      Reduction reduction;
      if (reduction.run(mainloop.sums, cta.slots, rank)) finish(reduction.sums);
    }
  }
  // Whether the CTA's next tile is this team's; if not, its slots are passed over.
  GG_DEVICE bool takes(i32 tiles) {
    if (T::TEAMS == 1 || turn++ % 2 == static_cast<u32>(group / Shape::CONSUMERS)) return true;
    at.skip(static_cast<u32>(tiles));
    return false;
  }
  GG_DEVICE void store_held(const Cta& cta, i32 step) { held.store(step, cta.staging(group), group, cursor); }
  // There is no more tile: of one that was known to be the last nothing is held. Shared memory must not go to another CTA while the copy engine still reads it.
  GG_DEVICE void finish(const Cta& cta) {
    if constexpr (T::GROUPED) store_held(cta, -1);
    if (threadIdx.x % 128 < 32 && ptx::elect_one()) ptx::store_wait_read<0>();
  }
};

}  // namespace ggemm::kernels
