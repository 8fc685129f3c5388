// SPDX-License-Identifier: Apache-2.0
// From a tile's sums to D: through shared memory, so that whatever a mainloop's threads hold, neighbouring threads write neighbouring elements of D; or straight from registers, where a thread holds neighbours (Run).
#pragma once
#include "epilogue/pack.cuh"
#include "epilogue/sum_scale.cuh"
#include "grouped_call.cuh"
#include "ptx/async.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"
#include "ptx/tensor.cuh"
#include "tile/columns.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// SWAP: as the mainloop's (each_sum); the j-th of a row's sums lies at j ^ SWAP.
template <class T, int SWAP>
class StoreEpilogue {
  using Sum = typename T::Sum;
  using Value = typename T::Value;
  using C = typename T::C;
  using D = typename T::D;
  using Bias = typename T::Bias;
  // 8 words beyond a multiple of 32 banks: a warp's pairs of sums (8 rows, 4 pairs) then meet no conflict.
  static constexpr int PITCH = T::BN + 32 / static_cast<int>(sizeof(Sum));
  static constexpr int VECTOR = 16 / sizeof(D);  // elements of D in 16 bytes
  // Vectors that a thread reads before it stores the first: where more is done with each, there is more code than the wait is worth.
  static constexpr int TOGETHER = T::GATE != 0 || T::ACTIVATION != 0 || sizeof(D) < 4 ? 1 : sizeof(D) == 8 ? 8 : 4;
  using Columns = TileColumns<T::GATE, T::BN>;
  using ScaleA = SumScale<T::SCALE_A>;
  using ScaleB = SumScale<T::SCALE_B>;
  // Where nothing but alpha comes upon the sums a staged row is one of D's, and leaves by the copy engine: until memory has taken what threads store they can do nothing else, and no other CTA gets their place.
  // Of f64: kernels of f32 by CUDA cores got other registers for their sums by it, and more was lost in the mainloop than won; those by f64's tensor cores gained nothing.
  static constexpr bool ROWS_LEAVE = ptx::copy_engine && T::BARE && IsSame<D, double>::value && IsSame<Sum, double>::value && !T::SCATTER;
  static_assert(!ROWS_LEAVE || SWAP == 0, "what is staged is in order");

 public:
  static constexpr int SHARED_BYTES = T::BM * PITCH * static_cast<int>(sizeof(Sum));

  // All threads of the CTA; shared memory must be free, and is free again after the next barrier, which the caller brings.
  // With SCATTER, row i of D is where group_rows says, and multiplied by its weight if there are any.
  template <class Mainloop>
  GG_DEVICE static void run(const Mainloop& mainloop, const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column, char* shared) {
    Sum* const sums = reinterpret_cast<Sum*>(shared);
    mainloop.each_sum([&](int i, int j, Sum sum) { sums[i * PITCH + j] = sum; });
    if constexpr (ROWS_LEAVE) {
      if (__builtin_expect(is_zero(scalar_value<Value>(p.epilogue.beta)) && vectors(p.d, sizeof(D)) && min_of(p.n - column, T::BN) % VECTOR == 0, true)) {
        if (const Value alpha = scalar_value<Value>(p.epilogue.alpha); __builtin_expect(!is_one(alpha), false)) scale(sums, alpha);
        ptx::fence_async();
        __syncthreads();
        return send_rows(p, row, column, shared);
      }
    }
    __syncthreads();
    prepare(Staged{sums}, p, group_rows, row, column).store();
  }

  // Has C of a tile come to L2 while its products are made. All threads of the CTA.
  GG_DEVICE static void prefetch_c(const GemmParams& p, i64 row, i64 column) {
    if constexpr (!IsSame<D, double>::value || T::SLICED) return;  // (of others it was not worth what it costs products without C; and pieces of a tile would all ask)
    if (__builtin_expect(p.epilogue.beta.pointer || is_zero(scalar_value<Value>(p.epilogue.beta)) || p.c.col_stride != 1, true)) return;  // beta in memory is not waited for
    constexpr int LINE = 128, ACROSS = (T::BN * static_cast<int>(sizeof(C)) + LINE - 1) / LINE;
    const int rows = static_cast<int>(min_of(p.m - row, T::BM)), bytes = static_cast<int>(min_of(p.n - column, T::BN)) * static_cast<int>(sizeof(C));
    const C* const c = static_cast<const C*>(p.c.data) + row * p.c.row_stride + column;
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x); at < T::BM * ACROSS; at += T::THREADS) {
      const int i = at / ACROSS, byte = at % ACROSS * LINE;
      if (i < rows && byte < bytes) ptx::prefetch(reinterpret_cast<const char*>(c + i * p.c.row_stride) + byte);
    }
  }

 private:
  // Sums of the tile, as run has put them.
  struct Staged {
    const Sum* sums;
    GG_DEVICE Sum sum(int i, int j) const { return sums[i * PITCH + (j ^ SWAP)]; }
  };

  // Rows lie at multiples of 16 bytes.
  GG_DEVICE static bool vectors(const Matrix& m, int size) { return m.col_stride == 1 && ((reinterpret_cast<u64>(m.data) | static_cast<u64>(m.row_stride * size)) & 15) == 0; }
  // Multiplies what is staged. (On its way there it took all products longer, by what the code for it is long.)
  GG_DEVICE static void scale(Sum* sums, Value alpha) {
    __syncthreads();
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x); at < T::BM * T::BN; at += T::THREADS) {
      Sum& sum = sums[at / T::BN * PITCH + at % T::BN];
      sum = static_cast<Sum>(multiply_add(alpha, static_cast<Value>(sum), Value(0)));
    }
  }
  // What is staged is D, for the copy engine to bring there. Returns once it has read all.
  GG_DEVICE static void send_rows(const GemmParams& p, i64 row, i64 column, const char* shared) {
    const int warp = ptx::of_first_lane(static_cast<int>(threadIdx.x) / 32), rows = static_cast<int>(min_of(p.m - row, T::BM));
    const u32 bytes = static_cast<u32>(min_of(p.n - column, T::BN) * static_cast<int>(sizeof(D)));
    D* const d = static_cast<D*>(const_cast<void*>(p.d.data)) + row * p.d.row_stride + column;
    if (!ptx::elect_one()) return;
#pragma unroll 4
    for (int i = warp; i < rows; i += T::THREADS / 32) ptx::bulk_store(d + i * p.d.row_stride, ptx::shared_address(shared) + i * (PITCH * static_cast<int>(sizeof(D))), bytes);
    ptx::store_commit();
    ptx::store_wait_read<0>();
  }

  template <class Sums> struct Output;

 public:
  // What stores a tile, once `sums` has it (sum(i, j)): it may be made before, so that what it reads and works out does not come after.
  template <class Sums>
  GG_DEVICE static Output<Sums> prepare(const Sums& sums, const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column) {
    const EpilogueScalars<Value> scalars(p.epilogue);
    const int rows = static_cast<int>(min_of(p.m - row, T::BM));
    const Columns columns(p.n, column);
    const Matrix c{static_cast<const C*>(p.c.data) + row * p.c.row_stride + column * p.c.col_stride, p.c.row_stride, p.c.col_stride};
    const Matrix d{static_cast<const D*>(p.d.data) + (T::SCATTER ? 0 : row * p.d.row_stride) + columns.output() * p.d.col_stride, p.d.row_stride, p.d.col_stride};
    const Bias* bias = static_cast<const Bias*>(p.bias) + (T::BIAS == 1 ? columns.first() : T::BIAS == 2 ? row : 0);
    const ScaleA scale_a(p.scale_a, p.scale_a.row_stride, T::GATHER ? 0 : row);
    const ScaleB scale_b(p.scale_b, p.scale_b.col_stride, columns.first());
    return {c, d, bias, scalars, sums, rows, columns.outputs(), columns, scale_a, scale_b, group_rows, row};
  }

 private:
  // One tile of D. c, d, bias and scales begin at the tile's first element. `columns` and j count D's; `at` is a column of the tile of sums.
  template <class Sums>
  struct Output {
    Matrix c, d;
    const Bias* bias;
    EpilogueScalars<Value> s;
    const Sums& sums;
    int rows, columns;
    Columns of;
    ScaleA scale_a;
    ScaleB scale_b;
    const GroupRows& group_rows;
    i64 first_row;

    GG_DEVICE void store() const {
      const bool add_c = !Columns::PAIRED && s.beta != Value(0);
      if (!ROWS_LEAVE && vectors(d, sizeof(D)) && !add_c) store_vectors<false>();  // (rows that end within one go by lines where others leave)
      else if ((!ROWS_LEAVE || add_c) && vectors(d, sizeof(D)) && sizeof(C) == sizeof(D) && vectors(c, sizeof(C))) store_vectors<true>();
      else if (d.col_stride == 1 || d.row_stride != 1) store_lines<false>();
      else store_lines<true>();
    }

    // A thread an element.
    GG_DEVICE void store_each() const {
#pragma unroll 1
      for (u32 e = threadIdx.x; e < T::BM * Columns::OUTPUTS; e += T::THREADS) {
        const u32 i = e / Columns::OUTPUTS, j = e % Columns::OUTPUTS;
        if (static_cast<int>(i) < rows && static_cast<int>(j) < columns) store_one(static_cast<int>(i), static_cast<int>(j));
      }
    }

    // One element, whose sum this thread has.
    GG_DEVICE void store_sum(int i, int j, Sum sum) const {
      static_assert(!Columns::PAIRED && !T::SCATTER, "columns and rows in order");
      if (i < rows && j < columns) *d_at(i, j) = value(sum, i, j, s.beta == Value(0) ? added<false>(i, j) : added<true>(i, j));
    }
    // COUNT neighbours of a row, whose sums a thread has.
    template <int COUNT>
    struct Run {
      static constexpr int BYTES = COUNT * sizeof(D);
      using Piece = If<BYTES % 16 == 0, ptx::Vector16, If<BYTES % 8 == 0, u64, If<BYTES % 4 == 0, u32, u16>>>;
      static constexpr int IN_PIECE = sizeof(Piece) / sizeof(D);
      static constexpr bool WIDE = sizeof(D) >= 4;  // elements may go one by one
      static constexpr bool BY_PAIRS = IsSame<Value, float>::value && (IsSame<D, F16>::value || IsSame<D, Bf16>::value);  // conversions
      static_assert(BYTES % sizeof(Piece) == 0 && IN_PIECE % 2 == 0, "whole pieces, of elements two by two");

      const Output& out;
      bool at_once, pieces;  // of all threads alike: a row's go one beside the other; as Pieces

      GG_DEVICE Run(const Output& output, i64 n) : out(output) {
        const Matrix& d = out.d;
        pieces = d.col_stride == 1 && n % COUNT == 0 && ((reinterpret_cast<u64>(d.data) | static_cast<u64>(d.row_stride * static_cast<i64>(sizeof(D)))) & (sizeof(Piece) - 1)) == 0;
        at_once = WIDE ? d.col_stride == 1 : pieces;
      }
      // Where at_once; j: a multiple of COUNT.
      GG_DEVICE void store(int i, int j, const Sum (&sums)[COUNT]) const {
        if (i >= out.rows || j >= out.columns) return;
        if (out.s.beta == Value(0)) put<false>(i, j, sums);
        else put<true>(i, j, sums);
      }
      // One after the other, which takes few registers.
      GG_DEVICE void store_each(int i, int j, Sum (&sums)[COUNT]) const {
#pragma unroll 1
        for (int at = j; at < j + COUNT; ++at) {
          out.store_sum(i, at, sums[0]);
#pragma unroll
          for (int v = 0; v + 1 < COUNT; ++v) sums[v] = sums[v + 1];
        }
      }

     private:
      // (Whether C is added is decided once: asked for each element, 1000000x3x3 took 1.1 to 1.2 times as long.)
      template <bool ADD_C>
      GG_DEVICE void put(int i, int j, const Sum (&sums)[COUNT]) const {
        D* const to = out.d_at(i, j);
        if (!WIDE || pieces) {
#pragma unroll
          for (int v = 0; v < COUNT; v += IN_PIECE) {
            union { Piece piece; D element[IN_PIECE]; Pair<D> pair[IN_PIECE / 2]; } in;
#pragma unroll
            for (int e = 0; e < IN_PIECE; e += 2) {
              const int at = j + v + e;
              const Value first = out.result(sums[v + e], i, at, out.template added<ADD_C>(i, at)), second = out.result(sums[v + e + 1], i, at + 1, out.template added<ADD_C>(i, at + 1));
              if constexpr (BY_PAIRS) in.pair[e / 2] = Pair<D>::from(first, second);
              else in.element[e] = Store<D>::from(first), in.element[e + 1] = Store<D>::from(second);
            }
            reinterpret_cast<Piece*>(to)[v / IN_PIECE] = in.piece;
          }
        } else {
#pragma unroll
          for (int v = 0; v < COUNT; ++v)
            if (j + v < out.columns) to[v] = out.value(sums[v], i, j + v, out.template added<ADD_C>(i, j + v));
        }
      }
    };

    // Row i of the tile in D; below 0: it is left out.
    GG_DEVICE auto row_of(int i) const {
      if constexpr (T::SCATTER) return read_row(group_rows.d_index, first_row + i);
      else return i;
    }
    template <class Row>
    GG_DEVICE D* d_at(Row i, int j) const { return static_cast<D*>(const_cast<void*>(d.data)) + i * d.row_stride + j * d.col_stride; }
    GG_DEVICE const C* c_at(int i, int j) const { return static_cast<const C*>(c.data) + i * c.row_stride + j * c.col_stride; }

    GG_DEVICE Value addend(int i, int at) const {
      if constexpr (T::BIAS == 0) return Value(0);
      else return to_sum<Value>(bias[T::BIAS == 1 ? of.at(at) : i]);
    }
    // And C, if it is added. (store_one does the same by itself: by a call all kernels of simt and sm80 got other registers.)
    template <bool ADD_C>
    GG_DEVICE Value added(int i, int j) const {
      if constexpr (ADD_C) return multiply_add(s.beta, to_sum<Value>(*c_at(i, j)), addend(i, j));
      else return addend(i, j);
    }
    GG_DEVICE Value scaled(Sum sum, int i, int at) const {
      if constexpr (ScaleA::ANY || ScaleB::ANY) return static_cast<Value>(sum) * (scale_of_row(i) * scale_b.at(of.at(at)));
      else return static_cast<Value>(sum);
    }
    // Of a row of A that is nowhere none is looked at.
    GG_DEVICE float scale_of_row(int i) const {
      if constexpr (T::GATHER && T::SCALE_A == scale_vector) {
        const i64 row = read_row(group_rows.a_index, first_row + i);
        return row < 0 ? 0.0f : scale_a.at(row);
      } else {
        return scale_a.at(i);
      }
    }
    GG_DEVICE Value result(Sum sum, int i, int at, Value addend) const { return weighted(i, epilogue_value<T::ACTIVATION>(scaled(sum, i, at), addend, s)); }
    GG_DEVICE D value(Sum sum, int i, int at, Value addend) const { return Store<D>::from(result(sum, i, at, addend)); }
    // Of a pair's two sums.
    GG_DEVICE D gated(Sum gate, Sum up, int i, int j) const {
      const int g = Columns::gate(j), u = Columns::up(j);
      return Store<D>::from(weighted(i, epilogue_value<T::ACTIVATION>(scaled(gate, i, g), addend(i, g), s) * epilogue_value<0>(scaled(up, i, u), addend(i, u), s)));
    }
    GG_DEVICE Value weighted(int i, Value value) const {
      if constexpr (T::SCATTER)
        if (group_rows.weights) return static_cast<Value>(group_rows.weights[first_row + i]) * value;
      return value;
    }
    GG_DEVICE void store_one(int i, int j) const {
      const auto to = row_of(i);
      if (T::SCATTER && to < 0) return;
      if constexpr (Columns::PAIRED) {
        *d_at(to, j) = gated(sums.sum(i, Columns::gate(j)), sums.sum(i, Columns::up(j)), i, j);
      } else {
        Value add = addend(i, j);
        if (s.beta != Value(0)) add = multiply_add(s.beta, to_sum<Value>(*c_at(i, j)), add);
        *d_at(to, j) = value(sums.sum(i, j), i, j, add);
      }
    }

    template <bool ADD_C>
    GG_DEVICE void store_vectors() const {
      constexpr int ACROSS = Columns::OUTPUTS / VECTOR;  // vectors of a row
      static_assert(Columns::OUTPUTS % VECTOR == 0, "16 bytes of D divide a row of the tile");
      // Of one product. (Groups' kernels, which keep more in registers from tile to tile, spill by it.)
      if constexpr (!T::GROUPED && T::THREADS % ACROSS == 0) store_below<ADD_C, ACROSS>();
      else store_in_turn<ADD_C, ACROSS>();
    }
    // A thread's vectors lie below each other, so that what follows from the column is worked out once (but not before the mainloop, which has no registers for it); and some are read before the first is stored.
    template <bool ADD_C, int ACROSS>
    GG_DEVICE void store_below() const {
      constexpr int STEP = T::THREADS / ACROSS;
      const int thread = ptx::renewed(static_cast<int>(threadIdx.x)), first = thread / ACROSS, j = thread % ACROSS * VECTOR;
      if (j + VECTOR <= columns) {
#pragma unroll 1
        for (int i = first; i < rows; i += TOGETHER * STEP) {
          VectorSums sums_of[TOGETHER];
          ptx::Vector16 in[TOGETHER];
#pragma unroll
          for (int t = 0; t < TOGETHER; ++t)
            if (const int row = i + t * STEP; row < rows) {
              sums_of[t] = vector_sums(row, j);
              if constexpr (ADD_C && sizeof(C) == sizeof(D)) in[t] = ptx::load_vector(c_at(row, j));
            }
#pragma unroll
          for (int t = 0; t < TOGETHER; ++t)
            if (const int row = i + t * STEP; row < rows) ptx::store_vector(d_at(row, j), vector_of<ADD_C>(sums_of[t], in[t], row, j));
        }
      } else if (j < columns) {
#pragma unroll 1
        for (int i = first; i < rows; i += STEP)
#pragma unroll 1
          for (int v = j; v < columns; ++v) store_one(i, v);
      }
    }
    // Neighbouring threads take neighbouring vectors, one after the other.
    template <bool ADD_C, int ACROSS>
    GG_DEVICE void store_in_turn() const {
      const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 2
      for (int index = thread; index < rows * ACROSS; index += T::THREADS) {
        const int i = index / ACROSS, j = index % ACROSS * VECTOR;
        if (j + VECTOR > columns) {
          for (int v = j; v < columns; ++v) store_one(i, v);
          continue;
        }
        const auto to = row_of(i);
        if (T::SCATTER && to < 0) continue;
        const VectorSums sum = vector_sums(i, j);
        ptx::Vector16 in;
        if constexpr (ADD_C && sizeof(C) == sizeof(D)) in = ptx::load_vector(c_at(i, j));
        ptx::store_vector(d_at(to, j), vector_of<ADD_C>(sum, in, i, j));
      }
    }
    // Sums of 16 bytes of D. A pair's lie side by side, or in two runs.
    using Piece = If<VECTOR * sizeof(Sum) % 16 == 0, ptx::Vector16, u64>;  // of sums: 16 bytes, or 8 where D is twice as wide
    static constexpr int PIECES = VECTOR * sizeof(Sum) / sizeof(Piece), RUNS = Columns::PAIRED ? 2 : 1;
    union VectorSums {
      Piece piece[RUNS][PIECES];
      Sum element[RUNS * VECTOR];
    };
    GG_DEVICE VectorSums vector_sums(int i, int j) const {
      VectorSums out;
#pragma unroll
      for (int run = 0; run < RUNS; ++run) {
        const int first = !Columns::PAIRED || Columns::HALVES ? j + run * (T::BN / 2) : 2 * j + run * VECTOR;
#pragma unroll
        for (int v = 0; v < PIECES; ++v) out.piece[run][v] = reinterpret_cast<const Piece*>(sums.sums + i * PITCH + first)[v];
      }
      return out;
    }
    template <bool ADD_C>
    GG_DEVICE ptx::Vector16 vector_of(const VectorSums& sum, const ptx::Vector16& c_vector, int i, int j) const {
      union { ptx::Vector16 vector; C element[16 / sizeof(C)]; } in;
      union { ptx::Vector16 vector; D element[VECTOR]; } out;
      if constexpr (ADD_C) in.vector = c_vector;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        if constexpr (Columns::PAIRED) {
          out.element[v] = gated(sum.element[(Columns::HALVES ? v : 2 * v) ^ SWAP], sum.element[(Columns::HALVES ? VECTOR + v : 2 * v + 1) ^ SWAP], i, j + v);
        } else {
          Value add = addend(i, j + v);
          if constexpr (ADD_C && sizeof(C) == sizeof(D)) add = multiply_add(s.beta, to_sum<Value>(in.element[v]), add);
          out.element[v] = value(sum.element[v ^ SWAP], i, j + v, add);
        }
      }
      return out.vector;
    }

    // One element at a time: a warp takes a row of the tile (a column, if D is contiguous along columns), its lanes neighbouring elements. (With four of a lane's read before the first is stored it was slower.)
    template <bool BY_COLUMNS>
    GG_DEVICE void store_lines() const {
      constexpr int WARPS = T::THREADS / 32;
      const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
      const int lines = BY_COLUMNS ? columns : rows, length = BY_COLUMNS ? rows : columns;
#pragma unroll 1
      for (int line = warp; line < lines; line += WARPS)
#pragma unroll 2
        for (int at = lane; at < length; at += 32) store_one(BY_COLUMNS ? at : line, BY_COLUMNS ? line : at);
    }
  };
};

}  // namespace ggemm::kernels
