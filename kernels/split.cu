// SPDX-License-Identifier: Apache-2.0
// Copies f32 matrices of any strides as three bf16 matrices each (tile/terms.cuh), for products of f32 on tensor cores: both operands of a product in one launch. The terms lie one after
// the other along k, each with zeros up to its last tile's end.
#include "params.cuh"
#include "ptx/launch.cuh"
#include "ptx/memory.cuh"
#include "tile/terms.cuh"

using namespace ggemm::kernels;

extern "C" __global__ void __launch_bounds__(repack_threads) GG_KERNEL_NAME(const __grid_constant__ RepackParams params) {
  ptx::launch_next();
  // A lane's pairs of elements: so many lines, so many pairs in each. All loads are under way before the first is used.
  constexpr int LINES = split_lines / (repack_threads / 32), PAIRS = split_length / 64;
  const bool second = blockIdx.x >= params.copies[0].blocks;
  const CopyParams& p = params.copies[second];
  const i64 block = blockIdx.x - (second ? params.copies[0].blocks : 0);
  const i64 line0 = block / p.blocks_across * split_lines + threadIdx.x / 32 * LINES, first = block % p.blocks_across * split_length + threadIdx.x % 32 * 2;
  float in[LINES][PAIRS][2];
#pragma unroll
  for (int l = 0; l < LINES; ++l)
#pragma unroll
    for (int i = 0; i < PAIRS; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const i64 at = first + 64 * i + e, line = line0 + l;
        const u32* const from = static_cast<const u32*>(p.from) + line * p.line_stride + at * p.element_stride;
        in[l][i][e] = bit_cast<float>(ptx::load_constant(from, line < p.lines && at < p.length));
      }
#pragma unroll
  for (int l = 0; l < LINES; ++l)
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
      const i64 at = first + 64 * i, line = line0 + l;
      if (line >= p.all_lines || at >= p.all_length) continue;
      const Terms x = split_terms(in[l][i][0]), y = split_terms(in[l][i][1]);
      Bf16* const to = static_cast<Bf16*>(p.to) + line * p.to_stride + at;
      const auto put = [&](int term, Bf16 low, Bf16 high) { *reinterpret_cast<u32*>(to + term * p.term_stride) = low.bits | static_cast<u32>(high.bits) << 16; };
      put(0, x.high, y.high);
      put(1, x.middle, y.middle);
      put(2, x.low, y.low);
    }
}
