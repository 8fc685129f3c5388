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

 private:
  u32 full_;
};

}  // namespace ggemm::kernels
