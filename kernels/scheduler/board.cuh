// SPDX-License-Identifier: Apache-2.0
// The tiles of a grouped product in a kernel whose warps have roles: warp 0 finds the CTA's next tile and notes its place in shared memory, warp 1 the facts of its group, and all read them there. There is a
// note more than tiles in work, so that it is a tile ahead of those who compute.
#pragma once
#include "pipeline/ring.cuh"
#include "ptx/async.cuh"
#include "ptx/memory.cuh"
#include "scheduler/scheduler.cuh"

namespace ggemm::kernels {

struct TileNote {
  GroupFacts facts;
  MappedLines a, b, d;
  i64 start, rows;  // of uniform groups: the number of the group's first row, and how many there are
  i32 group;        // below 0: there are no more tiles
  i32 row, column;  // the CTA's tile
  i32 turned;       // 1: it is one of a cluster that has turned
  i32 other;        // 1: of another group than the note before, with maps of its own
  i32 depth;        // its tiles of k
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
    alignas(8) char placed[8 * NOTES];  // barriers: the place of a note's tile is known, its facts not yet
  };

 public:
  using Cursor = typename Ring<NOTES>::Cursor;

  GG_DEVICE TileBoard() : ring_(ptx::shared_address(shared().barriers)) {}
  // Warp 0, before a barrier of all.
  GG_DEVICE void init() const {
    if (threadIdx.x == 0) {
      ring_.init(64, 32 * READERS);
      for (u32 i = 0; i < NOTES; ++i) ptx::barrier_init(placed(i), 32);
      shared().notes[NOTES - 1].group = -1, shared().next = static_cast<i32>(blockIdx.x / (CM * CN));
    }
    shared().cursor.start();
  }

  // A warp that reads: the next note, until it is released.
  GG_DEVICE const TileNote& read(Cursor at) const {
    ring_.wait_full(at);
    return shared().notes[at.slot];
  }
  GG_DEVICE void release(Cursor at) const { ptx::barrier_arrive(ring_.empty(at.slot)); }

  // Warp 0: finds the tile for the next note, of which it may read all but the facts from then on.
  GG_DEVICE const TileNote& place(const GroupedTensorParams& p, Cursor at) const {
    __syncwarp();
    const int lane = DeviceWarp::lane();
    const bool takes = CM * CN == 1 && p.taken;
    i32 before = 0;
    if (takes && lane == 0) before = static_cast<i32>(ptx::take_next(p.taken));  // the answer comes while the tile is found
    const GroupTile found = shared().cursor.find(shared().next, p.groups, [&p](i32 g) { return p.records ? p.tiles[g] : uniform_tiles(p.uniform, g); });
    ring_.wait_empty(at);
    TileNote& note = shared().notes[at.slot];
    __syncwarp();
    if (lane == 0) {
      const bool any = found.group < p.groups;
      shared().next = (takes ? before : shared().next) + static_cast<i32>(gridDim.x / (CM * CN));
      note.group = any ? found.group : -1, note.other = p.records && note.group != shared().notes[(at.slot + NOTES - 1) % NOTES].group;
      if (any) {
        Grid grid;
        if (p.records) {
          const GroupRecord& record = p.records[found.group];
          grid = grid_of(record.facts.problem);
          note.a = {&record.maps[0], 0}, note.b = {&record.maps[1], 0}, note.d = {&record.maps[2], 0};
        } else {
          const UniformGroups& u = p.uniform;
          const i64 start = group_start(u, found.group);
          grid = uniform_grid(u, found.group);
          note.rows = group_rows(u, found.group), note.start = start;
          note.a = {&u.a, first_line(u.lines_a, found.group, start)}, note.b = {&u.b, first_line(u.lines_b, found.group, start)}, note.d = {&u.d, first_line(u.lines_d, found.group, start)};
        }
        const ClusterTile place = cluster_tile(static_cast<u32>(found.tile), grid.down, grid.across, p.raster, CM, CN, blockIdx.x % (CM * CN));
        note.row = static_cast<i32>(place.at.row), note.column = static_cast<i32>(place.at.col), note.turned = place.turned, note.depth = grid.steps;
      }
    }
    __syncwarp();
    ptx::barrier_arrive(placed(at.slot));
    ptx::barrier_arrive(ring_.full(at.slot));
    return note;
  }
  // Warp 1: adds the facts of the tile's group.
  GG_DEVICE void complete(const GroupedTensorParams& p, Cursor at) const {
    ptx::barrier_wait(placed(at.slot), at.phase);
    TileNote& note = shared().notes[at.slot];
    const int lane = DeviceWarp::lane();
    static_assert(UniformGroups::words == 32, "a lane brings a word");
    if (note.group >= 0)
      reinterpret_cast<u64*>(&note.facts)[lane] = p.records ? reinterpret_cast<const u64*>(&p.records[note.group].facts)[lane] : group_word(p.uniform, lane, note.group, note.start, note.rows);
    ptx::barrier_arrive(ring_.full(at.slot));
  }

 private:
  // Of a group's product.
  struct Grid {
    u32 down, across;  // tiles
    i32 steps;         // of k
  };
  GG_DEVICE static Grid grid_of(const GemmParams& p) { return {static_cast<u32>(ceil_div(p.m, BM)), static_cast<u32>(ceil_div(p.n, BN)), static_cast<i32>(ceil_div(p.k, BK))}; }
  GG_DEVICE static Grid uniform_grid(const UniformGroups& u, i32 group) {
    const u32 other = static_cast<u32>(u.other_tiles), own = static_cast<u32>(ceil_div(group_rows(u, group), u.swap ? BN : BM));
    return u.swap ? Grid{other, own, u.steps} : Grid{own, other, u.steps};
  }
  GG_DEVICE static i32 uniform_tiles(const UniformGroups& u, i32 group) {
    const i64 rows = group_rows(u, group);
    if (rows <= u.above || rows > u.most) return 0;
    const Grid grid = uniform_grid(u, group);
    return static_cast<i32>(cluster_tiles(grid.down, grid.across, CM, CN));
  }
  GG_DEVICE static u32 placed(u32 slot) { return ptx::shared_address(shared().placed) + 8 * slot; }

  GG_DEVICE static Shared& shared() {
    __shared__ Shared shared;
    return shared;
  }

  Ring<NOTES> ring_;
};

}  // namespace ggemm::kernels
