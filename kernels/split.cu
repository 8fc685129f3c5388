// SPDX-License-Identifier: Apache-2.0
// Copies f32 matrices of any strides as three bf16 matrices each (tile/terms.cuh), for products of f32 on tensor cores: both operands of a product in one launch. The terms lie one after
// the other along k, each with zeros up to its last tile's end. Elements that the product must know of it marks.
#include "params.cuh"
#include "ptx/launch.cuh"
#include "ptx/memory.cuh"
#include "tile/terms.cuh"

using namespace ggemm::kernels;

extern "C" __global__ void __launch_bounds__(repack_threads) GG_KERNEL_NAME(const __grid_constant__ RepackParams params) {
  ptx::launch_next();
  // A lane's runs of four elements: so many lines, so many in each. All loads are under way before the first is used.
  constexpr int LINES = split_lines / (repack_threads / 32), RUNS = split_length / 128;
  const bool second = blockIdx.x >= params.copies[0].blocks;
  const CopyParams& p = params.copies[second];
  const i64 block = blockIdx.x - (second ? params.copies[0].blocks : 0);
  const i64 line0 = block / p.blocks_across * split_lines + threadIdx.x / 32 * LINES, first = block % p.blocks_across * split_length + threadIdx.x % 32 * 4;
  union Run {
    ptx::Vector16 vector;
    float element[4];
  } in[LINES][RUNS];
  const bool vectors = p.element_stride == 1 && ((reinterpret_cast<u64>(p.from) | static_cast<u64>(p.line_stride * 4) | static_cast<u64>(p.length * 4)) & 15) == 0;
  const auto from = [&](int l, i64 at) { return static_cast<const u32*>(p.from) + (line0 + l) * p.line_stride + at * p.element_stride; };
  if (vectors) {
#pragma unroll
    for (int l = 0; l < LINES; ++l)
#pragma unroll
      for (int i = 0; i < RUNS; ++i) {
        const i64 at = first + 128 * i;
        in[l][i].vector = ptx::load_constant(reinterpret_cast<const ptx::Vector16*>(from(l, at)), line0 + l < p.lines && at < p.length);
      }
  } else {
#pragma unroll
    for (int l = 0; l < LINES; ++l)
#pragma unroll
      for (int i = 0; i < RUNS; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const i64 at = first + 128 * i + e;
          in[l][i].element[e] = bit_cast<float>(ptx::load_constant(from(l, at), line0 + l < p.lines && at < p.length));
        }
  }
  bool unusual = false;
#pragma unroll
  for (int l = 0; l < LINES; ++l)
#pragma unroll
    for (int i = 0; i < RUNS; ++i) {
      const i64 at = first + 128 * i, line = line0 + l;
      if (line >= p.all_lines || at >= p.all_length) continue;
      u64 high = 0, middle = 0, low = 0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float x = in[l][i].element[e];
        unusual |= unusual_for_terms(x);
        const Terms terms = split_terms(x);
        high |= static_cast<u64>(terms.high.bits) << 16 * e, middle |= static_cast<u64>(terms.middle.bits) << 16 * e, low |= static_cast<u64>(terms.low.bits) << 16 * e;
      }
      u64* const to = reinterpret_cast<u64*>(static_cast<Bf16*>(p.to) + line * p.to_stride + at);
      to[0] = high, to[p.term_stride / 4] = middle, to[p.term_stride / 2] = low;
    }
  TermsMark& mark = *params.terms;
  if (unusual) mark.unusual[mark.next] = 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) mark.turn = mark.next, mark.unusual[mark.next ^ 1] = 0;
}
