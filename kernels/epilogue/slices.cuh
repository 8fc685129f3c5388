// SPDX-License-Identifier: Apache-2.0
// Sums of one tile from several clusters, each of which has multiplied a slice of k. They meet in workspace: every warpgroup writes its own, and the last of those that have the
// same part of D adds them all, in the order of k, so that the bits are the same every time, whoever comes last. Nobody waits, so that clusters need not run at the same time.
#pragma once
#include "params.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"
#include "tile/depth.cuh"

namespace ggemm::kernels {

// sums: of a warpgroup, BLOCKS blocks of 64 rows and WN columns.
template <class Sum, int BLOCKS, int WN, int CONSUMERS>
class SliceReduction {
  static constexpr int CHUNKS = BLOCKS * WN / 8;  // 16 bytes of a thread's sums
  static constexpr int TOGETHER = CHUNKS < 8 ? CHUNKS : 8, AHEAD = 8 / TOGETHER;  // chunks, and slices, that are under way at once
  static_assert(CHUNKS * 8 == BLOCKS * WN && sizeof(Sum) == 4, "sums are whole chunks");

 public:
  // All 128 threads of warpgroup `group`. `shared`: 4 bytes that they may use, until their next barrier. Says whether the sums are now those of all of k; if not, another
  // warpgroup has them or will.
  GG_DEVICE static bool run(Sum (&sums)[BLOCKS][WN / 2], const SliceParams& p, SlicePlace place, int group, char* shared) {
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const u32 cell = place.cell * CONSUMERS + static_cast<u32>(group), slices = static_cast<u32>(p.slices);
    ptx::Vector16* const first = static_cast<ptx::Vector16*>(p.sums) + i64(cell) * slices * (CHUNKS * 128) + thread;
    ptx::Vector16* const own = first + i64(place.slice) * (CHUNKS * 128);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      ptx::Vector16 out;
#pragma unroll
      for (int e = 0; e < 4; ++e) out.word[e] = bit_cast<u32>(sums[c / (WN / 8)][4 * (c % (WN / 8)) + e]);
      ptx::store_vector(own + c * 128, out);
    }
    ptx::barrier_sync<128>(1 + group);
    if (thread == 0) *reinterpret_cast<u32*>(shared) = ptx::count_arrival(p.arrivals + cell, slices - 1);
    ptx::barrier_sync<128>(1 + group);
    if (*reinterpret_cast<const u32*>(shared) != slices - 1) return false;
#pragma unroll
    for (int c = 0; c < CHUNKS; c += TOGETHER) add(sums, first, c, slices);
    return true;
  }

 private:
  using Batch = ptx::Vector16[TOGETHER];
  // A slice's chunks from chunk c on.
  GG_DEVICE static void load(Batch& in, const ptx::Vector16* first, int c, u32 slice) {
#pragma unroll
    for (int i = 0; i < TOGETHER; ++i)
      if (c + i < CHUNKS) in[i] = ptx::load_vector(first + i64(slice) * (CHUNKS * 128) + (c + i) * 128);
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
  // Chunks from c on, of all slices.
  GG_DEVICE static void add(Sum (&sums)[BLOCKS][WN / 2], const ptx::Vector16* first, int c, u32 slices) {
    Batch in[AHEAD];
    load(in[0], first, c, 0);
    take<true>(sums, in[0], c);
#pragma unroll 1
    for (u32 slice = 1; slice < slices; slice += AHEAD) {
#pragma unroll
      for (int a = 0; a < AHEAD; ++a) load(in[a], first, c, static_cast<u32>(min_of(slice + a, slices - 1)));
#pragma unroll
      for (int a = 0; a < AHEAD; ++a)
        if (slice + a < slices) take<false>(sums, in[a], c);
    }
  }
};

}  // namespace ggemm::kernels
