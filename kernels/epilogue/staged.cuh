// SPDX-License-Identifier: Apache-2.0
// From a warpgroup's sums (layout of wgmma) to D, a step at a time (step_shape.cuh): the copy engine stores a step's slot while the next one is filled. C comes there before, as long ahead as there are slots. What the
// engine does not reach, threads move (by_threads.cuh). Some of a tile may wait for the next one's products (held.cuh).
#pragma once
#include "epilogue/held.cuh"
#include "epilogue/step_shape.cuh"
#include "ptx/barrier.cuh"
#include "ptx/tensor.cuh"

namespace ggemm::kernels {

// Shape: a StepShape. HELD_WORDS: as held.cuh has it.
template <class Shape, int HELD_WORDS>
class StagedEpilogue {
  using T = typename Shape::T;
  using Sum = typename Shape::Sum;
  using Value = typename Shape::Value;
  using Slot = typename Shape::Slot;
  using Fill = typename Shape::Fill;
  using ByThreads = typename Shape::ByThreads;
  using Vectors = typename Shape::Vectors;
  using Part = typename Shape::Part;
  using Step = typename Shape::Step;
  static constexpr int BLOCKS = Shape::BLOCKS, WN = Shape::WN, STEP = Shape::STEP, STEPS = Shape::STEPS, FIRST = Shape::FIRST, ALL = Shape::ALL, SLOTS = Shape::SLOTS, SIZE = Shape::SIZE;
  static constexpr bool PAIRED = Shape::PAIRED, INNER = Shape::INNER, ALL_BY_ENGINE = Shape::ALL_BY_ENGINE, BRINGS_C = Shape::BRINGS_C;

 public:
  using Held = HeldSteps<Shape, HELD_WORDS>;
  using Cursor = typename Shape::Cursor;

 private:
  static constexpr int HELD = Held::HELD;
  static constexpr bool LINES_WAIT = Held::LINES_WAIT;
  // What follows from a thread's number is worked out for each tile: mainloops of groups, with A in registers, with steps that wait or with more than 128 sums have no registers to keep it.
  static constexpr bool RENEWS = HELD > 0 || T::GROUPED || T::TURNS_A || BLOCKS * WN / 2 > 128;

 public:
  // All 128 threads of warpgroup `group`: asks for C of a tile, if the copy engine can bring it by `c`, a map or none, in so many steps as there are slots. Until run() has the same tile nothing else goes to slots.
  GG_DEVICE static void ask_c(const GemmParams& p, const MappedLines& c, TensorStore store, i64 row, i64 column, const StoreSlots& slots, int group, const Cursor& cursor) {
    if constexpr (BRINGS_C) {
      const EpilogueScalars<Value> scalars(p.epilogue);
      const GroupRows none{};
      const Part part = Shape::part_of(p, none, 0, row, column, static_cast<int>(threadIdx.x) % 128, group, scalars);
      if (!Shape::brings(part, c, store)) return;
      ptx::fence_async();  // after what threads read and wrote there
      await_slot<0>(part.thread, group);
      if (part.thread < 32 && ptx::elect_one()) {
#pragma unroll 1
        for (int index = 0; index < SLOTS; ++index) bring(part, c, slots, index, (cursor.slot() + index) % SLOTS);
      }
    }
  }

  // All 128 threads of warpgroup `group`. sums: blocks of 64 rows from (row, column) of D, which the copy engine knows by `map`, and C by `c`, for which ask_c() was called. cursor: goes on through all tiles.
  // With SCATTER, D's rows (where the product is transposed, its columns) are where `lines` says, of which this product's first is number `start`; it may bring weights.
  // hold: what can be held of the tile may be; it goes out by held.store(), before the next tile's run().
  GG_DEVICE static void run(const Sum (&sums)[BLOCKS][WN / 2], const GemmParams& p, const MappedLines& map, const MappedLines& c, TensorStore store, const GroupRows& lines, i64 start, i64 row, i64 column, const StoreSlots& slots, int group, Cursor& cursor, Held& held, bool hold) {
    const EpilogueScalars<Value> scalars(p.epilogue);
    const Part part = Shape::part_of(p, lines, start, row, column, RENEWS ? ptx::renewed(static_cast<int>(threadIdx.x) % 128) : static_cast<int>(threadIdx.x) % 128, group, scalars);
    if (part.rows <= 0 || part.columns <= 0) return;
    // What most tiles need, in code of its own that follows straight on: instructions come slowly where much lies between them.
    const bool waits = LINES_WAIT && hold && !Shape::adds_c(part) && !Shape::by_boxes(part, store) && ByThreads::in_lines(p.d);
    if (ALL_BY_ENGINE || waits || (!Shape::adds_c(part) && Shape::by_boxes(part, store))) {
      if (HELD > 0 && hold && (waits || !Shape::inner(store) || Shape::inside(part))) {
        if (waits) await_slot<0>(part.thread, group);
        if constexpr (LINES_WAIT) {
          if (part.thread < 32 && ptx::elect_one()) {
            if (waits) slots.waiting->lines = ByThreads::lines_of({part.row, part.column, part.rows, part.columns}, p.d);
            else slots.waiting->boxes = {map, static_cast<i32>(part.row), static_cast<i32>(part.column)};
          }
        }
        store_first<ALL - HELD, false>(sums, part, map, store, slots, cursor, waits);
        if (ALL == HELD && waits) ptx::barrier_sync<128>(1 + group);
        return held.keep(sums, part, map, waits);
      }
      store_first<ALL, true>(sums, part, map, store, slots, cursor);
    } else if constexpr (!ALL_BY_ENGINE) {
      store_any(sums, part, map, Shape::brings(part, c, store) ? c : MappedLines{}, store, slots, cursor);
    }
  }

 private:
  // The first COUNT steps; C is not read, and the copy engine stores all but what is not inside. EDGES: there may be such.
  template <int COUNT, bool EDGES>
  GG_DEVICE static void store_first(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, TensorStore store, const StoreSlots& slots, Cursor& cursor, bool waits = false) {
    if constexpr (COUNT > SLOTS) store_steps<COUNT>(sums, part, map, store, slots, cursor);
    else if constexpr (COUNT > 0) store_at_once<COUNT, EDGES>(sums, part, map, store, slots, waits);
  }

  // The same where the slots hold them at once, and wait there if it `waits`: barriers and the fence take longer than what is between them.
  template <int COUNT, bool EDGES>
  GG_DEVICE static void store_at_once(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, TensorStore store, const StoreSlots& slots, bool waits) {
    const bool edges = EDGES && Shape::inner(store);
    Vectors vectors[COUNT];
#pragma unroll
    for (int number = 0; number < COUNT; ++number) part.load(Step(part, number, true), vectors[number]);
    await_slot<0>(part.thread, part.group);
#pragma unroll
    for (int number = 0; number < COUNT; ++number)
      if (const Step step(part, number, true); step.any()) Fill::template fill<false>(part, vectors[number], sums[number / STEPS] + step.sum(), slots.slot(number));
    slot_filled(part.group, true);
    if constexpr (EDGES && INNER) {
      if (edges) {
#pragma unroll
        for (int number = 0; number < COUNT; ++number)
          if (const Step step(part, number, true); step.any() && !step.inside()) ByThreads::put_vectors(step, part.p.d, part.thread, slots.slot(number));
      }
    }
    if (!(LINES_WAIT && waits) && ptx::renewed(part.thread) < 32 && ptx::elect_one()) {
#pragma unroll
      for (int number = 0; number < COUNT; ++number)
        if (const Step step(part, number, true); step.any() && (!edges || step.inside())) Slot::store_boxes(map, step.row, step.column, slots.slot(number));
      Shape::commit_all();
    }
  }

  // The first COUNT steps, inside of D or whole boxes at its ends, C not being read: the copy engine stores all but what is not inside.
  template <int COUNT>
  GG_DEVICE static void store_steps(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, TensorStore store, const StoreSlots& slots, Cursor& cursor) {
#pragma unroll
    for (int number = 0; number < COUNT; ++number) {
      const Step step(part, number, true);
      if (!step.any()) continue;
      const bool tensor = !Shape::inner(store) || step.inside();
      char* const at = slots.slot(cursor.slot());
      Vectors vectors;
      part.load(step, vectors);
      await_slot<SLOTS - 1>(part.thread, part.group);
      Fill::template fill<false>(part, vectors, sums[number / STEPS] + step.sum(), at);
      slot_filled(part.group, tensor);
      if constexpr (INNER) {
        if (!tensor) ByThreads::put_vectors(step, part.p.d, part.thread, at);
      }
      step_done(part.thread, tensor, map, step, at, cursor);
    }
  }

  // All steps, whatever they are. What threads read and store is most of a kernel's code: where the rest leaves registers for a loop, or none for anything else, it is there once, and only the sums, which are registers, are told apart.
  static constexpr bool ROLLED = ((T::BARE && Fill::MATRICES) || (T::BLOCK_SCALED && !PAIRED)) && !T::SCATTER && BLOCKS * WN <= 256;
  // c: brings C, or is none.
  GG_DEVICE static void store_any(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, const MappedLines& c, TensorStore store, const StoreSlots& slots, Cursor& cursor) {
    if constexpr (ROLLED) {
#pragma unroll 1
      for (int number = 0; number < ALL; ++number) store_one(sums, part.renewed(), map, c, store, number, slots, cursor);
    } else {
#pragma unroll
      for (int number = 0; number < ALL; ++number) store_one(sums, part, map, c, store, number, slots, cursor);
    }
  }
  GG_DEVICE static void store_one(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, const MappedLines& c, TensorStore store, int number, const StoreSlots& slots, Cursor& cursor) {
    const int thread = part.thread, group = part.group;
    const bool brought = BRINGS_C && c.map;
    const Step step(part, number, brought);
    if (!step.any()) return;
    const bool tensor = step.by_tensor(store);
    const u32 slot = cursor.slot();
    char* const at = slots.slot(slot);
    Vectors vectors;
    part.load(step, vectors);
    if (brought) {
      // The slot of the step before is free once the copy engine has read it.
      const int index = index_of(part, number);
      if (index > 0 && thread < 32 && ptx::elect_one()) {
        ptx::store_wait_read<0>();
        bring(part, c, slots, index - 1 + SLOTS, (slot + SLOTS - 1) % SLOTS);
      }
      ptx::barrier_wait(slots.barrier(slot), cursor.phase());
      cursor.next_phase();
      if (const u32 next = (slot + 1) % SLOTS; FIRST < STEP && number % STEPS == 0 && part.columns > FIRST) ptx::barrier_wait(slots.barrier(next), cursor.phase(next));
    } else {
      await_slot<SLOTS - 1>(thread, group);
      if (Shape::adds_c(part)) {
        ByThreads::get_c(step, part.p.c, thread, at);
        ptx::barrier_sync<128>(1 + group);
      }
    }
    fill_number(sums, part, vectors, number, at);
    slot_filled(group, tensor);
    if constexpr (T::SCATTER) ByThreads::scatter(step, part.p.d, part.lines, part.start, thread, at);
    else if (!tensor) ByThreads::put_d(step, part.p.d, thread, at, Shape::to_slot_before(number, slot), Shape::follows(number + 1) && Step(part, number + 1, false).any());
    step_done(thread, !T::SCATTER && tensor, map, step, at, cursor);
  }

  // Steps that a part has, across; and of a step, how many of those are before it.
  GG_DEVICE static int steps_across(const Part& part) { return part.columns <= FIRST ? 1 : 1 + (part.columns - FIRST + STEP - 1) / STEP; }
  GG_DEVICE static int index_of(const Part& part, int number) { return number / STEPS * steps_across(part) + number % STEPS; }
  // Has C of a step, if there is one so far on, come to a slot that nobody uses. One thread.
  GG_DEVICE static void bring(const Part& part, const MappedLines& c, const StoreSlots& slots, int index, u32 slot) {
    const int across = steps_across(part), block = BLOCKS == 1 ? 0 : index / across, step = index - block * across;
    if (step >= across || block >= (part.rows + 63) / 64) return;
    const u32 barrier = slots.barrier(slot);
    ptx::barrier_arrive_expect(barrier, 64 * STEP * SIZE);
    Slot::each_box(c, part.row + block * 64, part.column + Step::columns_before(step), slots.slot(slot), [&c, barrier](u32 at, i32 inner, i32 outer) { ptx::tensor_load(at, *c.map, barrier, inner, outer); });
  }

  // fill() of the number-th step.
  template <int NUMBER = 0>
  GG_DEVICE static void fill_number(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const Vectors& vectors, int number, char* at) {
    if (number == NUMBER) {
      Fill::template fill<Shape::ADDS_C>(part, vectors, sums[NUMBER / STEPS] + Step::columns_before(NUMBER) / 2 * (PAIRED ? 2 : 1), at);
      // So that the compiler does not make one of all, with the sums moved to where it has them.
      if constexpr (ROLLED) asm volatile("// step %0" ::"n"(NUMBER));
    } else if constexpr (NUMBER + 1 < ALL) {
      fill_number<NUMBER + 1>(sums, part, vectors, number, at);
    }
  }

  // A group for every step, empty or not: store_wait_read counts steps.
  GG_DEVICE static void step_done(int thread, bool tensor, const MappedLines& map, const Step& step, const char* at, Cursor& cursor) {
    if (thread < 32 && ptx::elect_one()) {
      if (tensor) Slot::store_boxes(map, step.row, step.column, at);
      ptx::store_commit();
    }
    ++cursor;
  }
};

}  // namespace ggemm::kernels
