// SPDX-License-Identifier: Apache-2.0
// The cost model: what a configuration should take, from the device's facts alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "tile/depth.cuh"

namespace ggemm::select {

// The sizes that a choice is made for. Plain: groups is 1. Grouped: the mean group, 0 where it is not known; skew: core::ProblemKey's.
struct Sizes {
  std::int64_t groups, m, n, k;
  int skew = 0;
};

// Estimated microseconds.
double estimate(const core::ProblemType& type, const core::Config& config, const Sizes& sizes, const core::DeviceFacts& facts);

// What computes the larger groups of a configuration that leaves them to another one (Config::large_above): what would be best if one group had all rows. Nothing if there is none.
std::optional<core::Config> large_tiles(const core::ProblemType& type, const Sizes& sizes, const core::DeviceFacts& facts);

// Whether a mean group is one of the larger ones, so that nearly all are.
bool mostly_large(const core::Config& config, const Sizes& sizes);

struct Candidate {
  core::Config config;  // with its raster group
  double microseconds;  // by the model
};
struct Rejected {
  core::Config config;
  std::string reason;
};
struct Ranking {
  std::vector<Candidate> legal;  // best estimate first
  std::vector<Rejected> rejected;
};
// The whole table, ranked for a problem. Deterministic.
Ranking rank(const core::ProblemType& type, const Sizes& sizes, const core::DeviceFacts& facts);

// How a configuration that cuts k for the tiles left over deals out so many tiles of clusters, of so many steps of k each, to that many clusters at once. The same for the same numbers.
kernels::DepthDeal deal_tail(const core::ProblemType& type, const core::Config& config, std::int64_t tiles, std::int64_t steps, std::int64_t clusters);

// The same of CTAs that have a tile or a piece of one each, at_once on a multiprocessor. first: steps of a tile's first piece (kernels/tile/depth.cuh).
struct PieceDeal {
  kernels::DepthDeal deal;
  kernels::u32 first;
};
PieceDeal deal_pieces(const core::ProblemType& type, const core::Config& config, std::int64_t tiles, std::int64_t steps, std::int64_t multiprocessors, std::int64_t at_once);

}  // namespace ggemm::select
