// SPDX-License-Identifier: Apache-2.0
// Where the operands of a warpgroup's product lie in shared memory (PTX ISA, "Matrix descriptor", "Swizzling modes").
#pragma once
#include "arithmetic.hpp"

namespace emulator {

// Bits 4 to 6 of an address by its bits 7 to 9.
constexpr uint32_t swizzled(uint32_t offset) { return offset ^ (offset >> 7 & 7) << 4; }

// Calls each(offset, i, k) for every 16 bytes of rows (columns) `begin` to `end` of an operand, 32 bytes of k: they begin with element (i, k) and go on along i if
// mn_major, else along k. Where 8 rows of 128 bytes lie together: contiguous along k, 8 of the span and then `stride` on; contiguous along m or n, 8 of k,
// `stride` on to the next, and `leading` from 128 bytes to the next.
template <class Each>
void each_piece(Element element, bool mn_major, uint64_t descriptor, uint32_t begin, uint32_t end, Each each) {
  const uint32_t start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  const uint32_t leading = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4, stride = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  const auto bytes = static_cast<uint32_t>(bytes_of(element)), panel = 128 / bytes, piece = 16 / bytes;
  for (uint32_t i = begin; i < end; i += mn_major ? piece : 1)
    for (uint32_t k = 0; k < 32 / bytes; k += mn_major ? 1 : piece) {
      const uint32_t across = i / panel * leading + i % panel * bytes + k / 8 * stride + k % 8 * 128, along = i / 8 * stride + i % 8 * 128 + k * bytes;
      each(swizzled(start + (mn_major ? across : along)), i, k);
    }
}

}  // namespace emulator
