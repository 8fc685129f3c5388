// SPDX-License-Identifier: Apache-2.0
// Steps of a tile that are stored while the next one is multiplied: the last ones as elements of D in their threads' registers; and where the tile's lines are none for the copy engine, which threads store then, the others in
// slots. The sums' registers are the next tile's meanwhile, so that tensor cores wait for conversions alone, and neither for shared memory nor for barriers.
#pragma once
#include "epilogue/step_shape.cuh"

namespace ggemm::kernels {

// What a warpgroup holds. HELD_WORDS: registers of a thread for it.
template <class Shape, int HELD_WORDS>
class HeldSteps {
  using T = typename Shape::T;
  using Sum = typename Shape::Sum;
  using Slot = typename Shape::Slot;
  using ByThreads = typename Shape::ByThreads;
  using Vectors = typename Shape::Vectors;
  using Part = typename Shape::Part;
  using Step = typename Shape::Step;
  using Cursor = typename Shape::Cursor;
  static constexpr int BLOCKS = Shape::BLOCKS, WN = Shape::WN, STEP = Shape::STEP, STEPS = Shape::STEPS, ALL = Shape::ALL, SLOTS = Shape::SLOTS, SIZE = Shape::SIZE;
  static constexpr bool MN = Shape::MN;
  static constexpr int WORDS = STEP * SIZE / 8;  // a thread's, of a step
  static constexpr int FITTING = Shape::Fill::MATRICES && Shape::BOXES && !Shape::PAIRED && !T::SCATTER ? HELD_WORDS / WORDS : 0;

 public:
  // So many of a tile's steps, the last ones, may wait until the next tile's products are under way.
  static constexpr int HELD = FITTING < ALL ? FITTING : ALL;

  // Whether the steps of a tile whose lines are none for the copy engine wait so too: those that are not held, in slots.
  static constexpr bool LINES_WAIT = HELD > 0 && T::LINES_WAIT && !T::GATHER && Shape::FIRST == STEP && ALL - HELD <= SLOTS && SLOTS > 1;

  // Nothing is held. (Words are set too: ptxas would keep registers for those of the tile before.)
  GG_DEVICE HeldSteps() { clear(); }
  GG_DEVICE void clear() {
    steps_ = 0;
#pragma unroll
    for (int i = 0; i < HELD; ++i)
#pragma unroll
      for (int j = 0; j < WORDS; ++j) words_[i][j] = 0;
  }

  // Converts the last HELD steps, which will be stored as boxes, or, if the tile `waits`, as lines.
  GG_DEVICE void keep(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, bool waits) {
    u32 steps = 0;
    if constexpr (!LINES_WAIT) map_ = map, row_ = static_cast<i32>(part.row), column_ = static_cast<i32>(part.column);
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
      const int number = ALL - HELD + i;
      const Step step(part, number, true);
      Vectors vectors;
      part.load(step, vectors);
      Shape::Fill::template fill<false>(part, vectors, sums[number / STEPS] + step.sum(), nullptr, [this, i](int j, const u32 (&words)[4]) {
#pragma unroll
        for (int word = 0; word < 4; ++word) words_[i][2 * j + word] = words[word];
      });
      steps |= (step.any() ? 1u : 0u) << i;
    }
    steps_ = LINES_WAIT && waits ? by_lines : steps;
  }

  // All 128 threads of warpgroup `group`: stores the number-th step of those held, or the next one of lines; or all that are left, if it is below 0: nothing is held then.
  GG_DEVICE void store(i32 number, const StoreSlots& slots, int group, Cursor& cursor) {
    if constexpr (LINES_WAIT) {
      if (steps_ & by_lines) {
        if (number >= 0) return store_waiting(slots, group);
#pragma unroll 1
        while (steps_ & by_lines) store_waiting(slots, group);
        return clear();
      }
    }
    if (number < 0) {
#pragma unroll
      for (int first = 0; first < HELD; first += SLOTS) store_steps<SLOTS>(first, 0, slots, group);
      return clear();
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
      if (i != number || !(steps_ >> i & 1)) continue;
      store_steps<1>(i, cursor.slot(), slots, group);
      steps_ &= ~(1u << i);
      ++cursor;
    }
  }

 private:
  u32 words_[HELD ? HELD : 1][WORDS];
  MappedLines map_;
  i32 row_, column_;  // of D, where the tile's part begins
  u32 steps_;         // bits: those that are still to be stored; or, of such as threads store, `by_lines` and the number of the next one
  static constexpr u32 by_lines = 0x80000000;
  static_assert(ALL <= 16, "a step's number has four bits");

  // The next of a tile's steps that threads store, while its sums' registers are the next tile's already.
  GG_DEVICE void store_waiting(const StoreSlots& slots, int group) {
    const int number = static_cast<int>(steps_ & 15), thread = ptx::renewed(static_cast<int>(threadIdx.x) % 128), slot = number % SLOTS;
    steps_ = number + 1 < ALL ? steps_ + 1 : 0;
    const PlacedLines& part = slots.waiting->lines;
    const int block = number / STEPS * 64, across = number % STEPS * STEP, line = MN ? across : block, byte = (MN ? block : across) * SIZE;
    if (line >= part.lines || byte >= part.bytes) return;
    char* const at = slots.slot(slot);
    if (number >= ALL - HELD) {
      await_readers(group);
#pragma unroll
      for (int i = 0; i < HELD; ++i)
        if (i == ptx::renewed(number) - (ALL - HELD)) put(i, at, thread);  // (the compiler would take the number for an index, which registers have not)
      slot_filled(group, false);
    }
    ByThreads::put_lines({part.first + line * part.stride + byte, part.stride, static_cast<int>(min_of(part.lines - line, Slot::LINES)), static_cast<int>(min_of(part.bytes - byte, Slot::LENGTH))}, thread, at,
                         Shape::to_slot_before(number, slot), Shape::follows(number + 1) && part.bytes > byte + Slot::LENGTH);
  }
  // Until all threads are done with the slots' steps.
  GG_DEVICE static void await_readers(int group) { ptx::barrier_sync<128>(1 + group); }
  GG_DEVICE void put(int i, char* at, int thread) {
    const u32 (&words)[WORDS] = words_[i];
    const typename Slot::Matrices matrices(at, thread);
#pragma unroll
    for (int j = 0; j < WORDS / 4; ++j) matrices.put(2 * j, {words[4 * j], words[4 * j + 1], words[4 * j + 2], words[4 * j + 3]});
  }

  // Of COUNT steps from the first-th held one on, those that are still held, through slots from `slot` on: one in its turn, or as many as there are slots, at once.
  template <int COUNT>
  GG_DEVICE void store_steps(int first, u32 slot, const StoreSlots& slots, int group) {
    static_assert(COUNT == 1 || COUNT == SLOTS);
    const u32 steps = steps_ >> first & ((1u << COUNT) - 1);
    if (!steps) return;
    const int thread = ptx::renewed(static_cast<int>(threadIdx.x) % 128);
    await_slot<SLOTS - COUNT>(thread, group);
#pragma unroll
    for (int i = 0; i < COUNT && first + i < HELD; ++i) {
      if (steps >> i & 1) put(first + i, slots.slot(slot + i), thread);
    }
    slot_filled(group, true);
    if (thread < 32 && ptx::elect_one()) {
#pragma unroll
      for (int i = 0; i < COUNT && first + i < HELD; ++i) {
        const int step = ALL - HELD + first + i;
        const StoreNote::Boxes to = LINES_WAIT ? slots.waiting->boxes : StoreNote::Boxes{map_, row_, column_};
        if (steps >> i & 1) Slot::store_boxes(to.map, to.row + step / STEPS * 64, to.column + Step::columns_before(step), slots.slot(slot + i));
      }
      if constexpr (COUNT == 1) ptx::store_commit();
      else Shape::commit_all();
    }
  }
};

}  // namespace ggemm::kernels
