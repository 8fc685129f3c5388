// SPDX-License-Identifier: Apache-2.0
// A matrix as the tensor copy engine sees it: lines of contiguous elements. On the host, which encodes maps of plain products, and on the device, which writes those of groups.
#pragma once
#include "params.cuh"

namespace ggemm::kernels {

struct Lines {
  const void* data;
  i64 length, lines;  // elements of a line; lines
  i64 unit, stride;   // elements from one to the next in a line, and from line to line
  i64 half = 0;       // where it is not 0 they are pairs of lines: behind each lies another, so many further on
};
// Pairs of halves: as a matrix of half as many lines, each followed by its other. (A dimension of the tensor map.)
GG_HD Lines in_pairs(Lines l) {
  l.lines /= 2, l.half = l.lines;
  return l;
}

// The matrix of `rows` x `columns` (A is m x k, B k x n), whose lines are its columns if by_columns.
GG_HD Lines lines_of(const Matrix& m, i64 rows, i64 columns, bool by_columns) {
  return by_columns ? Lines{m.data, rows, columns, m.row_stride, m.col_stride} : Lines{m.data, columns, rows, m.col_stride, m.row_stride};
}

// Coordinates of a tensor map have 31 bits. A cluster's tiles may lie past the end of what they are of, by less than its own length: 4 tiles of 832 rows are the longest that shared memory has room for.
constexpr i64 longest_side = (i64(1) << 31) - 4096;

// Sizes and strides that a tensor map can tell: addresses and strides are multiples of 16 bytes. A single line has no stride that matters.
GG_HD bool contiguous(const Lines& l) { return l.unit == 1 || l.length <= 1; }
GG_HD bool short_enough(const Lines& l) { return max_of(l.length, l.lines) <= longest_side; }
// (A division takes as long as all the rest of a map: there is none but where lines are pairs.)
GG_HD bool aligned(const Lines& l, int size) {
  constexpr i64 most = i64(1) << 40;
  const auto near = [&] { return l.stride > 0 && l.stride < most && l.stride * size < (l.half > 1 ? most / l.half : most) && l.stride * size % 16 == 0; };
  return (reinterpret_cast<u64>(l.data) & 15) == 0 && (l.lines + l.half <= 1 || near());
}
GG_HD bool reachable(const Lines& l, int size) { return contiguous(l) && short_enough(l) && aligned(l, size); }
// Bytes from line to line, as a map is told.
GG_HD i64 pitch(const Lines& l, int size) { return l.lines + l.half > 1 ? l.stride * size : ceil_div(l.length * size, 16) * 16; }

// Bytes from one product of a batch to the next one's that a map can tell, of lines of so many bytes.
GG_HD bool products_apart(i64 bytes, i64 line) { return bytes >= line && bytes < (i64(1) << 40) && bytes % 16 == 0; }

// Bytes from line to line of a copy, for lines of so many. The copy engine reads lines that begin off 128 bytes at half the speed; short ones would take many times their memory.
GG_HD i64 copy_pitch(i64 bytes) {
  const i64 unit = bytes > 512 ? 128 : 16;
  return ceil_div(bytes, unit) * unit;
}

// How D is stored where the steps of the epilogue are whole boxes.
GG_HD TensorStore store_way(const Lines& d, int size) {
  if (!reachable(d, size)) return TensorStore::threads;
  return d.length * size % 16 == 0 ? TensorStore::boxes : TensorStore::whole_boxes;
}

}  // namespace ggemm::kernels
