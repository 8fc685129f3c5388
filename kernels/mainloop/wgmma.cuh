// SPDX-License-Identifier: Apache-2.0
// The consumers of sm_90a's mainloop: warpgroups that multiply what is full by wgmma.
#pragma once
#include "mainloop/block_scales.cuh"
#include "mainloop/wgmma_shape.cuh"

namespace ggemm::kernels {

// A warpgroup's part of one tile.
template <class T>
class WgmmaMainloop {
  using Shape = WgmmaShape<T>;
  using TileA = typename Shape::TileA;
  using TileB = typename Shape::TileB;
  using Cursor = typename Shape::Cursor;
  using Sum = typename Shape::Sum;
  static constexpr int WM = Shape::WM, WN = Shape::WN, BLOCKS = Shape::BLOCKS, STEPS = Shape::STEPS, SLOT_BYTES = Shape::SLOT_BYTES, TERM_SLOTS = Shape::TERM_SLOTS;
  static constexpr bool PROMOTED = Shape::PROMOTED;
  using Scales = BlockScales<T>;
  static constexpr bool TWO_PARTS = PROMOTED && promoted_from_two_sets(BLOCKS * WN / 2, T::BLOCK_SCALED);

 public:
  // A consumer warpgroup, `group` of CONSUMERS: sums its part of the CTA's tile from the next `tiles` slots of the ring at `shared` (of terms three for each).
  // Its last products may be under way then: finish() waits for them. last_full: called by each thread once it has waited for the last slot to be full.
  // meanwhile: called by all threads while products are under way, with the number of the tile of k that is multiplied; not where sums are promoted, or A comes through registers.
  // unusual: of terms, as split.cu found (tile/terms.cuh).
  template <class LastFull, class Meanwhile>
  GG_DEVICE void consume(const Ring<T::STAGES>& ring, Cursor& at, const char* shared, int group, i32 tiles, bool unusual, LastFull last_full, Meanwhile meanwhile) {
    if constexpr (T::GROUPED) tiles = ptx::of_first_lane(tiles);
    __syncwarp();  // so that the compiler knows the warp's lanes to be together, and keeps what they agree on in uniform registers: descriptors, and where the ring is
    const u32 slots = ptx::shared_address(shared);
    const int row = Shape::row(group), column = group % Shape::GROUPS_N * WN;
    const bool written = BLANK || (!PROMOTED && tiles > 0);
    each_sum([written](Sum& sum) {
      if (written) ptx::wgmma_blank(sum);
      else sum = 0;
    });
    if (tiles == 0) return last_full();
    if constexpr (T::TERMS) {
      if (unusual) consume_unusual(ring, at, slots, row, column, tiles);
      else consume_terms(ring, at, slots, row, column, tiles);
    } else if constexpr (PROMOTED) {
      if constexpr (TWO_PARTS) consume_promoted(ring, at, shared, row, column, tiles);
      else consume_summed(ring, at, shared, row, column, tiles);
    } else if constexpr (T::TURNS_A) {
      consume_turned(ring, at, shared, row, column, tiles, last_full);
    } else {
      consume_fast(ring, at, slots, row, column, tiles, last_full, meanwhile);
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
  // The first products write the sums, so that nothing need be 0 before them. Where there are none the sums are set to 0 in a branch behind the wait: before it, ptxas would write zeros for every tile where
  // two consumers share it, and else the optimiser makes a branch of each sum's zero, which costs up to 7% of a compile. (Where registers are fewer, as in groups or with an epilogue, kernels would spill for it.)
  static constexpr bool BLANK = ptx::wgmma_zeros_behind && !PROMOTED && !T::SLICED && T::BARE && ((T::TEAMS == 1 && Shape::CONSUMERS == 2) || (T::BY_ENGINE && !T::GROUPED));
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

  // How wgmma is told of a slot's operands: of this warpgroup's rows and columns.
  class Operands {
   public:
    // Of the ring's first slot, at `slots`.
    GG_DEVICE Operands(u32 slots, int row, int column) : a_(TileA::descriptor(slots, row)), b_(TileB::descriptor(slots + TileA::BYTES, column)) {}
    // Of the slot so many after this one.
    GG_DEVICE Operands of(u32 slot) const { return {further(a_, slot * SLOT_BYTES), further(b_, slot * SLOT_BYTES)}; }
    // At k step `step`, of the block-th 64 rows.
    GG_DEVICE u64 a_at(int block, int step) const { return further(a_, TileA::block(block) + TileA::step(step)); }
    GG_DEVICE u64 b_at(int step) const { return further(b_, TileB::step(step)); }

   private:
    GG_DEVICE Operands(u64 a, u64 b) : a_(a), b_(b) {}
    u64 a_, b_;
  };

  using Part = If<T::BLOCK_SCALED && sizeof(typename T::A) == 1 && !T::FP8, i32, Sum>;  // what the tensor cores sum in

  template <class LastFull, class Meanwhile>
  GG_DEVICE void consume_fast(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles, LastFull last_full, Meanwhile meanwhile) {
    const Operands first(slots, row, column);
    u32 former = at.slot;
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      ring.wait_full(at);
      if (T::TEAMS > 1 && i == tiles - 1) last_full();
      const Operands now = first.of(at.slot);
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b)
          ptx::Wgmma<WN>::mma(sums[b], now.a_at(b, step), now.b_at(step), step > 0 ? 1 : i);
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
    const Operands first(ptx::shared_address(shared), row, column);
    u32 former = at.slot;
    const auto load = [&](Fragments& out, bool last) {
      ring.wait_full(at);
      if (T::TEAMS > 1 && last) last_full();
      turned.load(shared + at.slot * SLOT_BYTES, out);
    };
    // Of the i-th tile. Then the one before it is done with.
    const auto multiply = [&](Fragments& in, i32 i) {
      const Operands now = first.of(at.slot);
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) ptx::Wgmma<WN>::mma(sums[b], in[b][step], now.b_at(step), step > 0 ? 1 : i);
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
  // With scales by blocks, of which a tile is one, it is scaled then.
  GG_DEVICE void consume_promoted(const Ring<T::STAGES>& ring, Cursor& at, const char* shared, int row, int column, i32 tiles) {
    const Operands first(ptx::shared_address(shared), row, column);
    struct Parts {
      Part sums[BLOCKS][WN / 2];
      Scales scales[BLOCKS];
    } even, odd;
    // Starts the next slot's products.
    const auto multiply = [&](Parts& part) {
      ring.wait_full(at);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) part.scales[b].read(shared, at, row + 64 * b, column);
      ptx::wgmma_fence();
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) multiply_block(part.sums[b], first.of(at.slot), b);
      ptx::wgmma_commit();
    };
    // Takes the sums of a slot when its products are done: of the last one, or of the one before that, whose products may be under way. `at` is one past the last one already; a cursor that is behind it would take a
    // register.
    const auto add = [&](Parts& part, bool last) {
      if (last) ptx::wgmma_wait<0>();
      else ptx::wgmma_wait<1>();
      const u32 ahead = last ? 1 : 2;
      const auto give_back = [&] { release(ring, at.slot < ahead ? at.slot + T::STAGES - ahead : at.slot - ahead); };
      if constexpr (!Scales::COLUMNS) give_back();
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) add_scaled(b, part.sums[b], part.scales[b], [] {});
      if constexpr (Scales::COLUMNS) give_back();
    };
    multiply(even);
    ++at;
    i32 left = tiles - 1;
#pragma unroll 1
    for (; left > 1; left -= 2) {
      multiply(odd);
      ++at;
      add(even, false);
      multiply(even);
      ++at;
      add(odd, false);
    }
    if (left == 1) {
      multiply(odd);
      ++at;
      add(even, false);
      add(odd, true);
    } else {
      add(even, true);
    }
  }

  // The same for terms with one set: all products of a tile of k are summed, the smallest first, and then added. The tile's slots are given back one by one, as soon as the products that
  // read them are done. The other consumer multiplies while this one adds.
  GG_DEVICE void consume_terms(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles) {
    const Operands origin(slots, row, column);
    Sum part[BLOCKS][WN / 2];
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      const u32 low = at.slot, middle = low + 1, high = low + 2;
      const auto multiply = [&](int first, int last) {
        ptx::wgmma_fence();
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
          for (int product = first; product < last; ++product) multiply_terms(part[b], origin.of(low), b, product, product > 0);
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

  // The same of elements that are large or not finite (tile/terms.cuh), slowly. A step's corrections come first. One that is not finite counts as 0: it has a sign of its own, and the last product brings what is
  // not finite of the operands. The last product is added to its own step's corrections, as a high term may be larger than its element: alone, or with those of other k, it might reach beyond f32.
  GG_DEVICE void consume_unusual(const Ring<T::STAGES>& ring, Cursor& at, u32 slots, int row, int column, i32 tiles) {
    const Operands origin(slots, row, column);
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      const u32 low = at.slot;
#pragma unroll 1
      for (int term = 0; term < TERM_SLOTS; ++term, ++at) ring.wait_full(at);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll 1
        for (int step = 0; step < STEPS; ++step) {
          Sum part[WN / 2];
          const auto multiply = [&](int first, int last) {
            ptx::wgmma_fence();
#pragma unroll
            for (int product = first; product < last; ++product) multiply_step(part, origin.of(low), b, product, step, product > 0);
            ptx::wgmma_commit();
            ptx::wgmma_wait<0>();
#pragma unroll
            for (Sum& sum : part) ptx::wgmma_settle(sum);
          };
          multiply(0, term_corrections);
#pragma unroll
          for (Sum& sum : part)
            if ((bit_cast<u32>(sum) & 0x7f800000u) == 0x7f800000u) sum = 0;
          multiply(term_corrections, term_products);
          add_part(sums[b], part);
        }
#pragma unroll 1
      for (int term = 0; term < TERM_SLOTS; ++term) release(ring, low + term);
    }
  }

  // The steps of one product of terms, for the b-th 64 rows, added to what is in `part` or not. low: the tile's first slot.
  GG_DEVICE static void multiply_terms(Sum (&part)[WN / 2], const Operands& low, int b, int product, bool added) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) multiply_step(part, low, b, product, step, added || step > 0);
  }
  GG_DEVICE static void multiply_step(Sum (&part)[WN / 2], const Operands& low, int b, int product, int step, bool added) {
    const auto slot = [](int term) { return term_count - 1 - term; };
    ptx::Wgmma<WN>::mma(part, low.of(slot(term_of_a(product))).a_at(b, step), low.of(slot(term_of_b(product))).b_at(step), added ? 1 : 0);
  }
  // Once its products were waited for.
  GG_DEVICE static void add_part(Sum (&sums)[WN / 2], Sum (&part)[WN / 2]) {
#pragma unroll
    for (int s = 0; s < WN / 2; ++s) {
      ptx::wgmma_settle(part[s]);
      sums[s] += part[s];
    }
  }

  // The same with one set, of 64 rows. The other consumer multiplies while this one adds; and in the midst of that the next slot is waited for, and the next scales are read, so that these take no time of their own.
  GG_DEVICE void consume_summed(const Ring<T::STAGES>& ring, Cursor& at, const char* shared, int row, int column, i32 tiles) {
    const Operands first(ptx::shared_address(shared), row, column);
    // Where there are two blocks of rows the next slot's operands are described while this one is multiplied. With one block ptxas takes the slot's number out of the uniform registers for that, by which groups and small tiles lose more than large ones gain.
    Operands next = first.of(at.slot);
    Scales scales;
    const auto wait_next = [&] {
      ring.wait_full(at);
      scales.read(shared, at, row, column);
    };
    // A slot's products, and what follows; then it is given back, and `at` is the next one.
    const auto multiply = [&](bool last) {
      const Cursor now = at;
      const Operands found = next;
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        Part part[WN / 2];
        ptx::wgmma_fence();
        multiply_block(part, BLOCKS > 1 ? found : first.of(now.slot), b);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();
        const bool ends = b == BLOCKS - 1;
        if (ends) ++at, next = first.of(at.slot);
        if (!Scales::COLUMNS && ends) release(ring, now.slot);
        add_scaled(b, part, Scales(scales), [&] {
          if (!ends) scales.read_rows(shared, now, row + 64 * (b + 1));
          else if (!last) wait_next();
        });
        if (Scales::COLUMNS && ends) release(ring, now.slot);
      }
    };
    wait_next();
#pragma unroll 1
    for (; tiles > 1; --tiles) multiply(false);
    multiply(true);
  }

  // Begins the products of the b-th 64 rows with all columns.
  GG_DEVICE static void multiply_block(Part (&part)[WN / 2], const Operands& now, int b) {
    ptx::Wgmma<WN>::mma(part, now.a_at(b, 0), now.b_at(0), 0);
#pragma unroll
    for (int step = 1; step < STEPS; ++step) ptx::Wgmma<WN>::mma(part, now.a_at(b, step), now.b_at(step), 1);
  }
  // What was summed of the b-th 64 rows, once its products were waited for. half_way: called when half of it is done.
  template <class HalfWay>
  GG_DEVICE void add_scaled(int b, Part (&part)[WN / 2], const Scales& scales, HalfWay half_way) {
    scales.each_factor([&](int s, float factor) {
      if (s == WN / 4) half_way();
      ptx::wgmma_settle(part[s]);
      Sum& sum = sums[b][s];
      if constexpr (T::BLOCK_SCALED) sum = multiply_add(factor, static_cast<Sum>(part[s]), sum);
      else sum += part[s];
      if constexpr (Scales::COLUMNS) ptx::wgmma_settle(sum);  // else the next columns' scales would be read before, into registers that there are not
    });
  }

  // One lane a warp tells every CTA whose slices this slot holds.
  GG_DEVICE static void release(const Ring<T::STAGES>& ring, u32 slot) {
    const u32 lane = threadIdx.x % 32;
    if constexpr (T::TURNS_A || T::BLOCK_SCALED) __syncwarp();  // all lanes have read it, or its scales
    if constexpr (Shape::SHARERS == 1) {
      if (lane == 0) ptx::barrier_arrive(ring.empty(slot));
    } else {
      const u32 rank = Shape::sharer();
      // That threads have read scales is told to this CTA first. Another CTA that is told before could, where the cluster has turned and they share nothing, be done with the slot once more and say so here, and would be
      // counted in its place; and of what threads here have read its word tells nothing.
      constexpr bool OWN_FIRST = T::BLOCK_SCALED;
      if constexpr (OWN_FIRST) {
        if (lane == rank) ptx::barrier_arrive(ring.empty(slot));
        __syncwarp();
      }
      const bool told = OWN_FIRST && lane == rank, shares = lane % T::CLUSTER_M == rank % T::CLUSTER_M || lane / T::CLUSTER_M == rank / T::CLUSTER_M;
      if (lane < Shape::SHARERS && shares && !told) ptx::barrier_arrive_at(ring.empty(slot), Shape::part_of_k() * Shape::SHARERS + lane);
    }
  }
};

}  // namespace ggemm::kernels
