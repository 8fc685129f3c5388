// SPDX-License-Identifier: Apache-2.0
// The shapes of what the tensor copy engine moves, for kernels and for the host that describes them to it. A panel is 128 bytes wide.
// (Functions of plain numbers: NVRTC 13.0 crashes on constants that are members of constexpr structs.)
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

constexpr int panel_bytes = 128;

// An operand's tile: `span` rows of A or columns of B, `depth` along k. One that is contiguous along k is cut into panels along k, each of `span` rows; one that is
// contiguous along m or n into panels along that, each of `depth` rows, of which the last may be wider than what is left of the tile. A row is a panel's width of elements.
GG_HD constexpr int tile_panels(int span, int depth, int size, bool mn_major) { return static_cast<int>(ceil_div((mn_major ? span : depth) * size, panel_bytes)); }
GG_HD constexpr int panel_rows(int span, int depth, bool mn_major) { return mn_major ? depth : span; }
// What it takes of a slot of the ring.
GG_HD constexpr int tile_bytes(int span, int depth, int size, bool mn_major) { return tile_panels(span, depth, size, mn_major) * panel_rows(span, depth, mn_major) * panel_bytes; }
// The ring: its slots, and behind them two places for the scales of the block of k of each. What follows begins at whole KiB too.
GG_HD constexpr i64 ring_bytes(i64 slots, i64 slot_bytes, i64 scale_bytes) { return slots * slot_bytes + ceil_div(2 * slots * scale_bytes, 1024) * 1024; }
// `share` CTAs of a cluster load a part each: of whole panels if they can be dealt out evenly, else of every panel's rows.
GG_HD constexpr bool dealt_by_panels(int span, int depth, int size, bool mn_major, int share) { return mn_major && tile_panels(span, depth, size, mn_major) % share == 0; }
// Rows of a box of such a part.
GG_HD constexpr int box_rows(int span, int depth, int size, bool mn_major, int share) {
  return panel_rows(span, depth, mn_major) / (dealt_by_panels(span, depth, size, mn_major, share) ? 1 : share);
}

// Of `split` CTAs that share a tile along k, those that finish an equal part each of a warpgroup's columns, in whole blocks of 8.
GG_HD constexpr int finishers(int columns, int split) {
  int count = split > 1 ? split : 1;
  while (columns % (8 * count) != 0) count /= 2;
  return count;
}

// Columns of D that a warpgroup stores which has so many of the product.
GG_HD constexpr int stored_columns(int columns, int split, bool pairs) { return columns / finishers(columns, split) / (pairs ? 2 : 1); }

// A warpgroup's 64 rows of D go out in steps of some columns, each through a slot of shared memory: of whole panels where there are so many columns, the first of what is left over.
// mn_major: D is contiguous along m. A slot has a barrier, for C that the copy engine brings there, and behind those is a note of what waits to be stored (epilogue/slot.cuh).
constexpr int store_slot_bytes = 8192, store_barrier_bytes = 8, store_note_bytes = 48;
GG_HD constexpr int store_notes_bytes(int slots) { return (slots * store_barrier_bytes + 15) / 16 * 16 + store_note_bytes; }
GG_HD constexpr int store_columns(int columns, int size_c, int size_d, bool mn_major) {
  const int wider = size_c > size_d ? size_c : size_d;
  int step = mn_major && wider <= 2 ? 64 : panel_bytes / wider;
  while (columns < step && columns % step != 0) step /= 2;
  return step;
}
// Whether a step is whole panels, which the copy engine can store as boxes of panels; of 64 rows, or, if mn_major, of the step's columns.
GG_HD constexpr bool store_by_boxes(int columns, int size_c, int size_d, bool mn_major) {
  return mn_major ? 64 * size_d % panel_bytes == 0 : store_columns(columns, size_c, size_d, mn_major) * size_d == panel_bytes;
}

// The slots of a warpgroup: enough for all its steps, blocks of 64 rows and so many columns, where that fits beside the ring and the CTA has its multiprocessor to itself, so that it stores a tile at
// once and waits for no slot; else two; or one, where two do not fit and another team multiplies meanwhile.
GG_HD constexpr int store_slots(int blocks, int columns, int size_c, int size_d, bool mn_major, i32 ring_bytes, int warpgroups, int teams) {
  constexpr i32 room = 222 * 1024, most = 4;  // of 227 KB: what else lies in shared memory takes less than 5
  const int steps = blocks * static_cast<int>(ceil_div(columns, store_columns(columns, size_c, size_d, mn_major)));
  const auto fits = [=](int slots) { return ring_bytes + warpgroups * slots * store_slot_bytes <= room; };
  if (teams > 1 && !fits(2)) return 1;
  constexpr i32 shared_by_two = 113 * 1024;
  return steps > 2 && steps <= most && fits(steps) && ring_bytes + warpgroups * 2 * store_slot_bytes > shared_by_two ? steps : 2;
}

// Two CTAs of a cluster, one below the other, turn where an odd row of tiles is left over: they take two tiles of it side by side, and share nothing, so that no CTA lies past
// the last row (scheduler/raster.cuh).
GG_HD constexpr bool clusters_turn(i32 down, i32 across) { return down == 2 && across == 1; }

// Whether a tile of groups is brought and multiplied in halves, one above the other, of which the lower one is left out where the group has no rows in it: tiles of two warpgroups of 64 rows each,
// which no other CTA shares, and whose A can be cut there. Not of a transposed product, whose rows are not the groups'.
GG_HD constexpr bool in_halves(bool groups, bool transposed, int rows, int warps_m, i32 sharers, int teams, int depth, int size, bool mn_major) {
  return groups && !transposed && rows == 128 && warps_m == 8 && sharers == 1 && teams <= 1 && (!mn_major || tile_panels(rows, depth, size, true) % 2 == 0);
}

// Whether a thread that holds so many promoted sums has two sets of what they are promoted from: it has registers for that with 64 of them, but where each block is scaled one set is at most 4% slower, and
// does not depend on how its loop is compiled as two do.
GG_HD constexpr bool promoted_from_two_sets(int sums, bool by_blocks) { return sums <= (by_blocks ? 32 : 64); }

}  // namespace ggemm::kernels
