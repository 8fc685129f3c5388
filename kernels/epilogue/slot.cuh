// SPDX-License-Identifier: Apache-2.0
// A step of D in a slot of shared memory: 64 rows and STEP columns, as the copy engine stores them: panels of 128 bytes along D's lines, swizzled. Where C is added, it lies there first.
#pragma once
#include "epilogue/pack.cuh"
#include "ptx/barrier.cuh"
#include "ptx/tensor.cuh"
#include "tile/panels.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// Where a step begins in D, and what there is of it.
struct StepPart {
  i64 row, column;
  int rows, columns;
};

// Lines of D: where the first begins, bytes from one to the next, how many, and bytes of each.
struct PlacedLines {
  char* first;
  i64 stride;
  int lines, bytes;
  // Bytes by which a line begins behind a multiple of 16.
  GG_DEVICE int off(int line) const { return static_cast<int>((static_cast<u32>(reinterpret_cast<u64>(first)) + static_cast<u32>(line) * static_cast<u32>(stride)) & 15); }
};

// What waits to be stored of a tile, where it belongs: for the copy engine, which one thread alone tells it; or in lines, for all. (Two places: one tile's may be read yet while the next one's is written.)
struct StoreNote {
  struct Boxes {
    MappedLines map;
    i32 row, column;
  } boxes;
  PlacedLines lines;
};
static_assert(sizeof(StoreNote) <= store_note_bytes);

// A warpgroup's slots, their barriers, and its note.
struct StoreSlots {
  char* at;
  u32 barriers;
  StoreNote* waiting;
  GG_DEVICE char* slot(u32 number) const { return at + number * store_slot_bytes; }
  GG_DEVICE u32 barrier(u32 number) const { return barriers + number * store_barrier_bytes; }
};
// The next of its SLOTS slots; and of which phase the barrier of each is then. In one register: mainloops have few to spare.
template <int SLOTS>
class StoreCursor {
  u32 word_ = 0;

 public:
  GG_DEVICE u32 slot() const { return word_ % 8; }
  GG_DEVICE void operator++() { word_ += slot() + 1 == SLOTS ? 1 - SLOTS : 1; }
  GG_DEVICE u32 phase() const { return phase(slot()); }
  GG_DEVICE u32 phase(u32 slot) const { return word_ >> (8 + slot) & 1; }
  GG_DEVICE void next_phase() { word_ ^= 256u << slot(); }
};

// Until a slot's former store has been read out, for which its thread waits (all stores but the newest NEWER), and all threads are done with it.
template <int NEWER>
GG_DEVICE void await_slot(int thread, int group) {
  if (thread < 32 && ptx::elect_one()) ptx::store_wait_read<NEWER>();
  ptx::barrier_sync<128>(1 + group);
}
// What the threads put in a slot may be read by all of them and, if `tensor`, by the copy engine.
GG_DEVICE void slot_filled(int group, bool tensor) {
  if (tensor) ptx::fence_async();
  ptx::barrier_sync<128>(1 + group);
}

template <class T, int STEP>
struct StoreSlot {
  using Value = typename T::Value;
  using D = typename T::D;
  static constexpr int SIZE = sizeof(D);
  static constexpr bool MN = T::D_MN_MAJOR;
  static constexpr int LINES = MN ? STEP : 64, LENGTH = (MN ? 64 : STEP) * SIZE;  // a step's, and bytes of each

  // Where a byte of a step's line lies in its slot; and its element (row, column).
  GG_DEVICE static u32 line_offset(int line, int byte) { return static_cast<u32>(byte / 128 * (STEP * 128) + line * 128 + ((byte % 128) ^ (line & 7) << 4)); }
  template <class E>
  GG_DEVICE static u32 offset(int row, int column) { return line_offset(MN ? column : row, (MN ? row : column) * static_cast<int>(sizeof(E))); }

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

  // Where a warp's stmatrix goes in the slot at `at`: its two blocks of 8 rows, of one block of 8 columns and then of the next. j: number of the former, which is even.
  struct Matrices {
    u32 first;
    GG_DEVICE Matrices(const char* at, int thread) {
      const int lane = thread % 32, row = thread / 32 * 16 + lane / 8 % 2 * 8, line = lane % 8, column = lane / 16 * 8;
      first = static_cast<u32>(__cvta_generic_to_shared(at)) + (MN ? offset<D>(row, column + line) : offset<D>(row + line, column));
    }
    GG_DEVICE void put(int j, const u32 (&words)[4]) const {
      if constexpr (MN) ptx::stmatrix_transposed(first + 1024 * j, words);
      else ptx::stmatrix(first ^ 16 * j, words);  // the bits of an even j are 0 in `first` before the swizzle
    }
  };

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
};

}  // namespace ggemm::kernels
