// SPDX-License-Identifier: Apache-2.0
// The inner loops themselves. Included once by each isa_*.cpp, which defines GG_TARGET, the vector types with splat and multiply_add, tile_rows,
// tile_vectors and the f16 rows. All is in an unnamed namespace: code for one instruction set must never be merged with another's.
//
// Rule of the sums: each element of D is one chain of multiply-adds from 0, k ascending, in every kernel here (of integers, which are exact, two at once). So its bits depend on neither m, n,
// the element's place, the blocking nor the threads. With FMA the product is not rounded; the x86-64 baseline rounds it.
#include <cstring>
#include <type_traits>
#include <utility>

#include "epilogue/value.cuh"
#include "ggemm.h"

namespace ggemm::host {
namespace {

template <class T> struct VectorOf;
template <> struct VectorOf<float> { using type = VectorF; using element = float; };
template <> struct VectorOf<double> { using type = VectorD; using element = double; };
template <> struct VectorOf<i32> { using type = VectorI; using element = u32; };  // unsigned: sums wrap

template <class T> constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
template <class T> constexpr int tile_columns = tile_vectors * lanes<T>;

template <class T, int Rows>
GG_TARGET void multiply_panels(i64 steps, const T* a, const T* b, T* sums, i64 ld, bool first) {
  using Vector = typename VectorOf<T>::type;
  using Element = typename VectorOf<T>::element;
  Vector c[Rows][tile_vectors];  // (Rows, tile_columns), in registers
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < tile_vectors; ++v)
      c[r][v] = first ? splat(Element(0)) : *reinterpret_cast<const Vector*>(sums + r * ld + v * lanes<T>);
  for (i64 step = 0; step < steps; ++step) {
    Vector row[tile_vectors];
#pragma GCC unroll 4
    for (int v = 0; v < tile_vectors; ++v) row[v] = *reinterpret_cast<const Vector*>(b + v * lanes<T>);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Vector x = splat(static_cast<Element>(a[r]));
#pragma GCC unroll 4
      for (int v = 0; v < tile_vectors; ++v) c[r][v] = multiply_add(x, row[v], c[r][v]);
    }
    a += tile_rows;
    b += tile_columns<T>;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < tile_vectors; ++v) *reinterpret_cast<Vector*>(sums + r * ld + v * lanes<T>) = c[r][v];
}

// multiply_panels for 1 .. tile_rows rows
template <class T, class Rows> struct TileList;
template <class T, int... R>
struct TileList<T, std::integer_sequence<int, R...>> {
  static constexpr typename Kernels<T>::Tile tiles[] = {multiply_panels<T, R + 1>...};
};

typedef u32 Quad __attribute__((vector_size(16), may_alias, aligned(4)));

// Four rows of four-byte elements, turned: out[j] = (r0[j], r1[j], r2[j], r3[j]), `step` bytes apart.
GG_TARGET inline void turn_quads(char* out, i64 step, const char* in, i64 row_step) {
  const Quad r0 = *reinterpret_cast<const Quad*>(in), r1 = *reinterpret_cast<const Quad*>(in + row_step);
  const Quad r2 = *reinterpret_cast<const Quad*>(in + 2 * row_step), r3 = *reinterpret_cast<const Quad*>(in + 3 * row_step);
  const Quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5), high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  *reinterpret_cast<Quad*>(out) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  *reinterpret_cast<Quad*>(out + step) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  *reinterpret_cast<Quad*>(out + 2 * step) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  *reinterpret_cast<Quad*>(out + 3 * step) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

template <class T, int Width>
GG_TARGET void panel_from_rows(T* panel, const T* rows, i64 ld, i64 count, i64 depth) {
  i64 r = 0;
  if constexpr (sizeof(T) == 4) {
    for (; r + 4 <= count; r += 4) {
      i64 k = 0;
      for (; k + 4 <= depth; k += 4)
        turn_quads(reinterpret_cast<char*>(panel + k * Width + r), Width * 4, reinterpret_cast<const char*>(rows + r * ld + k), ld * 4);
      for (; k < depth; ++k)
        for (i64 i = r; i < r + 4; ++i) panel[k * Width + i] = rows[i * ld + k];
    }
  }
  for (; r < count; ++r)
    for (i64 k = 0; k < depth; ++k) panel[k * Width + r] = rows[r * ld + k];
  for (; r < Width; ++r)
    for (i64 k = 0; k < depth; ++k) panel[k * Width + r] = T(0);
}

template <class T, int Width>
GG_TARGET void panels_from_slice(T* panels, const T* slice, i64 count, i64 depth, i64 k) {
  T* out = panels + k * Width;
  for (; count >= Width; count -= Width, slice += Width, out += Width * depth) std::memcpy(out, slice, Width * sizeof(T));
  if (count == 0) return;
  for (i64 i = 0; i < Width; ++i) out[i] = i < count ? slice[i] : T(0);
}

// Elements of k and k + 1, of 16 bits or fewer, to the halves of a word. In place: what is written has been read.
GG_TARGET inline void pair_panel(i32* panel, i64 width, i64 depth) {
  for (i64 k = 0; k < depth; k += 2) {
    const i32 *const even = panel + k * width, *const odd = even + width;
    i32* const out = panel + k / 2 * width;
    const bool last = k + 1 == depth;
#pragma GCC ivdep
    for (i64 i = 0; i < width; ++i) out[i] = static_cast<i32>((static_cast<u32>(even[i]) & 0xffff) | (last ? 0 : static_cast<u32>(odd[i]) << 16));
  }
}

// Every value of an 8-bit float.
template <class Element>
struct ByteTable {
  float value[256];
  ByteTable() {
    for (int i = 0; i < 256; ++i) value[i] = kernels::to_sum<float>(Element{static_cast<kernels::u8>(i)});
  }
};

template <class T, class Element>
GG_TARGET void load_row(T* out, const void* in, i64 stride, i64 count) {
  const Element* from = static_cast<const Element*>(in);
  if constexpr (std::is_same_v<Element, kernels::E4m3> || std::is_same_v<Element, kernels::E5m2>) {
    static const ByteTable<Element> table;
    for (i64 i = 0; i < count; ++i) out[i] = static_cast<T>(table.value[from[i * stride].bits]);
  } else if constexpr (std::is_same_v<Element, kernels::F16> && std::is_same_v<T, float>) {
    if (stride == 1) return f16_to_f32(out, from, count);
    for (i64 i = 0; i < count; ++i) out[i] = kernels::to_sum<T>(from[i * stride]);
  } else {
    if (stride == 1)
      for (i64 i = 0; i < count; ++i) out[i] = kernels::to_sum<T>(from[i]);
    else
      for (i64 i = 0; i < count; ++i) out[i] = kernels::to_sum<T>(from[i * stride]);
  }
}

GG_TARGET void load_row_tf32(float* out, const void* in, i64 stride, i64 count) {
  const float* from = static_cast<const float*>(in);
  for (i64 i = 0; i < count; ++i) out[i] = kernels::round_tf32(from[i * stride]);
}

template <class V, class Element>
GG_TARGET void store_row(void* out, i64 stride, const V* in, i64 count) {
  Element* to = static_cast<Element*>(out);
  if (stride == 1) {
    if constexpr (std::is_same_v<Element, kernels::F16> && std::is_same_v<V, float>)
      f32_to_f16(to, in, count);
    else
      for (i64 i = 0; i < count; ++i) to[i] = kernels::Store<Element>::from(in[i]);
  } else {
    for (i64 i = 0; i < count; ++i) to[i * stride] = kernels::Store<Element>::from(in[i]);
  }
}

template <class V>
GG_TARGET void blend_row(V* addend, V beta, const V* biases, V bias, i64 count) {
  if (biases)
    for (i64 i = 0; i < count; ++i) addend[i] = kernels::multiply_add(beta, addend[i], biases[i]);
  else
    for (i64 i = 0; i < count; ++i) addend[i] = kernels::multiply_add(beta, addend[i], bias);
}

template <class V>
GG_TARGET void scale_row(V* values, V alpha, const V* addends, V addend, i64 count) {
  if (addends)
    for (i64 i = 0; i < count; ++i) values[i] = kernels::multiply_add(alpha, values[i], addends[i]);
  else
    for (i64 i = 0; i < count; ++i) values[i] = kernels::multiply_add(alpha, values[i], addend);
}

GG_TARGET void add_scaled_row(float* sums, float row_scale, const float* column_scales, const float* part, i64 count) {
  for (i64 i = 0; i < count; ++i) sums[i] = kernels::multiply_add(row_scale * column_scales[i], part[i], sums[i]);
}

template <class T>
constexpr Kernels<T> make_kernels() {
  Kernels<T> out{};
  out.a = {tile_rows, panel_from_rows<T, tile_rows>, panels_from_slice<T, tile_rows>};
  out.b = {tile_columns<T>, panel_from_rows<T, tile_columns<T>>, panels_from_slice<T, tile_columns<T>>};
  out.tile = TileList<T, std::make_integer_sequence<int, tile_rows>>::tiles;
  if constexpr (std::is_same_v<T, i32> && pairs_of_integers) out.pair = pair_panel;
  out.load[GGEMM_I8] = load_row<T, kernels::i8>;
  out.load[GGEMM_I32] = load_row<T, i32>;
  out.store[GGEMM_I32] = store_row<T, i32>;
  if constexpr (!std::is_same_v<T, i32>) {
    out.load[GGEMM_F64] = load_row<T, double>;
    out.load[GGEMM_F32] = load_row<T, float>;
    out.load[GGEMM_F16] = load_row<T, kernels::F16>;
    out.load[GGEMM_BF16] = load_row<T, kernels::Bf16>;
    out.load[GGEMM_E4M3] = load_row<T, kernels::E4m3>;
    out.load[GGEMM_E5M2] = load_row<T, kernels::E5m2>;
    out.store[GGEMM_F64] = store_row<T, double>;
    out.store[GGEMM_F32] = store_row<T, float>;
    out.store[GGEMM_F16] = store_row<T, kernels::F16>;
    out.store[GGEMM_BF16] = store_row<T, kernels::Bf16>;
    out.store[GGEMM_E4M3] = store_row<T, kernels::E4m3>;
    out.store[GGEMM_E5M2] = store_row<T, kernels::E5m2>;
    out.store[GGEMM_I8] = store_row<T, kernels::i8>;
  }
  if constexpr (std::is_same_v<T, float>) out.load[load_tf32] = load_row_tf32, out.add_scaled = add_scaled_row;
  out.blend = blend_row<T>;
  out.scale = scale_row<T>;
  return out;
}

constexpr Isa make_isa(const char* name) { return {name, make_kernels<float>(), make_kernels<double>(), make_kernels<i32>()}; }

}  // namespace
}  // namespace ggemm::host
