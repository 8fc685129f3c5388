// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the epilogue for one element, on host and device: D = act(alpha * sum + beta * c + bias).
#pragma once
#include "epilogue/activation.cuh"
#include "params.cuh"
#include "tile/numeric.cuh"

namespace ggemm::kernels {

// The type that an epilogue computes in, from the type of the sums and D's element.
template <class Sum, class D> struct EpilogueType { using type = float; };
template <class D> struct EpilogueType<double, D> { using type = double; };
template <> struct EpilogueType<i32, i32> { using type = i32; };

GG_HD i32 multiply_add(i32 a, i32 b, i32 c) { return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c)); }
GG_HD float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
GG_HD double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// A scalar's value: from device memory if it has a pointer, else from its bits.
template <class V>
GG_HD V scalar_value(const Scalar& scalar) {
  if (scalar.pointer) return *static_cast<const V*>(scalar.pointer);
  return bit_cast<V>(static_cast<If<sizeof(V) == 8, u64, u32>>(scalar.bits));
}

// Whether a scalar is 0, or 1. Of f64 by its bits: a comparison would wait for the unit that multiplies, which another CTA's mainloop keeps busy.
template <class V>
GG_HD bool is_zero(V value) {
  if constexpr (IsSame<V, double>::value) return bit_cast<u64>(value) << 1 == 0;
  else return value == V(0);
}
template <class V>
GG_HD bool is_one(V value) {
  if constexpr (IsSame<V, double>::value) return bit_cast<u64>(value) == bit_cast<u64>(1.0);
  else return value == V(1);
}

// The scalars of an epilogue, read once a tile.
template <class V>
struct EpilogueScalars {
  V alpha, beta, p0, p1;
  GG_HD explicit EpilogueScalars(const EpilogueParams& params)
      : alpha(scalar_value<V>(params.alpha)), beta(scalar_value<V>(params.beta)), p0(static_cast<V>(params.activation_p0)), p1(static_cast<V>(params.activation_p1)) {}
};

// `addend` is beta * c + bias, made by the caller with multiply_add(beta, c, bias), or bias alone, or 0.
template <int Activation, class V>
GG_HD V epilogue_value(V sum, V addend, const EpilogueScalars<V>& s) {
  return activate<Activation>(multiply_add(s.alpha, sum, addend), s.p0, s.p1);
}

}  // namespace ggemm::kernels
