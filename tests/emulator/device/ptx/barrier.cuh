// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/barrier.cuh, on the emulated GPU.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

GG_DEVICE void barrier_init(u32 barrier, u32 arrivals) { emulator::machine().barrier_init(barrier, arrivals); }
GG_DEVICE void fence_barrier_init() { emulator::machine().fence(emulator::Fence::barrier_init); }
GG_DEVICE void barrier_arrive_expect(u32 barrier, u32 bytes) { emulator::machine().barrier_arrive(barrier, bytes); }
GG_DEVICE void barrier_expect(u32 barrier, u32 bytes) { emulator::machine().barrier_expect(barrier, bytes); }
GG_DEVICE void barrier_arrive(u32 barrier) { emulator::machine().barrier_arrive(barrier, 0); }
GG_DEVICE void barrier_arrive_at(u32 barrier, u32 cta) { emulator::machine().barrier_arrive(emulator::machine().map_to(barrier, cta), 0); }
GG_DEVICE void barrier_wait(u32 barrier, u32 parity) { emulator::machine().barrier_wait(barrier, parity); }

template <int THREADS>
GG_DEVICE void barrier_sync(int number) { emulator::machine().barrier(number, THREADS); }
template <int THREADS>
GG_DEVICE bool barrier_any(int number, bool vote) { return emulator::machine().barrier_any(number, THREADS, vote); }

GG_DEVICE void cluster_barrier() { emulator::machine().cluster_arrive(true), emulator::machine().cluster_wait(); }
GG_DEVICE u32 cluster_rank() { return emulator::machine().cluster_rank(); }
GG_DEVICE void cluster_sync() { emulator::machine().cluster_arrive(false), emulator::machine().cluster_wait(); }

// All lanes meet, and another is picked than the first, which a GPU takes: kernels are not to know.
GG_DEVICE bool elect_one() {
  __syncwarp();
  return threadIdx.x % 32 == 31;
}

template <int REGISTERS>
GG_DEVICE void registers_release() { emulator::machine().set_registers(REGISTERS, false); }
template <int REGISTERS>
GG_DEVICE void registers_take() { emulator::machine().set_registers(REGISTERS, true); }

}  // namespace ggemm::kernels::ptx
