// SPDX-License-Identifier: Apache-2.0
// From a warpgroup's sums (layout of wgmma) to D, 64 rows and some columns at a time, through a slot of shared memory (slot.cuh): the copy engine stores the slot while the next one is filled.
// C comes there before, as long ahead as there are slots. What the engine does not reach, threads move (by_threads.cuh).
#pragma once
#include "epilogue/by_threads.cuh"
#include "epilogue/pack.cuh"
#include "epilogue/slot.cuh"
#include "epilogue/step_vectors.cuh"
#include "ptx/barrier.cuh"
#include "ptx/tensor.cuh"
#include "tile/columns.cuh"
#include "tile/panels.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// RING_BYTES, WARPGROUPS: what else the CTA has in shared memory, and how many there are that store. HELD_WORDS: registers of a thread for steps that wait (Held).
template <class T, int BLOCKS, int WN, i32 RING_BYTES, int WARPGROUPS, int HELD_WORDS>
class StagedEpilogue {
  using Sum = typename T::Sum;
  using Value = typename T::Value;
  using C = typename T::C;
  using D = typename T::D;
  static constexpr int SIZE = sizeof(D);
  static constexpr bool MN = T::D_MN_MAJOR;
  using Columns = TileColumns<T::GATE, WN>;
  static constexpr bool PAIRED = Columns::PAIRED;
  // Of D's columns. Pairs have no C.
  static constexpr int SIZE_C = PAIRED ? SIZE : static_cast<int>(sizeof(C));
  static constexpr int STEP = store_columns(Columns::OUTPUTS, SIZE_C, SIZE, MN);
  static constexpr bool BOXES = store_by_boxes(Columns::OUTPUTS, SIZE_C, SIZE, MN);
  static_assert(STEP % 8 == 0 && Columns::OUTPUTS % 8 == 0, "a step is whole blocks of 8 columns");
  static constexpr int STEPS = (Columns::OUTPUTS + STEP - 1) / STEP, FIRST = Columns::OUTPUTS - (STEPS - 1) * STEP;  // across, and columns of the first of them
  static constexpr int SLOTS = store_slots(BLOCKS, Columns::OUTPUTS, SIZE_C, SIZE, MN, RING_BYTES, WARPGROUPS, T::TEAMS);
  using Slot = StoreSlot<T, STEP>;
  using ByThreads = StepByThreads<T, STEP>;
  using Vectors = StepVectors<T, STEP>;

  // Elements of 16 bits go to a slot by stmatrix: of two blocks of 8 columns a thread has four words.
  static constexpr bool MATRICES = SIZE == 2 && STEP % 16 == 0;
  static constexpr int WORDS = STEP * SIZE / 8;  // a thread's, of a step
  static constexpr int ALL = BLOCKS * STEPS, FITTING = MATRICES && BOXES && !PAIRED && !T::SCATTER ? HELD_WORDS / WORDS : 0;

 public:
  static constexpr int BYTES = SLOTS * store_slot_bytes, NOTES = store_notes_bytes(SLOTS);  // a warpgroup
  using Cursor = StoreCursor<SLOTS>;
  // One thread.
  GG_DEVICE static void init(const StoreSlots& slots) {
    for (u32 slot = 0; slot < SLOTS; ++slot) ptx::barrier_init(slots.barrier(slot), 1);
  }
  // Whether the copy engine can bring C of a tile, too, in boxes like D's. Where two of them overlap, C of both must be there before D of the first is stored: it may be the same memory.
  static constexpr bool BRINGS_C = !T::BY_ENGINE && BOXES && !PAIRED && !T::SCATTER && SIZE_C == SIZE && (FIRST == STEP || SLOTS > 1);

  // Boxes store all of D, and there is nothing else to do.
  static constexpr bool ALL_BY_ENGINE = T::BY_ENGINE && BOXES;

  // So many of a tile's steps, the last ones, may wait until the next tile's products are under way.
  static constexpr int HELD = FITTING < ALL ? FITTING : ALL;

  // Whether the steps of a tile whose lines are none for the copy engine wait so too: those that are not held, in slots.
  static constexpr bool LINES_WAIT = HELD > 0 && T::LINES_WAIT && !T::GATHER && FIRST == STEP && ALL - HELD <= SLOTS && SLOTS > 1;

  // What follows from a thread's number is worked out for each tile: mainloops of groups, with A in registers, with steps that wait or with more than 128 sums have no registers to keep it.
  static constexpr bool RENEWS = HELD > 0 || T::GROUPED || T::TURNS_A || BLOCKS * WN / 2 > 128;

  // Such steps, as elements of D in their threads' registers. The sums' registers are the next tile's meanwhile, so that tensor cores wait for conversions alone, and neither for shared memory nor for barriers.
  struct Held {
    u32 words[HELD ? HELD : 1][WORDS];
    MappedLines map;
    i32 row, column;  // of D, where the tile's part begins
    u32 steps;        // bits: those that are still to be stored; or, of such as threads store, `by_lines` and the number of the next one
    // Nothing is held. (Words are set too: ptxas would keep registers for those of the tile before.)
    GG_DEVICE Held() { clear(); }
    GG_DEVICE void clear() {
      steps = 0;
#pragma unroll
      for (int i = 0; i < HELD; ++i)
#pragma unroll
        for (int j = 0; j < WORDS; ++j) words[i][j] = 0;
    }
  };

  // All 128 threads of warpgroup `group`: asks for C of a tile, if the copy engine can bring it by `c`, a map or none, in so many steps as there are slots. Until run() has the same tile nothing else goes to slots.
  GG_DEVICE static void ask_c(const GemmParams& p, const MappedLines& c, TensorStore store, i64 row, i64 column, const StoreSlots& slots, int group, const Cursor& cursor) {
    if constexpr (BRINGS_C) {
      const EpilogueScalars<Value> scalars(p.epilogue);
      const GroupRows none{};
      const Part part = part_of(p, none, 0, row, column, static_cast<int>(threadIdx.x) % 128, group, scalars);
      if (!brings(part, c, store)) return;
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
  // hold: what can be held of the tile may be; it goes out by store_held, before the next tile's run().
  GG_DEVICE static void run(const Sum (&sums)[BLOCKS][WN / 2], const GemmParams& p, const MappedLines& map, const MappedLines& c, TensorStore store, const GroupRows& lines, i64 start, i64 row, i64 column, const StoreSlots& slots, int group, Cursor& cursor, Held& held, bool hold) {
    const EpilogueScalars<Value> scalars(p.epilogue);
    const Part part = part_of(p, lines, start, row, column, RENEWS ? ptx::renewed(static_cast<int>(threadIdx.x) % 128) : static_cast<int>(threadIdx.x) % 128, group, scalars);
    if (part.rows <= 0 || part.columns <= 0) return;
    // What most tiles need, in code of its own that follows straight on: instructions come slowly where much lies between them.
    const bool waits = LINES_WAIT && hold && !adds_c(part) && !by_boxes(part, store) && ByThreads::in_lines(p.d);
    if (ALL_BY_ENGINE || waits || (!adds_c(part) && by_boxes(part, store))) {
      if (HELD > 0 && hold && (waits || !inner(store) || inside(part))) {
        if (waits) await_slot<0>(part.thread, group);
        if constexpr (LINES_WAIT) {
          if (part.thread < 32 && ptx::elect_one()) {
            if (waits) slots.waiting->lines = ByThreads::lines_of({part.row, part.column, part.rows, part.columns}, p.d);
            else slots.waiting->boxes = {map, static_cast<i32>(part.row), static_cast<i32>(part.column)};
          }
        }
        store_first<ALL - HELD, false>(sums, part, map, store, slots, cursor, waits);
        if (ALL == HELD && waits) ptx::barrier_sync<128>(1 + group);
        return keep(sums, part, map, held, waits);
      }
      store_first<ALL, true>(sums, part, map, store, slots, cursor);
    } else if constexpr (!ALL_BY_ENGINE) {
      store_any(sums, part, map, brings(part, c, store) ? c : MappedLines{}, store, slots, cursor);
    }
  }

  // All 128 threads of warpgroup `group`: stores the number-th step of those held, or the next one of lines; or all that are left, if it is below 0: nothing is held then.
  GG_DEVICE static void store_held(Held& held, i32 number, const StoreSlots& slots, int group, Cursor& cursor) {
    if constexpr (LINES_WAIT) {
      if (held.steps & by_lines) {
        if (number >= 0) return store_waiting(held, slots, group);
#pragma unroll 1
        while (held.steps & by_lines) store_waiting(held, slots, group);
        return held.clear();
      }
    }
    if (number < 0) {
#pragma unroll
      for (int first = 0; first < HELD; first += SLOTS) store_held_steps<SLOTS>(held, first, 0, slots, group);
      return held.clear();
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
      if (i != number || !(held.steps >> i & 1)) continue;
      store_held_steps<1>(held, i, cursor.slot(), slots, group);
      held.steps &= ~(1u << i);
      ++cursor;
    }
  }

 private:
  static constexpr u32 by_lines = 0x80000000;
  // Only maps of groups go on behind a group's part of D.
  static constexpr bool INNER = BOXES && T::GROUPED;
  GG_DEVICE static bool inner(TensorStore store) { return INNER && store == TensorStore::inner_boxes; }

  // What a warpgroup has of D: rows and columns from (row, column) on.
  struct Part {
    const GemmParams& p;
    const GroupRows& lines;
    i64 start, row, column;
    int rows, columns;
    int thread, group;
    const EpilogueScalars<Value>& scalars;
    GG_DEVICE void load(const StepPart& step, Vectors& vectors) const { vectors.load(p, lines, start, step, thread); }
    // For a loop: what follows from these is then no invariant, to be kept.
    GG_DEVICE Part renewed() const { return {p, lines, start, ptx::renewed(row), ptx::renewed(column), rows, columns, ptx::renewed(thread), group, scalars}; }
  };
  GG_DEVICE static Part part_of(const GemmParams& p, const GroupRows& lines, i64 start, i64 row, i64 column, int thread, int group, const EpilogueScalars<Value>& scalars) {
    const Columns of(p.n, column);
    return {p, lines, start, row, of.output(), static_cast<int>(min_of(p.m - row, 64 * BLOCKS)), static_cast<int>(min_of((PAIRED ? p.n / 2 : p.n) - of.output(), Columns::OUTPUTS)), thread, group, scalars};
  }
  GG_DEVICE static bool adds_c(const Part& part) { return !PAIRED && !T::BY_ENGINE && part.scalars.beta != Value(0); }
  // Whether nothing of the part lies behind D's rows and columns.
  GG_DEVICE static bool inside(const Part& part) { return part.rows == 64 * BLOCKS && part.columns == Columns::OUTPUTS; }
  // Whether the copy engine stores all steps, but for those of `inner` that are not inside.
  GG_DEVICE static bool by_boxes(const Part& part, TensorStore store) {
    const bool whole = MN ? part.rows == 64 * BLOCKS : part.columns == Columns::OUTPUTS;
    return BOXES && !T::SCATTER && (store == TensorStore::boxes || (store == TensorStore::whole_boxes && whole) || inner(store));
  }
  // Whether it brings C, by `c`.
  GG_DEVICE static bool brings(const Part& part, const MappedLines& c, TensorStore store) {
    return BRINGS_C && c.map && adds_c(part) && part.rows > 0 && part.columns > 0 && by_boxes(part, store) && (!inner(store) || inside(part));
  }

  // A step of it: the rows of a block and some columns, from (row, column) of D on; either may be none. overlap: a first step of fewer columns has those of the next one too,
  // which are stored twice then, as boxes are of one size. (Not where C is read, which may be D.)
  struct Step : StepPart {
    int across;  // number of the first column
    bool narrow;
    GG_DEVICE Step(const Part& part, int number, bool overlap) {
      across = columns_before(number);
      row = part.row + number / STEPS * 64, column = part.column + across;
      rows = min_of(part.rows - number / STEPS * 64, 64), columns = min_of(part.columns - across, across == 0 && !overlap ? FIRST : STEP);
      narrow = across == 0 && !overlap && FIRST < STEP;
    }
    GG_DEVICE static constexpr int columns_before(int number) { return number % STEPS ? FIRST + (number % STEPS - 1) * STEP : 0; }
    GG_DEVICE bool any() const { return rows > 0 && columns > 0; }
    // Its first sum, of those of a row and its block.
    GG_DEVICE int sum() const { return across / 2 * (PAIRED ? 2 : 1); }
    // Of D as a whole, so that nothing is written behind it.
    GG_DEVICE bool inside() const { return rows == 64 && columns == STEP; }
    GG_DEVICE bool by_tensor(TensorStore store) const {
      return BOXES && !narrow && (store == TensorStore::boxes || (store == TensorStore::whole_boxes && (MN ? rows == 64 : columns == STEP)) || (inner(store) && inside()));
    }
  };

  // Until a slot's former store has been read out, for which its thread waits (all stores but the newest NEWER), and all threads are done with it.
  template <int NEWER>
  GG_DEVICE static void await_slot(int thread, int group) {
    if (thread < 32 && ptx::elect_one()) ptx::store_wait_read<NEWER>();
    ptx::barrier_sync<128>(1 + group);
  }
  // What the threads put in a slot may be read by all of them and, if `tensor`, by the copy engine.
  GG_DEVICE static void slot_filled(int group, bool tensor) {
    if (tensor) ptx::fence_async();
    ptx::barrier_sync<128>(1 + group);
  }

  // The first COUNT steps; C is not read, and the copy engine stores all but what is not inside. EDGES: there may be such.
  template <int COUNT, bool EDGES>
  GG_DEVICE static void store_first(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, TensorStore store, const StoreSlots& slots, Cursor& cursor, bool waits = false) {
    if constexpr (COUNT > SLOTS) store_steps<COUNT>(sums, part, map, store, slots, cursor);
    else if constexpr (COUNT > 0) store_at_once<COUNT, EDGES>(sums, part, map, store, slots, waits);
  }

  // The same where the slots hold them at once, and wait there if it `waits`: barriers and the fence take longer than what is between them.
  template <int COUNT, bool EDGES>
  GG_DEVICE static void store_at_once(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, TensorStore store, const StoreSlots& slots, bool waits) {
    const bool edges = EDGES && inner(store);
    Vectors vectors[COUNT];
#pragma unroll
    for (int number = 0; number < COUNT; ++number) part.load(Step(part, number, true), vectors[number]);
    await_slot<0>(part.thread, part.group);
#pragma unroll
    for (int number = 0; number < COUNT; ++number)
      if (const Step step(part, number, true); step.any()) fill<false>(part, vectors[number], sums[number / STEPS] + step.sum(), slots.slot(number));
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
        if (const Step step(part, number, true); step.any() && (!edges || step.inside())) store_boxes(map, step.row, step.column, slots.slot(number));
      commit_all();
    }
  }
  // One thread: who goes on by steps waits for all groups but SLOTS - 1, and so for what was stored at once.
  GG_DEVICE static void commit_all() {
#pragma unroll
    for (int group = 0; group < SLOTS; ++group) ptx::store_commit();
  }

  static_assert(ALL <= 16, "a step's number has four bits");
  // The next of a tile's steps that threads store, while its sums' registers are the next tile's already.
  GG_DEVICE static void store_waiting(Held& held, const StoreSlots& slots, int group) {
    const int number = static_cast<int>(held.steps & 15), thread = ptx::renewed(static_cast<int>(threadIdx.x) % 128), slot = number % SLOTS;
    held.steps = number + 1 < ALL ? held.steps + 1 : 0;
    const PlacedLines& part = slots.waiting->lines;
    const int block = number / STEPS * 64, across = number % STEPS * STEP, line = MN ? across : block, byte = (MN ? block : across) * SIZE;
    if (line >= part.lines || byte >= part.bytes) return;
    char* const at = slots.slot(slot);
    if (number >= ALL - HELD) {
      await_readers(group);
#pragma unroll
      for (int i = 0; i < HELD; ++i)
        if (i == ptx::renewed(number) - (ALL - HELD)) put_held(held, i, at, thread);  // (the compiler would take the number for an index, which registers have not)
      slot_filled(group, false);
    }
    ByThreads::put_lines({part.first + line * part.stride + byte, part.stride, static_cast<int>(min_of(part.lines - line, Slot::LINES)), static_cast<int>(min_of(part.bytes - byte, Slot::LENGTH))}, thread, at,
                         to_slot_before(number, slot), follows(number + 1) && part.bytes > byte + Slot::LENGTH);
  }
  // Until all threads are done with the slots' steps.
  GG_DEVICE static void await_readers(int group) { ptx::barrier_sync<128>(1 + group); }
  GG_DEVICE static void put_held(const Held& held, int i, char* at, int thread) {
    const u32 (&words)[WORDS] = held.words[i];
    const typename Slot::Matrices matrices(at, thread);
#pragma unroll
    for (int j = 0; j < WORDS / 4; ++j) matrices.put(2 * j, {words[4 * j], words[4 * j + 1], words[4 * j + 2], words[4 * j + 3]});
  }

  // Of COUNT steps from the first-th held one on, those that are still held, through slots from `slot` on: one in its turn, or as many as there are slots, at once.
  template <int COUNT>
  GG_DEVICE static void store_held_steps(const Held& held, int first, u32 slot, const StoreSlots& slots, int group) {
    static_assert(COUNT == 1 || COUNT == SLOTS);
    const u32 steps = held.steps >> first & ((1u << COUNT) - 1);
    if (!steps) return;
    const int thread = ptx::renewed(static_cast<int>(threadIdx.x) % 128);
    await_slot<SLOTS - COUNT>(thread, group);
#pragma unroll
    for (int i = 0; i < COUNT && first + i < HELD; ++i) {
      if (steps >> i & 1) put_held(held, first + i, slots.slot(slot + i), thread);
    }
    slot_filled(group, true);
    if (thread < 32 && ptx::elect_one()) {
#pragma unroll
      for (int i = 0; i < COUNT && first + i < HELD; ++i) {
        const int step = ALL - HELD + first + i;
        const StoreNote::Boxes to = LINES_WAIT ? slots.waiting->boxes : StoreNote::Boxes{held.map, held.row, held.column};
        if (steps >> i & 1) store_boxes(to.map, to.row + step / STEPS * 64, to.column + Step::columns_before(step), slots.slot(slot + i));
      }
      if constexpr (COUNT == 1) ptx::store_commit();
      else commit_all();
    }
  }

  // Converts the last HELD steps, which will be stored as boxes, or, if the tile `waits`, as lines.
  GG_DEVICE static void keep(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, Held& held, bool waits) {
    u32 steps = 0;
    if constexpr (!LINES_WAIT) held.map = map, held.row = static_cast<i32>(part.row), held.column = static_cast<i32>(part.column);
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
      const int number = ALL - HELD + i;
      const Step step(part, number, true);
      Vectors vectors;
      part.load(step, vectors);
      fill<false>(part, vectors, sums[number / STEPS] + step.sum(), nullptr, [&held, i](int j, const u32 (&words)[4]) {
#pragma unroll
        for (int word = 0; word < 4; ++word) held.words[i][2 * j + word] = words[word];
      });
      steps |= (step.any() ? 1u : 0u) << i;
    }
    held.steps = LINES_WAIT && waits ? by_lines : steps;
  }

  // The first COUNT steps, inside of D or whole boxes at its ends, C not being read: the copy engine stores all but what is not inside.
  template <int COUNT>
  GG_DEVICE static void store_steps(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const MappedLines& map, TensorStore store, const StoreSlots& slots, Cursor& cursor) {
#pragma unroll
    for (int number = 0; number < COUNT; ++number) {
      const Step step(part, number, true);
      if (!step.any()) continue;
      const bool tensor = !inner(store) || step.inside();
      char* const at = slots.slot(cursor.slot());
      Vectors vectors;
      part.load(step, vectors);
      await_slot<SLOTS - 1>(part.thread, part.group);
      fill<false>(part, vectors, sums[number / STEPS] + step.sum(), at);
      slot_filled(part.group, tensor);
      if constexpr (INNER) {
        if (!tensor) ByThreads::put_vectors(step, part.p.d, part.thread, at);
      }
      step_done(part.thread, tensor, map, step, at, cursor);
    }
  }

  // All steps, whatever they are. What threads read and store is most of a kernel's code: where the rest leaves registers for a loop, or none for anything else, it is there once, and only the sums, which are registers, are told apart.
  static constexpr bool ROLLED = ((T::BARE && MATRICES) || (T::BLOCK_SCALED && !PAIRED)) && !T::SCATTER && BLOCKS * WN <= 256;
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
      if (adds_c(part)) {
        ByThreads::get_c(step, part.p.c, thread, at);
        ptx::barrier_sync<128>(1 + group);
      }
    }
    fill_number(sums, part, vectors, number, at);
    slot_filled(group, tensor);
    if constexpr (T::SCATTER) ByThreads::scatter(step, part.p.d, part.lines, part.start, thread, at);
    else if (!tensor) ByThreads::put_d(step, part.p.d, thread, at, to_slot_before(number, slot), follows(number + 1) && Step(part, number + 1, false).any());
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
    each_box(c, part.row + block * 64, part.column + Step::columns_before(step), slots.slot(slot), [&c, barrier](u32 at, i32 inner, i32 outer) { ptx::tensor_load(at, *c.map, barrier, inner, outer); });
  }

  // fill() of the number-th step.
  template <int NUMBER = 0>
  GG_DEVICE static void fill_number(const Sum (&sums)[BLOCKS][WN / 2], const Part& part, const Vectors& vectors, int number, char* at) {
    if (number == NUMBER) {
      fill<true>(part, vectors, sums[NUMBER / STEPS] + Step::columns_before(NUMBER) / 2 * (PAIRED ? 2 : 1), at);
      // So that the compiler does not make one of all, with the sums moved to where it has them.
      if constexpr (ROLLED) asm volatile("// step %0" ::"n"(NUMBER));
    } else if constexpr (NUMBER + 1 < ALL) {
      fill_number<NUMBER + 1>(sums, part, vectors, number, at);
    }
  }

  // A group for every step, empty or not: store_wait_read counts steps.
  GG_DEVICE static void step_done(int thread, bool tensor, const MappedLines& map, const Step& step, const char* at, Cursor& cursor) {
    if (thread < 32 && ptx::elect_one()) {
      if (tensor) store_boxes(map, step.row, step.column, at);
      ptx::store_commit();
    }
    ++cursor;
  }

  // Whether a step's lines go on where those of the step before end, whose last vector its slot has at its end, if it is another.
  GG_DEVICE static constexpr bool follows(int number) { return SLOTS > 1 && !MN && number % STEPS > (FIRST < STEP ? 1 : 0); }
  // Bytes from a step's slot to that one's, 0 if they do not.
  GG_DEVICE static constexpr int to_slot_before(int number, int slot) { return follows(number) ? (slot ? -1 : SLOTS - 1) * store_slot_bytes : 0; }

  // Calls each(where it is, inner, outer coordinate) for the boxes of a step at (row, column) of a matrix, in the slot `at`.
  template <class Each>
  GG_DEVICE static void each_box(const MappedLines& of, i64 row, i64 column, const char* at, Each each) {
    const u32 first = static_cast<u32>(__cvta_generic_to_shared(at));
    const i32 line = T::BATCH ? 0 : of.line;
    if constexpr (MN) {
#pragma unroll
      for (int part = 0; part < 64 * SIZE / 128; ++part) each(first + part * STEP * 128, static_cast<i32>(row) + part * (128 / SIZE), line + static_cast<i32>(column));
    } else {
      each(first, static_cast<i32>(column), line + static_cast<i32>(row));
    }
  }
  GG_DEVICE static void store_boxes(const MappedLines& to, i64 row, i64 column, const char* at) {
    each_box(to, row, column, at, [&to](u32 from, i32 inner, i32 outer) {
      if constexpr (T::BATCH) ptx::tensor_store(*to.map, from, inner, outer, to.line);
      else ptx::tensor_store(*to.map, from, inner, outer);
    });
  }

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

  // Turns a step's sums into elements of D in the slot, where C's are if beta is not 0 (never, if not ADD_C).
  template <bool ADD_C>
  GG_DEVICE static void fill(const Part& part, const Vectors& vectors, const Sum* sums, char* at) {
    const typename Slot::Matrices matrices(at, part.thread);
    fill<ADD_C>(part, vectors, sums, at, [&matrices](int j, const u32 (&words)[4]) { matrices.put(j, words); });
  }
  // take: is given what goes by stmatrix.
  template <bool ADD_C, class Take>
  GG_DEVICE static void fill(const Part& part, const Vectors& vectors, const Sum* sums, char* at, Take take) {
    using Block = typename Vectors::Block;
    const EpilogueScalars<Value>& scalars = part.scalars;
    const int lane = part.thread % 32, r0 = part.thread / 32 * 16 + lane / 4, c0 = lane % 4 * 2;
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
      ptx::barrier_sync<128>(1 + part.group);
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
};

}  // namespace ggemm::kernels
