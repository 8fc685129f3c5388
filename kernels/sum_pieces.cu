// SPDX-License-Identifier: Apache-2.0
// Adds up slices of k that a product's launch (sm90.cu) has left in workspace, in the order of k, so that the bits are the same every time, and makes elements of D of them. Compiled with
// that kernel's defines. It is a chain of latencies, so its code is short, many of a thread's loads are under way at once, and D, which is small, is stored element by element.
#include "epilogue/slices.cuh"
#include "epilogue/sum_scale.cuh"
#include "mainloop/wgmma_shape.cuh"
#include "ptx/launch.cuh"
#include "scheduler/raster.cuh"
#include "tile/columns.cuh"

using namespace ggemm::kernels;

using T = Traits;
using Shape = WgmmaShape<T>;
using Sum = Shape::Sum;
using Value = T::Value;
using Slices = SliceReduction<Sum, Shape::BLOCKS * Shape::WN / 2, Shape::CLUSTER * Shape::CONSUMERS>;

// A warpgroup takes a strip of 64 rows and 8 columns: of each piece a vector a thread, two neighbours in a row and two 8 rows below.
constexpr int ACROSS = Shape::WN / 8, STRIPS = Shape::BLOCKS * ACROSS, AHEAD = 9;  // AHEAD: pieces whose loads are under way at once
constexpr bool PAIRED = T::GATE != 0;

// A thread's four elements of the product: what makes elements of D of them.
struct Elements {
  const GemmParams& p;
  i64 row, column;
  Value addend[4], scale[4];

  GG_DEVICE bool inside(int e) const { return row + e / 2 * 8 < p.m && column + e % 2 < p.n; }
  GG_DEVICE void load(const EpilogueScalars<Value>& scalars) {
    const SumScale<T::SCALE_A> scale_a(p.scale_a, p.scale_a.row_stride, 0);
    const SumScale<T::SCALE_B> scale_b(p.scale_b, p.scale_b.col_stride, 0);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      addend[e] = 0;
      scale[e] = 1;
      if (!inside(e)) continue;
      const i64 i = row + e / 2 * 8, j = paired_column<T::SPLIT_PAIRS>(p.n, column + e % 2);
      if constexpr (T::BIAS != 0) addend[e] = to_sum<Value>(static_cast<const typename T::Bias*>(p.bias)[T::BIAS == 1 ? j : i]);
      if constexpr (!PAIRED)
        if (scalars.beta != Value(0)) addend[e] = multiply_add(scalars.beta, to_sum<Value>(static_cast<const typename T::C*>(p.c.data)[i * p.c.row_stride + j * p.c.col_stride]), addend[e]);
      if constexpr (SumScale<T::SCALE_A>::ANY || SumScale<T::SCALE_B>::ANY) scale[e] = scale_a.at(i) * scale_b.at(j);
    }
  }
  GG_DEVICE Value scaled(Sum sum, int e) const {
    if constexpr (SumScale<T::SCALE_A>::ANY || SumScale<T::SCALE_B>::ANY) return static_cast<Value>(sum) * scale[e];
    else return static_cast<Value>(sum);
  }
  GG_DEVICE void store(const Sum (&sums)[4], const EpilogueScalars<Value>& scalars) const {
#pragma unroll
    for (int e = 0; e < 4; e += PAIRED ? 2 : 1) {
      if (!inside(e)) continue;
      Value value = epilogue_value<T::ACTIVATION>(scaled(sums[e], e), addend[e], scalars);
      if constexpr (PAIRED) value *= epilogue_value<0>(scaled(sums[e + 1], e + 1), addend[e + 1], scalars);
      const i64 j = column + e % 2;
      static_cast<typename T::D*>(const_cast<void*>(p.d.data))[(row + e / 2 * 8) * p.d.row_stride + (PAIRED ? j / 2 : j) * p.d.col_stride] = Store<typename T::D>::from(value);
    }
  }
};

// Adds pieces from first to end - 1.
GG_DEVICE void add(Sum (&sums)[4], const ptx::Vector16* from, u32 first, u32 end) {
#pragma unroll 1
  for (u32 i = first; i < end; i += AHEAD) {
    ptx::Vector16 in[AHEAD];
#pragma unroll
    for (u32 a = 0; a < AHEAD; ++a) in[a] = ptx::load_vector(from + (i + a < end ? i + a : end - 1) * Slices::PIECE);
#pragma unroll
    for (u32 a = 0; a < AHEAD; ++a)
      if (i + a < end)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[e] += bit_cast<Sum>(in[a].word[e]);
  }
}

extern "C" __global__ void __launch_bounds__(sum_pieces_threads, 4) GG_KERNEL_NAME(const __grid_constant__ TensorParams params) {
  __shared__ ptx::Vector16 second[128];
  const GemmParams& p = params.problem;
  const DepthDeal& deal = params.slices.deal;
  const u32 group = threadIdx.x / 128, thread = threadIdx.x % 128;
  // The CTA's strip, shared, or each warpgroup's: of a warpgroup's part of a cluster tile.
  const bool shared = strips_at_once(deal) == 1;
  constexpr u32 PARTS = Shape::CLUSTER * Shape::CONSUMERS;
  const u32 number = shared ? blockIdx.x : blockIdx.x * 2 + group, strip = number % STRIPS, part = number / STRIPS % PARTS, counted = number / STRIPS / PARTS;
  const u32 tile = counted < deal.cut ? counted : deal.cut - 1;  // the last CTA may have a warpgroup too many
  const TileCoord at = cluster_tile(tile, static_cast<u32>(ceil_div(p.m, T::BM)), static_cast<u32>(ceil_div(p.n, T::BN)), p.raster, T::CLUSTER_M, T::CLUSTER_N, part / Shape::CONSUMERS).at;
  const u32 warpgroup = part % Shape::CONSUMERS, row = warpgroup / T::WARPS_N * Shape::WM + strip / ACROSS * 64 + thread / 32 * 16 + thread % 32 / 4,
            column = warpgroup % T::WARPS_N * Shape::WN + strip % ACROSS * 8 + thread % 4 * 2;
  Elements elements{p, at.row * T::BM + row, at.col * T::BN + column, {}, {}};
  const bool any = counted < deal.cut && elements.inside(0);
  const u32 half = (deal.pieces + 1) / 2, first = shared && group ? half : 0, end = shared && !group ? half : deal.pieces;
  Sum sums[4] = {};
  ptx::launch_wait();
  const EpilogueScalars<Value> scalars(p.epilogue);
  if (any) {
    elements.load(scalars);
    add(sums, Slices::place(params.slices, tile * deal.pieces, part, static_cast<int>(thread)) + strip * 128, first, end);
  }
  if (shared) {
    if (group) {
#pragma unroll
      for (int e = 0; e < 4; ++e) second[thread].word[e] = bit_cast<u32>(sums[e]);
    }
    __syncthreads();
    if (group) return;
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[e] += bit_cast<Sum>(second[thread].word[e]);
  }
  if (any) elements.store(sums, scalars);
}
