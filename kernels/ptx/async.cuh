// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies from global to shared memory, sm_80 and up.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// The shared-memory address that instructions take.
GG_DEVICE u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

// Copies 16 bytes, or writes 16 zeros if `on` is false and reads nothing; both addresses are multiples of 16. Passes by L1.
// Any thread. Ordered with this thread's other accesses only by cp_async_wait; with other threads' by that and a barrier after it. PTX ISA, "cp.async".
GG_DEVICE void cp_async_16(u32 shared, const void* global, bool on) {
  asm volatile(
      "{ .reg .pred off; setp.eq.s32 off, %2, 0; cp.async.cg.shared.global.L2::128B [%0], [%1], 16, off; }" ::"r"(shared), "l"(global), "r"(static_cast<i32>(on)) : "memory");
}

// As cp_async_16, of BYTES (4 or 8) of which the first `valid` are read and the rest filled with zeros; both addresses are multiples of BYTES.
template <int BYTES>
GG_DEVICE void cp_async(u32 shared, const void* global, int valid) {
  static_assert(BYTES == 4 || BYTES == 8, "narrow sizes that cp.async knows");
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global), "n"(BYTES), "r"(valid) : "memory");
}

// Closes this thread's group of copies. PTX ISA, "cp.async.commit_group".
GG_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's newest groups are under way. PTX ISA, "cp.async.wait_group".
template <int PENDING>
GG_DEVICE void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

}  // namespace ggemm::kernels::ptx
