// SPDX-License-Identifier: Apache-2.0
// The tiles of a grouped product in a kernel whose warps have roles: one warp finds the CTA's next tile and notes its place in shared memory, another the facts of its group, and all read them there. There are more notes than
// tiles in work, so that those who find them are ahead of those who compute.
#pragma once
#include "pipeline/ring.cuh"
#include "ptx/async.cuh"
#include "ptx/memory.cuh"
#include "scheduler/scheduler.cuh"

namespace ggemm::kernels {

struct NotedTile {
  MappedLines a, b, d;
  i32 start, rows;  // of uniform groups: the number of the group's first row, and how many there are
  i32 group;        // below 0: there are no more tiles
  i32 row, column;  // the CTA's tile
  i32 turned;       // 1: it is one of a cluster that has turned
  i32 half;         // 1: the group has rows in its upper half alone
  i32 other;        // 1: of another group than the note before, with maps of its own
  i32 first, depth;  // of k: so many tiles from this one on
  u32 tile;         // where tiles may be cut along k: the cluster tile's number among those of all groups
};
// And what else is known of its group.
struct TileNote : NotedTile {
  GroupFacts facts;
};

// NOTES: more than tiles in work at once, by two where there is room (select::tile_notes). READERS: warps that read each note. (Every lane arrives at the notes' barriers for itself: so compute-sanitizer, too, sees in what order they are read and written.) BM x BN x BK: a CTA's tile; clusters of CM x CN take one each of neighbouring tiles. SWAP: the product is
// the transposed one, and groups differ in n. CUT: or pieces of them along k (tile/depth.cuh), of uniform groups. HALVES: or the upper halves of them.
template <int NOTES, int READERS, int BM, int BN, int BK, int CM, int CN, bool SWAP, bool CUT, bool HALVES>
class TileBoard {
  static constexpr i32 none = 0x7fffffff;  // behind all tiles
  struct Whole {
    i32 next, apart;  // tile to be found, and how far on the one after it is
    i32 round;        // clusters(), here lest ptxas keep what follows from it in registers through all tiles
  };
  struct Pieces {
    PieceCursor pieces;
    SliceParams slices;
    u16 counted[most_counted_groups];  // tiles of each group, or `many`
  };
  static constexpr u16 many = 0xffff;
  // Without room for pieces where there are none: two notes, with what gathering takes, are a KiB, three or four another, as select::static_shared_bytes counts.
  struct Shared : If<CUT, Pieces, Whole> {
    TileNote notes[NOTES];
    SharedCursor cursor;
    i32 left;  // so many groups may have tiles
    alignas(8) char barriers[Ring<NOTES>::BYTES];
    alignas(8) char placed[8 * NOTES];  // barriers: the place of a note's tile is known (of records: whose tile it is), its facts not yet
  };

 public:
  static_assert(NOTES >= 2, "who finds the first tile for itself does not wait for its note, but for the next one's");

  // A place among the notes, counted over two rounds of them, the second one of phase 1. In one register: slot and phase are found anew, so that they are not kept through the mainloop.
  struct Cursor {
    int place = 0;
    GG_DEVICE void operator++() { place = place + 1 == 2 * NOTES ? 0 : place + 1; }
    GG_DEVICE operator RingCursor<NOTES>() const {
      const int at = ptx::renewed(place);
      return {static_cast<u32>(at < NOTES ? at : at - NOTES), static_cast<u32>(at < NOTES ? 0 : 1)};
    }
  };

  GG_DEVICE TileBoard() : ring_(ptx::shared_address(shared().barriers)) {}
  // One thread, which tells barriers by fence_barrier_init then; before a barrier of all.
  GG_DEVICE void init() const {
    ring_.init(64, 32 * READERS);
    for (u32 i = 0; i < NOTES; ++i) ptx::barrier_init(placed(i), 32);
  }

  // A warp that reads: the next note, until it is released.
  GG_DEVICE const TileNote& read(RingCursor<NOTES> at) const {
    ring_.wait_full(at);
    return note(at);
  }
  // The same once it was read.
  GG_DEVICE const TileNote& note(RingCursor<NOTES> at) const { return shared().notes[at.slot]; }
  // The same as soon as the tile's place is known: all but the facts.
  GG_DEVICE const TileNote& read_place(RingCursor<NOTES> at) const {
    ptx::barrier_wait(placed(at.slot), at.phase);
    return note(at);
  }
  GG_DEVICE void release(RingCursor<NOTES> at) const { ptx::barrier_arrive(ring_.empty(at.slot)); }

  // A warp, as early as it may be: brings near what says how many rows groups have.
  GG_DEVICE static void bring_near(const GroupedTensorParams& p) {
    constexpr i32 apart = 16;  // groups, whose numbers are 128 bytes at most if they follow one another
    const Source& rows = p.uniform.rows;
    const i32 group = DeviceWarp::lane() * apart;
    if (!p.records && rows.kind && group < p.groups) ptx::prefetch(static_cast<const char*>(rows.data) + group * rows.byte_stride);
  }
  // Once the launch may begin: asks for the numbers of the first 32 groups, a lane for each. They may be on their way through a barrier, until first() reads them.
  struct Asked {
    ptx::AskedNumber own, before;
    GG_DEVICE GroupSpan span(const UniformGroups& groups) const { return group_span(groups, SourceNumbers{own.value(groups.rows.kind), before.value(groups.rows.kind)}); }
  };
  GG_DEVICE static Asked ask(const GroupedTensorParams& p) {
    const Source& rows = p.uniform.rows;
    const i32 group = DeviceWarp::lane();
    const char* const at = static_cast<const char*>(rows.data) + group * rows.byte_stride;
    return {ptx::ask_number(at, group < p.groups ? rows.kind : 0, rows.value), ptx::ask_number(at - rows.byte_stride, rows.mode == source_ends && 0 < group && group < p.groups ? rows.kind : 0, 0)};
  }
  // All threads, before a barrier of all: counts the tiles of uniform groups, each of one, where they may be cut. (Such a launch begins when all before it have ended.)
  GG_DEVICE static void count(const GroupedTensorParams& p) {
    if constexpr (CUT) {
      const i32 group = static_cast<i32>(threadIdx.x);
      if (counts(p) && group < p.groups) shared().counted[group] = static_cast<u16>(min_of(uniform_tiles(p.uniform, group_span(p.uniform, group).rows), i32(many)));
    }
  }
  // The CTA's first tile, as a warp finds it for itself where it may: what comes over the board comes later, and until the first box is asked for nothing is under way. The whole warp.
  struct First {
    NotedTile place;  // group: below 0: there is none
    GroupCursor<DeviceWarp> cursor;
    i32 left;  // as in Shared
  };
  GG_DEVICE static bool knows_first(const GroupedTensorParams& p) { return !CUT && !p.records && !takes(p); }
  GG_DEVICE static First first(const GroupedTensorParams& p, const Asked& asked) {
    const UniformGroups& u = p.uniform;
    First out{};
    GroupSpan span{};  // a lane's group's, of the last window looked at; behind the last group what it was
    GroupTile found;
    bool last;
    // Window by window, for behind the last rows none has tiles.
    do {
      out.left = static_cast<i32>(min_of(out.left + 32, p.groups));
      found = out.cursor.find(static_cast<i32>(cluster()), out.left, [&](i32 g) {
        span = g < 32 ? asked.span(u) : group_span(u, g);
        return uniform_tiles(u, span.rows);
      });
      last = __any_sync(0xffffffffu, last_rows(u, span)) || out.left == p.groups;
    } while (found.group == out.left && !last);
    out.place.group = found.group < out.left ? found.group : -1;
    if (!last) out.left = p.groups;
    const int lane = found.group - out.cursor.base;
    const GroupSpan own{DeviceWarp::at(span.start, lane), DeviceWarp::at(span.rows, lane)};
    if (out.place.group < 0) return out;
    lie_in(u, found.group, own, out.place);
    place_in(uniform_grid(u, own.rows), own.rows, p.raster, found.tile, out.place);
    return out;
  }
  // The warp that finds the tiles, before the first, or behind it, which is noted then.
  GG_DEVICE void begin(const GroupedTensorParams& p) const {
    shared().cursor.start();
    if (DeviceWarp::lane() != 0) return;
    shared().notes[NOTES - 1].group = -1, shared().left = p.groups;
    if constexpr (!CUT) start(static_cast<i32>(takes(p) ? cluster() | (ptx::seen_arrivals(p.taken) & Params::none_left) : cluster()));
  }
  GG_DEVICE void begin(const GroupedTensorParams& p, const First& first) const {
    if constexpr (!CUT) {
      shared().cursor.keep(first.cursor);
      if (DeviceWarp::lane() == 0) {
        static_cast<NotedTile&>(shared().notes[0]) = first.place;
        shared().left = first.left;
        start(static_cast<i32>(cluster() + clusters()));
      }
      ptx::barrier_arrive(placed(0));
      ptx::barrier_arrive(ring_.full(0));
      if (first.place.group < 0) tell_others(p);
    }
  }
  // Who has read a note: where pieces meet.
  GG_DEVICE const SliceParams& slices() const { return shared().slices; }

  // The same warp: finds the tile for the next note.
  GG_DEVICE void place(const GroupedTensorParams& p, RingCursor<NOTES> at) const {
    __syncwarp();
    const int lane = DeviceWarp::lane();
    i32 before = 0;
    if (takes(p) && lane == 0) before = static_cast<i32>(ptx::take_next(p.taken) + clusters());  // the answer comes while the tile is found; the first ones are by turns
    bool falls = false;
    const auto group_at = [&](i32 g) {
      if (!p.order) return g;
      const i32 group = p.order[g];
      falls = group & Params::falls;
      return group & ~Params::falls;
    };
    const auto tiles_of = [&](i32 g) { return !p.records ? tiles_in(p, g) : p.early ? early_tiles(p.sizes, g).count : p.tiles[group_at(g)].count; };
    DepthPart depth{0, 0};
    const i32 groups = shared().left;
    i32 next;
    GroupTile found;
    if constexpr (CUT) {
      // At first only the groups are counted, from the first one that has tiles on.
#pragma unroll 1
      for (bool dealt = shared().cursor.base >= 0;; dealt = true) {
        if (dealt) depth = next_piece(p, next);
        else next = 0;
        found = shared().cursor.find(next, groups, tiles_of);
        if (dealt) break;
        deal(p);
      }
    } else {
      next = shared().next;
      // (Below 0: none_left.)
      found = {groups, 0};
      if (next >= 0) found = shared().cursor.find(next, groups, tiles_of);
    }
    ring_.wait_empty(at);
    TileNote& note = shared().notes[at.slot];
    __syncwarp();
    const bool any = found.group < groups;
    if (lane == 0) {
      if (any) found.group = group_at(found.group);
      if constexpr (!CUT) {
        const i32 round = shared().round;
        i32 apart = shared().apart;
        // Clusters take turns to and fro, or the same ones always had the deeper tiles.
        if (falls && apart == round) apart = 2 * (round - static_cast<i32>(cluster())) - 1;
        shared().next = takes(p) ? before : next + apart, shared().apart = 2 * round - apart;
      }
      note.group = any ? found.group : -1, note.other = p.records && note.group != shared().notes[(at.slot + NOTES - 1) % NOTES].group;
    }
    // The facts of a record are asked for as soon as it is known whose.
    __syncwarp();
    if (p.records) ptx::barrier_arrive(placed(at.slot));
    if (lane == 0) {
      if (any) {
        Grid grid;
        i64 down;  // rows of the product
        if (p.records) {
          const GroupRecord& record = p.records[found.group];
          const GroupTiles tiles = p.early ? early_tiles(p.sizes, found.group) : p.tiles[found.group];
          grid = {static_cast<u32>(tiles.down), static_cast<u32>(tiles.across), tiles.steps}, down = !HALVES ? 0 : p.early ? number_of(SWAP ? p.sizes.n : p.sizes.m, read_numbers<true>(SWAP ? p.sizes.n : p.sizes.m, found.group)) : record.facts.problem.m;
          note.a = {&record.maps[0], 0}, note.b = {&record.maps[1], 0}, note.d = {&record.maps[2], 0};
        } else {
          const GroupSpan span = group_span(p.uniform, found.group);
          grid = uniform_grid(p.uniform, span.rows), down = span.rows;
          lie_in(p.uniform, found.group, span, note);
        }
        place_in(grid, down, p.raster, found.tile, note);
        if constexpr (CUT)
          if (!p.records) note.first = depth.first, note.depth = depth.tiles;
        note.tile = static_cast<u32>(next);
      }
    }
    __syncwarp();
    if (!p.records) ptx::barrier_arrive(placed(at.slot));
    ptx::barrier_arrive(ring_.full(at.slot));
    if (!any) tell_others(p);
  }
  // Another: adds the facts of the tile's group.
  GG_DEVICE void complete(const GroupedTensorParams& p, RingCursor<NOTES> at) const {
    static_assert(UniformGroups::words == 32, "a lane brings a word");
    const u32 lane = static_cast<u32>(ptx::renewed(DeviceWarp::lane()));  // no sign to be kept for 64 bits, and nothing through all tiles
    GroupWord word{};
    if (!p.records) {  // while the tile is found. By an address: of parameters that are named each lane's would come by itself
      const GroupWord parts = word_parts(*ptx::renewed(&p.uniform), static_cast<int>(lane));
      word = {ptx::renewed(parts.base), ptx::renewed(parts.of_group), ptx::renewed(parts.of_start)};
    }
    ptx::barrier_wait(placed(at.slot), at.phase);
    TileNote& note = shared().notes[at.slot];
    if (note.group >= 0)
      reinterpret_cast<u64*>(&note.facts)[lane] = p.records ? reinterpret_cast<const u64*>(&p.records[note.group].facts)[lane] : group_word(p.uniform, word, static_cast<int>(lane), note.group, {note.start, note.rows});
    ptx::barrier_arrive(ring_.full(at.slot));
  }

 private:
  using Params = GroupedTensorParams;
  GG_DEVICE static bool takes(const Params& p) { return CM * CN == 1 && !CUT && p.taken; }
  // There are no more tiles: if all groups are this launch's, CTAs of the next one need not look for any. The whole warp.
  GG_DEVICE static void tell_others(const Params& p) {
    if (p.cleared) {
      i32 others = 0;
      for (i32 g = ptx::renewed(DeviceWarp::lane()); g < p.groups; g += 32) {  // else ptxas keeps how often it runs through all tiles
        const i32 rows = group_span(p.uniform, g).rows;
        others |= rows > 0 && rows <= p.uniform.above;
      }
      if (!__any_sync(0xffffffffu, others) && DeviceWarp::lane() == 0) ptx::set_bits(p.cleared, Params::none_left);
    }
  }
  GG_DEVICE static void start(i32 next) { shared().next = next, shared().apart = shared().round = static_cast<i32>(clusters()); }
  GG_DEVICE static u32 cluster() { return blockIdx.x / (CM * CN); }
  GG_DEVICE static u32 clusters() { return gridDim.x / (CM * CN); }
  // How tiles are cut, once the cursor has found the first one. The whole warp.
  GG_DEVICE static void deal(const GroupedTensorParams& p) {
    __syncwarp();
    const SharedCursor& cursor = shared().cursor;
    [[maybe_unused]] DepthDeal deal = nothing_cut;
    if (counts(p) && p.arrivals) {
      i32 tiles = 0;
      for (i32 g = cursor.base + 32 + DeviceWarp::lane(); g < p.groups; g += 32) tiles += tiles_in(p, g);
      tiles = cursor.tiles_before + cursor.tiles_in + DeviceWarp::at(DeviceWarp::inclusive_sum(tiles), 31);
      deal = deal_left_over(static_cast<u32>(tiles), static_cast<u32>(p.uniform.steps), clusters(), large_tile(BM, BN));
    }
    if (DeviceWarp::lane() == 0) shared().slices = {p.sums, p.arrivals, deal}, shared().pieces = PieceCursor(cluster(), clusters());
    __syncwarp();
  }
  // The number of the next tile that is this cluster's in whole or in part, and which part. The whole warp.
  GG_DEVICE static DepthPart next_piece(const GroupedTensorParams& p, i32& tile) {
    const DepthDeal deal = shared().slices.deal;
    if (deal.pieces == 0) __builtin_unreachable();  // deal_left_over's
    const u32 steps = static_cast<u32>(p.uniform.steps);
    PieceCursor pieces = shared().pieces;
    __syncwarp();
    const bool any = pieces.next(deal, steps, cluster(), clusters());
    if (DeviceWarp::lane() == 0) shared().pieces = pieces;
    tile = any ? static_cast<i32>(pieces.tile()) : none;
    return pieces.depth(deal, steps, cluster());
  }
  // Of a group's product.
  struct Grid {
    u32 down, across;  // tiles
    i32 steps;         // of k
  };
  // As prepare.cu counts them.
  GG_DEVICE static GroupTiles early_tiles(const GroupSizes& sizes, i32 group) {
    if (number_at<true>(sizes.status, sizes.status ? 1 : 0, 0)) return {};
    const SourceNumbers m = read_numbers<true>(sizes.m, group), n = read_numbers<true>(sizes.n, group), k = read_numbers<true>(sizes.k, group);
    const auto tiles = [](const Source& source, SourceNumbers numbers, int tile) { return static_cast<i32>(ceil_div(max_of(number_of(source, numbers), 0), tile)); };
    GroupTiles out{0, tiles(SWAP ? sizes.n : sizes.m, SWAP ? n : m, BM), tiles(SWAP ? sizes.m : sizes.n, SWAP ? m : n, BN), tiles(sizes.k, k, BK)};
    out.count = static_cast<i32>(cluster_tiles(static_cast<u32>(out.down), static_cast<u32>(out.across), CM, CN));
    return out;
  }
  GG_DEVICE static Grid uniform_grid(const UniformGroups& u, i32 rows) {
    constexpr u32 ROWS = SWAP ? BN : BM;
    const u32 other = static_cast<u32>(u.other_tiles), own = (static_cast<u32>(rows) + ROWS - 1) / ROWS;
    return SWAP ? Grid{other, own, u.steps} : Grid{own, other, u.steps};
  }
  GG_DEVICE static i32 uniform_tiles(const UniformGroups& u, i32 rows) {
    if (rows <= u.above || rows > u.most) return 0;
    const Grid grid = uniform_grid(u, rows);
    return static_cast<i32>(cluster_tiles(grid.down, grid.across, CM, CN));
  }
  // Which tile of its product the CTA's is; of so many rows, where that is asked.
  GG_DEVICE static void place_in(Grid grid, i64 rows, i32 raster, i32 tile, NotedTile& out) {
    const ClusterTile place = cluster_tile(static_cast<u32>(tile), grid.down, grid.across, raster, CM, CN, blockIdx.x % (CM * CN));
    out.row = static_cast<i32>(place.at.row), out.column = static_cast<i32>(place.at.col), out.turned = place.turned;
    out.half = HALVES && rows - i64(out.row) * BM <= BM / 2;
    out.first = 0, out.depth = grid.steps;
  }
  // Where a uniform group's operands lie.
  GG_DEVICE static void lie_in(const UniformGroups& u, i32 group, GroupSpan span, NotedTile& out) {
    const UniformGroups* const maps = ptx::renewed(&u);  // else their addresses are kept through all tiles
    out.start = span.start, out.rows = span.rows;
    out.a = {&maps->a, first_line(u.lines_a, group, span.start)}, out.b = {&maps->b, first_line(u.lines_b, group, span.start)}, out.d = {&maps->d, first_line(u.lines_d, group, span.start)};
  }
  // Whether the tiles of all groups are counted at first; and those of a uniform group.
  GG_DEVICE static bool counts(const GroupedTensorParams& p) { return CUT && !p.records && p.groups <= most_counted_groups; }
  GG_DEVICE static i32 tiles_in(const GroupedTensorParams& p, i32 group) {
    if constexpr (CUT) {
      if (const u16 tiles = counts(p) ? shared().counted[group] : many; tiles != many) return tiles;
    }
    return uniform_tiles(p.uniform, group_span(p.uniform, group).rows);
  }
  GG_DEVICE static u32 placed(u32 slot) { return ptx::shared_address(shared().placed) + 8 * slot; }

  GG_DEVICE static Shared& shared() {
    __shared__ Shared shared;
    return shared;
  }

  Ring<NOTES> ring_;
};

}  // namespace ggemm::kernels
