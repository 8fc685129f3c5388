// SPDX-License-Identifier: Apache-2.0
// What the emulated driver writes into a tensor map's 128 bytes, and the emulated copy engine reads.
#pragma once
#include <cstdint>

namespace emulator {

struct alignas(64) TensorMap {
  static constexpr std::uint64_t right_mark = 0x70616d726f736e65ull;
  static constexpr std::uint32_t most_outer = 4;
  // A dimension of lines: how many, bytes from one to the next, and how many of them a box has.
  struct Outer {
    std::uint64_t count, stride, box;
  };
  std::uint64_t mark;
  std::uint64_t base;
  std::uint64_t inner;  // elements of a line
  std::uint16_t box_inner;
  std::uint8_t element_bytes;
  std::uint8_t swizzle_bytes;  // 0 or 128
  std::uint8_t tf32;           // 1: elements are rounded as they are loaded
  std::uint8_t rank;
  Outer outer[most_outer];  // rank - 1 of them, a box's lines in the order of the first, then the second ...
  std::uint32_t box_lines() const {
    std::uint64_t lines = 1;
    for (std::uint32_t i = 0; i + 1 < rank; ++i) lines *= outer[i].box;
    return static_cast<std::uint32_t>(lines);
  }
  std::uint32_t box_bytes() const { return std::uint32_t(box_inner) * element_bytes * box_lines(); }
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace emulator
