// SPDX-License-Identifier: Apache-2.0
// Sums of one tile from the CTAs of a cluster, each of which has multiplied a share of k: added in the order of the CTAs, so that the bits are the same every time. They meet in the
// shared memory that the ring has left; each CTA but the last few finishes some of the tile's columns.
#pragma once
#include "ptx/async.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"
#include "tile/panels.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// Shape: of the mainloop (mainloop/wgmma_shape.cuh).
template <class T, class Shape>
class ClusterReduction {
  using Sum = typename T::Sum;
  static constexpr int THREADS = 128 * Shape::CONSUMERS, BLOCKS = Shape::BLOCKS;
  static constexpr int ALL = Shape::WN / 8;  // 16 bytes of sums a thread and block

 public:
  static constexpr int FINISHERS = finishers(Shape::WN, T::CLUSTER_K);
  static constexpr int WN = Shape::WN / FINISHERS;  // columns of a warpgroup's part that a CTA finishes
  static constexpr int BYTES = THREADS * BLOCKS * ALL * 16;
  static_assert(T::CLUSTER_K == 1 || (BYTES <= Shape::RING_BYTES && sizeof(Sum) == 4), "the ring holds a tile's sums");
  Sum sums[BLOCKS][WN / 2];

  // All consumers of all CTAs of the cluster, while its other threads are at a cluster_barrier too; `shared` is free. Says whether this CTA finishes anything:
  // the columns from rank * WN on of each warpgroup's part, rank being the number of its share of k.
  GG_DEVICE bool run(const Sum (&part)[BLOCKS][Shape::WN / 2], char* shared, u32 rank) {
    const int thread = static_cast<int>(threadIdx.x) - 128;
    ptx::barrier_sync<THREADS>(1 + Shape::CONSUMERS);  // the other consumers too have read the ring's last slot
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int i = 0; i < ALL; ++i) {
        ptx::Vector16 out;
#pragma unroll
        for (int e = 0; e < 4; ++e) out.word[e] = bit_cast<u32>(part[b][4 * i + e]);
        reinterpret_cast<ptx::Vector16*>(shared)[(b * ALL + i) * THREADS + thread] = out;
      }
    ptx::cluster_barrier();
    if (rank >= FINISHERS) return false;
    const u32 first = ptx::shared_address(shared) + 16 * (static_cast<int>(rank) * (ALL / FINISHERS) * THREADS + thread);
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int i = 0; i < WN / 8; ++i) {
        const u32 at = first + 16 * (b * ALL + i) * THREADS;
#pragma unroll
        for (int cta = 0; cta < T::CLUSTER_K; ++cta) {
          const ptx::Vector16 in = ptx::load_cluster(ptx::cluster_address(at, cta * Shape::SHARERS + Shape::sharer()));
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const Sum term = bit_cast<Sum>(in.word[e]);
            if (cta == 0) sums[b][4 * i + e] = term;
            else sums[b][4 * i + e] += term;
          }
        }
      }
    return true;
  }
};

}  // namespace ggemm::kernels
