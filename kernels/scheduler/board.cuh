// SPDX-License-Identifier: Apache-2.0
// The tiles of a grouped product in a kernel whose warps have roles: warp 0 finds the CTA's next tile and notes it in shared memory, where all read it. There is a
// note more than tiles in work, so that it is a tile ahead of those who compute.
#pragma once
#include "pipeline/ring.cuh"
#include "ptx/async.cuh"
#include "ptx/memory.cuh"
#include "scheduler/scheduler.cuh"

namespace ggemm::kernels {

struct TileNote {
  GroupFacts facts;
  const GroupRecord* record;  // NULL: there are no more tiles
  i32 row, column;            // the CTA's tile
  i32 turned;                 // 1: it is one of a cluster that has turned
  i32 other;                  // 1: of another group than the note before
  i32 depth;                  // its tiles of k
};

// TEAMS: of consumers, which take turns: so many tiles are in work at once. READERS: warps that read each note. (Every lane arrives at the notes' barriers for itself: so compute-sanitizer, too, sees in what order they are read and written.) BM x BN x BK: a CTA's tile; clusters of CM x CN take one each of neighbouring tiles.
template <int TEAMS, int READERS, int BM, int BN, int BK, int CM, int CN>
class TileBoard {
  static constexpr int NOTES = 1 + TEAMS;
  struct Shared {
    TileNote notes[NOTES];
    i32 next;  // tile to be found
    SharedCursor cursor;
    alignas(8) char barriers[Ring<NOTES>::BYTES];
  };

 public:
  using Cursor = typename Ring<NOTES>::Cursor;

  GG_DEVICE TileBoard() : ring_(ptx::shared_address(shared().barriers)) {}
  // Warp 0, before a barrier of all.
  GG_DEVICE void init() const {
    if (threadIdx.x == 0) ring_.init(32, 32 * READERS), shared().notes[NOTES - 1].record = nullptr, shared().next = static_cast<i32>(blockIdx.x / (CM * CN));
    shared().cursor.start();
  }

  // A warp that reads: the next note, until it is released.
  GG_DEVICE const TileNote& read(Cursor at) const {
    ring_.wait_full(at);
    return shared().notes[at.slot];
  }
  GG_DEVICE void release(Cursor at) const { ptx::barrier_arrive(ring_.empty(at.slot)); }

  // Warp 0: finds the tile for the next note.
  GG_DEVICE void find(const GroupedTensorParams& p, Cursor at) const {
    __syncwarp();
    const int lane = DeviceWarp::lane();
    const bool takes = CM * CN == 1 && p.taken;
    i32 before = 0;
    if (takes && lane == 0) before = static_cast<i32>(ptx::take_next(p.taken));  // the answer comes while the tile is found
    const GroupTile found = shared().cursor.find(shared().next, p.groups, [&p](i32 g) { return p.tiles[g]; });
    ring_.wait_empty(at);
    TileNote& note = shared().notes[at.slot];
    const bool any = found.group < p.groups;
    const GroupRecord* const record = any ? p.records + found.group : nullptr;
    constexpr int CHUNKS = sizeof(GroupFacts) / 16;
    static_assert(sizeof(GroupFacts) % 16 == 0 && CHUNKS <= 32, "a lane copies 16 bytes");
    if (any && lane < CHUNKS) reinterpret_cast<ptx::Vector16*>(&note.facts)[lane] = ptx::load_vector(reinterpret_cast<const ptx::Vector16*>(&record->facts) + lane);
    __syncwarp();
    if (lane == 0) shared().next = (takes ? before : shared().next) + static_cast<i32>(gridDim.x / (CM * CN)), note.record = record, note.other = record != shared().notes[(at.slot + NOTES - 1) % NOTES].record;
    if (lane == 0 && any) {
      const GemmParams& problem = note.facts.problem;
      const ClusterTile place = cluster_tile(static_cast<u32>(found.tile), static_cast<u32>(ceil_div(problem.m, BM)), static_cast<u32>(ceil_div(problem.n, BN)), p.raster, CM, CN, blockIdx.x % (CM * CN));
      note.row = static_cast<i32>(place.at.row), note.column = static_cast<i32>(place.at.col), note.turned = place.turned, note.depth = static_cast<i32>(ceil_div(problem.k, BK));
    }
    ptx::barrier_arrive(ring_.full(at.slot));
  }

 private:
  GG_DEVICE static Shared& shared() {
    __shared__ Shared shared;
    return shared;
  }

  Ring<NOTES> ring_;
};

}  // namespace ggemm::kernels
