// SPDX-License-Identifier: Apache-2.0
// The tensor-core kernel of sm_90a: a producer warpgroup and consumer warpgroups in one persistent CTA, tensor maps, wgmma, clusters; plain and grouped.
#include "epilogue/reduce.cuh"
#include "epilogue/slices.cuh"
#include "epilogue/staged.cuh"
#include "grouped_call.cuh"
#include "mainloop/wgmma.cuh"
#include "mainloop/wgmma_producer.cuh"
#include "ptx/launch.cuh"
#include "scheduler/board.cuh"

using namespace ggemm::kernels;

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

// A consumer warpgroup: its place in the ring, its place in the staging. CLUSTER_K: as in the traits.
template <int CLUSTER_K>
struct Consumer {
  const int group;  // Shape::group
  u32 turn = 0;  // counts tiles
  Shape::Cursor at;
  Steps::Cursor cursor;
  Epilogue::Held held;  // of the tile before

  GG_DEVICE u32 party() const { return blockIdx.x % Shape::CLUSTER * Shape::CONSUMERS + static_cast<u32>(group); }  // as slices.cuh has them
  // The CTA's tile, or a piece of it along k: Tile is Plain's or Grouped's, and says of what product, where, and how D and C are reached.
  template <class Tile>
  GG_DEVICE void run(const Cta& cta, Tile tile) {
    Mainloop mainloop;
    const auto first_row = [&](i64 row) { return row * T::BM + group % Shape::CONSUMERS / T::WARPS_N * Shape::WM; };
    const auto first_column = [&](i64 column) { return column * T::BN + group % Shape::CONSUMERS % T::WARPS_N * Shape::WN; };
    // C comes while the tile is multiplied, where it is this CTA that stores it.
    constexpr bool AHEAD = Steps::BRINGS_C && !T::LEAVES && !T::SLICED && CLUSTER_K == 1;
    const auto ask_c = [&](i64 row, i64 column) { Epilogue::ask_c(tile.problem(), tile.c(), tile.store(), row, column, cta.staging(group), group, cursor); };
    if constexpr (AHEAD) {
      if (tile.c().map) {
        if constexpr (T::GROUPED) store_held(cta, -1);  // one product reads C for all tiles or for none, and what is held has read none
        const TileCoord at_first = tile.place();
        ask_c(first_row(at_first.row), first_column(at_first.col));
      }
    }
    [[maybe_unused]] const u32 own = turn - 1;
    if constexpr (T::TEAMS > 1) cta.turns.wait(own);
    mainloop.consume(cta.ring, at, cta.slots, group % Shape::CONSUMERS, tile.tiles, tile.unusual(), [&] {
      if constexpr (T::TEAMS > 1) cta.turns.pass(own);
    }, [&](i32 step) { store_held(cta, step); });
    store_held(cta, -1);
    // While the last products are under way.
    tile.renew();
    const TileCoord tile_at = tile.place();
    const bool hold = Epilogue::Held::HELD > 0 && !tile.last();
    const i64 row = ptx::renewed(tile_at.row), column = ptx::renewed(tile_at.col);
    mainloop.finish(cta.ring, tile.tiles);
    const i64 first = first_row(row);
    i64 across = first_column(column);
    using Sums = Shape::Sum[Shape::BLOCKS][Reduction::WN / 2];
    const auto finish = [&](Sums& sums) {
      if constexpr (T::LEAVES) {
        ptx::launch_next();
        return Slices::leave(flat(sums), tile.slices(), tile.piece(), party());
      } else if constexpr (T::SLICED) {
        const DepthDeal deal = tile.slices().deal;
        if (T::GROUPED && deal.pieces == 0) __builtin_unreachable();  // deal_left_over's
        const TilePiece among = tile_piece(deal, tile.steps(), tile.piece(), blockIdx.x / Shape::CLUSTER);
        if (among.count > 1 && !Slices::run(flat(sums), tile.slices(), among, party(), 1 + group)) return;
      }
      if constexpr (!T::LEAVES) {
        if constexpr (!AHEAD) ask_c(first, across);
        Epilogue::run(sums, tile.problem(), tile.d(), tile.c(), tile.store(), tile.rows(), tile.start(), first, across, cta.staging(group), group, cursor, held, hold);
      }
    };
    if constexpr (CLUSTER_K == 1) {
      finish(mainloop.sums);
    } else {
      const u32 rank = Shape::part_of_k();
      across += rank * Reduction::WN;
      Reduction reduction;
      if (reduction.run(mainloop.sums, cta.slots, rank)) finish(reduction.sums);
    }
  }
  // Whether the CTA's next tile is this team's; if not, its slots are passed over.
  GG_DEVICE bool takes(i32 tiles) {
    if (T::TEAMS == 1 || turn++ % 2 == static_cast<u32>(group / Shape::CONSUMERS)) return true;
    at.skip(static_cast<u32>(tiles));
    return false;
  }
  GG_DEVICE void store_held(const Cta& cta, i32 step) { held.store(step, cta.staging(group), group, cursor); }
  // There is no more tile: of one that was known to be the last nothing is held. Shared memory must not go to another CTA while the copy engine still reads it.
  GG_DEVICE void finish(const Cta& cta) {
    if constexpr (T::GROUPED) store_held(cta, -1);
    if (threadIdx.x % 128 < 32 && ptx::elect_one()) ptx::store_wait_read<0>();
  }
};

// (Templates, so that NVRTC instantiates nothing of the other one.)

// One product, or a batch of such. Each role walks the tiles, or pieces of them, by itself. Where CTAs share a tile along k, each has one only.
template <class T>
struct Plain {
  using Params = TensorParams;
  using Scheduler = If<T::LEAVES, SliceScheduler<T::CLUSTER_M, T::CLUSTER_N>, PersistentScheduler<T::CLUSTER_M, T::CLUSTER_N, T::CLUSTER_K, T::SLICED, T::BATCH>>;
  const Params& p;

  // For Consumer::run. start, rows: the number of the product's first row, and where rows lie by an index. tiles: of k, so many. last: it is its CTA's last one. renew: called once the tile
  // is multiplied; what led to the answers need not last in registers until then.
  struct Tile {
    const Params& p;
    const Scheduler& at;
    i32 tiles;
    bool unusual_;
    GG_DEVICE If<T::BATCH, GemmParams, const GemmParams&> problem() const {
      if constexpr (T::BATCH) return product_of(p.batch, p.problem, at.product());
      else return p.problem;
    }
    GG_DEVICE MappedLines d() const { return {&p.d, product(at)}; }
    GG_DEVICE MappedLines c() const { return !T::BATCH && p.maps_c ? MappedLines{&p.c, 0} : MappedLines{}; }
    GG_DEVICE TensorStore store() const { return p.store; }
    GG_DEVICE GroupRows rows() const { return {}; }
    GG_DEVICE i64 start() const { return 0; }
    GG_DEVICE TileCoord place() const { return at.place().at; }
    GG_DEVICE bool last() const { return at.last(); }
    GG_DEVICE bool unusual() const { return unusual_; }
    GG_DEVICE void renew() {}
    // Where k is cut: the cluster tile's number, or of slices the piece's; and the cluster tile's steps of k.
    GG_DEVICE const SliceParams& slices() const { return p.slices; }
    GG_DEVICE u32 piece() const { return at.piece(); }
    GG_DEVICE u32 steps() const { return p.walk.steps; }
  };

  GG_DEVICE explicit Plain(const Params& params) : p(params) {}
  GG_DEVICE void init() const {}
  GG_DEVICE void prefetch() const {
    ptx::tensor_prefetch(p.a);
    ptx::tensor_prefetch(p.b);
    if constexpr (!T::LEAVES) ptx::tensor_prefetch(p.d);
  }
  GG_DEVICE void prefetch_others() const {
    if (!T::LEAVES && p.maps_c) ptx::tensor_prefetch(p.c);
    if (Shape::SCALE_LINES && p.scales.mapped) ptx::tensor_prefetch(p.scales.map);
  }
  GG_DEVICE void count() const {}
  GG_DEVICE void begin() const { ptx::launch_wait(); }
  GG_DEVICE void end() const {
    if (T::TERMS && p.terms && blockIdx.x == 0 && threadIdx.x == 0) p.terms->next = p.terms->turn ^ 1;
  }
  GG_DEVICE Scheduler scheduler() const {
    if constexpr (T::BATCH) return Scheduler(p.walk, p.slices.deal, &p.batch.tiles);
    else return Scheduler(p.walk, p.slices.deal);
  }
  // Of a tile: its product's number.
  GG_DEVICE static i32 product(const Scheduler& at) {
    if constexpr (T::BATCH) return at.product();
    else return 0;
  }
  // After begin(). Of terms: whether an element is large or not finite.
  GG_DEVICE bool unusual() const {
    if (!T::TERMS || !p.terms) return false;
    const u32 turn = p.terms->turn, words[2] = {p.terms->unusual[0], p.terms->unusual[1]};  // one way to memory, not two
    return turn ? words[1] : words[0];
  }
  static constexpr int PREFETCHER = 2;  // the warp that calls prefetch()
  // What can be done while barriers are set up, by warp 0 and the warp ALSO_FIRST: the producer's first tile is found.
  static constexpr int ALSO_FIRST = 0;
  struct First {
    ClusterTile tile{};
    DepthPart depth{};
    GG_DEVICE void prepare(const Plain& form) {
      if (Scheduler at = form.scheduler(); at.next()) tile = at.place(), depth = Shape::part(at.depth());
    }
  };
  // The producers' warps. Boxes are asked for behind a branch on elect_one() itself, here and in Grouped: of a thread picked otherwise, be it by what that said, ptxas asks lane by lane, each number moved to uniform registers anew.
  GG_DEVICE void produce(const Cta& cta, const First& first) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    Scheduler to = scheduler();
    Shape::Cursor at;
    if (T::BLOCK_SCALED && warp == Producer::SCALES_WARP) {
      while (to.next()) {
        const ClusterTile tile = to.place();
        const DepthPart depth = Shape::part(to.depth());
        Producer::produce_scales(p.problem, p.scales.mapped, cta.ring, at, cta.address(), static_cast<i32>(tile.at.row) * T::BM, static_cast<i32>(tile.at.col) * T::BN, depth.first, depth.tiles);
      }
    }
    if (warp != 0 || !ptx::elect_one()) return;
    ClusterTile tile = first.tile;
    DepthPart depth = first.depth;
    for (bool known = true; to.next(); known = false) {
      if (!known) tile = to.place(), depth = Shape::part(to.depth());
      Producer::produce({&p.a, p.batch.a ? product(to) : 0}, {&p.b, p.batch.b ? product(to) : 0}, p.scales, 0, cta.ring, at, cta.address(), static_cast<i32>(tile.at.row) * T::BM, static_cast<i32>(tile.at.col) * T::BN, tile.turned, depth.first, depth.tiles, static_cast<i32>(p.walk.steps));
    }
    cta.drain(at);
  }
  GG_DEVICE void consume(const Cta& cta, int group) const {
    Consumer<T::CLUSTER_K> consumer{group};
    const bool large_or_infinite = unusual();
    for (Scheduler to = scheduler(); to.next();) {
      const DepthPart depth = Shape::part(to.depth());
      if (!consumer.takes(depth.tiles)) continue;
      consumer.run(cta, Tile{p, to, depth.tiles, large_or_infinite});
    }
    consumer.finish(cta);
  }
};

// One product a group. A warp of the producers' finds the tiles; all warps read them.
template <class T>
struct Grouped {
  using Params = GroupedTensorParams;
  using Board = TileBoard<T::TILE_NOTES, PRODUCER_THREADS / 32 + 4 * CONSUMERS, T::BM, T::BN, T::BK, T::CLUSTER_M, T::CLUSTER_N, T::INDEX_COLUMNS, T::SLICED, Shape::HALVES>;
  static_assert(!T::SLICED || PRODUCER_THREADS + 128 * CONSUMERS >= most_counted_groups, "a thread counts a group's tiles");
  static constexpr i32 INDEXED = (Shape::INDEX_A ? 1 : 0) | (Shape::INDEX_B ? 2 : 0);
  static constexpr int FINDER = 2;
  const Params& p;
  Board board;

  // As Plain's. c_at_d: C begins where D does; if not, the note need not be read for more.
  struct Tile {
    const Params& p;
    const Board& board;
    const typename Board::Cursor& at;
    const TileNote* note;
    i32 tiles;
    bool c_at_d;
    GG_DEVICE const GemmParams& problem() const { return note->facts.problem; }
    GG_DEVICE const MappedLines& d() const { return note->d; }
    // D's map tells C too, where that is D.
    GG_DEVICE MappedLines c() const { return c_at_d && same_matrix(problem().c, problem().d) ? d() : MappedLines{}; }
    GG_DEVICE TensorStore store() const { return T::SCATTER ? TensorStore::threads : note->facts.store; }
    GG_DEVICE const GroupRows& rows() const { return p.rows; }
    GG_DEVICE i64 start() const { return note->facts.start; }
    GG_DEVICE TileCoord place() const { return {note->row, note->column}; }
    GG_DEVICE bool last() const { return false; }
    GG_DEVICE bool unusual() const { return false; }
    GG_DEVICE void renew() { note = &board.note(at); }
    GG_DEVICE const SliceParams& slices() const { return board.slices(); }
    GG_DEVICE u32 piece() const { return note->tile; }
    GG_DEVICE u32 steps() const { return static_cast<u32>(p.uniform.steps); }
  };

  GG_DEVICE explicit Grouped(const Params& params) : p(params) {}
  GG_DEVICE void init() const { board.init(); }
  GG_DEVICE void prefetch() const {
    if (p.records) return;
    if (!(INDEXED & 1)) ptx::tensor_prefetch(p.uniform.a);
    if (!(INDEXED & 2)) ptx::tensor_prefetch(p.uniform.b);
    ptx::tensor_prefetch(p.uniform.d);
  }
  GG_DEVICE void prefetch_others() const {
    if (!p.records && Shape::SCALE_LINES && p.uniform.scales.mapped) ptx::tensor_prefetch(p.uniform.scales.map);
  }
  GG_DEVICE void count() const { Board::count(p); }
  // For the groups' records; uniform groups have none. Where the launch ahead is beside this one it waited for the launch that writes them to end, and so for what that wrote, before it let this one begin, whose first reads are these;
  // it is waited for at the end: who waits for this one waits for both. Of few groups the warp that finds tiles does not wait: it reads the caller's sizes, and the others what it found.
  GG_DEVICE void begin() const {
    if (p.beside || (p.early && static_cast<int>(threadIdx.x) / 32 == FINDER)) return ptx::launch_beside();
    ptx::launch_wait();
    ptx::launch_next();
  }
  GG_DEVICE void end() const {
    if (p.beside) ptx::launch_wait();
  }

  // As Plain's: what the first tile is found by is asked for. It is found once barriers are set up, as all others are.
  static constexpr int ALSO_FIRST = FINDER, PREFETCHER = 3;
  struct First {
    typename Board::Asked asked{};
    GG_DEVICE void prepare(const Grouped& form) {
      const Params& p = form.p;
      if (threadIdx.x < 32) Board::bring_near(p);
      if (threadIdx.x == 0 && blockIdx.x == 0 && p.cleared) {
        *p.cleared = 0;
        __threadfence();
      }
      if (knows_first(p)) ptx::launch_wait(), asked = Board::ask(p);  // (and is no launch beside another then)
    }
  };
  // Whether the warp that asks for operands, too, finds the first tile: it asks for them as soon as the place is known.
  GG_DEVICE static bool knows_first(const Params& p) { return INDEXED == 0 && Board::knows_first(p); }
  GG_DEVICE void produce(const Cta& cta, const First& prepared) const {
    Shape::Cursor at;
    typename Board::Cursor next;
    // One thread: where the copy engine reaches both operands. (Where they lie is read once, not for each step of k.)
    const auto bring = [&](const NotedTile& tile) {
      const MappedLines a = tile.a, b = tile.b;
      Shape::Cursor to = at;
      Producer::produce(a, b, p.uniform.scales, tile.group * p.uniform.scales.of_group, cta.ring, to, cta.address(), tile.row * T::BM, tile.column * T::BN, tile.turned, T::SLICED ? tile.first : 0, tile.depth, tile.depth, tile.half);
    };
    // Another warp than the one that asks for operands finds the tiles, so that it may be a tile ahead; not where CTAs take them, the later the more evenly.
    const int finder = p.taken ? 0 : FINDER;
    if (const int warp = ptx::of_first_lane(static_cast<int>(threadIdx.x) / 32); warp == 0 || warp == finder) {
      if (knows_first(p)) {
        const typename Board::First first = Board::first(p, prepared.asked);
        if (warp == finder) board.begin(p, first);
        if (first.place.group < 0) return;  // nothing of the ring is in use
        if (warp == 0 && ptx::elect_one()) bring(first.place);
        at.skip(first.place.depth);
        board.release(next);  // its note, which the two need not read
        ++next;
      } else if (warp == finder) {
        board.begin(p);
      }
    }
    for (;; ++next) {
      const int warp = ptx::renewed(static_cast<int>(threadIdx.x)) / 32;
      // Of uniform groups warp 0 asks for operands as soon as the place of a tile is known.
      const bool at_once = !p.records && INDEXED == 0;
      if (warp == finder) board.place(p, next);
      if (warp == 1) board.complete(p, next);
      const TileNote& note = warp == 0 && at_once ? board.read_place(next) : board.read(next);
      if (note.group < 0) {
        if (warp == 0 && ptx::elect_one()) cta.drain(at);
        return;
      }
      const i32 reach = (at_once || T::BY_ENGINE ? 3 : note.facts.reach) & ~INDEXED;
      const auto acquire = [&] {
        if (!note.other) return;
        if (reach & 1) ptx::tensor_map_acquire(*note.a.map);
        if (reach & 2) ptx::tensor_map_acquire(*note.b.map);
      };
      if (reach == 3) {
        if (warp == 0) {
          if (ptx::elect_one()) {
            acquire();
            bring(note);
          }
          at.skip(note.depth);
        } else if (T::BLOCK_SCALED && warp == Producer::SCALES_WARP) {
          Producer::produce_scales(note.facts.problem, p.uniform.scales.mapped, cta.ring, at, cta.address(), note.row * T::BM, note.column * T::BN, T::SLICED ? note.first : 0, note.depth);
        } else {
          at.skip(note.depth);
        }
      } else if constexpr (!T::BY_ENGINE) {
        if (warp == 0 && ptx::elect_one()) acquire();
        Producer::gather(note.facts.problem, note.a, note.b, reach, p.rows.a_index, note.facts.start, cta.ring, at, cta.slots, note.row, note.column, note.turned, note.depth);
      }
      board.release(next);
    }
  }

  GG_DEVICE void consume(const Cta& cta, int group) const {
    Consumer<T::CLUSTER_K> consumer{group};
    i32 other = 0;  // whether maps are others than of this team's last tile
    for (typename Board::Cursor next;; ++next) {
      const TileNote& note = board.read(next);
      // At once: what is read behind a branch takes its own time, and tensor cores wait.
      const i32 product = note.group, changed = note.other, depth = note.depth, half = note.half;
      const bool by_engine = !T::SCATTER && note.facts.store != TensorStore::threads, c_at_d = note.facts.problem.c.data == note.facts.problem.d.data;
      if (product < 0) break;
      other |= changed;
      if (!consumer.takes(depth)) {
        board.release(next);
        continue;
      }
      if (Shape::HALVES && half && group % 2) {
        Mainloop::pass_over(cta.ring, consumer.at, depth);
        board.release(next);
        continue;
      }
      const Tile tile{p, board, next, &note, depth, c_at_d};
      if (other && by_engine && threadIdx.x % 128 < 32 && ptx::elect_one()) ptx::tensor_map_acquire(*note.d.map);
      other = 0;
      consumer.run(cta, tile);
      board.release(next);
    }
    consumer.finish(cta);
  }
};

using Form = If<T::GROUPED, Grouped<T>, Plain<T>>;

// A launch of clusters, be these of one CTA, is dealt to GPCs by turns; another fills one GPC after the other. Then neighbours in the raster order, which read the same lines of A and B, are in one, and their requests are joined on the way to L2.
#if GG_CLUSTER_M * GG_CLUSTER_N * GG_CLUSTER_K == 1
#undef __cluster_dims__
#define __cluster_dims__(...)  // (and the kernel's head says the same either way, as the emulated GPU reads it)
#endif
static_assert((GG_CLUSTER_M * GG_CLUSTER_N * GG_CLUSTER_K == 1) == (Shape::CLUSTER == 1));
extern "C" __global__ void __cluster_dims__(Shape::CLUSTER, 1, 1) __launch_bounds__(PRODUCER_THREADS + 128 * CONSUMERS, GG_MIN_CTAS) GG_KERNEL_NAME(const __grid_constant__ Form::Params params) {
  extern __shared__ __align__(1024) char shared[];
  const Cta cta(shared);
  const Form form(params);
  const int warp = ptx::of_first_lane(static_cast<int>(threadIdx.x) / 32);
  // Nothing is under way until the first box is asked for, and parameters come slowly: of the producers' warps each has one thing to do ahead.
  Form::First first;
  if (warp == 0 || warp == Form::ALSO_FIRST) first.prepare(form);
  if (0 < warp && warp < PRODUCER_THREADS / 32 && ptx::renewed(static_cast<int>(threadIdx.x)) % 32 == 0) {  // (else a consumer keeps what follows from it, and spills)
    if (warp == 1) {
      cta.init();
      form.init();
      ptx::fence_barrier_init();
    }
    if (warp == Form::PREFETCHER) form.prefetch();
    if (warp == 3) form.prefetch_others();
  }
  __syncwarp();
  form.count();
  // A cluster's barrier, which is relaxed, orders nothing of what count() has written.
  if constexpr (Shape::CLUSTER == 1 || (T::GROUPED && T::SLICED)) __syncthreads();
  if constexpr (Shape::CLUSTER > 1) ptx::cluster_sync();
  form.begin();
  if (warp < PRODUCER_THREADS / 32) {
    if constexpr (MOVE_REGISTERS) ptx::registers_release<PRODUCER_REGISTERS>();
    form.produce(cta, first);
    if constexpr (T::CLUSTER_K > 1) {
      __syncwarp();
      ptx::cluster_barrier();  // the reduction's
    }
  } else {
    if constexpr (MOVE_REGISTERS) ptx::registers_take<CONSUMER_REGISTERS>();
    form.consume(cta, Shape::group(32 * warp));
  }
  form.end();
  // No CTA leaves while another may still read its sums; who comes here has those that it reads.
  if constexpr (T::CLUSTER_K > 1) {
    __syncwarp();
    ptx::cluster_sync();
  }
}
