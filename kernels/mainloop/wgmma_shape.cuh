// SPDX-License-Identifier: Apache-2.0
// What the roles of sm_90a's mainloop agree on: the tiles in a slot of the ring, who has which part of a CTA's tile, and how the CTAs of a cluster share operands and k.
#pragma once
#include "pipeline/ring.cuh"
#include "tile/depth.cuh"
#include "tile/panel_tile.cuh"
#include "tile/terms.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

template <class T>
struct WgmmaShape {
  static constexpr int SIZE = sizeof(typename T::A);
  static constexpr MapForm FORM = T::BATCH ? MapForm::batch : MapForm::matrix;
  static_assert(!T::BATCH || !T::SPLIT_PAIRS, "a map has three dimensions");
  using TileA = PanelTile<T::BM, T::BK, SIZE, T::A_MN_MAJOR, FORM>;
  using TileB = PanelTile<T::BN, T::BK, SIZE, T::B_MN_MAJOR, T::SPLIT_PAIRS ? MapForm::halves : FORM>;
  using Sum = typename T::Sum;
  using Cursor = typename Ring<T::STAGES>::Cursor;
  static constexpr int GROUPS_M = T::WARPS_M / 4, GROUPS_N = T::WARPS_N, CONSUMERS = GROUPS_M * GROUPS_N;  // consumer warpgroups down and across; of a team
  static constexpr int WM = T::BM / GROUPS_M, WN = T::BN / GROUPS_N;                                       // a warpgroup's part of the tile
  GG_DEVICE static int group(int thread) { return thread / 128 - 1; }  // the consumer warpgroup of a thread, among all; a team's follow one another
  GG_DEVICE static int row(int group) { return group / GROUPS_N * WM; }  // where the part of the group-th warpgroup of its team begins
  static constexpr int BLOCKS = WM / 64, STEPS = T::BK * SIZE / 32;
  static_assert(WM % 64 == 0, "a warpgroup multiplies 64 rows at a time");
  // A slot's tiles; and behind the tiles of all slots, of each twice, by turns, the scales of its block of k: A's of all, then B's. A warp of producers, or all of them where they gather, brings these, and a lane says so besides; but for
  // A's where the copy engine does.
  static constexpr int SLOT_BYTES = TileA::BYTES + TileB::BYTES;
  static constexpr int KIND_B = kind_in_tile(T::SCALE_B, T::SPLIT_PAIRS), SCALES_A = tile_scales(T::SCALE_A, T::BM, WM), SCALES_B = tile_scales(KIND_B, T::BN, WN), SCALE_BYTES = slot_scale_bytes(SCALES_A, SCALES_B);
  static constexpr bool SCALE_LINES = scaled_by_lines(T::SCALE_A);
  static_assert(!SCALE_LINES || SCALES_A * 4 % 128 == 0, "where the copy engine can write");
  static constexpr int RING_BYTES = static_cast<int>(ring_bytes(T::STAGES, SLOT_BYTES, SCALE_BYTES));
  static constexpr int FILLS = T::BLOCK_SCALED ? 2 : 1;  // arrivals that make a slot full
  // The place of so many slots after `at`; and bytes to it from the ring's beginning.
  static constexpr int PLACES = 2 * T::STAGES;
  GG_DEVICE static u32 place(Cursor at, int after = 0) {
    const u32 place = at.slot + at.phase * T::STAGES + after;
    return place < PLACES ? place : place - PLACES;
  }
  GG_DEVICE static u32 scales_a(u32 place) { return T::STAGES * SLOT_BYTES + place * scale_bytes(SCALES_A); }
  GG_DEVICE static u32 scales_b(u32 place) { return T::STAGES * SLOT_BYTES + PLACES * scale_bytes(SCALES_A) + place * scale_bytes(SCALES_B); }

  static constexpr bool PROMOTED = (T::FP8 && !T::FAST) || T::BLOCK_SCALED || T::TERMS;
  static_assert(!PROMOTED || T::BK == scale_block || T::TERMS, "sums are promoted, and scaled, every 128 of k");
  static_assert(T::TEAMS == 1 || !PROMOTED, "where sums are promoted nobody tells when the last slot is full");
  // Of terms each tile of k takes three slots of the ring, for the low terms of A and B, the middle ones and the high ones: in the order in which they are done with.
  static constexpr int TERM_SLOTS = T::TERMS ? term_count : 1;
  static_assert(T::STAGES % TERM_SLOTS == 0, "the slots of a tile of k lie one behind the other");

  static constexpr int SHARERS = T::CLUSTER_M * T::CLUSTER_N, CLUSTER = SHARERS * T::CLUSTER_K;
  static constexpr bool TURNS = clusters_turn(T::CLUSTER_M, T::CLUSTER_N);
  // CTAs that share operands follow one another in a cluster; those that share a tile along k are so many apart.
  GG_DEVICE static u32 sharer() { return SHARERS > 1 ? ptx::cluster_rank() % SHARERS : 0; }
  GG_DEVICE static u32 part_of_k() { return T::CLUSTER_K > 1 ? ptx::cluster_rank() / SHARERS : 0; }
  // A slot is empty when every warp that reads it here and in the CTAs that get slices from here has said so; of a cluster that has turned, which shares none, all the same.
  static constexpr int EMPTIES = CONSUMERS * 4 * (T::CLUSTER_M + T::CLUSTER_N - 1);
  static_assert(!T::TURNS_A || T::CLUSTER_N == 1, "that threads have read A is told to this CTA");
  // A tile of which a group has rows in the upper half alone is that half (tile/panels.cuh).
  static constexpr bool HALVES = in_halves(T::GROUPED, T::INDEX_COLUMNS, T::BM, T::WARPS_M, CLUSTER, T::TEAMS, T::BK, SIZE, T::A_MN_MAJOR);
  // Lines of A, or of B, that lie where an index says, which the copy engine does not reach.
  static constexpr bool INDEX_A = T::GATHER && !T::INDEX_COLUMNS, INDEX_B = T::GATHER && T::INDEX_COLUMNS;

  // The CTAs that share a tile along k take turns at its tiles of k, so that together they read whole lines of memory; where scales go by k, each has a part of it.
  static constexpr i32 STRIDE = T::BLOCK_SCALED ? 1 : T::CLUSTER_K;
  // This CTA's tiles of k, of those of its cluster; they lie STRIDE apart.
  GG_DEVICE static DepthPart part(const DepthPart& all) {
    if constexpr (T::CLUSTER_K == 1) return all;
    const i32 own = static_cast<i32>(part_of_k());
    if constexpr (STRIDE > 1) return {all.first + own, (all.tiles - own + STRIDE - 1) / STRIDE};
    const DepthPart part = depth_part(all.tiles, T::CLUSTER_K, own);
    return {all.first + part.first, part.tiles};
  }
};

}  // namespace ggemm::kernels
