// SPDX-License-Identifier: Apache-2.0
// Before a grouped product by tensor maps, after prepare.cu: copies those operands of groups for which that found room.
#include "pipeline/repack.cuh"
#include "ptx/launch.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

struct Note {
  CopyParams copy;
  i32 share;  // below 0: there are no more
};
constexpr int note_barrier = 2;  // of all threads, from two places of the code (__syncthreads would have to be one)

// Each CTA takes the shares that lie gridDim.x apart, of all copies, the last group's first: the product begins with the first groups, which L2 holds then. Its last warp finds one while the others copy the one before.
extern "C" __global__ void __launch_bounds__(repack_groups_threads, SIZE == 4 ? 3 : 4) GG_KERNEL_NAME(const __grid_constant__ RepackGroupsParams params) {
  __shared__ Note notes[2];
  ptx::launch_wait();
  ptx::launch_next();
  const GroupCopies& all = params.groups;
  if (threadIdx.x >= repack_threads) {
    if (blockIdx.x == 0 && DeviceWarp::lane() == 0 && *all.used > static_cast<u64>(all.room_bytes)) all.note->bytes = *all.used;
    GroupCursor<DeviceWarp> cursor;
    bool any = true;
    for (i32 number = static_cast<i32>(blockIdx.x), slot = 0; any; number += static_cast<i32>(gridDim.x), slot ^= 1) {
      Note& note = notes[slot];
      const GroupTile found = cursor.find(number, params.copies, [&params, &all](i32 before) { return all.shares[params.copies - 1 - before]; });
      any = found.group < params.copies;
      constexpr int WORDS = sizeof(CopyParams) / 8;
      static_assert(WORDS * 8 == sizeof(CopyParams) && WORDS <= 32, "a lane copies 8 bytes");
      if (any && DeviceWarp::lane() < WORDS) reinterpret_cast<u64*>(&note.copy)[DeviceWarp::lane()] = reinterpret_cast<const u64*>(all.copies + params.copies - 1 - found.group)[DeviceWarp::lane()];
      if (DeviceWarp::lane() == 0) note.share = any ? found.tile : -1;
      ptx::barrier_sync<repack_groups_threads>(note_barrier);
    }
    // For the next call.
    if (DeviceWarp::lane() == 0 && ptx::count_arrival(all.done, gridDim.x - 1) == gridDim.x - 1) *all.used = 0;
    return;
  }
  for (i32 slot = 0;; slot ^= 1) {
    ptx::barrier_sync<repack_groups_threads>(note_barrier);
    const Note& note = notes[slot];
    if (note.share < 0) return;
    const i64 first = i64(note.share) * note.copy.together, end = min_of(first + note.copy.together, note.copy.blocks);
#pragma unroll 1
    for (i64 block = first; block < end; ++block) {
      if (note.copy.turned && block > first) ptx::barrier_sync<repack_threads>(1);  // it goes through the same shared memory
      copy_block(note.copy, block);
    }
  }
}
