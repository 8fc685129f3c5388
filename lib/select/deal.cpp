// SPDX-License-Identifier: Apache-2.0
#include "select/deal.hpp"

#include <algorithm>
#include <cmath>

#include "select/footprint.hpp"

namespace ggemm::select {
namespace {

using core::Config;
using core::ProblemType;

// Pieces of a tile meet in L2: every CTA but the last writes its sums, and that one reads theirs.
constexpr double meet_clocks = 3500, meet_bytes = 40;
double meet(const TileCosts& costs, double pieces) { return meet_clocks + costs.sums * pieces / meet_bytes; }

}  // namespace

double tail_clocks(const TileCosts& costs, double tiles, double steps, double clusters, const Tail& tail) {
  const double cut = static_cast<double>(tail.cut), sharers = static_cast<double>(tail.sharers), whole = ceil_div(tiles - cut, clusters) * (steps * costs.step + costs.store);
  if (tail.cut == 0) return whole;
  const double shared = ceil_div(cut * steps, sharers) * costs.step;
  if (tail.sharers % tail.cut == 0) return whole + shared + meet(costs, sharers / cut) + costs.store;
  // Clusters are at different places of k then, so that they find less of what they read in L2.
  constexpr double apart = 1.1;
  // Most sharers have the end of a tile first, whose sums they write and leave. Where they have more than a tile, that was long before others read them, who then need not write theirs.
  const double pieces = ceil_div(sharers, cut) + 1, early = meet_clocks + costs.sums / meet_bytes, late = tail.cut > tail.sharers ? meet(costs, pieces - 2) : meet(costs, pieces);
  return whole + apart * shared + early + late + (1 + std::floor(cut / sharers)) * costs.store;
}

Tail best_tail(const TileCosts& costs, std::int64_t tiles, std::int64_t steps, std::int64_t clusters) {
  Tail best{0, 1};
  const std::int64_t rest = tiles % clusters;
  if (rest == 0) return best;
  double least = tail_clocks(costs, static_cast<double>(tiles), static_cast<double>(steps), static_cast<double>(clusters), best);
  const auto consider = [&](const Tail& tail) {
    if (tail.sharers > clusters || tail.sharers > tail.cut * steps) return;
    const double clocks = tail_clocks(costs, static_cast<double>(tiles), static_cast<double>(steps), static_cast<double>(clusters), tail);
    if (clocks < least) best = tail, least = clocks;
  };
  for (const int pieces : {2, 3, 4, 5, 6, 8, 11, 16}) consider({rest, rest * pieces});
  // Evenly among all; with the last whole round, if there is one, which leaves every tile two or three pieces.
  consider({tiles > clusters ? rest + clusters : rest, clusters});
  return best;
}

Cut best_cut(const TileCosts& costs, std::int64_t rest, std::int64_t steps, std::int64_t places) {
  // A step's clocks where there are so many CTAs: fewer share a multiprocessor, and do not busy it as all would.
  constexpr double idle = 0.3;
  const auto step_of = [&](std::int64_t ctas) {
    const double part = std::min(1.0, ceil_div(static_cast<double>(ctas) * costs.at_once, static_cast<double>(places)) / costs.at_once);
    return std::max(costs.step * part * (1 + idle * (1 - part)), costs.least);
  };
  Cut best{1, steps, rest ? static_cast<double>(steps) * step_of(rest) + costs.store : 0};
  const auto consider = [&](std::int64_t pieces, std::int64_t first) {
    if (first < 1 || first >= steps || steps - first < pieces - 1 || rest * (pieces - 1) > places) return;  // (so many have workspace)
    const double step = step_of(rest * pieces), others = static_cast<double>(rest * (pieces - 1)), free = static_cast<double>(places - rest), longest = static_cast<double>(first) * step + costs.store,
                 each = ceil_div(static_cast<double>(steps - first), static_cast<double>(pieces - 1)) * step + costs.store;
    // Other pieces go to the free places, and then to all.
    const double beside = std::min(others, free * std::floor(longest / each)), after = ceil_div(others - beside, static_cast<double>(places));
    const double clocks = std::max(longest + after * each, after > 0 ? 0 : ceil_div(others, free) * each) + meet(costs, static_cast<double>(pieces));
    if (clocks < best.clocks) best = {pieces, first, clocks};
  };
  if (rest == 0 || rest >= places) return best;
  for (const int pieces : {2, 3, 4, 5, 6, 8, 11, 16, 22, 33, 44, 66, 88, 132, 176, 264}) consider(pieces, (steps + pieces - 1) / pieces);
  // A long one each, and short ones, of which a free place has several.
  const double several = std::floor(static_cast<double>(places - 1) / static_cast<double>(places - rest));
  consider(2, steps - static_cast<std::int64_t>((static_cast<double>(steps) * costs.step - (several - 1) * costs.store) / ((several + 1) * costs.step)));
  return best;
}

// (By what L2 brings of any operands, so that bits do not depend on how lines lie: the estimate knows more, and may deal otherwise.)
kernels::DepthDeal deal_tail(const ProblemType& type, const Config& config, std::int64_t tiles, std::int64_t steps, std::int64_t clusters) {
  const Tail tail = best_tail(tensor_costs(type, core::upright(config)), tiles, steps, clusters);
  return kernels::depth_deal(static_cast<kernels::u32>(tiles - tail.cut), static_cast<kernels::u32>(tail.cut), static_cast<kernels::u32>(tail.sharers));
}

// (Whatever the operands' alignment, which a plan does not know: bits must not depend on it.)
PieceDeal deal_pieces(const ProblemType& type, const Config& config, std::int64_t tiles, std::int64_t steps, std::int64_t multiprocessors, std::int64_t at_once) {
  ProblemType reached = type;
  reached.unreachable = 0;
  const std::int64_t ctas = multiprocessors * at_once, rest = tiles % ctas;
  const Cut best = best_cut(loop_costs(reached, config, static_cast<double>(at_once)), rest, steps, ctas);
  const kernels::u32 cut = static_cast<kernels::u32>(best.pieces > 1 ? rest : 0);
  return {kernels::depth_deal(static_cast<kernels::u32>(tiles) - cut, cut, cut ? static_cast<kernels::u32>(best.pieces) * cut : 1), static_cast<kernels::u32>(best.first)};
}

bool neighbours(const core::Config& config, double down, double across, int multiprocessors) {
  constexpr int smaller = 128 * 128;  // larger ones in two rounds, limited by power, were 5% behind clusters
  const bool sliced = config.slices > core::tail_slices;
  const double rounds = config.tile_m * config.tile_n > smaller ? 1 : 2;
  return config.family == core::Family::sm90 && cluster(config) == 1 && (sliced ? down * across > 1 : down > 1 && across > 1) && down * across * std::max<double>(1, config.slices) <= rounds * multiprocessors;
}

}  // namespace ggemm::select
