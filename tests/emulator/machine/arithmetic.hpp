// SPDX-License-Identifier: Apache-2.0
// What tensor cores compute: products exact, sums in f64 within an instruction, rounded to f32 at its end. Integers wrap.
#pragma once
#include <cstdint>

#include "../device/interface.hpp"

namespace emulator {

// An element's bits as the tensor cores see it; tf32 is cut off after 10 bits of mantissa.
float decode(Element element, uint32_t bits);
constexpr int bytes_of(Element element) { return element == Element::tf32 ? 4 : element == Element::f16 || element == Element::bf16 ? 2 : 1; }

// sums[m][n] = (add ? sums[m][n] : 0) + sum over k of a[m][k] b[k][n]; all contiguous.
void multiply(int m, int n, int k, const float* a, const float* b, bool add, float* sums);
void multiply(int m, int n, int k, const std::int8_t* a, const std::int8_t* b, bool add, std::int32_t* sums);

}  // namespace emulator
