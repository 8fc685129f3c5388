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
  // Lane l has of A row 64 (l / 16) + l % 16 of the warp's (of 64 rows l % 16), and those 128 further on; of B column l, and those 32 further on. Of squares all lanes have the same.
  static constexpr int STEP_B = COLUMNS ? 32 : scale_block;
  static constexpr int COUNT_A = ROWS || SQUARE_A ? (BLOCKS + 1) / 2 : 0, COUNT_B = COLUMNS || SQUARE_B ? (WN + STEP_B - 1) / STEP_B : 0;
  // Of 64 rows the upper lanes have the lower ones' again; or B's, if that is one.
  static constexpr bool TOGETHER = ROWS && BLOCKS == 1 && SQUARE_B && COUNT_B == 1;
  static constexpr int HELD_A = COUNT_A, HELD_B = TOGETHER ? 0 : COUNT_B;
  static constexpr bool ONE_B = SQUARE_B && COUNT_B == 1, MANY_B = COLUMNS || COUNT_B > 1;  // B's scale is the same for all columns, or is not

 public:
  // Those of one block that a lane holds, A's and then B's.
  static constexpr int HELD = HELD_A + HELD_B;
  struct Held {
    float scale[HELD > 0 ? HELD : 1];
  };

  // (m, n): the warpgroup's first row and column. block: of k, the first. index: of all groups' rows, of which the product's first is number `start`.
  GG_DEVICE BlockScales(const GemmParams& p, const Source& index, i64 start, i64 m, i64 n, i32 block) : p_(p), none_(static_cast<u32>(p.k >> 32)) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) % 128 / 32;
#pragma unroll
    for (int w = 0; w < HELD_A; ++w) {
      if (TOGETHER && lane >= 16) continue;
      const i64 row = m + w * scale_block + (ROWS ? (BLOCKS > 1 ? lane / 16 * 64 : 0) + warp * 16 + lane % 16 : 0);
      locate<INDEX_A>(w, p.scale_a, p.scale_a.row_stride, p.scale_a.col_stride * block, T::SCALE_A, index, start, row, p.m);
    }
#pragma unroll
    for (int w = 0; w < COUNT_B; ++w) {
      if (TOGETHER && lane < 16) continue;
      const i64 column = n + (COLUMNS ? min_of(w * STEP_B + lane, WN - 1) : w * STEP_B);
      locate<INDEX_B>(TOGETHER ? 0 : HELD_A + w, p.scale_b, p.scale_b.col_stride, p.scale_b.row_stride * block, T::SCALE_B, index, start, column, p.n);
    }
  }

  // Asks for the next block's. more: there is one; else nothing is read.
  GG_DEVICE void load(Held& held, bool more) {
#pragma unroll
    for (int w = 0; w < HELD; ++w) {
      const bool of_b = w >= HELD_A || (TOGETHER && threadIdx.x % 32 >= 16);
      held.scale[w] = ptx::load_ahead(at_[w], more && (there_ >> w & 1));
      at_[w] += of_b ? p_.scale_b.row_stride : p_.scale_a.col_stride;  // read for every block: they would take registers
    }
  }

  // What a thread multiplies its sums by: of each 64 rows its upper and its lower one's, and B's besides, where all columns have the same. The whole warp.
  struct Factors {
    float x[BLOCKS][2];
  };
  GG_DEVICE static Factors factors(const Held& held) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Factors out;
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float x = 1;
        if constexpr (ROWS) x = from(held.scale[b / 2], b % 2 * 16 + half * 8 + lane / 4);
        else if constexpr (SQUARE_A) x = held.scale[b / 2];
        if constexpr (ONE_B) x *= TOGETHER ? from(held.scale[0], 16) : held.scale[HELD_A];
        out.x[b][half] = x;
      }
    return out;
  }

  // Calls each(s, factor) for every sum s of the b-th 64 rows, which gives what the sum is then. The whole warp.
  template <class Each>
  GG_DEVICE void each_factor(const Factors& factors, const Held& held, int b, Each each) const {
    const float(&x)[2] = factors.x[b];
    int across = static_cast<int>(threadIdx.x) % 4 * 2;
    float y[2] = {1, 1};
#pragma unroll
    for (int column = 0; column < WN; column += 8) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if constexpr (COLUMNS) y[i] = from(held.scale[HELD_A + column / 32], column % 32 + across + i);
        else if constexpr (COUNT_B > 1) y[i] = held.scale[HELD_A + column / scale_block];
      }
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        const float sum = each(column / 2 + s, MANY_B ? x[s / 2] * y[s % 2] : x[s / 2]);
        // The next columns' scales are found after this: ptxas would have all factors in registers before it reads the first sum, and spill.
        if (COLUMNS && column % 16 == 8 && s == 3) across += static_cast<int>(bit_cast<u32>(sum) & none_);
      }
    }
  }

 private:
  GG_DEVICE static float from(float held, int lane) { return __shfl_sync(0xffffffffu, held, lane); }

  // The w-th scale that the lane holds is that of a line of `lines`, which lie `stride` apart; the first block's `deep` further on. What lies outside the operand, whose sums are not stored,
  // has the last line's, so that no lane must remember to read nothing. By index a line is looked up once a tile, not for every block; a lane whose row the index leaves out reads nothing, and has 0.
  template <bool INDEX>
  GG_DEVICE void locate(int w, const Matrix& scales, i64 stride, i64 deep, int kind, const Source& index, i64 start, i64 line, i64 lines) {
    line = min_of(line, lines - 1);
    i64 at = scale_at(kind, line);
    if constexpr (INDEX) at = read_row(index, start + line);
    if (INDEX && at < 0) there_ &= ~(1u << w);
    at_[w] = static_cast<const float*>(scales.data) + at * stride + deep;
  }

  const GemmParams& p_;
  const float* at_[HELD > 0 ? HELD : 1] = {};
  u32 there_ = ~0u;  // a bit for each
  u32 none_;         // 0, as k is below 2^31, of which the compiler knows nothing
};

}  // namespace ggemm::kernels
