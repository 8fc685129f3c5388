// SPDX-License-Identifier: Apache-2.0
// The CUDA-core mainloop: any two dtypes, any strides, any alignment, sm_75 and up.
// Operands that have the type of the sums come by cp.async, STAGES - 1 tiles ahead; others through registers, converted on their way into shared memory, one tile ahead.
#pragma once
#include "grouped_call.cuh"
#include "pipeline/element_copy.cuh"
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
  static constexpr int SLOT = T::BK * (PITCH_A + PITCH_B);  // elements
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  static constexpr bool ASYNC = IsSame<typename T::A, typename T::Sum>::value && IsSame<typename T::B, typename T::Sum>::value && !T::TF32 && T::BK % 2 == 0;
#else
  static constexpr bool ASYNC = false;
#endif
  static_assert(LOADS_A * T::THREADS == T::BM * T::BK && LOADS_B * T::THREADS == T::BN * T::BK, "loads cover the tile");

 public:
  using Sum = typename T::Sum;
  // Only where so many sums keep to their registers through the whole mainloop.
  static constexpr int SWAP = sizeof(Sum) == 4 && TM * TN == 128 ? 1 : 0;
  static constexpr int SHARED_BYTES = T::STAGES * SLOT * static_cast<int>(sizeof(Sum));

  // As MultistageMainloop::run.
  GG_DEVICE void run(const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column, char* shared) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) sums_[i][j] = running()[i][j] = 0;
    const Columns at(p.n, column);
    if constexpr (T::GATHER) {
      // The tile's rows of A, or -1. The barrier after the last tile's products has let go of the former ones.
      const i64 rows = p.m - row;
      for (int i = thread(); i < T::BM; i += T::THREADS) gathered()[i] = i < rows ? read_row(group_rows.a_index, row + i) : -1;
      __syncthreads();
    }
    if (p.k == 0) return;
    const auto* a = static_cast<const typename T::A*>(p.a.data) + (T::GATHER ? 0 : row * p.a.row_stride);
    const auto* b = static_cast<const typename T::B*>(p.b.data) + at.first() * p.b.col_stride;
    const LineOfA line_a{static_cast<i32>(min_of(p.m - row, T::BM))};
    const LineOfB line_b{at, static_cast<i32>(min_of(p.n - column, T::BN))};
    Sum* const ring = reinterpret_cast<Sum*>(shared);
    const auto block_end = [&](i64 k) {  // k: of which the products are done
      if constexpr (T::BLOCK_SCALED)
        if (k >= p.k || k % scale_block == 0) add_block(p, row, at, (k - 1) / scale_block);
    };
    if constexpr (ASYNC) run_async(p, a, line_a, b, line_b, ring, block_end);
    else run_converted(p, a, line_a, b, line_b, ring, block_end);
  }

  // As MultistageMainloop's.
  static constexpr int SUMS = TM * TN;
  GG_DEVICE auto& sums() { return flat(sums_); }

  // As MultistageMainloop::each_sum. A register of an odd number lies in the other bank than one of an even number, and a product reads as fast as it may where those of the
  // sum and of B's element lie in different ones. Both are loaded or stored 16 bytes at a time, so that neighbours follow on each other from an even one on: hence the swap.
  template <class Put>
  GG_DEVICE void each_sum(Put put) const {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) put(row_of(i), column_of(j ^ SWAP), sums_[i][j]);
  }

 private:
  GG_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  // A warp's threads are 4 x 8. Lanes 2i and 2i + 1 have one column: half a warp then loads its rows or columns, 16 bytes of each, at once.
  GG_DEVICE static int first_row() { return (thread() / 32 / T::WARPS_N * 4 + thread() % 32 / 16 * 2 + thread() % 2) * VM; }
  GG_DEVICE static int first_column() { return (thread() / 32 % T::WARPS_N * 8 + thread() % 16 / 2) * VN; }
  GG_DEVICE static int row_of(int i) { return first_row() + i / VM * (ROWS * VM) + i % VM; }
  GG_DEVICE static int column_of(int j) { return first_column() + j / VN * (COLUMNS * VN) + j % VN; }

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
  struct LineOfB {
    const Columns& columns;
    i32 left;
    GG_DEVICE bool has(int mn) const { return Columns::HALVES ? columns.inside(mn) : mn < left; }
    GG_DEVICE auto at(int mn) const { return columns.at(mn); }
  };
  using LineOfA = If<T::GATHER, Gathered, InOrder>;
  GG_DEVICE static i64* gathered() {
    __shared__ i64 rows[T::BM];
    return rows;
  }

  // A thread's part of one k, in pieces that are loaded at once.
  struct Fragment {
    static constexpr int PIECES = TM / VM + TN / VN;
    Sum a[TM], b[TN];
    // From the thread's first row and column of the tiles on. B's pieces come first: the first products want them all.
    GG_DEVICE void load(const Sum* tile_a, const Sum* tile_b, int k, int piece) {
      if (piece < TN / VN) {
#pragma unroll
        for (int j = 0; j < VN; ++j) b[piece * VN + j] = tile_b[k * PITCH_B + piece * (COLUMNS * VN) + j];
      } else {
        const int part = piece - TN / VN;
#pragma unroll
        for (int i = 0; i < VM; ++i) a[part * VM + i] = tile_a[k * PITCH_A + part * (ROWS * VM) + i];
      }
    }
    GG_DEVICE void load(const Sum* tile_a, const Sum* tile_b, int k) {
#pragma unroll
      for (int piece = 0; piece < PIECES; ++piece) load(tile_a, tile_b, k, piece);
    }
  };
  // Calls between(piece) among the products, evenly, for as many pieces as a fragment has. A product has one of its factors from the product before, so that it reads two
  // registers and not three, which would take two clocks; ptxas keeps this order only where loads stand where they are to be.
  template <class Between>
  GG_DEVICE void multiply(const Fragment& f, Between between) {
    constexpr int ALL = TM * TN, EVERY = ALL < Fragment::PIECES ? 1 : ALL / Fragment::PIECES;
#pragma unroll
    for (int s = 0; s < ALL; ++s) {
      if (s % EVERY == 0 && s / EVERY < Fragment::PIECES) between(s / EVERY);
      const int i = s / TN, j = i % 2 ? TN - 1 - s % TN : s % TN;
      running()[i][j] = multiply_add(f.a[i], f.b[j], running()[i][j]);
    }
#pragma unroll
    for (int piece = ALL; piece < Fragment::PIECES; ++piece) between(piece);
  }

  // As MultistageMainloop: a ring of tiles, fragments one k ahead of the products, one barrier a tile before its last k.
  template <class BlockEnd>
  GG_DEVICE void run_async(const GemmParams& p, const Sum* a, LineOfA line_a, const Sum* b, LineOfB line_b, Sum* ring, BlockEnd block_end) {
    // A tile's copies are issued in so many parts, among the products, each beside DEPTH of k. Not more of the parts are unrolled than make so many products: the instructions
    // of a whole tile with 128 sums a thread come slower than they are executed.
    constexpr int PRODUCTS = 1024, PARTS = T::BK % 8 == 0 ? 4 : 1, DEPTH = T::BK / PARTS;
    constexpr int UNROLLED = TM * TN * T::BK <= PRODUCTS ? PARTS : TM * TN * DEPTH < PRODUCTS ? PRODUCTS / (TM * TN * DEPTH) : 1;
    static_assert(DEPTH % 2 == 0, "fragments alternate between two sets of registers");
    ElementCopy<0, Sum, T::A_MN_MAJOR, T::BM, T::BK, PITCH_A, T::THREADS, PARTS, LineOfA, !T::GATHER> copy_a(a, p.a.row_stride, p.a.col_stride, line_a, line_a.left);
    ElementCopy<1, Sum, T::B_MN_MAJOR, T::BN, T::BK, PITCH_B, T::THREADS, PARTS, LineOfB, !Columns::HALVES> copy_b(b, p.b.col_stride, p.b.row_stride, line_b, line_b.left);
    __syncthreads();
    const i32 all = static_cast<i32>(ceil_div(p.k, T::BK));             // k is below 2^31 BK
    const i32 last = static_cast<i32>(p.k - (all - i64(1)) * T::BK);  // depth of the last one
    i32 tiles = all;                                                    // left to multiply
    // left: tiles that are not copied yet, this one included.
    const auto depth = [&](i32 left) { return left > 1 ? T::BK : left == 1 ? last : 0; };
    const auto begin_copy = [&] {
      copy_a.begin();
      copy_b.begin();
    };
    const auto start_copy = [&](Sum* slot, i32 left) {
      copy_a.start(slot, all - left, depth(left));
      copy_b.start(slot + T::BK * PITCH_A, all - left, depth(left));
    };
    const auto copy_part = [&](Sum* slot, int part, i32 left) {
      copy_a.issue(slot, depth(left), part);
      copy_b.issue(slot + T::BK * PITCH_A, depth(left), part);
    };
#pragma unroll 1
    for (int s = 0; s < T::STAGES - 1; ++s) {
      begin_copy();
      start_copy(ring + s * SLOT, tiles - s);
#pragma unroll 1
      for (int part = 0; part < PARTS; ++part) copy_part(ring + s * SLOT, part, tiles - s);
      ptx::cp_async_commit();  // an empty group too, so that the count of groups tells the tile
    }

    i32 read = 0, write = T::STAGES - 1;  // slots
    Fragment fragments[2];
    // The compiler must not see the sums in these, or it keeps an address for each load.
    const int first_a = ptx::renewed(first_row()), first_b = ptx::renewed(T::BK * PITCH_A + first_column());
    ptx::cp_async_wait<T::STAGES - 2>();
    __syncthreads();
    const Sum *from_a = ring + first_a, *from_b = ring + first_b;  // the next fragments
    fragments[0].load(from_a, from_b, 0);
    ptx::keep_order();
    i64 done = 0;
#pragma unroll 1
    for (; tiles > 0; --tiles) {
      begin_copy();
      if constexpr (UNROLLED < PARTS) start_copy(ring + write * SLOT, tiles - (T::STAGES - 1));
#pragma unroll UNROLLED
      for (int part = 0; part < PARTS; ++part) {
        // ptxas mixes what lies between branches. Where that were a whole tile it would hold so many fragments ahead that few CTAs had room.
        if (UNROLLED == PARTS && part == PARTS - 1) start_copy(ring + write * SLOT, tiles - (T::STAGES - 1));
        copy_part(ring + write * SLOT, part, tiles - (T::STAGES - 1));
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
          if (k == DEPTH - 1) {
            from_a += DEPTH * PITCH_A, from_b += DEPTH * PITCH_B;
            if (part == PARTS - 1) {
              // The next tile has arrived for all threads, and all have read this one's last fragments: its slot may be overwritten.
              ptx::cp_async_commit();
              ptx::cp_async_wait<T::STAGES - 2>();
              __syncthreads();
              read = read + 1 == T::STAGES ? 0 : read + 1;
              write = write + 1 == T::STAGES ? 0 : write + 1;
              from_a = ring + read * SLOT + first_a, from_b = ring + read * SLOT + first_b;
            }
          }
          multiply(fragments[k % 2], [&](int piece) { fragments[(k + 1) % 2].load(from_a, from_b, (k + 1) % DEPTH, piece); });
        }
        ptx::keep_order();  // else the first fragments are loaded here, right before the products that wait for them
      }
      if constexpr (T::BLOCK_SCALED) block_end(done += T::BK);
    }
    ptx::cp_async_wait<0>();
    __syncthreads();
  }

  template <class BlockEnd>
  GG_DEVICE void run_converted(const GemmParams& p, const typename T::A* a, LineOfA line_a, const typename T::B* b, LineOfB line_b, Sum* ring, BlockEnd block_end) {
    static_assert(ASYNC || T::STAGES == 2, "one tile in registers, on its way");
    Sum held_a[LOADS_A], held_b[LOADS_B];
    const auto load = [&](i64 k) {
      load_elements<T::A_MN_MAJOR, T::BM>(held_a, a + k * p.a.col_stride, p.a.row_stride, p.a.col_stride, line_a, p.k - k);
      load_elements<T::B_MN_MAJOR, T::BN>(held_b, b + k * p.b.row_stride, p.b.col_stride, p.b.row_stride, line_b, p.k - k);
    };
    const auto store = [&](Sum* slot) {
      store_elements<T::A_MN_MAJOR, T::BM, PITCH_A>(slot, held_a);
      store_elements<T::B_MN_MAJOR, T::BN, PITCH_B>(slot + T::BK * PITCH_A, held_b);
    };
    load(0);
    store(ring);
    __syncthreads();
    int slot = 0;
#pragma unroll 1
    for (i64 k = 0; k < p.k; k += T::BK) {
      const bool more = k + T::BK < p.k;
      if (more) load(k + T::BK);
#pragma unroll
      for (int i = 0; i < T::BK; ++i) {
        Fragment fragment;
        fragment.load(ring + slot * SLOT + first_row(), ring + slot * SLOT + T::BK * PITCH_A + first_column(), i);
        multiply(fragment, [](int) {});
      }
      block_end(k + T::BK);
      slot ^= 1;
      if (more) store(ring + slot * SLOT);
      __syncthreads();
    }
  }

  // Element e of this thread: neighbouring threads take neighbouring elements of the contiguous index.
  template <bool MN_MAJOR, int SPAN>
  GG_DEVICE static void place(int e, int& mn, int& k) {
    const int index = e * T::THREADS + thread();
    mn = MN_MAJOR ? index % SPAN : index / T::BK;
    k = MN_MAJOR ? index / SPAN : index % T::BK;
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

  // Adds the sums of block `block` of k, scaled, to those of the blocks before.
  GG_DEVICE void add_block(const GemmParams& p, i64 row, const Columns& columns, i64 block) {
    // Addresses are worked out anew each time: kept through the loop over k, they would spill.
    const i64 m = ptx::renewed(row), n = ptx::renewed(columns.first());
    float a[TM], b[TN];
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const i64 at = T::GATHER ? gathered()[row_of(i)] : m + row_of(i);
      a[i] = scale<T::SCALE_A>(p.scale_a, p.scale_a.row_stride, p.scale_a.col_stride, at, block, T::GATHER ? at >= 0 : at < p.m);
    }
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
