// SPDX-License-Identifier: Apache-2.0
// The mainloops of many rows, few columns and little of k, and of few rows and many columns: a warp has lines of its own, which go straight from global memory to its registers, and their sums from there to D.
// The thin operand stays where the products want it. What keeps memory busy is that a multiprocessor has many warps, each of which waits for its own lines alone. sm_80 and up.
#pragma once
#include "mainloop/gemv.cuh"

namespace ggemm::kernels {

// The tile of the thin operand, COUNT lines of DEPTH, where all warps read it: lines one after the other.
template <int COUNT, int DEPTH, int THREADS, class Element>
GG_DEVICE void fill_lines(Element* to, const void* data, i64 mn_stride, i64 k_stride, i64 lines, i64 k, i64 depth) {
  __syncthreads();
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x); at < DEPTH * COUNT; at += THREADS) {
    const i64 along = k + at % DEPTH;
    const int line = at / DEPTH;
    to[at] = along < depth && line < lines ? static_cast<const Element*>(data)[line * mn_stride + along * k_stride] : Element{};
  }
  __syncthreads();
}

// How a warp multiplies rows of A by the columns.
//   ROWS            that it takes at a time, of which a lane loads LANE_ROWS, so far APART, from row() on: VECTORS of 16 bytes of each, vector(v) the v-th
//   LANE_ROWS, RUN  of whose sums it has so many neighbours, from column() on
//   keep(columns)   what a lane keeps of them
//   add(sums, a)    adds the products of the rows; the whole warp

// By tensor cores, as GemvByMma. Which column of B is which of the instruction's is free too: a lane's sums of a row are neighbours in D.
template <class T>
class RowsByMma {
  using Product = GemvByMma<typename T::A, typename T::B, typename T::Sum, 16, T::BN>;
  static constexpr int SIZE = sizeof(typename T::A), LINES = Product::LINES;

 public:
  static constexpr int ROWS = 16, LANE_ROWS = 2, RUN = 2 * LINES, VECTORS = T::BK * SIZE / 64;
  GG_DEVICE static int lane() { return static_cast<int>(threadIdx.x % 32); }
  GG_DEVICE static int row() { return lane() / 4; }
  static constexpr int APART = 8;
  static constexpr bool ELEMENTS = false;
  GG_DEVICE static int vector(int v) { return 4 * v + lane() % 4; }
  GG_DEVICE static int column() { return lane() % 4 * RUN; }
  GG_DEVICE static ptx::Vector16 load(const ptx::Vector16* at, bool on) { return ptx::load_streamed(at, on); }

  GG_DEVICE void keep(const typename T::B* columns) {
    const int of = lane() / 4 / 2 * RUN + lane() / 4 % 2;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
#pragma unroll
      for (int j = 0; j < LINES; ++j) b_[v][j] = reinterpret_cast<const ptx::Vector16*>(columns + (of + 2 * j) * T::BK)[vector(v)];
  }
  GG_DEVICE void add(typename T::Sum (&sums)[LANE_ROWS][RUN], const ptx::Vector16 (&a)[LANE_ROWS][VECTORS]) const {
    typename T::Sum of[Product::SUMS];
#pragma unroll
    for (int s = 0; s < Product::SUMS; ++s) of[s] = sums[s / 2 % 2][s / 4 * 2 + s % 2];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const ptx::Vector16 rows[2] = {a[0][v], a[1][v]};
      Product::add(of, rows, b_[v]);
    }
#pragma unroll
    for (int s = 0; s < Product::SUMS; ++s) sums[s / 2 % 2][s / 4 * 2 + s % 2] = of[s];
  }

 private:
  ptx::Vector16 b_[VECTORS][LINES];
};

// By CUDA cores: a lane has a row, and reads the columns as it goes.
template <class T>
class RowsByFma {
  using Element = typename T::Sum;
  static constexpr int VECTOR = 16 / sizeof(Element);
  static_assert(IsSame<Element, typename T::A>::value && IsSame<Element, typename T::B>::value, "no element is converted");

 public:
  static constexpr int ROWS = 32, LANE_ROWS = 1, RUN = T::BN, VECTORS = T::BK / VECTOR;
  GG_DEVICE static int row() { return static_cast<int>(threadIdx.x % 32); }
  static constexpr int APART = 0;
  static constexpr bool ELEMENTS = true;  // one by one, of which a vector has few
  GG_DEVICE static int vector(int v) { return v; }
  GG_DEVICE static int column() { return 0; }
  GG_DEVICE static ptx::Vector16 load(const ptx::Vector16* at, bool on) { return ptx::load_constant(at, on); }  // a sector has two of a row's, which come one after the other

  GG_DEVICE void keep(const Element* columns) { columns_ = columns; }
  GG_DEVICE void add(Element (&sums)[LANE_ROWS][RUN], const ptx::Vector16 (&a)[LANE_ROWS][VECTORS]) const {
    struct Elements { Element of[VECTOR]; };
    // Few columns are kept in registers; of more the compiler must not see that they are the same each time.
    const int anew = T::BK * T::BN * sizeof(Element) <= 64 ? 0 : ptx::renewed(0);
#pragma unroll
    for (int j = 0; j < RUN; ++j)
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const Elements x = bit_cast<Elements>(a[0][v]), y = bit_cast<Elements>(reinterpret_cast<const ptx::Vector16*>(columns_)[anew + j * VECTORS + v]);
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sums[0][j] = multiply_add(x.of[e], y.of[e], sums[0][j]);
      }
  }

 private:
  const Element* columns_;
};

template <class T>
class RowsMainloop {
  using Product = If<ByFma<typename T::A, T::TF32>::value, RowsByFma<T>, RowsByMma<T>>;
  using A = typename T::A;
  static constexpr int SIZE = sizeof(A), VECTOR = 16 / SIZE, STEP = T::WARPS_M * Product::ROWS, LANE_ROWS = Product::LANE_ROWS, VECTORS = Product::VECTORS;
  static_assert(T::WARPS_N == 1 && T::BM % STEP == 0, "warps have equally many of a tile's rows");
  using Rows = ptx::Vector16[LANE_ROWS][VECTORS];
  using Sums = typename T::Sum[LANE_ROWS][Product::RUN];

 public:
  GG_DEVICE explicit RowsMainloop(char* shared) : columns_(reinterpret_cast<typename T::B*>(shared)) {}

  // Stores the tile by Output::Run. All threads of the CTA.
  template <class Output>
  GG_DEVICE void run(const GemmParams& p, i64 row, i64 column, const Output& output) {
    const typename Output::template Run<Product::RUN> stores(output, p.n);
    const i64 depth = ptx::renewed(p.k), unit = p.a.col_stride, stride = p.a.row_stride * SIZE;  // (k anew: mainloop/gemv.cuh)
    const int first = static_cast<int>(threadIdx.x) / 32 * Product::ROWS + Product::row(), rows = static_cast<int>(min_of(p.m - row, T::BM));
    const char* const a = reinterpret_cast<const char*>(static_cast<const A*>(p.a.data) + (row + first) * p.a.row_stride);
    const bool vectors = ((reinterpret_cast<u64>(p.a.data) | static_cast<u64>(stride) | static_cast<u64>(depth * SIZE)) & 15) == 0;
    if (depth <= T::BK && unit == 1 && stores.at_once) {
      if (vectors) return walk<true>(p, a, stride, depth, first, rows, column, stores);
      if constexpr (Product::ELEMENTS) return walk<false>(p, a, stride, depth, first, rows, column, stores);
    }
    walk_any(p, a, stride, unit, depth, first, rows, column, stores);
  }

 private:
  // a: the lane's first row, number `first` of `rows`. B is loaded once; and the next rows while these are multiplied and stored.
  template <bool BY_VECTORS, class Run>
  GG_DEVICE void walk(const GemmParams& p, const char* a, i64 stride, i64 depth, int first, int rows, i64 column, const Run& stores) {
    Rows of_a;
    const auto load = [&](const char* at, int i) {
#pragma unroll
      for (int r = 0; r < LANE_ROWS; ++r)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
          const int k = Product::vector(v) * VECTOR;
          const bool on = i + r * Product::APART < rows;
          const char* const line = at + r * Product::APART * stride;
          if constexpr (BY_VECTORS) of_a[r][v] = Product::load(reinterpret_cast<const ptx::Vector16*>(line + k * SIZE), on && k < depth);
          else of_a[r][v] = line_elements<SIZE, VECTOR>({line, on}, 1, k, 0, depth);
        }
    };
    load(a, first);
    fill(p, column, 0, depth);
    product_.keep(columns_);
#pragma unroll 1
    for (int i = first; i - Product::row() < rows; i += STEP) {
      Sums sums;
      zero(sums);
      product_.add(sums, of_a);
      a += STEP * stride;
      load(a, i + STEP);
#pragma unroll
      for (int r = 0; r < LANE_ROWS; ++r) stores.store(i + r * Product::APART, Product::column(), sums[r]);
      if (i + STEP >= T::BM) break;
    }
  }
  // Rows that lie anyhow, of any depth, element after element.
  template <class Run>
  GG_DEVICE void walk_any(const GemmParams& p, const char* a, i64 stride, i64 unit, i64 depth, int first, int rows, i64 column, const Run& stores) {
#pragma unroll 1
    for (int i = first; i < T::BM; i += STEP) {
      Sums sums;
      zero(sums);
#pragma unroll 1
      for (i64 from = 0; from < depth; from += T::BK) {
        fill(p, column, from, depth);
        product_.keep(columns_);
        Rows of_a;
#pragma unroll
        for (int r = 0; r < LANE_ROWS; ++r)
#pragma unroll
          for (int v = 0; v < VECTORS; ++v) of_a[r][v] = elements({a + r * Product::APART * stride, i + r * Product::APART < rows}, unit, from + Product::vector(v) * VECTOR, depth);
        product_.add(sums, of_a);
      }
      a += STEP * stride;
#pragma unroll
      for (int r = 0; r < LANE_ROWS; ++r) stores.store_each(i + r * Product::APART, Product::column(), sums[r]);
    }
  }
  GG_DEVICE void fill(const GemmParams& p, i64 column, i64 k, i64 depth) const {
    fill_lines<T::BN, T::BK, T::THREADS>(columns_, static_cast<const typename T::B*>(p.b.data) + column * p.b.col_stride, p.b.col_stride, p.b.row_stride, p.n - column, k, depth);
  }
  GG_DEVICE static void zero(Sums& sums) {
#pragma unroll
    for (int r = 0; r < LANE_ROWS; ++r)
#pragma unroll
      for (int j = 0; j < Product::RUN; ++j) sums[r][j] = 0;
  }
  // As line_elements, one after the other: little code.
  GG_DEVICE static ptx::Vector16 elements(const OperandLine& line, i64 unit, i64 k, i64 depth) {
    using Bits = If<SIZE == 8, u64, If<SIZE == 4, u32, u16>>;
    ptx::Vector16 out{};
#pragma unroll 1
    for (int e = 0; e < VECTOR; ++e) {
      const Bits bits = ptx::load_constant(reinterpret_cast<const Bits*>(line.at + (k + e) * unit * SIZE), line.on && k + e < depth);
      if constexpr (SIZE == 8) {
        out.word[0] = out.word[2], out.word[1] = out.word[3], out.word[2] = static_cast<u32>(bits), out.word[3] = static_cast<u32>(bits >> 32);
      } else {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const u32 after = w < 3 ? out.word[w + 1] : static_cast<u32>(bits);
          out.word[w] = SIZE == 4 ? after : ptx::funnel_right(out.word[w], after, 16);
        }
      }
    }
    return out;
  }

  typename T::B* columns_;
  Product product_;
};

// The same of few rows and many columns that are neighbours in memory, by CUDA cores: a lane has so many columns as are 16 bytes.
template <class T>
class ColumnsMainloop {
  using Element = typename T::Sum;
  using Bits = If<sizeof(Element) == 8, u64, u32>;
  static constexpr int VECTOR = 16 / sizeof(Element), STEP = T::WARPS_M * 32 * VECTOR;
  static_assert(ByFma<typename T::B, T::TF32>::value && IsSame<Element, typename T::A>::value && IsSame<Element, typename T::B>::value, "no element is converted");
  static_assert(T::WARPS_N == 1 && T::BN % STEP == 0 && T::BK % VECTOR == 0, "warps have equally many of a tile's columns");

 public:
  GG_DEVICE explicit ColumnsMainloop(char* shared) : rows_(reinterpret_cast<Element*>(shared)) {}

  // As RowsMainloop::run.
  template <class Output>
  GG_DEVICE void run(const GemmParams& p, i64 row, i64 column, const Output& output) {
    const typename Output::template Run<VECTOR> stores(output, p.n);
    const i64 depth = ptx::renewed(p.k);  // (anew: mainloop/gemv.cuh)
    const bool vectors = stores.pieces && p.b.col_stride == 1 && ((reinterpret_cast<u64>(p.b.data) | static_cast<u64>(p.b.row_stride * static_cast<i64>(sizeof(Element)))) & 15) == 0;
    if (vectors) walk<true>(p, row, column, depth, [&](int i, int j, const Element (&sums)[VECTOR]) { stores.store(i, j, sums); });
    else walk<false>(p, row, column, depth, [&](int i, int j, const Element (&sums)[VECTOR]) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) output.store_sum(i, j + 32 * v, sums[v]);
    });
  }

 private:
  // BY_VECTORS: a lane's columns are neighbours; else 32 apart, so that lanes' are.
  template <bool BY_VECTORS, class Store>
  GG_DEVICE void walk(const GemmParams& p, i64 row, i64 column, i64 depth, Store store) {
    struct Elements { Element of[VECTOR]; };
    const int lane = static_cast<int>(threadIdx.x) % 32, columns = static_cast<int>(min_of(p.n - column, T::BN));
    const Element* const b = static_cast<const Element*>(p.b.data) + column * p.b.col_stride;
    bool filled = false;
#pragma unroll 1
    for (int first = static_cast<int>(threadIdx.x) / 32 * (32 * VECTOR); first < T::BN; first += STEP) {
      if (filled && first >= columns) return;
      const int j = first + lane * (BY_VECTORS ? VECTOR : 1);
      Element sums[T::BM][VECTOR];
#pragma unroll
      for (int i = 0; i < T::BM; ++i)
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) sums[i][v] = 0;
#pragma unroll 1
      for (i64 k = 0; k < depth; k += T::BK) {
        Elements of_b[T::BK];
#pragma unroll
        for (int e = 0; e < T::BK; ++e) {
          const Element* const at = b + (k + e) * p.b.row_stride;
          if constexpr (BY_VECTORS) of_b[e] = bit_cast<Elements>(ptx::load_streamed(reinterpret_cast<const ptx::Vector16*>(at + j), j < columns && k + e < depth));
          else
#pragma unroll
            for (int v = 0; v < VECTOR; ++v) of_b[e].of[v] = bit_cast<Element>(ptx::load_constant(reinterpret_cast<const Bits*>(at + (j + 32 * v) * p.b.col_stride), j + 32 * v < columns && k + e < depth));
        }
        if (!filled) fill_lines<T::BM, T::BK, T::THREADS>(rows_, static_cast<const Element*>(p.a.data) + row * p.a.row_stride, p.a.row_stride, p.a.col_stride, p.m - row, k, depth);
        filled = depth <= T::BK;
        const int anew = ptx::renewed(0);
#pragma unroll
        for (int i = 0; i < T::BM; ++i)
#pragma unroll
          for (int e = 0; e < T::BK; e += VECTOR) {
            const Elements x = bit_cast<Elements>(reinterpret_cast<const ptx::Vector16*>(rows_)[anew + (i * T::BK + e) / VECTOR]);
#pragma unroll
            for (int w = 0; w < VECTOR; ++w)
#pragma unroll
              for (int v = 0; v < VECTOR; ++v) sums[i][v] = multiply_add(x.of[w], of_b[e + w].of[v], sums[i][v]);
          }
      }
      if constexpr (BY_VECTORS) {
#pragma unroll
        for (int i = 0; i < T::BM; ++i) store(i, j, sums[i]);
      } else {
        // Row after row, which takes few registers and little code.
#pragma unroll 1
        for (int i = 0; i < T::BM; ++i) {
          store(i, j, sums[0]);
#pragma unroll
          for (int next = 0; next + 1 < T::BM; ++next)
#pragma unroll
            for (int v = 0; v < VECTOR; ++v) sums[next][v] = sums[next + 1][v];
        }
      }
    }
  }

  Element* rows_;
};

}  // namespace ggemm::kernels
