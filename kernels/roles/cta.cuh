// SPDX-License-Identifier: Apache-2.0
// What all roles of a CTA of sm90.cu know: the types of this compilation, how registers are shared out between them, and where what lies in shared memory.
#pragma once
#include "epilogue/reduce.cuh"
#include "epilogue/slices.cuh"
#include "epilogue/staged.cuh"
#include "mainloop/wgmma.cuh"
#include "mainloop/wgmma_producer.cuh"

namespace ggemm::kernels {

using T = Traits;
using Shape = WgmmaShape<T>;
using Producer = WgmmaProducer<T>;
using Mainloop = WgmmaMainloop<T>;
using Reduction = ClusterReduction<T, Shape>;
using Slices = SliceReduction<Shape::Sum, Shape::BLOCKS * Reduction::WN / 2, Shape::CLUSTER * Shape::CONSUMERS>;
constexpr int PRODUCER_THREADS = 128;
// Of the 64K registers of a multiprocessor, as setmaxnreg takes them: multiples of 8, together no more than the CTA was launched with.
// A lone consumer has what it needs without; and so have two with few sums that they do not store: then CTAs of the launch that does may be there before this one has ended.
constexpr int CONSUMERS = T::TEAMS * Shape::CONSUMERS;
constexpr bool MOVE_REGISTERS = CONSUMERS > 1 && !(T::LEAVES && Shape::BLOCKS * Shape::WN <= 128 && !Shape::PROMOTED);
constexpr bool LARGE_CUT = T::GROUPED && T::SLICED && large_tile(T::BM, T::BN);  // beside its sums there is nothing to spare
constexpr bool FEW_FOR_PRODUCERS = Shape::PROMOTED && Shape::BLOCKS * Shape::WN > 128 && (LARGE_CUT || !T::BLOCK_SCALED || !T::SLICED);
constexpr int PRODUCER_REGISTERS = !T::GROUPED ? 40 : FEW_FOR_PRODUCERS ? 72 : 88, CONSUMER_REGISTERS = (504 - PRODUCER_REGISTERS) / 16 * 8;
static_assert(PRODUCER_REGISTERS % 8 == 0 && PRODUCER_REGISTERS + 2 * CONSUMER_REGISTERS == 504, "168 a thread, shared out anew");

// Two consumers store a tile at the same time; what their registers hold beside the sums, and what else the mainloop keeps, is stored while they multiply the next one. A tile that is its CTA's only one has no next.
constexpr int MAINLOOP_REGISTERS = T::LINES_WAIT && !T::GROUPED ? 72 : 40;  // that a consumer keeps beside its sums, as ptxas has it; with less left for them kernels spill
constexpr int HELD_WORDS = MOVE_REGISTERS && T::TEAMS == 1 && T::CLUSTER_K == 1 && !T::LEAVES && !LARGE_CUT && !T::TURNS_A && !Shape::PROMOTED && T::BARE ? CONSUMER_REGISTERS - Shape::BLOCKS * Shape::WN / 2 - MAINLOOP_REGISTERS : 0;
using Steps = StepShape<T, Shape::BLOCKS, Reduction::WN, Shape::RING_BYTES, CONSUMERS>;
using Epilogue = StagedEpilogue<Steps, HELD_WORDS>;
static_assert(!T::LINES_WAIT || !T::GROUPED || Epilogue::Held::LINES_WAIT, "core::lines_may_wait says for which configurations of groups there is such a kernel");
constexpr int STAGING_BYTES = T::LEAVES ? 0 : Steps::BYTES, STAGING_NOTES = T::LEAVES ? 0 : Steps::NOTES;
static_assert(!T::LEAVES || T::CLUSTER_K == 1, "a slice is one CTA's of each tile");

// What all roles know of the CTA's shared memory; select::shared_bytes counts the same: ring, staging, barriers of both, notes.
struct Cta {
  char* slots;
  Ring<T::STAGES> ring;
  Turns turns;  // where there are teams
  GG_DEVICE explicit Cta(char* shared)
      : slots(shared), ring(ptx::shared_address(shared) + Shape::RING_BYTES + CONSUMERS * (STAGING_BYTES + STAGING_NOTES)), turns(ring.full(0) + Ring<T::STAGES>::BYTES) {}
  GG_DEVICE void init() const {
    ring.init(Shape::FILLS, Shape::EMPTIES);
    if constexpr (T::TEAMS > 1) turns.init(4 * Shape::CONSUMERS);
    if constexpr (!T::LEAVES && Steps::BRINGS_C)
      for (int group = 0; group < CONSUMERS; ++group) Steps::init(staging(group));
  }
  GG_DEVICE u32 address() const { return ptx::shared_address(slots); }
  // The thread that asks for boxes, and no other, at its end: no CTA leaves while others may still arrive at its barriers or write to its ring. (A barrier of the cluster would do, but one that is sure of that is a fence for all that
  // the device has under way.)
  GG_DEVICE void drain(Shape::Cursor at) const {
    if constexpr (Shape::SHARERS > 1) ring.drain(at);
  }
  GG_DEVICE StoreSlots staging(int group) const {
    const int notes = Shape::RING_BYTES + CONSUMERS * STAGING_BYTES + group * STAGING_NOTES;
    return {slots + Shape::RING_BYTES + group * STAGING_BYTES, address() + notes, reinterpret_cast<StoreNote*>(slots + notes + STAGING_NOTES - store_note_bytes)};
  }
};

}  // namespace ggemm::kernels
