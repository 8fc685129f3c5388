// SPDX-License-Identifier: Apache-2.0
#include "select/model.hpp"

#include <algorithm>
#include <cmath>

#include "select/space.hpp"

namespace ggemm::select {
namespace {

using core::Config;
using core::Family;
using core::ProblemType;

double ceil_div(double a, double b) { return std::ceil(a / b); }

// Multiply-adds a clock and multiprocessor that the family reaches when nothing else holds it up. mma.sync reaches about 0.6 of what wgmma does on sm_90.
double rate(const ProblemType& type, Family family) {
  if (family == Family::simt) return type.sum == core::Sum::f64 ? 48 : 96;
  switch (type.a) {
    case GGEMM_I8: return 2400;
    case GGEMM_F32: return 550;
    case GGEMM_F64: return 60;
    default: return 1250;
  }
}

constexpr double shared_bytes_a_clock = 128;  // a multiprocessor's shared memory
constexpr double l2_bytes_a_clock = 48;       // what L2 brings to one multiprocessor while all ask
constexpr double fill_clocks = 1800;          // first tiles of the ring, last barrier, launch of a CTA
constexpr double clock_mhz = 1750;
constexpr double launch_microseconds = 2.5;
constexpr double dram_bytes_a_microsecond = 4.0e6;

int ctas_a_multiprocessor(const ProblemType& type, const Config& c, const core::DeviceFacts& facts) {
  const double shared = static_cast<double>(shared_bytes(type, c) + static_shared_bytes(type, c)) + 1024;  // the driver keeps 1 KiB of each CTA
  const int by_shared = std::max(1, static_cast<int>(static_cast<double>(facts.shared_per_multiprocessor) / shared));
  // Registers: a thread's sums, fragments and addresses; 128 threads may use all 255.
  const int by_registers = std::max(1, 512 / std::max(1, threads(c)));
  return std::min(by_shared, by_registers);
}

// Tiles of rows that make a wave's footprint on A and B smallest.
std::uint16_t best_raster(const Config& c, const Sizes& s, double wave) {
  const double rows = std::sqrt(wave * c.tile_n / c.tile_m), tiles = ceil_div(static_cast<double>(std::max<std::int64_t>(s.m, 1)), c.tile_m);
  int raster = 1;
  while (raster < 16 && raster * 1.5 < rows && raster < tiles) raster *= 2;
  return static_cast<std::uint16_t>(raster);
}

Sizes known(const Sizes& s) {
  // A middling expert, where the caller gives no hint.
  const auto or_else = [](std::int64_t v, std::int64_t fallback) { return v > 0 ? v : fallback; };
  return {std::max<std::int64_t>(s.groups, 1), or_else(s.m, 256), or_else(s.n, 1024), or_else(s.k, 1024)};
}

}  // namespace

double estimate(const ProblemType& type, const Config& c, const Sizes& given, const core::DeviceFacts& facts) {
  if (c.family == Family::host) return 0;
  const Sizes s = known(given);
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k), groups = static_cast<double>(s.groups);
  const double size = static_cast<double>(core::dtype_size(type.a)), held = c.family == Family::simt ? (type.sum == core::Sum::f64 ? 8.0 : 4.0) : size;
  const double bm = c.tile_m, bn = c.tile_n, bk = c.tile_k;
  const double tiles = ceil_div(m, bm) * ceil_div(n, bn) * groups, steps = ceil_div(k, bk);
  const double multiply = bm * bn * bk / rate(type, c.family);
  // Fragments are read once for each warp that needs them; SIMT threads share theirs in a warp by broadcast.
  const double feed = ((bm * c.warps_n + bn * c.warps_m) * bk * held + (bm + bn) * bk * held) / shared_bytes_a_clock;
  const double bring = (bm + bn) * bk * size / l2_bytes_a_clock;
  // Nothing hides behind itself: what is not the slowest still costs a part of its time.
  const double slowest = std::max({multiply, feed, bring});
  const double step = slowest + 0.15 * (multiply + feed + bring - slowest);
  const double store = bm * bn * (2.0 * 4 / shared_bytes_a_clock + static_cast<double>(core::dtype_size(type.d)) / 24);
  const int at_once = ctas_a_multiprocessor(type, c, facts);
  const double slots = std::max(1, facts.multiprocessors) * static_cast<double>(at_once);
  const double full = std::floor(tiles / slots), rest = tiles - full * slots;
  // CTAs on one multiprocessor share its units; fills and stores of one hide behind the others' products.
  const double alone = steps * step, overhead = fill_clocks + store;
  const auto wave = [&](double ctas) { return ctas * alone + overhead * (1 + 0.3 * (ctas - 1)); };
  const double clocks = full * wave(at_once) + (rest > 0 ? wave(std::ceil(rest / std::max(1, facts.multiprocessors))) : 0);
  const double bytes = groups * ((m * k + k * n) * size + m * n * static_cast<double>(core::dtype_size(type.d)));
  return launch_microseconds + std::max(clocks / clock_mhz, bytes / dram_bytes_a_microsecond);
}

Ranking rank(const ProblemType& type, const Sizes& sizes, const core::DeviceFacts& facts) {
  Ranking out;
  for (Config config : table(type)) {
    if (const auto reason = illegal(type, config, facts)) {
      out.rejected.push_back({config, *reason});
      continue;
    }
    if (config.family != Family::host) config.raster = best_raster(config, known(sizes), facts.multiprocessors * ctas_a_multiprocessor(type, config, facts));
    out.legal.push_back({config, estimate(type, config, sizes, facts)});
  }
  std::stable_sort(out.legal.begin(), out.legal.end(), [](const Candidate& a, const Candidate& b) { return a.microseconds < b.microseconds; });
  return out;
}

}  // namespace ggemm::select
