// SPDX-License-Identifier: Apache-2.0
// How the roles of sm90.cu find the tiles of groups.
#pragma once
#include "grouped_call.cuh"
#include "ptx/launch.cuh"
#include "roles/consumer.cuh"
#include "scheduler/board.cuh"

namespace ggemm::kernels {

// One product a group. A warp of the producers' finds the tiles; all warps read them.
// (A template, so that NVRTC instantiates nothing of it in the other form's kernels.)
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

}  // namespace ggemm::kernels
