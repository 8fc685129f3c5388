// SPDX-License-Identifier: Apache-2.0
// Sums of one tile from several clusters, each of which has multiplied a piece of it along k. They meet in workspace. Of tiles left over every party (a warpgroup, or a CTA whose warps all
// multiply) writes its own, and the last of those that have the same part of D adds them all, in the order of k, so that the bits are the same every time, whoever comes last. Nobody waits,
// so that clusters need not run at the same time.
// Of slices all are written, and another launch adds them (sum_pieces.cu).
#pragma once
#include "params.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"

namespace ggemm::kernels {

// Of parties of THREADS threads with SUMS sums each, PARTS in a cluster. SWAP: as the mainloop's (tile_loop.cuh), for its sums to keep to their registers.
template <class Sum, int SUMS, int PARTS, int THREADS = 128, int SWAP = 0>
class SliceReduction {
  static constexpr int EACH = 16 / static_cast<int>(sizeof(Sum)), CHUNKS = SUMS / EACH;  // sums in 16 bytes; such chunks of a thread's
  static constexpr int TOGETHER = CHUNKS < 16 ? CHUNKS : 16, AHEAD = TOGETHER < 2 ? 8 : 16 / TOGETHER;  // chunks, and pieces, that are under way at once
  static_assert(CHUNKS * EACH == SUMS, "sums are whole chunks");

 public:
  using Sums = Sum[SUMS];
  // Where a thread's sums of a piece begin, in its party, the part-th of the cluster's: vectors, THREADS apart, and PIECE from one piece to the next.
  GG_DEVICE static ptx::Vector16* place(const SliceParams& p, u32 slot, u32 part, int thread) { return static_cast<ptx::Vector16*>(p.sums) + i64(slot) * PIECE + part * (CHUNKS * THREADS) + thread; }
  static constexpr i64 PIECE = i64(PARTS) * CHUNKS * THREADS;

  // All threads of the cluster's part-th party: writes the sums.
  GG_DEVICE static void leave(const Sums& sums, const SliceParams& p, u32 slot, u32 part) { store(sums, place(p, slot, part, static_cast<int>(threadIdx.x) % THREADS)); }
  // The same threads, where a tile has more pieces than one: meets the others. Says whether the sums are now those of all of k; if not, another party has them or will. barrier: a number that is this party's.
  GG_DEVICE static bool run(Sums& sums, const SliceParams& p, const TilePiece& piece, u32 part, int barrier) {
    const int thread = static_cast<int>(threadIdx.x) % THREADS;
    const u32 others = piece.count - 1;
    u32* const arrivals = p.arrivals + piece.cell * PARTS + part;
    ptx::Vector16* const first = place(p, piece.slot, part, thread);
    // Sums are added in the order of k: what comes first or second may stay where it is, and need not be written if all others have been.
    const bool stays = piece.number < 2;
    if (stays && ptx::barrier_any<THREADS>(barrier, thread == 0 && ptx::seen_arrivals(arrivals) == others)) {
      if (thread == 0) ptx::count_arrival(arrivals, others);
    } else {
      store(sums, first + piece.number * PIECE);
      ptx::barrier_sync<THREADS>(barrier);
      if (!ptx::barrier_any<THREADS>(barrier, thread == 0 && ptx::count_arrival(arrivals, others) == others)) return false;
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c += TOGETHER) add(sums, first, c, stays ? others : piece.count, stays ? piece.number : piece.count);
    return true;
  }

 private:
  union Chunk { ptx::Vector16 vector; Sum element[EACH]; };
  using Batch = Chunk[TOGETHER];
  GG_DEVICE static void store(const Sums& sums, ptx::Vector16* to) {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      Chunk out;
#pragma unroll
      for (int e = 0; e < EACH; ++e) out.element[e] = sums[EACH * c + (e ^ SWAP)];
      ptx::store_vector(to + c * THREADS, out.vector);
    }
  }
  // A piece's chunks from chunk c on.
  GG_DEVICE static void load(Batch& in, const ptx::Vector16* first, int c, u32 piece) {
#pragma unroll
    for (int i = 0; i < TOGETHER; ++i)
      if (c + i < CHUNKS) in[i].vector = ptx::load_vector(first + piece * PIECE + (c + i) * THREADS);
  }
  template <bool FIRST>
  GG_DEVICE static void take(Sums& sums, const Batch& in, int c) {
#pragma unroll
    for (int i = 0; i < TOGETHER; ++i) {
      if (c + i >= CHUNKS) break;
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        Sum& sum = sums[EACH * (c + i) + (e ^ SWAP)];
        sum = FIRST ? in[i].element[e] : sum + in[i].element[e];
      }
    }
  }
  // Chunks from c on, of so many pieces: of all but `own`, the first or second, which is there already, or simply of all.
  GG_DEVICE static void add(Sums& sums, const ptx::Vector16* first, int c, u32 pieces, u32 own) {
    Batch in[AHEAD];
    const bool all = own > 1;
    if (all) {
      load(in[0], first, c, 0);
      take<true>(sums, in[0], c);
    }
#pragma unroll 1
    for (u32 i = all ? 1 : 0; i < pieces; i += AHEAD) {
#pragma unroll
      for (int a = 0; a < AHEAD; ++a) {
        const u32 piece = static_cast<u32>(min_of(i + a, pieces - 1));
        load(in[a], first, c, piece + (piece >= own ? 1 : 0));
      }
#pragma unroll
      for (int a = 0; a < AHEAD; ++a)
        if (i + a < pieces) take<false>(sums, in[a], c);
    }
  }
};

}  // namespace ggemm::kernels
