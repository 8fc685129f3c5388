// SPDX-License-Identifier: Apache-2.0
// The scales of a block of k for the sums that a thread of a warpgroup holds, as ptx/wgmma.cuh lays them out: one or two of A for each 64 rows, one of B for every 128
// columns or two for every 8. What is scaled otherwise, or not, has 1 here.
#pragma once
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
  static constexpr int COUNT_A = ROWS ? 2 : SQUARE_A ? 1 : 0, COUNT_B = COLUMNS ? WN / 4 : SQUARE_B ? (WN + scale_block - 1) / scale_block : 0;

 public:
  // (m, n): the warpgroup's first row and column. block: of k, the first. index: of all groups' rows, of which the product's first is number `start`.
  GG_DEVICE BlockScales(const GemmParams& p, const Source& index, i64 start, i64 m, i64 n, i32 block) : index_(index) {
    const int thread = static_cast<int>(threadIdx.x) % 128, r0 = thread / 32 * 16 + thread % 32 / 4, c0 = thread % 4 * 2;
    if constexpr (COUNT_A > 0) {
      const i64 first = ROWS ? m + r0 : m;
      a_ = static_cast<const float*>(p.scale_a.data) + (INDEX_A ? 0 : scale_at(T::SCALE_A, first) * p.scale_a.row_stride) + block * p.scale_a.col_stride;
      step_a_ = p.scale_a.row_stride, deep_a_ = p.scale_a.col_stride;
      left_a_ = static_cast<i32>(min_of(p.m - first, 64 * BLOCKS));
      if constexpr (INDEX_A) line_ = start + first;
    }
    if constexpr (COUNT_B > 0) {
      const i64 first = COLUMNS ? n + c0 : n;
      b_ = static_cast<const float*>(p.scale_b.data) + (INDEX_B ? 0 : scale_at(T::SCALE_B, first) * p.scale_b.col_stride) + block * p.scale_b.row_stride;
      step_b_ = p.scale_b.col_stride, deep_b_ = p.scale_b.row_stride;
      left_b_ = static_cast<i32>(min_of(p.n - first, WN));
      if constexpr (INDEX_B) line_ = start + first;
    }
  }

  // The next block's. What lies outside the operand has no scale; its sums are not stored.
  GG_DEVICE void load() {
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int half = 0; half < COUNT_A; ++half) {
        const int row = 64 * b + 8 * half;
        if constexpr (INDEX_A) scale_a_[b][half] = row < left_a_ ? indexed(a_, step_a_, row) : 0.0f;
        else scale_a_[b][half] = row < left_a_ ? a_[ROWS ? row * step_a_ : (b / 2) * step_a_] : 0.0f;
      }
#pragma unroll
    for (int i = 0; i < COUNT_B; ++i) {
      const int column = COLUMNS ? i / 2 * 8 + i % 2 : i * scale_block;
      if constexpr (INDEX_B) scale_b_[i] = column < left_b_ ? indexed(b_, step_b_, column) : 0.0f;
      else scale_b_[i] = column < left_b_ ? b_[COLUMNS ? column * step_b_ : i * step_b_] : 0.0f;
    }
    a_ += deep_a_, b_ += deep_b_;
  }

  // Of sum s of block b of rows.
  GG_DEVICE float factor(int b, int s) const {
    const int column = s / 4 * 8 + s % 2;
    const float y = COLUMNS ? scale_b_[s / 4 * 2 + s % 2] : SQUARE_B ? scale_b_[column / scale_block] : 1.0f;
    if constexpr (COUNT_A == 0) return y;
    const float x = scale_a_[b][ROWS ? s / 2 % 2 : 0];
    if constexpr (COUNT_B == 0) return x;
    return x * y;
  }

 private:
  // Looked up for every block: the offsets would take registers.
  GG_DEVICE float indexed(const float* scales, i64 step, int line) const {
    const i64 at = read_row(index_, line_ + line);
    return at < 0 ? 0.0f : scales[at * step];
  }

  const Source& index_;
  i64 line_ = 0;  // the number of the first
  const float* a_ = nullptr;
  const float* b_ = nullptr;
  i64 step_a_ = 0, step_b_ = 0, deep_a_ = 0, deep_b_ = 0;
  i32 left_a_ = 0, left_b_ = 0;
  float scale_a_[BLOCKS][COUNT_A > 0 ? COUNT_A : 1], scale_b_[COUNT_B > 0 ? COUNT_B : 1];
};

}  // namespace ggemm::kernels
