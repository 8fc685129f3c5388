// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the benchmark: medians, paired ratios, means by category, and the limit of a problem.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ggemm::bench {

// The middle value, or the mean of the two middle ones. NaN for none.
double median(std::vector<double> values);

// Median of peer[i] / ours[i] over the samples that both have: above 1 ours is the faster. NaN for none.
double paired_ratio(const std::vector<double>& ours, const std::vector<double>& peer);

double geometric_mean(const std::vector<double>& values);

struct Tally {
  double mean = 0;  // geometric
  double worst = 0;
  int wins = 0, ties = 0, losses = 0;  // a tie is a ratio within 2% of 1
};
inline constexpr double tie_band = 0.02;
Tally tally(const std::vector<double>& ratios);

// How long a unit of the machine needs for some work, measured at rising lengths. Between two lengths the time is interpolated; below the first
// and above the last it is proportional to the work.
class Ceiling {
 public:
  // `points`: work (flops) and the seconds that it took. Need not be sorted.
  explicit Ceiling(std::vector<std::pair<double, double>> points = {});
  bool known() const { return !points_.empty(); }
  double seconds(double work) const;
  // Work per second at a launch that does `work`.
  double rate(double work) const { return work / seconds(work); }

 private:
  std::vector<std::pair<double, double>> points_;
};

// The larger of the time for the flops and the time for the bytes, in microseconds. Nothing if the bandwidth or the ceiling is not known.
std::optional<double> limit_us(double flops, double bytes, const Ceiling& ceiling, double bytes_per_second);

}  // namespace ggemm::bench
