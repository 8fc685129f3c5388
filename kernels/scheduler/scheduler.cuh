// SPDX-License-Identifier: Apache-2.0
// Which tiles a CTA computes: in a plain product, or of all products of a batch, the blockIdx.x-th in the raster order, in a grouped one every gridDim.x-th of all groups.
#pragma once
#include "scheduler/group_params.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/raster.cuh"
#include "tile/depth.cuh"

namespace ggemm::kernels {

// A CTA has one thing to do, of one product.
class OnceScheduler {
 public:
  GG_DEVICE bool next() {
    const bool first = !taken_;
    taken_ = true;
    return first;
  }
  GG_DEVICE GroupRows rows() const { return {}; }  // in order

 private:
  bool taken_ = false;
};

// One tile a CTA. (The host has worked out what to divide by: a division takes a lone warp 150 clocks.) NARROW: one row or column of tiles is what is expected.
// (Without it ptxas had gemv's loads of a row in another order, and rows of 8 f64 took 1.27 times as long: docs/performance.md, section 80.)
template <bool NARROW>
class PlainScheduler : public OnceScheduler {
 public:
  using Params = PlainParams;
  GG_DEVICE explicit PlainScheduler(const Params& params) : params_(params) {}
  GG_DEVICE i32 tile_row() const { return static_cast<i32>(tile().row); }
  GG_DEVICE i32 tile_column() const { return static_cast<i32>(tile().col); }
  GG_DEVICE const GemmParams& problem() const { return params_.problem; }

 private:
  GG_DEVICE TileCoord tile() const {
    if constexpr (NARROW) {
      if (params_.walk.tiles_m == 1) return {0, blockIdx.x};
      if (params_.walk.tiles_n == 1) return {blockIdx.x, 0};
    }
    return walked_tile(blockIdx.x, params_.walk);
  }

  const Params& params_;
};

// Of a batch, one tile a CTA, as a plain product's.
class BatchScheduler : public OnceScheduler {
 public:
  using Params = BatchedParams;
  GG_DEVICE explicit BatchScheduler(const Params& params) : params_(params) {}
  GG_DEVICE i32 tile_row() const { return static_cast<i32>(tile().row); }
  GG_DEVICE i32 tile_column() const { return static_cast<i32>(tile().col); }
  GG_DEVICE GemmParams problem() const { return product_of(params_.batch, params_.plain.problem, product()); }

 private:
  GG_DEVICE u32 product() const { return divided(blockIdx.x, params_.batch.tiles); }
  GG_DEVICE TileCoord tile() const { return walked_tile(blockIdx.x - product() * params_.batch.tiles.by, params_.plain.walk); }

  const Params& params_;
};

// One tile a CTA, or a piece of one along k (tile/depth.cuh), whose part of the product it names. (In a loop over several ptxas kept nothing of the mainloop in uniform registers, and its sums in other ones.)
template <class T>
class CutScheduler : public OnceScheduler {
 public:
  using Params = CutParams;
  GG_DEVICE explicit CutScheduler(const Params& params) : params_(params) {}
  GG_DEVICE i32 tile_row() const { return static_cast<i32>(tile().row); }
  GG_DEVICE i32 tile_column() const { return static_cast<i32>(tile().col); }
  GG_DEVICE GemmParams problem() const {
    GemmParams out = params_.plain.problem;
    const DepthPart part = cut_depth(params_.pieces, place());
    const i64 first = i64(part.first) * T::BK;
    out.a.data = static_cast<const typename T::A*>(out.a.data) + first * out.a.col_stride;
    out.b.data = static_cast<const typename T::B*>(out.b.data) + first * out.b.row_stride;
    out.k = min_of(out.k - first, i64(part.tiles) * T::BK);
    return out;
  }
  GG_DEVICE TilePiece piece() const { return cut_piece(params_.pieces, place()); }
  GG_DEVICE const SliceParams& slices() const { return params_.slices; }

 private:
  GG_DEVICE CutPlace place() const { return cut_place(params_.pieces, blockIdx.x); }
  GG_DEVICE TileCoord tile() const { return walked_tile(place().tile, params_.plain.walk); }

  const Params& params_;
};

// The cluster tiles of a product that a cluster takes: CM x CN tiles, one for each CTA of a cluster of CM down and CN across, or for each CK CTAs that share it along k; every
// so many-th as there are clusters. Each role of a CTA walks them by itself. CUT: or pieces of them along k, as `deal` says. BATCH: of products that have so many each, one after the other.
template <int CM, int CN, int CK, bool CUT = false, bool BATCH = false>
class PersistentScheduler {
 public:
  GG_DEVICE PersistentScheduler(const TileWalk& walk, const DepthDeal& deal, const Divisor* each = nullptr) : walk_(walk), deal_(deal), each_(each), tiles_(walk.tiles), steps_(walk.steps), pieces_(cluster(), clusters()) {}
  GG_DEVICE bool next() { return next(pieces_); }
  // Whether nothing comes after.
  GG_DEVICE bool last() const {
    PieceCursor after = pieces_;
    return !next(after);
  }
  // The CTA's tile, and its product's number.
  GG_DEVICE ClusterTile place() const { return cluster_tile(BATCH ? tile() - static_cast<u32>(product()) * each_->by : tile(), walk_, CM, CN, blockIdx.x % (CM * CN)); }
  GG_DEVICE i32 product() const { return BATCH ? static_cast<i32>(divided(tile(), *each_)) : 0; }
  // The cluster tile's number, and the steps of k.
  GG_DEVICE u32 piece() const { return tile(); }
  GG_DEVICE DepthPart depth() const { return CUT ? pieces_.depth(deal_, steps_, cluster()) : DepthPart{0, static_cast<i32>(steps_)}; }

  GG_DEVICE static u32 cluster() { return blockIdx.x / (CM * CN * CK); }
  GG_DEVICE static u32 clusters() { return gridDim.x / (CM * CN * CK); }

 private:
  GG_DEVICE u32 tile() const { return pieces_.tile(); }
  GG_DEVICE bool next(PieceCursor& pieces) const {
    // Of what is not cut, all tiles are whole.
    const DepthDeal deal = CUT ? deal_ : DepthDeal{tiles_, 0, 1, 0};
    return pieces.next(deal, steps_, cluster(), clusters());
  }

  const TileWalk& walk_;
  const DepthDeal& deal_;
  const Divisor* each_;
  u32 tiles_, steps_;  // the walk's: where they were read anew, ptxas took the loops over them for divergent, and kept promoted products' mainloop out of uniform registers
  PieceCursor pieces_;
};

// Where every cluster tile is cut into as many pieces along k (deal.pieces): the one piece that a cluster has. Clusters of the same steps of k follow one another, since they read the same
// lines of A and B.
template <int CM, int CN>
class SliceScheduler {
 public:
  GG_DEVICE SliceScheduler(const TileWalk& walk, const DepthDeal& deal)
      : walk_(walk), deal_(deal), steps_(static_cast<i32>(walk.steps)), number_(static_cast<i32>(cluster() / deal.cut) - static_cast<i32>(deal.pieces)) {}
  // (Where ptxas sees that there is one piece it serialises wgmma: C7520.)
  GG_DEVICE bool next() { return (number_ += static_cast<i32>(deal_.pieces)) < static_cast<i32>(deal_.pieces); }
  GG_DEVICE ClusterTile place() const { return cluster_tile(tile(), walk_, CM, CN, blockIdx.x % (CM * CN)); }
  GG_DEVICE bool last() const { return true; }
  // Where sums of the piece lie; and its steps of k.
  GG_DEVICE u32 piece() const { return tile() * deal_.pieces + static_cast<u32>(number_); }
  GG_DEVICE DepthPart depth() const { return depth_part(steps_, static_cast<i32>(deal_.pieces), number_); }

 private:
  GG_DEVICE static u32 cluster() { return blockIdx.x / (CM * CN); }
  GG_DEVICE u32 tile() const { return cluster() % deal_.cut; }

  const TileWalk& walk_;
  const DepthDeal& deal_;
  i32 steps_;
  i32 number_;  // along k
};

// The warp's lanes, as scheduler/groups.cuh wants them.
struct DeviceWarp {
  using Vector = i32;
  GG_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  template <class Function>
  GG_DEVICE static i32 map(Function function) { return function(lane()); }
  GG_DEVICE static i32 inclusive_sum(i32 value) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const i32 below = __shfl_up_sync(0xffffffffu, value, step);
      if (lane() >= step) value += below;
    }
    return value;
  }
  GG_DEVICE static int first_above(i32 value, i32 x) {
    const u32 lanes = __ballot_sync(0xffffffffu, value > x);
    return lanes ? __ffs(static_cast<int>(lanes)) - 1 : 32;
  }
  GG_DEVICE static i32 at(i32 value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
};

// A warp's place in the groups, resting in shared memory between tiles, because registers are the mainloop's. The whole warp together.
struct SharedCursor {
  i32 base, tiles_before, tiles_in, ends[32];

  GG_DEVICE void start() { keep(GroupCursor<DeviceWarp>{}); }
  // As GroupCursor::find.
  template <class Count>
  GG_DEVICE GroupTile find(i32 tile, i32 groups, Count count) {
    __syncwarp();
    GroupCursor<DeviceWarp> cursor{base, tiles_before, tiles_in, ends[ptx::renewed(DeviceWarp::lane())]};  // else its place is kept in a register from tile to tile
    __syncwarp();
    const GroupTile found = cursor.find(tile, groups, count);
    keep(cursor);
    return found;
  }
  GG_DEVICE void keep(const GroupCursor<DeviceWarp>& cursor) {
    ends[ptx::renewed(DeviceWarp::lane())] = cursor.ends;
    if (DeviceWarp::lane() == 0) base = cursor.base, tiles_before = cursor.tiles_before, tiles_in = cursor.tiles_in;
  }
};

// Warp 0 finds the CTA's next tile.
template <int BM, int BN, u32 SHAPE>
class GroupedScheduler {
  struct Shared {
    i32 group, tile_row, tile_column;  // the tile; group is -1 when there is no more
    GemmParams problem;                // its group's: read and worked out once, by one thread
    i32 next;                          // among the tiles of all groups
    SharedCursor cursor;
  };

 public:
  using Params = GroupedParams;
  GG_DEVICE explicit GroupedScheduler(const Params& params) : params_(params) {
    if (threadIdx.x == 0) shared().next = static_cast<i32>(blockIdx.x);
    if (threadIdx.x < 32) shared().cursor.start();
  }
  // All threads of the CTA, which must have read where the former tile is; all else of its shared memory is free when next() returns.
  GG_DEVICE bool next() {
    if (threadIdx.x < 32) find();
    __syncthreads();
    return shared().group >= 0;
  }
  GG_DEVICE i32 tile_row() const { return shared().tile_row; }
  GG_DEVICE i32 tile_column() const { return shared().tile_column; }
  GG_DEVICE GemmParams problem() const { return shared().problem; }
  GG_DEVICE GroupRows rows() const { return group_rows(params_, shared().group); }

 private:
  GG_DEVICE static Shared& shared() {
    __shared__ Shared shared;
    return shared;
  }
  GG_DEVICE static u32 tiles(const Source& size, i32 group, int tile) { return static_cast<u32>(ceil_div(max_of(read_source(size, group), 0), tile)); }

  // Warp 0.
  GG_DEVICE void find() {
    Shared& s = shared();
    const GroupedParams& p = params_;
    const i32 groups = static_cast<i32>(live_groups(p));
    __syncwarp();
    const i32 tile = s.next;
    const GroupTile found = s.cursor.find(tile, groups, [&p](i32 g) { return static_cast<i32>(tiles(p.m, g, BM) * tiles(p.n, g, BN)); });
    if (DeviceWarp::lane() != 0) return;
    s.next = tile + static_cast<i32>(gridDim.x);
    s.group = -1;
    if (found.group >= groups) return;
    const TileCoord at = raster_tile(static_cast<u32>(found.tile), tiles(p.m, found.group, BM), tiles(p.n, found.group, BN), p.raster);
    s.problem = group_params(p, found.group, SHAPE);
    s.group = found.group, s.tile_row = static_cast<i32>(at.row), s.tile_column = static_cast<i32>(at.col);
  }

  const Params& params_;
};

}  // namespace ggemm::kernels
