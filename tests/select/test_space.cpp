// SPDX-License-Identifier: Apache-2.0
#include "select/space.hpp"
#include "select/model.hpp"
#include "select/table.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "core/problem_support.hpp"
#include "devices.hpp"
#include "support/rng.hpp"
#include "tile/depth.cuh"

using namespace ggemm;
using namespace ggemm::tests;
using core::Config;
using core::Family;

namespace {

std::string reason(const core::ProblemType& type, const Config& config, const core::DeviceFacts& facts) { return select::illegal(type, config, facts).value_or(""); }

// A configuration that breaks one rule and no other, and the sentence that must come of it.
struct Broken {
  const char* what;
  core::ProblemType type;
  Config config;
  core::DeviceFacts facts;
  const char* reason;
};

std::vector<Broken> broken() {
  constexpr Family simt = Family::simt, sm80 = Family::sm80, sm90 = Family::sm90, gemv = Family::gemv;
  const core::ProblemType f16 = type_of(GGEMM_F16), f16_nt = type_of(GGEMM_F16, "nt"), f32 = type_of(GGEMM_F32), i8_nn = type_of(GGEMM_I8, "nn");
  core::ProblemType mixed = f16;
  mixed.b = GGEMM_BF16;
  core::ProblemType grouped = f16, wide = f16, endless = f16, grouped_f64 = type_of(GGEMM_F64);
  endless.unreachable = core::too_long;
  grouped.grouped = grouped_f64.grouped = 1;
  core::ProblemType gathered = type_of(GGEMM_F16, "nt");
  gathered.grouped = core::grouped_call | core::gathered_rows;
  core::ProblemType by_index = f16;
  by_index.grouped = gathered.grouped;
  core::ProblemType limited = f16;
  limited.limited = 1;
  wide.d = GGEMM_F64;
  core::ProblemType terms = f32;
  terms.compute = GGEMM_COMPUTE_F32_ACCURATE;
  core::ProblemType terms_of_groups = terms;
  terms_of_groups.grouped = 1;
  const auto cluster = [](Config config, int m, int n) { return config.cluster_m = static_cast<std::uint8_t>(m), config.cluster_n = static_cast<std::uint8_t>(n), config.cluster_k = 1, config; };
  const auto along = [&](Config config, int k) { return config = cluster(config, 1, 1), config.cluster_k = static_cast<std::uint8_t>(k), config; };
  const auto teams = [](Config config) { return config.teams = 2, config; };
  const auto large = [](Config config) { return config.large_above = 64, config; };
  const auto sliced = [](Config config, int slices) { return config.slices = static_cast<std::uint16_t>(slices), config; };
  const core::DeviceFacts h = device(90);
  constexpr const char* mma_dtypes = "mma.sync takes f16, bf16, i8, f64 and f32";
  constexpr const char* as_f64 = "f32 is multiplied as f64 on compute capability 9.0, if the device has half as many operations of f64 as of f32 or more";
  constexpr const char* f32_lines = "f32 that is multiplied as f64, and contiguous along m or n, comes in lines of 128 bytes: 32 rows or columns";
  constexpr const char* depths = "the tile's depth must be a power of two of 64 bytes (f64, and f32 as such: 128) or more";
  constexpr const char* simt_ring = "the ring must have 2 stages, up to 8 where A and B have the type of the sums and cp.async brings them";
  constexpr const char* f64_sums = "f64 operands leave registers for 32 sums a thread, for 64 in a plain product or a batch without max_ctas on compute capability 9.0";
  constexpr const char* own_rows = "several warps down have rows each, or columns: none beside them, one step under way, of one product without pairs and max_ctas; for rows A must be contiguous along k, for columns B along n";
  constexpr const char* short_rows = "warps that have rows each take 16 at a time of f16 and bf16, by 16 or 32 columns, 64 bytes deep, and 32 of f32 and f64, by 4 or 8, up to 64 bytes deep; or columns of these by 4 rows, or 8 up to compute capability 9.0, 512 bytes of them";
  constexpr const char* few_rows = "the tile must have 8 rows and 16 or 32 columns, or the other way round; of f32 and f64 1 row and 16 columns, of f32 also 4 where a thread has few vectors under way and ptxas finds registers for them, up to compute capability 9.0";
  constexpr const char* promotion = "fp8 products, and those scaled by blocks, are promoted every 128 of k";
  const auto blocks = [](core::ProblemType type) { return type.scale_a = type.scale_b = GGEMM_SCALE_BLOCK_128X128, type; };
  const auto pairs = [](core::ProblemType type, ggemm_gate gate) { return type.gate = gate, type; };
  core::ProblemType fast = type_of(GGEMM_E4M3);
  fast.compute = GGEMM_COMPUTE_FP8_FAST;
  Config swapped = cluster(tile(sm90, 128, 128, 64, 1, 8, 4), 1, 1);
  swapped.swap = 1;
  const char* const registers_for_sums = "a thread's sums must fit in 128 registers, or 176 where they are f32 and consumers take turns in a plain product whose epilogue is alpha and beta alone";
  const auto turns = [&](int columns) { return teams(cluster(tile(sm90, 128, columns, 64, 4, 1, 4), 1, 1)); };
  const auto changed = [](core::ProblemType type, auto change) { return change(type), type; };
  core::DeviceFacts old = h;
  old.compute_capability = 70;
  core::DeviceFacts small = h;
  small.multiprocessors = 2;
  return {
      {"a host", f32, tile(simt, 64, 64, 16, 2, 2, 2), host_device(), "needs a CUDA device"},
      {"8 columns", f32, tile(simt, 64, 8, 16, 2, 1, 2), h, "the tile must be a multiple of 16 columns, so that 16 bytes of any D divide a row of it"},
      {"no raster group", f32, tile(simt, 64, 64, 16, 2, 2, 2, 0), h, "the raster group must be 1 or more"},
      {"1024 threads", f32, tile(simt, 128, 128, 16, 8, 4, 2), h, "the CTA must have 32 to 512 threads"},
      {"no threads", f32, tile(simt, 16, 16, 16, 0, 1, 2), h, "the CTA must have 32 to 512 threads"},
      {"256 sums a thread", f16, tile(sm80, 128, 256, 64, 2, 2, 3), h, registers_for_sums},
      {"192 sums by turns", f16, turns(192), h, registers_for_sums},
      {"160 sums by turns, of groups", grouped, turns(160), h, registers_for_sums},
      {"144 sums of i32 by turns", type_of(GGEMM_I8), teams(cluster(tile(sm90, 128, 144, 128, 4, 1, 4), 1, 1)), h, registers_for_sums},
      {"176 sums by turns, with a bias", changed(f16, [](core::ProblemType& t) { t.bias = GGEMM_BIAS_PER_COLUMN, t.bias_dtype = GGEMM_F32; }), turns(176), h, registers_for_sums},
      {"176 sums by turns, with an activation", changed(f16, [](core::ProblemType& t) { t.activation = GGEMM_ACTIVATION_RELU; }), turns(176), h, registers_for_sums},
      {"176 sums by turns, scaled", changed(f16, [](core::ProblemType& t) { t.scale_b = GGEMM_SCALE_VECTOR; }), turns(176), h, registers_for_sums},
      {"160 sums by turns, in pairs", pairs(f16, GGEMM_GATE_INTERLEAVED), turns(160), h, registers_for_sums},
      {"128 sums of f64", type_of(GGEMM_F64), tile(sm80, 128, 128, 8, 2, 2, 3), h, registers_for_sums},
      {"147456 bytes of 101376", f16, tile(sm80, 128, 256, 64, 2, 4, 3), device(86), "the tile must fit in shared memory"},
      {"compute capability 7.0", f32, tile(simt, 64, 64, 16, 2, 2, 2), old, "needs compute capability 7.5 or newer"},
      {"3 stages on CUDA cores, converted", f16, tile(simt, 64, 64, 16, 2, 2, 3), h, simt_ring},
      {"3 stages on CUDA cores of sm_75", f32, tile(simt, 64, 64, 16, 2, 2, 3), device(75), simt_ring},
      {"9 stages on CUDA cores", f32, tile(simt, 64, 64, 16, 2, 2, 9), h, simt_ring},
      {"rows that threads do not cover", f32, tile(simt, 60, 64, 16, 2, 2, 2), h, "a warp is 4 x 8 threads, and threads must cover the tile evenly"},
      {"columns that threads do not cover", f32, tile(simt, 64, 48, 16, 2, 4, 2), h, "a warp is 4 x 8 threads, and threads must cover the tile evenly"},
      {"5 rows a thread", f32, tile(simt, 40, 64, 16, 2, 2, 2), h, "a thread's part must be 1 to 3 or a multiple of 4 wide, and 16 at most"},
      {"20 rows a thread", f32, tile(simt, 160, 32, 16, 2, 2, 2), h, "a thread's part must be 1 to 3 or a multiple of 4 wide, and 16 at most"},
      {"loads that do not divide", f32, tile(simt, 32, 32, 9, 2, 1, 2), h, "threads must load the tiles evenly, at most 64 deep"},
      {"128 deep", f32, tile(simt, 32, 32, 128, 4, 4, 2), h, "threads must load the tiles evenly, at most 64 deep"},
      {"64 sums of f64 on CUDA cores", type_of(GGEMM_F64), tile(simt, 128, 128, 16, 4, 2, 2), h, "f64 sums leave registers for 32 of them a thread"},
      {"64 loads a thread", f16, tile(simt, 64, 64, 64, 2, 2, 2), h, "a thread must load 32 elements or fewer, where it converts them"},
      {"tensor cores of sm_75", f16, tile(sm80, 64, 64, 32, 2, 2, 4), device(75), "needs compute capability 8.0 or newer"},
      {"f16 and bf16", mixed, tile(sm80, 64, 64, 32, 2, 2, 4), h, "A and B must have one dtype"},
      {"fp8", type_of(GGEMM_E4M3), tile(sm80, 64, 64, 64, 2, 2, 4), h, mma_dtypes},
      {"f32x3 where f64 is slow", terms, tile(sm80, 64, 64, 32, 2, 2, 4), slow_f64(90), as_f64},
      {"f32 as f64 on sm_80", f32, tile(sm80, 64, 64, 32, 2, 2, 4), device(80), as_f64},
      {"f32 as f64 on sm_100", f32, tile(sm80, 64, 64, 32, 2, 2, 4), device(100), as_f64},
      {"f32 as f64 where that is slow", f32, tile(sm80, 64, 64, 32, 2, 2, 4), slow_f64(90), as_f64},
      {"64 sums of f32 as f64", f32, tile(sm80, 64, 128, 32, 2, 2, 3), h, "f32 that is multiplied as f64 leaves registers for 32 sums a thread"},
      {"64 bytes of f32 as f64", f32, tile(sm80, 64, 64, 16, 2, 2, 4), h, depths},
      {"16 rows of f32 as f64, along m", type_of(GGEMM_F32, "nn"), tile(sm80, 16, 128, 32, 1, 4, 4), h, f32_lines},
      {"16 columns of f32 as f64, along n", type_of(GGEMM_F32, "tt"), tile(sm80, 128, 16, 32, 4, 1, 4), h, f32_lines},
      {"128 sums a thread of sm_80", f16, tile(sm80, 128, 128, 64, 2, 2, 3), device(80), "only on compute capability 9.0 does ptxas find registers for more than 64 sums a thread"},
      {"1 stage", f16, tile(sm80, 64, 64, 32, 2, 2, 1), h, "the ring must have 2 to 8 stages"},
      {"9 stages", f16, tile(sm80, 64, 64, 32, 2, 2, 9), h, "the ring must have 2 to 8 stages"},
      {"48 rows a warp", f16, tile(sm80, 48, 64, 64, 1, 2, 4), h, "a warp's part must be a power of two, of 16 rows and columns or more"},
      {"8 rows a warp", f16, tile(sm80, 16, 64, 64, 2, 2, 4), h, "a warp's part must be a power of two, of 16 rows and columns or more"},
      {"rows that warps do not divide", f16, tile(sm80, 64, 64, 64, 3, 1, 4), h, "a warp's part must be a power of two, of 16 rows and columns or more"},
      {"one k step", f16_nt, tile(sm80, 128, 128, 16, 2, 2, 4), h, depths},
      {"three k steps", f16_nt, tile(sm80, 128, 128, 48, 2, 2, 3), h, depths},
      {"lines of 32 bytes", type_of(GGEMM_F16, "nn"), tile(sm80, 16, 128, 64, 1, 4, 4), h, "tiles must be whole swizzled lines that the threads copy evenly"},
      {"fewer chunks than threads", f16, tile(sm80, 16, 256, 64, 1, 8, 4), h, "tiles must be whole swizzled lines that the threads copy evenly"},
      {"64 bytes of f64", type_of(GGEMM_F64), tile(sm80, 64, 64, 8, 2, 2, 4), h, depths},
      {"64 sums of f64 on sm_80", type_of(GGEMM_F64), tile(sm80, 64, 128, 16, 2, 2, 3), device(80), f64_sums},
      {"64 sums of f64, 32 deep, A along m", type_of(GGEMM_F64, "nn"), tile(sm80, 128, 128, 32, 2, 4, 3), h, "f64 tiles of 64 sums a thread are 16 deep where A is contiguous along m: addresses take registers too"},
      {"64 sums of f64 in groups", grouped_f64, tile(sm80, 64, 128, 16, 2, 2, 3), h, f64_sums},
      {"tf32 contiguous along m, 128 sums a thread", type_of(GGEMM_F32, "nn", true), tile(sm80, 128, 128, 16, 2, 2, 4), h, "one 32-bit operand contiguous along m or n leaves registers for 64 sums a thread, two for 32"},
      {"tf32 contiguous along m and n, 64 sums a thread", type_of(GGEMM_F32, "nt", true), tile(sm80, 128, 128, 32, 2, 4, 3), h, "one 32-bit operand contiguous along m or n leaves registers for 64 sums a thread, two for 32"},
      {"128 sums a thread on sm_80", f16, tile(sm80, 128, 128, 64, 2, 2, 3), device(80), "only on compute capability 9.0 does ptxas find registers for more than 64 sums a thread"},
      {"i8 contiguous along m, 64 sums a thread", i8_nn, tile(sm80, 64, 128, 64, 2, 2, 4), h, "8-bit operands contiguous along m or n leave registers for 32 sums a thread at a depth of 64"},
      {"i8 contiguous along m, 32 sums a thread, 128 deep", i8_nn, tile(sm80, 64, 64, 128, 2, 2, 4), h, "8-bit operands contiguous along m or n leave registers for 32 sums a thread at a depth of 64"},
      {"Hopper's on sm_100", f16, cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 1, 1), device(100), "needs compute capability 9.0"},
      {"Hopper's with 2^31 of k", endless, cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 1, 1), h, "m, n and k must be 2^31 - 4096 or less (k of f32_accurate a third of that), so that coordinates of tensor maps have 31 bits"},
      {"Hopper's in f32", f32, cluster(tile(sm90, 128, 128, 32, 8, 1, 4), 1, 1), h, "wgmma takes f16, bf16, i8, pairs of e4m3 and e5m2, and f32 under compute tf32 and f32_accurate"},
      {"128 sums of tf32 with A in registers, two blocks of 64 rows", type_of(GGEMM_F32, "nn", true), cluster(tile(sm90, 128, 128, 32, 4, 1, 4), 1, 1), h, "where A (B if swapped) comes through registers, a consumer has 64 rows, and a thread 160 registers for two tiles of it and the sums"},
      {"128 sums of tf32 with A in registers, 64 deep", type_of(GGEMM_F32, "nn", true), cluster(tile(sm90, 64, 256, 64, 4, 1, 2), 1, 1), h, "where A (B if swapped) comes through registers, a consumer has 64 rows, and a thread 160 registers for two tiles of it and the sums"},
      {"A in registers of two CTAs", type_of(GGEMM_F32, "nn", true), cluster(tile(sm90, 64, 64, 32, 4, 1, 4), 1, 2), h, "where A (B if swapped) comes through registers, CTAs of a cluster do not share it: that threads have read it would take a fence to tell the others"},
      {"terms of groups", terms_of_groups, cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 1, 1), h, "operands are cut into terms in a plain product only"},
      {"128 sums of terms", terms, cluster(tile(sm90, 128, 256, 64, 8, 1, 4), 1, 1), h, "sums of terms are promoted every tile of k, with registers for 64 sums a thread"},
      {"four stages of terms", terms, cluster(tile(sm90, 64, 64, 64, 4, 1, 4), 1, 1), h, "a tile of k of three terms takes three stages of the ring at a time"},
      {"128 sums of fp8", type_of(GGEMM_E4M3), cluster(tile(sm90, 128, 256, 128, 8, 1, 4), 1, 1), h, "promoted sums, and one set for 64 rows that they are promoted from, must fit in 192 registers of a thread"},
      {"96 sums of groups by squares", changed(blocks(fast), [](core::ProblemType& t) { t.grouped = 1; }), cluster(tile(sm90, 128, 192, 128, 8, 1, 4), 1, 1), h, "in groups scales by blocks leave registers for 64 sums a thread, or 96 where those of A (B if swapped) are 1x128 and the other's 128x128, not of pairs of halves"},
      {"112 sums of groups by blocks", changed(blocks(fast), [](core::ProblemType& t) { t.grouped = 1, t.scale_a = GGEMM_SCALE_BLOCK_1X128; }), cluster(tile(sm90, 256, 112, 128, 8, 1, 3), 1, 1), h, "in groups scales by blocks leave registers for 64 sums a thread, or 96 where those of A (B if swapped) are 1x128 and the other's 128x128, not of pairs of halves"},
      {"fast fp8 by blocks, 64 deep", blocks(fast), cluster(tile(sm90, 64, 64, 64, 4, 1, 4), 1, 1), h, promotion},
      {"scales by blocks of f16", blocks(f16), cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 1, 1), h, "scales by blocks take operands of 8 bits, of which a tile is a block deep"},
      {"halves along n of Hopper's", pairs(type_of(GGEMM_F16, "tt"), GGEMM_GATE_HALVES), cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 1, 1), h, "gated pairs of halves take B contiguous along k, if of 16 bits"},
      {"halves of rows", pairs(f16, GGEMM_GATE_HALVES), swapped, h, "gated pairs are columns, which a swapped product has as rows"},
      {"pairs of rows", pairs(f16, GGEMM_GATE_INTERLEAVED), swapped, h, "gated pairs are columns, which a swapped product has as rows"},
      {"pairs of which 8 columns are stored", pairs(f16, GGEMM_GATE_INTERLEAVED), along(tile(sm90, 64, 32, 64, 4, 1, 8), 4), h, "with gated pairs a warpgroup must store a multiple of 16 columns of the product"},
      {"pairs of which 24 columns are stored", pairs(f16, GGEMM_GATE_INTERLEAVED), along(tile(sm90, 64, 96, 64, 4, 1, 4), 4), h, "with gated pairs a warpgroup must store a multiple of 16 columns of the product"},
      {"pairs of 16 columns", pairs(f32, GGEMM_GATE_HALVES), tile(simt, 32, 16, 16, 2, 1, 2), h, "with gated pairs the tile must be a multiple of 32 columns, as D has half of them"},
      {"blocks cut by the tile's depth", blocks(f32), tile(simt, 64, 64, 24, 2, 2, 2), h, "scales by blocks take a depth that divides 128, and leave registers for 32 sums a thread: there are those of the block too"},
      {"64 sums scaled by blocks", blocks(f32), tile(simt, 128, 128, 16, 4, 2, 2), h, "scales by blocks take a depth that divides 128, and leave registers for 32 sums a thread: there are those of the block too"},
      {"scales by blocks on sm_80", blocks(f16), tile(sm80, 64, 64, 64, 2, 2, 4), h, "mma.sync's sums are not promoted: no scales by blocks"},
      {"halves along n on sm_80", pairs(type_of(GGEMM_F16, "tt"), GGEMM_GATE_HALVES), tile(sm80, 64, 64, 64, 2, 2, 4), h, "gated pairs of halves take B contiguous along k"},
      {"2 stages of groups", grouped, cluster(tile(sm90, 128, 128, 64, 8, 1, 2), 1, 1), h, "groups, whose operands threads may bring, need a ring of 3 stages"},
      {"1 stage of Hopper's", f16, cluster(tile(sm90, 128, 128, 64, 8, 1, 1), 1, 1), h, "the ring must have 2 to 16 stages"},
      {"warps across", f16, cluster(tile(sm90, 128, 128, 64, 2, 4, 4), 1, 1), h, "consumers are warpgroups of 4x1 warps (1x4 if swapped), each of 64 rows or a multiple"},
      {"96 rows a consumer", f16, cluster(tile(sm90, 96, 128, 64, 4, 1, 4), 1, 1), h, "consumers are warpgroups of 4x1 warps (1x4 if swapped), each of 64 rows or a multiple"},
      {"3 consumers", f16, cluster(tile(sm90, 192, 128, 64, 12, 1, 4), 1, 1), h, "registers serve two consumers"},
      {"teams along k", f16, teams(along(tile(sm90, 128, 128, 64, 4, 1, 4), 2)), h, "consumers that take turns have whole tiles, which CTAs do not share along k, and sums that are not promoted"},
      {"teams of promoted sums", type_of(GGEMM_E4M3), teams(cluster(tile(sm90, 64, 128, 128, 4, 1, 4), 1, 1)), h, "consumers that take turns have whole tiles, which CTAs do not share along k, and sums that are not promoted"},
      {"24 columns a consumer", f16, cluster(tile(sm90, 128, 24, 64, 8, 1, 4), 1, 1), h, "a consumer's columns must be 8 or a multiple of 16 up to 256"},
      {"clusters of three", f16, cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 3, 1), h, "a cluster must have 1, 2 or 4 CTAs in each direction, 8 in all with those along k"},
      {"three CTAs along k", f16, along(tile(sm90, 128, 128, 64, 8, 1, 6), 3), h, "1, 2, 4 or 8 CTAs may share a tile along k, in a plain product"},
      {"CTAs along k of groups", grouped, along(tile(sm90, 128, 128, 64, 8, 1, 6), 2), h, "1, 2, 4 or 8 CTAs may share a tile along k, in a plain product"},
      {"257 slices of k", f16, sliced(cluster(tile(sm90, 128, 128, 64, 8, 1, 6), 2, 1), 257), h, "k may be cut into 256 slices, in a plain product"},
      {"slices of a group's k", grouped, sliced(cluster(tile(sm90, 128, 128, 64, 8, 1, 6), 1, 1), 2), h, "k may be cut into 256 slices, in a plain product"},
      {"tiles left over, of groups that two kernels share", grouped, sliced(large(cluster(tile(sm90, 64, 128, 64, 4, 1, 6), 1, 1)), core::tail_slices), h, "tiles of groups that are left over are cut where one kernel has all groups, their rows are in order, and nothing checks them before"},
      {"larger groups of a batch", changed(grouped, [](core::ProblemType& t) { t.grouped |= core::batch_groups; }), large(cluster(tile(sm90, 64, 128, 64, 4, 1, 8), 1, 1)), h, "groups of a batch are alike, and k is not cut for tiles of theirs that are left over"},
      {"larger groups of a plain product", f16, large(cluster(tile(sm90, 64, 128, 64, 4, 1, 8), 1, 1)), h, "larger groups have tiles of their own in a grouped product"},
      {"larger groups beside clusters", grouped, large(cluster(tile(sm90, 128, 128, 64, 8, 1, 6), 2, 1)), h, "beside larger groups CTAs take tiles one by one: clusters must have one CTA"},
      {"tiles left over, of CTAs with one each", f16, sliced(along(tile(sm90, 128, 128, 64, 8, 1, 6), 2), core::tail_slices), h, "where CTAs share a tile along k it is not cut besides"},
      {"slices of a k that CTAs share", f16, sliced(along(tile(sm90, 128, 128, 64, 8, 1, 6), 2), 4), h, "where CTAs share a tile along k it is not cut besides"},
      {"a cluster on two multiprocessors", f16, along(tile(sm90, 128, 128, 64, 8, 1, 6), 4), small, "a cluster needs as many multiprocessors (max_ctas, if that is less) as it has CTAs"},
      {"tiles left over, of rows by index", by_index, sliced(cluster(tile(sm90, 64, 128, 64, 4, 1, 6), 1, 1), core::tail_slices), h, "tiles of groups that are left over are cut where one kernel has all groups, their rows are in order, and nothing checks them before"},
      {"tiles left over of simt, and a limit of CTAs", changed(f32, [](core::ProblemType& t) { t.limited = 1; }), sliced(tile(simt, 64, 64, 16, 2, 2, 2), core::tail_slices), h, "by this family k is cut for tiles left over alone, in a plain product without max_ctas and without scales by blocks"},
      {"tiles left over of groups, of sm_80's", grouped, sliced(tile(sm80, 64, 64, 64, 2, 2, 4), core::tail_slices), h, "by this family k is cut for tiles left over alone, in a plain product without max_ctas and without scales by blocks"},
      {"tiles left over, of scales by blocks", blocks(f32), sliced(tile(simt, 64, 64, 16, 2, 2, 2), core::tail_slices), h, "by this family k is cut for tiles left over alone, in a plain product without max_ctas and without scales by blocks"},
      {"tiles left over of two sums a thread", f32, sliced(tile(simt, 16, 16, 16, 2, 2, 2), core::tail_slices), h, "where tiles left over are cut, a thread's sums must be whole vectors of 16 bytes"},
      {"slices of sm_80's", f16, sliced(tile(sm80, 64, 64, 64, 2, 2, 4), 2), h, "by this family k is cut for tiles left over alone, in a plain product without max_ctas and without scales by blocks"},
      {"64 sums of f64, and a limit of CTAs", changed(type_of(GGEMM_F64), [](core::ProblemType& t) { t.limited = 1; }), tile(sm80, 128, 128, 16, 2, 4, 3), h, "f64 operands leave registers for 32 sums a thread, for 64 in a plain product or a batch without max_ctas on compute capability 9.0"},
      {"rows by index along m on sm_80", gathered, tile(sm80, 64, 64, 64, 2, 2, 4), h, "rows of A by index must be contiguous along k"},
      {"rows by index along m on Hopper", gathered, cluster(tile(sm90, 128, 128, 64, 8, 1, 6), 1, 1), h, "rows of A by index, if of 16 bits, must be contiguous along k"},
      {"slices of k, and a limit of CTAs", limited, sliced(cluster(tile(sm90, 128, 128, 64, 8, 1, 6), 1, 1), 2), h, "CTAs that share a tile along k have one each, and so as many as there are tiles: not with max_ctas"},
      {"CTAs along k, and a limit of CTAs", limited, along(tile(sm90, 128, 128, 64, 8, 1, 6), 2), h, "CTAs that share a tile along k have one each, and so as many as there are tiles: not with max_ctas"},
      {"sums that the ring does not hold", f16, along(tile(sm90, 256, 128, 64, 8, 1, 2), 2), h, "CTAs that share a tile along k exchange its sums in the ring, which must hold them"},
      {"less than a panel along n", type_of(GGEMM_F16, "tt"), cluster(tile(sm90, 128, 48, 64, 8, 1, 4), 2, 1), h, "tiles must be panels of 128 bytes, whole ones but for a second or later one along m or n, cut into parts of 8 to 256 rows"},
      {"half a panel", f16, cluster(tile(sm90, 128, 128, 32, 8, 1, 4), 1, 1), h, "tiles must be panels of 128 bytes, whole ones but for a second or later one along m or n, cut into parts of 8 to 256 rows"},
      {"D in f64", wide, cluster(tile(sm90, 128, 128, 64, 8, 1, 4), 1, 1), h, "the epilogue stores elements of 4 bytes or fewer"},
      {"few rows on sm_75", f16, tile(gemv, 8, 16, 256, 1, 8, 4), device(75), "needs compute capability 8.0 or newer"},
      {"few rows of fp8 on sm_80", type_of(GGEMM_E4M3), tile(gemv, 8, 16, 512, 1, 8, 4), device(80), "fp8 needs compute capability 8.9 or newer, which converts it"},
      {"few rows of f16 and bf16", mixed, tile(gemv, 8, 16, 256, 1, 8, 4), h, "A and B must have one dtype, or be e4m3 and e5m2"},
      {"few rows scaled by blocks", blocks(f16), tile(gemv, 8, 16, 256, 1, 8, 4), h, "sums are not promoted: no scales by blocks"},
      {"few rows, cut along k", f16, sliced(tile(gemv, 8, 16, 256, 1, 8, 4), core::tail_slices), h, "warps share k, and CTAs do not"},
      {"16 rows", f16, tile(gemv, 16, 16, 256, 1, 8, 4), h, few_rows},
      {"8 rows and 64 columns", f16, tile(gemv, 8, 64, 256, 1, 8, 4), h, few_rows},
      {"8 rows of f32", f32, tile(gemv, 8, 16, 128, 1, 8, 4), h, few_rows},
      {"4 rows of f32, many vectors under way", f32, tile(gemv, 4, 16, 128, 1, 8, 4), h, few_rows},
      {"4 rows of f32 on sm_100", f32, tile(gemv, 4, 16, 128, 1, 8, 2), device(100), few_rows},
      {"4 rows of f64", type_of(GGEMM_F64), tile(gemv, 4, 16, 64, 1, 8, 2), h, few_rows},
      {"pairs of one column", pairs(f32, GGEMM_GATE_HALVES), tile(gemv, 16, 1, 128, 1, 8, 2), h, "with gated pairs the tile must have whole pairs"},
      {"few rows, two warps down", f16, tile(gemv, 8, 16, 256, 2, 4, 4), h, own_rows},
      {"few rows, 32 bytes a warp", f16, tile(gemv, 8, 16, 128, 1, 8, 4), h, "the tile must be 64 bytes deep for each warp"},
      {"rows of warps, two steps under way", f16, tile(gemv, 512, 32, 32, 8, 1, 2), h, own_rows},
      {"rows of warps, of A along m", type_of(GGEMM_F16, "nt"), tile(gemv, 512, 32, 32, 8, 1, 1), h, own_rows},
      {"rows of warps, in pairs", pairs(f16, GGEMM_GATE_INTERLEAVED), tile(gemv, 512, 32, 32, 8, 1, 1), h, own_rows},
      {"rows of warps, and a limit of CTAs", changed(f16, [](core::ProblemType& t) { t.limited = 1; }), tile(gemv, 512, 32, 32, 8, 1, 1), h, own_rows},
      {"rows of warps, of groups", changed(f16, [](core::ProblemType& t) { t.grouped = core::grouped_call; }), tile(gemv, 512, 32, 32, 8, 1, 1), h, own_rows},
      {"columns of warps, of B along k", f32, tile(gemv, 4, 2048, 4, 8, 1, 1), h, own_rows},
      {"columns of warps, of f16", type_of(GGEMM_F16, "tt"), tile(gemv, 8, 2048, 32, 8, 1, 1), h, short_rows},
      {"columns of warps, half a step", type_of(GGEMM_F64, "tt"), tile(gemv, 4, 256, 4, 8, 1, 1), h, short_rows},
      {"columns of warps, 8 rows from 10.0 on", type_of(GGEMM_F32, "tt"), tile(gemv, 8, 512, 8, 4, 1, 1), device(100), short_rows},
      {"rows of warps, as many columns", type_of(GGEMM_F16, "tt"), tile(gemv, 32, 32, 32, 2, 1, 1), h, short_rows},
      {"rows of warps, 24 columns", f16, tile(gemv, 512, 24, 32, 8, 1, 1), h, short_rows},
      {"rows of warps, 128 bytes deep", f16, tile(gemv, 512, 32, 64, 8, 1, 1), h, short_rows},
      {"rows of warps, 16 columns of f32", f32, tile(gemv, 1024, 16, 4, 8, 1, 1), h, short_rows},
      {"rows of warps, of 8 bits", type_of(GGEMM_I8), tile(gemv, 512, 32, 64, 8, 1, 1), h, short_rows},
      {"rows of warps, half a step", f16, tile(gemv, 192, 32, 32, 8, 1, 1), h, short_rows},
      {"few rows, 5 steps under way", f16, tile(gemv, 8, 16, 256, 1, 8, 5), h, "1 to 4 steps may be under way"},
      {"the host's on CUDA", f32, Config{}, h, "needs the host device"},
  };
}

}  // namespace

TEST_CASE("space: each rule gives its reason to a configuration that breaks it") {
  for (const Broken& row : broken()) {
    INFO(row.what);
    CHECK(reason(row.type, row.config, row.facts) == row.reason);
  }
}

TEST_CASE("space: warps have columns by 8 rows up to compute capability 9.0, and by 4 on any") {
  for (const auto& [capability, rows, fine] : {std::tuple(90, 8, true), std::tuple(100, 8, false), std::tuple(120, 8, false), std::tuple(100, 4, true), std::tuple(120, 4, true)})
    CHECK((reason(type_of(GGEMM_F32, "tt"), tile(Family::gemv, rows, 512, rows, 4, 1, 1), device(capability)) == "") == fine);
}

TEST_CASE("space: Hopper's kernels serve groups") {
  core::ProblemType grouped = type_of(GGEMM_F16);
  grouped.grouped = 1;
  Config config = tile(Family::sm90, 128, 128, 64, 8, 1, 4);
  config.cluster_m = config.cluster_n = config.cluster_k = 1;
  CHECK(reason(grouped, config, device(90)) == "");
}

TEST_CASE("space: which families serve scales and pairs") {
  const auto served = [](const core::ProblemType& type, const core::DeviceFacts& facts) {
    std::set<Family> out;
    for (const Config& config : select::table(type))
      if (!select::illegal(type, config, facts)) out.insert(config.family);
    return out;
  };
  using Families = std::set<Family>;
  const core::DeviceFacts hopper = device(90), ampere = device(80);
  core::ProblemType e4m3 = type_of(GGEMM_E4M3), bf16 = type_of(GGEMM_BF16), i8 = type_of(GGEMM_I8);
  for (const int grouped : {0, 1}) {
    e4m3.grouped = bf16.grouped = i8.grouped = static_cast<std::uint8_t>(grouped);
    for (const int a : {0, 1, 2, 3, 4})
      for (const int b : {0, 1, 2, 3, 4}) {
        core::ProblemType type = e4m3;
        type.scale_a = a & 7, type.scale_b = b & 7;
        INFO(a << " and " << b);
        const bool blocks = core::scaled_by_blocks(type);
        CHECK(served(type, hopper) == (blocks ? Families{Family::simt, Family::sm90} : Families{Family::simt, Family::sm90, Family::gemv}));
        CHECK(served(type, ampere) == Families{Family::simt});
        type = bf16;
        type.scale_a = a & 7, type.scale_b = b & 7;
        CHECK(served(type, hopper) == (blocks ? Families{Family::simt} : Families{Family::simt, Family::sm80, Family::sm90, Family::gemv}));
        CHECK(served(type, ampere) == (blocks ? Families{Family::simt} : Families{Family::simt, Family::sm80, Family::gemv}));
        type = i8;
        type.d = type.c = GGEMM_BF16, type.scale_a = a & 7, type.scale_b = b & 7;
        if (blocks) type.sum = core::Sum::f32;
        CHECK(served(type, hopper) == (blocks ? Families{Family::simt, Family::sm90} : Families{Family::simt, Family::sm80, Family::sm90, Family::gemv}));
      }
    bf16.gate = GGEMM_GATE_INTERLEAVED;
    CHECK(served(bf16, hopper) == Families{Family::simt, Family::sm80, Family::sm90, Family::gemv});
    bf16.gate = GGEMM_GATE_HALVES;
    CHECK(served(bf16, hopper) == Families{Family::simt, Family::sm80, Family::sm90, Family::gemv});
    bf16.gate = GGEMM_GATE_NONE;
  }
}

TEST_CASE("space: no configuration of any shape meets a reason that the test of the rules does not know") {
  std::set<std::string> known, found;
  for (const Broken& row : broken()) known.insert(row.reason);
  const std::uint64_t seed = 20240605;
  Rng rng(seed);
  INFO("seed " << seed);
  const std::vector<core::ProblemType> types = every_type();
  for (int i = 0; i < 4000000; ++i) {
    core::ProblemType type = types[rng.below(types.size())];
    if (rng.below(8) == 0) type.d = GGEMM_F64;
    if (rng.below(8) == 0) type.unreachable = core::too_long;
    if (rng.below(8) == 0) type.limited = 1;
    if (rng.below(8) == 0) type.grouped = core::grouped_call | (i % 16 ? core::gathered_rows : core::batch_groups);
    if (rng.below(4) == 0) type.scale_a = rng.below(5) & 7, type.scale_b = rng.below(5) & 7;
    if (rng.below(4) == 0) type.gate = rng.below(3) & 3;
    if (core::scaled_by_blocks(type)) type.sum = core::Sum::f32;
    if (type.a == GGEMM_E4M3 && type.b == GGEMM_E4M3 && rng.below(2)) type.compute = GGEMM_COMPUTE_FP8_FAST;
    Config config = tile(static_cast<Family>(rng.below(core::family_count)), rng.pick({8, 16, 24, 32, 40, 48, 64, 96, 128, 192, 256}), rng.pick({8, 16, 32, 48, 64, 96, 128, 256}), rng.pick({4, 8, 9, 16, 24, 32, 64, 128}), rng.pick({1, 2, 3, 4, 8}),
                               rng.pick({1, 2, 4, 8}), rng.pick({1, 2, 3, 4, 9}), rng.pick({0, 1, 1, 1, 8}));
    if (config.family != Family::host) config.slices = static_cast<std::uint16_t>(rng.pick({0, 0, 0, 0, 0, 1, 2, 257}));
    if (config.family == Family::sm90) {
      config.cluster_m = static_cast<std::uint8_t>(rng.pick({1, 1, 2, 3})), config.cluster_n = static_cast<std::uint8_t>(rng.pick({1, 1, 2})), config.swap = rng.below(3) == 0;
      config.cluster_k = static_cast<std::uint8_t>(rng.pick({1, 1, 2, 2, 3}));
      config.large_above = static_cast<std::uint16_t>(rng.pick({0, 0, 0, 0, 0, 0, 0, 64}));
      if (rng.below(2)) (config.swap ? config.warps_n : config.warps_m) = static_cast<std::uint8_t>(rng.pick({4, 8, 12})), (config.swap ? config.warps_m : config.warps_n) = 1;
    }
    // Rules about clusters, scales and pairs are met by what keeps all others, or nearly.
    if (const std::vector<Config> table = i % 4 ? std::vector<Config>() : select::table(type); !table.empty()) {
      config = table[rng.below(table.size())];
      if (rng.below(2)) config.tile_m = static_cast<decltype(config.tile_m)>(rng.pick({32, 64, 96, 128, 192, 256}));
      if (rng.below(2)) config.tile_n = static_cast<decltype(config.tile_n)>(rng.pick({16, 32, 64, 96, 128, 256}));
      if (rng.below(4) == 0) type.scale_a = type.scale_b = GGEMM_SCALE_BLOCK_128X128, type.sum = core::Sum::f32;
    }
    core::DeviceFacts facts = rng.below(16) ? device(rng.pick({70, 75, 80, 86, 89, 90, 100, 120})) : host_device();
    if (rng.below(4) == 0) facts.multiprocessors = 1;
    found.insert(reason(type, config, facts));
  }
  for (const std::string& text : found) {
    INFO(text);
    CHECK((text.empty() || known.contains(text)));
  }
  // and this way round: they are all met, so that none of them is kept from being seen by another
  for (const std::string& text : known) {
    INFO(text);
    CHECK(found.contains(text));
  }
}

TEST_CASE("space: the table has each family, no row twice, one order, and tiles along k of the same bytes for every dtype") {
  for (const core::ProblemType& type : every_type()) {
    const std::vector<Config> rows = select::table(type);
    REQUIRE(rows == select::table(type));
    const bool f64 = select::by_f64_products(type, Family::sm80);  // which has some deeper ones besides
    // Of tf32 with B alone contiguous along n all of Hopper's are swapped, those of which are left out that could not be.
    const bool swapped = type.compute == GGEMM_COMPUTE_TF32 && !type.grouped && !type.gate && type.major_a == core::Major::k && type.major_b == core::Major::mn;
    const std::size_t rows_of_f32 = select::table(type_of(GGEMM_F32)).size();
    // Groups and pairs have none of the nine with more columns than 128 that are no whole steps; of groups tiles of few rows are cut, in four sizes, those in halves of one, and the largest where its epilogue is small, of other products those of many, in six,
    // and of what is multiplied as f64, four more, which has six other deep ones too; nor have groups, but batches, the seven others of 96 and 192 rows. Of f32 alone four smaller tiles of CUDA cores are cut. And where sums are promoted two CTAs do not share 128x128 along k.
    const bool whole_steps = type.grouped || type.gate, cut_small = !type.grouped && type.a == GGEMM_F32 && type.b == GGEMM_F32;
    const bool largest_cut = !type.activation && !type.bias && !type.gate && !(type.grouped & core::batch_or_indexed);
    // 21 are of plain products without pairs, 10 more of such of f32 by CUDA cores, and of warps that have rows or columns each 4 of what has 16 bits, 6 of what CUDA cores multiply; of batches 2 of one warp.
    const bool long_tiles = cut_small && !type.gate && type.compute != GGEMM_COMPUTE_TF32;
    const int short_lines = whole_steps ? 0 : select::gemv_by_cuda_cores(type) ? 6 : core::dtype_size(type.a) == 2 ? 4 : 0;
    const int one_warp = (type.grouped & core::batch_groups) && !type.gate ? 2 : 0;
    if (!swapped) REQUIRE(rows.size() + (whole_steps ? 9 + 21 : 0) + (type.grouped ? (largest_cut ? 1 : 2) + (type.grouped & core::batch_groups ? 0 : 7) : 0) + (core::promoted(type) ? 1 : 0) + (cut_small ? 0 : 4) + (long_tiles ? 0 : 10) + 6 - short_lines - one_warp + (!f64 ? 10 : type.grouped ? 4 : 0) == rows_of_f32);
    std::set<std::string> names;
    std::array<int, core::family_count> families{};
    for (const Config& c : rows) {
      if (type.grouped && c.family == Family::sm90 && c.slices == core::tail_slices && kernels::large_tile(c.tile_m, c.tile_n)) CHECK((largest_cut && c.tile_m == 128 && c.tile_n == (core::promoted(type) ? 192 : 256) && c.cluster_m == 2 && c.cluster_n == 1));
      names.insert(core::config_name(type, c));
      ++families[static_cast<std::size_t>(c.family)];
      if (swapped && c.family == Family::sm90 && !c.swap) FAIL_CHECK(core::config_name(type, c));
      if (c.raster != (c.family == Family::host ? 0 : 1)) FAIL_CHECK(core::config_name(type, c));
      const int depth = c.tile_k * select::operand_size(type, c.family);
      if ((c.family == Family::sm80 || c.family == Family::sm90) && depth != 64 && depth != 128 && !(depth == 256 && (f64 || c.family == Family::sm90))) FAIL_CHECK(core::config_name(type, c));
    }
    CHECK(names.size() == rows.size());
    if (swapped) {
      core::ProblemType upright = type;
      upright.major_b = core::Major::k;
      std::set<std::string> expected;
      for (Config c : select::table(upright)) {
        if (c.family == Family::sm90 && !c.swap) {
          if (c.large_above || c.tile_m > 16 * c.warps_m || c.cluster_n > 1) continue;
          c = core::transposed(c), c.swap = 1;
        }
        expected.insert(core::config_name(type, c));
      }
      CHECK(names == expected);
    }
    CHECK(families[0] == 1);
    CHECK(families[1] >= 3);
    CHECK(families[2] >= 10);
    CHECK(families[3] >= 10);
    CHECK(families[4] == 10 + short_lines);
  }
}

TEST_CASE("space: every row of the table is legal for some problem on some device") {
  // Types have rows of their own, so a row is told by what it says. What depends on the type is left out, but for the depth: in bytes, of CUDA cores in elements.
  std::map<std::string, bool> legal;
  for (const core::ProblemType& type : every_type())
    for (const Config& config : select::table(type)) {
      const int depth = config.tile_k * select::operand_size(type, config.family);
      Config told = config;
      if (config.family == Family::sm90) told.stages = 1;
      told.tile_k = 1;
      bool& any = legal[core::config_name(every_type().front(), told) + core::text(", %d deep", config.family == Family::simt ? config.tile_k : depth)];
      for (const int capability : capabilities) any = any || !select::illegal(type, config, device(capability));
      any = any || !select::illegal(type, config, host_device());
    }
  CHECK(legal.size() >= select::table(every_type().front()).size());
  for (const auto& [row, any] : legal) {
    INFO(row);
    CHECK(any);
  }
}

TEST_CASE("space: every problem has a legal configuration on every device, the host's on the host alone") {
  std::vector<core::ProblemType> types = every_type();
  for (core::ProblemType type : every_type()) {
    type.gate = GGEMM_GATE_HALVES;
    types.push_back(type);
    if (type.sum != core::Sum::f32) continue;
    type.scale_a = GGEMM_SCALE_BLOCK_1X128, type.scale_b = GGEMM_SCALE_BLOCK_128X128;
    types.push_back(type);
  }
  for (const core::ProblemType& type : types) {
    for (const int capability : capabilities) {
      int legal = 0, host = 0;
      for (const Config& config : select::table(type)) {
        if (select::illegal(type, config, device(capability))) continue;
        ++legal;
        host += config.family == Family::host;
      }
      if (legal == 0 || host != 0) FAIL_CHECK(core::config_name(type, select::table(type).front()) << " on sm_" << capability);
    }
    int legal = 0;
    for (const Config& config : select::table(type)) legal += !select::illegal(type, config, host_device());
    if (legal != 1) FAIL_CHECK(legal << " on the host");
  }
}

TEST_CASE("space: tensor cores serve the dtypes that they have, in every layout and form, on every device from sm_80 on") {
  for (const core::ProblemType& type : every_type()) {
    const bool one_dtype = type.a == type.b;
    const bool served = one_dtype && (type.a == GGEMM_F16 || type.a == GGEMM_BF16 || type.a == GGEMM_I8 || type.a == GGEMM_F64 || (type.a == GGEMM_F32 && type.compute == GGEMM_COMPUTE_TF32));
    const bool as_f64 = one_dtype && type.a == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32;
    for (const int capability : capabilities) {
      int found = 0;
      for (const Config& config : select::table(type)) found += config.family == Family::sm80 && !select::illegal(type, config, device(capability));
      if ((found > 0) != ((served && capability >= 80) || (as_f64 && capability == 90))) FAIL_CHECK(core::config_name(type, select::table(type).front()) << " on sm_" << capability << ": " << found);
    }
  }
}

TEST_CASE("space: shared memory is the larger of the ring and the staging of the sums") {
  // 3 stages of (128 + 256) rows of 128 bytes; staged are 128 rows of 256 + 8 floats
  CHECK(select::shared_bytes(type_of(GGEMM_BF16), tile(Family::sm80, 128, 256, 64, 2, 4, 3)) == 147456);
  // 4 stages of 128 rows of 64 bytes are 32768; 64 rows of 64 + 8 floats are less
  CHECK(select::shared_bytes(type_of(GGEMM_BF16), tile(Family::sm80, 64, 64, 32, 2, 2, 4)) == 32768);
  // 2 stages of 256 rows of 64 bytes are 32768, but 128 rows of 128 + 8 floats are 69632
  CHECK(select::shared_bytes(type_of(GGEMM_F16, "nt"), tile(Family::sm80, 128, 128, 32, 2, 2, 2)) == 69632);
  // f64: 128 rows of 64 + 4 doubles are 69632; the ring of 4 stages of 192 rows of 128 bytes is 98304
  CHECK(select::shared_bytes(type_of(GGEMM_F64), tile(Family::sm80, 128, 64, 16, 2, 2, 4)) == 98304);
  CHECK(select::shared_bytes(type_of(GGEMM_F64), tile(Family::sm80, 128, 64, 8, 2, 2, 2)) == 69632);
  CHECK(select::shared_bytes(type_of(GGEMM_I8), tile(Family::sm80, 64, 64, 128, 2, 2, 4)) == 65536);
  // CUDA cores hold elements as sums: 2 slots of 16 x (128 + 4 + 128 + 4) floats are 33792, 128 rows of 136 floats 69632
  CHECK(select::shared_bytes(type_of(GGEMM_E4M3), tile(Family::simt, 128, 128, 16, 4, 2, 2)) == 69632);
  CHECK(select::shared_bytes(type_of(GGEMM_F32), tile(Family::simt, 32, 32, 16, 2, 1, 2)) == 9216);
  CHECK(select::shared_bytes(type_of(GGEMM_F64), tile(Family::simt, 32, 32, 16, 2, 1, 2)) == 18432);
  CHECK(select::shared_bytes(type_of(GGEMM_F32), Config{}) == 0);
}

// A warpgroup's slots, with a barrier each, 16 bytes in all or 32, and a note.
constexpr std::int64_t slots(int count) { return count * 8192 + (count > 2 ? 32 : 16) + 48; }

TEST_CASE("space: a warpgroup has slots for a whole tile of D where they fit beside the ring, and else two") {
  const auto bytes = [](const core::ProblemType& type, int m, int n, int k, int warps_m, int warps_n, int stages) { return select::shared_bytes(type, tile(Family::sm90, m, n, k, warps_m, warps_n, stages)); };
  // 64 x 192 of 2 bytes are three steps of 64 columns; a slot of the ring has 16 bytes of barriers
  CHECK(bytes(type_of(GGEMM_BF16), 128, 192, 64, 8, 1, 4) == 4 * (320 * 128 + 16) + 2 * slots(3));
  CHECK(bytes(type_of(GGEMM_BF16), 128, 256, 64, 8, 1, 3) == 3 * (384 * 128 + 16) + 2 * slots(4));
  CHECK(bytes(type_of(GGEMM_BF16), 128, 256, 64, 8, 1, 4) == 4 * (384 * 128 + 16) + 2 * slots(2));
  // Rows that meet are stored as f32, in four steps of 32 columns.
  core::ProblemType meet = type_of(GGEMM_BF16);
  meet.grouped = core::grouped_call | core::scattered_rows | core::summed_rows;
  for (const Config& config : select::table(meet)) CHECK(select::shared_bytes(meet, config) == select::shared_bytes(core::before_sums(meet), config));
  CHECK(bytes(meet, 128, 192, 64, 8, 1, 4) == 4 * (320 * 128 + 16) + 2 * slots(2));
  CHECK(bytes(meet, 64, 128, 64, 4, 1, 6) == 6 * (192 * 128 + 16) + slots(4));
  // two such CTAs have a multiprocessor together, which a third slot would end
  CHECK(bytes(type_of(GGEMM_BF16), 64, 192, 64, 4, 1, 2) == 2 * (256 * 128 + 16) + slots(2));
}

TEST_CASE("space: groups by blocks of 1x128 and 128x128 may have 96 sums a thread, swapped too") {
  core::ProblemType type = type_of(GGEMM_E4M3);
  type.d = type.c = GGEMM_BF16, type.grouped = 1, type.scale_a = GGEMM_SCALE_BLOCK_1X128, type.scale_b = GGEMM_SCALE_BLOCK_128X128;
  Config config = tile(Family::sm90, 128, 192, 128, 8, 1, 4), swapped = tile(Family::sm90, 192, 128, 128, 1, 8, 4);
  config.cluster_m = config.cluster_n = config.cluster_k = swapped.cluster_m = swapped.cluster_n = swapped.cluster_k = 1;
  swapped.swap = 1;
  CHECK(reason(type, config, device(90)) == "");
  CHECK(select::illegal(type, swapped, device(90)));
  std::swap(config, swapped);
  type.scale_a = GGEMM_SCALE_BLOCK_128X128, type.scale_b = GGEMM_SCALE_BLOCK_1X128;
  CHECK(reason(type, config, device(90)) == "");
  CHECK(select::illegal(type, swapped, device(90)));
}

TEST_CASE("space: scales of blocks have two places in the ring for each slot, and stages as there is room") {
  core::ProblemType type = type_of(GGEMM_E4M3);
  type.d = type.c = GGEMM_BF16, type.scale_a = GGEMM_SCALE_BLOCK_1X128, type.scale_b = GGEMM_SCALE_BLOCK_128X128;
  const auto bytes = [&](int n, int stages) { return select::shared_bytes(type, tile(Family::sm90, 128, n, 128, 8, 1, stages)); };
  // 128 of A; and of B one, or one for each 64 columns
  CHECK(bytes(128, 5) == 5 * (256 * 128 + 16) + 6 * 1024 + 2 * slots(2));  // 2 * 5 * 520 bytes
  CHECK(bytes(192, 4) == 4 * (320 * 128 + 16) + 5 * 1024 + 2 * slots(3));  // 2 * 4 * 528
  type.scale_b = GGEMM_SCALE_BLOCK_1X128;
  CHECK(bytes(128, 5) == 5 * (256 * 128 + 16) + 10 * 1024 + 2 * slots(2));
  // The table's tiles keep the ring that they have without, but for those that would not fit.
  const auto stages = [](const core::ProblemType& of, int n) {
    for (const Config& c : select::table(of))
      if (c.family == Family::sm90 && c.tile_m == 128 && c.tile_n == n && c.warps_m == 8 && c.cluster_m == 2 && c.cluster_k == 1 && !c.slices) return int(c.stages);
    return 0;
  };
  CHECK(stages(type_of(GGEMM_E4M3), 128) == 6);
  for (const int scale : {GGEMM_SCALE_BLOCK_1X128, GGEMM_SCALE_BLOCK_128X128}) {
    type.scale_b = scale & 7;
    CHECK(stages(type, 128) == 5);
    CHECK(stages(type, 192) == 4);
    CHECK(stages(type, 96) == 6);
  }
}

TEST_CASE("space: more slots make no configuration too large that fits with two") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call | core::gathered_rows;
  constexpr std::int64_t limit = 227 * 1024;
  int more = 0, less = 0, wrong = 0;
  for (const auto d : {GGEMM_BF16, GGEMM_F32})
    for (int m = 64; m <= 256; m += 64)
      for (int n = 16; n <= 256; n += 16)
        for (int stages = 2; stages <= 8; ++stages)
          for (int teams = 1; teams <= 2; ++teams)
            for (const int warps_m : {4, 8}) {
              type.d = d;
              Config config = tile(Family::sm90, m, n, 64, warps_m, 1, stages);
              config.teams = static_cast<std::uint8_t>(teams);
              const std::int64_t ring = std::int64_t(stages) * ((m + n) * 128 + 16) + (teams > 1 ? 16 : 0), one = ring + warps_m / 4 * teams * slots(1), two = ring + warps_m / 4 * teams * slots(2), bytes = select::shared_bytes(type, config), fixed = select::static_shared_bytes(type, config);
              more += bytes > two;
              // Of teams, where two do not fit beside what else there is, one.
              if (bytes < two) wrong += teams == 1 || bytes != one || two <= limit - 5 * 1024, ++less;
              wrong += two + fixed <= limit && bytes + fixed > limit;
            }
  CHECK(more > 100);
  CHECK(less > 100);
  CHECK(wrong == 0);
}

TEST_CASE("space: groups of the sm90 family have one note of tiles more where that costs no CTA") {
  core::ProblemType type = type_of(GGEMM_BF16);
  const Config large = tile(Family::sm90, 128, 256, 64, 8, 1, 4);
  CHECK(select::tile_notes(type, large) == 0);
  type.grouped = core::grouped_call;
  CHECK(select::tile_notes(type, large) == 3);
  CHECK(select::tile_notes(type, tile(Family::sm80, 128, 128, 64, 2, 4, 3)) == 0);
  constexpr std::int64_t multiprocessor = 228 * 1024, kept = 1024;
  int more = 0, wrong = 0;
  std::int64_t checked = 0;
  for (const int grouped : {int{core::grouped_call}, core::grouped_call | core::gathered_rows})
    for (int m = 64; m <= 256; m += 64)
      for (int n = 16; n <= 256; n += 16)
        for (int stages = 2; stages <= 8; ++stages) {
          type.grouped = static_cast<decltype(type.grouped)>(grouped);
          const Config config = tile(Family::sm90, m, n, 64, m > 64 ? 8 : 4, 1, stages);
          const int notes = select::tile_notes(type, config);
          const std::int64_t bytes = select::shared_bytes(type, config) + select::static_shared_bytes(type, config) + kept, without = bytes - (notes > 2 ? 1024 : 0);
          wrong += notes != 2 && notes != 3;
          wrong += (notes == 3) != (multiprocessor / (without + 1024) == multiprocessor / without);
          more += notes > 2, ++checked;
        }
  CHECK(wrong == 0);
  CHECK((more > 100 && more < checked));
}

TEST_CASE("space: columns along n take the whole of their last panel in the ring") {
  const auto of = [](const core::ProblemType& type, const Config& config) { return select::shared_bytes(type, config); };
  Config teams = tile(Family::sm90, 128, 176, 64, 4, 1, 5);
  teams.teams = 2;
  CHECK(of(type_of(GGEMM_BF16, "tn"), teams) == 5 * ((128 + 176) * 128 + 16) + 16 + 2 * slots(2));
  CHECK(of(type_of(GGEMM_BF16, "nt"), teams) == 5 * ((128 + 192) * 128 + 16) + 16 + 2 * slots(1));
  // Swapped, they are A's rows.
  Config swapped = tile(Family::sm90, 176, 128, 64, 1, 4, 5);
  swapped.teams = 2, swapped.swap = 1;
  CHECK(of(type_of(GGEMM_BF16, "tn"), swapped) == of(type_of(GGEMM_BF16, "tn"), teams));
  CHECK(of(type_of(GGEMM_BF16, "nt"), swapped) == of(type_of(GGEMM_BF16, "nt"), teams));
}

TEST_CASE("space: dynamic and static shared memory must fit together") {
  core::ProblemType plain = type_of(GGEMM_BF16), grouped = plain;
  grouped.grouped = 1;
  for (const core::ProblemType& type : {plain, grouped}) {
    for (const Config& config : {tile(Family::sm80, 128, 256, 64, 2, 4, 3), tile(Family::simt, 64, 64, 16, 2, 2, 2)}) {
      core::DeviceFacts exact = device(90);
      exact.shared_per_block = select::shared_bytes(type, config) + select::static_shared_bytes(type, config);
      CHECK(reason(type, config, exact) == "");
      --exact.shared_per_block;
      CHECK(reason(type, config, exact) == "the tile must fit in shared memory");
      CHECK(select::shared_bytes(type, config) == select::shared_bytes(plain, config));
    }
    // the scheduler's state
    if (type.grouped) CHECK(select::static_shared_bytes(type, tile(Family::simt, 64, 64, 16, 2, 2, 2)) > 0);
  }
}

TEST_CASE("space: legal configurations fit in the device, threads and registers") {
  int legal = 0;
  for (const core::ProblemType& type : every_type()) {
    for (const int capability : capabilities) {
      const core::DeviceFacts facts = device(capability);
      for (const Config& c : select::table(type)) {
        if (c.family == Family::host || select::illegal(type, c, facts)) continue;
        ++legal;
        const int threads = select::threads(c), ctas = select::min_ctas(type, c), sum = type.sum == core::Sum::f64 ? 2 : 1;
        const bool fits = threads >= 32 && threads % 32 == 0 && threads <= 1024 && select::shared_bytes(type, c) + select::static_shared_bytes(type, c) <= facts.shared_per_block && c.tile_m * c.tile_n / threads * sum <= 128 && ctas >= 1 &&
                          ctas * threads * (c.family == Family::gemv ? c.warps_m > 1 ? 64 : 80 : 128) <= 65536;  // so many registers a thread at the least
        if (!fits) FAIL_CHECK(core::config_name(type, c) << " on sm_" << capability);
      }
    }
  }
  CHECK(legal > 5000);
}
