// SPDX-License-Identifier: Apache-2.0
// Conversions between element types, in integer arithmetic that the host and every GPU share, so that both give the same bits (but for a NaN's
// payload where a GPU converts f16 in hardware).
// Rounding is to nearest, ties to even. fp8 and integers saturate; NaN stays NaN in floats and becomes 0 in integers; f16 and bf16 overflow to infinity.
// Formats: IEEE 754 binary16; bfloat16; OCP 8-bit Floating Point Specification (OFP8) 1.0.
#pragma once
#include "tile/types.cuh"

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace ggemm::kernels {

template <class To, class From>
GG_HD To bit_cast(From from) {
  return __builtin_bit_cast(To, from);
}

// A float with a sign bit, E exponent bits and M mantissa bits, in the low bits of a u32. `HasInf` false is e4m3's rule: the top
// exponent is ordinary but for the all-ones mantissa, which is NaN.
template <int E, int M, bool HasInf>
struct SmallFloat {
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr u32 sign_bit = 1u << (E + M);
  static constexpr u32 exponent_mask = ((1u << E) - 1) << M;
  static constexpr u32 nan_bits = HasInf ? (exponent_mask | (1u << (M - 1))) : (exponent_mask | ((1u << M) - 1));
  static constexpr u32 max_finite = HasInf ? exponent_mask - 1 : nan_bits - 1;

  // Exact.
  GG_HD static float decode(u32 bits) {
    if constexpr (E == 8) return bit_cast<float>(bits << (23 - M));  // f32's own exponent: its upper bits
    const u32 sign = (bits & sign_bit) << (31 - E - M);
    const u32 exponent = (bits & exponent_mask) >> M, mantissa = bits & ((1u << M) - 1);
    const bool special = HasInf ? exponent == (1u << E) - 1 : (bits & (sign_bit - 1)) == nan_bits;
    if (special) return bit_cast<float>(sign | 0x7f800000u | (HasInf ? mantissa << (23 - M) : 0x400000u));
    if (exponent == 0) {
      // mantissa * 2^(1 - bias - M), a product of two exact f32 numbers
      const float magnitude = static_cast<float>(static_cast<i32>(mantissa)) * bit_cast<float>(static_cast<u32>(127 + 1 - bias - M) << 23);
      return bit_cast<float>(bit_cast<u32>(magnitude) | sign);
    }
    return bit_cast<float>(sign | (exponent + 127 - bias) << 23 | mantissa << (23 - M));
  }

  // From the bits of a double, so that f64 rounds once. `saturate`: finite overflow and infinity become the largest finite value.
  GG_HD static u32 encode(double value, bool saturate) {
    const u64 bits = bit_cast<u64>(value);
    const u32 sign = static_cast<u32>(bits >> 63) ? sign_bit : 0;
    const u64 magnitude = bits & 0x7fffffffffffffffull;
    const u32 overflow = saturate ? max_finite : (HasInf ? exponent_mask : nan_bits);
    if (magnitude > 0x7ff0000000000000ull) return sign | nan_bits;
    const i32 exponent = static_cast<i32>(magnitude >> 52) - 1023;
    const i32 lowest = 1 - bias;  // smallest normal exponent
    if (exponent < lowest - M - 1) return sign;
    if (exponent > bias + 1) return sign | overflow;  // also infinity
    const u64 significand = (magnitude & 0xfffffffffffffull) | 0x10000000000000ull;
    const i32 drop = 52 - M + (exponent < lowest ? lowest - exponent : 0);  // at most 53 + 1
    const u64 half = 1ull << (drop - 1), kept = significand >> drop, rest = significand & ((half << 1) - 1);
    u64 rounded = kept + ((rest > half || (rest == half && (kept & 1))) ? 1 : 0);
    // A normal number's implicit bit adds one to the exponent field; a carry out of the mantissa adds another, as it must.
    if (exponent >= lowest) rounded += static_cast<u64>(exponent - lowest) << M;
    const u32 out = static_cast<u32>(rounded);
    return sign | (out > max_finite ? overflow : out);
  }
};
using F16Format = SmallFloat<5, 10, true>;
using Bf16Format = SmallFloat<8, 7, true>;
using E4m3Format = SmallFloat<4, 3, false>;
using E5m2Format = SmallFloat<5, 2, true>;

// f32 rounded to tf32's 10 mantissa bits, ties away from zero, as cvt.rna.tf32.f32 does (PTX ISA, "cvt"). Infinity passes. NaN is made quiet: tensor cores
// do not look at the low bits, where all of its payload may be.
GG_HD float round_tf32(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 out;  // one instruction, and two for NaN, which it leaves as it is, where the lines below are several, for every fragment of a tensor-core product
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(value));
  return bit_cast<float>(value == value ? out : 0x7fffffffu);
#else
  const u32 bits = bit_cast<u32>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bit_cast<float>((bits & 0x7fffffu) ? bits | 0x400000u : bits);
  return bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
#endif
}

// The same, ties to even, as the tensor copy engine does.
GG_HD u32 round_tf32_even(u32 bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return (bits & 0x7fffffu) ? bits | 0x400000u : bits;
  return (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
}

// load: element -> the type that sums are made in (Sum: float, double or i32).
template <class Sum> GG_HD Sum to_sum(double v) { return static_cast<Sum>(v); }
template <class Sum> GG_HD Sum to_sum(float v) { return static_cast<Sum>(v); }
template <class Sum> GG_HD Sum to_sum(F16 v) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(v.bits));
  return static_cast<Sum>(value);
#else
  return static_cast<Sum>(F16Format::decode(v.bits));
#endif
}
template <class Sum> GG_HD Sum to_sum(Bf16 v) { return static_cast<Sum>(bit_cast<float>(static_cast<u32>(v.bits) << 16)); }
template <class Sum> GG_HD Sum to_sum(E4m3 v) { return static_cast<Sum>(E4m3Format::decode(v.bits)); }
template <class Sum> GG_HD Sum to_sum(E5m2 v) { return static_cast<Sum>(E5m2Format::decode(v.bits)); }
template <class Sum> GG_HD Sum to_sum(i8 v) { return static_cast<Sum>(v); }
template <class Sum> GG_HD Sum to_sum(i32 v) { return static_cast<Sum>(v); }

// Round to nearest even and saturate; NaN is 0.
GG_HD i32 round_to_int(double v, double low, double high) {
  if (!(v == v)) return 0;
  if (v <= low) return static_cast<i32>(low);
  if (v >= high) return static_cast<i32>(high);
  return static_cast<i32>(rint(v));
}

// store: epilogue value -> element.
template <class Element> struct Store;
template <> struct Store<double> { template <class V> GG_HD static double from(V v) { return static_cast<double>(v); } };
template <> struct Store<float> { template <class V> GG_HD static float from(V v) { return static_cast<float>(v); } };
template <> struct Store<F16> {
  template <class V> GG_HD static F16 from(V v) { return {static_cast<u16>(F16Format::encode(static_cast<double>(v), false))}; }
#if defined(__CUDA_ARCH__)
  GG_HD static F16 from(float v) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return {bits};
  }
#endif
};
template <> struct Store<Bf16> {
  template <class V> GG_HD static Bf16 from(V v) { return {static_cast<u16>(Bf16Format::encode(static_cast<double>(v), false))}; }
  GG_HD static Bf16 from(float v) {
    const u32 bits = bit_cast<u32>(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<u16>((bits >> 16 & 0x8000u) | Bf16Format::nan_bits)};
    return {static_cast<u16>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16)};
  }
};
template <> struct Store<E4m3> { template <class V> GG_HD static E4m3 from(V v) { return {static_cast<u8>(E4m3Format::encode(static_cast<double>(v), true))}; } };
template <> struct Store<E5m2> { template <class V> GG_HD static E5m2 from(V v) { return {static_cast<u8>(E5m2Format::encode(static_cast<double>(v), true))}; } };
template <> struct Store<i8> {
  template <class V> GG_HD static i8 from(V v) { return static_cast<i8>(round_to_int(static_cast<double>(v), -128.0, 127.0)); }
  GG_HD static i8 from(i32 v) { return static_cast<i8>(v < -128 ? -128 : v > 127 ? 127 : v); }
};
template <> struct Store<i32> {
  template <class V> GG_HD static i32 from(V v) { return round_to_int(static_cast<double>(v), -2147483648.0, 2147483647.0); }
  GG_HD static i32 from(i32 v) { return v; }
};

}  // namespace ggemm::kernels
