// SPDX-License-Identifier: Apache-2.0
// Copies a matrix of any strides and any base to one whose lines are contiguous and begin at multiples of 16 bytes, for the kernels that copy by tensor maps.
// GG_SIZE: bytes of an element. GG_TURN 0: the source's lines are contiguous too; 1: its elements may lie anywhere, best where neighbouring lines are neighbours.
#include "params.cuh"
#include "ptx/memory.cuh"

using namespace ggemm::kernels;

template <int SIZE> struct WordOf;
template <> struct WordOf<1> { using type = u8; };
template <> struct WordOf<2> { using type = u16; };
template <> struct WordOf<4> { using type = u32; };
using Word = WordOf<GG_SIZE>::type;
constexpr int SIZE = GG_SIZE, CHUNK = 16 / SIZE;  // elements of 16 bytes
constexpr int THREADS = repack_threads, LINES = repack_lines, SPAN = repack_bytes / SIZE;

union Chunk {
  ptx::Vector16 vector;
  u32 words[4];
  Word elements[CHUNK];
};

// Elements [at, at + CHUNK) of a contiguous line of `length`, which begins anywhere. Reads nothing outside the line.
GG_DEVICE Chunk load_shifted(const Word* line, i64 at, i64 length) {
  Chunk out;
  const Word* const from = line + at;
  const u32 off = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
  if (at + CHUNK <= length && off == 0) {
    out.vector = ptx::load_vector(from);
  } else if (SIZE < 4 && at * SIZE >= 4 && (at + CHUNK) * SIZE + 4 <= length * SIZE) {
    // Aligned words around the chunk, which lie within the line, moved into place.
    const u32* const words = reinterpret_cast<const u32*>(reinterpret_cast<u64>(from) & ~u64(3));
    u32 in[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) in[i] = ptx::load_constant(words + i, true);
#pragma unroll
    for (int i = 0; i < 4; ++i) out.words[i] = ptx::funnel_right(in[i], in[i + 1], (off & 3) * 8);
  } else {
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) out.elements[i] = at + i < length ? from[i] : Word(0);
  }
  return out;
}

extern "C" __global__ void __launch_bounds__(THREADS) GG_KERNEL_NAME(const __grid_constant__ RepackParams p) {
  const u32 spans = static_cast<u32>(ceil_div(p.length, SPAN));
  const i64 line0 = static_cast<i64>(blockIdx.x / spans) * LINES, first = static_cast<i64>(blockIdx.x % spans) * SPAN;
  const Word* const from = static_cast<const Word*>(p.from);
  Word* const to = static_cast<Word*>(p.to);
#if GG_TURN
  // Through shared memory: read along the lines' index, written along the lines. 4 bytes more a row spread the banks.
  constexpr int PITCH = LINES + 4 / SIZE;
  __shared__ Word tile[SPAN * PITCH];
  for (int i = static_cast<int>(threadIdx.x); i < SPAN * LINES; i += THREADS) {
    const i64 line = line0 + i % LINES, at = first + i / LINES;
    if (line < p.lines && at < p.length) tile[i / LINES * PITCH + i % LINES] = from[line * p.line_stride + at * p.element_stride];
  }
  __syncthreads();
#endif
  constexpr int CHUNKS = SPAN / CHUNK;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < LINES * CHUNKS; i += THREADS) {
    const i64 line = line0 + i / CHUNKS, at = first + i64(i % CHUNKS) * CHUNK;
    if (line >= p.lines || at >= p.length) continue;
#if GG_TURN
    Chunk chunk;
#pragma unroll
    for (int e = 0; e < CHUNK; ++e) chunk.elements[e] = tile[(i % CHUNKS * CHUNK + e) * PITCH + i / CHUNKS];
#else
    const Chunk chunk = load_shifted(from + line * p.line_stride, at, p.length);
#endif
    ptx::store_vector(to + line * p.to_stride + at, chunk.vector);
  }
}
