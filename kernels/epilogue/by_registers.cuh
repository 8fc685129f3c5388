// SPDX-License-Identifier: Apache-2.0
// D straight from the registers of its sums, where lines of B are dealt (tile/panels.cuh): a thread has eight neighbouring columns of each 32, and four lanes 64 bytes of a line of D, of elements of 16 bits. No shared memory, no
// barrier, and nothing to wait for.
#pragma once
#include "epilogue/fill.cuh"
#include "epilogue/step_shape.cuh"
#include "ptx/memory.cuh"
#include "tile/panels.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// Where a thread's vectors of 16 bytes go, of a warpgroup's part of D.
class RegisterStore {
  char* at_;   // of the first 32 columns
  i64 below_;  // bytes to eight rows further down
  static constexpr int SIZE = 2;

 public:
  RegisterStore() = default;
  // The part that begins at (row, column) of D.
  GG_DEVICE RegisterStore(const Matrix& d, i64 row, i64 column, int thread) {
    const int lane = thread % 32;
    below_ = d.row_stride * (8 * SIZE);
    at_ = static_cast<char*>(const_cast<void*>(d.data)) + ((row + thread / 32 * 16 + lane / 4) * d.row_stride + column + lane % 4 * 8) * SIZE;
  }
  // Of the block-th 64 rows, in the upper 8 of the warp's 16 or the lower, what a thread has of 32 columns from `column` on.
  GG_DEVICE void put(int block, int half, int column, u32 a, u32 b, u32 c, u32 d) const { ptx::store_vector(at_ + (8 * block + half) * below_ + column * SIZE, {a, b, c, d}); }
};

// Shape: a StepShape.
template <class Shape>
class ByRegisters {
  using T = typename Shape::T;
  using Sum = typename Shape::Sum;
  using Fill = StepFill<T, dealt_lines, false>;
  using Vectors = StepVectors<T, dealt_lines>;
  static_assert(!T::FROM_REGISTERS || (T::BARE && !T::SCATTER && !T::GATHER && Shape::WN % dealt_lines == 0), "what a column has besides its sums lies elsewhere for a thread here");

 public:
  // Of the number-th step, which begins at which block and column, and how many columns are left to it: a first one's that are the next one's too are not.
  GG_DEVICE static constexpr int block(int number) { return number / Shape::STEPS; }
  GG_DEVICE static constexpr int column(int number) { return Shape::Step::columns_before(number); }
  GG_DEVICE static constexpr int columns(int number) { return number % Shape::STEPS == 0 ? Shape::FIRST : Shape::STEP; }

  // The first COUNT steps of a part, at once. D's columns are whole 32s.
  template <int COUNT>
  GG_DEVICE static void store(const Sum (&sums)[Shape::BLOCKS][Shape::WN / 2], const typename Shape::Part& part, const RegisterStore& to) {
    const int row = part.thread / 32 * 16 + part.thread % 32 / 4;
    const Vectors none{};
#pragma unroll
    for (int number = 0; number < COUNT; ++number)
#pragma unroll
      for (int across = 0; across < columns(number); across += dealt_lines) {
        const int first = column(number) + across;
        u32 words[4][2];
        Fill::template fill<false>(part, none, sums[block(number)] + first / 2, nullptr, [&words](int j, const u32 (&of)[4]) { words[j][0] = of[0], words[j][1] = of[1], words[j + 1][0] = of[2], words[j + 1][1] = of[3]; });
#pragma unroll
        for (int half = 0; half < 2; ++half)
          if (64 * block(number) + row + 8 * half < part.rows && first < part.columns) to.put(block(number), half, first, words[0][half], words[1][half], words[2][half], words[3][half]);
      }
  }
};

}  // namespace ggemm::kernels
