// SPDX-License-Identifier: Apache-2.0
// The scales of blocks of k for the sums that a warp of a warpgroup holds, as ptx/wgmma.cuh lays them out: 16 rows of each 64, and all columns. Its lanes hold them together, a line each: a thread, which needs two of A for each 64 rows
// and up to a quarter of B's, gets them from the others when it scales. So a block takes few registers and loads, and those of later blocks can be under way: memory is further away than tensor cores take for a block. What is scaled
// otherwise, or not, has 1 here.
#pragma once
#include "ptx/memory.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// BLOCKS of 64 rows, WN columns.
template <class T, int BLOCKS, int WN>
class BlockScales {
  static constexpr bool ROWS = T::SCALE_A == scale_block_1x128, COLUMNS = T::SCALE_B == scale_block_1x128;
  static constexpr bool SQUARE_A = T::SCALE_A == scale_block_128x128, SQUARE_B = T::SCALE_B == scale_block_128x128;
  // Squares begin with the warpgroup's part, or it lies in one.
  // A's scales lie where its rows do: in a transposed product B's, with its columns.
  static constexpr bool INDEX_A = ROWS && T::GATHER && !T::INDEX_COLUMNS, INDEX_B = COLUMNS && T::GATHER && T::INDEX_COLUMNS;
  static_assert(!SQUARE_B || scale_block % WN == 0 || WN % scale_block == 0, "a warpgroup's columns divide 128, or are a multiple");
  // Lane l has of A row 64 (l / 16) + l % 16 of the warp's, and those 128 further on; of B column l, and those 32 further on. Of squares all lanes have the same.
  static constexpr int STEP_B = COLUMNS ? 32 : scale_block;
  static constexpr int COUNT_A = ROWS || SQUARE_A ? (BLOCKS + 1) / 2 : 0, COUNT_B = COLUMNS || SQUARE_B ? (WN + STEP_B - 1) / STEP_B : 0;
  // Of 64 rows the upper lanes have none: they hold B's, if that is one.
  static constexpr bool TOGETHER = ROWS && BLOCKS == 1 && SQUARE_B && COUNT_B == 1;
  static constexpr int HELD_A = COUNT_A, HELD_B = TOGETHER ? 0 : COUNT_B, HELD = HELD_A + HELD_B;

 public:
  // Those of one block that a lane holds, A's and then B's.
  struct Held {
    float scale[HELD > 0 ? HELD : 1] = {};
  };

  // (m, n): the warpgroup's first row and column. block, blocks: of k, the first, and how many. index: of all groups' rows, of which the product's first is number `start`.
  GG_DEVICE BlockScales(const GemmParams& p, const Source& index, i64 start, i64 m, i64 n, i32 block, i32 blocks) : p_(p), none_(static_cast<u32>(p.k >> 32)), left_(blocks) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) % 128 / 32;
#pragma unroll
    for (int w = 0; w < HELD_A; ++w) {
      const i64 row = m + w * scale_block + (ROWS ? lane / 16 * 64 + warp * 16 + lane % 16 : 0);
      locate<INDEX_A>(w, p.scale_a, p.scale_a.row_stride, p.scale_a.col_stride * block, T::SCALE_A, index, start, row, BLOCKS > 1 || !ROWS || lane < 16 ? p.m : 0);
    }
#pragma unroll
    for (int w = 0; w < COUNT_B; ++w) {
      if (TOGETHER && lane < 16) continue;
      const i64 column = n + w * STEP_B + (COLUMNS ? lane : 0);
      locate<INDEX_B>(TOGETHER ? 0 : HELD_A + w, p.scale_b, p.scale_b.col_stride, p.scale_b.row_stride * block, T::SCALE_B, index, start, column, !COLUMNS || w * STEP_B + lane < WN ? p.n : 0);
    }
  }

  // Asks for the next block's, if there is one. What lies outside the operand has no scale; its sums are not stored.
  GG_DEVICE void load(Held& held) {
    const u32 there = left_-- > 0 ? there_ : 0;
#pragma unroll
    for (int w = 0; w < HELD; ++w) {
      const bool of_b = w >= HELD_A || (TOGETHER && threadIdx.x % 32 >= 16);
      ptx::load_over(held.scale[w], at_[w], there >> w & 1);
      at_[w] += of_b ? p_.scale_b.row_stride : p_.scale_a.col_stride;  // read for every block: they would take registers
    }
  }

  // Calls each(s, factor) for every sum s of the b-th 64 rows, which gives what the sum is then. The whole warp.
  template <class Each>
  GG_DEVICE void each_factor(const Held& held, int b, Each each) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float x[2] = {1, 1};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (ROWS) x[half] = from(held.scale[b / 2], b % 2 * 16 + half * 8 + lane / 4);
      else if constexpr (SQUARE_A) x[half] = held.scale[b / 2];
    }
    int across = lane % 4 * 2;
    float y[2] = {1, 1};
    if constexpr (TOGETHER) y[0] = y[1] = from(held.scale[0], 16);
#pragma unroll
    for (int column = 0; column < WN; column += 8) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if constexpr (COLUMNS) y[i] = from(held.scale[HELD_A + column / 32], column % 32 + across + i);
        else if constexpr (HELD_B > 0) y[i] = held.scale[HELD_A + column / scale_block];
      }
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        const float sum = each(column / 2 + s, COUNT_A == 0 ? y[s % 2] : COUNT_B == 0 ? x[s / 2] : x[s / 2] * y[s % 2]);
        // The next columns' scales are found after this: ptxas would have all factors in registers before it reads the first sum, and spill.
        if (COLUMNS && column % 16 == 8 && s == 3) across += static_cast<int>(bit_cast<u32>(sum) & none_);
      }
    }
  }

 private:
  GG_DEVICE static float from(float held, int lane) { return __shfl_sync(0xffffffffu, held, lane); }

  // The w-th scale that the lane holds is that of a line of `lines`, which lie `stride` apart; the first block's `deep` further on. By index that is looked up once a tile, not for every block.
  template <bool INDEX>
  GG_DEVICE void locate(int w, const Matrix& scales, i64 stride, i64 deep, int kind, const Source& index, i64 start, i64 line, i64 lines) {
    if (line >= lines) return;
    i64 at = scale_at(kind, line);
    if constexpr (INDEX) at = read_row(index, start + line);
    if (INDEX && at < 0) return;
    at_[w] = static_cast<const float*>(scales.data) + at * stride + deep;
    there_ |= 1u << w;
  }

  const GemmParams& p_;
  const float* at_[HELD > 0 ? HELD : 1] = {};
  u32 there_ = 0;  // a bit for each
  u32 none_;       // 0, as k is below 2^31, of which the compiler knows nothing
  i32 left_;       // blocks
};

}  // namespace ggemm::kernels
