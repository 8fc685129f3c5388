// SPDX-License-Identifier: Apache-2.0
// Rows that meet in a row of D: each row of D is the sum of those that go there, in their order, weighted, rounded once. They were computed before, into workspace.
// GG_VALUE: the type that the epilogue computes in. GG_D: D's.
#include "epilogue/value.cuh"
#include "grouped_call.cuh"

using namespace ggemm::kernels;

namespace {

using V = ElementOf<GG_VALUE>::type;
using D = ElementOf<GG_D>::type;
constexpr int WARPS = sum_rows, THREADS = sum_threads;
constexpr int MOST = 2 * THREADS, MOST_OF_ROW = 64;  // rows that are remembered, of a CTA's rows of D, and of one of them

struct Shared {
  i64 from[MOST];
  i32 to[MOST];
  i64 of_row[WARPS][MOST_OF_ROW];
  i32 counts[WARPS];
  i64 ends[WARPS];
};
GG_DEVICE Shared& shared() {
  __shared__ Shared shared;
  return shared;
}
GG_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
GG_DEVICE int warp() { return thread() / 32; }
GG_DEVICE int lane() { return thread() % 32; }

// How many rows the groups have: however their ends go, those below the largest. All threads.
GG_DEVICE i64 count_rows(const SumParams& p) {
  i64 most = 0;
  for (i64 g = thread(); g < p.groups; g += THREADS) most = max_of(most, read_end(p.ends, g));
#pragma unroll
  for (int step = 16; step > 0; step /= 2) most = max_of(most, __shfl_xor_sync(0xffffffffu, most, step));
  if (lane() == 0) shared().ends[warp()] = most;
  __syncthreads();
  for (int w = 0; w < WARPS; ++w) most = max_of(most, shared().ends[w]);
  return most;
}

// A warp's part of a row of D, and what is known of the row.
struct Sum {
  const SumParams& p;
  i64 row;
  i64 begin, end;  // columns
  i64 first = -1;  // the row of values where the sum under way is kept, once there is one
  int count = 0;   // in of_row

  // Adds what of_row has. last: to D.
  GG_DEVICE void add(bool last) {
    if (first < 0 && count == 0) return;
    V* const values = static_cast<V*>(p.values);
    const i64* const from = shared().of_row[warp()];
    const i64 kept = first < 0 ? from[0] : first;
    for (i64 column = begin + lane(); column < end; column += 32 * TOGETHER) {
      V sums[TOGETHER];
      const V scale_of_first = first < 0 ? weight(kept) : V(1);
      each(column, [&](int i, i64 j) { sums[i] = first < 0 && p.rows.weights ? scale_of_first * values[kept * p.columns + j] : values[kept * p.columns + j]; });
      for (int f = first < 0 ? 1 : 0; f < count; ++f) {
        const V scale = weight(from[f]);
        const V* const more = values + from[f] * p.columns;
        each(column, [&](int i, i64 j) { sums[i] = multiply_add(scale, more[j], sums[i]); });
      }
      if (last) each(column, [&](int i, i64 j) { *(static_cast<D*>(const_cast<void*>(p.d.data)) + row * p.d.row_stride + j * p.d.col_stride) = ggemm::kernels::Store<D>::from(sums[i]); });
      else each(column, [&](int i, i64 j) { values[kept * p.columns + j] = sums[i]; });
    }
    first = kept, count = 0;
    __syncwarp();
  }
  // The lane's columns from `column` on.
  static constexpr int TOGETHER = 4;
  template <class Function>
  GG_DEVICE void each(i64 column, Function function) const {
#pragma unroll
    for (int i = 0; i < TOGETHER; ++i)
      if (column + 32 * i < end) function(i, column + 32 * i);
  }
  GG_DEVICE V weight(i64 i) const { return p.rows.weights ? static_cast<V>(p.rows.weights[i]) : V(1); }

  // Takes its own of the `listed` rows that the CTA remembers.
  GG_DEVICE void take(int listed) {
    for (int at = 0; at < listed; at += 32) {
      const bool mine = at + lane() < listed && shared().to[at + lane()] == warp();
      const u32 lanes = __ballot_sync(0xffffffffu, mine);
      if (count + __popc(lanes) > MOST_OF_ROW) add(false);
      if (mine) shared().of_row[warp()][count + __popc(lanes & ((1u << lane()) - 1))] = shared().from[at + lane()];
      count += __popc(lanes);
      __syncwarp();
    }
  }
};

// Rows of D from `first` on, and their columns from `begin` on. All threads.
GG_DEVICE void sum_block(const SumParams& p, i64 first, i64 begin, i64 count) {
  Sum sum{p, first + warp(), begin, min_of(begin + p.block_columns, p.columns)};
  int listed = 0;
  for (i64 base = 0; base < count; base += THREADS) {
    const i64 i = base + thread(), to = i < count ? read_row(p.rows.d_index, i) - first : -1;
    const bool here = to >= 0 && to < WARPS;
    const u32 lanes = __ballot_sync(0xffffffffu, here);
    if (lane() == 0) shared().counts[warp()] = __popc(lanes);
    __syncthreads();
    int place = listed + __popc(lanes & ((1u << lane()) - 1));
    for (int w = 0; w < WARPS; ++w) {
      if (w < warp()) place += shared().counts[w];
      listed += shared().counts[w];
    }
    if (here) shared().from[place] = i, shared().to[place] = static_cast<i32>(to);
    __syncthreads();
    // The next THREADS may all be of this block.
    if (listed + THREADS > MOST) {
      sum.take(listed);
      listed = 0;
      __syncthreads();
    }
  }
  sum.take(listed);
  if (sum.row < p.rows.d_index.value) sum.add(true);
  __syncthreads();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 2) GG_KERNEL_NAME(const __grid_constant__ SumParams p) {
  if (p.status && *p.status) return;
  const i64 count = count_rows(p);
  // (In 32 bits, as the host has seen to: a division in 64 is a call, around which ptxas spills.)
  const u32 across = p.blocks_across, blocks = static_cast<u32>(ceil_div(p.rows.d_index.value, WARPS)) * across;
  for (u32 block = blockIdx.x; block < blocks; block += gridDim.x) sum_block(p, i64(block / across) * WARPS, i64(block % across) * p.block_columns, count);
}
