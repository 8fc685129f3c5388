// SPDX-License-Identifier: Apache-2.0
// Sums of one tile from several clusters, each of which has multiplied a piece of it along k. They meet in workspace. Of tiles left over every warpgroup writes its own, and the last of those
// that have the same part of D adds them all, in the order of k, so that the bits are the same every time, whoever comes last. Nobody waits, so that clusters need not run at the same time.
// Of slices all are written, and another launch adds them (sum_pieces.cu).
#pragma once
#include "params.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"

namespace ggemm::kernels {

// sums: of a warpgroup, BLOCKS blocks of 64 rows and WN columns; of CONSUMERS of them in each of a cluster's CTAS.
template <class Sum, int BLOCKS, int WN, int CONSUMERS, int CTAS>
class SliceReduction {
  static constexpr int CHUNKS = BLOCKS * WN / 8;  // 16 bytes of a thread's sums
  static constexpr int TOGETHER = CHUNKS < 16 ? CHUNKS : 16, AHEAD = TOGETHER < 2 ? 8 : 16 / TOGETHER;  // chunks, and pieces, that are under way at once
  static_assert(CHUNKS * 8 == BLOCKS * WN && sizeof(Sum) == 4, "sums are whole chunks");

 public:
  // Where a thread's sums of a piece begin, in its warpgroup, the part-th of the cluster's: vectors of four, 128 apart, and PIECE from one piece to the next.
  GG_DEVICE static ptx::Vector16* place(const SliceParams& p, u32 slot, u32 part, int thread) { return static_cast<ptx::Vector16*>(p.sums) + i64(slot) * PIECE + part * (CHUNKS * 128) + thread; }
  static constexpr i64 PIECE = i64(CTAS) * CONSUMERS * CHUNKS * 128;

  // All 128 threads of warpgroup `group` of the cluster's CTA `rank`: writes the sums.
  GG_DEVICE static void leave(const Sum (&sums)[BLOCKS][WN / 2], const SliceParams& p, u32 slot, u32 rank, int group) {
    store(sums, place(p, slot, rank * CONSUMERS + static_cast<u32>(group), static_cast<int>(threadIdx.x) % 128));
  }
  // The same threads, where a tile has more pieces than one: meets the others. Says whether the sums are now those of all of k; if not,
  // another warpgroup has them or will.
  GG_DEVICE static bool run(Sum (&sums)[BLOCKS][WN / 2], const SliceParams& p, const TilePiece& piece, u32 rank, int group) {
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const u32 part = rank * CONSUMERS + static_cast<u32>(group), others = piece.count - 1;
    u32* const arrivals = p.arrivals + piece.cell * (CTAS * CONSUMERS) + part;
    ptx::Vector16* const first = place(p, piece.slot, part, thread);
    // Sums are added in the order of k: what comes first or second may stay where it is, and need not be written if all others have been.
    const bool stays = piece.number < 2;
    if (stays && ptx::barrier_any<128>(1 + group, thread == 0 && ptx::seen_arrivals(arrivals) == others)) {
      if (thread == 0) ptx::count_arrival(arrivals, others);
    } else {
      store(sums, first + piece.number * PIECE);
      ptx::barrier_sync<128>(1 + group);
      if (!ptx::barrier_any<128>(1 + group, thread == 0 && ptx::count_arrival(arrivals, others) == others)) return false;
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c += TOGETHER) add(sums, first, c, stays ? others : piece.count, stays ? piece.number : piece.count);
    return true;
  }

 private:
  using Batch = ptx::Vector16[TOGETHER];
  GG_DEVICE static void store(const Sum (&sums)[BLOCKS][WN / 2], ptx::Vector16* to) {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      ptx::Vector16 out;
#pragma unroll
      for (int e = 0; e < 4; ++e) out.word[e] = bit_cast<u32>(sums[c / (WN / 8)][4 * (c % (WN / 8)) + e]);
      ptx::store_vector(to + c * 128, out);
    }
  }
  // A piece's chunks from chunk c on.
  GG_DEVICE static void load(Batch& in, const ptx::Vector16* first, int c, u32 piece) {
#pragma unroll
    for (int i = 0; i < TOGETHER; ++i)
      if (c + i < CHUNKS) in[i] = ptx::load_vector(first + piece * PIECE + (c + i) * 128);
  }
  template <bool FIRST>
  GG_DEVICE static void take(Sum (&sums)[BLOCKS][WN / 2], const Batch& in, int c) {
#pragma unroll
    for (int i = 0; i < TOGETHER; ++i) {
      if (c + i >= CHUNKS) break;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        Sum& sum = sums[(c + i) / (WN / 8)][4 * ((c + i) % (WN / 8)) + e];
        const Sum term = bit_cast<Sum>(in[i].word[e]);
        sum = FIRST ? term : sum + term;
      }
    }
  }
  // Chunks from c on, of so many pieces: of all but `own`, the first or second, which is there already, or simply of all.
  GG_DEVICE static void add(Sum (&sums)[BLOCKS][WN / 2], const ptx::Vector16* first, int c, u32 pieces, u32 own) {
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
