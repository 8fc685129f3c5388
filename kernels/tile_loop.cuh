// SPDX-License-Identifier: Apache-2.0
// A GEMM in three verbs: the scheduler names a tile, the mainloop sums it, the epilogue stores it.
#pragma once
#include "epilogue/slices.cuh"
#include "epilogue/store.cuh"
#include "scheduler/scheduler.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

template <class T>
using SchedulerOf = If<T::GROUPED, GroupedScheduler<T::BM, T::BN, T::GROUP_SHAPE>, If<T::BATCH, BatchScheduler, If<T::SLICED, CutScheduler<T>, PlainScheduler<false>>>>;

// Where a CTA's tile lies, for its epilogue. KEPT: in shared memory, where each warp has it, as the mainloop has no registers for it, and it is not worked out once more; but kernels that care which registers their sums have got worse ones by that.
template <class Scheduler, int WARPS, bool KEPT>
class TilePlace {
 public:
  GG_DEVICE TilePlace(const Scheduler& scheduler, i32 row, i32 column) : scheduler_(scheduler) {
    if constexpr (KEPT) {
      if (threadIdx.x % 32 == 0) kept() = {row, column};
      __syncwarp();
    }
  }
  GG_DEVICE i64 row() const { return KEPT ? kept().row : scheduler_.tile_row(); }
  GG_DEVICE i64 column() const { return KEPT ? kept().column : scheduler_.tile_column(); }

 private:
  struct Place { i32 row, column; };
  GG_DEVICE static Place& kept() {
    __shared__ Place places[WARPS];
    return places[threadIdx.x / 32];
  }

  const Scheduler& scheduler_;
};

// Shared memory of a kernel: the mainloop's ring and the epilogue's staging take turns in it. select::shared_bytes counts the same.
template <class T, class Mainloop>
GG_DEVICE void tile_loop(const typename SchedulerOf<T>::Params& params) {
  using Epilogue = StoreEpilogue<T, Mainloop::SWAP>;
  extern __shared__ __align__(1024) char shared[];
  SchedulerOf<T> scheduler(params);
  while (scheduler.next()) {
    // (Renewed: else ptxas works out in every step of k what follows from them, from the CTA's number on.)
    const i32 tile_row = ptx::renewed(scheduler.tile_row()), tile_column = ptx::renewed(scheduler.tile_column());
    const TilePlace<SchedulerOf<T>, T::THREADS / 32, Mainloop::SWAP == 0 && !T::GROUPED> tile(scheduler, tile_row, tile_column);
    Epilogue::prefetch_c(scheduler.problem(), i64(tile_row) * T::BM, i64(tile_column) * T::BN);
    Mainloop mainloop;
    mainloop.run(scheduler.problem(), scheduler.rows(), i64(tile_row) * T::BM, i64(tile_column) * T::BN, shared);
    if constexpr (T::SLICED) {
      using Slices = SliceReduction<typename Mainloop::Sum, Mainloop::SUMS, 1, T::THREADS, Mainloop::SWAP>;
      const TilePiece piece = scheduler.piece();
      if (piece.count > 1 && !Slices::run(mainloop.sums(), scheduler.slices(), piece, 0, 1)) return;
    }
    Epilogue::run(mainloop, scheduler.problem(), scheduler.rows(), tile.row() * T::BM, tile.column() * T::BN, shared);
    __syncthreads();
  }
}

}  // namespace ggemm::kernels
