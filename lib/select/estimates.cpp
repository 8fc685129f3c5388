// SPDX-License-Identifier: Apache-2.0
#include "select/estimates.hpp"

#include <algorithm>
#include <cmath>

#include "lines.cuh"
#include "select/costs.hpp"
#include "select/deal.hpp"
#include "select/space.hpp"
#include "tile/depth.cuh"
#include "tile/panels.cuh"
#include "tile/terms.cuh"

namespace ggemm::select {

using core::Config;
using core::Family;
using core::ProblemType;

namespace {

constexpr double clock_mhz = 1750;
constexpr double launch_microseconds = 5.2;
constexpr double dram_bytes_a_microsecond = 4.0e6;

// Tiles along a side, of which a mean group has `size`: groups' sizes are taken to spread evenly between nothing and twice that, but for a tenth of them, which are larger.
double tiles_along(double size, double tile, bool spread) {
  if (!spread) return ceil_div(size, tile);
  const double mean = size / tile;
  return std::max({1.0, 2 * mean <= 1 ? 1.0 : mean + 0.5, 0.9 + 0.8 * mean});
}

kernels::DepthDeal deal_left_over(double tiles, double steps, double clusters, bool large) {
  return tiles > INT32_MAX || steps > INT32_MAX ? kernels::nothing_cut : kernels::deal_left_over(static_cast<kernels::u32>(tiles), static_cast<kernels::u32>(steps), static_cast<kernels::u32>(clusters), large);
}

// Rounds of large tiles that cutting the last one saves on average, whatever is left over for it. The few clusters that have a tile there are faster than all are, as power allows.
constexpr double last_round = 0.8, meeting_steps = 12;  // (fewer than kernels of large tiles ask for, 28, so that none loses by it)
constexpr double larger_kernel = 1.01;                  // which holds nothing of D beside products, too
double saved_by_cutting(double steps, double clusters) {
  constexpr int rests = 8;
  double saved = 0;
  for (int i = 0; i < rests; ++i)
    if (const kernels::DepthDeal deal = deal_left_over(std::round(clusters * (i + 0.5) / rests), steps, clusters, true); deal.cut) saved += std::max(0.0, last_round - 1.0 / deal.pieces - meeting_steps / steps);
  return saved / rests;
}

}  // namespace

ClusterTiles cluster_tiles(const Config& c, double down, double across, bool spread, bool apart) {
  const bool turns = kernels::clusters_turn(c.cluster_m, c.cluster_n);
  if (!spread) {
    const double count = turns ? std::floor(down / 2) * across + std::fmod(down, 2) * ceil_div(across, 2) : ceil_div(down, c.cluster_m) * ceil_div(across, c.cluster_n);
    return {count, turns ? std::fmod(down, 2) * ceil_div(across, 2) / std::max(1.0, count) : 0};
  }
  const double odd_end = apart && c.cluster_n > 1 ? 0.25 : 0;  // of clusters across, half of all groups being an odd number of tiles wide
  return {std::max(1.0, down / c.cluster_m) * std::max(1.0, across / c.cluster_n + odd_end) * (turns && down < 2 ? down / 2 : 1), turns ? 1 / (2 * down - 1) : 0};
}

int ctas_a_multiprocessor(const ProblemType& type, const Config& c, const core::DeviceFacts& facts) {
  const double shared = static_cast<double>(shared_bytes(type, c) + static_shared_bytes(type, c)) + 1024;  // the driver keeps 1 KiB of each CTA
  const int by_shared = std::max(1, static_cast<int>(static_cast<double>(facts.shared_per_multiprocessor) / shared));
  // Registers: a thread's sums, fragments and addresses; 128 threads may use all 255.
  const bool f64 = type.sum == core::Sum::f64 || by_f64_products(type, c.family), few = f32_as_f64(type, c.family) && c.tile_m * c.tile_n <= 8 * threads(c);
  const int by_registers = std::max(1, (f64 ? few ? 384 : 256 : 512) / std::max(1, threads(c)));
  return std::min(by_shared, by_registers);
}

bool whole_lines(const ProblemType& type, double m, double n) { return std::fmod((type.major_d == core::Major::mn ? m : n) * static_cast<double>(core::dtype_size(type.d)), 16) == 0; }

namespace {

// Cluster tiles of groups, by how their rows are spread.
ClusterTiles tiles_of_all(const Config& c, const Spread& spread, double other, bool swap) {
  ClusterTiles out{0, 0};
  for (const auto& [groups, rows] : spread) {
    const ClusterTiles each = cluster_tiles(c, ceil_div(swap ? other : rows, c.tile_m), ceil_div(swap ? rows : other, c.tile_n), false);
    out.count += groups * each.count, out.turned += groups * each.count * each.turned;
  }
  out.turned /= std::max(1.0, out.count);
  return out;
}

// m: of the mean group; spread: how rows are spread, or nullptr.
double by_tensor_maps(const ProblemType& type, const Config& named, double groups, double m, double n, double k, const core::DeviceFacts& facts, bool even, const Spread* spread) {
  const Config c = core::upright(named);
  const double down = named.swap ? n : m, across = named.swap ? m : n;
  const bool apart = even && (type.grouped & core::apart_groups);  // which may differ in n too
  const ClusterTiles all = spread ? tiles_of_all(c, *spread, named.swap ? down : across, named.swap) : cluster_tiles(c, tiles_along(down, c.tile_m, even && (apart || !named.swap)), tiles_along(across, c.tile_n, even && (apart || named.swap)), even, apart);
  const double tiles = spread ? all.count : all.count * groups;
  const double tile_rows = spread ? spread->tile_rows(named.tile_m) / groups : 1;  // of a group
  const bool terms = core::by_terms(type, c.family);
  const double size = operand_size(type, c.family), bm = c.tile_m, bn = c.tile_n, columns = bn / c.warps_n, d = static_cast<double>(core::dtype_size(type.d));
  const bool plain = !even && !terms && !type.grouped;  // or a batch, by a kernel of plain products (where one group has all rows, even is false too, but type.grouped set)
  // Where groups have rows in the upper halves of tiles alone, these are all that is brought and multiplied.
  const bool upper = even && m <= 64 && core::in_halves(core::kernel_type(type, named), c);
  Config worked = c;
  if (upper) worked.tile_m = 64, worked.warps_m = 4;
  constexpr double from_l2_apart = 42;
  const ProblemType kernel = core::kernel_type(type, named);
  const double slices = std::max<double>(1, c.slices), busy = std::min(1.0, tiles * cluster(c) * slices / facts.multiprocessors);
  const std::uint8_t copied = core::repacked_operands(type, named) & static_cast<std::uint8_t>(type.grouped & core::gathered_rows ? ~core::operand_a : ~0);
  // Lines as they are if the operands are packed, or copied; packed lines off 16 bytes could not be read as they are, so that there are longer ones, or one.
  const auto line = [&](core::Major major, double span, std::uint8_t operand) {
    constexpr double any_long = 1e12;
    const double bytes = (major == core::Major::k ? k : span) * size;
    if (copied & operand) return static_cast<double>(kernels::copy_pitch(static_cast<kernels::i64>(std::min(bytes, any_long))));
    return std::fmod(bytes, 16) == 0 ? bytes : 0;
  };
  const auto [first, second] = named.swap ? std::pair(core::operand_b, core::operand_a) : std::pair(core::operand_a, core::operand_b);
  // A GPC has a block of neighbouring tiles, of so many rows or, where columns are few, more; of tiles that are all cut, fewer. (In one round tiles of other than whole 64s were as slow as apart.)
  constexpr double of_gpc = 16;
  const double gpc = c.slices == core::tail_slices ? std::clamp(of_gpc * tiles / facts.multiprocessors, 1.0, of_gpc) : of_gpc;
  const double tiles_down = ceil_div(down, c.tile_m), tiles_across = ceil_div(across, c.tile_n), rows_together = std::min<double>(std::max<int>(1, c.raster), tiles_down);
  const bool together = plain && groups == 1 && neighbours(c, tiles_down, tiles_across, facts.multiprocessors) && (tiles * slices > facts.multiprocessors || (c.tile_m % 64 == 0 && c.tile_n % 64 == 0));
  const double readers_a = together ? std::min(tiles_across, std::max(1.0, gpc / rows_together)) : 1, readers_b = together ? std::min(tiles_down, gpc / readers_a) : 1;
  Brought rates = apart ? Brought{from_l2_apart, from_l2_apart} : plain ? brought({down, across, k, size, line(kernel.major_a, down, first), line(kernel.major_b, across, second), busy, groups == 1, readers_a, readers_b, c.tile_m * c.tile_n <= 64 * 128}) : Brought{};
  // Columns that lie along n come in whole panels.
  const double whole_panels = kernels::panel_bytes * kernels::tile_panels(c.tile_n, c.tile_k, static_cast<int>(size), true) / (bn * size);
  if (kernel.major_b == core::Major::mn) rates.b /= whole_panels, rates.alone_b /= whole_panels;
  TileCosts costs = tensor_costs(type, worked, even, all.turned, rates);
  if (kernel.major_b == core::Major::mn) costs.step *= 1 + 0.25 * (whole_panels - 1);
  // More than in one product: between tiles, whose places are looked up, and by steps of D that are not held; and by 192 columns, beside 128 and 256.
  constexpr double between_tiles = 1000, uneven_apart = 1.04;
  constexpr double across_16_bits = 1.02;  // 256x128 beside 128x256, both in clusters of two: 1 to 3% in six layers of many rows
  if (spread && size == 2 && c.cluster_n == 2) costs.step *= across_16_bits;
  if (apart) costs.store += between_tiles, costs.step *= std::fmod(columns, 128) == 0 || columns < 128 ? 1 : uneven_apart;
  const double steps = ceil_div(ceil_div(k, c.tile_k), c.cluster_k * slices);
  // A cluster lies in one of the device's parts, whose multiprocessors larger ones do not use up, but where two CTAs fit on one.
  const double usable = cluster(c) >= 4 && ctas_a_multiprocessor(type, named, facts) == 1 ? 0.91 : 1;
  const double clusters = std::max(1.0, std::floor(facts.multiprocessors * usable / static_cast<double>(cluster(c))));
  // CTAs that share a tile along k write its sums to shared memory, and read all of their part of it.
  constexpr double exchange_bytes = 31;
  const double exchange = c.cluster_k > 1 ? bm * bn * 4 * (1 + c.cluster_k / static_cast<double>(kernels::finishers(static_cast<int>(columns), c.cluster_k))) / exchange_bytes : 0;
  // How many tiles groups have is a guess, and what is left over at the end with it.
  const bool guessed = even && !(spread && spread->alike);
  const double rounds = guessed ? std::max(1.0, tiles / clusters + 0.5) : ceil_div(tiles * slices, clusters);
  const bool sliced = c.slices > core::tail_slices;
  // Launch, barriers, first boxes, last store; and that CTAs wait for each other before the first.
  const double start_clocks = sliced ? 7050 : cluster(c) > 1 || even || terms || size != 2 ? 8800 : 8400;
  // CTAs that share a tile along k have one each: in a second round they start anew.
  const double again = c.cluster_k > 1 && rounds > 1 ? 1970 : 0;
  const auto all_tiles = [&] {
    const double tile = steps * costs.step;
    if (c.slices == core::tail_slices && type.grouped) {
      constexpr double counting = 4500;  // and the first tile found by way of shared memory
      const bool large = kernels::large_tile(c.tile_m, c.tile_n);
      if (guessed && large) return counting + larger_kernel * (rounds - saved_by_cutting(steps, clusters)) * (tile + costs.store);
      const kernels::DepthDeal deal = guessed ? kernels::nothing_cut : deal_left_over(tiles, steps, clusters, large);
      return counting + (large ? larger_kernel : 1) * (deal.cut ? tail_clocks(costs, tiles, steps, clusters, {deal.cut, deal.sharers}) : rounds * (tile + costs.store));
    }
    if (c.slices == core::tail_slices && tiles <= INT32_MAX && steps <= INT32_MAX) {
      constexpr double cuts = 1.1;            // what it costs all tiles that some may be cut
      constexpr double less_than_one = 2500;  // more, where there is no whole round; not weighed where tiles are dealt: such a launch cuts them all the same
      const Tail tail = best_tail(costs, static_cast<std::int64_t>(tiles), static_cast<std::int64_t>(steps), static_cast<std::int64_t>(clusters));
      return cuts * tail_clocks(costs, tiles, steps, clusters, tail) + (tail.cut && tiles < clusters ? less_than_one : 0);
    }
    // A team stores while the other multiplies, which hides most of it; in batches, which find less of what they read in L2, that gained nothing, or next to it, wherever it was measured.
    // Where D's lines are none for the copy engine, if they are packed, threads take the longer, as the other's products keep shared memory busy: of many tiles that is more than what a team hides.
    constexpr double beside_products = 7, many = 8, beside_other = 1.6, not_hidden = 0.3;
    const double store = costs.store * (rounds <= many || whole_lines(type, m, n) ? 1 : beside_products);
    if (c.teams > 1 && !type.grouped && groups == 1) return rounds * std::max(tile, (tile + beside_other * store) / 2) + store;
    if (c.teams > 1 && spread) return rounds * (tile + not_hidden * costs.store);
    if (sliced) return rounds * tile;
    // In batches of small products two CTAs of a multiprocessor wait beside each other, where two fit.
    constexpr double in_pairs = 0.6;
    const bool pairs = plain && groups > 1 && steps <= 2 && cluster(c) == 1 && ctas_a_multiprocessor(type, named, facts) >= 2;
    return (pairs ? 1 + in_pairs * (rounds - 1) : rounds) * (tile + costs.store + exchange + again);
  };
  // CTAs that share tiles along k, four and more, take longer where they fill more than half of the device.
  constexpr double crowding = 1.2;
  const bool crowded = c.cluster_k > 1 && cluster(c) >= 4 && tiles * slices * static_cast<double>(cluster(c)) > facts.multiprocessors / 2.0;
  const double clocks = start_clocks + (crowded ? crowding : 1) * all_tiles();
  const double stored = terms ? kernels::term_count * size : size;  // of an element where the product reads it
  const double bytes = groups * ((m * k + k * n) * stored + m * n * d);
  // Operands that are copied first are read and written once more, in a launch of their own.
  const double each = static_cast<double>(core::dtype_size(type.a)) + stored, elements = groups * ((copied & core::operand_a ? m * k : 0) + (copied & core::operand_b ? k * n : 0));
  constexpr double a_line = 0.15e-3;  // microseconds, however short (1000000 lines of 6 or 60 bytes)
  const double lines = groups * ((copied & first ? (kernel.major_a == core::Major::k ? down : k) : 0) + (copied & second ? (kernel.major_b == core::Major::k ? across : k) : 0));
  const double copies = elements == 0 ? 0 : std::max(elements * each / 2.8e6, plain ? lines * a_line : 0) + 2.5;
  constexpr double powered_mhz = 1880;  // what power leaves of the clock
  // Where some groups have many times the mean's rows, tiles of few rows read the other operand again for each.
  const double few_rows = even && named.tile_m < 16 && m > 1 ? 1 + 0.04 * std::log2(16.0 / named.tile_m) : 1, skewed = few_rows * (even && named.tile_m <= 64 && !spread && skewed_groups(groups, m) ? skewed_cost : 1);
  // Tiles of more rows than groups have bring others' besides, the more the fewer columns they have; and of few columns there are many tiles.
  // (Of upper halves little is in vain, but where they have many times a group's rows: Zipf 1.1 to 1.17 with 4 rows, even 1.04 to 1.07.)
  const double in_vain = upper && named.tile_n >= 128 ? 1 + 0.1 * std::max(0.0, std::log2(16 / std::max(1.0, m))) : even && m < named.tile_m ? 1 + 0.15 * std::max(0.0, named.tile_m / static_cast<double>(named.tile_n) - 0.33) + (named.tile_n >= 128 ? 0 : named.tile_m <= 32 ? 0.02 : 0.08) : 1;
  // And of a plain product, less so, which shows where memory bounds it: the larger the tile, from 8 by 64 on.
  const double wide = !plain ? 1 : 1 + 0.02 * std::log2((m <= n ? named.tile_m : named.tile_n) / 8.0) + 0.02 * std::log2((m <= n ? named.tile_n : named.tile_m) / 64.0);
  const double memory = plain ? 5.1e6 : spread ? 5.5e6 : 4.5e6;  // bytes a microsecond, more than there are, as the part of the lesser below comes on top
  // Where groups have several rows of tiles, these read the other operand again.
  constexpr double read_again = 0.1;
  const double again_read = spread ? 1 + read_again * (tile_rows - 1) : 1;
  const double multiplied = skewed * clocks / powered_mhz, moved = wide * in_vain * again_read * skewed * bytes / memory + 0.25;
  const double beside = plain ? 0.23 : 0.29;  // of the lesser of the two, which does not hide quite
  constexpr double leave_bytes = 26;
  const double summed = sliced ? (rounds * bm * bn * 4 / leave_bytes + sum_of_slices(tiles * cluster(c) * bm * bn, slices, facts.multiprocessors)) / powered_mhz : 0;
  // Tiles of few columns, where there are several beside each other, are not as fast as their size lets expect (256^3 and 512^3 with A along m, e4m3 1096x80x6544).
  const bool several_narrow = plain && !named.swap && named.tile_n < 64 && across > named.tile_n;
  return (several_narrow ? 0.7 : 0.4) + (several_narrow ? 1.06 : 1) * (summed + std::max(multiplied, moved) + beside * std::min(multiplied, moved)) + copies;
}

}  // namespace

double estimate_sm90(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts, bool even) { return by_tensor_maps(type, c, groups, m, n, k, facts, even, nullptr); }
double estimate_sm90(const ProblemType& type, const Config& c, const Spread& spread, double n, double k, const core::DeviceFacts& facts) { return by_tensor_maps(type, c, spread.groups(), spread.mean(), n, k, facts, true, &spread); }

namespace {

// Microseconds of kernels whose threads copy: they keep fewer bytes under way than the copy engine does. A, B and D are moved once.
constexpr double launch_as_stored = 4.4;
double by_threads(const ProblemType& type, double groups, double m, double n, double k, double launch, double clocks) {
  const double bytes = groups * ((m * k + k * n) * static_cast<double>(core::dtype_size(type.a)) + m * n * static_cast<double>(core::dtype_size(type.d)));
  return launch + std::max(clocks / clock_mhz, bytes / (0.9 * dram_bytes_a_microsecond) + 2);
}

// Small products of a batch by CTAs of one warp. A multiprocessor has so many of them that their instructions keep it busy: those of a tile, and of a step of k. H200, docs/performance.md, "Small products in batches".
double estimate_one_warp(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts) {
  constexpr double first = 2000, waits = 1500, enough = 8;  // clocks of a tile that is alone, and of each further step of its; CTAs that keep a multiprocessor busy
  const bool f64 = type.a == GGEMM_F64, simt = c.family == Family::simt;
  const double sums = c.tile_m * c.tile_n, further = ceil_div(k, c.tile_k) - 1, tiles = ceil_div(m, c.tile_m) * ceil_div(n, c.tile_n) * groups, multiprocessors = std::max(1, facts.multiprocessors);
  const double inside = std::min<double>(c.tile_m, m) * std::min<double>(c.tile_n, n);
  // Lines off 16 bytes, which f64's kernels copy among the products.
  const bool lines = type.unreachable & (core::operand_a | core::operand_b);
  const double apart = !lines || f64 ? 0 : simt ? 1.5 * inside : 550 + 0.9 * inside;
  const double a_tile = apart + (f64 ? 140 + 0.45 * sums + 0.25 * std::min(inside, 256.0) : simt ? 180 + 0.22 * sums + 0.2 * inside : 60 + 0.2 * sums + 0.2 * inside), a_step = f64 ? 150 + 0.25 * sums : simt ? 130 + 0.13 * sums : 110 + 0.02 * sums;
  const double at_once = ctas_a_multiprocessor(type, c, facts), rounds = ceil_div(tiles, multiprocessors * at_once);
  const double clocks = std::max(first + tiles / multiprocessors * (a_tile + further * a_step) * std::max(1.0, enough / at_once), rounds * (first + further * waits));
  return by_threads(type, groups, m, n, k, launch_as_stored, clocks);
}

}  // namespace

double estimate_as_they_lie(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts) {
  constexpr double small = 64;  // rows and columns: larger products by one warp were not measured
  if (threads(c) == 32 && std::max(m, n) <= small) return estimate_one_warp(type, c, groups, m, n, k, facts);
  const int at_once = ctas_a_multiprocessor(type, c, facts);
  const TileCosts costs = loop_costs(type, c, at_once);
  const double step = costs.step / at_once;
  const double tiles = tiles_along(m, c.tile_m, type.grouped) * ceil_div(n, c.tile_n) * groups, steps = ceil_div(k, c.tile_k);
  const bool unconverted = unconverted_f32(type, c.family);
  const double slots = std::max(1, facts.multiprocessors) * static_cast<double>(at_once);
  const double full = std::floor(tiles / slots), rest = tiles - full * slots;
  // Of f64 up to so much less is waited for ahead of the first product, the fewer of the stages k fills.
  constexpr double first_stages = 3000;
  const double unfilled = by_f64_products(type, c.family) && !f32_as_f64(type, c.family) ? first_stages * std::max(0.0, 1 - (steps - 1) / c.stages) : 0;
  const auto wave = [&](double ctas) { return steps * std::max(ctas * step, costs.least) + costs.store - unfilled; };
  // What it costs all tiles that some may be cut. (By NVRTC 13.0 f32's loads of A along k and B along n follow on each other then.)
  const bool follows = unconverted && type.major_a == core::Major::k && type.major_b == core::Major::mn;
  const double cuts = follows ? 1.045 : f32_as_f64(type, c.family) ? 1.02 : 1.005;
  const double clocks = c.slices && tiles <= INT32_MAX && steps <= INT32_MAX ? cuts * (full * wave(at_once) + (rest > 0 ? best_cut(costs, static_cast<std::int64_t>(rest), static_cast<std::int64_t>(steps), static_cast<std::int64_t>(slots)).clocks - unfilled : 0))
                        : full * wave(at_once) + (rest > 0 ? wave(std::ceil(rest / std::max(1, facts.multiprocessors))) : 0);
  return by_threads(type, groups, m, n, k, as_stored(type, c.family) ? launch_as_stored : launch_microseconds, clocks);
}

std::uint8_t worth_copies(const ProblemType& type, const Config& c) {
  if (!by_f64_products(type, c.family) || type.grouped || type.limited) return 0;
  const auto of = [&](int operand, int strided) { return type.unreachable & strided && core::dtype_size(type.a) > 4 ? 0 : type.unreachable & (operand | strided); };
  return static_cast<std::uint8_t>(of(core::operand_a, core::strided_a) | of(core::operand_b, core::strided_b));
}
double estimate_copied(const ProblemType& type, const Config& c, double m, double n, double k, const core::DeviceFacts& facts) {
  const std::uint8_t copied = worth_copies(type, c);
  ProblemType reachable = type;
  reachable.unreachable &= static_cast<std::uint8_t>(~copied);
  const double elements = (copied & core::operand_a ? m * k : 0) + (copied & core::operand_b ? k * n : 0);
  constexpr double copied_bytes_a_microsecond = 3.0e6, until_the_product = 6;  // read and written; which waits until they are
  return elements * 2 * static_cast<double>(core::dtype_size(type.a)) / copied_bytes_a_microsecond + until_the_product + estimate_as_they_lie(reachable, c, 1, m, n, k, facts);
}

namespace {

double estimate_others(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts) {
  const double as_they_lie = estimate_as_they_lie(type, c, groups, m, n, k, facts);
  return groups == 1 && worth_copies(type, c) ? std::min(as_they_lie, estimate_copied(type, c, m, n, k, facts)) : as_they_lie;
}

// Of few rows or columns, by what the memory reads: H200, docs/performance.md, "Few rows and few columns without a ring".
double estimate_gemv(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts) {
  const bool thin_a = c.tile_m < c.tile_n, fma = gemv_by_cuda_cores(type);
  const double size = static_cast<double>(core::dtype_size(type.a)), wide = thin_a ? n : m, thin = thin_a ? m : n, wide_tile = std::max(c.tile_m, c.tile_n), thin_tile = std::min(c.tile_m, c.tile_n);
  const double thin_tiles = tiles_along(thin, thin_tile, type.grouped && thin_a), tiles = groups * thin_tiles * ceil_div(wide, wide_tile), multiprocessors = std::max(1, facts.multiprocessors);
  // Of the wide operand elements that lie at no multiples of 16 bytes come one by one, and where they do not lie along k two by two; the thin one's that are no vectors along k come with the products.
  const bool by_elements = type.unreachable & (thin_a ? core::operand_b : core::operand_a), by_pairs = (thin_a ? type.major_b : type.major_a) == core::Major::mn;
  const bool late = thin > 1 && ((type.unreachable & (thin_a ? core::operand_a : core::operand_b)) || (thin_a ? type.major_a : type.major_b) == core::Major::mn);
  const double lines = wide_tile / 8 + (fma ? thin_tile : thin_tile / 8), vector_registers = 4 * (lines + (by_pairs && size == 1 ? wide_tile / 8 : 0)) * c.stages;
  const double registers = 36 + vector_registers + (fma ? wide_tile * thin_tile / 8 : 0) * sum_size(type) / 4 + (core::fp8(type) ? 45 : size == 1 ? 14 : size == 8 ? 22 : 0);
  const double fit = std::max(1.0, std::floor(65536 / (registers * threads(c)))), a_multiprocessor = ceil_div(tiles, multiprocessors), at_once = std::min(a_multiprocessor, fit);
  // Bytes a microsecond of the device (what converts fp8 takes longer than memory).
  const double vectors = core::fp8(type) ? 3.3e6 : 4.05e6;
  // And of a multiprocessor, whose threads turn bytes along m or n; microseconds until the first are there, and of a CTA, however little it reads.
  const bool bytes_turned = by_pairs && size == 1;
  constexpr double latency = 0.41;
  const double most = bytes_turned ? 16e3 : 75e3, least_turn = bytes_turned ? 3 : 1.2;
  const double dram = by_elements ? std::min(3.6e6, 1.2e6 * size) : by_pairs ? std::min(vectors, 1.2e6 + 0.95e6 * size) : vectors;
  const double read = groups * (thin_tiles * wide + thin) * k * size, share = a_multiprocessor * wide_tile * k * size;
  const double under_way = at_once * c.warps_n * wide_tile / 8 * (by_elements || late ? 0.5 : c.stages) * 512, turns = std::ceil(a_multiprocessor / at_once), by_latency = std::max(share / (under_way / (latency + under_way / most)), (turns - 1) * least_turn), by_memory = read / dram;
  // CTAs begin and end; where few fit, nothing is under way for so long each time.
  const double between = (a_multiprocessor / at_once - 1) * (fit <= 2 ? 0.5 : fit <= 3 ? 0.2 : 0.05) + (wide_tile > 16 ? 0.6 : 0) + (by_pairs ? 0.1 * std::abs(c.warps_n - 8) + 0.15 * c.stages : 0) + (type.grouped ? 4 + a_multiprocessor / fit : 0);
  const double thin_again = std::min(thin, thin_tile) * k * size * tiles / 16e6;  // every CTA reads the thin operand, from L2
  // Tiles that read the same of the wide operand do so at about the same time.
  const double again = thin_tiles > 1 ? 1.3 : 1;
  // Beside few columns: what the other families take for these is more than is estimated; beside few rows of fp8, which are converted, less.
  const double beside = !thin_a ? type.grouped ? 0.85 : 0.89 : core::fp8(type) ? 1.2 : 1;
  // CTAs of a multiprocessor begin one after the other, the later the more threads each has; where little is read that is what a product takes. (Of groups it was not measured.)
  const double least = type.grouped ? 0 : 5.1 + 0.15 * threads(c) / 128 + (fma ? 0 : 0.05 * (thin_tiles - 1));
  const double starts = type.grouped ? 0 : 0.73 * (a_multiprocessor - 1) * std::pow(threads(c) / 256.0, 1.75);
  const double reads = std::max({by_memory, by_latency, starts}) + 0.06 * std::min(by_memory, by_latency) + between + 0.15 * thin_again;
  // Products that are not thin any more take longer than that; other families are there for them.
  constexpr double still_thin = 5;
  const double few = std::min(thin_tiles, still_thin), more = thin_tiles - few;
  // Small products of a batch, whose elements come one by one.
  const double small = groups > 1 && by_elements && !fma ? 1.5 : 1;
  return small * std::max(least + starts, beside * (2.9 + (thin_tiles > 1 ? fma ? 0.3 + 0.025 * few + 0.1 * more : 1.3 + 0.135 * few + 0.3 * more : 0) + again * reads));
}

// Of little of k, and few columns or rows: H200, docs/performance.md, "Small tiles of warps' own lines".
double estimate_short_lines(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts) {
  constexpr double launch = 4.3, streamed = 5.5e6;  // microseconds; bytes in one
  const bool fma = gemv_by_cuda_cores(type), columns = c.tile_m < c.tile_n;
  const double size = static_cast<double>(core::dtype_size(type.a)), d = static_cast<double>(core::dtype_size(type.d)), thin_tile = std::min(c.tile_m, c.tile_n), wide_tile = std::max(c.tile_m, c.tile_n);
  const double wide = columns ? n : m, thin = columns ? m : n, steps = ceil_div(k, c.tile_k), across = ceil_div(thin, thin_tile), bytes = groups * wide * (k * size + thin * d);
  // Microseconds a line: of vectors, and one element after the other.
  const double line = fma ? 1.5e-6 + 0.016e-6 * c.tile_k * thin_tile * size : 6.5e-6 + 0.1e-6 * thin_tile, one_by_one = 60e-6 + 0.06e-6 * std::min<double>(c.tile_k, k) * std::min(thin_tile, thin);
  const double turns = wide_tile / (c.warps_m * (!fma ? 16 : columns ? 512 / size : 32));
  const bool slow = !columns && (steps > 1 || (type.unreachable & core::strided_a) || (!fma && ((type.unreachable & core::operand_a) || (d < 4 && std::fmod(n, thin_tile / 4) != 0))));
  const double lines = groups * across * std::max(wide, steps > 1 || across > 1 ? ceil_div(wide, wide_tile) * wide_tile : 0);
  // And of a tile, whose warps take lines in turns, however few tiles there are: a turn takes what so many lines take where all multiprocessors have tiles.
  constexpr double vectors_in_turn = 32000, elements_in_turn = 15500;
  if (slow) {
    constexpr double begin = 0.8, turn = 0.15;
    return launch + steps * (begin + turns * (turn + elements_in_turn * one_by_one)) + lines * steps * one_by_one;
  }
  // Several tiles beside each other store parts of D's lines.
  constexpr double parts = 1.2;
  const double turn = columns ? 0.6 : 0.29, multiplied = (across > 1 ? parts : 1) * steps * std::max(turns * (turn + vectors_in_turn * line), lines * line), moved = bytes / streamed;
  // The lesser of the two does not hide; and CTAs begin one after the other (of columns it did not show).
  const double starts = columns ? 0 : 0.038 * groups * across * ceil_div(wide, wide_tile) / std::max(1, facts.multiprocessors);
  return launch + multiplied + moved + starts;
}

}  // namespace

double estimate_by_family(const ProblemType& type, const Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts, bool even) {
  if (c.family == Family::gemv && c.warps_m > 1) return estimate_short_lines(type, c, groups, m, n, k, facts);
  if (c.family == Family::gemv) return estimate_gemv(type, c, groups, m, n, k, facts);
  return c.family == Family::sm90 ? estimate_sm90(type, c, groups, m, n, k, facts, even) : estimate_others(type, c, groups, m, n, k, facts);
}

}  // namespace ggemm::select
