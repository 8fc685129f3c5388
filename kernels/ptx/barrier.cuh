// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory that count arrivals and bytes (mbarrier), barriers of some warps of a CTA, and clusters; sm_90.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// Sets up a barrier that completes a phase after `arrivals`. One thread, before anybody uses it: then fence_barrier_init, and a barrier of all who will. PTX ISA, "mbarrier.init".
GG_DEVICE void barrier_init(u32 barrier, u32 arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory"); }
// Makes this thread's barrier_init visible to the cluster and to the copy engine. PTX ISA, "fence.mbarrier_init".
GG_DEVICE void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Arrives at this CTA's barrier and has its phase wait for so many bytes of copies besides. Release. PTX ISA, "mbarrier.arrive.expect_tx".
GG_DEVICE void barrier_arrive_expect(u32 barrier, u32 bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
// Has the barrier's phase wait for so many bytes of copies besides. PTX ISA, "mbarrier.expect_tx".
GG_DEVICE void barrier_expect(u32 barrier, u32 bytes) { asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
// Arrives at this CTA's barrier. Release. PTX ISA, "mbarrier.arrive".
GG_DEVICE void barrier_arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
// Arrives at the barrier at the same place of another CTA of the cluster. Release at CTA scope only, which orders nothing with the other CTA's ordinary accesses: it tells
// that asynchronous reads are over, and those were waited for. (At cluster scope it is a fence that halves the speed of a GEMM.) PTX ISA, "mapa", "mbarrier.arrive".
GG_DEVICE void barrier_arrive_at(u32 barrier, u32 cta) {
  asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier), "r"(cta) : "memory");
}
// Waits until the phase of this parity is complete: the phase before the first counts as one of parity 1. Acquire at CTA scope. PTX ISA, "mbarrier.try_wait".
GG_DEVICE void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}

// A barrier of THREADS of the CTA's threads, whole warps, by number (1 to 15; 0 is __syncthreads). PTX ISA, "bar.sync".
template <int THREADS>
GG_DEVICE void barrier_sync(int number) { asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(THREADS) : "memory"); }
// The same, and says whether any of the threads votes for it. PTX ISA, "bar.red".
template <int THREADS>
GG_DEVICE bool barrier_any(int number, bool vote) {
  u32 any;
  asm volatile("{ .reg .pred vote, any; setp.ne.u32 vote, %3, 0; bar.red.or.pred any, %1, %2, vote; selp.u32 %0, 1, 0, any; }" : "=r"(any) : "r"(number), "n"(THREADS), "r"(static_cast<u32>(vote)) : "memory");
  return any != 0;
}

// A barrier of all threads of the cluster that orders what they wrote to shared memory, and the arrivals that they sent to others' barriers, before what they do then.
// Release and acquire. PTX ISA, "barrier.cluster".
GG_DEVICE void cluster_barrier() { asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// This CTA's number in its cluster. PTX ISA, "%cluster_ctarank".
GG_DEVICE u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// The same, but it orders no ordinary accesses: barriers that were set up are told by fence_barrier_init.
GG_DEVICE void cluster_sync() { asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }

// Picks one of the warp's lanes, always the same; all of them execute it. What only that one does needs no loop over lanes then, which the compiler otherwise puts around
// each copy of the tensor engine. PTX ISA, "elect.sync".
GG_DEVICE bool elect_one() {
  u32 elected;
  asm volatile("{ .reg .pred one; elect.sync _|one, 0xffffffff; selp.u32 %0, 1, 0, one; }" : "=r"(elected));
  return elected != 0;
}

// Gives registers of this warpgroup to the pool, or takes them: all its threads, once each, with one role's code behind each call. PTX ISA, "setmaxnreg".
template <int REGISTERS>
GG_DEVICE void registers_release() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
template <int REGISTERS>
GG_DEVICE void registers_take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

}  // namespace ggemm::kernels::ptx
