// SPDX-License-Identifier: Apache-2.0
// The CUDA-core mainloop: any two dtypes, any strides, any alignment, sm_75 and up. Elements are converted to the type of the sums on their way into shared memory.
#pragma once
#include "ptx/memory.cuh"
#include "tile/columns.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

template <class T>
class SimtMainloop {
  static constexpr int ROWS = 4 * T::WARPS_M, COLUMNS = 8 * T::WARPS_N;       // threads down and across the tile; a warp is 4 x 8
  static constexpr int TM = T::BM / ROWS, TN = T::BN / COLUMNS;               // sums of a thread
  static constexpr int VM = TM < 4 ? TM : 4, VN = TN < 4 ? TN : 4;            // of which so many lie side by side
  static constexpr int PITCH_A = T::BM + 4, PITCH_B = T::BN + 4;              // elements between successive k in shared memory; keeps 16-byte alignment
  static constexpr int LOADS_A = T::BM * T::BK / T::THREADS, LOADS_B = T::BN * T::BK / T::THREADS;
  static_assert(TM * ROWS == T::BM && TN * COLUMNS == T::BN && TM % VM == 0 && TN % VN == 0, "threads cover the tile");
  using Columns = TileColumns<T::GATE, T::BN>;
  static_assert(!T::BLOCK_SCALED || scale_block % T::BK == 0, "blocks of k are whole tiles");
  static_assert(LOADS_A * T::THREADS == T::BM * T::BK && LOADS_B * T::THREADS == T::BN * T::BK, "loads cover the tile");

 public:
  using Sum = typename T::Sum;
  static constexpr int SHARED_BYTES = 2 * T::BK * (PITCH_A + PITCH_B) * static_cast<int>(sizeof(Sum));

  // As MultistageMainloop::run.
  GG_DEVICE void run(const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column, char* shared) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) sums_[i][j] = running()[i][j] = 0;
    const Columns at(p.n, column);
    const auto* a = static_cast<const typename T::A*>(p.a.data) + (T::GATHER ? 0 : row * p.a.row_stride);
    const auto* b = static_cast<const typename T::B*>(p.b.data) + at.first() * p.b.col_stride;
    const i32 rows = static_cast<i32>(min_of(p.m - row, T::BM)), columns = static_cast<i32>(min_of(p.n - column, T::BN));
    Sum* const ring = reinterpret_cast<Sum*>(shared);
    constexpr int SLOT = T::BK * (PITCH_A + PITCH_B);
    Sum held_a[LOADS_A], held_b[LOADS_B];
    if constexpr (T::GATHER) {
      // The tile's rows of A, or -1. The barrier after the last tile's products has let go of the former ones.
      for (int i = thread(); i < T::BM; i += T::THREADS) gathered()[i] = i < rows ? read_row(group_rows.a_index, row + i) : -1;
      __syncthreads();
    }
    const auto load = [&](i64 k) {
      load_elements<T::A_MN_MAJOR, T::BM>(held_a, a + k * p.a.col_stride, p.a.row_stride, p.a.col_stride, If<T::GATHER, Gathered, InOrder>{rows}, p.k - k);
      load_elements<T::B_MN_MAJOR, T::BN>(held_b, b + k * p.b.row_stride, p.b.col_stride, p.b.row_stride, LineOfB<Columns::HALVES>{at, columns}, p.k - k);
    };
    const auto store = [&](Sum* slot) {
      store_elements<T::A_MN_MAJOR, T::BM, PITCH_A>(slot, held_a);
      store_elements<T::B_MN_MAJOR, T::BN, PITCH_B>(slot + T::BK * PITCH_A, held_b);
    };
    if (p.k > 0) {
      load(0);
      store(ring);
      __syncthreads();
    }
    int slot = 0;
#pragma unroll 1
    for (i64 k = 0; k < p.k; k += T::BK) {
      const bool more = k + T::BK < p.k;
      if (more) load(k + T::BK);
      multiply(ring + slot * SLOT);
      if constexpr (T::BLOCK_SCALED)
        if (!more || (k + T::BK) % scale_block == 0) add_block(p, row, at, k / scale_block);
      slot ^= 1;
      if (more) store(ring + slot * SLOT);
      __syncthreads();
    }
  }

  // As MultistageMainloop::each_sum.
  template <class Put>
  GG_DEVICE void each_sum(Put put) const {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) put(row_of(i), column_of(j), sums_[i][j]);
  }

 private:
  GG_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  GG_DEVICE static int row_of(int i) { return i / VM * (ROWS * VM) + (thread() / 32 / T::WARPS_N * 4 + thread() % 32 / 8) * VM + i % VM; }
  GG_DEVICE static int column_of(int j) { return j / VN * (COLUMNS * VN) + (thread() / 32 % T::WARPS_N * 8 + thread() % 8) * VN + j % VN; }

  // Element e of this thread: neighbouring threads take neighbouring elements of the contiguous index.
  template <bool MN_MAJOR, int SPAN>
  GG_DEVICE static void place(int e, int& mn, int& k) {
    const int index = e * T::THREADS + thread();
    mn = MN_MAJOR ? index % SPAN : index / T::BK;
    k = MN_MAJOR ? index / SPAN : index % T::BK;
  }

  // Where the tile's rows or columns are, counted from the first one's address.
  struct InOrder {
    i32 left;
    GG_DEVICE bool has(int mn) const { return mn < left; }
    GG_DEVICE i32 at(int mn) const { return mn; }
  };
  struct Gathered {
    i32 left;
    GG_DEVICE bool has(int mn) const { return gathered()[mn] >= 0; }
    GG_DEVICE i64 at(int mn) const { return gathered()[mn]; }
  };
  // Columns of B: in order, or of two halves.
  template <bool HALVES>
  struct LineOfB {
    const Columns& columns;
    i32 left;
    GG_DEVICE bool has(int mn) const { return HALVES ? columns.inside(mn) : mn < left; }
    GG_DEVICE auto at(int mn) const { return columns.at(mn); }
  };
  GG_DEVICE static i64* gathered() {
    __shared__ i64 rows[T::BM];
    return rows;
  }

  template <bool MN_MAJOR, int SPAN, int COUNT, class Element, class Line>
  GG_DEVICE static void load_elements(Sum (&held)[COUNT], const Element* source, i64 mn_stride, i64 k_stride, Line line, i64 k_left) {
#pragma unroll
    for (int e = 0; e < COUNT; ++e) {
      int mn, k;
      place<MN_MAJOR, SPAN>(e, mn, k);
      held[e] = line.has(mn) && k < k_left ? element(source[line.at(mn) * mn_stride + k * k_stride]) : Sum(0);
    }
  }
  template <class Element>
  GG_DEVICE static Sum element(Element v) {
    if constexpr (T::TF32) return round_tf32(v);
    else return to_sum<Sum>(v);
  }

  template <bool MN_MAJOR, int SPAN, int PITCH, int COUNT>
  GG_DEVICE static void store_elements(Sum* slot, const Sum (&held)[COUNT]) {
#pragma unroll
    for (int e = 0; e < COUNT; ++e) {
      int mn, k;
      place<MN_MAJOR, SPAN>(e, mn, k);
      slot[k * PITCH + mn] = held[e];
    }
  }

  GG_DEVICE void multiply(const Sum* slot) {
#pragma unroll
    for (int k = 0; k < T::BK; ++k) {
      Sum a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) a[i] = slot[k * PITCH_A + row_of(i)];
#pragma unroll
      for (int j = 0; j < TN; ++j) b[j] = slot[T::BK * PITCH_A + k * PITCH_B + column_of(j)];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) running()[i][j] = multiply_add(a[i], b[j], running()[i][j]);
    }
  }

  // Adds the sums of block `block` of k, scaled, to those of the blocks before.
  GG_DEVICE void add_block(const GemmParams& p, i64 row, const Columns& columns, i64 block) {
    // Addresses are worked out anew each time: kept through the loop over k, they would spill.
    const i64 m = ptx::renewed(row), n = ptx::renewed(columns.first());
    float a[TM], b[TN];
#pragma unroll
    for (int i = 0; i < TM; ++i) a[i] = scale<T::SCALE_A>(p.scale_a, p.scale_a.row_stride, p.scale_a.col_stride, m + row_of(i), block, m + row_of(i) < p.m);
#pragma unroll
    for (int j = 0; j < TN; ++j)
      b[j] = scale<T::SCALE_B>(p.scale_b, p.scale_b.col_stride, p.scale_b.row_stride, n + columns.at(column_of(j)), block, columns.inside(column_of(j)));
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        sums_[i][j] = multiply_add(a[i] * b[j], block_[i][j], sums_[i][j]);
        block_[i][j] = 0;
      }
  }
  template <int KIND>
  GG_DEVICE static float scale(const Matrix& scales, i64 mn_stride, i64 k_stride, i64 mn, i64 block, bool inside) {
    if constexpr (!scaled_by_blocks(KIND)) return 1.0f;
    else return inside ? static_cast<const float*>(scales.data)[scale_at(KIND, mn) * mn_stride + block * k_stride] : 0.0f;
  }

  // The sums that products are added to.
  GG_DEVICE auto& running() {
    if constexpr (T::BLOCK_SCALED) return block_;
    else return sums_;
  }

  Sum sums_[TM][TN];
  Sum block_[T::BLOCK_SCALED ? TM : 1][T::BLOCK_SCALED ? TN : 1];
};

}  // namespace ggemm::kernels
