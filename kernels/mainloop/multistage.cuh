// SPDX-License-Identifier: Apache-2.0
// The tensor-core mainloop of sm_80: a ring of STAGES tiles in shared memory, filled by cp.async STAGES - 1 tiles ahead, read by ldmatrix one k step ahead of the mma.
#pragma once
#include "grouped_call.cuh"
#include "pipeline/copy.cuh"
#include "tile/columns.cuh"
#include "tile/fragment.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// PART: sums of a thread, which leave registers for more or less of k, of a tile that is BK deep.
template <class A, class Sum, int PART, int BK> struct AtomOf;
template <int PART, int BK> struct AtomOf<F16, float, PART, BK> { using type = WideAtom<ptx::F16Mma, F16, float, false>; };
template <int PART, int BK> struct AtomOf<Bf16, float, PART, BK> { using type = WideAtom<ptx::Bf16Mma, Bf16, float, false>; };
template <int PART, int BK> struct AtomOf<float, float, PART, BK> { using type = WideAtom<ptx::Tf32Mma, float, float, true>; };
template <int PART, int BK> struct AtomOf<i8, i32, PART, BK> { using type = WideAtom<ptx::I8Mma, i8, i32, false>; };
// From sm_90 on the larger shapes; 8 x 8 x 4 has half their speed there.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
template <int PART, int BK> struct AtomOf<double, double, PART, BK> { using type = F64Atom<16, PART <= 16 && BK >= 32 ? 16 : PART <= 32 ? 8 : 4, double>; };
#else
template <int PART, int BK> struct AtomOf<double, double, PART, BK> { using type = F64Atom<8, 4, double>; };
#endif
// f32 that is not rounded to tf32: its products are exact in f64, and on sm_90 tensor cores make as many of these as CUDA cores could of f32's, and reach more of it.
template <class T, int PART> using AtomFor = If<IsSame<typename T::A, float>::value && !T::TF32, F64Atom<16, PART <= 16 ? 16 : 8, float>, typename AtomOf<typename T::A, typename T::Sum, PART, T::BK>::type>;

template <class T>
class MultistageMainloop {
  using Atom = AtomFor<T, T::BM * T::BN / T::THREADS>;
  static constexpr int SIZE = sizeof(typename T::A);
  static constexpr int WM = T::BM / T::WARPS_M, WN = T::BN / T::WARPS_N;  // a warp's part of the tile
  static constexpr int MT = WM / Atom::M, NT = WN / Atom::N, KS = T::BK / Atom::K;
  static constexpr bool F64_PRODUCTS = IsSame<typename Atom::Sum, double>::value;
  static constexpr bool ROUNDS = !IsSame<typename Atom::Sum, typename T::Sum>::value;
  static_assert(KS >= 2 && KS % 2 == 0, "fragments are loaded one k step ahead and alternate between two sets of registers, across tiles too");
  using TileA = If<T::A_MN_MAJOR, SharedTile<T::BK, T::BM, SIZE>, SharedTile<T::BM, T::BK, SIZE>>;
  using TileB = If<T::B_MN_MAJOR, SharedTile<T::BK, T::BN, SIZE>, SharedTile<T::BN, T::BK, SIZE>>;
  using OperandA = typename Atom::template Operand<TileA, T::A_MN_MAJOR, WM, true>;
  using OperandB = typename Atom::template Operand<TileB, T::B_MN_MAJOR, WN, false>;
  static constexpr int STAGE_BYTES = TileA::BYTES + TileB::BYTES;

 public:
  using Sum = typename T::Sum;
  static constexpr int SWAP = 0;
  static constexpr int SHARED_BYTES = T::STAGES * STAGE_BYTES;

  // Sums of the tile whose first row is `row` and first column `column`. All threads of the CTA; begins and ends with shared memory free.
  // With GATHER, row i of A is where group_rows says.
  GG_DEVICE void run(const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column, char* shared) {
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int j = 0; j < NT; ++j)
#pragma unroll
        for (int s = 0; s < Atom::SUMS; ++s) sums_[i][j][s] = 0, products()[i][j][s] = 0;
    if (p.k == 0) return;

    // A tile's copies are spread over the k steps before its barrier, between the products.
    constexpr int PARTS = KS - 1, HELD = sizeof(sums_) > 256 ? 2 : 4;
    using CopyA = TileCopy<0, TileA, T::A_MN_MAJOR, T::THREADS, PARTS, HELD, T::GATHER, F64_PRODUCTS, T::UNALIGNED & 1 ? SIZE : 16>;
    CopyA copy_a = [&] {
      if constexpr (T::GATHER) return CopyA(p.a.data, p.a.row_stride, p.a.col_stride, [&](int i) { return row + i < p.m ? read_row(group_rows.a_index, row + i) : -1; });
      else return CopyA(static_cast<const typename T::A*>(p.a.data) + row * p.a.row_stride, p.a.row_stride, p.a.col_stride, p.m - row);
    }();
    using Columns = TileColumns<T::GATE, T::BN>;
    using CopyB = TileCopy<1, TileB, T::B_MN_MAJOR, T::THREADS, PARTS, HELD, Columns::HALVES, F64_PRODUCTS, T::UNALIGNED & 2 ? SIZE : 16>;
    CopyB copy_b = [&] {
      if constexpr (Columns::HALVES) {
        const Columns columns(p.n, column);
        return CopyB(p.b.data, p.b.col_stride, p.b.row_stride, [&](int j) { return columns.inside(j) ? columns.first() + columns.at(j) : i64(-1); });
      } else {
        return CopyB(static_cast<const typename T::B*>(p.b.data) + column * p.b.col_stride, p.b.col_stride, p.b.row_stride, p.n - column);
      }
    }();
    __syncthreads();
    i32 tiles = static_cast<i32>(ceil_div(p.k, T::BK));  // left to multiply; k is below 2^31 BK
    const i32 last = static_cast<i32>(p.k - (tiles - i64(1)) * T::BK);  // depth of the last one
    // left: tiles that are not copied yet, this one included.
    const auto start_copy = [&](char* slot, i32 left) {
      const i32 depth = left > 1 ? T::BK : left == 1 ? last : 0;
      copy_a.start(slot, depth);
      copy_b.start(slot + TileA::BYTES, depth);
    };
    const auto copy_part = [&](char* slot, int part) {
      copy_a.issue(slot, part);
      copy_b.issue(slot + TileA::BYTES, part);
      if (part == PARTS - 1) {
        copy_a.advance();
        copy_b.advance();
        ptx::cp_async_commit();  // an empty group too, so that the count of groups tells the tile
      }
    };
#pragma unroll 1
    for (int s = 0; s < T::STAGES - 1; ++s) {
      start_copy(shared + s * STAGE_BYTES, tiles - s);
#pragma unroll
      for (int part = 0; part < PARTS; ++part) copy_part(shared + s * STAGE_BYTES, part);
    }

    const int warp = static_cast<int>(threadIdx.x) / 32;
    const OperandA operand_a(warp / T::WARPS_N * WM);
    const OperandB operand_b(warp % T::WARPS_N * WN);
    typename Atom::template Registers<WM> a[2];
    typename Atom::template Registers<WN> b[2];
    char* const end = shared + SHARED_BYTES;
    char* read = shared;
    char* write = shared + (T::STAGES - 1) * STAGE_BYTES;
    ptx::cp_async_wait<T::STAGES - 2>();
    __syncthreads();
    operand_a.load(a[0], read, 0);
    operand_b.load(b[0], read + TileA::BYTES, 0);
#pragma unroll 1
    for (; tiles > 0; --tiles) {
      start_copy(write, tiles - (T::STAGES - 1));
#pragma unroll
      for (int ks = 0; ks < KS; ++ks) {
        if (ks == KS - 1) {
          // The next tile has arrived for all threads, and all have read this one's last fragments: its slot may be overwritten.
          ptx::cp_async_wait<T::STAGES - 2>();
          __syncthreads();
          read = read + STAGE_BYTES == end ? shared : read + STAGE_BYTES;
          write = write + STAGE_BYTES == end ? shared : write + STAGE_BYTES;
        }
        operand_a.load(a[(ks + 1) % 2], read, (ks + 1) % KS);
        operand_b.load(b[(ks + 1) % 2], read + TileA::BYTES, (ks + 1) % KS);
        if (ks < PARTS) copy_part(write, ks);
#pragma unroll
        for (int i = 0; i < MT; ++i)
#pragma unroll
          for (int j = 0; j < NT; ++j) Atom::mma(products()[i][j], a[ks % 2], i, b[ks % 2], j);
      }
    }
    ptx::cp_async_wait<0>();
    __syncthreads();
    if constexpr (ROUNDS) {
#pragma unroll
      for (int i = 0; i < MT; ++i)
#pragma unroll
        for (int j = 0; j < NT; ++j)
#pragma unroll
          for (int s = 0; s < Atom::SUMS; ++s) sums_[i][j][s] = static_cast<Sum>(products_[i][j][s]);
    }
  }

  // A thread's, in some order.
  static constexpr int SUMS = MT * NT * Atom::SUMS;
  GG_DEVICE auto& sums() { return flat(flat(sums_)); }

  // Hands each of this thread's sums to put(row in the tile, column in the tile ^ SWAP, sum).
  template <class Put>
  GG_DEVICE void each_sum(Put put) const {
    // (place() of a sum of numbers that have no bit in common is the sum of theirs: what the compiler knows is added to what it does not.)
    const int warp = static_cast<int>(threadIdx.x) / 32, row = warp / T::WARPS_N * WM + OperandA::place(Atom::row()), column = warp % T::WARPS_N * WN + OperandB::place(Atom::column());
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int j = 0; j < NT; ++j)
#pragma unroll
        for (int s = 0; s < Atom::SUMS; ++s) put(row + OperandA::place(i * Atom::M + s / 2 * 8), column + OperandB::place(j * Atom::N + s % 2), sums_[i][j][s]);
  }

 private:
  // Where products are added, which for f32 is wider than the sums.
  GG_DEVICE auto& products() {
    if constexpr (ROUNDS) return products_;
    else return sums_;
  }

  Sum sums_[MT][NT][Atom::SUMS];
  typename Atom::Sum products_[ROUNDS ? MT : 1][NT][Atom::SUMS];
};

}  // namespace ggemm::kernels
