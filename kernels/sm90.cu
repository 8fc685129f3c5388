// SPDX-License-Identifier: Apache-2.0
// The tensor-core kernel of sm_90a: a producer warp and consumer warpgroups in one persistent CTA, tensor maps, wgmma, clusters.
#include "epilogue/staged.cuh"
#include "mainloop/wgmma.cuh"
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

using T = Traits;
using Mainloop = WgmmaMainloop<T>;
using Epilogue = StagedEpilogue<T, Mainloop::WN>;
using Scheduler = PersistentScheduler<T::BM, T::BN, T::CLUSTER_M, T::CLUSTER_N>;
constexpr int PRODUCER_THREADS = 128;
// Of the 64K registers of a multiprocessor, as setmaxnreg takes them: multiples of 8, together no more than the CTA was launched with.
constexpr int PRODUCER_REGISTERS = Mainloop::CONSUMERS > 1 ? 40 : 24, CONSUMER_REGISTERS = 232;

GG_DEVICE void produce(const TensorParams& p, const Ring<T::STAGES>& ring, u32 slots, i32 tiles) {
  if (threadIdx.x != 0) return;
  ptx::tensor_prefetch(p.a);
  ptx::tensor_prefetch(p.b);
  ptx::tensor_prefetch(p.d);
  Mainloop::Cursor at;
  for (Scheduler scheduler(p.problem); scheduler.next();) Mainloop::produce(p, ring, at, slots, scheduler.tile_row() * T::BM, scheduler.tile_column() * T::BN, tiles);
}

GG_DEVICE void consume(const TensorParams& p, const Ring<T::STAGES>& ring, u32 slots, char* staging, i32 tiles) {
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  const int row = group / T::WARPS_N * Mainloop::WM, column = group % T::WARPS_N * Mainloop::WN;
  Mainloop::Cursor at;
  u32 slot = 0;
  for (Scheduler scheduler(p.problem); scheduler.next();) {
    Mainloop mainloop;
    mainloop.consume(ring, at, slots, group, tiles);
#pragma unroll
    for (int b = 0; b < Mainloop::BLOCKS; ++b)
      Epilogue::run(mainloop.sums[b], p, i64(scheduler.tile_row()) * T::BM + row + 64 * b, i64(scheduler.tile_column()) * T::BN + column, staging + group * Epilogue::BYTES, group, slot);
  }
  // Shared memory must not go to another CTA while the copy engine still reads it.
  if (threadIdx.x % 128 == 0) ptx::store_wait_read<0>();
}

extern "C" __global__ void __cluster_dims__(Mainloop::CLUSTER, 1, 1) __launch_bounds__(PRODUCER_THREADS + T::THREADS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ TensorParams params) {
  extern __shared__ __align__(1024) char shared[];  // select::shared_bytes counts the same: ring, staging, barriers
  const u32 slots = static_cast<u32>(__cvta_generic_to_shared(shared));
  char* const staging = shared + Mainloop::RING_BYTES;
  const Ring<T::STAGES> ring(slots + Mainloop::RING_BYTES + Mainloop::CONSUMERS * Epilogue::BYTES);
  if (threadIdx.x == 0) {
    ring.init(1, Mainloop::EMPTIES);
    ptx::fence_barrier_init();
  }
  if constexpr (Mainloop::CLUSTER > 1) ptx::cluster_sync();
  else __syncthreads();
  const i32 tiles = static_cast<i32>(ceil_div(params.problem.k, T::BK));
  if (threadIdx.x < PRODUCER_THREADS) {
    ptx::registers_release<PRODUCER_REGISTERS>();
    produce(params, ring, slots, tiles);
  } else {
    ptx::registers_take<CONSUMER_REGISTERS>();
    consume(params, ring, slots, staging, tiles);
  }
  // No CTA leaves while another may still write to its ring or arrive at its barriers.
  if constexpr (Mainloop::CLUSTER > 1) {
    __syncwarp();
    ptx::cluster_drain();
  }
}
