// SPDX-License-Identifier: Apache-2.0
// The cost model: what a configuration should take, from the device's facts alone.
#pragma once
#include <string>
#include <vector>

#include "core/config.hpp"

namespace ggemm::select {

// The sizes that a choice is made for. Plain: groups is 1. Grouped: the mean group, 0 where it is not known.
struct Sizes {
  std::int64_t groups, m, n, k;
};

// Estimated microseconds.
double estimate(const core::ProblemType& type, const core::Config& config, const Sizes& sizes, const core::DeviceFacts& facts);

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

}  // namespace ggemm::select
