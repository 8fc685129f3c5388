// SPDX-License-Identifier: Apache-2.0
// How k is cut for the tiles left over, how their pieces are dealt out, and tiles to GPCs: by the cost model's arithmetic, for its estimates and again for each launch.
#pragma once
#include <cmath>

#include "select/costs.hpp"
#include "tile/depth.cuh"

namespace ggemm::select {

inline double ceil_div(double a, double b) { return std::ceil(a / b); }

// Of what is left over when every cluster has had as many tiles: how many are cut along k, and how many clusters share them.
struct Tail {
  std::int64_t cut, sharers;
};

// Clocks of all tiles, dealt so; and the tail that takes fewest.
double tail_clocks(const TileCosts& costs, double tiles, double steps, double clusters, const Tail& tail);
Tail best_tail(const TileCosts& costs, std::int64_t tiles, std::int64_t steps, std::int64_t clusters);

// Of `rest` tiles, fewer than there are places for CTAs, which start in their order where there is one free: into how many pieces each is cut, and how many steps of k the first ones have.
struct Cut {
  std::int64_t pieces, first;
  double clocks;
};
Cut best_cut(const TileCosts& costs, std::int64_t rest, std::int64_t steps, std::int64_t places);

// How a configuration that cuts k for the tiles left over deals out so many tiles of clusters, of so many steps of k each, to that many clusters at once. The same for the same numbers.
kernels::DepthDeal deal_tail(const core::ProblemType& type, const core::Config& config, std::int64_t tiles, std::int64_t steps, std::int64_t clusters);

// The same of CTAs that have a tile or a piece of one each, at_once on a multiprocessor. first: steps of a tile's first piece (kernels/tile/depth.cuh).
struct PieceDeal {
  kernels::DepthDeal deal;
  kernels::u32 first;
};
PieceDeal deal_pieces(const core::ProblemType& type, const core::Config& config, std::int64_t tiles, std::int64_t steps, std::int64_t multiprocessors, std::int64_t at_once);

// Of one product's tiles, so many down and across as its kernel sees them, whether neighbours are dealt to one GPC, whose multiprocessors' requests for a line are joined on the way to L2: tiles without clusters, in one
// round, or two of smaller ones, unless they are a single row or column; and slices of k so, unless there is one tile. Others are dealt to GPCs by turns. multiprocessors: no more than max_ctas.
bool neighbours(const core::Config& config, double down, double across, int multiprocessors);

}  // namespace ggemm::select
