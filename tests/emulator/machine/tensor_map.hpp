// SPDX-License-Identifier: Apache-2.0
// What the emulated driver writes into a tensor map's 128 bytes, and the emulated copy engine reads.
#pragma once
#include <cstdint>

namespace emulator {

struct alignas(64) TensorMap {
  static constexpr std::uint64_t right_mark = 0x70616d726f736e65ull;
  std::uint64_t mark;
  std::uint64_t base;
  std::uint64_t inner, outer;   // elements of a line, lines
  std::uint64_t stride;         // bytes between lines
  std::uint32_t box_inner, box_outer;
  std::uint32_t element_bytes;
  std::uint32_t swizzle_bytes;  // 0 or 128
  std::uint64_t tf32;           // 1: elements are rounded as they are loaded
  // Of three dimensions: between the elements of a line and the lines. Of two: one line, 0 bytes apart.
  std::uint64_t middle, middle_stride;
  std::uint32_t box_middle;
  std::uint32_t rank;
  std::uint64_t reserved[4];
  std::uint32_t box_lines() const { return box_middle * box_outer; }
  std::uint32_t box_bytes() const { return box_inner * element_bytes * box_lines(); }
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace emulator
