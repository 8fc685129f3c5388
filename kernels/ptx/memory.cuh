// SPDX-License-Identifier: Apache-2.0
// Plain loads and stores that the language has no words for.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

struct alignas(16) Vector16 { u32 word[4]; };

// Reads global memory that nobody writes while the kernel runs (A, B); may be moved by the compiler. Any thread. PTX ISA, "ld.global.nc".
GG_DEVICE u64 load_constant(const u64* p) { u64 v; asm("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(p)); return v; }
GG_DEVICE u32 load_constant(const u32* p) { u32 v; asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v; }
GG_DEVICE u32 load_constant(const u16* p) { u16 v; asm("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(p)); return v; }
GG_DEVICE u32 load_constant(const u8* p) { u32 v; asm("ld.global.nc.u8 %0, [%1];" : "=r"(v) : "l"(p)); return v; }

// 16 aligned bytes of global memory that this thread alone uses: C and D. Any thread.
GG_DEVICE Vector16 load_vector(const void* p) {
  Vector16 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p) : "memory");
  return v;
}
GG_DEVICE void store_vector(void* p, Vector16 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

}  // namespace ggemm::kernels::ptx
