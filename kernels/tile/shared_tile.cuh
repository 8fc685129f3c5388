// SPDX-License-Identifier: Apache-2.0
// Where an operand's tile lies in shared memory.
//
// OUTER rows of INNER contiguous elements of SIZE bytes. Rows longer than 128 bytes are cut into panels of 128, one panel after the other, and the
// 16-byte chunks of each 128-byte line are permuted by the line's number: the swizzle of TMA's 128B mode. Eight rows' chunks at one column then lie in eight
// different sets of banks, whatever the row's length, so that ldmatrix and 16-byte copies meet no bank conflict.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

// An involution on offsets from a base that is a multiple of 1024 bytes.
GG_HD constexpr int swizzle_128b(int offset) { return offset ^ ((offset >> 7 & 7) << 4); }

template <int OUTER_, int INNER_, int SIZE_>
struct SharedTile {
  static constexpr int OUTER = OUTER_, INNER = INNER_, SIZE = SIZE_;
  static constexpr int ROW_BYTES = INNER * SIZE;
  static constexpr int PANEL_BYTES = ROW_BYTES < 128 ? ROW_BYTES : 128;
  static constexpr int BYTES = OUTER * ROW_BYTES;
  static_assert(ROW_BYTES % PANEL_BYTES == 0 && (PANEL_BYTES & (PANEL_BYTES - 1)) == 0 && PANEL_BYTES >= 16, "rows are whole panels of a power of two");
  static_assert(BYTES % 1024 == 0, "the next tile's base must keep the swizzle's phase");

  // Byte offset of byte `byte` of row `outer`.
  GG_HD static constexpr int offset(int outer, int byte) {
    return swizzle_128b(byte / PANEL_BYTES * (OUTER * PANEL_BYTES) + outer * PANEL_BYTES + byte % PANEL_BYTES);
  }

  // offset(outer + d_outer, byte + d_byte) from offset(outer, byte), for compile-time steps that leave the swizzle's phase alone: d_outer whole periods of the
  // swizzle, and d_byte a step whose bits are all 0 in `byte`.
  static constexpr int PERIOD = 1024 / PANEL_BYTES;  // rows
  GG_HD static constexpr int step(int offset, int d_outer, int d_byte) {
    return (offset ^ (d_byte % PANEL_BYTES)) + d_byte / PANEL_BYTES * (OUTER * PANEL_BYTES) + d_outer * PANEL_BYTES;
  }
};

}  // namespace ggemm::kernels
