// SPDX-License-Identifier: Apache-2.0
// The producer of sm_90a's mainloop: one thread fills the ring through the tensor copy engine. A tile that several CTAs of a cluster need is loaded in slices, one by each of them, into all of them. Scales of blocks, but for lines of A's that the engine reaches, are brought by a warp besides.
// Operands that the copy engine does not reach are gathered by all threads of the producer warpgroup instead, where they have not been copied first (grouped products alone: rows by index, and what found no room).
#pragma once
#include "mainloop/block_scales.cuh"
#include "pipeline/line_copy.cuh"

namespace ggemm::kernels {

template <class T>
class WgmmaProducer {
  using Shape = WgmmaShape<T>;
  using TileA = typename Shape::TileA;
  using TileB = typename Shape::TileB;
  using Cursor = typename Shape::Cursor;

 public:
  // The producer thread, for a CTA of a cluster that has turned or not: the tiles of rows `row`, columns `column`, of k so many from the first-th of `all` on, STRIDE apart; of terms, all of each.
  // half: of A the upper half alone. scales: A's, of which the product's begin with line `scale_line`.
  GG_DEVICE static void produce(const MappedLines& a, const MappedLines& b, const ScaleLines& scales, i32 scale_line, const Ring<T::STAGES>& ring, Cursor& at, u32 slots, i32 row, i32 column, bool turned, i32 first, i32 tiles, i32 all, bool half = false) {
    const Share share(turned);
    const bool lines = Shape::SCALE_LINES && scales.mapped;
    const u32 bytes = (Shape::HALVES && half ? Shape::SLOT_BYTES - TileA::BYTES / 2 : Shape::SLOT_BYTES) + (lines ? Shape::SCALES_A * 4 : 0);
#pragma unroll 1
    for (i32 i = first; i < first + tiles * Shape::STRIDE; i += Shape::STRIDE)
#pragma unroll 1
      for (i32 term = Shape::TERM_SLOTS - 1; term >= 0; --term, ++at) {
        ring.wait_empty(at);
        const u32 slot = slots + at.slot * Shape::SLOT_BYTES, barrier = ring.full(at.slot);
        ptx::barrier_arrive_expect(barrier, bytes);
        share.load_a(slot, a, barrier, row, (term * all + i) * T::BK, half);
        share.load_b(slot, b, barrier, column, (term * all + i) * T::BK);
        if (lines) ptx::tensor_load(slots + Shape::scales_a(Shape::place(at)), scales.map, barrier, row, scale_line + i);
      }
  }

  // A warp of the producers', beside that thread: the scales of the same blocks of k. mapped: but for A's. Copies are under way for so many blocks before their slot is empty, as each has two places by turns.
  static constexpr int SCALES_WARP = 3;
  GG_DEVICE static void produce_scales(const GemmParams& p, bool mapped, const Ring<T::STAGES>& ring, Cursor& at, u32 slots, i32 row, i32 column, i32 first, i32 tiles) {
    constexpr int AHEAD = T::STAGES > 4 ? 4 : T::STAGES - 1;
    BlockScaleLoads<T, 32> loads(p, {}, 0, row, column, first);
#pragma unroll 1
    for (i32 i = 0; i < tiles + AHEAD; ++i) {
      if (i < tiles) loads.issue(p, !Shape::SCALE_LINES || !mapped, slots, Shape::place(at, i < AHEAD ? i : AHEAD));
      ptx::cp_async_commit();  // an empty group too, so that the count of groups tells the block
      if (i < AHEAD) continue;
      ptx::cp_async_wait<AHEAD>();
      ring.wait_empty(at);
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::barrier_arrive(ring.full(at.slot));
      ++at;
    }
  }

  // The same by all 128 threads of the producer warpgroup, where the copy engine does not reach both: it brings those of `reach` (1: A, 2: B), the threads the others.
  // index: of all groups' rows, of which this one's first is number `start`. tile_row, tile_column: numbers of tiles. tiles: of k. These lie in shared memory, for registers are few.
  GG_DEVICE static void gather(const GemmParams& p, const MappedLines& a, const MappedLines& b, i32 reach, const Source& index, i64 start, const Ring<T::STAGES>& ring, Cursor& at, char* slots, const i32& tile_row, const i32& tile_column, bool turned, const i32& tiles) {
    if (tiles == 0) return;  // whoever describes the next operands must not be ahead of who reads these, and the barriers are those of tiles
    const auto row = [&] { return tile_row * T::BM; };
    const auto column = [&] { return tile_column * T::BN; };
    // A CTA of a cluster may lie past the product's last row or column.
    using GatherA = LineCopy<0, TileA::ROWS, TileA::PANELS, Shape::SIZE, T::A_MN_MAJOR, Shape::INDEX_A ? LineOrder::by_index : LineOrder::straight>;
    using GatherB = LineCopy<1, TileB::ROWS, TileB::PANELS, Shape::SIZE, T::B_MN_MAJOR, Shape::INDEX_B ? LineOrder::by_index : T::SPLIT_PAIRS ? LineOrder::by_turns : LineOrder::straight>;
    if constexpr (Shape::INDEX_A) GatherA::describe(p.a.data, p.a.row_stride, p.a.col_stride, [&](int i) { return row() + i < p.m ? read_row(index, start + row() + i) : -1; }, p.k);
    else GatherA::describe(static_cast<const typename T::A*>(p.a.data) + i64(row()) * p.a.row_stride, p.a.row_stride, p.a.col_stride, max_of(p.m - row(), 0), p.k);
    if constexpr (Shape::INDEX_B) GatherB::describe(p.b.data, p.b.col_stride, p.b.row_stride, [&](int j) { return column() + j < p.n ? read_row(index, start + column() + j) : -1; }, p.k);
    else if constexpr (T::SPLIT_PAIRS) GatherB::describe_halves(static_cast<const typename T::B*>(p.b.data) + i64(column() / 2) * p.b.col_stride, p.b.col_stride, p.b.row_stride, p.n / 2, max_of(p.n / 2 - column() / 2, 0), p.k);
    else GatherB::describe(static_cast<const typename T::B*>(p.b.data) + i64(column()) * p.b.col_stride, p.b.col_stride, p.b.row_stride, max_of(p.n - column(), 0), p.k);
    all_threads();
    const bool by_threads_a = !(reach & 1), by_threads_b = !(reach & 2);
    BlockScaleLoads<T, 128> scales(p, index, start, row(), column(), 0);
    // What threads need not copy.
    const auto bring = [&](char* slot, i32 tile) {
      if (reach && threadIdx.x < 32 && ptx::elect_one()) {
        const Share share(turned);
        const u32 to = ptx::shared_address(slot), barrier = ring.full(at.slot);
        ptx::barrier_expect(barrier, (reach & 1 ? TileA::BYTES : 0) + (reach & 2 ? TileB::BYTES : 0));
        if (reach & 1) share.load_a(to, *ptx::renewed(&a), barrier, row(), tile * T::BK);
        if (reach & 2) share.load_b(to, *ptx::renewed(&b), barrier, column(), tile * T::BK);
      }
      if constexpr (T::BLOCK_SCALED) scales.issue(p, true, ptx::shared_address(slots), Shape::place(at));
    };
    const auto round = [&](char* slot) {
      if constexpr (T::TF32) {
        all_threads();
        if (by_threads_a) round_tile(slot, TileA::BYTES);
        if (by_threads_b) round_tile(slot + TileA::BYTES, TileB::BYTES);
      }
    };
    // Rows by index that are whole vectors, beside what the copy engine brings, need no more than addresses, which stay in registers.
    if constexpr (T::GATHER) {
      using Gather = If<Shape::INDEX_A, GatherA, GatherB>;
      if (reach && Gather::straight(index.value)) {
        const typename Gather::Straight lines;
        return fill(ring, at, slots, tiles, false, [&](char* slot, i32 tile) {
          bring(slot, tile);
          lines.issue(ptx::shared_address(slot) + (Shape::INDEX_A ? 0 : TileA::BYTES), tile);
        }, [&](char* slot, char*, i32) { round(slot); });
      }
    }
    const auto depth_of = [&](i32 tile) { return tile == tiles - 1 ? static_cast<i32>(p.k - (tiles - i64(1)) * T::BK) : T::BK; };
    const auto issue = [&](char* slot, i32 tile) {
      bring(slot, tile);
      if (by_threads_a) GatherA::issue(slot, tile, depth_of(tile));
      if (by_threads_b) GatherB::issue(slot + TileA::BYTES, tile, depth_of(tile));
    };
    const auto settle = [&](char* slot, char* next, i32 tile) {
      const i32 depth = depth_of(tile);
      const bool realign_a = by_threads_a && GatherA::realigns(depth), realign_b = by_threads_b && GatherB::realigns(depth), last = tile == tiles - 1;
      if (realign_a || realign_b) all_threads();
      if (realign_a) GatherA::realign(slot, next, tile, depth, last);
      if (realign_b) GatherB::realign(slot + TileA::BYTES, next + TileA::BYTES, tile, depth, last);
      round(slot);
    };
    fill(ring, at, slots, tiles, (by_threads_a && GatherA::needs_next()) || (by_threads_b && GatherB::needs_next()), issue, settle);
  }

 private:
  GG_DEVICE static void all_threads() { ptx::barrier_sync<128>(1 + T::TEAMS * Shape::CONSUMERS); }

  // All threads fill so many slots: start(slot, tile) begins a thread's copies, settle(slot, next, tile) makes good what has arrived of them; needs_next: with what has of those of the slot behind.
  template <class Start, class Settle>
  GG_DEVICE static void fill(const Ring<T::STAGES>& ring, Cursor& at, char* slots, i32 tiles, bool needs_next, Start start, Settle settle) {
    // So many slots' copies are under way at most. One is the consumers', who give a slot back when the next is full.
    constexpr int AHEAD = T::STAGES > 3 ? 3 : T::STAGES - 1;
    static_assert(AHEAD >= 2, "a line that is moved needs the slot behind");
    Cursor done = at;
#pragma unroll 1
    for (i32 i = 0; i < tiles + AHEAD; ++i) {
      if (i >= AHEAD) {
        if (needs_next) ptx::cp_async_wait<AHEAD - 2>();
        else ptx::cp_async_wait<AHEAD - 1>();
        const Cursor full = done;
        ++done;
        settle(slots + full.slot * Shape::SLOT_BYTES, slots + done.slot * Shape::SLOT_BYTES, i - AHEAD);
        ptx::fence_async();
        all_threads();
        if (const int thread = static_cast<int>(threadIdx.x); thread == 0 || (T::BLOCK_SCALED && thread == 32 * SCALES_WARP)) ptx::barrier_arrive(ring.full(full.slot));
      }
      if (i < tiles) {
        ring.wait_empty(at);
        start(slots + at.slot * Shape::SLOT_BYTES, i);
        ++at;
      }
      ptx::cp_async_commit();  // an empty group too, so that the count of groups tells the slot
    }
  }

  // What this CTA loads for its cluster: A's rows are shared by the CTAs across, B's columns by those down, if they have not turned.
  struct Share {
    u32 down, across;
    u16 mask_a, mask_b;
    bool turned;
    GG_DEVICE explicit Share(bool turned) : turned(turned) {
      const u32 rank = Shape::sharer(), first = Shape::part_of_k() * Shape::SHARERS;
      down = rank % T::CLUSTER_M, across = rank / T::CLUSTER_M;
      u32 mask = 0;
#pragma unroll
      for (int i = 0; i < T::CLUSTER_N; ++i) mask |= 1u << (first + down + i * T::CLUSTER_M);
      mask_a = static_cast<u16>(mask);
      mask_b = static_cast<u16>(Shape::TURNS && turned ? 1u << (first + rank) : ((1u << T::CLUSTER_M) - 1) << (first + across * T::CLUSTER_M));
    }
    GG_DEVICE void load_a(u32 slot, const MappedLines& a, u32 barrier, i32 row, i32 k, bool half = false) const {
      if constexpr (Shape::HALVES) {
        TileA::template load<2, true>(slot, *a.map, barrier, a.line, row, k, 0, mask_a);
        if (!half) TileA::template load<2, true>(slot, *a.map, barrier, a.line, row, k, 1, mask_a);
      } else {
        TileA::template load<T::CLUSTER_N>(slot, *a.map, barrier, a.line, row, k, across, mask_a);
      }
    }
    GG_DEVICE void load_b(u32 slot, const MappedLines& b, u32 barrier, i32 column, i32 k) const {
      TileB::template load<T::CLUSTER_M>(slot + TileA::BYTES, *b.map, barrier, b.line, column, k, down, mask_b);
      if (Shape::TURNS && turned) TileB::template load<T::CLUSTER_M>(slot + TileA::BYTES, *b.map, barrier, b.line, column, k, 1 - down, mask_b);
    }
  };

  // What threads have brought of f32, as the copy engine would have, so that it does not matter to the bits who brings an operand. All 128 threads of the producer warpgroup.
  GG_DEVICE static void round_tile(char* tile, int bytes) {
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x) * 16; at < bytes; at += 128 * 16) {
      ptx::Vector16& v = *reinterpret_cast<ptx::Vector16*>(tile + at);
#pragma unroll
      for (int i = 0; i < 4; ++i) v.word[i] = round_tf32_even(v.word[i]);
    }
  }
};

}  // namespace ggemm::kernels
