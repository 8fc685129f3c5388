// SPDX-License-Identifier: Apache-2.0
// What the copy engine does not move between a step's slot and memory, threads do: C, and D where its strides, its base or a tile's end are none for the engine. In aligned vectors where lines are contiguous;
// else neighbouring threads take neighbouring elements.
#pragma once
#include "epilogue/slot.cuh"
#include "grouped_call.cuh"
#include "tile/vectors.cuh"

namespace ggemm::kernels {

// All by a warpgroup, of which each call names the thread.
template <class T, int STEP>
class StepByThreads {
  using Slot = StoreSlot<T, STEP>;
  using C = typename T::C;
  using D = typename T::D;
  static constexpr int SIZE = Slot::SIZE, LINES = Slot::LINES, LENGTH = Slot::LENGTH;
  static constexpr bool MN = Slot::MN;

 public:
  // C of a step, vectors of 16 bytes at once where they are aligned.
  GG_DEVICE static void get_c(const StepPart& step, const Matrix& c, int thread, char* at) {
    constexpr int SIZE_OF_C = static_cast<int>(sizeof(C)), LENGTH_OF_C = LENGTH / SIZE * SIZE_OF_C, ACROSS = LENGTH_OF_C / 16;
    constexpr int TOGETHER = sizeof(typename T::A) == 1 ? 1 : 4;  // kernels of 8-bit operands have few registers left
    const i64 stride = (MN ? c.col_stride : c.row_stride) * SIZE_OF_C;
    const char* const first = static_cast<const char*>(c.data) + (step.row * c.row_stride + step.column * c.col_stride) * SIZE_OF_C;
    const bool whole = MN ? step.rows == 64 : step.columns == STEP;
    if constexpr (LENGTH_OF_C % 16 == 0) {
      if (whole && (MN ? c.row_stride : c.col_stride) == 1 && ((reinterpret_cast<u64>(first) | static_cast<u64>(stride)) & 15) == 0) {
        const int lines = MN ? step.columns : step.rows;
#pragma unroll TOGETHER
        for (int piece = thread; piece < LINES * ACROSS; piece += 128) {
          const int line = piece / ACROSS, byte = piece % ACROSS * 16;
          if (line < lines) *reinterpret_cast<ptx::Vector16*>(at + Slot::line_offset(line, byte)) = ptx::load_vector(first + line * stride + byte);
        }
        return;
      }
    }
    move<const C, 4>(thread, c, step, [at](const C& e, int i, int j) { *reinterpret_cast<C*>(at + Slot::template offset<C>(i, j)) = e; });
  }
  // D of a step. before: bytes from this slot to that of the step before, if that has the part of D's lines ahead of this, else 0; continues: whether there is a step behind it so.
  GG_DEVICE static void put_d(const StepPart& step, const Matrix& d, int thread, const char* at, int before, bool continues) {
    if constexpr (LENGTH % 16 == 0)
      if (in_lines(d)) return put_lines(lines_of(step, d), thread, at, before, continues);
    move<D, 2>(thread, d, step, [at](D& e, int i, int j) { e = *reinterpret_cast<const D*>(at + Slot::template offset<D>(i, j)); });
  }

  // Whether D's lines are contiguous; and where a step's are.
  GG_DEVICE static bool in_lines(const Matrix& d) { return (MN ? d.row_stride : d.col_stride) == 1; }
  GG_DEVICE static PlacedLines lines_of(const StepPart& step, const Matrix& d) {
    return {static_cast<char*>(const_cast<void*>(d.data)) + (step.row * d.row_stride + step.column * d.col_stride) * SIZE, (MN ? d.col_stride : d.row_stride) * SIZE, MN ? step.columns : step.rows, (MN ? step.rows : step.columns) * SIZE};
  }
  // D where its lines are contiguous: in aligned vectors of 16 bytes. A line may begin anywhere, so a vector of D is parts of two of the slot's. Where the steps of a row of D follow one
  // another along its lines, what a step has of a line's last vector is stored with the next one's first bytes; `before` says where that of the step before is, if there is one in line. What is left at
  // the ends of a tile's lines is stored in smaller pieces, by a thread each.
  GG_DEVICE static void put_lines(const PlacedLines& to, int thread, const char* at, int before, bool continues) {
    constexpr int ACROSS = LENGTH / 16, DOWN = 128 / ACROSS;
    static_assert(DOWN * SIZE % 16 == 0, "lines so far apart begin equally far off");
    // What D's vector has that is `number` of the line's, counted from the one that holds its first byte. What is not of the line, nor of the one before, counts for nothing.
    const auto vector = [&](int line, int number, int off) {
      const auto of = [line](const char* slot, int vector) { return *reinterpret_cast<const ptx::Vector16*>(slot + Slot::line_offset(line, 16 * vector)); };
      const int low = off ? number - 1 : number;
      return joined(low >= 0 ? of(at, low) : of(at + before, ACROSS - 1), of(at, number < ACROSS ? number : ACROSS - 1), (16 - off) & 15);
    };
    const int line = thread / ACROSS, off = to.off(line), number = thread % ACROSS;
    if (16 * number - off + 16 <= to.bytes && (number > 0 || off == 0 || before)) {
      char* out = to.first + line * to.stride + 16 * number - off;
#pragma unroll 2
      for (int down = 0; down < LINES; down += DOWN) {
        if (line + down < to.lines) ptx::store_vector(out, vector(line + down, number, off));
        out += DOWN * to.stride;
      }
    }
    if (before && continues) return;
#pragma unroll 1
    for (int end = thread; end < 2 * LINES; end += 128) {
      // The first vector, of which the line before has nothing, and the last, if it is another: by other warps, where there are so many lines.
      const bool last = end >= LINES;
      const int of = last ? end - LINES : end, apart = to.off(of), past = apart + to.bytes;
      const int number = last ? past / 16 : 0, begin = number || before ? 0 : apart, behind = past - 16 * number < 16 ? past - 16 * number : 16;
      if (of >= to.lines || (last ? continues || (number == 0 && !before) : before != 0) || behind == begin || behind - begin == 16) continue;
      store_part<SIZE>(to.first + of * to.stride + 16 * number - apart, vector(of, number, apart), begin, behind);
    }
  }

  // D of a step where its lines, and the tile's part of them, are whole vectors of 16 bytes.
  GG_DEVICE static void put_vectors(const StepPart& step, const Matrix& d, int thread, const char* at) {
    constexpr int ACROSS = LENGTH / 16;
    const i64 stride = (MN ? d.col_stride : d.row_stride) * SIZE;
    char* const first = static_cast<char*>(const_cast<void*>(d.data)) + (step.row * d.row_stride + step.column * d.col_stride) * SIZE;
    const int lines = MN ? step.columns : step.rows, bytes = (MN ? step.rows : step.columns) * SIZE;
#pragma unroll 4
    for (int piece = thread; piece < lines * ACROSS; piece += 128) {
      const int line = piece / ACROSS, byte = piece % ACROSS * 16;
      if (byte < bytes) ptx::store_vector(first + line * stride + byte, *reinterpret_cast<const ptx::Vector16*>(at + Slot::line_offset(line, byte)));
    }
  }

  // Stores a step to where an index of D's lines says, of which the product's first is number `start`: a line's 16 bytes at a time where it is one of the slot's, and D's lines are contiguous at multiples of 16 bytes.
  GG_DEVICE static void scatter(const StepPart& step, const Matrix& d, const GroupRows& lines, i64 start, int thread, const char* at) {
    constexpr int PIECE = T::INDEX_COLUMNS == MN ? 16 / SIZE : 1, ALONG = (MN ? 64 : STEP) / PIECE;
    const i64 line_stride = T::INDEX_COLUMNS ? d.col_stride : d.row_stride, unit = T::INDEX_COLUMNS ? d.row_stride : d.col_stride;
    const bool pieces = PIECE > 1 && unit == 1 && ((reinterpret_cast<u64>(d.data) | static_cast<u64>(line_stride * SIZE)) & 15) == 0;
#pragma unroll 2
    for (int piece = thread; piece < 64 * STEP / PIECE; piece += 128) {
      const int along = piece % ALONG * PIECE, across = piece / ALONG, i = MN ? along : across, j = MN ? across : along;
      if (i >= step.rows || j >= step.columns) continue;
      const i64 line = read_row(lines.d_index, start + (T::INDEX_COLUMNS ? step.column + j : step.row + i));
      if (line < 0) continue;
      D* const to = static_cast<D*>(const_cast<void*>(d.data)) + line * line_stride + (T::INDEX_COLUMNS ? step.row + i : step.column + j) * unit;
      const int left = MN ? step.rows - i : step.columns - j;
      if (pieces && left >= PIECE) {
        ptx::store_vector(to, *reinterpret_cast<const ptx::Vector16*>(at + Slot::template offset<D>(i, j)));
      } else {
        for (int e = 0; e < PIECE && e < left; ++e) to[e * unit] = *reinterpret_cast<const D*>(at + (MN ? Slot::template offset<D>(i + e, j) : Slot::template offset<D>(i, j + e)));
      }
    }
  }

 private:
  // Calls each(element, row, column) for the step's elements in the matrix, neighbouring threads for neighbouring ones, so many of a thread's together.
  template <class E, int TOGETHER, class Each>
  GG_DEVICE static void move(int thread, const Matrix& matrix, const StepPart& step, Each each) {
    E* const first = static_cast<E*>(const_cast<void*>(matrix.data)) + step.row * matrix.row_stride + step.column * matrix.col_stride;
    constexpr int ALONG = MN ? 64 : STEP;
#pragma unroll TOGETHER
    for (int at = thread; at < 64 * STEP; at += 128) {
      const int i = MN ? at % ALONG : at / ALONG, j = MN ? at / ALONG : at % ALONG;
      if (i < step.rows && j < step.columns) each(first[i * matrix.row_stride + j * matrix.col_stride], i, j);
    }
  }
};

}  // namespace ggemm::kernels
