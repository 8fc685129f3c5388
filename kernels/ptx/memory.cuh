// SPDX-License-Identifier: Apache-2.0
// Plain loads and stores that the language has no words for.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

struct alignas(16) Vector16 { u32 word[4]; };

// Reads global memory that nobody writes while the kernel runs (A, B), or gives 0 and reads nothing if `on` is false. Without a branch, and free to be moved by the
// compiler, so that many are under way at once. Any thread. PTX ISA, "ld.global.nc".
#define GG_LOAD_CONSTANT(TYPE, RESULT, CODE, REGISTER)                                                                                      \
  GG_DEVICE RESULT load_constant(const TYPE* p, bool on) {                                                                                  \
    RESULT v;                                                                                                                               \
    asm("{ .reg .pred on; setp.ne.s32 on, %2, 0; mov.b" #CODE " %0, 0; @on ld.global.nc.b" #CODE " %0, [%1]; }" : "=" REGISTER(v) : "l"(p), "r"(static_cast<i32>(on))); \
    return v;                                                                                                                               \
  }
GG_LOAD_CONSTANT(u64, u64, 64, "l")
GG_LOAD_CONSTANT(u32, u32, 32, "r")
GG_LOAD_CONSTANT(u16, u16, 16, "h")
#undef GG_LOAD_CONSTANT
GG_DEVICE u32 load_constant(const u8* p, bool on) {
  u32 v;
  asm("{ .reg .pred on; setp.ne.s32 on, %2, 0; mov.b32 %0, 0; @on ld.global.nc.u8 %0, [%1]; }" : "=r"(v) : "l"(p), "r"(static_cast<i32>(on)));
  return v;
}

GG_DEVICE Vector16 load_constant(const Vector16* p, bool on) {
  Vector16 v;
  asm("{ .reg .pred on; setp.ne.s32 on, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; @on ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4]; }"
      : "=&r"(v.word[0]), "=&r"(v.word[1]), "=&r"(v.word[2]), "=&r"(v.word[3]) : "l"(p), "r"(static_cast<i32>(on)));
  return v;
}

// The same of what few CTAs read: L1 keeps none of it, and L2 fetches the 256 bytes around at once. sm_80. PTX ISA, "ld.global.nc" (eviction priority, prefetch size).
GG_DEVICE Vector16 load_streamed(const Vector16* p, bool on) {
  Vector16 v;
  asm("{ .reg .pred on; setp.ne.s32 on, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; @on ld.global.nc.L1::no_allocate.L2::256B.v4.b32 {%0, %1, %2, %3}, [%4]; }"
      : "=&r"(v.word[0]), "=&r"(v.word[1]), "=&r"(v.word[2]), "=&r"(v.word[3]) : "l"(p), "r"(static_cast<i32>(on)));
  return v;
}

// A number of 32 bits (kind 1) or 64 (2) that nobody writes while the kernel runs; or `otherwise` (0), and nothing is read. As load_constant. FRESH: from L2, whatever L1 still has of launches before. PTX ISA, "ld" (relaxed).
template <bool FRESH>
GG_DEVICE i64 load_number(const void* p, i32 kind, i64 otherwise) {
  i32 narrow;
  if constexpr (FRESH) {
    asm("{ .reg .pred on; setp.eq.s32 on, %2, 1; mov.b32 %0, 0; @on ld.relaxed.gpu.global.b32 %0, [%1]; }" : "=r"(narrow) : "l"(p), "r"(kind));
    asm("{ .reg .pred on; setp.eq.s32 on, %2, 2; @on ld.relaxed.gpu.global.b64 %0, [%1]; }" : "+l"(otherwise) : "l"(p), "r"(kind));
  } else {
    asm("{ .reg .pred on; setp.eq.s32 on, %2, 1; mov.b32 %0, 0; @on ld.global.b32 %0, [%1]; }" : "=r"(narrow) : "l"(p), "r"(kind));
    asm("{ .reg .pred on; setp.eq.s32 on, %2, 2; @on ld.global.b64 %0, [%1]; }" : "+l"(otherwise) : "l"(p), "r"(kind));
  }
  return kind == 1 ? narrow : otherwise;
}

// The same, asked for where this stands (the compiler would move it behind a barrier, to where it is read) and read later.
struct AskedNumber {
  i32 narrow;
  i64 wide;
  GG_DEVICE i64 value(i32 kind) const { return kind == 1 ? narrow : wide; }
};
GG_DEVICE AskedNumber ask_number(const void* p, i32 kind, i64 otherwise) {
  AskedNumber out{0, otherwise};
  asm volatile("{ .reg .pred on; setp.eq.s32 on, %2, 1; @on ld.global.b32 %0, [%1]; }" : "+r"(out.narrow) : "l"(p), "r"(kind));
  asm volatile("{ .reg .pred on; setp.eq.s32 on, %2, 2; @on ld.global.b64 %0, [%1]; }" : "+l"(out.wide) : "l"(p), "r"(kind));
  return out;
}

// The 32 bits of high:low from bit `shift` on; 32 gives high. PTX ISA, "shf" (clamp mode).
GG_DEVICE u32 funnel_right(u32 low, u32 high, u32 shift) {
  u32 v;
  asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(low), "r"(high), "r"(shift));
  return v;
}

// Four of the 8 bytes of high:low, by the numbers in the selector's digits, the lowest first. PTX ISA, "prmt".
GG_DEVICE u32 permute(u32 low, u32 high, u32 selector) {
  u32 v;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(low), "r"(high), "r"(selector));
  return v;
}

// x, of which the compiler knows nothing: what follows from it is computed here anew, not kept in registers from before.
GG_DEVICE int renewed(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
GG_DEVICE i64 renewed(i64 x) {
  asm volatile("" : "+l"(x));
  return x;
}
GG_DEVICE u64 renewed(u64 x) { return static_cast<u64>(renewed(static_cast<i64>(x))); }
template <class T>
GG_DEVICE const T* renewed(const T* x) {
  asm volatile("" : "+l"(x));
  return x;
}
// What the warp's first lane has, which the compiler then knows to be the same for all of them. The whole warp. PTX ISA, "shfl.sync".
GG_DEVICE int of_first_lane(int x) { return __shfl_sync(0xffffffffu, x, 0); }
// The compiler moves no access to memory across it; the hardware may.
GG_DEVICE void keep_order() { asm volatile("" ::: "memory"); }

// Brings what lies there into L2. PTX ISA, "prefetch".
GG_DEVICE void prefetch(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// Counts an arrival: adds 1, or goes back to 0 from `last`, and gives what was there before. What this thread has seen written before (by itself, or by others before a barrier)
// is seen by those who arrive later. Release and acquire at GPU scope. Any thread. PTX ISA, "atom" (inc).
GG_DEVICE u32 count_arrival(u32* counter, u32 last) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
  return before;
}
// Counts one more, and gives what was there before. It orders nothing. Any thread. PTX ISA, "atom" (add).
GG_DEVICE u32 take_next(u32* counter) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}
// Sets bits, and gives what was there before. It orders nothing. Any thread. PTX ISA, "atom" (or).
GG_DEVICE u32 set_bits(u32* word, u32 bits) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(bits) : "memory");
  return before;
}
// Adds so many, and gives what was there before. It orders nothing. Any thread. PTX ISA, "atom" (add).
GG_DEVICE u64 take_bytes(u64* counter, u64 bytes) {
  u64 before;
  asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(counter), "l"(bytes) : "memory");
  return before;
}
// How many arrivals this thread sees, of which there may be more by now: what was written before those is seen as by the last to arrive. Acquire at GPU scope. Any thread.
// PTX ISA, "ld" (acquire).
GG_DEVICE u32 seen_arrivals(const u32* counter) {
  u32 count;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
  return count;
}

// 16 aligned bytes of global memory that this thread alone uses (C and D), or that barriers or arrivals order. Any thread.
GG_DEVICE Vector16 load_vector(const void* p) {
  Vector16 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p) : "memory");
  return v;
}
GG_DEVICE void store_vector(void* p, Vector16 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

// Where another CTA of the cluster has what is at this address of shared memory here, and 16 aligned bytes from there. PTX ISA, "mapa", "ld.shared::cluster".
GG_DEVICE u32 cluster_address(u32 shared, u32 cta) {
  u32 address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(cta));
  return address;
}
GG_DEVICE Vector16 load_cluster(u32 address) {
  Vector16 v;
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "r"(address) : "memory");
  return v;
}

}  // namespace ggemm::kernels::ptx
