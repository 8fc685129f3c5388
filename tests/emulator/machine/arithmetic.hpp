// SPDX-License-Identifier: Apache-2.0
// What tensor cores compute: products exact, sums in f64 within an instruction, rounded to f32 at its end; those of fp8 by a warpgroup in 14 bits. Integers wrap.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "../device/interface.hpp"

namespace emulator {

// All values of the small types.
struct Tables {
  std::vector<float> f16, e4m3, e5m2;
};
extern const Tables tables;

// An element's bits as the tensor cores see it; tf32 is cut off after 10 bits of mantissa.
inline float decode(Element element, uint32_t bits) {
  switch (element) {
    case Element::f16: return tables.f16[bits & 0xffff];
    case Element::bf16: return std::bit_cast<float>(bits << 16);
    case Element::tf32: return std::bit_cast<float>(bits & ~0x1fffu);
    case Element::e4m3: return tables.e4m3[bits & 0xff];
    case Element::e5m2: return tables.e5m2[bits & 0xff];
    case Element::i8: break;
  }
  return static_cast<float>(static_cast<std::int8_t>(bits));
}
constexpr int bytes_of(Element element) { return element == Element::tf32 ? 4 : element == Element::f16 || element == Element::bf16 ? 2 : 1; }

// sums[m][n] = (add ? sums[m][n] : 0) + sum over k of a[m][k] b[k][n]; all contiguous.
void multiply(int m, int n, int k, const float* a, const float* b, bool add, float* sums);
// The same as wgmma does it for fp8 on sm_90 (tests/support/check.hpp): every addend is cut at 2^(E - 13), E being the largest exponent of them, where an operand's is `smallest` at least; and the sum at its 14th bit.
void multiply_in_14_bits(int m, int n, int k, const float* a, const float* b, bool add, float* sums, int smallest);
void multiply(int m, int n, int k, const std::int8_t* a, const std::int8_t* b, bool add, std::int32_t* sums);

}  // namespace emulator
