// SPDX-License-Identifier: Apache-2.0
// What the elements of a step of D take beside their sums: scales, biases and weights of its rows and columns. A warp loads those of the whole step at once, ahead of the wait for the step's slot. Loaded where
// an element needs them, each behind its own branches, they came one latency after the other: a product of fp8 with scales by rows and columns took 40% longer than with a scale a tensor.
#pragma once
#include "epilogue/slot.cuh"
#include "epilogue/sum_scale.cuh"
#include "grouped_call.cuh"
#include "tile/columns.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// What a vector is along; nothing: it is one value.
enum class Along { nothing, rows, columns };

// What a warp needs of one vector for a step. Of rows a thread has its two. Of columns lane l has the l-th pair (PER is 1 where the vector has one element for a pair of the product's columns), and a thread gets
// those of its own sums by shuffles: a block of 8 columns is four pairs, so that a set of registers has 8 blocks, and which one is known to the compiler.
template <class V, Along ALONG, int BLOCKS, int PER = 2>
class StepVector {
  static constexpr int SETS = ALONG == Along::columns ? (BLOCKS + 7) / 8 : 1, SET = ALONG == Along::nothing ? 1 : PER;
  V values_[SETS][SET];

 public:
  // What a thread's two rows and two columns of a block take.
  struct Block {
    V values[SET];
    GG_DEVICE V at(int row, int column) const { return values[(ALONG == Along::rows ? row : column) % SET]; }
  };

  // read(i): the i-th of `count` elements. Behind the last one it is read again, for rows and columns that are not stored: so no load is behind a branch.
  template <class Read>
  GG_DEVICE void load(int thread, int count, Read read) {
    const int lane = thread % 32, first = ALONG == Along::rows ? thread / 32 * 16 + lane / 4 : lane * PER;
#pragma unroll
    for (int i = 0; i < SETS; ++i)
#pragma unroll
      for (int j = 0; j < SET; ++j) {
        const int wanted = first + (ALONG == Along::rows ? 8 : 1) * j + 32 * PER * i;
        values_[i][j] = read(wanted < count ? wanted : count - 1);
      }
  }
  // All lanes of a warp, for the same block of the product's columns.
  GG_DEVICE Block block(int lane, int number) const {
    Block block;
#pragma unroll
    for (int j = 0; j < SET; ++j)
      block.values[j] = ALONG == Along::columns ? __shfl_sync(0xffffffffu, values_[number / 8 % SETS][j], lane % 4 + number % 8 * 4) : values_[0][j];
    return block;
  }
};

// STEP: columns of D, of which each is of one column of the product, or of a pair.
template <class T, int STEP>
class StepVectors {
  using Sum = typename T::Sum;
  using Value = typename T::Value;
  static constexpr bool PAIRED = T::GATE != 0;
  static constexpr int BLOCKS = STEP / 8 * (PAIRED ? 2 : 1);
  // A's scales lie where its rows do: in a transposed product B's, with its columns.
  static constexpr bool INDEX_A = T::SCALE_A == scale_vector && T::GATHER && !T::INDEX_COLUMNS, INDEX_B = T::SCALE_B == scale_vector && T::GATHER && T::INDEX_COLUMNS;
  using ScalesA = StepVector<float, T::SCALE_A == scale_vector ? Along::rows : Along::nothing, BLOCKS>;
  using ScalesB = StepVector<float, T::SCALE_B == scale_vector ? Along::columns : Along::nothing, BLOCKS>;
  using Biases = StepVector<Value, T::BIAS == 1 ? Along::columns : T::BIAS == 2 ? Along::rows : Along::nothing, BLOCKS>;
  using Weights = StepVector<Value, !T::SCATTER ? Along::nothing : T::INDEX_COLUMNS ? Along::columns : Along::rows, BLOCKS, PAIRED && T::INDEX_COLUMNS ? 1 : 2>;
  ScalesA scales_a_;
  ScalesB scales_b_;
  Biases biases_;
  Weights weights_;

 public:
  // What a thread's sums of a block of 8 columns of the product take; row, column: 0 or 1, of its two.
  struct Block {
    typename ScalesA::Block scales_a;
    typename ScalesB::Block scales_b;
    typename Biases::Block biases;
    typename Weights::Block weights;
    GG_DEVICE Value scaled(Sum sum, int row, int column) const {
      if constexpr (SumScale<T::SCALE_A>::ANY || SumScale<T::SCALE_B>::ANY) return static_cast<Value>(sum) * (scales_a.at(row, column) * scales_b.at(row, column));
      else return static_cast<Value>(sum);
    }
    GG_DEVICE Value bias(int row, int column) const {
      if constexpr (T::BIAS != 0) return biases.at(row, column);
      else return Value(0);
    }
    // Of D: a pair's column is the first of its two.
    GG_DEVICE Value weighted(Value value, int row, int column) const {
      if constexpr (T::SCATTER) return weights.at(row, column) * value;
      else return value;
    }
  };

  // lines, start: as StagedEpilogue::run() has them. A step may have no rows or columns, behind the last ones of the warpgroup's part of D: these are then read.
  GG_DEVICE void load(const GemmParams& p, const GroupRows& lines, i64 start, const StepPart& step, int thread) {
    const i64 row = step.row, column = PAIRED ? 2 * step.column : step.column;  // of the product
    const int rows = step.rows, columns = PAIRED ? 2 * step.columns : step.columns;
    const auto placed = [&p](i64 j) { return paired_column<T::SPLIT_PAIRS>(p.n, j); };
    const SumScale<T::SCALE_A> scale_a(p.scale_a, p.scale_a.row_stride, 0);
    const SumScale<T::SCALE_B> scale_b(p.scale_b, p.scale_b.col_stride, 0);
    scales_a_.load(thread, rows, [&](int i) { return scale_of<INDEX_A>(scale_a, lines, start, row + i); });
    scales_b_.load(thread, columns, [&](int i) { return scale_of<INDEX_B>(scale_b, lines, start, placed(column + i)); });
    if constexpr (T::BIAS != 0) {
      const auto* const bias = static_cast<const typename T::Bias*>(p.bias);
      biases_.load(thread, T::BIAS == 1 ? columns : rows, [&](int i) { return to_sum<Value>(bias[T::BIAS == 1 ? placed(column + i) : row + i]); });
    }
    if constexpr (T::SCATTER) {
      const float* const weights = lines.weights ? lines.weights + start + (T::INDEX_COLUMNS ? step.column : row) : nullptr;
      weights_.load(thread, T::INDEX_COLUMNS ? step.columns : rows, [weights](int i) { return weights ? static_cast<Value>(weights[i]) : Value(1); });
    }
  }
  GG_DEVICE Block block(int lane, int number) const { return {scales_a_.block(lane, number), scales_b_.block(lane, number), biases_.block(lane, number), weights_.block(lane, number)}; }

 private:
  // Of a line that is nowhere none is looked at.
  template <bool INDEX, class Scale>
  GG_DEVICE static float scale_of(const Scale& scale, const GroupRows& lines, i64 start, i64 line) {
    if constexpr (INDEX) line = read_row(lines.a_index, start + line);
    return INDEX && line < 0 ? 0.0f : scale.at(line);
  }
};

}  // namespace ggemm::kernels
