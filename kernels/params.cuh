// SPDX-License-Identifier: Apache-2.0
// What the host hands to a kernel: the same plain structs on both sides. Strides are in elements. What is of groups alone is in grouped_call.cuh.
#pragma once
#include "tile/depth.cuh"
#include "tile/walk.cuh"

namespace ggemm::kernels {

// A matrix: element (i, j) at data + (i * row_stride + j * col_stride) elements.
struct Matrix {
  const void* data;
  i64 row_stride, col_stride;
};
GG_HD bool same_matrix(const Matrix& a, const Matrix& b) { return a.data == b.data && a.row_stride == b.row_stride && a.col_stride == b.col_stride; }

// A stride that means "packed" (INT64_MIN, as GGEMM_PACKED).
constexpr i64 packed_stride = static_cast<i64>(1ull << 63);

// A scalar by value, or in device memory if `pointer` is set. `bits` holds an f64, f32 or i32 in its low bytes, as the epilogue computes.
struct Scalar {
  const void* pointer;
  u64 bits;
};

struct EpilogueParams {
  Scalar alpha, beta;
  double activation_p0, activation_p1;
};

// One product: D[m,n] = act(alpha scale A B + beta C + bias), or the gated pairs of it.
struct GemmParams {
  i64 m, n, k;
  Matrix a, b, c, d;  // d.data is written
  const void* bias;   // m or n elements, as the kernel was compiled
  EpilogueParams epilogue;
  i32 raster;
  u32 max_ctas;             // of the launch, which the host alone looks at; 0: no limit
  Matrix scale_a, scale_b;  // f32, as tile/scales.cuh says; no data where there are none, or where k is 0
};

// The same product with A and B, rows and columns changed over: D' = B' A'.
GG_HD GemmParams transposed(const GemmParams& p) {
  GemmParams out = p;
  out.m = p.n, out.n = p.m;
  out.a = {p.b.data, p.b.col_stride, p.b.row_stride};
  out.b = {p.a.data, p.a.col_stride, p.a.row_stride};
  out.c = {p.c.data, p.c.col_stride, p.c.row_stride};
  out.d = {p.d.data, p.d.col_stride, p.d.row_stride};
  out.scale_a = {p.scale_b.data, p.scale_b.col_stride, p.scale_b.row_stride};
  out.scale_b = {p.scale_a.data, p.scale_a.col_stride, p.scale_a.row_stride};
  return out;
}

// How D is stored: by threads, by the copy engine, or by the copy engine but for what D's ends cut. (The engine writes 16 bytes at a time: a line's last piece, if it is
// shorter, would be written past the line's end.)
// inner_boxes: the copy engine stores the boxes that lie in D as a whole, as its map goes on behind the group's part; lines are whole vectors of 16 bytes.
enum class TensorStore : i32 { threads, boxes, whole_boxes, inner_boxes };

// Which tiles are cut along k, and where the clusters (CTAs, of simt and sm80) that have pieces of one meet (epilogue/slices.cuh): memory for the sums of each party, and, for tiles left over, a counter for those
// of all pieces that have the same part of D, which is 0 between launches.
struct SliceParams {
  void* sums;
  u32* arrivals;
  DepthDeal deal;
};

// A product of the kernels that need no tensor maps, of which a CTA has one tile.
struct PlainParams {
  GemmParams problem;
  TileWalk walk;
};

// One whose tiles may be cut.
struct CutParams {
  PlainParams plain;
  SliceParams slices;
  PieceWalk pieces;
};

// Where split.cu, which cuts f32 operands into terms, tells the product that one of their elements is unusual (tile/terms.cuh). Two calls that follow one another use different words: split.cu says
// which is the product's and clears the other one, which the product before has read, and the product passes the turn on. So nothing is cleared, or passed, that others may read meanwhile.
struct TermsMark {
  u32 turn;        // the product's word
  u32 unusual[2];  // 1: there is one
  u32 next;        // the next call's word
};

// The scales by 1x128 of a kernel's A, where they lie along m: the copy engine brings a line of them, a tile's of a block of k.
struct ScaleLines {
  TensorMap map;
  i32 of_group;  // of groups: lines from one's first to the next one's
  i32 mapped;    // 0: threads bring them, one by one
  u32 filling[14];
};

// A matrix as the copy engine reaches it: from this line of a map on; of a batch, the product of this number.
struct MappedLines {
  const TensorMap* map;
  i32 line;
};

// A batch: products that are alike, in cluster tiles of so many each, and bytes from one product's part of an operand to the next one's; 0: all have the same.
struct BatchParams {
  Divisor tiles;
  u32 reserved;
  i64 a, b, c, d, bias, alpha, beta, scale_a, scale_b;
};
// The number-th product of a batch.
GG_HD GemmParams product_of(const BatchParams& batch, GemmParams p, i64 number) {
  const auto move = [number](const void*& at, i64 bytes) { at = static_cast<const char*>(at) + number * bytes; };
  move(p.a.data, batch.a);
  move(p.b.data, batch.b);
  move(p.c.data, batch.c);
  move(p.d.data, batch.d);
  move(p.bias, batch.bias);
  move(p.epilogue.alpha.pointer, batch.alpha);
  move(p.epilogue.beta.pointer, batch.beta);
  move(p.scale_a.data, batch.scale_a);
  move(p.scale_b.data, batch.scale_b);
  return p;
}

// The same for the kernels that copy by tensor maps. A map describes its operand as a matrix of panels, as tile/panel_tile.cuh loads them.
struct TensorParams {
  TensorMap a, b, c, d;
  ScaleLines scales;
  TileWalk walk;
  TensorStore store;
  GemmParams problem;
  SliceParams slices;
  TermsMark* terms;  // nullptr: nothing is cut into terms
  i32 maps_c;        // 1: where the copy engine stores D it may bring C, by boxes of the same shape
  u32 reserved;
  BatchParams batch;  // of one: the maps have a dimension more, the products, and walk.tiles counts those of all
  u32 filling[4];
};

// A batch, of the kernels that need no tensor maps.
struct BatchedParams {
  PlainParams plain;  // the first product
  BatchParams batch;
};

// A copy of a matrix: `lines` of `length` elements, whose strides in the copy are to_stride and 1. The copy has room for whole multiples of 16 bytes in a line.
struct CopyParams {
  const void* from;
  i64 line_stride, element_stride;
  void* to;
  i64 to_stride;
  i64 lines, length;
  i64 blocks_across, blocks;  // CTAs along a line, and in all
  i32 turned;                 // 1: elements of a line are no neighbours in the source
  i32 filling;
  // As terms (split.cu): elements from one term to the next; what is written of each, zeros behind the matrix's end.
  i64 term_stride, all_lines, all_length;
};
// Of A and B; one that is not copied has no blocks.
struct RepackParams {
  CopyParams copies[2];
  TermsMark* terms;  // of split.cu
};
// Threads of a CTA, and what it copies: so many lines of so many bytes (repack.cu), or elements (split.cu).
constexpr int repack_threads = 256;
constexpr int repack_straight_lines = 16, repack_straight_bytes = 512;
constexpr int repack_turned_lines = 128, repack_turned_bytes = 128;
GG_HD i64 repack_across(i64 line_bytes, bool turned) { return ceil_div(line_bytes, turned ? repack_turned_bytes : repack_straight_bytes); }
GG_HD i64 repack_down(i64 lines, bool turned) { return ceil_div(lines, turned ? repack_turned_lines : repack_straight_lines); }
constexpr int split_lines = 16, split_length = 256;

// sum_pieces.cu's: threads of a CTA, two warpgroups; the elements of the product in a strip, which is a warpgroup's, or, where tiles have many pieces, both's; and how many strips a CTA has.
constexpr int sum_pieces_threads = 256, strip_size = 64 * 8;
GG_HD u32 strips_at_once(const DepthDeal& deal) { return deal.pieces > 8 ? 1 : 2; }

// flush.cu's: the memory that takes L2, in vectors of 16 bytes, and what no mixture of its words is.
struct FlushParams {
  const void* from;
  i64 vectors;
  u32* sink;
  u32 never, reserved;
};
constexpr int flush_threads = 512;

}  // namespace ggemm::kernels
