// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/wgmma.cuh, on the emulated GPU.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

GG_DEVICE void wgmma_fence() { emulator::machine().product_fence(); }
GG_DEVICE void wgmma_commit() { emulator::machine().product_commit(); }
template <int PENDING>
GG_DEVICE void wgmma_wait() { emulator::machine().product_wait(PENDING); }

template <class Sum>
GG_DEVICE void wgmma_settle(Sum&) {}
template <class Sum>
GG_DEVICE void wgmma_zero(Sum& sum) { sum = 0; }
// Who reads it before a product has written it shall notice.
GG_DEVICE void wgmma_blank(float& sum) { sum = __builtin_nanf(""); }
GG_DEVICE void wgmma_blank(i32& sum) { sum = 0x5a5a5a5a; }
constexpr bool wgmma_zeros_behind = true;

GG_DEVICE u64 wgmma_descriptor(u32 shared, u32 leading, u32 stride) {
  return static_cast<u64>(shared >> 4 & 0x3fff) | static_cast<u64>(leading >> 4) << 16 | static_cast<u64>(stride >> 4) << 32 | 1ull << 62;
}

constexpr emulator::Element wgmma_element(int dtype) {
  using enum emulator::Element;
  return dtype == 3 ? f16 : dtype == 4 ? bf16 : dtype == 2 ? tf32 : dtype == 7 ? i8 : dtype == 5 ? e4m3 : e5m2;
}

template <int N>
struct Wgmma {
#if GG_A == 2 && GG_MAJOR_A == 1
  GG_DEVICE static void mma(float (&d)[N / 2], const u32 (&a)[4], u64 b, i32 add) {
    emulator::machine().product({wgmma_element(GG_A), wgmma_element(GG_B), false, false, N, add != 0, 0, b, true}, d, a);
  }
#else
  template <class Sum>
  GG_DEVICE static void mma(Sum (&d)[N / 2], u64 a, u64 b, i32 add) {
    static_assert(N == 8 || (N % 16 == 0 && N <= 256), "columns that the instruction's wrapper knows");
    constexpr bool wide = GG_A == 3 || GG_A == 4;  // other types have one layout
    emulator::machine().product({wgmma_element(GG_A), wgmma_element(GG_B), wide && GG_MAJOR_A == 1, wide && GG_MAJOR_B == 1, N, add != 0, a, b}, d);
  }
#endif
};

}  // namespace ggemm::kernels::ptx
