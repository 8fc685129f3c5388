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

// One product: D[m,n] = act(alpha scale A B + beta C + bias), or the gated pairs of it.
struct GemmParams {
  i64 m, n, k;
  Matrix a, b, c, d;  // d.data is written
  const void* bias;   // m or n elements, as the kernel was compiled
  EpilogueParams epilogue;
  i32 raster;
  u32 reserved;
  Matrix scale_a, scale_b;  // f32, as tile/scales.cuh says; no data where there are none, or where k is 0
};

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
  SourceMatrix scale_a, scale_b;  // one pointer a group; by tensor the numbers themselves, row_stride apart
};

}  // namespace ggemm::kernels
