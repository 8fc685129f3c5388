// SPDX-License-Identifier: Apache-2.0
// The kernel of products of few rows or columns, by the memory that they read: mma.sync or CUDA cores straight from global memory; plain, grouped and batches; one size of A and B, sm_80 and up.
#include "epilogue/store.cuh"
#include "mainloop/gemv.cuh"
#include "ptx/launch.cuh"
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

using T = Traits;
using Scheduler = If<T::GROUPED, GroupedScheduler<T::BM, T::BN, T::GROUP_SHAPE>, If<T::BATCH, BatchScheduler<T::BM, T::BN, T::GROUP_SHAPE, true>, PlainScheduler<T::BM, T::BN, true>>>;

extern "C" __global__ void __launch_bounds__(T::THREADS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ Scheduler::Params params) {
  extern __shared__ __align__(1024) char shared[];
  ptx::launch_wait();
  Scheduler scheduler(params);
  while (scheduler.next()) {
    const auto& problem = scheduler.problem();
    const GroupRows rows = scheduler.rows();
    const i64 row = i64(scheduler.tile_row()) * T::BM, column = i64(scheduler.tile_column()) * T::BN;
    GemvMainloop<T> mainloop(shared);
    const auto output = [&] { return StoreEpilogue<T, 0>::prepare(mainloop, problem, rows, row, column); };
    if constexpr (T::GROUPED) {
      mainloop.run(problem, rows, row, column);
      output().store_each();
    } else {
      // What the epilogue reads and works out is on its way while the operands are.
      const auto ready = output();
      mainloop.run(problem, rows, row, column);
      ready.store_each();
    }
  }
}
