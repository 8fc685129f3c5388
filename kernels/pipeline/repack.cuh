// SPDX-License-Identifier: Apache-2.0
// Blocks of copies of matrices of any strides and any base to such whose lines are contiguous and begin at multiples of 16 bytes. GG_SIZE: bytes of an element.
#pragma once
#include "params.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"
#include "tile/vectors.cuh"

namespace ggemm::kernels {

template <int SIZE> struct WordOf;
template <> struct WordOf<1> { using type = u8; };
template <> struct WordOf<2> { using type = u16; };
template <> struct WordOf<4> { using type = u32; };
using Word = WordOf<GG_SIZE>::type;
constexpr int SIZE = GG_SIZE, CHUNK = 16 / SIZE, PART = 4 / SIZE;  // elements of 16 bytes, and of a word
constexpr int WARPS = repack_threads / 32;

// 16 bytes of a contiguous line from element `at` on, one element after the other; 0 behind the line's end.
GG_DEVICE ptx::Vector16 load_elements(const Word* line, i64 at, i64 length) {
  ptx::Vector16 out{};
#pragma unroll
  for (int e = 0; e < CHUNK; ++e)
    if (at + e < length) out.word[e / PART] |= static_cast<u32>(line[at + e]) << 8 * SIZE * (e % PART);
  return out;
}

// A block of lines that are contiguous but begin anywhere. Every lane copies vectors, neighbouring lanes neighbouring ones: from the two aligned vectors around each, which may reach into
// the lines beside, but not out of the operand; what they bring of those lies behind the copy's line. All loads are under way before the first is used.
GG_DEVICE void copy_straight(const CopyParams& p, i64 line0, i64 byte0) {
  constexpr int LINES = repack_straight_lines / WARPS, VECTORS = repack_straight_bytes / 512;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  line0 += static_cast<int>(threadIdx.x) / 32 * LINES;
  const i64 bytes = p.length * SIZE, stride = p.line_stride * SIZE, across = (p.lines - 1) * stride;
  const char* const operand = static_cast<const char*>(p.from);
  const char *const begin = operand + min_of(across, i64(0)), *const end = operand + max_of(across, i64(0)) + bytes;
  ptx::Vector16 low[LINES][VECTORS], high[LINES][VECTORS];
  const auto first_byte = [&](int vector) { return byte0 + 16 * (lane + 32 * vector); };
  const auto line_at = [&](int line) { return operand + (line0 + line) * stride; };
  const auto off_of = [&](int line) { return static_cast<int>(reinterpret_cast<u64>(line_at(line)) & 15); };
  const auto inside = [&](const char* vector) { return (vector >= begin) & (vector + 16 <= end); };  // && would be branches between the loads
  const auto needs_high = [&](int line, int vector) { return (off_of(line) != 0) & (first_byte(vector) + 16 - off_of(line) < bytes); };
#pragma unroll
  for (int l = 0; l < LINES; ++l)
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const bool on = (line0 + l < p.lines) & (first_byte(v) < bytes);
      const char* const from = line_at(l) + first_byte(v) - off_of(l);
      low[l][v] = ptx::load_constant(reinterpret_cast<const ptx::Vector16*>(from), on & inside(from));
      high[l][v] = ptx::load_constant(reinterpret_cast<const ptx::Vector16*>(from + 16), on & needs_high(l, v) & inside(from + 16));
    }
#pragma unroll
  for (int l = 0; l < LINES; ++l) {
    if (line0 + l >= p.lines) return;
    const int off = off_of(l);
    char* const to = static_cast<char*>(p.to) + (line0 + l) * p.to_stride * SIZE;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const i64 at = first_byte(v);
      if (at >= bytes) break;
      const char* const from = line_at(l) + at - off;
      const bool whole = inside(from) & (inside(from + 16) | !needs_high(l, v));
      ptx::store_vector(to + at, whole ? joined(low[l][v], high[l][v], off) : load_elements(reinterpret_cast<const Word*>(line_at(l)), at / SIZE, p.length));
    }
  }
}

union Chunk {
  ptx::Vector16 vector;
  Word elements[CHUNK];
};

// Of CHUNK lines from `line` on the element at one place, one by one.
GG_DEVICE void load_across(const CopyParams& p, i64 line, i64 at, Chunk& out) {
  const Word* const from = static_cast<const Word*>(p.from) + at * p.element_stride + line * p.line_stride;
#pragma unroll
  for (int e = 0; e < CHUNK; ++e)
    if (line + e < p.lines) out.elements[e] = from[e * p.line_stride];
}

// PART such chunks, at following places, as words along the lines.
template <int BYTES>
GG_DEVICE void turn(const Chunk (&in)[PART], u32 (&out)[CHUNK]) {
  if constexpr (BYTES == 1) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const u32 a = in[0].vector.word[j], b = in[PART / 4].vector.word[j], c = in[PART / 2].vector.word[j], d = in[PART - 1].vector.word[j];
      const u32 ab = ptx::permute(a, b, 0x5140), cd = ptx::permute(c, d, 0x5140), ab_upper = ptx::permute(a, b, 0x7362), cd_upper = ptx::permute(c, d, 0x7362);
      out[4 * j] = ptx::permute(ab, cd, 0x5410), out[4 * j + 1] = ptx::permute(ab, cd, 0x7632);
      out[4 * j + 2] = ptx::permute(ab_upper, cd_upper, 0x5410), out[4 * j + 3] = ptx::permute(ab_upper, cd_upper, 0x7632);
    }
  } else if constexpr (BYTES == 2) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const u32 a = in[0].vector.word[j], b = in[PART - 1].vector.word[j];
      out[2 * j] = ptx::permute(a, b, 0x5410), out[2 * j + 1] = ptx::permute(a, b, 0x7632);
    }
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) out[j] = in[0].vector.word[j];
  }
}

// A block of lines whose elements may lie anywhere, best where neighbouring lines are neighbours: read 16 bytes across the lines, written 16 bytes along them, through shared memory
// whose chunks of 4 words are permuted so that neither meets a bank conflict.
GG_DEVICE void copy_turned(const CopyParams& p, i64 line0, i64 byte0) {
  constexpr int LINES = repack_turned_lines, WORDS = repack_turned_bytes / 4, GROUPS = LINES / CHUNK, UNITS = GROUPS * WORDS / repack_threads;
  static_assert(WORDS == 32 && GROUPS % 8 == 0 && UNITS * PART == 4, "a warp takes 8 groups of lines and 4 words of each, 4 loads a thread");
  __shared__ __align__(16) u32 tile[LINES * WORDS];
  const int thread = ptx::renewed(static_cast<int>(threadIdx.x)), lane = thread % 32, warp = thread / 32;
  const bool aligned = p.line_stride == 1 && (reinterpret_cast<u64>(p.from) | static_cast<u64>(p.element_stride) * SIZE) % 16 == 0;
  Chunk in[UNITS][PART];
  const auto group_of = [&](int unit) { return (unit * WARPS + warp) % (GROUPS / 8) * 8 + lane / 4; };
  const auto word_of = [&](int unit) { return (unit * WARPS + warp) / (GROUPS / 8) * 4 + lane % 4; };
  const auto line_of = [&](int unit) { return line0 + group_of(unit) * CHUNK; };
  const auto place_of = [&](int unit, int part) { return byte0 / SIZE + word_of(unit) * PART + part; };
  // Lines side by side at once, without a branch, so that all loads are under way before the first is used; then what ends within a chunk, or lies otherwise.
#pragma unroll
  for (int u = 0; u < UNITS; ++u)
#pragma unroll
    for (int r = 0; r < PART; ++r)
      in[u][r].vector = ptx::load_constant(reinterpret_cast<const ptx::Vector16*>(static_cast<const Word*>(p.from) + place_of(u, r) * p.element_stride + line_of(u)), aligned & (place_of(u, r) < p.length) & (line_of(u) + CHUNK <= p.lines));
#pragma unroll
  for (int u = 0; u < UNITS; ++u)
#pragma unroll
    for (int r = 0; r < PART; ++r)
      if (place_of(u, r) < p.length && line_of(u) < p.lines && (!aligned || line_of(u) + CHUNK > p.lines)) load_across(p, line_of(u), place_of(u, r), in[u][r]);
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
    u32 words[CHUNK];
    turn<SIZE>(in[u], words);
    const int group = group_of(u), word = word_of(u);
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) tile[(group * CHUNK + i) * WORDS + (word / 4 ^ (group & 7)) * 4 + word % 4] = words[i];
  }
  ptx::barrier_sync<repack_threads>(1);
#pragma unroll
  for (int i = 0; i < LINES * WORDS / 4 / repack_threads; ++i) {
    const int line = (thread + i * repack_threads) / 8, chunk = (thread + i * repack_threads) % 8;
    if (line0 + line >= p.lines || byte0 + chunk * 16 >= p.length * SIZE) continue;
    const ptx::Vector16 out = *reinterpret_cast<const ptx::Vector16*>(tile + line * WORDS + (chunk ^ (line / CHUNK & 7)) * 4);
    ptx::store_vector(static_cast<char*>(p.to) + (line0 + line) * p.to_stride * SIZE + byte0 + chunk * 16, out);
  }
}

// All of repack_threads threads: one block of a copy.
GG_DEVICE void copy_block(const CopyParams& p, u32 block) {
  const u32 beside = static_cast<u32>(p.blocks_across);  // blocks are 128 bytes of memory and more, so that 32 bits number them
  const i64 down = block / beside, across = block % beside;
  if (p.turned) copy_turned(p, down * repack_turned_lines, across * repack_turned_bytes);
  else copy_straight(p, down * repack_straight_lines, across * repack_straight_bytes);
}

}  // namespace ggemm::kernels
