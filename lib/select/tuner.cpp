// SPDX-License-Identifier: Apache-2.0
#include "select/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/error.hpp"

namespace ggemm::select {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Does one step of a candidate's. False where it fails for a reason of the candidate's own, which is then why it cannot win; other errors end the tuning.
template <class Step>
bool tried(TuneRow& row, Step step) {
  try {
    step();
  } catch (const core::Error& error) {
    if (error.status() != GGEMM_ERROR_COMPILE && error.status() != GGEMM_ERROR_LAUNCH && error.status() != GGEMM_ERROR_UNSUPPORTED) throw;
    row.rejected = error.text();
  }
  return row.rejected.empty();
}

// Whether k could be cut for tiles that are left over, but that gains nothing: another candidate is as good without.
bool idle_tail(const Ranking& ranking, const Candidate& candidate) {
  core::Config whole = candidate.config;
  whole.slices = 0;
  return candidate.config.slices == core::tail_slices &&
         std::any_of(ranking.legal.begin(), ranking.legal.end(), [&](const Candidate& other) { return other.config == whole && other.microseconds <= candidate.microseconds; });
}

}  // namespace

std::vector<core::Config> candidates(const Ranking& ranking, const Sizes& sizes) {
  constexpr std::size_t most = 12, with_rasters = 3;
  std::vector<core::Config> out;
  std::size_t taken = 0;
  for (const Candidate& candidate : ranking.legal) {
    if (taken == most) break;
    if (idle_tail(ranking, candidate) || mostly_large(candidate.config, sizes)) continue;
    core::Config config = candidate.config;
    out.push_back(config);
    if (++taken > with_rasters || config.raster == 0) continue;
    const int raster = config.raster;
    for (const int other : {raster / 2, raster * 2}) {
      config.raster = static_cast<std::uint16_t>(other);
      if (other >= 1 && other <= 32) out.push_back(config);
    }
  }
  return out;
}

std::vector<Sizes> sample_of(const Sizes& mean, std::int64_t largest_m) {
  constexpr std::int64_t most = 256;
  std::vector<Sizes> out(static_cast<std::size_t>(std::min(mean.groups, most)), Sizes{1, mean.m, mean.n, mean.k});
  const auto others = static_cast<std::int64_t>(out.size()) - 1;
  if (largest_m <= mean.m || others < 1) return out;
  // It has its rows from the others.
  const std::int64_t each = std::min((largest_m - mean.m) / others, mean.m);
  for (Sizes& s : out) s.m -= each;
  out[out.size() / 2].m = mean.m + each * others;
  return out;
}

TuneOutcome tune(const std::vector<core::Config>& candidates, Runner& runner, double budget_seconds, const TuneProgress& progress) {
  constexpr double behind = 1.10, alike = 1.01;
  constexpr int more_rounds = 2;
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > budget_seconds; };
  TuneOutcome out;
  std::vector<std::vector<double>> times(candidates.size());  // of a round each; none if it was not tried or cannot win
  const auto time = [&](std::size_t i) {
    if (!tried(out.rows[i], [&] { times[i].push_back(runner.time(candidates[i])); })) times[i].clear();
  };
  const auto tell = [&](std::size_t i) {
    if (!out.stopped && progress && !progress(i, candidates.size(), out.rows[i])) out.stopped = true;
  };
  const auto fastest = [&] {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& each : times)
      if (!each.empty()) least = std::min(least, each.front());
    return least;
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    TuneRow& row = out.rows.emplace_back(TuneRow{candidates[i], 0, ""});
    if (out.stopped) row.rejected = "not tried: stopped";
    else if (i > 0 && late()) row.rejected = "not tried: the time budget is spent";
    else if (tried(row, [&] { runner.load(row.config), row.rejected = runner.verify(row.config); })) time(i);
    if (!times[i].empty()) row.microseconds = times[i].front();
    tell(i);
  }
  for (int round = 0; round < more_rounds && !out.stopped; ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (!out.stopped && !times[i].empty() && times[i].front() <= fastest() * behind && !late()) {
        time(i);
        if (times[i].empty()) out.rows[i].microseconds = 0, tell(i);
      }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (times[i].empty()) continue;
    out.rows[i].microseconds = median(times[i]);
    if (out.first < 0) out.first = static_cast<int>(i);
    if (out.best < 0 || out.rows[i].microseconds * alike < out.rows[static_cast<std::size_t>(out.best)].microseconds) out.best = static_cast<int>(i);
  }
  return out;
}

}  // namespace ggemm::select
