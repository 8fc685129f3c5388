// SPDX-License-Identifier: Apache-2.0
#include "select/space.hpp"

#include <algorithm>

#include "select/table.hpp"
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

// Operands that are contiguous along m or n and not 16 bits wide are gathered from shared memory, which takes registers: bytes most of all.
bool gathers_bytes(const ProblemType& type) { return core::dtype_size(type.a) == 1 && (type.major_a == Major::mn || type.major_b == Major::mn); }
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
  const int size = operand_size(q.type, q.config.family), inner = major == Major::k ? q.config.tile_k : span, outer = major == Major::k ? span : q.config.tile_k;
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
       return a == GGEMM_F16 || a == GGEMM_BF16 || a == GGEMM_I8 || a == GGEMM_F64 || a == GGEMM_F32;
     },
     "mma.sync takes f16, bf16, i8, f64 and f32"},
    {[](const Query& q) { return !f32_as_f64(q.type, q.config.family) || (q.facts.compute_capability == 90 && (q.facts.f64_slower == 1 || q.facts.f64_slower == 2)); },
     "f32 is multiplied as f64 on compute capability 9.0, if the device has half as many operations of f64 as of f32 or more"},
    {[](const Query& q) { return !core::scaled_by_blocks(q.type); }, "mma.sync's sums are not promoted: no scales by blocks"},
    {[](const Query& q) { return q.type.gate != GGEMM_GATE_HALVES || q.type.major_b == Major::k; }, "gated pairs of halves take B contiguous along k"},
    {[](const Query& q) { return q.config.stages >= 2 && q.config.stages <= 8; }, "the ring must have 2 to 8 stages"},
    {[](const Query& q) { return warp_part(q.config.tile_m, q.config.warps_m) && warp_part(q.config.tile_n, q.config.warps_n); }, "a warp's part must be a power of two, of 16 rows and columns or more"},
    {[](const Query& q) {
       // Fragments alternate between two sets of registers, so a tile has an even number of k steps; copies come in batches of a power of two.
       const int depth = q.config.tile_k * operand_size(q.type, q.config.family);
       return depth >= (by_f64_products(q.type, q.config.family) ? 128 : 64) && (depth & (depth - 1)) == 0;
     },
     "the tile's depth must be a power of two of 64 bytes (f64, and f32 as such: 128) or more"},
    {[](const Query& q) { return tile_fits(q, q.config.tile_m, q.type.major_a) && tile_fits(q, q.config.tile_n, q.type.major_b); }, "tiles must be whole swizzled lines that the threads copy evenly"},
    {[](const Query& q) { return q.type.a != GGEMM_F64 || sums_a_thread(q.config) <= (q.facts.compute_capability == 90 && !(core::compiled(q.type, q.config.family).grouped & core::grouped_call) ? 64 : 32); },
     "f64 operands leave registers for 32 sums a thread, for 64 in a plain product or a batch without max_ctas on compute capability 9.0"},
    {[](const Query& q) { return !f32_as_f64(q.type, q.config.family) || sums_a_thread(q.config) <= 32; }, "f32 that is multiplied as f64 leaves registers for 32 sums a thread"},
    {[](const Query& q) {
       const auto whole_lines = [](int span, Major major) { return major == Major::k || span >= 32; };
       return !f32_as_f64(q.type, q.config.family) || (whole_lines(q.config.tile_m, q.type.major_a) && whole_lines(q.config.tile_n, q.type.major_b));
     },
     "f32 that is multiplied as f64, and contiguous along m or n, comes in lines of 128 bytes: 32 rows or columns"},
    {[](const Query& q) { return q.type.a != GGEMM_F64 || sums_a_thread(q.config) <= 32 || q.config.tile_k <= 16 || q.type.major_a == Major::k; },
     "f64 tiles of 64 sums a thread are 16 deep where A is contiguous along m: addresses take registers too"},
    {[](const Query& q) {
       const int operands = (q.type.major_a == Major::mn) + (q.type.major_b == Major::mn);
       return operand_size(q.type, q.config.family) != 4 || f32_as_f64(q.type, q.config.family) || sums_a_thread(q.config) * operands <= 64;
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
};
// Of warps that share k: kernels/mainloop/gemv.cuh.
constexpr Rule shared_depth_rules[] = {
    {[](const Query& q) {
       const int thin = std::min(q.config.tile_m, q.config.tile_n), wide = std::max(q.config.tile_m, q.config.tile_n);
       return gemv_by_cuda_cores(q.type) ? wide == 16 && (thin == 1 || (thin == 4 && q.type.a == GGEMM_F32 && threads(q.config) <= 256 && q.config.stages <= 2 && q.facts.compute_capability < 100)) : (wide == 16 || wide == 32) && thin == 8;
     },
     "the tile must have 8 rows and 16 or 32 columns, or the other way round; of f32 and f64 1 row and 16 columns, of f32 also 4 where a thread has few vectors under way and ptxas finds registers for them, up to compute capability 9.0"},
    {[](const Query& q) { return !q.type.gate || q.config.tile_n % 2 == 0; }, "with gated pairs the tile must have whole pairs"},
    {[](const Query& q) { return q.config.tile_k * static_cast<int>(core::dtype_size(q.type.a)) == 64 * q.config.warps_n; }, "the tile must be 64 bytes deep for each warp"},
    {[](const Query& q) { return q.config.stages >= 1 && q.config.stages <= 4; }, "1 to 4 steps may be under way"},
};
// Of warps that have lines of their own: kernels/mainloop/rows.cuh.
constexpr Rule own_lines_rules[] = {
    {[](const Query& q) { return q.config.warps_n == 1 && q.config.stages == 1 && (q.config.tile_m > q.config.tile_n ? q.type.major_a == Major::k : q.type.major_b == Major::mn) && !q.type.gate && !core::compiled(q.type, q.config.family).grouped; },
     "several warps down have rows each, or columns: none beside them, one step under way, of one product without pairs and max_ctas; for rows A must be contiguous along k, for columns B along n"},
    {[](const Query& q) {
       const bool fma = gemv_by_cuda_cores(q.type), columns = q.config.tile_m < q.config.tile_n;
       const int size = static_cast<int>(core::dtype_size(q.type.a)), lines = q.config.warps_m * (!fma ? 16 : columns ? 512 / size : 32), depth = q.config.tile_k * size;
       const int thin = std::min(q.config.tile_m, q.config.tile_n), wide = std::max(q.config.tile_m, q.config.tile_n);
       return (fma || (size == 2 && !columns)) && wide > thin && wide % lines == 0 && (thin == (fma ? 4 : 16) || (thin == (fma ? 8 : 32) && (!columns || q.facts.compute_capability < 100))) && depth % (fma ? 16 : 64) == 0 && depth <= 64;
     },
     "warps that have rows each take 16 at a time of f16 and bf16, by 16 or 32 columns, 64 bytes deep, and 32 of f32 and f64, by 4 or 8, up to 64 bytes deep; or columns of these by 4 rows, or 8 up to compute capability 9.0, 512 bytes of them"},
};

constexpr int most_slices = 256;

// kernels/traits.cuh: TURNS_A.
bool turns_a(const Query& q) { return q.type.compute == GGEMM_COMPUTE_TF32 && core::kernel_type(q.type, q.config).major_a == Major::mn; }

// tile/panels.cuh: whole panels along k; along m or n one at least, and whole ones for each but the last of so many consumers; and parts of whole swizzle periods.
bool panels_fit(const Query& q, int span, int consumers, Major major, int share) {
  const int size = operand_size(q.type, q.config.family), inner = kernels::panel_bytes / size;
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
       return core::fp8(q.type) || (a == b && (a == GGEMM_F16 || a == GGEMM_BF16 || a == GGEMM_I8 || (a == GGEMM_F32 && (q.type.compute == GGEMM_COMPUTE_TF32 || core::by_terms(q.type, q.config.family)))));
     },
     "wgmma takes f16, bf16, i8, pairs of e4m3 and e5m2, and f32 under compute tf32 and f32_accurate"},
    {[](const Query& q) { return !core::by_terms(q.type, q.config.family) || !q.type.grouped; }, "operands are cut into terms in a plain product only"},
    {[](const Query& q) { return !core::by_terms(q.type, q.config.family) || sums_a_thread(q.config) <= 64; }, "sums of terms are promoted every tile of k, with registers for 64 sums a thread"},
    {[](const Query& q) { return !core::by_terms(q.type, q.config.family) || q.config.stages % kernels::term_count == 0; }, "a tile of k of three terms takes three stages of the ring at a time"},
    {[](const Query& q) { return !core::scaled_by_blocks(q.type) || operand_size(q.type, q.config.family) == 1; }, "scales by blocks take operands of 8 bits, of which a tile is a block deep"},
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
    {[](const Query& q) { return q.config.teams <= 1 || (q.config.cluster_k == 1 && q.config.slices == 0 && !core::promoted(q.type) && !core::by_terms(q.type, q.config.family)); },
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
    {[](const Query& q) { return q.config.cluster_k == 1 || q.config.tile_m * q.config.tile_n * 4 <= q.config.stages * (q.config.tile_m + q.config.tile_n) * q.config.tile_k * operand_size(q.type, q.config.family); },
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
      case Family::gemv:
        if (!(reason = broken(gemv_rules, query))) reason = config.warps_m > 1 ? broken(own_lines_rules, query) : broken(shared_depth_rules, query);
        break;
      default: reason = broken(sm90_rules, query);
    }
  }
  return reason ? std::optional<std::string>(reason) : std::nullopt;
}

bool for_large_groups(const ProblemType& type, const Config& c, const core::DeviceFacts& facts) {
  return c.family == Family::sm90 && c.tile_m == 128 && c.tile_n >= 128 && !c.swap && !c.teams && !c.slices && !c.large_above && (!type.limited || cluster(c) == 1) && !illegal(type, c, facts);
}

}  // namespace ggemm::select
