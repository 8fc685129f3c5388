// SPDX-License-Identifier: Apache-2.0
// Sizes of the blocks that a thread works on, and the memory it needs for them.
#pragma once
#include <algorithm>
#include <cstddef>

#include "host/isa.hpp"

namespace ggemm::host {

constexpr i64 block_k = 256;  // depth of packed panels: a panel of B (32 columns of f32) is 32 KB, about an L1
// A tile of D: its packed operands and sums stay in a common L2 (1 MB).
template <class T> constexpr i64 max_rows = sizeof(T) == 4 ? 336 : 168;
template <class T> constexpr i64 max_columns = sizeof(T) == 4 ? 384 : 192;

// A rectangle of D.
struct Block {
  i64 row, column, rows, columns;
};

// One thread's working memory for sums of type T and an epilogue in V.
template <class T, class V>
struct Workspace {
  // A run of converted elements: panel_rows rows of block_k, or one slice of a whole block.
  static constexpr i64 panel_rows = 36;  // more than any panel's width
  static constexpr i64 a_elements = max_rows<T> * block_k, b_elements = max_columns<T> * block_k;
  static constexpr i64 sum_elements = max_rows<T> * max_columns<T>, run_elements = panel_rows * block_k;
  static constexpr std::size_t bytes =
      (a_elements + b_elements + sum_elements + run_elements) * sizeof(T) + (3 * max_columns<T> + max_rows<T>) * sizeof(V);

  explicit Workspace(char* memory) {
    a = take<T>(memory, a_elements);
    b = take<T>(memory, b_elements);
    sums = take<T>(memory, sum_elements);
    run = take<T>(memory, run_elements);
    addends = take<V>(memory, max_columns<T>);
    values = take<V>(memory, max_columns<T>);
    column_bias = take<V>(memory, max_columns<T>);
    row_bias = take<V>(memory, max_rows<T>);
  }
  T *a, *b, *sums, *run;
  V *addends, *values, *column_bias, *row_bias;

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
