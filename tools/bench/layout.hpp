// SPDX-License-Identifier: Apache-2.0
// Where the matrices, scales and indices of a case lie in memory.
#pragma once
#include <cstdint>
#include <vector>

#include "bench/case.hpp"

namespace ggemm::bench {

// Where one matrix of a case lies in its operand's memory; all are row-major.
struct View {
  std::int64_t base = 0;  // elements from the start of the memory
  std::int64_t rows = 0, cols = 0, ld = 0;
  std::int64_t at(std::int64_t row, std::int64_t col) const { return base + row * ld + col; }
};

// Where the scales of one matrix lie among its operand's: at() takes an element of A [m,k] or of B [k,n].
struct ScaleView {
  std::int64_t base = 0, row_stride = 0, col_stride = 0;
  std::int64_t row_span = 1, col_span = 1;  // rows and columns that have a scale in common
  std::int64_t at(std::int64_t row, std::int64_t col) const { return base + row / row_span * row_stride + col / col_span * col_stride; }
};

// A case laid out in memory: one entry a group, or a single one.
struct Layout {
  std::vector<View> a, b, d;  // of rows by index, in every group the matrix of all
  std::int64_t elements_a = 0, elements_b = 0, elements_d = 0;  // of each operand's memory
  std::vector<ScaleView> scale_a, scale_b;                      // none where nothing is scaled
  std::int64_t scales_a = 0, scales_b = 0;                      // in all
  std::vector<std::int32_t> index;                              // gathered, scattered: the row of A, or of D, of each row in the groups' order
};
// Throws tools::Failure for scales of groups that do not differ in m alone.
Layout lay_out(const Case& one);

// Of a grouped case, [groups][3] numbers: m, n, k of each group, and the leading dimensions of A, B and D; and where each group's rows (of a ragged k: its depth) end,
// of all groups'.
std::vector<std::int32_t> group_sizes(const Case& one);
std::vector<std::int32_t> group_lds(const Layout& layout);
std::vector<std::int32_t> group_ends(const Case& one);
// Whether a case of Form::own goes as ragged m: the groups differ in m alone, their rows of A and D follow one another, and their Bs are a distance apart.
bool ragged_rows(const Case& one, const Layout& layout);
// Elements from one group's matrix to the next one's.
std::int64_t distance(const std::vector<View>& views);

}  // namespace ggemm::bench
