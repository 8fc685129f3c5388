// SPDX-License-Identifier: Apache-2.0
#include "select/costs.hpp"

#include <algorithm>
#include <cmath>

#include "select/footprint.hpp"
#include "tile/panels.cuh"
#include "tile/terms.cuh"

namespace ggemm::select {
namespace {

using core::Config;
using core::Family;
using core::ProblemType;

constexpr double shared_bytes_a_clock = 128;  // a multiprocessor's shared memory
constexpr double l2_bytes_a_clock = 55;       // what L2 brings to one multiprocessor while all ask,
constexpr double scattered_bytes_a_clock = 7.5, scattered_f64 = 19, scattered_f64_large = 14.5, scattered_f32 = 12.5;  // and of operands that are not at multiples of 16 bytes;
constexpr double among_f64 = 20, among_f64_large = 18, among_f32 = 30;  // where kernels are made for these, whose copies
constexpr double line_f64 = 0.03, line_f32 = 0.04;                       // among the products take such a part of a step besides
constexpr double fill_clocks = 9400, fill_as_stored = 6000, fill_widened = 2000;  // first tiles of the ring, last barrier, launch of a CTA; where f32 and f64 are multiplied as they are; where f32 becomes f64

// Multiply-adds a clock and multiprocessor that the family reaches when nothing else holds it up. mma.sync reaches about 0.6 of what wgmma does on sm_90.
double rate(const ProblemType& type, const Config& c) {
  // The more sums a thread has, the fewer of its instructions are none of products.
  if (unconverted_f32(type, c.family)) return 115 / (1 + 16.0 * threads(c) / (c.tile_m * c.tile_n));
  if (c.family == Family::simt) return type.sum == core::Sum::f64 ? 34 : type.a == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32 ? 95 : type.a == GGEMM_I8 ? 50 : 33;
  switch (type.a) {
    case GGEMM_I8: return 2400;
    case GGEMM_F32: return by_f64_products(type, c.family) ? 142 : 550;
    case GGEMM_F64: return 142;
    default: return 1000;
  }
}

}  // namespace

bool unconverted_f32(const ProblemType& type, Family family) { return family == Family::simt && type.a == GGEMM_F32 && type.b == GGEMM_F32 && type.sum == core::Sum::f32 && type.compute != GGEMM_COMPUTE_TF32; }

bool as_stored(const ProblemType& type, Family family) { return type.a == GGEMM_F64 || by_f64_products(type, family) || unconverted_f32(type, family); }

Brought brought(const Asked& asked) {
  // Bytes a clock of operands that stay in L2, of a product that is narrow one way; of others; and at most to one multiprocessor.
  constexpr double narrow = 1024, deep = 16384, stays = 16e6, hot = 62, others = 44, halves_alone = 72, others_alone = 58, shared = 0.65;
  // Lines at multiples of 64 bytes come as fast as whole ones.
  constexpr double at_32 = 1.28, at_16 = 1.47;
  const auto apart = [](double line) { return std::fmod(line, 64) == 0 ? 1 : std::fmod(line, 32) == 0 ? at_32 : at_16; };
  const auto rate = [&](double rows, double line) {
    const bool few = asked.alone && std::min(asked.m, asked.n) <= narrow && asked.k < deep && rows * asked.k * asked.size <= stays && apart(line) == 1;
    return (few ? hot : others) / (apart(line) * std::pow(asked.busy, shared));
  };
  // Requests for a line are joined on their way to L2 where multiprocessors of a GPC make them at one time, which they do now and then; lines that lie across L2's, never.
  constexpr double joined = 0.3, joined_alone = 1.25;
  const bool whole = apart(asked.line_a) == 1 && apart(asked.line_b) == 1;
  const auto times = [whole](double readers) { return whole ? 1 + joined * (readers - 1) : 1; };
  const double alone = asked.size != 2 ? others_alone : halves_alone * (whole && asked.small && asked.readers_a > 1 && asked.readers_b > 1 ? joined_alone : 1);
  return {times(asked.readers_a) * rate(asked.m, asked.line_a), times(asked.readers_b) * rate(asked.n, asked.line_b), alone / apart(asked.line_a), alone / apart(asked.line_b)};
}

TileCosts tensor_costs(const ProblemType& type, const Config& c, bool even, double turned, const Brought& rates) {
  const bool terms = core::by_terms(type, c.family);
  const double size = operand_size(type, c.family), bm = c.tile_m, bn = c.tile_n, bk = c.tile_k, columns = bn / c.warps_n, wgmmas = (terms ? kernels::term_products : 1) * bk * size / 32 * (bm / 64) * c.warps_n;
  // A wgmma spans 32 bytes of k and takes 64 rows: it is bound by the products, or by reading both operands from shared memory.
  const bool promotes = terms || core::promoted(type);
  // Where registers hold one set of what is promoted a consumer waits for its products, and the tensor cores at times for both consumers.
  const double rows = bm / (c.warps_m / 4), sums = rows / 64 * columns / 2;
  const bool one_set = promotes && !kernels::promoted_from_two_sets(static_cast<int>(sums), core::scaled_by_blocks(type));
  const double waits = !one_set ? 1 : core::scaled_by_blocks(type) ? (rows > 64 ? 1.16 : columns > 128 ? 1.15 : 1.08) : rows > 64 ? (terms ? 1.26 : 1.21) : 1.15;
  const double multiply = waits * wgmmas * std::max(columns / 2, (64 + columns) * 32 / shared_bytes_a_clock);
  // What wgmmas read of shared memory, and the copy engine writes there. Of those with 128 or 256 columns it is as if A came for nothing.
  const double read = wgmmas * (std::fmod(columns, 128) == 0 ? columns : 64 + columns) * 32, shared = even || terms || size != 2 ? 0 : (read + (bm + bn) * bk * size) / shared_bytes_a_clock;
  const double copies = terms ? kernels::term_count : 1, travels_a = copies * bm / c.cluster_n * bk * size, travels_b = copies * bn * (turned + (1 - turned) / c.cluster_m) * bk * size;
  constexpr double latency_clocks = 130;  // a slot's way when nothing else is on it
  // CTAs of a cluster wait for each other at every step; consumers that add up their sums between products more so, and most where they give back a slot of terms before the step is done.
  const double together = c.cluster_m * c.cluster_n == 1 ? 0 : terms ? 2000 : promotes ? (type.grouped ? 147 : 85) : !type.grouped && size == 2 ? 50 : 73;
  // Rows by index are brought by 128 threads: so many clocks a slot, and bytes a clock, an element where they are turned. (Of groups it is not known whether rows are whole vectors, which come as fast as here alone.)
  constexpr double slot_clocks = 300, vectors = 170, turned_bytes = 4;
  const bool indexed = type.grouped & core::gathered_rows, turns = indexed && (core::repacked_operands(type, c) & core::operand_a);
  const double row_bytes = (c.swap ? bn : bm) * bk * size, by_index = !indexed ? 0 : turns ? (travels_a + travels_b) / turned_bytes : slot_clocks + row_bytes / vectors;
  const double bring = std::max({by_index, travels_a / rates.a + travels_b / rates.b, travels_a / rates.alone_a + travels_b / rates.alone_b, latency_clocks / c.stages}) + together;
  constexpr double store_clocks = 580;  // a step of the epilogue: fill a slot, wait for the one before (where there is one for every step, a fifth less)
  // Of 16-bit operands columns are stored in whole panels of 128 bytes: tiles of 96, 112, 144, 176 and 224 took 3 to 6% longer than by their bytes, beside those of 64, 128, 192 and 256. (Not so of e4m3; of groups it was not measured.)
  const double d = static_cast<double>(core::dtype_size(type.d)), panels = columns * d / kernels::panel_bytes, stored = std::max(1.0, type.grouped || terms || size != 2 ? panels : std::ceil(panels));
  // More between two large tiles of groups with promoted sums, which shows where k is short. (Where groups lie apart it is counted for all tiles.)
  const double between = type.grouped && !(type.grouped & core::apart_groups) && promotes && c.tile_m * c.tile_n > 128 * 128 ? 1100 : 0;
  const double store = between + 75 + store_clocks * rows / 64 * stored;
  constexpr double beside = 0.15;  // of what hides behind the slower
  // 176 and 224 columns, measured with 16 bits and e4m3; by blocks, where each 16 or 32 of them may have a scale of their own, 176 with e4m3.
  const double uneven = columns > 128 && std::fmod(columns, 64) != 0 ? (core::scaled_by_blocks(type) ? 1.06 : c.teams > 1 ? 1.02 : 1.03) : 1;
  const double square = promotes && c.tile_m == 128 && c.tile_n == 128 ? type.grouped ? 1.07 : core::scaled_by_blocks(type) ? 1.06 : 1 : 1;  // of e4m3, beside 128x192 in clusters
  // A lone consumer that has two sets of sums, whose A's scales come by the copy engine (7 to 17% behind its transposed twin, whose A has a scale for 128 rows).
  const double lone = core::scaled_by_blocks(type) && !type.grouped && !one_set && c.warps_m * c.warps_n == 4 && kernels::scaled_by_lines(c.swap ? type.scale_b : type.scale_a) ? 1.12 : 1;
  // The more columns a lone consumer of one product has, the more hides behind its products.
  const double behind = !type.grouped && !terms && c.teams <= 1 && c.warps_m * c.warps_n == 4 ? 1 - 0.001 * std::clamp(columns - 64, 0.0, 80.0) : 1;
  return {behind * lone * uneven * square * std::max(std::max(multiply, bring) + beside * std::min(multiply, bring), shared), store, bm * bn * 4 / kernels::finishers(static_cast<int>(columns), c.cluster_k)};
}

TileCosts loop_costs(const ProblemType& type, const Config& c, double at_once) {
  const double size = static_cast<double>(core::dtype_size(type.a)), held = c.family == Family::simt ? (type.sum == core::Sum::f64 ? 8.0 : 4.0) : size;
  const double bm = c.tile_m, bn = c.tile_n, bk = c.tile_k;
  const bool unconverted = unconverted_f32(type, c.family);
  const bool f64_mma = by_f64_products(type, c.family), widened = f32_as_f64(type, c.family);
  const double barrier = f64_mma ? 40 : 0;  // a tile of k
  const double multiply = bm * bn * bk / rate(type, c) + barrier;
  // Fragments are read once for each warp that needs them; SIMT threads share theirs in a warp by broadcast.
  const double feed = (f64_mma ? 0.6 : 1) * ((bm * c.warps_n + bn * c.warps_m) * bk * held + (bm + bn) * bk * held) / shared_bytes_a_clock;
  const std::uint8_t lines = core::unaligned_operands(type, c);
  const auto bytes_a_clock = [&](std::uint8_t operand) {
    const bool among = lines & operand;
    if (c.family != Family::sm80 || !(type.unreachable & operand)) return l2_bytes_a_clock;
    if (!f64_mma) return scattered_bytes_a_clock;
    if (widened) return among ? among_f32 : scattered_f32;
    if (bm * bn < 128 * 64) return among ? among_f64 : scattered_f64;
    return among ? among_f64_large : scattered_f64_large;
  };
  const auto brings = [&](double span, std::uint8_t operand) { return span * bk * size / bytes_a_clock(operand); };
  const double bring = brings(bm, core::operand_a) + brings(bn, core::operand_b);
  // Nothing hides behind itself: what is not the slowest still costs a part of its time.
  const double slowest = std::max({multiply, feed, bring});
  // f32 in tiles of these sizes, beside those of 128x128 and 64x128; long ones have more to load for each product.
  const double beside = !unconverted ? 1 : (bm * bn <= 2048 ? 0.78 : bm * bn <= 4096 ? 0.84 : bm * bn > 16384 ? 0.83 : 1) * (std::max(bm, bn) >= 4 * std::min(bm, bn) ? 1.1 : 1);
  // Bytes along m or n are turned by threads.
  const double turned = c.family == Family::sm80 && size == 1 ? (type.major_a == core::Major::mn ? 2 : 1) * (type.major_b == core::Major::mn ? 1.8 : 1) : 1;
  const double by_lines = 1 + (widened ? line_f32 : line_f64) * (lines == (core::operand_a | core::operand_b) ? 2 : lines != 0);
  const double step = by_lines * turned * beside * (slowest + 0.04 * (multiply + feed + bring - slowest));
  const double store = bm * bn * (2.0 * 4 / shared_bytes_a_clock + static_cast<double>(core::dtype_size(type.d)) / 24);
  // Elements that are converted on their way come a tile after the other, each from memory; others as many as there are stages, less the one that is multiplied.
  constexpr double mma_waits = 4200, f64_waits = 1150, f32_waits = 1580, converted = 4000;
  const double waits = type.a == GGEMM_F64 ? f64_waits : c.family != Family::simt ? mma_waits : unconverted ? f32_waits : 0;
  // A CTA of f32 that becomes f64, alone on its multiprocessor, waits for that in each step of the instruction, and for its fragments.
  constexpr double alone_widened = 9;  // for each of k
  // And fewer than four warps leave a part of the multiprocessor idle.
  const double least = widened ? multiply + std::max(alone_widened * bk, bring) : std::max(c.family == Family::simt && static_cast<int>(size) < sum_size(type) ? converted : waits / (c.stages - 1), unconverted ? step * 128 / std::min(128, threads(c)) : 0);
  return {at_once * step, (widened ? fill_widened : as_stored(type, c.family) ? fill_as_stored : fill_clocks) + store, bm * bn * sum_size(type), at_once, least};
}

double sum_of_slices(double values, double slices, double multiprocessors) {
  constexpr double launch_clocks = 4900, sum_bytes = 22, d_clocks = 0.64;
  return launch_clocks + std::max(values / multiprocessors, static_cast<double>(kernels::strip_size)) * slices * 4 / sum_bytes + values / multiprocessors * d_clocks;
}

}  // namespace ggemm::select
