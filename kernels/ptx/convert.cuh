// SPDX-License-Identifier: Apache-2.0
// Conversions of two numbers at once, to nearest even; the first lies in the low half. sm_90, where nothing else is said.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// Any thread. To fp8 with saturation only: NaN stays NaN, infinity becomes the largest finite number. PTX ISA, "cvt".
#define GG_TO_PAIR(NAME, WORD, REGISTER, INSTRUCTION)                              \
  GG_DEVICE WORD NAME(float low, float high) {                                      \
    WORD bits;                                                                      \
    asm(INSTRUCTION " %0, %1, %2;" : "=" REGISTER(bits) : "f"(high), "f"(low));     \
    return bits;                                                                    \
  }
GG_TO_PAIR(to_f16_pair, u32, "r", "cvt.rn.f16x2.f32")
GG_TO_PAIR(to_bf16_pair, u32, "r", "cvt.rn.bf16x2.f32")
GG_TO_PAIR(to_e4m3_pair, u16, "h", "cvt.rn.satfinite.e4m3x2.f32")
GG_TO_PAIR(to_e5m2_pair, u16, "h", "cvt.rn.satfinite.e5m2x2.f32")
#undef GG_TO_PAIR

// Exact. Not before it is used (volatile): it takes twice the registers. sm_89. PTX ISA, "cvt" (e4m3x2).
GG_DEVICE u32 f16_pair_of_e4m3(u16 pair) {
  u32 bits;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(bits) : "h"(pair));
  return bits;
}

}  // namespace ggemm::kernels::ptx
