// SPDX-License-Identifier: Apache-2.0
#include "select/table.hpp"

#include <algorithm>

#include "select/footprint.hpp"
#include "tile/terms.cuh"

namespace ggemm::select {
namespace {

using core::Config;
using core::Family;
using core::Major;
using core::ProblemType;

// A row of the table. depth: the tile along k in elements for simt and for lines of gemv, in bytes of an operand's row for the others.
struct Row {
  Family family;
  int tile_m, tile_n, depth;
  int warps_m, warps_n, stages;
  int cluster_m = 0, cluster_n = 0, swap = 0, cluster_k = 1, slices = 0, teams = 0;
};
constexpr Row rows[] = {
    // Hopper, large: two consumers share B's columns, two CTAs of a cluster A's rows or B's columns.
    {Family::sm90, 128, 256, 128, 8, 1, 4, 2, 1},
    {Family::sm90, 128, 256, 128, 8, 1, 4, 1, 1},
    {Family::sm90, 256, 128, 128, 8, 1, 4, 1, 2},
    {Family::sm90, 128, 192, 128, 8, 1, 4, 2, 1},
    {Family::sm90, 128, 224, 128, 8, 1, 4, 2, 1},
    {Family::sm90, 128, 176, 128, 8, 1, 4, 2, 1},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 2, 1},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 1, 1},
    // Hopper, much to store for what is multiplied: two consumers take turns at tiles, and one stores while the other multiplies.
    {Family::sm90, 128, 128, 128, 4, 1, 6, 2, 1, 0, 1, 0, 2},
    {Family::sm90, 128, 128, 128, 4, 1, 6, 1, 1, 0, 1, 0, 2},
    {Family::sm90, 128, 176, 128, 4, 1, 5, 2, 1, 0, 1, 0, 2},
    {Family::sm90, 176, 128, 128, 1, 4, 5, 1, 2, 1, 1, 0, 2},
    {Family::sm90, 128, 160, 128, 4, 1, 5, 2, 1, 0, 1, 0, 2},
    {Family::sm90, 128, 144, 128, 4, 1, 5, 2, 1, 0, 1, 0, 2},
    {Family::sm90, 128, 112, 128, 4, 1, 6, 2, 1, 0, 1, 0, 2},
    {Family::sm90, 128, 112, 128, 4, 1, 6, 1, 1, 0, 1, 0, 2},
    {Family::sm90, 128, 96, 128, 4, 1, 6, 2, 1, 0, 1, 0, 2},
    // Hopper, small problems and wave tails.
    {Family::sm90, 64, 256, 128, 4, 1, 4, 1, 1},
    {Family::sm90, 128, 64, 128, 8, 1, 8, 1, 1},
    {Family::sm90, 64, 128, 128, 4, 1, 8, 1, 1},
    {Family::sm90, 64, 64, 128, 4, 1, 8, 1, 1},
    // Hopper, one round of tiles that nearly all multiprocessors have one of: of two CTAs of a cluster each brings half of what both need.
    {Family::sm90, 256, 112, 128, 8, 1, 4, 1, 1},
    {Family::sm90, 128, 112, 128, 8, 1, 6, 2, 1},
    {Family::sm90, 128, 96, 128, 8, 1, 6, 2, 1},
    {Family::sm90, 128, 96, 128, 8, 1, 6, 1, 1},
    {Family::sm90, 128, 144, 128, 8, 1, 5, 1, 1},
    {Family::sm90, 64, 128, 128, 4, 1, 8, 2, 1},
    {Family::sm90, 64, 96, 128, 4, 1, 8, 2, 1},
    {Family::sm90, 256, 64, 128, 1, 4, 5, 1, 1, 1},
    {Family::sm90, 128, 64, 128, 1, 4, 8, 2, 1, 1},
    {Family::sm90, 64, 64, 256, 1, 4, 6, 2, 1, 1},
    // Hopper, few rows: the columns fill the 64 rows that wgmma multiplies.
    {Family::sm90, 192, 128, 128, 1, 8, 4, 1, 1, 1},
    {Family::sm90, 192, 64, 128, 1, 4, 6, 1, 1, 1},
    {Family::sm90, 160, 128, 128, 1, 8, 5, 1, 2, 1},
    {Family::sm90, 160, 64, 128, 1, 4, 6, 1, 1, 1},
    {Family::sm90, 96, 128, 128, 1, 8, 6, 1, 1, 1},
    {Family::sm90, 96, 64, 128, 1, 4, 8, 1, 1, 1},
    {Family::sm90, 128, 128, 128, 1, 8, 6, 1, 1, 1},
    {Family::sm90, 64, 128, 128, 1, 8, 8, 1, 1, 1},
    {Family::sm90, 32, 128, 128, 1, 8, 8, 1, 1, 1},
    {Family::sm90, 16, 128, 128, 1, 8, 8, 1, 1, 1},
    {Family::sm90, 8, 128, 128, 1, 8, 8, 1, 1, 1},
    {Family::sm90, 64, 64, 128, 1, 4, 8, 1, 1, 1},
    {Family::sm90, 32, 64, 128, 1, 4, 8, 1, 1, 1},
    {Family::sm90, 16, 64, 128, 1, 4, 8, 1, 1, 1},
    {Family::sm90, 8, 64, 128, 1, 4, 8, 1, 1, 1},
    // Hopper, fewer tiles than multiprocessors, and much of k: the CTAs of a cluster share it.
    {Family::sm90, 128, 128, 128, 8, 1, 6, 1, 1, 0, 2},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 1, 1, 0, 4},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 1, 1, 0, 8},
    {Family::sm90, 64, 64, 128, 4, 1, 8, 1, 1, 0, 4},
    {Family::sm90, 64, 64, 128, 4, 1, 8, 1, 1, 0, 8},
    {Family::sm90, 192, 64, 128, 1, 4, 6, 1, 1, 1, 2},
    {Family::sm90, 96, 64, 128, 1, 4, 8, 1, 1, 1, 2},
    {Family::sm90, 64, 64, 128, 1, 4, 8, 1, 1, 1, 2},
    {Family::sm90, 64, 64, 128, 1, 4, 8, 1, 1, 1, 4},
    {Family::sm90, 32, 64, 128, 1, 4, 8, 1, 1, 1, 2},
    {Family::sm90, 32, 64, 128, 1, 4, 8, 1, 1, 1, 4},
    {Family::sm90, 16, 64, 128, 1, 4, 8, 1, 1, 1, 2},
    {Family::sm90, 16, 64, 128, 1, 4, 8, 1, 1, 1, 4},
    {Family::sm90, 16, 64, 128, 1, 4, 8, 1, 1, 1, 8},
    {Family::sm90, 8, 64, 128, 1, 4, 8, 1, 1, 1, 2},
    {Family::sm90, 8, 64, 128, 1, 4, 8, 1, 1, 1, 4},
    {Family::sm90, 8, 64, 128, 1, 4, 8, 1, 1, 1, 8},
    // Hopper, much more of k than that: it is cut into slices, as many as the model finds best.
    {Family::sm90, 128, 256, 128, 8, 1, 4, 2, 1, 0, 1, 2},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 2, 1, 0, 1, 2},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 1, 1, 0, 1, 2},
    {Family::sm90, 64, 128, 128, 4, 1, 8, 2, 1, 0, 1, 2},
    {Family::sm90, 64, 64, 128, 4, 1, 8, 2, 1, 0, 1, 2},
    {Family::sm90, 64, 64, 128, 4, 1, 8, 1, 1, 0, 1, 2},
    {Family::sm90, 96, 64, 128, 1, 4, 8, 1, 1, 1, 1, 2},
    {Family::sm90, 16, 64, 128, 1, 4, 8, 1, 1, 1, 1, 2},
    // Hopper, some tiles more than whole waves: k is cut for those that are left over.
    {Family::sm90, 128, 256, 128, 8, 1, 4, 2, 1, 0, 1, core::tail_slices},
    {Family::sm90, 128, 256, 128, 8, 1, 4, 1, 1, 0, 1, core::tail_slices},
    {Family::sm90, 256, 128, 128, 8, 1, 4, 1, 2, 0, 1, core::tail_slices},
    {Family::sm90, 128, 192, 128, 8, 1, 4, 2, 1, 0, 1, core::tail_slices},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 2, 1, 0, 1, core::tail_slices},
    {Family::sm90, 128, 128, 128, 8, 1, 6, 1, 1, 0, 1, core::tail_slices},
    {Family::sm90, 64, 128, 128, 1, 8, 8, 1, 1, 1, 1, core::tail_slices},
    {Family::sm90, 32, 128, 128, 1, 8, 8, 1, 1, 1, 1, core::tail_slices},
    {Family::sm90, 16, 128, 128, 1, 8, 8, 1, 1, 1, 1, core::tail_slices},
    {Family::sm90, 8, 128, 128, 1, 8, 8, 1, 1, 1, 1, core::tail_slices},
    // Large tiles, one CTA a multiprocessor.
    {Family::sm80, 128, 256, 128, 2, 4, 3},
    {Family::sm80, 256, 128, 128, 4, 2, 3},
    // Two CTAs a multiprocessor: one computes while the other fills or stores.
    {Family::sm80, 128, 128, 128, 2, 2, 3},
    {Family::sm80, 128, 128, 64, 2, 2, 4},
    {Family::sm80, 128, 128, 128, 2, 4, 3},
    // Small problems, wave tails, groups of few rows.
    {Family::sm80, 128, 64, 128, 2, 2, 4},
    {Family::sm80, 64, 128, 128, 2, 2, 4},
    {Family::sm80, 64, 64, 128, 2, 2, 4},
    {Family::sm80, 64, 64, 64, 2, 2, 4},
    {Family::sm80, 32, 128, 128, 1, 4, 4},
    {Family::sm80, 16, 128, 128, 1, 4, 5},
    {Family::sm80, 128, 16, 128, 4, 1, 5},
    // f64, whose products take long: deep tiles, so that a barrier comes seldom and copies are early.
    {Family::sm80, 128, 128, 256, 2, 4, 3},
    {Family::sm80, 128, 64, 256, 4, 2, 4},
    {Family::sm80, 32, 32, 256, 2, 2, 4},
    // And long enough for a multiprocessor's tile of a round that is not full to be worth cutting; small ones where there is little of D, and all tiles are.
    {Family::sm80, 128, 128, 256, 2, 4, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::sm80, 128, 128, 128, 2, 4, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::sm80, 32, 32, 256, 2, 2, 4, 0, 0, 0, 1, core::tail_slices},
    // Two or three CTAs a multiprocessor, of 32 sums a thread and fewer: all that f32 as f64 has registers for, and f64 where tiles are few.
    {Family::sm80, 64, 64, 256, 2, 2, 3},
    {Family::sm80, 64, 64, 256, 2, 2, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::sm80, 64, 32, 256, 2, 2, 4},
    {Family::sm80, 32, 64, 256, 2, 2, 4},
    {Family::sm80, 64, 32, 128, 2, 2, 4},
    {Family::sm80, 32, 32, 128, 2, 2, 4},
    // CUDA cores, f32 and f64: two CTAs a multiprocessor, of 128 sums a thread, so that products are many more than loads; fewer sums where tiles are few, as four
    // warps are the least that busies a multiprocessor.
    {Family::simt, 128, 128, 16, 2, 2, 4},
    {Family::simt, 128, 64, 16, 4, 1, 4},
    {Family::simt, 64, 128, 16, 2, 2, 4},
    {Family::simt, 64, 64, 16, 2, 2, 4},
    // f32: as many sums in one CTA; and for still fewer tiles deeper ones, so that more is under way.
    {Family::simt, 128, 256, 32, 2, 4, 2},
    {Family::simt, 128, 256, 32, 2, 4, 2, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 64, 64, 32, 2, 2, 3},
    {Family::simt, 32, 64, 32, 2, 2, 4},
    {Family::simt, 128, 128, 16, 2, 2, 4, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 64, 128, 16, 2, 2, 4, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 64, 64, 32, 2, 2, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 32, 64, 32, 2, 2, 4, 0, 0, 0, 1, core::tail_slices},
    // Any dtype, any stride.
    {Family::simt, 128, 128, 16, 4, 2, 2},
    {Family::simt, 64, 64, 16, 2, 2, 2},
    {Family::simt, 32, 32, 16, 2, 1, 2},
    // Few rows, few columns: what the memory reads is what they take. The more warps, the more of k is under way; the more lines, the fewer CTAs read the other operand. By tensor cores,
    {Family::gemv, 8, 16, 512, 1, 8, 2},
    {Family::gemv, 8, 16, 256, 1, 4, 4},
    {Family::gemv, 8, 16, 1024, 1, 16, 2},
    {Family::gemv, 8, 16, 512, 1, 8, 4},
    {Family::gemv, 8, 32, 512, 1, 8, 2},
    {Family::gemv, 16, 8, 512, 1, 8, 2},
    {Family::gemv, 16, 8, 256, 1, 4, 4},
    {Family::gemv, 16, 8, 1024, 1, 16, 2},
    {Family::gemv, 16, 8, 512, 1, 8, 4},
    {Family::gemv, 32, 8, 512, 1, 8, 2},
    // and by CUDA cores, for which a thread has a vector of each row or column.
    {Family::gemv, 1, 16, 512, 1, 8, 2},
    {Family::gemv, 1, 16, 256, 1, 4, 4},
    {Family::gemv, 1, 16, 1024, 1, 16, 2},
    {Family::gemv, 1, 16, 512, 1, 8, 4},
    {Family::gemv, 4, 16, 512, 1, 8, 2},
    {Family::gemv, 16, 1, 512, 1, 8, 2},
    {Family::gemv, 16, 1, 256, 1, 4, 4},
    {Family::gemv, 16, 1, 1024, 1, 16, 2},
    {Family::gemv, 16, 1, 512, 1, 8, 4},
    {Family::gemv, 16, 4, 512, 1, 8, 2},
    {Family::host, 0, 0, 0, 0, 0, 0},
};
// Those of plain products without pairs, batches of them not measured.
constexpr Row plain_rows[] = {
    // One round of small tiles in clusters of four, which bring for each other both ways or one: L2 is asked for a half to a quarter, which counts most where lines are no multiples of 64 bytes apart.
    {Family::sm90, 64, 64, 128, 4, 1, 8, 2, 2},
    {Family::sm90, 64, 64, 128, 1, 4, 8, 4, 1, 1},
    {Family::sm90, 64, 64, 128, 1, 4, 8, 1, 4, 1},
    {Family::sm90, 64, 96, 128, 4, 1, 8, 4, 1},
    {Family::sm90, 96, 64, 128, 1, 4, 8, 1, 4, 1},
    {Family::sm90, 64, 128, 128, 4, 1, 8, 1, 4},
    {Family::sm90, 64, 192, 128, 4, 1, 6, 2, 2},
    {Family::sm90, 80, 64, 128, 1, 4, 10, 2, 2, 1},
    // Sizes by which nearly all multiprocessors have a tile.
    {Family::sm90, 64, 192, 128, 4, 1, 6, 1, 1},
    {Family::sm90, 64, 80, 128, 4, 1, 10, 1, 2},
    {Family::sm90, 80, 64, 128, 1, 4, 10, 1, 1, 1},
    {Family::sm90, 144, 64, 128, 1, 4, 7, 1, 1, 1},
    {Family::sm90, 128, 96, 128, 8, 1, 6, 1, 2},
    // Slices of few columns that are no power of two.
    {Family::sm90, 128, 160, 128, 8, 1, 5, 2, 1, 0, 1, 2},
    // One round of large tiles, whose neighbours are in one GPC: 0.97 to 1.00 of the same in clusters.
    {Family::sm90, 128, 192, 128, 8, 1, 4, 1, 1},
    // Few columns, as the rows above: of B contiguous along n there are whole panels only.
    {Family::sm90, 64, 32, 128, 4, 1, 8, 1, 1},
    {Family::sm90, 64, 16, 128, 4, 1, 8, 1, 1},
    {Family::sm90, 64, 32, 128, 4, 1, 8, 1, 1, 0, 2},
    {Family::sm90, 64, 16, 128, 4, 1, 8, 1, 1, 0, 2},
    {Family::sm90, 64, 32, 128, 4, 1, 8, 1, 1, 0, 4},
    {Family::sm90, 64, 16, 128, 4, 1, 8, 1, 1, 0, 4},
};
// Those of plain products of f32 by CUDA cores.
constexpr Row f32_rows[] = {
    // Few columns, few rows, and little of k.
    {Family::simt, 256, 16, 16, 4, 1, 3},
    {Family::simt, 16, 256, 16, 1, 4, 3},
    // And more of it, or of both few and a long k.
    {Family::simt, 128, 32, 16, 4, 1, 4, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 32, 128, 16, 1, 4, 4, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 128, 16, 32, 4, 1, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 16, 128, 32, 1, 4, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 64, 16, 32, 4, 1, 4, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 16, 64, 32, 1, 4, 4, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 32, 32, 64, 2, 2, 3, 0, 0, 0, 1, core::tail_slices},
    {Family::simt, 16, 32, 64, 2, 1, 4, 0, 0, 0, 1, core::tail_slices},
};

// Those of batches, whose products may be small and many: CTAs of one warp, of which a multiprocessor has eight and more. Of f64; of 16 bits, i8 and tf32; and of f32, by CUDA cores.
constexpr Row batch_rows[] = {
    {Family::sm80, 32, 32, 128, 1, 1, 2},
    {Family::sm80, 16, 16, 128, 1, 1, 2},
    {Family::sm80, 32, 32, 64, 1, 1, 2},
    {Family::sm80, 16, 16, 64, 1, 1, 2},
    {Family::simt, 32, 32, 16, 1, 1, 2},
    {Family::simt, 16, 16, 16, 1, 1, 2},
};

// Those of plain products of little of k, and few columns, or rows: a warp has rows of its own, or columns. By tensor cores, and by CUDA cores.
constexpr Row short_lines[] = {
    {Family::gemv, 512, 32, 32, 8, 1, 1},
    {Family::gemv, 1024, 16, 32, 8, 1, 1},
    {Family::gemv, 256, 32, 32, 8, 1, 1},
    {Family::gemv, 256, 16, 32, 8, 1, 1},
};
constexpr Row short_lines_by_fma[] = {
    {Family::gemv, 1024, 4, 4, 8, 1, 1},
    {Family::gemv, 1024, 8, 8, 8, 1, 1},
    {Family::gemv, 64, 4, 4, 2, 1, 1},
    {Family::gemv, 64, 8, 8, 2, 1, 1},
    {Family::gemv, 4, 512, 4, 4, 1, 1},
    {Family::gemv, 8, 512, 8, 4, 1, 1},
};

constexpr std::int64_t shared_of_sm90 = 227 * 1024;  // what a CTA may have there

}  // namespace

std::vector<Config> table(const ProblemType& type) {
  std::vector<Config> out;
  // Of tf32 an operand that is not contiguous along k is best the kernel's A, which need not be turned first.
  const bool swaps = type.compute == GGEMM_COMPUTE_TF32 && !type.grouped && !type.gate && type.major_a == Major::k && type.major_b == Major::mn;
  const auto add = [&](const Row& row, int large_above) {
    const bool turns = swaps && row.family == Family::sm90 && !row.swap;
    if (turns && (large_above || row.tile_m > 16 * row.warps_m || row.cluster_n > 1)) return;  // of groups; of two blocks of rows, for which there are no registers; A is not shared
    Config c{};
    c.family = row.family;
    c.tile_m = static_cast<std::uint16_t>(row.tile_m), c.tile_n = static_cast<std::uint16_t>(row.tile_n);
    const bool in_elements = row.family == Family::simt || (row.family == Family::gemv && row.warps_m > 1);
    c.tile_k = static_cast<std::uint16_t>(in_elements ? row.depth : row.depth / (row.family == Family::gemv ? static_cast<int>(core::dtype_size(type.a)) : operand_size(type, row.family)));
    c.warps_m = static_cast<std::uint8_t>(row.warps_m), c.warps_n = static_cast<std::uint8_t>(row.warps_n);
    c.stages = static_cast<std::uint8_t>(core::by_terms(type, row.family) ? row.stages / kernels::term_count * kernels::term_count : row.stages);
    c.cluster_m = static_cast<std::uint8_t>(row.cluster_m), c.cluster_n = static_cast<std::uint8_t>(row.cluster_n), c.swap = static_cast<std::uint8_t>(row.swap);
    if (row.family == Family::sm90) c.cluster_k = static_cast<std::uint8_t>(row.cluster_k);
    c.slices = static_cast<std::uint16_t>(row.slices);
    c.teams = static_cast<std::uint16_t>(row.teams);
    c.raster = row.family == Family::host ? 0 : 1;
    c.large_above = static_cast<std::uint16_t>(large_above);
    if (turns) c = core::transposed(c), c.swap = 1;
    // Scales of blocks take room from the ring.
    while (row.family == Family::sm90 && core::scaled_by_blocks(type) && c.stages > (type.grouped ? 3 : 2) && shared_bytes(type, c) + static_shared_bytes(type, c) > shared_of_sm90) --c.stages;
    if (!swaps || std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);  // the twin of one may be another
  };
  // Of one product, which the host deals, tiles of many rows are cut; of groups those of few, those that come in halves, and the largest.
  // (The largest with a bias, an activation or pairs besides would spill; rows by index are not cut; other large ones were not better.)
  const int widest = core::promoted(type) ? 192 : 256;
  const bool largest = !type.activation && !type.bias && !type.gate && !(type.grouped & core::batch_or_indexed);
  const auto cut = [&](const Row& row) {
    if (!type.grouped) return row.swap == 0;
    return row.swap || (row.tile_n == 128 && row.cluster_m * row.cluster_n == 1) || (largest && row.tile_n == widest && row.cluster_m == 2);
  };
  for (const Row& row : rows) {
    if (row.family == Family::gemv && (std::min(row.tile_m, row.tile_n) == 8) == gemv_by_cuda_cores(type)) continue;
    if (row.family == Family::sm80 && (row.depth > 128 || row.slices) && !by_f64_products(type, row.family)) continue;
    // Columns that are no whole steps of the epilogue (tile/panels.cuh) take registers that groups and pairs have not.
    if (const int columns = row.swap ? row.tile_m : row.tile_n; row.family == Family::sm90 && columns > 128 && columns % 64 != 0 && (type.grouped || type.gate)) continue;
    // Rows that are no power of two and few are measured where one product, or one of a batch, has them.
    if (row.family == Family::sm90 && row.swap && row.tile_m % 32 == 0 && row.tile_m % 128 != 0 && row.tile_m > 64 && (type.grouped & core::grouped_call) && !(type.grouped & core::batch_groups)) continue;
    // Two CTAs that share a tile of 128x128 along k finish 32 promoted sums a thread each: the kernel spills.
    if (row.family == Family::sm90 && row.cluster_k == 2 && row.tile_m == 128 && core::promoted(type)) continue;
    // By CUDA cores small tiles are cut of f32 alone.
    if (row.family == Family::simt && row.slices && row.tile_m * row.tile_n < 128 * 256 && !(type.a == GGEMM_F32 && type.b == GGEMM_F32)) continue;
    if (row.slices == core::tail_slices && !(row.family == Family::sm90 ? cut(row) : !type.grouped && !type.limited)) continue;
    add(row, 0);
    // Beside tiles of few rows, groups of many are better in larger ones.
    if (row.family == Family::sm90 && row.tile_m >= 16 && row.tile_m <= 64 && row.cluster_m * row.cluster_n == 1 && row.cluster_k <= 1 && row.slices == 0) add(row, 64);
  }
  const bool f32 = type.a == GGEMM_F32 && type.b == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32;
  if ((type.grouped & core::batch_groups) && !type.gate)
    for (const Row& row : batch_rows)
      if (f32 ? row.family == Family::simt : row.family == Family::sm80 && row.depth == (type.a == GGEMM_F64 ? 128 : 64)) add(row, 0);
  if (!type.grouped && !type.gate) {
    for (const Row& row : plain_rows) add(row, 0);
    if (f32)
      for (const Row& row : f32_rows)
        if (row.slices == 0 || !type.limited) add(row, 0);
    if (gemv_by_cuda_cores(type))
      for (const Row& row : short_lines_by_fma) add(row, 0);
    else if (core::dtype_size(type.a) == 2)
      for (const Row& row : short_lines) add(row, 0);
  }
  return out;
}

}  // namespace ggemm::select
