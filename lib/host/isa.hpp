// SPDX-License-Identifier: Apache-2.0
// The inner loops of the CPU device, compiled once for each instruction set and chosen when the program runs.
#pragma once
#include <vector>

#include "params.cuh"

namespace ggemm::host {

using kernels::i32;
using kernels::i64;
using kernels::u32;

// Index of the loader that rounds f32 to tf32, beside those of the dtypes (numbered as ggemm_dtype).
constexpr int load_tf32 = 9;

// count elements, `stride` elements apart, as T or V. Null where the ABI has no such pair.
template <class T> using LoadRow = void (*)(T* out, const void* in, i64 stride, i64 count);
template <class V> using StoreRow = void (*)(void* out, i64 stride, const V* in, i64 count);

// Packed operands: panels of `width` rows of A (or columns of B), in each of which the elements of one k lie together.
template <class T>
struct PanelWriter {
  int width;
  // One panel of `count` <= width rows, row r contiguous along k at rows + r * ld. Rows past `count` become 0.
  void (*from_rows)(T* panel, const T* rows, i64 ld, i64 count, i64 depth);
  // The k-th slice of all panels: `count` elements that are contiguous along m (or n).
  void (*from_slice)(T* panels, const T* slice, i64 count, i64 depth, i64 k);
};

// What one instruction set brings for sums of type T (float, double or i32).
template <class T>
struct Kernels {
  // sums[r, 0 .. b.width) = (first ? 0 : sums) + A panel x B panel, one step after the other. tile[r - 1] does r rows.
  using Tile = void (*)(i64 steps, const T* a, const T* b, T* sums, i64 ld, bool first);
  PanelWriter<T> a, b;
  // Makes a panel's every two k one step, where that is what `tile` multiplies; else null: a step is a k.
  void (*pair)(T* panel, i64 width, i64 depth);
  i64 steps(i64 depth) const { return pair ? (depth + 1) / 2 : depth; }
  const Tile* tile;
  LoadRow<T> load[10];
  StoreRow<T> store[9];
  // addend = beta * addend + (biases ? biases[i] : bias)
  void (*blend)(T* addend, T beta, const T* biases, T bias, i64 count);
  // values = alpha * values + (addends ? addends[i] : addend)
  void (*scale)(T* values, T alpha, const T* addends, T addend, i64 count);
  // sums += (row_scale * column_scales[i]) * part; f32 only
  void (*add_scaled)(T* sums, T row_scale, const T* column_scales, const T* part, i64 count);
};

struct Isa {
  const char* name;
  Kernels<float> f32;
  Kernels<double> f64;
  Kernels<i32> int32;
  template <class T> const Kernels<T>& kernels() const;
};
template <> inline const Kernels<float>& Isa::kernels<float>() const { return f32; }
template <> inline const Kernels<double>& Isa::kernels<double>() const { return f64; }
template <> inline const Kernels<i32>& Isa::kernels<i32>() const { return int32; }

extern const Isa isa_baseline;
#if defined(__x86_64__)
extern const Isa isa_avx2;
extern const Isa isa_avx512;
#endif

// Those that this CPU can run, best first.
const std::vector<const Isa*>& usable_isas();

}  // namespace ggemm::host
