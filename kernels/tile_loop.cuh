// SPDX-License-Identifier: Apache-2.0
// A GEMM in three verbs: the scheduler names a tile, the mainloop sums it, the epilogue stores it.
#pragma once
#include "epilogue/slices.cuh"
#include "epilogue/store.cuh"
#include "scheduler/scheduler.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

template <class T>
using SchedulerOf = If<T::GROUPED, GroupedScheduler<T::BM, T::BN, T::GROUP_SHAPE>, If<T::BATCH, BatchScheduler<T::BM, T::BN, T::GROUP_SHAPE>, If<T::SLICED, CutScheduler<T>, PlainScheduler<T::BM, T::BN>>>>;

// Shared memory of a kernel: the mainloop's ring and the epilogue's staging take turns in it. select::shared_bytes counts the same.
template <class T, class Mainloop>
GG_DEVICE void tile_loop(const typename SchedulerOf<T>::Params& params) {
  extern __shared__ __align__(1024) char shared[];
  SchedulerOf<T> scheduler(params);
  while (scheduler.next()) {
    const auto row = [&] { return i64(scheduler.tile_row()) * T::BM; };
    const auto column = [&] { return i64(scheduler.tile_column()) * T::BN; };
    Mainloop mainloop;
    mainloop.run(scheduler.problem(), scheduler.rows(), row(), column(), shared);
    if constexpr (T::SLICED) {
      using Slices = SliceReduction<typename Mainloop::Sum, Mainloop::SUMS, 1, T::THREADS, Mainloop::SWAP>;
      const TilePiece piece = scheduler.piece();
      if (piece.count > 1 && !Slices::run(mainloop.sums(), scheduler.slices(), piece, 0, 1)) return;
    }
    StoreEpilogue<T, Mainloop::SWAP>::run(mainloop, scheduler.problem(), scheduler.rows(), row(), column(), shared);
    __syncthreads();
  }
}

}  // namespace ggemm::kernels
