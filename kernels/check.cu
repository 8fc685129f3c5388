// SPDX-License-Identifier: Apache-2.0
// Checked mode: one CTA looks at every group before the launch that computes, and says which is wrong first.
#include "scheduler/group_check.cuh"

using namespace ggemm::kernels;

namespace {

constexpr int THREADS = check_threads, WARPS = THREADS / 32;

// Group, fault, field and row as one number, the lowest of which is told. The row counts within the group.
struct Found {
  i64 group, row;
  GroupFault what;
};
GG_DEVICE bool before(const Found& x, const Found& y) { return x.group != y.group ? x.group < y.group : x.row < y.row; }

// A warp's lanes keep the first of theirs.
GG_DEVICE Found first_of_warp(Found found) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    Found other;
    other.group = __shfl_xor_sync(0xffffffffu, found.group, step);
    other.row = __shfl_xor_sync(0xffffffffu, found.row, step);
    other.what.fault = static_cast<Fault>(__shfl_xor_sync(0xffffffffu, static_cast<i32>(found.what.fault), step));
    other.what.field = static_cast<Field>(__shfl_xor_sync(0xffffffffu, static_cast<i32>(found.what.field), step));
    if (before(other, found)) found = other;
  }
  return found;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS) GG_KERNEL_NAME(const __grid_constant__ CheckParams p) {
  const GroupedParams& groups = p.groups;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  Found found{groups.groups, 0, {Fault::none, Field::none}};
  // A thread a group. What is wrong with a group itself comes before its rows.
  for (i64 g = thread; g < found.group; g += THREADS) {
    const GroupFault fault = group_fault(groups, g, p.checks);
    if (fault.fault != Fault::none) found = {g, -1, fault};
  }
  // A warp a group, a lane a row. Only groups before the first that is wrong are looked at, as far as the warp knows.
  if (groups.rows.a_index.kind || groups.rows.d_index.kind) {
    found = first_of_warp(found);
    for (i64 g = warp; g < found.group; g += WARPS) {
      const GroupRows rows = group_rows(groups, g);
      const i64 count = group_row_count(groups, g);
      for (i64 i = lane; i < count && g < found.group; i += 32) {
        const GroupFault fault = index_fault(rows, i);
        if (fault.fault != Fault::none) found = {g, i, fault};
      }
      found = first_of_warp(found);
    }
  }
  __shared__ Found warps[WARPS];
  found = first_of_warp(found);
  if (lane == 0) warps[warp] = found;
  __syncthreads();
  if (thread != 0) return;
  for (int w = 1; w < WARPS; ++w)
    if (before(warps[w], found)) found = warps[w];
  const bool wrong = found.what.fault != Fault::none, of_row = found.what.fault == Fault::index;
  p.status[0] = static_cast<i32>(found.what.fault);
  p.status[1] = wrong ? static_cast<i32>(found.group) : 0;
  p.status[2] = static_cast<i32>(found.what.field);
  p.status[3] = of_row ? static_cast<i32>(group_start(groups, found.group) + found.row) : 0;
}
