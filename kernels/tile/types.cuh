// SPDX-License-Identifier: Apache-2.0
// Names that every kernel header uses. NVRTC brings no standard headers, so nothing here includes one there.
#pragma once

#if defined(__CUDACC_RTC__)
#define GG_HD __host__ __device__ __forceinline__
#define GG_DEVICE __device__ __forceinline__
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#else
#include <cstdint>
#define GG_HD inline
namespace ggemm::kernels {
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = long long;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = unsigned long long;
}  // namespace ggemm::kernels
#endif

namespace ggemm::kernels {

// Numbered as ggemm_dtype in ggemm.h; lib/core checks it.
enum class Dtype : i32 { none = 0, f64 = 1, f32 = 2, f16 = 3, bf16 = 4, e4m3 = 5, e5m2 = 6, i8 = 7, i32 = 8 };

// Storage of the types that C++ has no name for. A struct each, so that overloads tell them apart.
struct F16 { u16 bits; };
struct Bf16 { u16 bits; };
struct E4m3 { u8 bits; };
struct E5m2 { u8 bits; };

template <int DTYPE> struct ElementOf;  // ggemm_dtype -> storage type
template <> struct ElementOf<1> { using type = double; };
template <> struct ElementOf<2> { using type = float; };
template <> struct ElementOf<3> { using type = F16; };
template <> struct ElementOf<4> { using type = Bf16; };
template <> struct ElementOf<5> { using type = E4m3; };
template <> struct ElementOf<6> { using type = E5m2; };
template <> struct ElementOf<7> { using type = i8; };
template <> struct ElementOf<8> { using type = i32; };

// What the tensor copy engine is told of a matrix: 128 bytes that the driver writes (cuTensorMapEncodeTiled).
struct alignas(64) TensorMap { u64 words[16]; };

template <bool YES, class Then, class Else> struct IfType { using type = Then; };
template <class Then, class Else> struct IfType<false, Then, Else> { using type = Else; };
template <bool YES, class Then, class Else> using If = typename IfType<YES, Then, Else>::type;

template <class X, class Y> struct IsSame { static constexpr bool value = false; };
template <class X> struct IsSame<X, X> { static constexpr bool value = true; };

// An array of arrays as one of their elements, which follow one another.
template <class X, int OUTER, int INNER>
GG_HD auto flat(X (&x)[OUTER][INNER]) -> X (&)[OUTER * INNER] { return reinterpret_cast<X(&)[OUTER * INNER]>(x); }

GG_HD constexpr i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
GG_HD i64 min_of(i64 a, i64 b) { return a < b ? a : b; }
GG_HD i64 max_of(i64 a, i64 b) { return a > b ? a : b; }

}  // namespace ggemm::kernels
