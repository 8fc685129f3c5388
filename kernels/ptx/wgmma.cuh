// SPDX-License-Identifier: Apache-2.0
// Products of one warpgroup (four warps, the first at a multiple of four) on sm_90a: sums[64, N] += A[64, K] B[K, N], both in shared memory or A in registers, K spanning 32 bytes.
// All 128 threads execute each of these together. Sum i of thread t lies at row 16 (t / 32) + t % 32 / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (t % 4) + i % 2.
// PTX ISA, "wgmma.mma_async", "Matrix descriptor".
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// Orders earlier accesses to the registers of sums and A, and fence_async's shared memory, before the products that follow. PTX ISA, "wgmma.fence".
GG_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GG_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most PENDING of the newest groups are under way: only then may their sums be read and their shared memory be overwritten. PTX ISA, "wgmma.wait_group".
template <int PENDING>
GG_DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }
// After such a wait, for each sum: it is not read before.
GG_DEVICE void wgmma_settle(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }
GG_DEVICE void wgmma_settle(i32& sum) { asm volatile("" : "+r"(sum)::"memory"); }

// A sum of no products. (In a branch of its own, which the compiler would otherwise make a selection for each sum.)
GG_DEVICE void wgmma_zero(float& sum) { asm volatile("mov.b32 %0, 0;" : "=f"(sum)); }
GG_DEVICE void wgmma_zero(i32& sum) { asm volatile("mov.b32 %0, 0;" : "=r"(sum)); }

// A sum that the first product will write without reading it.
GG_DEVICE void wgmma_blank(float& sum) { asm volatile("" : "=f"(sum)); }
GG_DEVICE void wgmma_blank(i32& sum) { asm volatile("" : "=r"(sum)); }
// Whether sums of no products may be set to 0 behind the wait for products. ptxas before 12.9 takes that for what defines sums while products are under way, and runs them one after the other (C7515).
constexpr bool wgmma_zeros_behind = __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1209;

// An operand's tile at `shared`, in panels of 128 swizzled bytes. leading, stride: bytes between panels, and between groups of eight 128-byte rows in a panel;
// `leading` counts only for an operand that is contiguous along m or n and longer than a panel.
GG_DEVICE u64 wgmma_descriptor(u32 shared, u32 leading, u32 stride) {
  return static_cast<u64>(shared >> 4 & 0x3fff) | static_cast<u64>(leading >> 4) << 16 | static_cast<u64>(stride >> 4) << 32 | 1ull << 62;
}

// The instruction's text needs its types as literals, so they come from the preprocessor. GG_TRANSPOSE: 16-bit operands that are contiguous along m or n are told so.
#if GG_A == 3
#define GG_WGMMA_TYPES "k16.f32.f16.f16"
#elif GG_A == 4
#define GG_WGMMA_TYPES "k16.f32.bf16.bf16"
#elif GG_A == 2
#define GG_WGMMA_TYPES "k8.f32.tf32.tf32"
#elif GG_A == 7
#define GG_WGMMA_TYPES "k32.s32.s8.s8"
#elif GG_A == 5 && GG_B == 5
#define GG_WGMMA_TYPES "k32.f32.e4m3.e4m3"
#elif GG_A == 5
#define GG_WGMMA_TYPES "k32.f32.e4m3.e5m2"
#elif GG_B == 5
#define GG_WGMMA_TYPES "k32.f32.e5m2.e4m3"
#else
#define GG_WGMMA_TYPES "k32.f32.e5m2.e5m2"
#endif
#if GG_A == 7
#define GG_SUM_REGISTER "+r"
#define GG_WGMMA_TAIL ";"
#elif GG_A == 3 || GG_A == 4
#define GG_SUM_REGISTER "+f"
#define GG_TEXT_(x) #x
#define GG_TEXT(x) GG_TEXT_(x)
#define GG_WGMMA_TAIL ", 1, 1, " GG_TEXT(GG_MAJOR_A) ", " GG_TEXT(GG_MAJOR_B) ";"
#else
#define GG_SUM_REGISTER "+f"
#define GG_WGMMA_TAIL ", 1, 1;"
#endif

#define GG_SUMS4(i) GG_SUM_REGISTER(d[i]), GG_SUM_REGISTER(d[i + 1]), GG_SUM_REGISTER(d[i + 2]), GG_SUM_REGISTER(d[i + 3])
#define GG_SUMS16(i) GG_SUMS4(i), GG_SUMS4(i + 4), GG_SUMS4(i + 8), GG_SUMS4(i + 12)
#define GG_SUMS8(i) GG_SUMS4(i), GG_SUMS4(i + 4)
#define GG_N0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define GG_N1 GG_N0 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define GG_N2 GG_N1 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define GG_N3 GG_N2 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define GG_N4 GG_N3 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define GG_N5 GG_N4 ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define GG_N6 GG_N5 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define GG_N7 GG_N6 ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
// With 8 more.
#define GG_H1 GG_N0 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define GG_H2 GG_N1 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define GG_H3 GG_N2 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define GG_H4 GG_N3 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define GG_H5 GG_N4 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define GG_H6 GG_N5 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define GG_H7 GG_N6 ",%112,%113,%114,%115,%116,%117,%118,%119"

// Wgmma<N>::mma(d, a, b, add): d += A B, or d = A B if `add` is 0. N: columns. I0 to I5: numbers of the operands behind the sums.
// a: a descriptor; of tf32 that is contiguous along m registers, which are the product's until it was waited for: of thread t, row 16 (t / 32) + t % 32 / 4 and 8 below, k t % 4; and both for k + 4.
template <int N> struct Wgmma;
#define GG_WGMMA_TEXT(N, NUMBERS, A, B, ADD) \
  "{ .reg .pred add; setp.ne.b32 add, %" #ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N GG_WGMMA_TYPES " {" NUMBERS "}, " A ", %" #B ", add" GG_WGMMA_TAIL " }"
#if GG_A == 2 && GG_MAJOR_A == 1
#define GG_WGMMA(N, COUNT, NUMBERS, I0, I1, I2, I3, I4, I5, ...)                                                     \
  template <> struct Wgmma<N> {                                                                                      \
    GG_DEVICE static void mma(float (&d)[COUNT], const u32 (&a)[4], u64 b, i32 add) {                                \
      asm volatile(GG_WGMMA_TEXT(N, NUMBERS, "{%" #I0 ", %" #I1 ", %" #I2 ", %" #I3 "}", I4, I5)                     \
                   : __VA_ARGS__ : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                    \
    }                                                                                                                \
  }
#else
#define GG_WGMMA(N, COUNT, NUMBERS, I0, I1, I2, I3, I4, I5, ...)                                                     \
  template <> struct Wgmma<N> {                                                                                      \
    template <class Sum>                                                                                             \
    GG_DEVICE static void mma(Sum (&d)[COUNT], u64 a, u64 b, i32 add) {                                              \
      asm volatile(GG_WGMMA_TEXT(N, NUMBERS, "%" #I0, I1, I2) : __VA_ARGS__ : "l"(a), "l"(b), "r"(add));             \
    }                                                                                                                \
  }
#endif
GG_WGMMA(8, 4, "%0,%1,%2,%3", 4, 5, 6, 7, 8, 9, GG_SUMS4(0));
GG_WGMMA(16, 8, "%0,%1,%2,%3,%4,%5,%6,%7", 8, 9, 10, 11, 12, 13, GG_SUMS4(0), GG_SUMS4(4));
GG_WGMMA(32, 16, GG_N0, 16, 17, 18, 19, 20, 21, GG_SUMS16(0));
GG_WGMMA(48, 24, GG_H1, 24, 25, 26, 27, 28, 29, GG_SUMS16(0), GG_SUMS8(16));
GG_WGMMA(64, 32, GG_N1, 32, 33, 34, 35, 36, 37, GG_SUMS16(0), GG_SUMS16(16));
GG_WGMMA(80, 40, GG_H2, 40, 41, 42, 43, 44, 45, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS8(32));
GG_WGMMA(96, 48, GG_N2, 48, 49, 50, 51, 52, 53, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32));
GG_WGMMA(112, 56, GG_H3, 56, 57, 58, 59, 60, 61, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS8(48));
GG_WGMMA(128, 64, GG_N3, 64, 65, 66, 67, 68, 69, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48));
GG_WGMMA(144, 72, GG_H4, 72, 73, 74, 75, 76, 77, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS8(64));
GG_WGMMA(160, 80, GG_N4, 80, 81, 82, 83, 84, 85, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64));
GG_WGMMA(176, 88, GG_H5, 88, 89, 90, 91, 92, 93, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64), GG_SUMS8(80));
GG_WGMMA(192, 96, GG_N5, 96, 97, 98, 99, 100, 101, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64), GG_SUMS16(80));
GG_WGMMA(208, 104, GG_H6, 104, 105, 106, 107, 108, 109, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64), GG_SUMS16(80), GG_SUMS8(96));
GG_WGMMA(224, 112, GG_N6, 112, 113, 114, 115, 116, 117, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64), GG_SUMS16(80), GG_SUMS16(96));
GG_WGMMA(240, 120, GG_H7, 120, 121, 122, 123, 124, 125, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64), GG_SUMS16(80), GG_SUMS16(96), GG_SUMS8(112));
GG_WGMMA(256, 128, GG_N7, 128, 129, 130, 131, 132, 133, GG_SUMS16(0), GG_SUMS16(16), GG_SUMS16(32), GG_SUMS16(48), GG_SUMS16(64), GG_SUMS16(80), GG_SUMS16(96), GG_SUMS16(112));

}  // namespace ggemm::kernels::ptx
