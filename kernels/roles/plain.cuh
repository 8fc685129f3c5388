// SPDX-License-Identifier: Apache-2.0
// How the roles of sm90.cu find the tiles of one product, or of a batch.
#pragma once
#include "ptx/launch.cuh"
#include "roles/consumer.cuh"
#include "scheduler/scheduler.cuh"

namespace ggemm::kernels {

// One product, or a batch of such. Each role walks the tiles, or pieces of them, by itself. Where CTAs share a tile along k, each has one only.
// (A template, so that NVRTC instantiates nothing of it in the other form's kernels.)
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

}  // namespace ggemm::kernels
