// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies from global to shared memory, sm_80 and up.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// The shared-memory address that instructions take.
GG_DEVICE u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

// Copies BYTES (4, 8 or 16), or writes as many zeros if `on` is false and reads nothing; both addresses are multiples of BYTES. Copies of 16 pass by L1.
// Any thread. Ordered with this thread's other accesses only by cp_async_wait; with other threads' by that and a barrier after it. PTX ISA, "cp.async".
template <int BYTES>
GG_DEVICE void cp_async(u32 shared, const void* global, bool on) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "sizes that cp.async knows");
  if constexpr (BYTES == 16)
    asm volatile("{ .reg .pred off; setp.eq.s32 off, %2, 0; cp.async.cg.shared.global.L2::128B [%0], [%1], 16, off; }" ::"r"(shared), "l"(global), "r"(static_cast<i32>(on)) : "memory");
  else
    asm volatile("{ .reg .pred off; setp.eq.s32 off, %2, 0; cp.async.ca.shared.global [%0], [%1], %3, off; }" ::"r"(shared), "l"(global), "r"(static_cast<i32>(on)), "n"(BYTES) : "memory");
}

// Closes this thread's group of copies. PTX ISA, "cp.async.commit_group".
GG_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's newest groups are under way. PTX ISA, "cp.async.wait_group".
template <int PENDING>
GG_DEVICE void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

}  // namespace ggemm::kernels::ptx
