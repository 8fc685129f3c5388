// SPDX-License-Identifier: Apache-2.0
// What this compilation is of: the defines that lib/jit/render.cpp writes, as types and constants.
#pragma once
#include "epilogue/value.cuh"
#include "params.cuh"
#include "tile/scales.cuh"

namespace ggemm::kernels {

template <int SUM> struct SumOf { using type = float; };  // core::Sum -> type
template <> struct SumOf<1> { using type = double; };
template <> struct SumOf<2> { using type = i32; };

struct Traits {
  using A = ElementOf<GG_A>::type;
  using B = ElementOf<GG_B>::type;
  using C = ElementOf<GG_C>::type;
  using D = ElementOf<GG_D>::type;
  using Bias = ElementOf<GG_BIAS_DTYPE ? GG_BIAS_DTYPE : GG_D>::type;
  using Sum = SumOf<GG_SUM>::type;
  using Value = EpilogueType<Sum, D>::type;
  static constexpr bool FP8 = GG_A == 5 || GG_A == 6, FAST = GG_COMPUTE == 2;
  static constexpr int SCALE_A = GG_SCALE_A, SCALE_B = GG_SCALE_B, GATE = GG_GATE;  // ggemm_scale_kind, ggemm_gate
  static constexpr bool BLOCK_SCALED = scaled_by_blocks(SCALE_A) || scaled_by_blocks(SCALE_B);  // the mainloop brings its sums scaled so
  static constexpr u32 GROUP_SHAPE = group_shape(SCALE_A, SCALE_B, GATE);
  static constexpr bool SPLIT_PAIRS = split_pairs(GROUP_SHAPE);  // of halves: the columns of a gated pair lie n/2 apart
  static constexpr bool TF32 = GG_COMPUTE == 1;
  static constexpr bool TERMS = GG_COMPUTE == 3 && GG_A == 4;  // A and B are terms of f32 operands
  static constexpr bool A_MN_MAJOR = GG_MAJOR_A == 1, B_MN_MAJOR = GG_MAJOR_B == 1;
  static constexpr bool TURNS_A = TF32 && A_MN_MAJOR;  // of sm90: A comes through registers, as wgmma takes operands of 4 bytes from shared memory along k alone
  static constexpr int ACTIVATION = GG_ACTIVATION, BIAS = GG_BIAS;  // ggemm_activation; 0 none, 1 a column, 2 a row
  static constexpr bool SCALED_AFTER = (SCALE_A && !scaled_by_blocks(SCALE_A)) || (SCALE_B && !scaled_by_blocks(SCALE_B));
  static constexpr bool BARE = GG_ACTIVATION == 0 && GG_BIAS == 0 && !SCALED_AFTER && GG_GATE == 0;  // D = alpha AB + beta C, nothing else: what follows the product needs few registers
  static constexpr int BM = GG_BM, BN = GG_BN, BK = GG_BK;
  static constexpr int WARPS_M = GG_WARPS_M, WARPS_N = GG_WARPS_N, THREADS = 32 * WARPS_M * WARPS_N;
  static constexpr int STAGES = GG_STAGES;
  static constexpr bool GROUPED = GG_GROUPED == 1;
  static constexpr bool BATCH = GG_BATCH == 1;      // products that are alike, whose sizes and distances the host knows: each as a plain one
  static constexpr bool GATHER = GG_GATHER != 0, SCATTER = GG_SCATTER != 0;  // rows of A, of D, lie where an index says;
  static constexpr bool INDEX_COLUMNS = GG_INDEX_COLUMNS == 1;               // where the product is transposed, columns of B, of D
  static constexpr int CLUSTER_M = GG_CLUSTER_M, CLUSTER_N = GG_CLUSTER_N, CLUSTER_K = GG_CLUSTER_K;  // CTAs of a cluster down, across and along k
  static constexpr bool SLICED = GG_SLICED == 1, LEAVES = GG_SLICED == 2;    // tiles may be cut along k (tile/depth.cuh); all are, and another launch stores them
  static constexpr int TILE_NOTES = GG_TILE_NOTES;                           // of a grouped kernel (scheduler/board.cuh)
  static constexpr int TEAMS = GG_TEAMS;                                     // sets of consumers, which take turns at tiles
  static constexpr bool D_MN_MAJOR = GG_MAJOR_D == 1;                       // D is contiguous along m
  // Of sm90: the copy engine reaches A, B and D of every group, and C is not read. Then there is no code for threads that move them, which is half of a kernel, and more of the time that it takes to compile.
  static constexpr bool BY_ENGINE = GG_BY_ENGINE == 1;
  static constexpr int UNALIGNED = GG_UNALIGNED;          // of sm80: operands (1: A, 2: B) whose lines are no multiples of 16 bytes, and which are copied element by element among the products
  static constexpr bool LINES_WAIT = GG_LINES_WAIT == 1;  // lines of D that the copy engine does not reach may be stored while the next tile is multiplied (epilogue/held.cuh)
};

}  // namespace ggemm::kernels
