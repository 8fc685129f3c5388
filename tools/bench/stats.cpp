// SPDX-License-Identifier: Apache-2.0
#include "bench/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ggemm::bench {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double paired_ratio(const std::vector<double>& ours, const std::vector<double>& peer) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(ours.size(), peer.size()); i++) ratios.push_back(peer[i] / ours[i]);
  return median(std::move(ratios));
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Tally tally(const std::vector<double>& ratios) {
  Tally out;
  out.mean = geometric_mean(ratios);
  out.worst = ratios.empty() ? std::numeric_limits<double>::quiet_NaN() : *std::min_element(ratios.begin(), ratios.end());
  for (const double ratio : ratios) {
    if (std::fabs(ratio - 1) <= tie_band)
      out.ties++;
    else if (ratio > 1)
      out.wins++;
    else
      out.losses++;
  }
  return out;
}

Ceiling::Ceiling(std::vector<std::pair<double, double>> points) : points_(std::move(points)) { std::sort(points_.begin(), points_.end()); }

double Ceiling::seconds(double work) const {
  const auto& first = points_.front();
  const auto& last = points_.back();
  if (work <= first.first) return work * first.second / first.first;
  if (work >= last.first) return work * last.second / last.first;
  const auto after = std::upper_bound(points_.begin(), points_.end(), std::make_pair(work, std::numeric_limits<double>::infinity()));
  const auto before = after - 1;
  const double part = (work - before->first) / (after->first - before->first);
  return before->second + part * (after->second - before->second);
}

std::optional<double> limit_us(double flops, double bytes, const Ceiling& ceiling, double bytes_per_second) {
  if (!ceiling.known() || !(bytes_per_second > 0)) return std::nullopt;
  return 1e6 * std::max(flops > 0 ? ceiling.seconds(flops) : 0.0, bytes / bytes_per_second);
}

}  // namespace ggemm::bench
