// SPDX-License-Identifier: Apache-2.0
// Warp fragments of tensor-core products: from a tile in shared memory to the registers that ptx/mma.cuh names.
#pragma once
#include "ptx/async.cuh"
#include "ptx/memory.cuh"
#include "ptx/mma.cuh"
#include "tile/numeric.cuh"
#include "tile/shared_tile.cuh"

namespace ggemm::kernels {

GG_DEVICE int lane_id() { return static_cast<int>(threadIdx.x) % 32; }

// An atom is one mma instruction: its shape, how a warp's part of an operand becomes registers, and the product of two of them.
//   M, N, K            its shape
//   Sum, SUMS          the type of its sums; how many a lane holds
//   row(), column()    which of the atom's rows and columns this lane's first sum is of; the i-th is of the row i / 2 * 8 below, and the column i % 2 beside
//   Operand<Tile, MN_MAJOR, SPAN, IS_A>  loads the warp's SPAN rows (A) or columns (B) at a k step into Registers; place(i) is which of them the i-th is
//   mma(sums, a, i, b, j)  adds the product of A's i-th block of M rows and B's j-th block of N columns; the whole warp together

// The atoms whose k spans 32 bytes: 16 rows, 8 columns. Element: what lies in shared memory.
template <class Mma, class Element, class Sum_, bool TF32>
struct WideAtom {
  using Sum = Sum_;
  static constexpr int M = 16, N = 8, SIZE = sizeof(Element), K = 32 / SIZE, SUMS = 4;

  GG_DEVICE static int row() { return lane_id() / 4; }
  GG_DEVICE static int column() { return lane_id() % 4 * 2; }

  // 16 rows of A, or twice 8 columns of B, a block of four registers.
  template <int SPAN>
  struct Registers {
    u32 word[SPAN / 16][4];
  };
  template <int SPAN_A, int SPAN_B>
  GG_DEVICE static void mma(Sum (&sums)[4], const Registers<SPAN_A>& a, int i, const Registers<SPAN_B>& b, int j) {
    const u32 pair[2] = {b.word[j / 2][j % 2 * 2], b.word[j / 2][j % 2 * 2 + 1]};
    Mma::mma(sums, a.word[i], pair);
  }

  template <class Tile, bool MN_MAJOR, int SPAN, bool IS_A>
  class Operand {
    // 16-bit operands that are contiguous along m or n are transposed by ldmatrix; wider and narrower ones are gathered.
    static constexpr bool TRANSPOSED = MN_MAJOR && SIZE == 2, GATHERED = MN_MAJOR && SIZE != 2;
    static_assert(SPAN % 16 == 0 && (SPAN & (SPAN - 1)) == 0, "a warp's part begins where the bits of a step are 0");

   public:
    // first: of the tile's rows (or columns), the warp's first.
    GG_DEVICE explicit Operand(int first) : first_(first) {
      const int lane = lane_id(), row8 = lane % 8, matrix = lane / 8;
      // Of an ldmatrix's four matrices A takes the second half of its rows before the second half of k, B after.
      const int mn = (IS_A ? matrix % 2 : matrix / 2) * 8, k = IS_A ? matrix / 2 : matrix % 2;
      if constexpr (MN_MAJOR) offset_ = Tile::offset(k * 8 + row8, (first + mn) * SIZE);
      else offset_ = Tile::offset(first + mn + row8, k * 16);
    }

    GG_DEVICE void load(Registers<SPAN>& out, const char* slot, int ks) const {
      const u32 address = ptx::shared_address(slot);
#pragma unroll
      for (int i = 0; i < SPAN / 16; ++i) {
        if constexpr (GATHERED) {
#pragma unroll
          for (int r = 0; r < 4; ++r) out.word[i][r] = gather(slot, i, r, ks);
        } else if constexpr (TRANSPOSED) {
          static_assert(Tile::PERIOD <= 16, "steps of 16 rows keep the swizzle's phase");
          ptx::ldmatrix_transposed(out.word[i], address + Tile::step(offset_, 16 * ks, 32 * i));
        } else {
          static_assert(Tile::PERIOD <= 16, "steps of 16 rows keep the swizzle's phase");
          ptx::ldmatrix(out.word[i], address + Tile::step(offset_, 16 * i, 32 * ks));
        }
        if constexpr (TF32)
#pragma unroll
          for (int r = 0; r < 4; ++r) out.word[i][r] = bit_cast<u32>(round_tf32(bit_cast<float>(out.word[i][r])));
      }
    }
    GG_DEVICE static int place(int i) { return i; }

   private:
    GG_DEVICE u32 gather(const char* slot, int i, int r, int ks) const {
      const int group = lane_id() / 4, word = lane_id() % 4;
      const bool upper_mn = IS_A ? r % 2 : r / 2, upper_k = IS_A ? r / 2 : r % 2;
      const int mn = first_ + 16 * i + (upper_mn ? 8 : 0) + group, k = ks * K + (word + (upper_k ? 4 : 0)) * (4 / SIZE);
      if constexpr (SIZE == 4) return *reinterpret_cast<const u32*>(slot + Tile::offset(k, mn * 4));
      u32 out = 0;
#pragma unroll
      for (int e = 0; e < 4 / SIZE; ++e) out |= static_cast<u32>(*reinterpret_cast<const u8*>(slot + Tile::offset(k + e, mn))) << (8 * e);
      return out;
    }

    int offset_;  // of this lane's ldmatrix row in a slot, for block 0 and k step 0
    int first_;
  };
};

// By f64's instructions: M rows (8 or 16), 8 columns, K of k (4, 8 or 16). Element: what lies in shared memory, f64 or f32, which becomes f64 on its way to the product.
//
// A lane loads single elements of f64, half a warp (4 rows or columns, 4 of k) together. The swizzle moves whole chunks of 16 bytes, so that neighbouring rows would meet in
// the same banks; with rows (columns) in the order of place() these 128 bytes lie in all 32 banks:
//   contiguous along k         4 rows that are 2 apart: their pairs of chunks differ by the swizzle
//   contiguous along m or n    in 4 successive lines, two chunks that are 4 apart
// Of f32 a lane has two neighbours in k, of 8, for two registers (A and B alike, so that which of the instruction's k they are does not matter):
//   contiguous along k         both at once, and half a warp's 128 bytes as above
//   contiguous along m or n    one by one, a warp's in 4 lines that are 2 apart, two neighbouring chunks of each
template <int M_, int K_, class Element>
struct F64Atom {
  static constexpr int M = M_, N = 8, K = K_, SUMS = M / 4, SIZE = sizeof(Element);
  static constexpr int DEEP = K / 4, HIGH = M / 8;  // registers along k, and down
  static_assert(SIZE == 8 || DEEP % 2 == 0, "f32 comes in pairs along k");
  using Sum = double;

  GG_DEVICE static int row() { return lane_id() / 4; }
  GG_DEVICE static int column() { return lane_id() % 4 * 2; }

  // Blocks of 8 rows of A, or columns of B.
  template <int SPAN>
  struct Registers {
    Element value[SPAN / 8][DEEP];
  };
  template <int SPAN_A, int SPAN_B>
  GG_DEVICE static void mma(double (&sums)[SUMS], const Registers<SPAN_A>& a, int i, const Registers<SPAN_B>& b, int j) {
    double block[HIGH * DEEP], columns[DEEP];
#pragma unroll
    for (int r = 0; r < HIGH * DEEP; ++r) block[r] = a.value[HIGH * i + r % HIGH][r / HIGH];
#pragma unroll
    for (int d = 0; d < DEEP; ++d) columns[d] = b.value[j][d];
    ptx::F64Mma::mma(sums, block, columns);
  }

  template <class Tile, bool MN_MAJOR, int SPAN, bool IS_A>
  class Operand {
    static_assert(SPAN % 16 == 0 && Tile::PANEL_BYTES == 128, "place() is of whole lines");

   public:
    GG_DEVICE explicit Operand(int first) {
      const int mn = first + place(lane_id() / 4), k = lane_id() % 4 * (SIZE == 4 ? 2 : 1);
      offset_ = MN_MAJOR ? Tile::offset(k, mn * SIZE) : Tile::offset(mn, k * SIZE);
    }
    GG_DEVICE void load(Registers<SPAN>& out, const char* slot, int ks) const {
#pragma unroll
      for (int i = 0; i < SPAN / 8; ++i)
#pragma unroll
        for (int d = 0; d < DEEP; ++d) load(out.value[i], slot, i, d, ks * DEEP + d);
    }
    GG_DEVICE static int place(int i) {
      if (!MN_MAJOR) return i / 8 * 8 + i % 4 * 2 + i / 4 % 2;
      return SIZE == 4 ? i : i / 16 * 16 + i / 2 % 2 * 8 + i / 8 % 2 * 4 + i / 4 % 2 * 2 + i % 2;
    }

   private:
    // Register d of block i. four: of k.
    GG_DEVICE void load(Element (&out)[DEEP], const char* slot, int i, int d, int four) const {
      if constexpr (SIZE == 8) {
        // Along m or n a block of 8 is half a line, and 4 lines on the swizzle differs in one bit.
        const int at = MN_MAJOR ? (Tile::step(offset_, four / 2 * 8, i / 2 * 128 + i % 2 * 32) ^ (four % 2 * 64)) + four % 2 * 512 : Tile::step(offset_, 8 * i, 32 * four);
        out[d] = *reinterpret_cast<const Element*>(slot + at);
      } else if constexpr (MN_MAJOR) {
        // A line on, the swizzle differs in one bit.
        out[d] = *reinterpret_cast<const Element*>(slot + (Tile::step(ptx::renewed(offset_), four / 2 * 8, 32 * i) ^ (four % 2 * 16)) + four % 2 * 128);
      } else if (d % 2 == 0) {
        const u64 pair = *reinterpret_cast<const u64*>(slot + Tile::step(offset_, 8 * i, 16 * four));
        out[d] = bit_cast<Element>(static_cast<u32>(pair));
        out[d + 1] = bit_cast<Element>(static_cast<u32>(pair >> 32));
      }
    }

    int offset_;  // of this lane's first element in a slot
  };
};

}  // namespace ggemm::kernels
