// SPDX-License-Identifier: Apache-2.0
// Which group a tile of a grouped launch belongs to, without any host knowledge of the sizes.
//
// Tiles are numbered through all groups. A warp looks at 32 groups at a time: each lane counts one group's tiles, a prefix sum gives where each
// ends, and a vote finds the one that holds the tile. The window only moves on, so a CTA that asks for ascending tiles reads each count once.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

struct GroupTile {
  i32 group;  // equal to the number of groups when the tile is past the last one
  i32 tile;   // within the group
};

// So many groups that follow one another are put in order, the deepest first: a tile takes as long as it is deep, and for what the last ones take others wait. The key of the number-th of them, by what counts of
// its depth; the greater key comes first, and no two are alike.
constexpr u32 ordered_groups = 1024;
constexpr i64 fewest_ordered = 8;  // of fewer each cluster has about as many of each group, and the order takes a microsecond
GG_HD u32 order_key(i64 depth, u32 number) {
  constexpr i64 deepest = 0xffffffffu / ordered_groups;
  return static_cast<u32>(min_of(max_of(depth, i64(0)), deepest)) * ordered_groups + (ordered_groups - 1 - number);
}
GG_HD i64 depth_of_key(u32 key) { return key / ordered_groups; }
// Of a depth so much does not count: such tiles take about as long as D's way to memory, which others' products hide if they come at the same time. (So many steps of 128 bytes for each byte of D's elements.)
// Where what counts of the deepest is not so much more than of the shallowest, groups stay in their order.
GG_HD i64 even_depth(int size_a, int size_d) { return i64(384) * size_d / size_a; }

// Numbers are 32 bits wide, as they live through the mainloop: a grouped launch has fewer than 2^31 groups and fewer than 2^31 tiles in all.
//
// Warp: the 32 lanes. On the device a Vector is one lane's value; the host tests bring 32 values. It has
//   Vector map(f)                 f(lane) in each lane
//   Vector inclusive_sum(Vector)
//   int first_above(Vector, x)    first lane whose value is > x, or 32
//   i32 at(Vector, lane)          that lane's value, in all lanes
template <class Warp>
struct GroupCursor {
  i32 base = -32;       // first group of the window; no window yet
  i32 tiles_before = 0; // tiles in all groups before the window
  i32 tiles_in = 0;     // and in it
  typename Warp::Vector ends;  // inclusive prefix sums of the window's tile counts

  // All lanes must call, with the same tile, never smaller than before. count(g) is the number of tiles in group g.
  template <class Count>
  GG_HD GroupTile find(i32 tile, i32 groups, Count count) {
    while (tile - tiles_before >= tiles_in) {
      if (base + 32 >= groups) return {groups, 0};
      base += 32;
      tiles_before += tiles_in;
      const i32 first = base;
      ends = Warp::inclusive_sum(Warp::map([=](int lane) { return first + lane < groups ? count(first + lane) : 0; }));
      tiles_in = Warp::at(ends, 31);
    }
    const i32 local = tile - tiles_before;
    const int lane = Warp::first_above(ends, local);
    return {base + lane, local - (lane == 0 ? 0 : Warp::at(ends, lane - 1))};
  }
};

}  // namespace ggemm::kernels
