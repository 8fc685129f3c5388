// SPDX-License-Identifier: Apache-2.0
#include "select/tuner.hpp"

#include <algorithm>
#include <chrono>

#include "core/error.hpp"

namespace ggemm::select {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What one candidate came to in the first round; its time, or 0.
double first_round(Runner& runner, TuneRow& row) {
  try {
    runner.load(row.config);
    row.rejected = runner.verify(row.config);
    return row.rejected.empty() ? runner.time(row.config) : 0;
  } catch (const core::Error& error) {
    if (error.status() != GGEMM_ERROR_COMPILE && error.status() != GGEMM_ERROR_LAUNCH && error.status() != GGEMM_ERROR_UNSUPPORTED) throw;
    row.rejected = error.text();
    return 0;
  }
}

}  // namespace

TuneOutcome tune(const std::vector<core::Config>& candidates, Runner& runner, double budget_seconds, const TuneProgress& progress) {
  constexpr double behind = 1.10, alike = 1.01;
  constexpr int more_rounds = 2;
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > budget_seconds; };
  TuneOutcome out;
  std::vector<std::vector<double>> times(candidates.size());
  double fastest = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    TuneRow row{candidates[i], 0, ""};
    if (out.stopped) row.rejected = "not tried: stopped";
    else if (i > 0 && late()) row.rejected = "not tried: the time budget is spent";
    else if (const double time = first_round(runner, row); row.rejected.empty()) {
      times[i].push_back(time);
      row.microseconds = time;
      fastest = fastest == 0 ? time : std::min(fastest, time);
    }
    out.rows.push_back(row);
    if (!out.stopped && progress && !progress(i, candidates.size(), out.rows.back())) out.stopped = true;
  }
  for (int round = 0; round < more_rounds && !out.stopped; ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (!times[i].empty() && times[i].front() <= fastest * behind && !late()) times[i].push_back(runner.time(candidates[i]));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (times[i].empty()) continue;
    out.rows[i].microseconds = median(times[i]);
    if (out.best < 0 || out.rows[i].microseconds * alike < out.rows[static_cast<std::size_t>(out.best)].microseconds) out.best = static_cast<int>(i);
  }
  return out;
}

}  // namespace ggemm::select
