// SPDX-License-Identifier: Apache-2.0
// The scales of blocks of k. They come through the ring, as the tiles that they are of: however far away they lie, and however many registers the sums take, they are there when a block's products are.
#pragma once
#include "grouped_call.cuh"
#include "mainloop/wgmma_shape.cuh"
#include "ptx/async.cuh"
#include "tile/columns.cuh"

namespace ggemm::kernels {

// One operand's part of what brings them: THREADS, of which each has some of the tile's COUNT scales of this kind, for LINES lines each at least, block after block of k. They may lie at any stride, so that
// the tensor copy engine reaches few of them (ScaleLines). INDEX: of lines that lie where an index says. SPLIT_PAIRS: of pairs of halves, which are neighbours in the tile.
template <int KIND, int COUNT, int LINES, int THREADS, bool INDEX, bool SPLIT_PAIRS = false>
class BlockScaleLines {
  static constexpr int EACH = (COUNT + THREADS - 1) / THREADS;
  // Lines from one of a thread's to the next: of pairs all are of one half. SQUARES: some of these lie in the same square.
  static constexpr int STEP = THREADS / (SPLIT_PAIRS ? 2 : 1);
  static constexpr bool SQUARES = KIND == scale_block_128x128 && EACH > 1;
  static_assert(!SQUARES || SPLIT_PAIRS, "else each square has its scale once");

 public:
  // along, deep: the strides from line to line and from block to block of k. first: the tile's first line, of `lines`. block: the first. index: of all groups' rows, of which the product's first is number `start`.
  GG_DEVICE BlockScaleLines(const void* data, i64 along, i64 deep, i32 first, i64 lines, i32 block, const Source& index, i64 start) {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      i64 line = i64(first) + number(i) * LINES;
      bool there = number(i) < COUNT && line < lines;
      line = paired_column<SPLIT_PAIRS>(lines, line);
      if (SQUARES && i == 0) line_ = static_cast<int>(line);
      if (KIND == scale_block_128x128) line = SQUARES ? 0 : line / scale_block;
      if constexpr (INDEX) {
        line = there ? read_row(index, start + line) : -1;
        there = line >= 0;  // a row may be left out
      }
      there_ |= there ? 1u << i : 0;
      if (INDEX || i == 0) at_[i] = static_cast<const float*>(data) + line * along + block * deep;
    }
    apart_ = (SQUARES ? 1 : STEP) * along;
  }
  // Asks for the next block's: to where the tile's begin. Those of lines outside the operand, whose sums are not stored, are 0.
  GG_DEVICE void issue(u32 to, i64 deep) {
    const u32 first = SQUARES ? static_cast<u32>(ptx::renewed(line_)) : 0;  // else ptxas keeps the distance of each
#pragma unroll
    for (int i = 0; i < EACH; ++i)
      if (COUNT % THREADS == 0 || number(i) < COUNT) ptx::cp_async<4>(to + number(i) * 4, INDEX ? at_[i] : at_[0] + (SQUARES ? (first + i * STEP) / scale_block : i) * apart_, there_ >> i & 1);
#pragma unroll
    for (int i = 0; i < (INDEX ? EACH : 1); ++i) at_[i] += deep;
  }

 private:
  GG_DEVICE static int number(int i) { return i * THREADS + static_cast<int>(threadIdx.x % THREADS); }

  const float* at_[INDEX && EACH > 0 ? EACH : 1] = {};
  i64 apart_;
  u32 there_ = 0;
  int line_ = 0;  // the first, of squares
};

// Those of both operands.
template <class T, int THREADS>
class BlockScaleLoads {
  using Shape = WgmmaShape<T>;

 public:
  // (row, column): the CTA's tile.
  GG_DEVICE BlockScaleLoads(const GemmParams& p, const Source& index, i64 start, i32 row, i32 column, i32 block)
      : a_(p.scale_a.data, p.scale_a.row_stride, p.scale_a.col_stride, row, p.m, block, index, start), b_(p.scale_b.data, p.scale_b.col_stride, p.scale_b.row_stride, column, p.n, block, index, start) {}
  // Asks for the next block's; for A's not where the copy engine brings them. All threads. ring: its address; place: Shape::place.
  GG_DEVICE void issue(const GemmParams& p, bool of_a, u32 ring, u32 place) {
    if (of_a) a_.issue(ring + Shape::scales_a(place), p.scale_a.col_stride);
    b_.issue(ring + Shape::scales_b(place), p.scale_b.row_stride);
  }

 private:
  // A's scales lie where its rows do; in a transposed product B's, with its columns.
  BlockScaleLines<T::SCALE_A, Shape::SCALES_A, lines_of_scale(T::SCALE_A, Shape::WM), THREADS, Shape::INDEX_A && T::SCALE_A == scale_block_1x128> a_;
  BlockScaleLines<T::SCALE_B, Shape::SCALES_B, lines_of_scale(Shape::KIND_B, Shape::WN), THREADS, Shape::INDEX_B && T::SCALE_B == scale_block_1x128, T::SPLIT_PAIRS> b_;
};

// What a consumer multiplies a block's sums by, of 64 rows of its part: those of ptx/wgmma.cuh's rows and columns that a thread has. What is scaled otherwise, or not, has 1 here.
template <class T>
class BlockScales {
  using Shape = WgmmaShape<T>;
  static constexpr int WN = Shape::WN, ACROSS = lines_of_scale(Shape::KIND_B, WN), PIECES = Shape::KIND_B == scale_block_128x128 ? WN / ACROSS : 1;

 public:
  // Whether columns have scales of their own: a thread has so many of them that it reads each when it needs it.
  static constexpr bool COLUMNS = Shape::KIND_B == scale_block_1x128;

  // Reads a slot's: early, as what reads shared memory waits for long where wgmmas and copies keep it busy. ring: its beginning; (row, column): in the CTA's tile, where the 64 rows begin.
  GG_DEVICE void read(const char* ring, typename Shape::Cursor at, int row, int column) {
    const float* const of_b = reinterpret_cast<const float*>(ring + Shape::scales_b(Shape::place(at)));
    columns_ = of_b + column + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) pieces_[piece] = Shape::KIND_B == scale_block_128x128 ? of_b[column / ACROSS + piece] : 1;
    read_rows(ring, at, row);
  }
  // Others of the same columns, from this row on.
  GG_DEVICE void read_rows(const char* ring, typename Shape::Cursor at, int row) {
    const float* const of_a = reinterpret_cast<const float*>(ring + Shape::scales_a(Shape::place(at)));
    const int within = row + static_cast<int>(threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) rows_[half] = Shape::SCALES_A > 0 ? of_a[(within + half * 8) / lines_of_scale(T::SCALE_A, Shape::WM)] : 1;
  }
  // Calls each(s, factor) for every sum s of the 64 rows, once their products were waited for.
  template <class Each>
  GG_DEVICE void each_factor(Each each) const {
    float factor[PIECES][2];
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
      for (int half = 0; half < 2; ++half) factor[piece][half] = rows_[half] * pieces_[piece];
#pragma unroll
    for (int column = 0; column < WN; column += 8) {
      float y[2] = {1, 1};
      if constexpr (COLUMNS) {
        const u64 both = *reinterpret_cast<const u64*>(columns_ + column);
        y[0] = bit_cast<float>(static_cast<u32>(both)), y[1] = bit_cast<float>(static_cast<u32>(both >> 32));
      }
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        const float x = factor[PIECES > 1 ? column / ACROSS : 0][s / 2];
        each(column / 2 + s, COLUMNS ? x * y[s % 2] : x);
      }
    }
  }

 private:
  const float* columns_;
  float rows_[2], pieces_[PIECES];
};

}  // namespace ggemm::kernels
