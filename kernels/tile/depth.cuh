// SPDX-License-Identifier: Apache-2.0
// How CTAs share tiles along k: tiles are cut into pieces for clusters, and a piece into a share for each of the CTAs of a cluster that share it. For kernels, launches and tests.
#pragma once
#include "tile/types.cuh"
#include "tile/walk.cuh"

namespace ggemm::kernels {

struct DepthPart {
  i32 first, tiles;  // of k
};
// The part-th of `parts` parts of `tiles` tiles of k: they follow one another, and differ by one tile at most.
GG_HD DepthPart depth_part(i32 tiles, i32 parts, i32 part) {
  const i32 most = tiles / parts, longer = tiles % parts;
  return {part * most + (part < longer ? part : longer), most + (part < longer ? 1 : 0)};
}

// How a product's cluster tiles, in raster order, are dealt to the clusters of a launch: the first `whole` are computed whole, cluster c taking the c-th and every so many-th after
// it as there are clusters. The steps of k of the `cut` tiles after them are laid end to end, and shared out evenly among the first `sharers` clusters: a share may be a piece of a
// tile, or the end of one, whole ones, and the beginning of another. Every sharer has a step at least (sharers <= cut * steps); those of tiles left over are `most_sharers` at most, and 2^32 is above
// (sharers + 1) * cut, and above what any other cluster's number comes to so.
struct DepthDeal {
  u32 whole, cut, sharers;  // sharers: 1 or more
  u32 pieces;               // sharers / cut where that is a whole number, and so how many pieces each tile has, which spares clusters most divisions; else, or if unknown, 0
};
GG_HD DepthDeal depth_deal(u32 whole, u32 cut, u32 sharers) { return {whole, cut, sharers, cut && sharers % cut == 0 ? sharers / cut : 0}; }
constexpr u32 most_sharers = 0xffff;

constexpr i32 most_counted_groups = 256;  // by a thread each
// Where nothing is cut, however many tiles there are.
constexpr DepthDeal nothing_cut = {0x7fffffff, 0, 1, 1};
// Tiles for which the rule below is another; in kernels that cut them there are no registers for what other kernels hold of D.
GG_HD constexpr bool large_tile(i32 rows, i32 columns) { return rows * columns >= 128 * 192; }
// Of tiles that the launch itself counts, those of groups: those left over are cut into as many pieces each, where enough clusters have none of them and k is long enough. Tiles of few rows are read from
// memory once: a launch of them ends no sooner than memory brings them, to half of the clusters as fast as to all. Large tiles do not wait for memory, and their pieces take longer to meet.
GG_HD DepthDeal deal_left_over(u32 tiles, u32 all_steps, u32 clusters, bool large) {
  constexpr u32 most_pieces = 8, least_steps = 4;  // of a tile; of a piece
  const u32 meeting = large ? 28 : 12;             // steps that may be multiplied while pieces meet
  const u32 rest = tiles % clusters, steps = all_steps < most_sharers ? all_steps : most_sharers;
  if (rest == 0 || 2 * rest > clusters || clusters > most_sharers) return nothing_cut;
  u32 pieces = clusters / rest;
  if (pieces > most_pieces) pieces = most_pieces;
  if (pieces > steps / least_steps) pieces = steps / least_steps;
  if (pieces < 2 || pieces * meeting > (pieces - 1) * steps || (!large && clusters * meeting > (clusters - 2 * rest) * steps)) return nothing_cut;
  return {tiles - rest, rest, rest * pieces, pieces};
}

// A place in the steps of the tiles that are cut.
struct DepthPoint {
  u32 tile, step;  // among these tiles; of that tile
};
// Where a sharer's steps begin, which is where the former's end: sharer * cut * steps / sharers, rounded down. Of clusters that have no share: behind the last tile.
GG_HD DepthPoint share_begin(const DepthDeal& deal, u32 steps, u32 sharer) {
  if (deal.pieces) {
    const u32 tile = sharer / deal.pieces, piece = sharer - tile * deal.pieces, most = steps / deal.pieces;
    return {tile, piece * most + piece * (steps - most * deal.pieces) / deal.pieces};
  }
  const u32 tiles = sharer * deal.cut, rest = tiles % deal.sharers;
  return {tiles / deal.sharers, rest * (steps / deal.sharers) + rest * (steps % deal.sharers) / deal.sharers};
}

// The pieces of one cluster, one after the other. What it is asked it works out anew each time: keeping it would cost the mainloop registers.
class PieceCursor {
 public:
  PieceCursor() = default;  // of no cluster
  GG_HD PieceCursor(u32 cluster, u32 clusters) : tile_(static_cast<i32>(cluster) - static_cast<i32>(clusters)) {}
  // cluster, clusters: as before.
  GG_HD bool next(const DepthDeal& deal, u32 steps, u32 cluster, u32 clusters) {
    const i32 whole = static_cast<i32>(deal.whole);
    if (tile_ >= whole) {
      ++tile_;
    } else {
      tile_ += static_cast<i32>(clusters);
      if (tile_ < whole) return true;
      tile_ = whole + static_cast<i32>(share_begin(deal, steps, cluster).tile);
    }
    const u32 tile = static_cast<u32>(tile_ - whole);
    const DepthPoint end = share_begin(deal, steps, cluster + 1);
    return tile < deal.cut && (tile < end.tile || (tile == end.tile && end.step > 0));
  }
  GG_HD u32 tile() const { return static_cast<u32>(tile_); }
  // The piece's steps.
  GG_HD DepthPart depth(const DepthDeal& deal, u32 steps, u32 cluster) const {
    if (tile() < deal.whole) return {0, static_cast<i32>(steps)};
    const DepthPoint begin = share_begin(deal, steps, cluster), end = share_begin(deal, steps, cluster + 1);
    const u32 tile = this->tile() - deal.whole, first = tile == begin.tile ? begin.step : 0, last = tile == end.tile ? end.step : steps;
    return {static_cast<i32>(first), static_cast<i32>(last - first)};
  }

 private:
  i32 tile_;
};

// What a piece is among those of its tile, which follow one another in k.
struct TilePiece {
  u32 number = 0, count = 1;  // of the tile's pieces; 1: it is whole, and the rest is nothing
  u32 cell = 0;               // the tile's number among those that are cut
  u32 slot = 0;               // where sums of the tile's first piece lie; those of the others follow it
};
// The sharers that have steps of the tile are neighbours.
GG_HD TilePiece tile_piece(const DepthDeal& deal, u32 steps, u32 tile, u32 cluster) {
  if (tile < deal.whole) return {};
  const u32 cell = tile - deal.whole;
  if (deal.pieces) return {cluster - cell * deal.pieces, deal.pieces, cell, cell * deal.pieces};
  const u32 first = (cell * deal.sharers + (deal.sharers - 1) / steps) / deal.cut, last = ((cell + 1) * deal.sharers - 1) / deal.cut;
  // A sharer's piece of the next tile has the next slot. Where every sharer has one piece, sharers are slots.
  return {cluster - first, last - first + 1, cell, first + (deal.sharers % deal.cut ? cell : 0)};
}
// Slots in all.
GG_HD u32 piece_slots(const DepthDeal& deal) { return deal.cut ? deal.sharers + (deal.sharers % deal.cut ? deal.cut - 1 : 0) : 0; }

// CTAs that have one thing to do each, as many as there are whole tiles and pieces: the c-th has the c-th tile, or, behind these, a piece of one. All tiles that are cut have so many pieces; first come all first
// ones, of `first` steps, then all second ones, and so on, which have `others` steps, the first `longer` of them one more. The device starts CTAs in their order where there is room: so what is long goes first.
struct PieceWalk {
  u32 whole, pieces;
  Divisor cut;  // tiles that are
  u32 steps, first, others, longer;
};
GG_HD PieceWalk piece_walk(const DepthDeal& deal, u32 first, u32 steps) {
  if (deal.cut == 0) return {deal.whole, 1, divisor(1), steps, steps, 0, 0};
  return {deal.whole, deal.pieces, divisor(deal.cut), steps, first, (steps - first) / (deal.pieces - 1), (steps - first) % (deal.pieces - 1)};
}
struct CutPlace {
  u32 tile, number;  // in raster order; of the tile's piece
};
GG_HD CutPlace cut_place(const PieceWalk& walk, u32 cta) {
  if (cta < walk.whole) return {cta, 0};
  const u32 number = divided(cta - walk.whole, walk.cut);
  return {cta - number * walk.cut.by, number};
}
GG_HD DepthPart cut_depth(const PieceWalk& walk, CutPlace at) {
  if (at.tile < walk.whole) return {0, static_cast<i32>(walk.steps)};
  if (at.number == 0) return {0, static_cast<i32>(walk.first)};
  const u32 other = at.number - 1, before = other < walk.longer ? other : walk.longer;
  return {static_cast<i32>(walk.first + other * walk.others + before), static_cast<i32>(walk.others + (other < walk.longer))};
}
GG_HD TilePiece cut_piece(const PieceWalk& walk, CutPlace at) {
  if (at.tile < walk.whole) return {};
  const u32 cell = at.tile - walk.whole;
  return {at.number, walk.pieces, cell, cell * walk.pieces};
}

}  // namespace ggemm::kernels
