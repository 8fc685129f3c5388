// SPDX-License-Identifier: Apache-2.0
// What the host hands to a kernel: the same plain structs on both sides. Strides are in elements.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

// A matrix: element (i, j) at data + (i * row_stride + j * col_stride) elements.
struct Matrix {
  const void* data;
  i64 row_stride, col_stride;
};

// A stride that means "packed" (INT64_MIN, as GGEMM_PACKED).
constexpr i64 packed_stride = static_cast<i64>(1ull << 63);

// Where a per-group number comes from; laid out as ggemm_source.
struct Source {
  const void* data;
  i64 byte_stride;
  i64 value;
  i32 kind;  // ggemm_source_kind
  u32 reserved;
};

GG_HD i64 read_source(const Source& source, i64 group) {
  if (source.kind == 0) return source.value;
  const char* address = static_cast<const char*>(source.data) + group * source.byte_stride;
  return source.kind == 1 ? static_cast<i64>(*reinterpret_cast<const i32*>(address)) : *reinterpret_cast<const i64*>(address);
}

// A scalar by value, or in device memory if `pointer` is set. `bits` holds an f64, f32 or i32 in its low bytes, as the epilogue computes.
struct Scalar {
  const void* pointer;
  u64 bits;
};

struct EpilogueParams {
  Scalar alpha, beta;
  double activation_p0, activation_p1;
};

// One product: D[m,n] = act(alpha A B + beta C + bias).
struct GemmParams {
  i64 m, n, k;
  Matrix a, b, c, d;  // d.data is written
  const void* bias;   // m or n elements, as the kernel was compiled
  EpilogueParams epilogue;
  i32 raster;
  u32 reserved;
};

// The same product with A and B, rows and columns changed over: D' = B' A'.
GG_HD GemmParams transposed(const GemmParams& p) {
  GemmParams out = p;
  out.m = p.n, out.n = p.m;
  out.a = {p.b.data, p.b.col_stride, p.b.row_stride};
  out.b = {p.a.data, p.a.col_stride, p.a.row_stride};
  out.c = {p.c.data, p.c.col_stride, p.c.row_stride};
  out.d = {p.d.data, p.d.col_stride, p.d.row_stride};
  return out;
}

// How D is stored: by threads, by the copy engine, or by the copy engine but for what D's ends cut. (The engine writes 16 bytes at a time: a line's last piece, if it is
// shorter, would be written past the line's end.)
enum class TensorStore : i32 { threads, boxes, whole_boxes };

// The same for the kernels that copy by tensor maps. A map describes its operand as a matrix of panels, as mainloop/wgmma.cuh loads them.
struct TensorParams {
  TensorMap a, b, d;
  GemmParams problem;
  TensorStore store;
  u32 reserved[15];
};

// A copy of a matrix: `lines` of `length` elements, whose strides in the copy are to_stride and 1. The copy has room for whole multiples of 16 bytes in a line.
struct RepackParams {
  const void* from;
  i64 line_stride, element_stride;
  void* to;
  i64 to_stride;
  i64 lines, length;
};
// Threads of a CTA of it, and what a CTA copies: so many lines of so many bytes.
constexpr int repack_threads = 256, repack_lines = 32, repack_bytes = 512;

struct SourceMatrix {
  const void* const* data;  // one pointer a group; for D they are written through
  Source row_stride, col_stride;
};

// One product a group, everything read on the device.
struct GroupedParams {
  i64 groups;
  Source m, n, k;
  SourceMatrix a, b, c, d;
  const void* const* bias;
  EpilogueParams epilogue;
  i32 raster;
  u32 reserved;
};

// What prepare.cu finds out about a group for the kernels that copy by tensor maps: its product, and which of A (1) and B (2) the copy engine reaches.
struct alignas(16) GroupFacts {
  GemmParams problem;
  i32 reach;
  TensorStore store;
};
struct alignas(128) GroupRecord {
  TensorMap a, b, d;  // of what it reaches
  GroupFacts facts;
};

// Those kernels' parameters. tiles: of each group, in cluster tiles.
struct GroupedTensorParams {
  const GroupRecord* records;
  const i32* tiles;
  i32 groups, raster;
};

// prepare.cu's: the problem, maps that are right but for addresses, sizes and strides, and what it must know of the kernel, which may compute the transposed product:
// the sizes and directions are as it sees them.
struct PrepareParams {
  TensorMap a, b, d;
  GroupedParams problem;
  GroupRecord* records;
  i32* tiles;
  i32 tile_m, tile_n;         // of a cluster
  i32 size_a, size_b, size_d; // bytes of an element
  i32 mn_a, mn_b, mn_d;       // 1: contiguous along m or n in shared memory
  i32 boxes;                  // 1: D's steps are whole boxes
  i32 swap;                   // 1: the transposed product
};
constexpr int prepare_threads = 128, prepare_lanes = 4;  // threads of a CTA, and for each group

}  // namespace ggemm::kernels
