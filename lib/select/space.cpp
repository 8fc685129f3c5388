// SPDX-License-Identifier: Apache-2.0
#include "select/space.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "tile/panels.cuh"
#include "tile/scales.cuh"
#include "tile/terms.cuh"

namespace ggemm::select {
namespace {

using core::Config;
using core::Family;
using core::Major;
using core::ProblemType;
using core::Sum;

// A row of the table. depth: the tile along k in elements for simt, in bytes of an operand's row for the others.
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
};

// Operands that are contiguous along m or n and not 16 bits wide are gathered from shared memory, which takes registers: bytes most of all.
bool gathers_bytes(const ProblemType& type) { return operand_size(type) == 1 && (type.major_a == Major::mn || type.major_b == Major::mn); }
int sums_a_thread(const Config& c) { return c.tile_m * c.tile_n / std::max(1, 32 * c.warps_m * c.warps_n); }

struct Query {
  const ProblemType& type;
  const Config& config;
  const core::DeviceFacts& facts;
};
// What must hold for a family's configurations, and the sentence that says so when it does not.
struct Rule {
  bool (*holds)(const Query&);
  const char* reason;
};

constexpr Rule any_cuda[] = {
    {[](const Query& q) { return q.facts.cuda; }, "needs a CUDA device"},
    {[](const Query& q) { return q.config.family == Family::sm90 || q.config.family == Family::gemv || q.config.tile_n % 16 == 0; }, "the tile must be a multiple of 16 columns, so that 16 bytes of any D divide a row of it"},
    {[](const Query& q) { return !q.type.gate || q.config.family == Family::gemv || q.config.tile_n % 32 == 0; }, "with gated pairs the tile must be a multiple of 32 columns, as D has half of them"},
    {[](const Query& q) { return q.config.raster >= 1; }, "the raster group must be 1 or more"},
    {[](const Query& q) { return q.config.family == Family::sm90 || q.config.slices == 0 || (q.config.slices == core::tail_slices && !core::compiled(q.type, q.config.family).grouped && !core::scaled_by_blocks(q.type)); },
     "by this family k is cut for tiles left over alone, in a plain product without max_ctas and without scales by blocks"},
    {[](const Query& q) { return q.config.family == Family::sm90 || q.config.slices == 0 || sums_a_thread(q.config) * sum_size(q.type) % 16 == 0; }, "where tiles left over are cut, a thread's sums must be whole vectors of 16 bytes"},
    {[](const Query& q) { return threads(q.config) >= 32 && threads(q.config) <= 512; }, "the CTA must have 32 to 512 threads"},
    {[](const Query& q) { return sums_a_thread(q.config) * sum_size(q.type) / 4 <= (q.config.teams > 1 && !q.type.grouped && q.type.sum == Sum::f32 && core::bare(q.type) ? 176 : 128); },
     "a thread's sums must fit in 128 registers, or 176 where they are f32 and consumers take turns in a plain product whose epilogue is alpha and beta alone"},
    {[](const Query& q) { return shared_bytes(q.type, q.config) + static_shared_bytes(q.type, q.config) <= q.facts.shared_per_block; }, "the tile must fit in shared memory"},
};

// kernels/mainloop/simt.cuh: ASYNC.
bool by_cp_async(const Query& q) {
  const int sum = q.type.sum == Sum::f64 ? GGEMM_F64 : q.type.sum == Sum::f32 ? GGEMM_F32 : GGEMM_I32;
  return q.facts.compute_capability >= 80 && q.type.a == sum && q.type.b == sum && q.type.compute != GGEMM_COMPUTE_TF32 && q.config.tile_k % 2 == 0;
}

constexpr Rule simt_rules[] = {
    {[](const Query& q) { return q.facts.compute_capability >= 75; }, "needs compute capability 7.5 or newer"},
    {[](const Query& q) { return q.config.stages >= 2 && q.config.stages <= (by_cp_async(q) ? 8 : 2); },
     "the ring must have 2 stages, up to 8 where A and B have the type of the sums and cp.async brings them"},
    {[](const Query& q) { return q.config.tile_m % (4 * q.config.warps_m) == 0 && q.config.tile_n % (8 * q.config.warps_n) == 0; }, "a warp is 4 x 8 threads, and threads must cover the tile evenly"},
    {[](const Query& q) {
       const int down = q.config.tile_m / (4 * q.config.warps_m), across = q.config.tile_n / (8 * q.config.warps_n);
       return (down < 4 || down % 4 == 0) && (across < 4 || across % 4 == 0) && down <= 16 && across <= 16;
     },
     "a thread's part must be 1 to 3 or a multiple of 4 wide, and 16 at most"},
    {[](const Query& q) { return q.config.tile_m * q.config.tile_k % threads(q.config) == 0 && q.config.tile_n * q.config.tile_k % threads(q.config) == 0 && q.config.tile_k <= 64; },
     "threads must load the tiles evenly, at most 64 deep"},
    {[](const Query& q) { return q.type.sum != Sum::f64 || sums_a_thread(q.config) <= 32; }, "f64 sums leave registers for 32 of them a thread"},
    {[](const Query& q) { return !core::scaled_by_blocks(q.type) || (sums_a_thread(q.config) <= 32 && kernels::scale_block % q.config.tile_k == 0); },
     "scales by blocks take a depth that divides 128, and leave registers for 32 sums a thread: there are those of the block too"},
    {[](const Query& q) { return by_cp_async(q) || (q.config.tile_m + q.config.tile_n) * q.config.tile_k / threads(q.config) <= 32; }, "a thread must load 32 elements or fewer, where it converts them"},
};

// One operand's tile in shared memory: kernels/tile/shared_tile.cuh and pipeline/copy.cuh.
bool tile_fits(const Query& q, int span, Major major) {
  const int size = operand_size(q.type), inner = major == Major::k ? q.config.tile_k : span, outer = major == Major::k ? span : q.config.tile_k;
  const int row = inner * size, chunks = row / 16;
  const bool power = (std::min(row, 128) & (std::min(row, 128) - 1)) == 0;
  return row % 16 == 0 && power && row % std::min(row, 128) == 0 && row >= 64 && outer * row % 1024 == 0 && chunks > 0 && threads(q.config) % chunks == 0 && outer * chunks % threads(q.config) == 0;
}
// A warp's rows or columns: whole atoms, a power of two.
bool warp_part(int span, int warps) {
  const int part = span / std::max(1, warps);
  return part * warps == span && (part & (part - 1)) == 0 && part >= 16;
}

constexpr Rule sm80_rules[] = {
    {[](const Query& q) { return q.facts.compute_capability >= 80; }, "needs compute capability 8.0 or newer"},
    {[](const Query& q) { return !(q.type.grouped & core::gathered_rows) || q.type.major_a == Major::k; }, "rows of A by index must be contiguous along k"},
    {[](const Query& q) { return q.type.a == q.type.b; }, "A and B must have one dtype"},
    {[](const Query& q) {
       const int a = q.type.a;
       return a == GGEMM_F16 || a == GGEMM_BF16 || a == GGEMM_I8 || a == GGEMM_F64 || (a == GGEMM_F32 && q.type.compute == GGEMM_COMPUTE_TF32);
     },
     "mma.sync takes f16, bf16, i8, f64, and f32 under compute tf32"},
    {[](const Query& q) { return !core::scaled_by_blocks(q.type); }, "mma.sync's sums are not promoted: no scales by blocks"},
    {[](const Query& q) { return q.type.gate != GGEMM_GATE_HALVES || q.type.major_b == Major::k; }, "gated pairs of halves take B contiguous along k"},
    {[](const Query& q) { return q.config.stages >= 2 && q.config.stages <= 8; }, "the ring must have 2 to 8 stages"},
    {[](const Query& q) { return warp_part(q.config.tile_m, q.config.warps_m) && warp_part(q.config.tile_n, q.config.warps_n); }, "a warp's part must be a power of two, of 16 rows and columns or more"},
    {[](const Query& q) {
       // Fragments alternate between two sets of registers, so a tile has an even number of k steps; copies come in batches of a power of two.
       const int depth = q.config.tile_k * operand_size(q.type);
       return depth >= (q.type.a == GGEMM_F64 ? 128 : 64) && (depth & (depth - 1)) == 0;
     },
     "the tile's depth must be a power of two of 64 bytes (f64: 128) or more"},
    {[](const Query& q) { return tile_fits(q, q.config.tile_m, q.type.major_a) && tile_fits(q, q.config.tile_n, q.type.major_b); }, "tiles must be whole swizzled lines that the threads copy evenly"},
    {[](const Query& q) { return q.type.a != GGEMM_F64 || sums_a_thread(q.config) <= (q.facts.compute_capability == 90 && !(core::compiled(q.type, q.config.family).grouped & core::grouped_call) ? 64 : 32); },
     "f64 operands leave registers for 32 sums a thread, for 64 in a plain product or a batch without max_ctas on compute capability 9.0"},
    {[](const Query& q) { return q.type.a != GGEMM_F64 || sums_a_thread(q.config) <= 32 || q.config.tile_k <= 16 || q.type.major_a == Major::k; },
     "f64 tiles of 64 sums a thread are 16 deep where A is contiguous along m: addresses take registers too"},
    {[](const Query& q) {
       const int operands = (q.type.major_a == Major::mn) + (q.type.major_b == Major::mn);
       return operand_size(q.type) != 4 || sums_a_thread(q.config) * operands <= 64;
     },
     "one 32-bit operand contiguous along m or n leaves registers for 64 sums a thread, two for 32"},
    {[](const Query& q) { return q.facts.compute_capability == 90 || sums_a_thread(q.config) <= 64; }, "only on compute capability 9.0 does ptxas find registers for more than 64 sums a thread"},
    {[](const Query& q) { return !gathers_bytes(q.type) || (sums_a_thread(q.config) <= 32 && q.config.tile_k <= 64); }, "8-bit operands contiguous along m or n leave registers for 32 sums a thread at a depth of 64"},
};

constexpr Rule gemv_rules[] = {
    {[](const Query& q) { return q.facts.compute_capability >= 80; }, "needs compute capability 8.0 or newer"},
    {[](const Query& q) { return !core::fp8(q.type) || q.facts.compute_capability >= 89; }, "fp8 needs compute capability 8.9 or newer, which converts it"},
    {[](const Query& q) { return q.type.a == q.type.b || core::fp8(q.type); }, "A and B must have one dtype, or be e4m3 and e5m2"},
    {[](const Query& q) { return !core::scaled_by_blocks(q.type); }, "sums are not promoted: no scales by blocks"},
    {[](const Query& q) { return q.config.slices == 0; }, "warps share k, and CTAs do not"},
    {[](const Query& q) {
       const int thin = std::min(q.config.tile_m, q.config.tile_n), wide = std::max(q.config.tile_m, q.config.tile_n);
       return gemv_by_cuda_cores(q.type) ? wide == 16 && (thin == 1 || (thin == 4 && q.type.a == GGEMM_F32 && threads(q.config) <= 256 && q.config.stages <= 2)) : (wide == 16 || wide == 32) && thin == 8;
     },
     "the tile must have 8 rows and 16 or 32 columns, or the other way round; of f32 and f64 1 row and 16 columns, of f32 also 4 where a thread has few vectors under way"},
    {[](const Query& q) { return !q.type.gate || q.config.tile_n % 2 == 0; }, "with gated pairs the tile must have whole pairs"},
    {[](const Query& q) { return q.config.warps_m == 1 && q.config.tile_k * static_cast<int>(core::dtype_size(q.type.a)) == 64 * q.config.warps_n; }, "warps must be 1 down, and the tile 64 bytes deep for each"},
    {[](const Query& q) { return q.config.stages >= 1 && q.config.stages <= 4; }, "1 to 4 steps may be under way"},
};

constexpr int most_slices = 256;

// kernels/traits.cuh: TURNS_A.
bool turns_a(const Query& q) { return q.type.compute == GGEMM_COMPUTE_TF32 && core::kernel_type(q.type, q.config).major_a == Major::mn; }

// tile/panels.cuh: whole panels along k; along m or n one at least, and whole ones for each but the last of so many consumers; and parts of whole swizzle periods.
bool panels_fit(const Query& q, int span, int consumers, Major major, int share) {
  const int size = operand_size(q.type), inner = kernels::panel_bytes / size;
  if (major == Major::k ? q.config.tile_k % inner : span < inner || (consumers > 1 && span / consumers % inner)) return false;
  if (span % 8) return false;
  const int rows = kernels::box_rows(span, q.config.tile_k, size, major == Major::mn, share);
  return rows % 8 == 0 && rows > 0 && rows <= 256;
}

constexpr Rule sm90_rules[] = {
    {[](const Query& q) { return q.facts.compute_capability == 90; }, "needs compute capability 9.0"},
    {[](const Query& q) { return !(q.type.grouped & core::gathered_rows) || core::packed(q.type, q.config).major_a == Major::k; }, "rows of A by index, if of 16 bits, must be contiguous along k"},
    {[](const Query& q) { return !(q.type.unreachable & core::too_long); }, "m, n and k must be 2^31 - 4096 or less (k of f32_accurate a third of that), so that coordinates of tensor maps have 31 bits"},
    {[](const Query& q) { return core::dtype_size(q.type.c) <= 4 && core::dtype_size(q.type.d) <= 4; }, "the epilogue stores elements of 4 bytes or fewer"},
    {[](const Query& q) {
       const int a = q.type.a, b = q.type.b;
       return core::fp8(q.type) || (a == b && (a == GGEMM_F16 || a == GGEMM_BF16 || a == GGEMM_I8 || (a == GGEMM_F32 && (q.type.compute == GGEMM_COMPUTE_TF32 || core::by_terms(q.type)))));
     },
     "wgmma takes f16, bf16, i8, pairs of e4m3 and e5m2, and f32 under compute tf32 and f32_accurate"},
    {[](const Query& q) { return !core::by_terms(q.type) || !q.type.grouped; }, "operands are cut into terms in a plain product only"},
    {[](const Query& q) { return !core::by_terms(q.type) || sums_a_thread(q.config) <= 64; }, "sums of terms are promoted every tile of k, with registers for 64 sums a thread"},
    {[](const Query& q) { return !core::by_terms(q.type) || q.config.stages % kernels::term_count == 0; }, "a tile of k of three terms takes three stages of the ring at a time"},
    {[](const Query& q) { return !core::scaled_by_blocks(q.type) || operand_size(q.type) == 1; }, "scales by blocks take operands of 8 bits, of which a tile is a block deep"},
    {[](const Query& q) { return !core::promoted(q.type) || q.config.tile_k == kernels::scale_block; }, "fp8 products, and those scaled by blocks, are promoted every 128 of k"},
    {[](const Query& q) {
       const ProblemType t = core::kernel_type(q.type, q.config);
       return !core::scaled_by_blocks(q.type) || !q.type.grouped || sums_a_thread(q.config) <= 64 || (sums_a_thread(q.config) <= 96 && t.scale_a == GGEMM_SCALE_BLOCK_1X128 && kernels::kind_in_tile(t.scale_b, t.gate == GGEMM_GATE_HALVES) == GGEMM_SCALE_BLOCK_128X128);
     },
     "in groups scales by blocks leave registers for 64 sums a thread, or 96 where those of A (B if swapped) are 1x128 and the other's 128x128, not of pairs of halves"},
    {[](const Query& q) {
       const Config c = core::upright(q.config);
       return !core::promoted(q.type) || sums_a_thread(c) + c.tile_n / std::max<int>(1, c.warps_n) / 2 <= 192;
     },
     "promoted sums, and one set for 64 rows that they are promoted from, must fit in 192 registers of a thread"},
    {[](const Query& q) { return q.config.stages >= 2 && q.config.stages <= 16; }, "the ring must have 2 to 16 stages"},
    {[](const Query& q) { return q.config.stages >= 3 || !q.type.grouped; }, "groups, whose operands threads may bring, need a ring of 3 stages"},
    {[](const Query& q) {
       const Config c = core::upright(q.config);
       return !turns_a(q) || (c.tile_m <= 16 * c.warps_m && sums_a_thread(c) + c.tile_k <= 160);
     },
     "where A (B if swapped) comes through registers, a consumer has 64 rows, and a thread 160 registers for two tiles of it and the sums"},
    {[](const Query& q) { return !turns_a(q) || core::upright(q.config).cluster_n == 1; },
     "where A (B if swapped) comes through registers, CTAs of a cluster do not share it: that threads have read it would take a fence to tell the others"},
    {[](const Query& q) {
       const Config c = core::upright(q.config);
       const int rows = c.warps_m / 4 * 64, columns = c.warps_n ? c.tile_n / c.warps_n : 0;
       return c.warps_m % 4 == 0 && rows > 0 && c.tile_m % rows == 0 && columns * c.warps_n == c.tile_n;
     },
     "consumers are warpgroups of 4x1 warps (1x4 if swapped), each of 64 rows or a multiple"},
    {[](const Query& q) { return q.config.warps_m * q.config.warps_n * std::max<int>(1, q.config.teams) <= 8; }, "registers serve two consumers"},
    {[](const Query& q) { return q.config.teams <= 1 || (q.config.cluster_k == 1 && q.config.slices == 0 && !core::promoted(q.type) && !core::by_terms(q.type)); },
     "consumers that take turns have whole tiles, which CTAs do not share along k, and sums that are not promoted"},
    {[](const Query& q) {
       const Config c = core::upright(q.config);
       const int n = c.tile_n / c.warps_n;
       return n == 8 || (n % 16 == 0 && n <= 256);
     },
     "a consumer's columns must be 8 or a multiple of 16 up to 256"},
    {[](const Query& q) {
       const Config c = core::upright(q.config);
       return (c.cluster_m == 1 || c.cluster_m == 2 || c.cluster_m == 4) && (c.cluster_n == 1 || c.cluster_n == 2 || c.cluster_n == 4) && cluster(c) <= 8;
     },
     "a cluster must have 1, 2 or 4 CTAs in each direction, 8 in all with those along k"},
    {[](const Query& q) {
       const Config& c = q.config;
       return c.cluster_k == 1 || ((c.cluster_k == 2 || c.cluster_k == 4 || c.cluster_k == 8) && !q.type.grouped);
     },
     "1, 2, 4 or 8 CTAs may share a tile along k, in a plain product"},
    {[](const Query& q) { return q.config.slices <= core::tail_slices || (q.config.slices <= most_slices && !q.type.grouped); }, "k may be cut into 256 slices, in a plain product"},
    {[](const Query& q) { return q.config.slices == 0 || !q.type.grouped || (q.config.large_above == 0 && !(q.type.grouped & (core::gathered_rows | core::checked_groups))); },
     "tiles of groups that are left over are cut where one kernel has all groups, their rows are in order, and nothing checks them before"},
    {[](const Query& q) { return q.config.large_above == 0 || q.type.grouped; }, "larger groups have tiles of their own in a grouped product"},
    {[](const Query& q) { return !(q.type.grouped & core::batch_groups) || (q.config.large_above == 0 && q.config.slices == 0); }, "groups of a batch are alike, and k is not cut for tiles of theirs that are left over"},
    {[](const Query& q) { return q.config.large_above == 0 || cluster(q.config) == 1; }, "beside larger groups CTAs take tiles one by one: clusters must have one CTA"},
    {[](const Query& q) { return (q.config.cluster_k == 1 && q.config.slices <= 1) || !q.type.limited; }, "CTAs that share a tile along k have one each, and so as many as there are tiles: not with max_ctas"},
    {[](const Query& q) { return q.config.cluster_k == 1 || q.config.slices == 0; }, "where CTAs share a tile along k it is not cut besides"},
    {[](const Query& q) { return cluster(q.config) <= q.facts.multiprocessors; }, "a cluster needs as many multiprocessors (max_ctas, if that is less) as it has CTAs"},
    {[](const Query& q) { return q.config.cluster_k == 1 || q.config.tile_m * q.config.tile_n * 4 <= q.config.stages * (q.config.tile_m + q.config.tile_n) * q.config.tile_k * operand_size(q.type); },
     "CTAs that share a tile along k exchange its sums in the ring, which must hold them"},
    {[](const Query& q) {
       const Config c = core::upright(q.config);
       const ProblemType t = core::kernel_type(q.type, q.config);
       return panels_fit({t, c, q.facts}, c.tile_m, 1, t.major_a, core::parts_of_a(t, c)) && panels_fit({t, c, q.facts}, c.tile_n, c.warps_n, t.major_b, c.cluster_m);
     },
     "tiles must be panels of 128 bytes, whole ones but for a second or later one along m or n, cut into parts of 8 to 256 rows"},
    {[](const Query& q) { return q.type.gate != GGEMM_GATE_HALVES || core::packed(q.type, q.config).major_b == Major::k; }, "gated pairs of halves take B contiguous along k, if of 16 bits"},
    {[](const Query& q) { return !q.type.gate || !q.config.swap; }, "gated pairs are columns, which a swapped product has as rows"},
    {[](const Query& q) {
       const int columns = q.config.tile_n / q.config.warps_n;
       return !q.type.gate || columns / kernels::finishers(columns, q.config.cluster_k) % 16 == 0;
     },
     "with gated pairs a warpgroup must store a multiple of 16 columns of the product"},
    {[](const Query& q) {
       if (q.config.large_above == 0) return true;
       const std::vector<Config> all = table(q.type);
       return std::any_of(all.begin(), all.end(), [&](const Config& c) { return for_large_groups(q.type, c, q.facts); });
     },
     "there are no larger tiles for larger groups"},
};

template <std::size_t N>
const char* broken(const Rule (&rules)[N], const Query& query) {
  for (const Rule& rule : rules)
    if (!rule.holds(query)) return rule.reason;
  return nullptr;
}

}  // namespace

std::optional<std::string> illegal(const ProblemType& type, const Config& config, const core::DeviceFacts& facts) {
  const ProblemType kernel = core::before_sums(type);
  const Query query{kernel, config, facts};
  const char* reason = nullptr;
  if (config.family == Family::host) reason = facts.cuda ? "needs the host device" : nullptr;
  else if (!(reason = broken(any_cuda, query))) {
    switch (config.family) {
      case Family::simt: reason = broken(simt_rules, query); break;
      case Family::sm80: reason = broken(sm80_rules, query); break;
      case Family::gemv: reason = broken(gemv_rules, query); break;
      default: reason = broken(sm90_rules, query);
    }
  }
  return reason ? std::optional<std::string>(reason) : std::nullopt;
}

constexpr std::int64_t shared_of_sm90 = 227 * 1024;  // what a CTA may have there

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
    c.tile_k = static_cast<std::uint16_t>(row.family == Family::simt ? row.depth : row.depth / (row.family == Family::gemv ? static_cast<int>(core::dtype_size(type.a)) : operand_size(type)));
    c.warps_m = static_cast<std::uint8_t>(row.warps_m), c.warps_n = static_cast<std::uint8_t>(row.warps_n);
    c.stages = static_cast<std::uint8_t>(row.family == Family::sm90 && core::by_terms(type) ? row.stages / kernels::term_count * kernels::term_count : row.stages);
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
    if (row.family == Family::sm80 && (row.depth > 128 || row.slices) && type.a != GGEMM_F64) continue;
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
  if (!type.grouped && !type.gate)
    for (const Row& row : plain_rows) add(row, 0);
  return out;
}

bool for_large_groups(const ProblemType& type, const Config& c, const core::DeviceFacts& facts) {
  return c.family == Family::sm90 && c.tile_m == 128 && c.tile_n >= 128 && !c.swap && !c.teams && !c.slices && !c.large_above && (!type.limited || cluster(c) == 1) && !illegal(type, c, facts);
}

}  // namespace ggemm::select
