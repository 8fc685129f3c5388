// SPDX-License-Identifier: Apache-2.0
// Which scales a tile has in the ring.
#include "tile/scales.cuh"

#include <catch2/catch_test_macros.hpp>

using namespace ggemm::kernels;

TEST_CASE("scales: lines of a consumer's part that share a scale of the ring lie in one block, wherever the part begins") {
  int wrong = 0, many = 0;
  for (const int kind : {scale_block_1x128, scale_block_128x128})
    for (int part = 8; part <= 256; part += 8)
      for (int parts = 1; parts <= 4; ++parts) {
        const int each = lines_of_scale(kind, part), count = tile_scales(kind, part * parts, part);
        wrong += part % each != 0 || each * count != part * parts;
        for (int tile = 0; tile < 300; ++tile)
          for (int i = 0; i < count; ++i) {
            const i64 first = i64(tile) * part * parts + i * each;
            for (const i64 line : {first, first + each - 1}) wrong += scale_at(kind, line) != scale_at(kind, first);
          }
        // Of squares no more than it takes where parts divide a block, or are some.
        if (kind == scale_block_128x128 && (scale_block % part == 0 || part % scale_block == 0)) many += count != parts * (part < scale_block ? 1 : part / scale_block);
      }
  CHECK(wrong == 0);
  CHECK(many == 0);
}

TEST_CASE("scales: of a slot those of each operand, and the next slot's, begin at multiples of two") {
  int wrong = 0;
  for (int a = 0; a <= 256; ++a)
    for (int b = 0; b <= 256; ++b) wrong += scale_bytes(a) < 4 * a || scale_bytes(a) > 4 * a + 4 || scale_bytes(a) % 8 || slot_scale_bytes(a, b) != scale_bytes(a) + scale_bytes(b);
  CHECK(wrong == 0);
  CHECK(slot_scale_bytes(0, 0) == 0);
  CHECK(tile_scales(scale_none, 128, 64) == 0);
  // Neighbours of pairs of halves lie in different squares.
  CHECK(tile_scales(kind_in_tile(scale_block_128x128, true), 128, 64) == 128);
  CHECK(tile_scales(kind_in_tile(scale_block_128x128, false), 128, 128) == 1);
  for (const int kind : {scale_none, scale_tensor, scale_vector, scale_block_1x128}) CHECK(kind_in_tile(kind, true) == kind);
  CHECK(tile_scales(scale_vector, 128, 64) == 0);
  CHECK((scaled_by_lines(scale_block_1x128) && !scaled_by_lines(scale_block_128x128) && !scaled_by_lines(scale_vector) && !scaled_by_lines(scale_none)));
}
