// SPDX-License-Identifier: Apache-2.0
// Before a grouped product by tensor maps, after prepare.cu: copies those operands of groups for which that found room.
#include "pipeline/repack.cuh"
#include "pipeline/ring.cuh"
#include "ptx/async.cuh"
#include "ptx/launch.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

struct Note {
  CopyParams copy;
  i32 block;  // below 0: there are no more
};

// Each CTA takes the blocks that lie gridDim.x apart, of all copies, the last group's first: the product begins with the first groups, which L2 holds then. Its last warp finds them, and the others
// copy. (Every thread arrives at the notes' barriers for itself, as in scheduler/board.cuh.)
extern "C" __global__ void __launch_bounds__(repack_groups_threads, SIZE == 4 ? 3 : 4) GG_KERNEL_NAME(const __grid_constant__ RepackGroupsParams params) {
  constexpr int NOTES = 4;
  struct Shared {
    Note notes[NOTES];
    alignas(8) char barriers[Ring<NOTES>::BYTES];
  };
  __shared__ Shared shared;
  const Ring<NOTES> ring(ptx::shared_address(shared.barriers));
  if (threadIdx.x == 0) {
    ring.init(repack_groups_threads - repack_threads, repack_threads);
    ptx::fence_barrier_init();
  }
  __syncthreads();
  ptx::launch_wait();
  ptx::launch_next();
  if (threadIdx.x >= repack_threads) {
    RingCursor<NOTES> at;
    const GroupCopies& all = params.groups;
    if (blockIdx.x == 0 && DeviceWarp::lane() == 0 && *all.used > static_cast<u64>(all.room_bytes)) all.note->bytes = *all.used;
    GroupCursor<DeviceWarp> cursor;
    bool any = true;
    for (i32 number = static_cast<i32>(blockIdx.x); any; number += static_cast<i32>(gridDim.x), ++at) {
      const GroupTile found = cursor.find(number, params.copies, [&params, &all](i32 before) { return all.blocks[params.copies - 1 - before]; });
      any = found.group < params.copies;
      Note& note = shared.notes[at.slot];
      ring.wait_empty(at);
      constexpr int WORDS = sizeof(CopyParams) / 8;
      static_assert(WORDS * 8 == sizeof(CopyParams) && WORDS <= 32, "a lane copies 8 bytes");
      if (any && DeviceWarp::lane() < WORDS) reinterpret_cast<u64*>(&note.copy)[DeviceWarp::lane()] = reinterpret_cast<const u64*>(all.copies + params.copies - 1 - found.group)[DeviceWarp::lane()];
      if (DeviceWarp::lane() == 0) note.block = any ? found.tile : -1;
      ptx::barrier_arrive(ring.full(at.slot));
    }
    // For the next call.
    if (DeviceWarp::lane() == 0 && ptx::count_arrival(all.done, gridDim.x - 1) == gridDim.x - 1) *all.used = 0;
    return;
  }
  for (int turn = 0;; ++turn) {  // one register, of which there are few
    ring.wait_full({static_cast<u32>(turn % NOTES), static_cast<u32>(turn / NOTES % 2)});
    const Note& note = shared.notes[turn % NOTES];
    if (note.block < 0) return;
    if (note.copy.turned) ptx::barrier_sync<repack_threads>(1);  // it goes through the same shared memory as the one before
    copy_block(note.copy, static_cast<u32>(note.block));
    ptx::barrier_arrive(ring.empty(static_cast<u32>(ptx::renewed(turn) % NOTES)));
  }
}
