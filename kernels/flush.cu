// SPDX-License-Identifier: Apache-2.0
// Reads memory and keeps nothing of it: L2 then has clean lines of that memory and none of what was there before. (Lines that are written instead stay dirty, and the launch
// that comes next pays for their way to memory.)
#include "params.cuh"
#include "ptx/memory.cuh"

using namespace ggemm::kernels;

extern "C" __global__ void __launch_bounds__(flush_threads) GG_KERNEL_NAME(const __grid_constant__ FlushParams p) {
  const ptx::Vector16* const from = static_cast<const ptx::Vector16*>(p.from);
  const i64 step = static_cast<i64>(gridDim.x) * flush_threads;
  u32 mixed = 0;
#pragma unroll 4
  for (i64 i = static_cast<i64>(blockIdx.x) * flush_threads + static_cast<i64>(threadIdx.x); i < p.vectors; i += step) {
    const ptx::Vector16 v = ptx::load_constant(from + i, true);
    mixed ^= v.word[0] ^ v.word[1] ^ v.word[2] ^ v.word[3];
  }
  if (mixed == p.never) *p.sink = mixed;  // so that the loads cannot be left out
}
