// SPDX-License-Identifier: Apache-2.0
// Lines that begin anywhere, 16 aligned bytes at a time.
#pragma once
#include "ptx/memory.cuh"

namespace ggemm::kernels {

// 16 bytes of low and high, from byte `off` (0 to 15) on.
GG_DEVICE ptx::Vector16 joined(const ptx::Vector16& low, const ptx::Vector16& high, int off) {
  const bool two = off & 8, one = off & 4;
  u32 word[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) word[i] = low.word[i], word[i + 4] = high.word[i];
#pragma unroll
  for (int i = 0; i < 6; ++i) word[i] = two ? word[i + 2] : word[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) word[i] = one ? word[i + 1] : word[i];
  ptx::Vector16 out;
#pragma unroll
  for (int i = 0; i < 4; ++i) out.word[i] = ptx::funnel_right(word[i], word[i + 1], static_cast<u32>(off & 3) * 8);
  return out;
}

// Stores of 16 bytes, which belong at a multiple of 16, those from `begin` up to `end`, which are multiples of SIZE: in the largest pieces that are aligned, first growing, then shrinking.
template <int SIZE>
GG_DEVICE void store_part(void* p, const ptx::Vector16& v, int begin, int end) {
  char* const to = static_cast<char*>(p);
  const auto word_at = [&](int byte) { return byte & 8 ? byte & 4 ? v.word[3] : v.word[2] : byte & 4 ? v.word[1] : v.word[0]; };
  const auto piece = [&](int bytes) {
    const u32 word = word_at(begin) >> (begin & 3) * 8;
    if (bytes == 8) *reinterpret_cast<u64*>(to + begin) = begin & 8 ? static_cast<u64>(v.word[3]) << 32 | v.word[2] : static_cast<u64>(v.word[1]) << 32 | v.word[0];
    if (bytes == 4) *reinterpret_cast<u32*>(to + begin) = word;
    if (bytes == 2) *reinterpret_cast<u16*>(to + begin) = static_cast<u16>(word);
    if (bytes == 1) *reinterpret_cast<u8*>(to + begin) = static_cast<u8>(word);
    begin += bytes;
  };
#pragma unroll
  for (int bytes = SIZE; bytes <= 8; bytes *= 2)
    if ((begin & bytes) && begin + bytes <= end) piece(bytes);
#pragma unroll
  for (int bytes = 8; bytes >= SIZE; bytes /= 2)
    if (begin + bytes <= end) piece(bytes);
}

}  // namespace ggemm::kernels
