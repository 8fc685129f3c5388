// SPDX-License-Identifier: Apache-2.0
// How CTAs share a tile along k: it is cut into slices, one for each cluster, and a slice into a part for each of the CTAs of a cluster that share it. For kernels and tests.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

struct DepthPart {
  i32 first, tiles;  // of k
};
// The part-th of `parts` parts of `tiles` tiles of k: they follow one another, and differ by one tile at most.
GG_HD DepthPart depth_part(i32 tiles, i32 parts, i32 part) {
  const i32 most = tiles / parts, longer = tiles % parts;
  return {part * most + (part < longer ? part : longer), most + (part < longer ? 1 : 0)};
}

// A CTA's place in a launch of `ctas` CTAs, whose first ctas / slices take the first slice of every tile, the next ones the second, and so on: neighbours then read the same
// part of k.
struct SlicePlace {
  u32 slice, cell;  // cell: the CTA's number among those of its slice
  GG_HD SlicePlace(u32 cta, u32 ctas, u32 slices) : slice(cta / (ctas / slices)), cell(cta % (ctas / slices)) {}
};

}  // namespace ggemm::kernels
