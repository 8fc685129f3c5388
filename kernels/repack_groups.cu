// SPDX-License-Identifier: Apache-2.0
// Before a grouped product by tensor maps, after prepare.cu: copies those operands of groups for which that found room.
#include "pipeline/repack.cuh"
#include "ptx/launch.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/scheduler.cuh"

using namespace ggemm::kernels;

struct Note {
  CopyParams copy;
  i32 block;  // below 0: there are no more
};

// Each CTA takes the blocks that lie gridDim.x apart, of all copies in their order. Its first warp finds one while the others still copy the one before.
extern "C" __global__ void __launch_bounds__(repack_threads, SIZE == 4 ? 2 : 3) GG_KERNEL_NAME(const __grid_constant__ RepackGroupsParams params) {
  __shared__ Note notes[2];
  ptx::launch_wait();
  ptx::launch_next();
  const GroupCopies& all = params.groups;
  if (blockIdx.x == 0 && threadIdx.x == 0 && *all.used > static_cast<u64>(all.room_bytes)) *all.wanted = *all.used;
  GroupCursor<DeviceWarp> cursor;
  for (i32 number = static_cast<i32>(blockIdx.x), slot = 0;; number += static_cast<i32>(gridDim.x), slot ^= 1) {
    Note& note = notes[slot];
    if (threadIdx.x < 32) {
      const GroupTile found = cursor.find(number, params.copies, [&all](i32 copy) { return all.blocks[copy]; });
      const bool any = found.group < params.copies;
      if (threadIdx.x == 0) note.block = any ? found.tile : -1;
      constexpr int WORDS = sizeof(CopyParams) / 8;
      static_assert(WORDS * 8 == sizeof(CopyParams) && WORDS <= 32, "a lane copies 8 bytes");
      if (any && threadIdx.x < WORDS) reinterpret_cast<u64*>(&note.copy)[threadIdx.x] = reinterpret_cast<const u64*>(all.copies + found.group)[threadIdx.x];
    }
    __syncthreads();
    if (note.block < 0) break;
    copy_block(note.copy, note.block);
  }
  // For the next call.
  if (threadIdx.x == 0 && ptx::count_arrival(all.done, gridDim.x - 1) == gridDim.x - 1) *all.used = 0;
}
