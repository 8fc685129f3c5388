// SPDX-License-Identifier: Apache-2.0
// A ring of STAGES slots in shared memory between a producer and consumers: two barriers a slot, one that it is full, one that it is empty again.
#pragma once
#include "ptx/barrier.cuh"

namespace ggemm::kernels {

// A place in the ring: ++ moves to the next slot, and to the next phase where the ring closes.
template <int STAGES>
struct RingCursor {
  u32 slot = 0, phase = 0;
  GG_DEVICE void operator++() {
    if (++slot == STAGES) slot = 0, phase ^= 1;
  }
  // As so many ++.
  GG_DEVICE void skip(u32 places) {
    const u32 to = slot + places % (2 * STAGES);
    phase ^= to / STAGES & 1;
    slot = to % STAGES;
  }
};

// Two teams of consumers take turns at a ring's slots: each has the next slots for itself until it passes them on, at the latest when it has waited for its last one to be
// full. (Who waited without its turn could take a slot's former phase for its own: a barrier tells apart only two that follow one another.)
class Turns {
 public:
  static constexpr int BYTES = 16;
  GG_DEVICE explicit Turns(u32 shared) : shared_(shared) {}
  // One thread. warps: of a team.
  GG_DEVICE void init(u32 warps) const {
    for (u32 team = 0; team < 2; ++team) ptx::barrier_init(shared_ + 8 * team, warps);
  }
  // turn: counts both teams'; the first is team 0's.
  GG_DEVICE void wait(u32 turn) const { ptx::barrier_wait(shared_ + turn % 2 * 8, (turn / 2 & 1) ^ (turn % 2 == 0)); }
  // The whole warp: the turn after this one may begin.
  GG_DEVICE void pass(u32 turn) const {
    __syncwarp();  // all its lanes have waited for this one
    if (threadIdx.x % 32 == 0) ptx::barrier_arrive(shared_ + (turn + 1) % 2 * 8);
  }

 private:
  u32 shared_;
};

template <int STAGES>
class Ring {
 public:
  static constexpr int BYTES = 16 * STAGES;
  using Cursor = RingCursor<STAGES>;

  GG_DEVICE explicit Ring(u32 shared) : full_(shared) {}
  // One thread. fills: arrivals that make a slot full, besides the bytes; empties: that make it empty.
  GG_DEVICE void init(u32 fills, u32 empties) const {
    for (u32 i = 0; i < STAGES; ++i) ptx::barrier_init(full_ + 8 * i, fills), ptx::barrier_init(empty(i), empties);
  }
  GG_DEVICE u32 full(u32 slot) const { return full_ + 8 * slot; }
  GG_DEVICE u32 empty(u32 slot) const { return full_ + 8 * (STAGES + slot); }
  GG_DEVICE void wait_full(Cursor at) const { ptx::barrier_wait(full(at.slot), at.phase); }
  // Before the first round every slot is empty.
  GG_DEVICE void wait_empty(Cursor at) const { ptx::barrier_wait(empty(at.slot), at.phase ^ 1); }
  // Until all slots before `at` are empty: then nobody arrives at a barrier here any more, nor writes to a slot.
  GG_DEVICE void drain(Cursor at) const {
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i, ++at) wait_empty(at);
  }

 private:
  u32 full_;
};

}  // namespace ggemm::kernels
