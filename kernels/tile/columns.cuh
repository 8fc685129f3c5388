// SPDX-License-Identifier: Apache-2.0
// Which columns of the product a tile's columns are: those from its first on, but for gated pairs of halves. There, of simt and sm80, half a tile is of gates and the other half of the columns that go with
// them; and of sm90, whose threads hold neighbours, gates and these come by turns.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels {

// Where column j of the product lies, if those of a pair are neighbours.
template <bool SPLIT_PAIRS>
GG_HD i64 paired_column(i64 n, i64 j) {
  return SPLIT_PAIRS ? (j >> 1) + (j & 1) * (n / 2) : j;
}

// GATE: ggemm_gate.
template <int GATE, int BN>
class TileColumns {
 public:
  static constexpr bool HALVES = GATE == 1, PAIRED = GATE != 0;
  static constexpr int OUTPUTS = PAIRED ? BN / 2 : BN;  // columns of D

  // column: the tile's first, as if pairs were neighbours.
  GG_HD TileColumns(i64 n, i64 column) : first_(HALVES ? column / 2 : column), half_(n / 2), left_(HALVES ? n / 2 - column / 2 : n - column) {}
  // Column j of the tile, counted from first(), and whether there is one.
  GG_HD If<HALVES, i64, int> at(int j) const {
    if constexpr (HALVES) return j < BN / 2 ? j : half_ + (j - BN / 2);
    else return j;
  }
  GG_HD bool inside(int j) const { return (HALVES && j >= BN / 2 ? j - BN / 2 : j) < left_; }
  GG_HD i64 first() const { return first_; }
  // D's columns: where they begin, how many there are, and which two of the tile's columns each is of.
  GG_HD i64 output() const { return PAIRED && !HALVES ? first_ / 2 : first_; }
  GG_HD int outputs() const { return static_cast<int>(min_of(PAIRED && !HALVES ? left_ / 2 : left_, OUTPUTS)); }
  GG_HD static int gate(int j) { return HALVES ? j : 2 * j; }
  GG_HD static int up(int j) { return HALVES ? j + BN / 2 : 2 * j + 1; }

 private:
  i64 first_, half_, left_;
};

}  // namespace ggemm::kernels
