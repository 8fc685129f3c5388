// SPDX-License-Identifier: Apache-2.0
// Sizes of the blocks that a thread works on, and the memory it needs for them.
#pragma once
#include <algorithm>
#include <cstddef>

#include "ggemm.h"
#include "host/isa.hpp"

namespace ggemm::host {

constexpr i64 block_k = 256;  // depth of packed panels: a panel of B (32 columns of f32) is 32 KB, about an L1
// A tile of D: its packed operands and sums stay in a common L2 (1 MB).
template <class T> constexpr i64 max_rows = sizeof(T) == 4 ? 336 : 168;
template <class T> constexpr i64 max_columns = sizeof(T) == 4 ? 384 : 192;

// A rectangle of the product; of D where columns are paired.
struct Block {
  i64 row, column, rows, columns;
};

// Columns of the product whose sums lie side by side in a row of a tile's sums, from `at` on.
struct Run {
  i64 column, columns, at;
};
struct Runs {
  Run run[2];
  int count;
  const Run* begin() const { return run; }
  const Run* end() const { return run + count; }
};
// Those of a block, in rows of sums `ld` apart: the columns themselves, pairs side by side, or the gates and, in the second half of a row, what they gate.
inline Runs runs_of(const Block& block, int gate, i64 n, i64 ld) {
  if (gate == GGEMM_GATE_HALVES) return {{{block.column, block.columns, 0}, {n / 2 + block.column, block.columns, ld / 2}}, 2};
  if (gate == GGEMM_GATE_INTERLEAVED) return {{{2 * block.column, 2 * block.columns, 0}, {}}, 1};
  return {{{block.column, block.columns, 0}, {}}, 1};
}

// One thread's working memory for sums of type T and an epilogue in V.
template <class T, class V>
struct Workspace {
  // A run of converted elements: panel_rows rows of block_k, or one slice of a whole block.
  static constexpr i64 panel_rows = 36;  // more than any panel's width
  static constexpr i64 a_elements = max_rows<T> * block_k, b_elements = max_columns<T> * block_k;
  static constexpr i64 sum_elements = max_rows<T> * max_columns<T>, run_elements = panel_rows * block_k;
  static constexpr i64 scale_elements = max_rows<T> + max_columns<T> + panel_rows * panel_rows;
  static constexpr std::size_t bytes =
      (a_elements + b_elements + sum_elements + run_elements) * sizeof(T) + (3 * max_columns<T> + max_rows<T>) * sizeof(V) + scale_elements * sizeof(float);

  explicit Workspace(char* memory) {
    a = take<T>(memory, a_elements);
    b = take<T>(memory, b_elements);
    sums = take<T>(memory, sum_elements);
    run = take<T>(memory, run_elements);
    addends = take<V>(memory, max_columns<T>);
    values = take<V>(memory, max_columns<T>);
    column_bias = take<V>(memory, max_columns<T>);
    row_bias = take<V>(memory, max_rows<T>);
    part = take<float>(memory, panel_rows * panel_rows);
    row_scales = take<float>(memory, max_rows<T>);
    column_scales = take<float>(memory, max_columns<T>);
  }
  T *a, *b, *sums, *run;
  V *addends, *values, *column_bias, *row_bias;
  float* part;                        // sums of a panel of A, a panel of B and a block of k
  float *row_scales, *column_scales;  // of a block of k; then of the whole sums

 private:
  template <class E>
  static E* take(char*& memory, i64 count) {
    E* out = reinterpret_cast<E*>(memory);
    memory += count * static_cast<i64>(sizeof(E));
    return out;
  }
};

// Enough for each of them.
constexpr std::size_t scratch_bytes =
    std::max({Workspace<float, float>::bytes, Workspace<double, double>::bytes, Workspace<i32, i32>::bytes, Workspace<i32, float>::bytes});

}  // namespace ggemm::host
