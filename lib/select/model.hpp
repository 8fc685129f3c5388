// SPDX-License-Identifier: Apache-2.0
// The cost model: what a configuration should take, from the device's facts alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace ggemm::select {

// The sizes that a choice is made for. Plain: groups is 1. Grouped: groups that have rows and the mean of these, 0 where it is not known; skew: core::ProblemKey's.
struct Sizes {
  std::int64_t groups, m, n, k;
  int skew = 0;
};

// Operands of a plain product (their bits of ProblemType::unreachable) that are copied to workspace before it: what tensor maps cannot describe, where the kernel reads by these; and lines off 16 bytes where f64's tensor cores multiply, if that is estimated to take less than reading them as they lie.
std::uint8_t copied_operands(const core::ProblemType& type, const core::Config& config, const Sizes& sizes, const core::DeviceFacts& facts);

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

}  // namespace ggemm::select
