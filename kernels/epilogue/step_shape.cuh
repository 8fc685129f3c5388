// SPDX-License-Identifier: Apache-2.0
// How a warpgroup's part of a tile goes to D: by steps of 64 rows and some columns, each through a slot of shared memory (slot.cuh).
#pragma once
#include "epilogue/by_threads.cuh"
#include "epilogue/fill.cuh"
#include "epilogue/slot.cuh"
#include "epilogue/step_vectors.cuh"
#include "ptx/barrier.cuh"
#include "tile/columns.cuh"
#include "tile/panels.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// A part of 64 PART_BLOCKS rows and PART_WN columns of the product. RING_BYTES, WARPGROUPS: what else the CTA has in shared memory, and how many there are that store.
template <class TRAITS, int PART_BLOCKS, int PART_WN, i32 RING_BYTES, int WARPGROUPS>
struct StepShape {
  using T = TRAITS;
  static constexpr int BLOCKS = PART_BLOCKS, WN = PART_WN;
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
  using Fill = StepFill<T, STEP, PAIRED>;
  static constexpr int ALL = BLOCKS * STEPS;
  static constexpr int BYTES = SLOTS * store_slot_bytes, NOTES = store_notes_bytes(SLOTS);  // a warpgroup
  using Cursor = StoreCursor<SLOTS>;
  // One thread.
  GG_DEVICE static void init(const StoreSlots& slots) {
    for (u32 slot = 0; slot < SLOTS; ++slot) ptx::barrier_init(slots.barrier(slot), 1);
  }
  // Whether C may be read. Groups with lines that wait are such as read none.
  static constexpr bool ADDS_C = !PAIRED && !T::BY_ENGINE && !(T::GROUPED && T::LINES_WAIT);
  // Whether the copy engine can bring C of a tile, too, in boxes like D's. Where two of them overlap, C of both must be there before D of the first is stored: it may be the same memory.
  static constexpr bool BRINGS_C = ADDS_C && BOXES && !T::SCATTER && SIZE_C == SIZE && (FIRST == STEP || SLOTS > 1);

  // Boxes store all of D, and there is nothing else to do.
  static constexpr bool ALL_BY_ENGINE = T::BY_ENGINE && BOXES;

  // Only maps of groups go on behind a group's part of D.
  static constexpr bool INNER = BOXES && T::GROUPED;
  GG_DEVICE static bool inner(TensorStore store) { return INNER && store == TensorStore::inner_boxes; }

  // What a warpgroup has of D: rows and columns from (row, column) on.
  struct Part : StoreThread<T> {
    const GemmParams& p;
    const GroupRows& lines;
    i64 start, row, column;
    int rows, columns;
    GG_DEVICE void load(const StepPart& step, Vectors& vectors) const { vectors.load(p, lines, start, step, this->thread); }
    // For a loop: what follows from these is then no invariant, to be kept.
    GG_DEVICE Part renewed() const { return {{ptx::renewed(this->thread), this->group, this->scalars}, p, lines, start, ptx::renewed(row), ptx::renewed(column), rows, columns}; }
  };
  GG_DEVICE static Part part_of(const GemmParams& p, const GroupRows& lines, i64 start, i64 row, i64 column, int thread, int group, const EpilogueScalars<Value>& scalars) {
    const Columns of(p.n, column);
    return {{thread, group, scalars}, p, lines, start, row, of.output(), static_cast<int>(min_of(p.m - row, 64 * BLOCKS)), static_cast<int>(min_of((PAIRED ? p.n / 2 : p.n) - of.output(), Columns::OUTPUTS))};
  }
  GG_DEVICE static bool adds_c(const Part& part) { return ADDS_C && part.scalars.beta != Value(0); }
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

  // Whether a step's lines go on where those of the step before end, whose last vector its slot has at its end, if it is another.
  GG_DEVICE static constexpr bool follows(int number) { return SLOTS > 1 && !MN && number % STEPS > (FIRST < STEP ? 1 : 0); }
  // Bytes from a step's slot to that one's, 0 if they do not.
  GG_DEVICE static constexpr int to_slot_before(int number, int slot) { return follows(number) ? (slot ? -1 : SLOTS - 1) * store_slot_bytes : 0; }

  // One thread: who goes on by steps waits for all groups but SLOTS - 1, and so for what was stored at once.
  GG_DEVICE static void commit_all() {
#pragma unroll
    for (int group = 0; group < SLOTS; ++group) ptx::store_commit();
  }
};

}  // namespace ggemm::kernels
