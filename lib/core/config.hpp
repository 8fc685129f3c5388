// SPDX-License-Identifier: Apache-2.0
// A configuration: one way to compute a problem, and its readable name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"

namespace ggemm::core {

enum class Family : std::uint8_t { host = 0, simt = 1, sm80 = 2, sm90 = 3, gemv = 4 };
constexpr int family_count = 5;
const char* family_name(Family family);

// Bytes and 16-bit numbers only, no padding: hashed and compared as memory. The host family has 0 everywhere.
struct Config {
  std::uint16_t tile_m, tile_n, tile_k;  // CTA tile BM x BN x BK
  std::uint16_t raster;                  // raster group in rows of tiles; a run-time value, not compiled in
  Family family;
  std::uint8_t warps_m, warps_n;
  std::uint8_t stages;
  // Of the sm90 family; 0 elsewhere.
  std::uint8_t cluster_m = 0, cluster_n = 0;  // CTAs of a cluster down and across,
  std::uint8_t cluster_k = 0;                 // times those that share a tile along k
  std::uint8_t swap = 0;                      // 1: D' = B' A' is computed, with rows and columns of the tile, the warps and the cluster changed over
  std::uint16_t slices = 0;                   // if not 0: k is cut, for clusters that take slices of it; a run-time value, but for whether it is and in which of two ways
  std::uint16_t teams = 0;                    // if 2: sets of so many warps, which take turns at tiles: one stores while the other multiplies
  std::uint16_t large_above = 0;              // if not 0: groups of more rows than this are computed by another kernel beside, in larger tiles (select::large_tiles)
  bool operator==(const Config&) const = default;
};
// Config::slices: as many of every tile, if 2 or more; or none but of the tiles that are left over when all clusters (or CTAs) have had as many, as many as it takes to give all of them
// about as much to do ("_kt").
constexpr std::uint16_t tail_slices = 1;

// "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s6_c1x1_k4_swap_r8", "sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_kt_r8", "sm90_bf16_bf16_f32_tn_128x128x64_w4x1x2_s6_c2x1_r8", "sm90_bf16_bf16_f32_tn_32x128x64_w1x8_s8_c1x1_m64_swap_r8". The dtypes of A, B and the sums (tf32 and f32x3 stand for f32 inputs under compute tf32 and f32_accurate), then the layout in
// BLAS letters for column-major matrices: A t is contiguous along k, n along m; B n is contiguous along k, t along n.
std::string config_name(const ProblemType& type, const Config& config);
// The kernel that it needs: the name without the raster group, the number of slices and what larger groups are, which one binary serves for any value of.
std::string kernel_name(const ProblemType& type, const Config& config);

// What the sm90 family's kernels are compiled for: wgmma takes operands that are not 16 bits wide along k only, so that others are turned first; but for A of a plain product of tf32, which comes
// through registers. As the kernel has it, transposed if the configuration swaps A and B; and as the caller described it.
ProblemType kernel_type(const ProblemType& type, const Config& config);
// Into how many boxes a tile of A, or of a panel of it, is cut, of the kernel's type and its own view of the configuration (sm90): one for each CTA that needs it, or halves (tile/panels.cuh).
bool in_halves(const ProblemType& kernel, const Config& upright);
int parts_of_a(const ProblemType& kernel, const Config& upright);
ProblemType packed(const ProblemType& type, const Config& config);
// Whether tensor cores multiply terms of its operands (kernels/tile/terms.cuh), which are copies in bf16.
inline bool by_terms(const ProblemType& type, Family family) { return family == Family::sm90 && type.compute == GGEMM_COMPUTE_F32_ACCURATE; }
// Which of A and B are copied to workspace before such a kernel runs: those that tensor maps cannot describe, and those that are turned; of
// the latter the strided bit is set too: neighbours in the copy are none in the source.
std::uint8_t repacked_operands(const ProblemType& type, const Config& config);

// Where rows of D may meet, what is computed before they are added up: D in the groups' order, in the type that the epilogue computes in.
ProblemType before_sums(const ProblemType& type);

// What a family's kernel is compiled for; of sums, that which comes before. Plain products of others than sm90 have a CTA a tile; where CTAs are limited, the grouped kernel walks the tiles of a single group.
// A batch's are plain ones, but of sm90 those for calls that the copy engine does not serve.
ProblemType compiled(const ProblemType& type, Family family);
// Of the sm80 family's kernels of plain products and batches (of `compiled`): operands of f64, and of f32 that is multiplied as f64, whose lines are no multiples of 16 bytes, for which they are compiled (kernels/traits.cuh: UNALIGNED).
std::uint8_t unaligned_operands(const ProblemType& type, const Config& config);
// Whether that kernel of groups is another one if ProblemType::lines_wait is set; plain ones that are not by_engine are so in any case. Not where the kernel computes the transposed product (`swap`), which was not tried, nor where it cuts large tiles of groups, which hold nothing.
bool lines_may_wait(const ProblemType& type, const Config& config);

Config transposed(const Config& config);
// As the kernel has it: transposed if it swaps A and B.
Config upright(const Config& config);

// What a name says. `type` has only dtypes, compute, sum and majors set.
struct ParsedConfig {
  ProblemType type;
  Config config;
};
// Throws GGEMM_ERROR_ARGUMENT with the part that is wrong. What is taken has exactly this name: there are no leading zeros and no other spellings.
ParsedConfig parse_config(std::string_view name);

// What a device offers, as far as selection and compiling need it.
struct DeviceFacts {
  bool cuda = false;
  int compute_capability = 0;  // major * 10 + minor
  int multiprocessors = 0;
  int f64_slower = 0;  // so many times fewer operations of f64 a second than of f32, by the driver
  std::int64_t shared_per_block = 0, shared_per_multiprocessor = 0;  // bytes, opt-in maximum
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  int threads = 1;        // host threads
  std::string name;       // "NVIDIA H200"
  std::string arch;       // "sm_90a"
  int driver_version = 0; // 1000 * major + 10 * minor
};

}  // namespace ggemm::core
