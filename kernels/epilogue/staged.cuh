// SPDX-License-Identifier: Apache-2.0
// From a warpgroup's sums (layout of wgmma) to D, 64 rows and some columns at a time, through a slot of shared memory: the copy engine stores the slot while the next
// one is filled. What the copy engine cannot reach (strides or bases off 16 bytes) is stored by threads, neighbouring ones to neighbouring elements; so is C read.
#pragma once
#include "epilogue/pack.cuh"
#include "ptx/barrier.cuh"
#include "ptx/memory.cuh"
#include "ptx/tensor.cuh"
#include "tile/panels.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

template <class T, int WN>
class StagedEpilogue {
  using Sum = typename T::Sum;
  using Value = typename T::Value;
  using C = typename T::C;
  using D = typename T::D;
  using Bias = typename T::Bias;
  static constexpr int SIZE = sizeof(D);
  static constexpr bool MN = T::D_MN_MAJOR;
  static constexpr int STEP = store_columns(WN, sizeof(C), SIZE, MN);
  static constexpr bool BOXES = store_by_boxes(WN, sizeof(C), SIZE, MN);

 public:
  static constexpr int BYTES = store_slots * store_slot_bytes;  // a warpgroup

  // All 128 threads of warpgroup `group`. sums: a block of 64 rows from (row, column) of D, which the copy engine knows by `map`. slot: counts through all blocks and tiles.
  GG_DEVICE static void run(const Sum (&sums)[WN / 2], const GemmParams& p, const TensorMap& map, TensorStore store, i64 row, i64 column, char* staging, int group, u32& slot) {
    const EpilogueScalars<Value> scalars(p.epilogue);
    const int thread = T::GROUPED ? ptx::renewed(static_cast<int>(threadIdx.x) % 128) : static_cast<int>(threadIdx.x) % 128;  // a grouped mainloop has no registers for what follows from it
    const bool add_c = scalars.beta != Value(0);
    const int rows = static_cast<int>(min_of(p.m - row, 64));
    if (rows <= 0) return;
#pragma unroll
    for (int step = 0; step < WN / STEP; ++step) {
      const i64 first = column + step * STEP;
      const int columns = static_cast<int>(min_of(p.n - first, STEP));
      if (columns <= 0) return;
      const bool whole = MN ? rows == 64 : columns == STEP;
      const bool tensor = BOXES && (store == TensorStore::boxes || (store == TensorStore::whole_boxes && whole));
      char* const at = staging + slot * store_slot_bytes;
      // The slot's former store has been read out, for which its thread waits, and all threads are done with it.
      if (thread == 0) ptx::store_wait_read<store_slots - 1>();
      ptx::barrier_sync<128>(1 + group);
      if (add_c) {
        move<const C, 4>(thread, p.c, row, first, rows, columns, [at](const C& c, int i, int j) { *reinterpret_cast<C*>(at + offset<C>(i, j)) = c; });
        ptx::barrier_sync<128>(1 + group);
        fill<true>(thread, group, &sums[step * (STEP / 2)], p, row, first, rows, columns, at, scalars);
      } else {
        fill<false>(thread, group, &sums[step * (STEP / 2)], p, row, first, rows, columns, at, scalars);
      }
      if (tensor) ptx::fence_async();
      ptx::barrier_sync<128>(1 + group);
      if (!tensor) move<D, 2>(thread, p.d, row, first, rows, columns, [at](D& d, int i, int j) { d = *reinterpret_cast<const D*>(at + offset<D>(i, j)); });
      else if (thread == 0) store_boxes(map, row, first, at);
      // A group for every step, empty or not: store_wait_read counts steps.
      if (thread == 0) ptx::store_commit();
      slot = (slot + 1) % store_slots;
    }
  }

 private:
  // Where element (row, column) of a step lies in its slot.
  template <class E>
  GG_DEVICE static u32 offset(int row, int column) {
    const int line = MN ? column : row, byte = (MN ? row : column) * static_cast<int>(sizeof(E));
    return static_cast<u32>(byte / 128 * (STEP * 128) + line * 128 + ((byte % 128) ^ (line & 7) << 4));
  }

  // offset(r + 8 half, c + 8 j) from offset(r, c), for the r and c of a thread's first sum, which leave the bits of these steps 0; and that of the next column.
  template <class E>
  GG_DEVICE static u32 place(u32 first, int j, int half) {
    constexpr int size = sizeof(E);
    return MN ? (first ^ static_cast<u32>(8 * half * size)) + 1024 * j : (first ^ static_cast<u32>(8 * j * size)) + 1024 * half;
  }
  template <class E>
  GG_DEVICE static u32 next_column(u32 place) { return MN ? (place ^ 16) + 128 : place + sizeof(E); }
  // Two elements in neighbouring columns.
  template <class E>
  GG_DEVICE static void get(const char* at, u32 place, Value& x, Value& y) {
    if constexpr (MN) {
      x = to_sum<Value>(*reinterpret_cast<const E*>(at + place)), y = to_sum<Value>(*reinterpret_cast<const E*>(at + next_column<E>(place)));
    } else {
      const Pair<E> pair = *reinterpret_cast<const Pair<E>*>(at + place);
      x = to_sum<Value>(pair.first()), y = to_sum<Value>(pair.second());
    }
  }
  template <class E>
  GG_DEVICE static void put(char* at, u32 place, Pair<E> pair) {
    if constexpr (MN) {
      *reinterpret_cast<E*>(at + place) = pair.first();
      *reinterpret_cast<E*>(at + next_column<E>(place)) = pair.second();
    } else {
      *reinterpret_cast<Pair<E>*>(at + place) = pair;
    }
  }

  GG_DEVICE static void store_boxes(const TensorMap& map, i64 row, i64 column, const char* at) {
    const u32 from = static_cast<u32>(__cvta_generic_to_shared(at));
    if constexpr (MN) {
#pragma unroll
      for (int part = 0; part < 64 * SIZE / 128; ++part) ptx::tensor_store(map, from + part * STEP * 128, static_cast<i32>(row) + part * (128 / SIZE), static_cast<i32>(column));
    } else {
      ptx::tensor_store(map, from, static_cast<i32>(column), static_cast<i32>(row));
    }
  }

  // Calls each(element, row, column) for the step's elements in the matrix, neighbouring threads for neighbouring ones, so many of a thread's together.
  template <class E, int TOGETHER, class Each>
  GG_DEVICE static void move(int thread, const Matrix& matrix, i64 row, i64 column, int rows, int columns, Each each) {
    E* const first = static_cast<E*>(const_cast<void*>(matrix.data)) + row * matrix.row_stride + column * matrix.col_stride;
    constexpr int ALONG = MN ? 64 : STEP;
#pragma unroll TOGETHER
    for (int at = thread; at < 64 * STEP; at += 128) {
      const int i = MN ? at % ALONG : at / ALONG, j = MN ? at / ALONG : at % ALONG;
      if (i < rows && j < columns) each(first[i * matrix.row_stride + j * matrix.col_stride], i, j);
    }
  }

  // Turns a step's sums into elements of D in the slot, where C's are if they are wanted.
  template <bool ADD_C>
  GG_DEVICE static void fill(int thread, int group, const Sum* sums, const GemmParams& p, i64 row, i64 column, int rows, int columns, char* at, const EpilogueScalars<Value>& scalars) {
    const int lane = thread % 32, warp = thread / 32;
    const int r0 = warp * 16 + lane / 4, c0 = lane % 4 * 2;
    const Bias* const bias = static_cast<const Bias*>(p.bias);
    const u32 place_c = offset<C>(r0, c0), place_d = offset<D>(r0, c0);
    const auto biased = [&](int r, int c) {
      if constexpr (T::BIAS == 1) return c < columns ? to_sum<Value>(bias[column + c]) : Value(0);
      else if constexpr (T::BIAS == 2) return r < rows ? to_sum<Value>(bias[row + r]) : Value(0);
      else return Value(0);
    };
    const auto pair = [&](int j, int half) {
      const int r = r0 + 8 * half, c = c0 + 8 * j;
      const Sum* const s = sums + 4 * j + 2 * half;
      Value x = biased(r, c), y = T::BIAS == 2 ? x : biased(r, c + 1);
      if constexpr (ADD_C) {
        Value cx, cy;
        get<C>(at, place<C>(place_c, j, half), cx, cy);
        x = multiply_add(scalars.beta, cx, x), y = multiply_add(scalars.beta, cy, y);
      }
      return Pair<D>::from(epilogue_value<T::ACTIVATION>(static_cast<Value>(s[0]), x, scalars), epilogue_value<T::ACTIVATION>(static_cast<Value>(s[1]), y, scalars));
    };
    // Where C and D differ in size, an element of D lies where some other thread's of C does: all are read before any is written.
    constexpr bool OVER_C = ADD_C && sizeof(C) != sizeof(D);
    if constexpr (SIZE == 2 && STEP % 16 == 0 && !OVER_C) {
      // Matrices of an stmatrix: this warp's two blocks of 8 rows, of one block of 8 columns and then of the next.
      const int line = lane % 8, half = lane / 8 % 2, next = lane / 16;
      const u32 first = static_cast<u32>(__cvta_generic_to_shared(at)) + (MN ? offset<D>(warp * 16 + 8 * half, 8 * next + line) : offset<D>(warp * 16 + 8 * half + line, 8 * next));
#pragma unroll
      for (int j = 0; j < STEP / 8; j += 2) {
        const u32 words[4] = {pair(j, 0).bits, pair(j, 1).bits, pair(j + 1, 0).bits, pair(j + 1, 1).bits};
        if constexpr (MN) ptx::stmatrix_transposed(first + 1024 * j, words);
        else ptx::stmatrix(first ^ 16 * j, words);  // j is even, so that its bits are 0 in `first` before the swizzle
      }
    } else {
      if constexpr (OVER_C) {
        Pair<D> values[STEP / 8][2];
#pragma unroll
        for (int j = 0; j < STEP / 8; ++j) values[j][0] = pair(j, 0), values[j][1] = pair(j, 1);
        ptx::barrier_sync<128>(1 + group);
#pragma unroll
        for (int j = 0; j < STEP / 8; ++j)
#pragma unroll
          for (int half = 0; half < 2; ++half) put<D>(at, place<D>(place_d, j, half), values[j][half]);
      } else {
#pragma unroll
        for (int j = 0; j < STEP / 8; ++j)
#pragma unroll
          for (int half = 0; half < 2; ++half) put<D>(at, place<D>(place_d, j, half), pair(j, half));
      }
    }
  }
};

}  // namespace ggemm::kernels
