// SPDX-License-Identifier: Apache-2.0
// What memory has of groups is brought near before it is read: sizes lead to tiles, tiles to pointers and strides, and each by itself is on its way for most of a microsecond.
#pragma once
#include "params.cuh"

namespace ggemm::kernels {

// A warp: the numbers and pointers of the first groups, of each array so many bytes; one lane for each array.
GG_DEVICE void bring_near(const GroupedParams& p) {
  constexpr i64 line = 128, most = 4 * line;
  static_assert(sizeof(p.scale_a) == sizeof(p.a));
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = (lane - 3) / 3, part = lane % 3;
  if (matrix >= 6) return;
  const SourceMatrix& of = matrix < 4 ? (&p.a)[matrix] : (&p.scale_a)[matrix - 4];
  const Source& number = lane < 3 ? (&p.m)[lane] : part == 1 ? of.row_stride : of.col_stride;
  const bool pointer = lane >= 3 && part == 0;
  const char* const data = static_cast<const char*>(pointer ? of.data : number.data);
  const i64 apart = pointer ? i64(sizeof(void*)) : number.byte_stride;
  if (!data || !(pointer ? of.pointers : number.kind)) return;
  const i64 bytes = min_of(max_of(p.groups * apart, 1), most);
#pragma unroll 1
  for (i64 at = 0; at < bytes; at += line) ptx::prefetch(data + at);
}

}  // namespace ggemm::kernels
