// SPDX-License-Identifier: Apache-2.0
#include "select/model.hpp"

#include <algorithm>
#include <cmath>

#include "core/key.hpp"
#include "select/deal.hpp"
#include "select/estimates.hpp"
#include "select/space.hpp"
#include "select/table.hpp"

namespace ggemm::select {
namespace {

using core::Config;
using core::Family;
using core::ProblemType;

Sizes known(const Sizes& s) {
  // A middling expert, where the caller gives no hint.
  const auto or_else = [](std::int64_t v, std::int64_t fallback) { return v > 0 ? v : fallback; };
  return {std::max<std::int64_t>(s.groups, 1), or_else(s.m, 256), or_else(s.n, 1024), or_else(s.k, 1024), s.skew};
}

// Tiles of rows that make a wave's footprint on A and B smallest; or half a GPC's, where neighbours are dealt to one. Of groups, one of which may have all rows: those with fewer rows of tiles are walked by what they have.
std::uint16_t best_raster(const ProblemType& type, const Config& named, const Sizes& s, const core::DeviceFacts& facts) {
  const double wave = facts.multiprocessors * ctas_a_multiprocessor(type, named, facts);
  const Config c = core::upright(named);
  const bool clusters = c.family == Family::sm90;  // which are walked as one tile
  const double down = clusters ? c.tile_m * c.cluster_m : c.tile_m, across = clusters ? c.tile_n * c.cluster_n : c.tile_n;
  const double tiles = ceil_div(named.swap ? static_cast<double>(s.n) : static_cast<double>(s.groups) * static_cast<double>(s.m), down), columns = ceil_div(static_cast<double>(named.swap ? s.m : s.n), across);
  constexpr double half_gpc = 8;
  const double together = !type.grouped && neighbours(c, tiles, columns, facts.multiprocessors) ? half_gpc : wave / (clusters ? c.cluster_m * c.cluster_n : 1), rows = std::sqrt(together * across / down);
  int raster = 1;
  while (raster < 16 && raster * 1.4 < rows && raster < tiles) raster *= 2;
  return static_cast<std::uint16_t>(raster);
}

// Into how many slices k is best cut: as many as there is room for, or fewer.
std::uint16_t best_slices(const ProblemType& type, Config config, const Sizes& s, const core::DeviceFacts& facts) {
  const Config c = core::upright(config);
  const double down = ceil_div(static_cast<double>(config.swap ? s.n : s.m), c.tile_m), across = ceil_div(static_cast<double>(config.swap ? s.m : s.n), c.tile_n);
  const double room = std::floor(facts.multiprocessors / cluster(c) / cluster_tiles(c, down, across, false).count);
  std::uint16_t best = 2;
  double least = 0;
  for (const double slices : {2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, std::clamp(room, 2.0, 256.0)}) {
    config.slices = static_cast<std::uint16_t>(slices), config.raster = best_raster(type, config, s, facts);
    const double time = estimate_sm90(type, config, 1, static_cast<double>(s.m), static_cast<double>(s.n), static_cast<double>(s.k), facts, false);
    if (slices == 2 || time < least) best = config.slices, least = time;
  }
  return best;
}

// Where groups' sizes are not taken one by one, how often it is counted as if one had all rows: once in four times, where nothing is known; else as the skew says, which is of steps, so that what is best for groups that are
// quite alike may be bad for those that are not.
double part_of_one(int skew) { return skew == 0 ? 0.25 : skew <= core::skew_little ? 0.1 : std::max(0.1, (skew - core::skew_little - 1) / 4.0); }
}  // namespace

std::optional<Config> large_tiles(const ProblemType& type, const Sizes& given, const core::DeviceFacts& facts) {
  const Sizes s = known(given);
  std::optional<Config> best;
  double least = 0;
  for (const Config& c : table(type)) {
    if (!for_large_groups(type, c, facts)) continue;
    // Measured beside what is estimated (docs/performance.md, "One group with all rows").
    const double cold = 0.03 * (c.tile_n - 128) + (cluster(c) > 1 ? 1 : 0);
    const double time = cold + estimate_sm90(type, c, 1, static_cast<double>(s.groups) * static_cast<double>(s.m), static_cast<double>(s.n), static_cast<double>(s.k), facts, false);
    if (!best || time < least) best = c, least = time;
  }
  if (best) best->raster = best_raster(type, *best, s, facts);
  return best;
}

std::uint8_t copied_operands(const ProblemType& type, const Config& config, const Sizes& given, const core::DeviceFacts& facts) {
  if (type.grouped) return 0;
  if (config.family == Family::sm90) return core::repacked_operands(type, config);
  const std::uint8_t worth = worth_copies(type, config);
  if (!worth) return 0;
  const Sizes s = known(given);
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return estimate_copied(type, config, m, n, k, facts) < estimate_as_they_lie(type, config, 1, m, n, k, facts) ? worth : 0;
}

bool mostly_large(const Config& config, const Sizes& sizes) { return config.large_above && 2 * known(sizes).m > 3 * std::int64_t(config.large_above); }

double estimate(const ProblemType& type, const Config& c, const Sizes& given, const core::DeviceFacts& facts) {
  if (c.family == Family::host) return 0;
  const Sizes s = known(given);
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k), groups = static_cast<double>(s.groups);
  // A batch of sm90's that the copy engine may serve: others go as groups do, by records and copies.
  const bool turned = core::dtype_size(type.a) != 2 && (type.major_a == core::Major::mn || type.major_b == core::Major::mn);
  const bool unreached = type.unreachable & (core::operand_a | core::operand_b);
  if ((type.grouped & core::batch_groups) && (c.family != Family::sm90 || !(turned || unreached))) {
    ProblemType plain = type;
    plain.grouped = 0;
    return estimate_by_family(plain, c, groups, m, n, k, facts, false);
  }
  if (!type.grouped) return estimate_by_family(type, c, groups, m, n, k, facts, false);
  // A mean of less than a row is given as one.
  const double all = groups * (s.m == 1 && s.skew == 0 ? 0.5 : m), part = part_of_one(s.skew);
  const auto mean = [part](double even, double one) { return even * std::pow(one / even, part); };
  // Groups are counted before the first tile is known; and before that, where they lie apart or are checked, their records are written.
  const bool apart = type.grouped & core::apart_groups, records = apart || type.grouped & core::checked_groups;
  // A batch whose lines lie off 16 bytes has records and copies for each of its products.
  constexpr double a_product = 0.04;
  const double prepared = c.family != Family::sm90 ? 0 : (records ? 5.5 : 3) + (type.grouped & core::batch_groups && unreached ? a_product * groups : 0);
  const bool spread_known = s.skew && !apart;
  constexpr double begins = 5;  // a launch, as each estimate has it
  if (!c.large_above) {
    Config one = c;
    // Where D's lines are none for the copy engine, large tiles gain more by kernels in which these wait. (With the estimate of its twin, which is ahead in the table, one that cuts is not the best.)
    Config whole = c;
    whole.slices = 0;
    const bool lines = kernels::large_tile(c.tile_m, c.tile_n) && core::lines_may_wait(type, whole) && !whole_lines(type, m, n);
    if (c.slices && (records || lines || s.groups > kernels::most_counted_groups)) one = whole;
    const double one_has_all = estimate_by_family(type, one, 1, all, n, k, facts, false);
    if (s.skew && (s.skew == core::skew_most || s.groups == 1)) return prepared + one_has_all;
    if (spread_known && c.family == Family::sm90) return prepared + estimate_sm90(type, one, spread_of(groups, m, s.skew), n, k, facts);
    if (spread_known) {
      // Part by part, as if one came after the other, in one launch.
      double sum = 0;
      const Spread spread = spread_of(groups, m, s.skew);
      for (const auto& [count, rows] : spread) sum += std::max(0.0, estimate_by_family(type, one, count, rows, n, k, facts, true) - begins);
      return begins + sum;
    }
    return prepared + mean(estimate_by_family(type, one, groups, m, n, k, facts, true), one_has_all);
  }
  // Two launches: the first operands come later by more than one takes, tiles are taken from a counter, and who had to wait for room comes last.
  constexpr double one_launch_more = 11;
  const Config large = *large_tiles(type, given, facts);
  Config few = c;
  few.large_above = 0;
  if (spread_known) {
    const auto of = [&](const Config& config, const Spread& spread) { return spread.count ? estimate_sm90(type, config, spread, n, k, facts) : begins; };
    const Spread spread = spread_of(groups, m, s.skew);
    return prepared + one_launch_more + of(few, spread.of(0, c.large_above)) + of(large, spread.of(c.large_above, all)) - begins;
  }
  const bool large_mean = mostly_large(c, s);
  const double shared = skewed_groups(groups, m) && !large_mean ? skewed_cost : 1;  // larger groups cost what they do in larger tiles
  return prepared + one_launch_more + mean(estimate_sm90(type, large_mean ? large : few, groups, m, n, k, facts, true) / shared, estimate_sm90(type, all > c.large_above ? large : few, 1, all, n, k, facts, false));
}

Ranking rank(const ProblemType& type, const Sizes& sizes, const core::DeviceFacts& facts) {
  Ranking out;
  for (Config config : table(type)) {
    if (const auto reason = illegal(type, config, facts)) {
      out.rejected.push_back({config, *reason});
      continue;
    }
    if (config.slices > 1) config.slices = best_slices(type, config, known(sizes), facts);
    Sizes walked = known(sizes);
    if (type.grouped & core::batch_groups) walked.groups = 1;  // one product after the other
    if (config.family != Family::host) config.raster = best_raster(type, config, walked, facts);
    out.legal.push_back({config, estimate(type, config, sizes, facts)});
  }
  std::stable_sort(out.legal.begin(), out.legal.end(), [](const Candidate& a, const Candidate& b) { return a.microseconds < b.microseconds; });
  return out;
}

}  // namespace ggemm::select
