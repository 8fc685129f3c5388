// SPDX-License-Identifier: Apache-2.0
// From the sums of a step (layout of wgmma) to elements of D.
#pragma once
#include "epilogue/pack.cuh"
#include "epilogue/slot.cuh"
#include "epilogue/step_vectors.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// A thread of a warpgroup, and what is one for all that it stores.
template <class T>
struct StoreThread {
  int thread, group;
  const EpilogueScalars<typename T::Value>& scalars;
};

template <class T, int STEP, bool PAIRED>
class StepFill {
  using Sum = typename T::Sum;
  using Value = typename T::Value;
  using C = typename T::C;
  using D = typename T::D;
  using Slot = StoreSlot<T, STEP>;
  using Vectors = StepVectors<T, STEP>;
  using Thread = StoreThread<T>;

 public:
  // Elements of 16 bits go to a slot by stmatrix: of two blocks of 8 columns a thread has four words.
  static constexpr bool MATRICES = sizeof(D) == 2 && STEP % 16 == 0;

  // Turns a step's sums into elements of D in the slot, where C's are if beta is not 0 (never, if not ADD_C).
  template <bool ADD_C>
  GG_DEVICE static void fill(const Thread& by, const Vectors& vectors, const Sum* sums, char* at) {
    const typename Slot::Matrices matrices(at, by.thread);
    fill<ADD_C>(by, vectors, sums, at, [&matrices](int j, const u32 (&words)[4]) { matrices.put(j, words); });
  }
  // take: is given what goes by stmatrix.
  template <bool ADD_C, class Take>
  GG_DEVICE static void fill(const Thread& by, const Vectors& vectors, const Sum* sums, char* at, Take take) {
    using Block = typename Vectors::Block;
    const EpilogueScalars<Value>& scalars = by.scalars;
    const int lane = by.thread % 32, r0 = by.thread / 32 * 16 + lane / 4, c0 = lane % 4 * 2;
    const u32 place_c = Slot::template offset<C>(r0, c0), place_d = Slot::template offset<D>(r0, c0);
    if constexpr (PAIRED) return fill_pairs(lane, vectors, sums, [&](const Block& of, int half, Sum gate, Sum up) {
      return of.weighted(epilogue_value<T::ACTIVATION>(of.scaled(gate, half, 0), of.bias(half, 0), scalars) * epilogue_value<0>(of.scaled(up, half, 1), of.bias(half, 1), scalars), half, 0);
    }, at, r0);
    const auto pair = [&](const Block& of, int j, int half) {
      const Sum* const s = sums + 4 * j + 2 * half;
      Value x = of.bias(half, 0), y = of.bias(half, 1);
      if constexpr (ADD_C) {
        Value cx = 0, cy = 0;
        if (scalars.beta != Value(0)) Slot::template get<C>(at, Slot::template place<C>(place_c, j, half), cx, cy);
        x = multiply_add(scalars.beta, cx, x), y = multiply_add(scalars.beta, cy, y);
      }
      return Pair<D>::from(of.weighted(epilogue_value<T::ACTIVATION>(of.scaled(s[0], half, 0), x, scalars), half, 0), of.weighted(epilogue_value<T::ACTIVATION>(of.scaled(s[1], half, 1), y, scalars), half, 1));
    };
    // Where C and D differ in size, an element of D lies where some other thread's of C does: all are read before any is written.
    constexpr bool OVER_C = ADD_C && sizeof(C) != sizeof(D);
    if constexpr (MATRICES && !OVER_C) {
#pragma unroll
      for (int j = 0; j < STEP / 8; j += 2) {
        const Block first = vectors.block(lane, j), second = vectors.block(lane, j + 1);
        take(j, {pair(first, j, 0).bits, pair(first, j, 1).bits, pair(second, j + 1, 0).bits, pair(second, j + 1, 1).bits});
      }
    } else if constexpr (OVER_C) {
      Pair<D> values[STEP / 8][2];
#pragma unroll
      for (int j = 0; j < STEP / 8; ++j) {
        const Block of = vectors.block(lane, j);
        values[j][0] = pair(of, j, 0), values[j][1] = pair(of, j, 1);
      }
      ptx::barrier_sync<128>(1 + by.group);
#pragma unroll
      for (int j = 0; j < STEP / 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) Slot::template put<D>(at, Slot::template place<D>(place_d, j, half), values[j][half]);
    } else {
#pragma unroll
      for (int j = 0; j < STEP / 8; ++j) {
        const Block of = vectors.block(lane, j);
#pragma unroll
        for (int half = 0; half < 2; ++half) Slot::template put<D>(at, Slot::template place<D>(place_d, j, half), pair(of, j, half));
      }
    }
  }

 private:
  // Where columns are gated in pairs a thread has one element of D for each 8 columns of the product: 4 lanes have a quarter of 8 of D's columns from one block of those,
  // and the others from the next. Neighbouring lanes exchange what makes two neighbours of each: lane 0 then has columns 0 and 1, lane 1 has 4 and 5, lane 2 has 2 and 3.
  template <class Gated>
  GG_DEVICE static void fill_pairs(int lane, const Vectors& vectors, const Sum* sums, Gated gated, char* at, int row) {
    const bool odd = lane & 1;
    const u32 place_d = Slot::template offset<D>(row, (lane & 2) + (odd ? 4 : 0));
#pragma unroll
    for (int j = 0; j < STEP / 8; ++j) {
      const auto first = vectors.block(lane, 2 * j), second = vectors.block(lane, 2 * j + 1);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Sum* const s = sums + 8 * j + 2 * half;
        const Value low = gated(first, half, s[0], s[1]), high = gated(second, half, s[4], s[5]);
        const Value other = __shfl_xor_sync(0xffffffffu, odd ? low : high, 1);
        Slot::template put<D>(at, Slot::template place<D>(place_d, j, half), Pair<D>::from(odd ? other : low, odd ? high : other));
      }
    }
  }
};

}  // namespace ggemm::kernels
