// SPDX-License-Identifier: Apache-2.0
// The mainloop of sm_90a in two roles: a producer thread fills the ring through the tensor copy engine, consumer warpgroups multiply what is full by wgmma.
// A tile that several CTAs of a cluster need is loaded in slices, one by each of them, into all of them.
// Operands that the copy engine does not reach are gathered by all threads of the producer warpgroup instead, where they have not been copied first (grouped products alone: rows by index, and what found no room).
#pragma once
#include "pipeline/line_copy.cuh"
#include "pipeline/ring.cuh"
#include "ptx/tensor.cuh"
#include "ptx/wgmma.cuh"
#include "tile/panels.cuh"
#include "tile/shared_tile.cuh"
#include "tile/terms.cuh"
#include "mainloop/block_scales.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// An operand's tile in a slot (tile/panels.cuh): panels of 128-byte rows, one after the other, swizzled by the copy engine.
template <int SPAN, int DEPTH, int SIZE, bool MN_MAJOR>
struct PanelTile {
  static constexpr int INNER = panel_bytes / SIZE, PANELS = tile_panels(SPAN, DEPTH, SIZE, MN_MAJOR), ROWS = panel_rows(SPAN, DEPTH, MN_MAJOR);
  static constexpr int PANEL_BYTES = ROWS * panel_bytes, BYTES = PANELS * PANEL_BYTES;
  static_assert(PANELS * INNER == (MN_MAJOR ? SPAN : DEPTH) && ROWS % 8 == 0, "a tile is whole panels of whole swizzle periods");

  // Threads write the same layout.
  template <int OPERAND, bool BY_INDEX>
  using Gather = LineCopy<OPERAND, ROWS, PANELS, SIZE, MN_MAJOR, BY_INDEX>;

  // One thread: the SLICE-th of SHARE parts of the tile at (first, k) of the matrix that begins at this line of the map, into this CTA (ALONE) or, by `ctas`, into several.
  template <int SHARE, bool ALONE = SHARE == 1>
  GG_DEVICE static void load(u32 tile, const TensorMap& map, u32 barrier, i32 line, i32 first, i32 k, int slice, u16 ctas) {
    constexpr bool BY_PANELS = dealt_by_panels(SPAN, DEPTH, SIZE, MN_MAJOR, SHARE);
    constexpr int COUNT = BY_PANELS ? PANELS / SHARE : PANELS, HEIGHT = box_rows(SPAN, DEPTH, SIZE, MN_MAJOR, SHARE);
    static_assert(HEIGHT % 8 == 0, "a slice is whole swizzle periods");
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int panel = BY_PANELS ? slice * COUNT + i : i, row = BY_PANELS ? 0 : slice * HEIGHT;
      const u32 to = tile + panel * PANEL_BYTES + row * panel_bytes;
      const i32 inner = (MN_MAJOR ? first : k) + panel * INNER, outer = line + (MN_MAJOR ? k : first) + row;
      if constexpr (ALONE) ptx::tensor_load(to, map, barrier, inner, outer);
      else ptx::tensor_load_multicast(to, map, barrier, inner, outer, ctas);
    }
  }

  // Byte offset in the tile of a 4-byte element that is contiguous along m or n, of row (column) i at place k.
  GG_DEVICE static constexpr int element(int i, int k) {
    static_assert(MN_MAJOR && SIZE == 4);
    return i / INNER * PANEL_BYTES + swizzle_128b(k * panel_bytes + i % INNER * SIZE);
  }

  // Of the tile at `tile`, from row (column) `first` on, at k step `step` (32 bytes of k).
  GG_DEVICE static u64 descriptor(u32 tile, int first) { return ptx::wgmma_descriptor(tile + (MN_MAJOR ? first / INNER * PANEL_BYTES : first * 128), PANEL_BYTES, 1024); }
  GG_DEVICE static constexpr u64 step(int step) { return (MN_MAJOR ? step * (32 / SIZE) * 128 : step / 4 * PANEL_BYTES + step % 4 * 32) >> 4; }
};

// What a thread has of A in registers (ptx/wgmma.cuh), of a tile of 4-byte elements that is contiguous along m, for 64 BLOCKS rows. Of a step it loads four elements, in an order of its own
// that takes a warp's 32 to 32 banks: its lane's number in its group of four says which is first.
template <class Tile, int BLOCKS, int STEPS>
class TurnedFragments {
 public:
  // row: the first.
  GG_DEVICE explicit TurnedFragments(int row) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row += static_cast<int>(threadIdx.x) / 32 % 4 * 16 + lane / 4;
    first_ = lane % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) offsets_[i] = Tile::element(row + ((i ^ first_) & 1) * 8, first_ + ((i ^ first_) >> 1) * 4);
  }

  GG_DEVICE void load(const char* tile, u32 (&out)[BLOCKS][STEPS][4]) const {
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        u32 in[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) in[i] = *reinterpret_cast<const u32*>(tile + offsets_[i] + Tile::element(64 * b, 8 * step));
        const bool one = first_ & 1, two = first_ & 2;
        const u32 a0 = one ? in[1] : in[0], a1 = one ? in[0] : in[1], a2 = one ? in[3] : in[2], a3 = one ? in[2] : in[3];
        out[b][step][0] = two ? a2 : a0, out[b][step][1] = two ? a3 : a1, out[b][step][2] = two ? a0 : a2, out[b][step][3] = two ? a1 : a3;
      }
  }

 private:
  int first_, offsets_[4];
};

template <class T>
class WgmmaMainloop {
  static constexpr int SIZE = sizeof(typename T::A);
  using TileA = PanelTile<T::BM, T::BK, SIZE, T::A_MN_MAJOR>;
  using TileB = PanelTile<T::BN, T::BK, SIZE, T::B_MN_MAJOR>;
  static constexpr int GROUPS_M = T::WARPS_M / 4, GROUPS_N = T::WARPS_N;  // consumer warpgroups down and across

 public:
  using Sum = typename T::Sum;
  using Cursor = typename Ring<T::STAGES>::Cursor;
  static constexpr int CONSUMERS = GROUPS_M * GROUPS_N;
  static constexpr int WM = T::BM / GROUPS_M, WN = T::BN / GROUPS_N;  // a warpgroup's part of the tile
  static constexpr int BLOCKS = WM / 64, STEPS = T::BK * SIZE / 32;
  static constexpr int SLOT_BYTES = TileA::BYTES + TileB::BYTES, RING_BYTES = T::STAGES * SLOT_BYTES;
  static constexpr bool PROMOTED = (T::FP8 && !T::FAST) || T::BLOCK_SCALED || T::TERMS;
  static_assert(!PROMOTED || T::BK == scale_block || T::TERMS, "sums are promoted, and scaled, every 128 of k");
  // Whether a thread has registers for two sets of what tensor cores sum, beside its sums.
  static constexpr bool TWO_PARTS = PROMOTED && !T::BLOCK_SCALED && promoted_from_two_sets(BLOCKS * WN / 2);
  static constexpr int SHARERS = T::CLUSTER_M * T::CLUSTER_N, CLUSTER = SHARERS * T::CLUSTER_K;
  static constexpr bool TURNS = clusters_turn(T::CLUSTER_M, T::CLUSTER_N);
  // CTAs that share operands follow one another in a cluster; those that share a tile along k are so many apart.
  GG_DEVICE static u32 sharer() { return SHARERS > 1 ? ptx::cluster_rank() % SHARERS : 0; }
  GG_DEVICE static u32 part_of_k() { return T::CLUSTER_K > 1 ? ptx::cluster_rank() / SHARERS : 0; }
  // A slot is empty when every warp that reads it here and in the CTAs that get slices from here has said so; of a cluster that has turned, which shares none, all the same.
  static constexpr int EMPTIES = CONSUMERS * 4 * (T::CLUSTER_M + T::CLUSTER_N - 1);
  static_assert(T::TEAMS == 1 || !PROMOTED, "where sums are promoted nobody tells when the last slot is full");
  static_assert(!T::TURNS_A || T::CLUSTER_N == 1, "that threads have read A is told to this CTA");
  static_assert(WM % 64 == 0, "a warpgroup multiplies 64 rows at a time");
  // A tile of which a group has rows in the upper half alone is that half (tile/panels.cuh).
  static constexpr bool HALVES = in_halves(T::GROUPED, T::INDEX_COLUMNS, T::BM, T::WARPS_M, CLUSTER, T::TEAMS, T::BK, SIZE, T::A_MN_MAJOR);
  // Lines of A, or of B, that lie where an index says, which the copy engine does not reach.
  static constexpr bool INDEX_A = T::GATHER && !T::INDEX_COLUMNS, INDEX_B = T::GATHER && T::INDEX_COLUMNS;

  // Tiles of k of a product that is k deep.
  GG_DEVICE static i32 depth(i64 k) { return static_cast<i32>(ceil_div(k, T::BK)); }
  // Of terms each tile of k takes three slots of the ring, for the low terms of A and B, the middle ones and the high ones: in the order in which they are done with.
  static constexpr int TERM_SLOTS = T::TERMS ? term_count : 1;
  static_assert(T::STAGES % TERM_SLOTS == 0, "the slots of a tile of k lie one behind the other");

  // The CTAs that share a tile along k take turns at its tiles of k, so that together they read whole lines of memory; where scales go by k, each has a part of it.
  static constexpr i32 STRIDE = T::BLOCK_SCALED ? 1 : T::CLUSTER_K;
  // This CTA's tiles of k, of those of its cluster; they lie STRIDE apart.
  GG_DEVICE static DepthPart part(const DepthPart& all) {
    if constexpr (T::CLUSTER_K == 1) return all;
    const i32 own = static_cast<i32>(part_of_k());
    if constexpr (STRIDE > 1) return {all.first + own, (all.tiles - own + STRIDE - 1) / STRIDE};
    const DepthPart part = depth_part(all.tiles, T::CLUSTER_K, own);
    return {all.first + part.first, part.tiles};
  }

  // The producer thread, for a CTA of a cluster that has turned or not: the tiles of rows `row`, columns `column`, of k so many from the first-th of `all` on, STRIDE apart; of terms, all of each.
  // half: of A the upper half alone.
  GG_DEVICE static void produce(const MappedLines& a, const MappedLines& b, const Ring<T::STAGES>& ring, Cursor& at, u32 slots, i32 row, i32 column, bool turned, i32 first, i32 tiles, i32 all, bool half = false) {
    const Share share(turned);
    const u32 bytes = HALVES && half ? SLOT_BYTES - TileA::BYTES / 2 : SLOT_BYTES;
#pragma unroll 1
    for (i32 i = first; i < first + tiles * STRIDE; i += STRIDE)
#pragma unroll 1
      for (i32 term = TERM_SLOTS - 1; term >= 0; --term, ++at) {
        ring.wait_empty(at);
        const u32 slot = slots + at.slot * SLOT_BYTES, barrier = ring.full(at.slot);
        ptx::barrier_arrive_expect(barrier, bytes);
        share.load_a(slot, a, barrier, row, (term * all + i) * T::BK, half);
        share.load_b(slot, b, barrier, column, (term * all + i) * T::BK);
      }
  }

  // The same by all 128 threads of the producer warpgroup, where the copy engine does not reach both: it brings those of `reach` (1: A, 2: B), the threads the others.
  // index: of all groups' rows, of which this one's first is number `start`. tiles: of k; it lies in shared memory, for registers are few.
  GG_DEVICE static void gather(const GemmParams& p, const MappedLines& a, const MappedLines& b, i32 reach, const Source& index, i64 start, const Ring<T::STAGES>& ring, Cursor& at, char* slots, i64 row, i64 column, bool turned, const i32& tiles) {
    if (tiles == 0) return;  // whoever describes the next operands must not be ahead of who reads these, and the barriers are those of tiles
    // Copies are under way for so many slots before the oldest is waited for; the ring must hold one more.
    constexpr int AHEAD = T::STAGES > 2 ? 2 : 1;
    const int thread = static_cast<int>(threadIdx.x);
    // A CTA of a cluster may lie past the product's last row or column.
    using GatherA = typename TileA::template Gather<0, INDEX_A>;
    using GatherB = typename TileB::template Gather<1, INDEX_B>;
    if constexpr (INDEX_A) GatherA::describe(p.a.data, p.a.row_stride, p.a.col_stride, [&](int i) { return row + i < p.m ? read_row(index, start + row + i) : -1; }, p.k);
    else GatherA::describe(static_cast<const typename T::A*>(p.a.data) + row * p.a.row_stride, p.a.row_stride, p.a.col_stride, max_of(p.m - row, 0), p.k);
    if constexpr (INDEX_B) GatherB::describe(p.b.data, p.b.col_stride, p.b.row_stride, [&](int j) { return column + j < p.n ? read_row(index, start + column + j) : -1; }, p.k);
    else GatherB::describe(static_cast<const typename T::B*>(p.b.data) + column * p.b.col_stride, p.b.col_stride, p.b.row_stride, max_of(p.n - column, 0), p.k);
    const auto all_threads = [] { ptx::barrier_sync<128>(1 + T::TEAMS * CONSUMERS); };
    all_threads();
    const bool by_threads_a = !(reach & 1), by_threads_b = !(reach & 2), needs_next = (by_threads_a && GatherA::needs_next()) || (by_threads_b && GatherB::needs_next());
    const auto depth_of = [&](i32 tile) { return tile == tiles - 1 ? static_cast<i32>(p.k - (tiles - i64(1)) * T::BK) : T::BK; };
    Cursor done = at;
#pragma unroll 1
    for (i32 i = 0; i < tiles + AHEAD; ++i) {
      if (i < tiles) {
        ring.wait_empty(at);
        char* const slot = slots + at.slot * SLOT_BYTES;
        if (thread == 0 && reach) {
          const Share share(turned);
          const u32 to = ptx::shared_address(slot), barrier = ring.full(at.slot);
          ptx::barrier_expect(barrier, (reach & 1 ? TileA::BYTES : 0) + (reach & 2 ? TileB::BYTES : 0));
          if (reach & 1) share.load_a(to, *ptx::renewed(&a), barrier, static_cast<i32>(row), i * T::BK);
          if (reach & 2) share.load_b(to, *ptx::renewed(&b), barrier, static_cast<i32>(column), i * T::BK);
        }
        if (by_threads_a) GatherA::issue(slot, i, depth_of(i));
        if (by_threads_b) GatherB::issue(slot + TileA::BYTES, i, depth_of(i));
        ++at;
      }
      ptx::cp_async_commit();  // an empty group too, so that the count of groups tells the slot
      if (i < AHEAD) continue;
      if (needs_next) ptx::cp_async_wait<AHEAD - 1>();
      else ptx::cp_async_wait<AHEAD>();
      const i32 tile = i - AHEAD, depth = depth_of(tile);
      const bool realign_a = by_threads_a && GatherA::realigns(depth), realign_b = by_threads_b && GatherB::realigns(depth);
      if (realign_a || realign_b) {
        all_threads();
        Cursor after = done;
        ++after;
        char *const slot = slots + done.slot * SLOT_BYTES, *const next = slots + after.slot * SLOT_BYTES;
        if (realign_a) GatherA::realign(slot, next, tile, depth, tile == tiles - 1);
        if (realign_b) GatherB::realign(slot + TileA::BYTES, next + TileA::BYTES, tile, depth, tile == tiles - 1);
      }
      if constexpr (T::TF32) {
        all_threads();
        char* const slot = slots + done.slot * SLOT_BYTES;
        if (by_threads_a) round_tile(slot, TileA::BYTES);
        if (by_threads_b) round_tile(slot + TileA::BYTES, TileB::BYTES);
      }
      ptx::fence_async();
      all_threads();
      if (thread == 0) ptx::barrier_arrive(ring.full(done.slot));
      ++done;
    }
  }

  // What threads have brought of f32, as the copy engine would have, so that it does not matter to the bits who brings an operand. All 128 threads of the producer warpgroup.
  GG_DEVICE static void round_tile(char* tile, int bytes) {
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x) * 16; at < bytes; at += 128 * 16) {
      ptx::Vector16& v = *reinterpret_cast<ptx::Vector16*>(tile + at);
#pragma unroll
      for (int i = 0; i < 4; ++i) v.word[i] = round_tf32_even(v.word[i]);
    }
  }

  // A consumer warpgroup, `group` of CONSUMERS: sums its part of the CTA's tile at (m, n) from the next `tiles` slots of the ring at `shared` (of terms three for each, and twice if `unusual`), which begin with the first-th tile of k.
  // Its last products may be under way then: finish() waits for them. last_full: called by each thread once it has waited for the last slot to be full.
  // meanwhile: called by all threads while products are under way, with the number of the tile of k that is multiplied; not where sums are promoted, or A comes through registers.
  // unusual: of terms, as split.cu found (tile/terms.cuh). An operand that is not finite makes the corrections of its sums meaningless: these count for nothing then, as the last product
  // brings what is not finite by itself. The producer brings all of k twice for that, and so takes part.
  template <class LastFull, class Meanwhile>
  GG_DEVICE void consume(const GemmParams& p, const Source& index, i64 start, const Ring<T::STAGES>& ring, Cursor& at, const char* shared, int group, i64 m, i64 n, i32 first, i32 tiles, bool unusual, LastFull last_full, Meanwhile meanwhile) {
    const u32 slots = ptx::shared_address(shared);
    const int row = group / GROUPS_N * WM, column = group % GROUPS_N * WN;
    if constexpr (!BLANK) {
      const bool written = !PROMOTED && tiles > 0;
      each_sum([written](Sum& sum) {
        if (written) ptx::wgmma_blank(sum);
        else sum = 0;
      });
    }
    if (tiles == 0) return last_full();
    if constexpr (T::TERMS) {
      if (!unusual) return consume_terms(ring, at, slots, row, column, tiles);
      consume_products(ring, at, slots, row, column, tiles, 0, term_corrections);
      each_sum([](Sum& sum) {
        if ((bit_cast<u32>(sum) & 0x7f800000u) == 0x7f800000u) sum = 0;
      });
      consume_products(ring, at, slots, row, column, tiles, term_corrections, term_products);
    } else if constexpr (PROMOTED) {
      if constexpr (TWO_PARTS) consume_promoted(ring, at, slots, row, column, tiles);
      else consume_scaled(Scales(p, index, start, m + row, n + column, first), ring, at, slots, row, column, tiles);
    } else {
      if constexpr (BLANK) each_sum([](Sum& sum) { ptx::wgmma_blank(sum); });
      if constexpr (T::TURNS_A) consume_turned(ring, at, shared, row, column, tiles, last_full);
      else consume_fast(ring, at, slots, row, column, tiles, last_full, meanwhile);
    }
  }
  // A consumer warpgroup that has no part of a tile: the next `tiles` slots are as good as read.
  GG_DEVICE static void pass_over(const Ring<T::STAGES>& ring, Cursor& at, i32 tiles) {
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i, ++at) {
      // One lane waits for all: others would find the barrier a phase ahead, once that one has said that the warp is done.
      if (threadIdx.x % 32 == 0) ring.wait_full(at);
      __syncwarp();
      release(ring, at.slot);
    }
  }
  // From then on the sums may be read. tiles: as before.
  GG_DEVICE void finish(const Ring<T::STAGES>& ring, i32 tiles) {
    if constexpr (!PROMOTED) {
      ptx::wgmma_wait<0>();
      each_sum([](Sum& sum) { ptx::wgmma_settle(sum); });
      if (tiles > 0) release(ring, last_);
    }
    if (BLANK && tiles == 0) each_sum([](Sum& sum) { ptx::wgmma_zero(sum); });
  }

  // Of this warpgroup's part: block of 64 rows, then as ptx/wgmma.cuh says.
  Sum sums[BLOCKS][WN / 2];

 private:
  // The first products write the sums, so that nothing need be 0 before them. Where there are none the sums are set to 0 in a branch behind the wait: before it, ptxas would write zeros for every tile.
  // (Where registers are fewer it would spill for that.)
  static constexpr bool BLANK = !PROMOTED && !T::SLICED && T::TEAMS == 1 && CONSUMERS == 2 && T::BARE;
  u32 last_;  // slot of consume_fast and consume_turned
  using Fragments = u32[BLOCKS][STEPS][4];
  Fragments fragments_[T::TURNS_A ? 2 : 1];  // of consume_turned: products under way read them

  template <class Each>
  GG_DEVICE void each_sum(Each each) {
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int s = 0; s < WN / 2; ++s) each(sums[b][s]);
  }

  using Part = If<T::BLOCK_SCALED && sizeof(typename T::A) == 1 && !T::FP8, i32, Sum>;  // what the tensor cores sum in
  using Scales = BlockScales<T, BLOCKS, WN>;

  // What this CTA loads for its cluster: A's rows are shared by the CTAs across, B's columns by those down, if they have not turned.
  struct Share {
    u32 down, across;
    u16 mask_a, mask_b;
    bool turned;
    GG_DEVICE explicit Share(bool turned) : turned(turned) {
      const u32 rank = sharer(), first = part_of_k() * SHARERS;
      down = rank % T::CLUSTER_M, across = rank / T::CLUSTER_M;
      u32 mask = 0;
#pragma unroll
      for (int i = 0; i < T::CLUSTER_N; ++i) mask |= 1u << (first + down + i * T::CLUSTER_M);
      mask_a = static_cast<u16>(mask);
      mask_b = static_cast<u16>(TURNS && turned ? 1u << (first + rank) : ((1u << T::CLUSTER_M) - 1) << (first + across * T::CLUSTER_M));
    }
    GG_DEVICE void load_a(u32 slot, const MappedLines& a, u32 barrier, i32 row, i32 k, bool half = false) const {
      if constexpr (HALVES) {
        TileA::template load<2, true>(slot, *a.map, barrier, a.line, row, k, 0, mask_a);
        if (!half) TileA::template load<2, true>(slot, *a.map, barrier, a.line, row, k, 1, mask_a);
      } else {
        TileA::template load<T::CLUSTER_N>(slot, *a.map, barrier, a.line, row, k, across, mask_a);
      }
    }
    GG_DEVICE void load_b(u32 slot, const MappedLines& b, u32 barrier, i32 column, i32 k) const {
      TileB::template load<T::CLUSTER_M>(slot + TileA::BYTES, *b.map, barrier, b.line, column, k, down, mask_b);
      if (TURNS && turned) TileB::template load<T::CLUSTER_M>(slot + TileA::BYTES, *b.map, barrier, b.line, column, k, 1 - down, mask_b);
    }
  };

  template <class LastFull, class Meanwhile>
  GG_DEVICE void consume_fast(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles, LastFull last_full, Meanwhile meanwhile) {
    u32 former = at.slot;
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      const u32 slot = slots + at.slot * SLOT_BYTES;
      ring.wait_full(at);
      if (T::TEAMS > 1 && i == tiles - 1) last_full();
      const u64 b0 = TileB::descriptor(slot + TileA::BYTES, column);
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b)
          ptx::Wgmma<WN>::mma(sums[b], TileA::descriptor(slot, row + 64 * b) + TileA::step(step), b0 + TileB::step(step), step > 0 ? 1 : i);
      ptx::wgmma_commit();
      meanwhile(i);
      ptx::wgmma_wait<1>();
      if (i > 0) release(ring, former);
      former = at.slot;
      ++at;
    }
    last_ = former;
  }

  // The same where A's tile is turned on its way from shared memory into registers: those of the next tile while this one is multiplied.
  template <class LastFull>
  GG_DEVICE void consume_turned(const Ring<T::STAGES>& ring, Cursor& at, const char* shared, int row, int column, i32 tiles, LastFull last_full) {
    const TurnedFragments<TileA, BLOCKS, STEPS> turned(row);
    u32 former = at.slot;
    const auto load = [&](Fragments& out, bool last) {
      ring.wait_full(at);
      if (T::TEAMS > 1 && last) last_full();
      turned.load(shared + at.slot * SLOT_BYTES, out);
    };
    // Of the i-th tile. Then the one before it is done with.
    const auto multiply = [&](Fragments& in, i32 i) {
      const u64 b0 = TileB::descriptor(ptx::shared_address(shared) + at.slot * SLOT_BYTES + TileA::BYTES, column);
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) ptx::Wgmma<WN>::mma(sums[b], in[b][step], b0 + TileB::step(step), step > 0 ? 1 : i);
      ptx::wgmma_commit();
      ptx::wgmma_wait<1>();
      if (i > 0) release(ring, former);
      former = at.slot;
      ++at;
    };
    load(fragments_[0], tiles == 1);
    i32 i = 0;
#pragma unroll 1
    for (; i + 1 < tiles; i += 2) {
      multiply(fragments_[0], i);
      load(fragments_[1], i + 2 == tiles);
      multiply(fragments_[1], i + 1);
      if (i + 2 < tiles) load(fragments_[0], i + 3 == tiles);
    }
    if (i < tiles) multiply(fragments_[0], i);
    last_ = former;
  }

  // Tensor cores keep about 14 bits of an fp8 product's sum: after every tile of k it is added to a sum in full f32, while the next tile is multiplied.
  GG_DEVICE void consume_promoted(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles) {
    Sum even[BLOCKS][WN / 2], odd[BLOCKS][WN / 2];
    u32 former = at.slot;
    // Starts the next slot's products.
    const auto multiply = [&](Sum (&part)[BLOCKS][WN / 2]) {
      const u32 slot = slots + at.slot * SLOT_BYTES;
      ring.wait_full(at);
      const u64 b0 = TileB::descriptor(slot + TileA::BYTES, column);
      ptx::wgmma_fence();
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const u64 a0 = TileA::descriptor(slot, row + 64 * b);
        ptx::Wgmma<WN>::mma(part[b], a0, b0, 0);
#pragma unroll
        for (int step = 1; step < STEPS; ++step) ptx::Wgmma<WN>::mma(part[b], a0 + TileA::step(step), b0 + TileB::step(step), 1);
      }
      ptx::wgmma_commit();
    };
    // Takes the sums of a slot, whose products were waited for.
    const auto add = [&](Sum (&part)[BLOCKS][WN / 2]) {
      release(ring, former);
      former = former + 1 == T::STAGES ? 0 : former + 1;
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int s = 0; s < WN / 2; ++s) {
          ptx::wgmma_settle(part[b][s]);
          sums[b][s] += part[b][s];
        }
    };
    multiply(even);
    ++at;
    i32 left = tiles - 1;
#pragma unroll 1
    for (; left > 1; left -= 2) {
      multiply(odd);
      ++at;
      ptx::wgmma_wait<1>();
      add(even);
      multiply(even);
      ++at;
      ptx::wgmma_wait<1>();
      add(odd);
    }
    if (left == 1) {
      multiply(odd);
      ++at;
      ptx::wgmma_wait<1>();
      add(even);
      ptx::wgmma_wait<0>();
      add(odd);
    } else {
      ptx::wgmma_wait<0>();
      add(even);
    }
  }

  // The same for terms with one set: all products of a tile of k are summed, the smallest first, and then added. The tile's slots are given back one by one, as soon as the products that
  // read them are done. The other consumer multiplies while this one adds.
  GG_DEVICE void consume_terms(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles) {
    Sum part[BLOCKS][WN / 2];
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      const u32 low = at.slot, middle = low + 1, high = low + 2;
      const auto multiply = [&](int first, int last) {
        const u64 b0 = TileB::descriptor(slots + low * SLOT_BYTES + TileA::BYTES, column);
        ptx::wgmma_fence();
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
          for (int product = first; product < last; ++product) multiply_terms(part[b], TileA::descriptor(slots + low * SLOT_BYTES, row + 64 * b), b0, product, product > 0);
        ptx::wgmma_commit();
      };
#pragma unroll
      for (int term = 0; term < TERM_SLOTS; ++term, ++at) ring.wait_full(at);
      multiply(0, 2);
      multiply(2, term_corrections);
      multiply(term_corrections, term_products);
      ptx::wgmma_wait<2>();
      release(ring, low);
      ptx::wgmma_wait<1>();
      release(ring, middle);
      ptx::wgmma_wait<0>();
      release(ring, high);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) add_part(sums[b], part[b]);
    }
  }

  // Of terms, the products from the first-th to before the last-th alone, one after the other.
  GG_DEVICE void consume_products(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles, int first, int last) {
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      const u32 low = at.slot;
      const u64 b0 = TileB::descriptor(slots + low * SLOT_BYTES + TileA::BYTES, column);
#pragma unroll 1
      for (int term = 0; term < TERM_SLOTS; ++term, ++at) ring.wait_full(at);
#pragma unroll 1
      for (int product = first; product < last; ++product)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          Sum part[WN / 2];
          ptx::wgmma_fence();
          multiply_terms(part, TileA::descriptor(slots + low * SLOT_BYTES, row + 64 * b), b0, product, false);
          ptx::wgmma_commit();
          ptx::wgmma_wait<0>();
          add_part(sums[b], part);
        }
#pragma unroll 1
      for (int term = 0; term < TERM_SLOTS; ++term) release(ring, low + term);
    }
  }

  // The steps of one product of terms, for 64 rows, added to what is in `part` or not. a0, b0: descriptors in the tile's first slot.
  GG_DEVICE static void multiply_terms(Sum (&part)[WN / 2], u64 a0, u64 b0, int product, bool added) {
    const auto slot = [](int term) { return static_cast<u64>((term_count - 1 - term) * SLOT_BYTES) >> 4; };
    a0 += slot(term_of_a(product)), b0 += slot(term_of_b(product));
#pragma unroll
    for (int step = 0; step < STEPS; ++step) ptx::Wgmma<WN>::mma(part, a0 + TileA::step(step), b0 + TileB::step(step), added || step > 0 ? 1 : 0);
  }
  // Once its products were waited for.
  GG_DEVICE static void add_part(Sum (&sums)[WN / 2], Sum (&part)[WN / 2]) {
#pragma unroll
    for (int s = 0; s < WN / 2; ++s) {
      ptx::wgmma_settle(part[s]);
      sums[s] += part[s];
    }
  }

  // The same with one set: after every tile of k, which is a block, its sum is added, scaled if there are scales by blocks. The other consumer multiplies meanwhile.
  GG_DEVICE void consume_scaled(Scales scales, const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles) {
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i, ++at) {
      scales.load();
      const u32 slot = slots + at.slot * SLOT_BYTES;
      ring.wait_full(at);
      const u64 b0 = TileB::descriptor(slot + TileA::BYTES, column);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        Part part[WN / 2];
        const u64 a0 = TileA::descriptor(slot, row + 64 * b);
        ptx::wgmma_fence();
        ptx::Wgmma<WN>::mma(part, a0, b0, 0);
#pragma unroll
        for (int step = 1; step < STEPS; ++step) ptx::Wgmma<WN>::mma(part, a0 + TileA::step(step), b0 + TileB::step(step), 1);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();
        if (b == BLOCKS - 1) release(ring, at.slot);
#pragma unroll
        for (int s = 0; s < WN / 2; ++s) {
          ptx::wgmma_settle(part[s]);
          sums[b][s] = multiply_add(scales.factor(b, s), static_cast<Sum>(part[s]), sums[b][s]);
        }
      }
    }
  }

  // One lane a warp tells every CTA whose slices this slot holds.
  GG_DEVICE static void release(const Ring<T::STAGES>& ring, u32 slot) {
    const u32 lane = threadIdx.x % 32;
    if constexpr (T::TURNS_A) __syncwarp();  // all lanes have read it
    if constexpr (SHARERS == 1) {
      if (lane == 0) ptx::barrier_arrive(ring.empty(slot));
    } else if (lane < SHARERS) {
      const u32 rank = sharer();
      if (lane % T::CLUSTER_M == rank % T::CLUSTER_M || lane / T::CLUSTER_M == rank / T::CLUSTER_M) ptx::barrier_arrive_at(ring.empty(slot), part_of_k() * SHARERS + lane);
    }
  }
};

}  // namespace ggemm::kernels
