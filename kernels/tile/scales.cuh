// SPDX-License-Identifier: Apache-2.0
// Where the scales of A and B lie in their matrices, on host and device. Kinds are numbered as ggemm_scale_kind. A's matrix has a row for each row of A, or of A's
// blocks, and a column for each block of k; B's a row for each block of k.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

constexpr int scale_none = 0, scale_tensor = 1, scale_vector = 2, scale_block_1x128 = 3, scale_block_128x128 = 4;
constexpr int scale_block = 128;  // of k, and of m or n where blocks are square

// Whether the scales change along k, so that the products of each block are summed apart.
GG_HD constexpr bool scaled_by_blocks(int kind) { return kind >= scale_block_1x128; }
// Which of the scales along m (or n) is row (column) i's, and how many there are of `size` of them.
GG_HD constexpr i64 scale_at(int kind, i64 i) { return kind == scale_vector || kind == scale_block_1x128 ? i : kind == scale_block_128x128 ? i / scale_block : 0; }
GG_HD constexpr i64 scales_along(int kind, i64 size) { return kind <= scale_tensor ? 1 : kind == scale_block_128x128 ? ceil_div(size, scale_block) : size; }
GG_HD constexpr i64 scales_deep(int kind, i64 k) { return scaled_by_blocks(kind) ? ceil_div(k, scale_block) : 1; }

// How a tile's lines are scaled. Pairs of halves are neighbours in a tile, but lie in different squares: each line has its own scale there.
GG_HD constexpr int kind_in_tile(int kind, bool split_pairs) { return split_pairs && kind == scale_block_128x128 ? scale_block_1x128 : kind; }
// Of an operand scaled by blocks: how many lines (rows of A, columns of B) of a consumer's part, of `part` lines, have one scale at least; and how many scales a block of k of a tile of `lines` has, if there is
// one for each so many.
GG_HD constexpr int lines_of_scale(int kind, int part) { return kind == scale_block_1x128 ? 1 : (part & -part) < scale_block ? part & -part : scale_block; }
GG_HD constexpr int tile_scales(int kind, int lines, int part) { return scaled_by_blocks(kind) ? lines / lines_of_scale(kind, part) : 0; }
// Bytes that so many take in each of a slot's two places, of which two are read at once; and those of both operands.
GG_HD constexpr int scale_bytes(int scales) { return (scales + 1) / 2 * 8; }
GG_HD constexpr int slot_scale_bytes(int of_a, int of_b) { return scale_bytes(of_a) + scale_bytes(of_b); }
// Whether a kernel's A is scaled so that the copy engine can bring a tile's, where they lie along m: a line of them for a block of k.
GG_HD constexpr bool scaled_by_lines(int kind_a) { return kind_a == scale_block_1x128; }

// How a grouped problem's parts are shaped: the kinds of scales and the gate, in one number that a kernel is compiled for.
GG_HD constexpr u32 group_shape(int scale_a, int scale_b, int gate) { return static_cast<u32>(scale_a | scale_b << 3 | gate << 6); }
GG_HD constexpr int scale_a_of(u32 shape) { return static_cast<int>(shape & 7); }
GG_HD constexpr int scale_b_of(u32 shape) { return static_cast<int>(shape >> 3 & 7); }
GG_HD constexpr bool paired(u32 shape) { return shape >> 6; }
GG_HD constexpr bool split_pairs(u32 shape) { return shape >> 6 == 1; }  // of halves

}  // namespace ggemm::kernels
