// SPDX-License-Identifier: Apache-2.0
// An operand's tile in a slot of sm_90a's ring: how the copy engine fills it, how wgmma is told of it, and how threads read it where A must be turned.
#pragma once
#include "ptx/tensor.cuh"
#include "ptx/wgmma.cuh"
#include "tile/panels.cuh"
#include "tile/shared_tile.cuh"

namespace ggemm::kernels {

// The descriptor of what lies so many bytes (a multiple of 16) further on: in its low word, where shared memory's addresses leave room for the sum.
GG_DEVICE u64 further(u64 descriptor, u32 bytes) { return (descriptor >> 32 << 32) | (static_cast<u32>(descriptor) + (bytes >> 4)); }

// Panels (tile/panels.cuh) of 128-byte rows, one after the other, swizzled by the copy engine. What the map has beside lines: nothing; both halves of the matrix, of which rows come by turns; or the products of a batch.
enum class MapForm { matrix, halves, batch };
template <int SPAN, int DEPTH, int SIZE, bool MN_MAJOR, MapForm FORM = MapForm::matrix>
struct PanelTile {
  static constexpr int INNER = panel_bytes / SIZE, PANELS = tile_panels(SPAN, DEPTH, SIZE, MN_MAJOR), ROWS = panel_rows(SPAN, DEPTH, MN_MAJOR);
  static constexpr int PANEL_BYTES = ROWS * panel_bytes, BYTES = tile_bytes(SPAN, DEPTH, SIZE, MN_MAJOR);
  static_assert((MN_MAJOR || PANELS * INNER == DEPTH) && ROWS % 8 == 0, "a tile is whole panels along k, of whole swizzle periods");
  static_assert(FORM != MapForm::halves || !MN_MAJOR, "lines of two halves are contiguous along k");

  // One thread: the SLICE-th of SHARE parts of the tile at (first, k) of the matrix that begins at this line of the map (of a batch: is this product's), into this CTA (ALONE) or, by `ctas`, into several.
  template <int SHARE, bool ALONE = SHARE == 1>
  GG_DEVICE static void load(u32 tile, const TensorMap& map, u32 barrier, i32 line, i32 first, i32 k, int slice, u16 ctas) {
    constexpr bool BY_PANELS = dealt_by_panels(SPAN, DEPTH, SIZE, MN_MAJOR, SHARE);
    constexpr int COUNT = BY_PANELS ? PANELS / SHARE : PANELS, HEIGHT = box_rows(SPAN, DEPTH, SIZE, MN_MAJOR, SHARE);
    static_assert(HEIGHT % 8 == 0, "a slice is whole swizzle periods");
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int panel = BY_PANELS ? slice * COUNT + i : i, row = BY_PANELS ? 0 : slice * HEIGHT;
      const u32 to = tile + panel * PANEL_BYTES + row * panel_bytes;
      const i32 inner = (MN_MAJOR ? first : k) + panel * INNER, outer = (MN_MAJOR ? k : first) + row;
      if constexpr (FORM == MapForm::batch) load_box<ALONE>(to, map, barrier, ctas, inner, outer, line);
      else if constexpr (FORM == MapForm::halves) load_box<ALONE>(to, map, barrier, ctas, inner, 0, line + outer / 2);
      else load_box<ALONE>(to, map, barrier, ctas, inner, line + outer);
    }
  }

  // Byte offset in the tile of a 4-byte element that is contiguous along m or n, of row (column) i at place k.
  GG_DEVICE static constexpr int element(int i, int k) {
    static_assert(MN_MAJOR && SIZE == 4);
    return i / INNER * PANEL_BYTES + swizzle_128b(k * panel_bytes + i % INNER * SIZE);
  }

  // Of the tile at `tile`, from row (column) `first` on.
  GG_DEVICE static u64 descriptor(u32 tile, int first) { return ptx::wgmma_descriptor(tile + (MN_MAJOR ? first / INNER * PANEL_BYTES : first * 128), PANEL_BYTES, 1024); }
  // Bytes to the number-th 64 rows (columns).
  GG_DEVICE static constexpr u32 block(int number) { return MN_MAJOR ? number * 64 / INNER * PANEL_BYTES : number * 64 * 128; }
  // Bytes to k step `step` (32 bytes of k).
  GG_DEVICE static constexpr u32 step(int step) { return MN_MAJOR ? step * (32 / SIZE) * 128 : step / 4 * PANEL_BYTES + step % 4 * 32; }

 private:
  // at: the box's coordinates.
  template <bool ALONE, class... Coordinates>
  GG_DEVICE static void load_box(u32 to, const TensorMap& map, u32 barrier, u16 ctas, Coordinates... at) {
    if constexpr (ALONE) ptx::tensor_load(to, map, barrier, at...);
    else ptx::tensor_load_multicast(to, map, barrier, at..., ctas);
  }
};

// What a thread has of A in registers (ptx/wgmma.cuh), of a tile of 4-byte elements that is contiguous along m, for 64 BLOCKS rows. Of a step it loads four elements, in an order of its own
// that takes a warp's 32 to 32 banks: its lane's number in its group of four says which is first.
template <class Tile, int BLOCKS, int STEPS>
class TurnedFragments {
 public:
  // row: the first.
  GG_DEVICE explicit TurnedFragments(int row) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row += static_cast<int>(threadIdx.x) / 32 % 4 * 16 + lane / 4;
    first_ = lane % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) offsets_[i] = Tile::element(row + ((i ^ first_) & 1) * 8, first_ + ((i ^ first_) >> 1) * 4);
  }

  GG_DEVICE void load(const char* tile, u32 (&out)[BLOCKS][STEPS][4]) const {
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        u32 in[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) in[i] = *reinterpret_cast<const u32*>(tile + offsets_[i] + Tile::element(64 * b, 8 * step));
        const bool one = first_ & 1, two = first_ & 2;
        const u32 a0 = one ? in[1] : in[0], a1 = one ? in[0] : in[1], a2 = one ? in[3] : in[2], a3 = one ? in[2] : in[3];
        out[b][step][0] = two ? a2 : a0, out[b][step][1] = two ? a3 : a1, out[b][step][2] = two ? a0 : a2, out[b][step][3] = two ? a1 : a3;
      }
  }

 private:
  int first_, offsets_[4];
};

}  // namespace ggemm::kernels
