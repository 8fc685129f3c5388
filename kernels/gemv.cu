// SPDX-License-Identifier: Apache-2.0
// The kernel of products of few rows or columns, by the memory that they read: mma.sync or CUDA cores straight from global memory; plain, grouped and batches; one size of A and B, sm_80 and up.
// Its warps share k, or, where there is little of it, have rows or columns each.
#include "epilogue/store.cuh"
#include "mainloop/gemv.cuh"
#include "mainloop/rows.cuh"
#include "ptx/launch.cuh"
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

using T = Traits;
using Scheduler = If<T::GROUPED, GroupedScheduler<T::BM, T::BN, T::GROUP_SHAPE>, If<T::BATCH, BatchScheduler, PlainScheduler<true>>>;

// (A template, so that what a kernel does not take is not made.)
template <class Tile>
GG_DEVICE void compute(const GemmParams& problem, const GroupRows& rows, i64 row, i64 column, char* shared) {
  using Epilogue = StoreEpilogue<Tile, 0>;
  if constexpr (Tile::WARPS_M > 1) {
    const int no_sums = 0;  // they come with each call
    const auto output = Epilogue::prepare(no_sums, problem, rows, row, column);
    If<(Tile::BM > Tile::BN), RowsMainloop<Tile>, ColumnsMainloop<Tile>>(shared).run(problem, row, column, output);
  } else {
    GemvMainloop<Tile> mainloop(shared);
    const auto output = [&] { return Epilogue::prepare(mainloop, problem, rows, row, column); };
    if constexpr (Tile::GROUPED) {
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

extern "C" __global__ void __launch_bounds__(T::THREADS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ Scheduler::Params params) {
  extern __shared__ __align__(1024) char shared[];
  ptx::launch_wait();
  Scheduler scheduler(params);
  while (scheduler.next()) compute<T>(scheduler.problem(), scheduler.rows(), i64(scheduler.tile_row()) * T::BM, i64(scheduler.tile_column()) * T::BN, shared);
}
