// SPDX-License-Identifier: Apache-2.0
// Measures candidates through a Runner, so that it is tested without a GPU.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "select/model.hpp"

namespace ggemm::select {

// Groups to measure a grouped problem on that tells no more than their mean, and what its largest has of m (0: groups are alike): 256 of them at most, as more that are alike say nothing new.
std::vector<Sizes> sample_of(const Sizes& mean, std::int64_t largest_m);

// What is worth measuring: the ranked table, but for what gains nothing over another candidate, and of the best few also the neighbouring raster groups, which share a kernel.
std::vector<core::Config> candidates(const Ranking& ranking, const Sizes& sizes);

class Runner {
 public:
  virtual ~Runner() = default;
  // Makes the candidate ready; throws core::Error if it cannot be compiled or loaded.
  virtual void load(const core::Config& config) = 0;
  // Runs it on scratch memory and compares with the reference: "" if it is right, else what is wrong.
  virtual std::string verify(const core::Config& config) = 0;
  // One round of measuring: median microseconds of a launch.
  virtual double time(const core::Config& config) = 0;
};

struct TuneRow {
  core::Config config;
  double microseconds = 0;  // median over rounds; 0 if never timed, or failed in a round
  std::string rejected;     // why it cannot win; "" if it can
};
// Called when a candidate is finished with, and again if it fails in a later round; returns false to stop with what is known.
using TuneProgress = std::function<bool(std::size_t index, std::size_t total, const TuneRow& row)>;

struct TuneOutcome {
  std::vector<TuneRow> rows;  // in the candidates' order
  int best = -1;              // index; -1 if none was right
  int first = -1;             // of those that are right; -1 likewise
  bool stopped = false;       // by `progress`
};

// Candidates come cheapest first: of two within 1% the earlier one wins. First round: each is loaded, verified and timed. Then those more than 10% behind the best
// are dropped and the rest timed twice more, interleaved. A candidate that cannot be compiled, launched or served, in whichever round, is rejected with its error.
// What the budget leaves no time for is rejected for that reason; one candidate is always tried.
TuneOutcome tune(const std::vector<core::Config>& candidates, Runner& runner, double budget_seconds, const TuneProgress& progress);

}  // namespace ggemm::select
