// SPDX-License-Identifier: Apache-2.0
// An operand's way into sm_90a's ring where the tensor copy engine does not reach it: lines of any base and stride, by the 128 threads of the producer warpgroup.
//
// The operand is seen as lines of contiguous elements: along k, or, where K_OUTER, along m (or n). A tile's lines are cut into panels of 128 bytes, as the copy engine has them
// (tile/panels.cuh). A line may begin anywhere, so its aligned vectors of 16 bytes are copied as they are, from the one on that holds its first byte: issue(). When they have
// arrived, the line is moved by the up to 15 bytes that it lies off, in place: realign(). Vectors that reach past the tile's first or last byte, and operands without
// neighbouring elements, are gathered element by element: nothing outside the operand is read, though what lies between its lines may be. Zeros take the place of what is outside.
// Lines may lie where an index says (whole vectors then take a shorter way, Straight), or, of gated pairs, by turns in two halves of the operand.
#pragma once
#include "params.cuh"
#include "ptx/async.cuh"
#include "ptx/memory.cuh"
#include "tile/panels.cuh"
#include "tile/vectors.cuh"

namespace ggemm::kernels {

// by_index: each line lies where it is said to. by_turns: lines come from both halves of the operand, as pairs of halves do.
enum class LineOrder { straight, by_index, by_turns };

// Of PANELS panels of ROWS lines of elements of SIZE bytes. OPERAND tells A's from B's.
template <int OPERAND, int ROWS, int PANELS, int SIZE, bool K_OUTER, LineOrder ORDER>
class LineCopy {
  static constexpr bool BY_INDEX = ORDER == LineOrder::by_index, APART = ORDER != LineOrder::straight;
  static_assert(!APART || !K_OUTER, "an index, or halves, are of rows along k");
  static_assert(ROWS % 16 == 0 || (ROWS == 8 && !K_OUTER), "panels are whole swizzle periods, dealt 16 lines at a time, and a line lies off the same in every tile");
  static constexpr int THREADS = 128, STEP = 16, ACROSS = panel_bytes / 16, VECTORS = ROWS * PANELS * ACROSS, LINE = PANELS * panel_bytes;
  static constexpr int BATCH = SIZE == 1 ? 2 : 4;  // vectors of a line that a thread moves at once: fp8 products leave few registers for them
  using Vector = ptx::Vector16;

 public:
  // Describes the operand to all threads, after a barrier. data: the tile's first element at k = 0. mn_left: rows (or columns) of the operand from there.
  GG_DEVICE static void describe(const void* data, i64 mn_stride, i64 k_stride, i64 mn_left, i64 k) {
    if (thread() != 0) return;
    Operand o;
    o.first = static_cast<const char*>(data), o.stride = (K_OUTER ? k_stride : mn_stride) * SIZE, o.inner = (K_OUTER ? mn_stride : k_stride) * SIZE;
    o.left = static_cast<i32>(min_of(mn_left, i64(K_OUTER ? LINE / SIZE : ROWS)));
    o.way = o.inner != SIZE ? Way::elements : ((reinterpret_cast<u64>(data) | static_cast<u64>(o.stride)) & 15) ? Way::moved : Way::straight;
    o.length = (K_OUTER ? o.left : k) * SIZE;
    if constexpr (!APART) {
      const i64 span = ((K_OUTER ? k : o.left) - 1) * o.stride;
      o.low = o.first + min_of(span, i64(0)), o.high = o.first + max_of(span, i64(0)) + o.length;
    }
    operand() = o;
  }
  // By index: line_of(i) is the operand's row that the tile's row i is, below 0 if it is none. data: the operand's first element.
  template <class LineOf>
  GG_DEVICE static void describe(const void* data, i64 mn_stride, i64 k_stride, LineOf line_of, i64 k) {
    describe(data, mn_stride, k_stride, i64(ROWS), k);
    for (int i = thread(); i < ROWS; i += THREADS) {
      const i64 at = line_of(i);
      row_offsets()[i] = at < 0 ? NOWHERE : at * mn_stride * SIZE;
    }
  }

  // By turns: mn_left, of each half, of which the second begins `half` lines behind the first.
  GG_DEVICE static void describe_halves(const void* data, i64 mn_stride, i64 k_stride, i64 half, i64 mn_left, i64 k) {
    describe(data, mn_stride, k_stride, mn_left, k);
    if (thread() == 0) operand().half = half * mn_stride * SIZE;
  }

  // Whether the copies of the next tile must have arrived too before one is realigned.
  GG_DEVICE static bool needs_next() { return !K_OUTER && operand().way == Way::moved; }
  // Whether tiles so deep must be realigned.
  GG_DEVICE static bool realigns(i32 depth) { return operand().way == Way::moved || (operand().way == Way::straight && bytes(depth) % 16 != 0); }

  // Starts the copy of tile number `tile` along k, `depth` of it (1 to all), to `slot`.
  GG_DEVICE static void issue(char* slot, i32 tile, i32 depth) {
    if (operand().way != Way::elements && !at_edge(tile, depth)) issue_vectors(slot, tile, depth);
    else issue_slowly(slot, tile, depth);
  }

  // By index, of whole vectors: where the lines lie that a thread copies from, in vectors from the operand's first element, so that a tile's copies are an addition each. After a barrier behind describe().
  class Straight {
   public:
    GG_DEVICE Straight() {
      const int row = thread() / ACROSS, across = thread() % ACROSS;
      first_ = operand().first + 16 * across, length_ = static_cast<i32>(operand().length) - 16 * across, to_ = row * panel_bytes + ((across ^ row % 8) << 4);
#pragma unroll
      for (int i = 0; i < OF_THREAD; ++i) {
        const i64 offset = ROWS >= STEP || row < ROWS ? row_offsets()[row + i * STEP] : NOWHERE;
        lines_[i] = offset == NOWHERE ? NOWHERE_NEAR : static_cast<i32>(offset / 16);
      }
    }
    // Starts the copy of tile number `tile` along k to `slot`, zeros behind the lines' ends.
    GG_DEVICE void issue(u32 slot, i32 tile) const {
      const char* const from = first_ + i64(tile) * LINE;
      const i32 left = length_ - tile * LINE;
#pragma unroll
      for (int panel = 0; panel < PANELS; ++panel)
#pragma unroll
        for (int i = 0; i < OF_THREAD; ++i) {
          if (ROWS < STEP && thread() / ACROSS >= ROWS) break;
          ptx::cp_async<16>(slot + to_ + (panel * ROWS + i * STEP) * panel_bytes, from + i64(lines_[i]) * 16 + panel * panel_bytes, lines_[i] != NOWHERE_NEAR && panel * panel_bytes < left);
        }
    }

   private:
    static constexpr int OF_THREAD = ROWS < STEP ? 1 : ROWS / STEP;
    static constexpr i32 NOWHERE_NEAR = static_cast<i32>(0x80000000);
    const char* first_;
    i32 length_, to_, lines_[OF_THREAD];
  };
  // Whether an operand of so many rows may be copied so.
  GG_DEVICE static bool straight(i64 rows) {
    const i64 stride = max_of(operand().stride, -operand().stride);
    return BY_INDEX && operand().way == Way::straight && operand().length % 16 == 0 && ((operand().length | stride | rows) >> 31) == 0 && stride * rows <= i64(1) << 34;
  }

  // Moves the lines of such a tile to where they belong, and cuts off what is past their end. The copies have arrived; barriers before and after. next: the slot of the
  // next tile, whose copies have arrived too if there is one (not `last`) and needs_next(); its lines are not moved yet.
  GG_DEVICE static void realign(char* slot, char* next, i32 tile, i32 depth, bool last) {
    if (bytes(depth) < LINE) realign_lines<true>(slot, next, tile, depth, last);
    else realign_lines<false>(slot, next, tile, depth, last);
  }

 private:
  enum class Way : i32 { straight, moved, elements };

  struct Bounds {
    const char *low, *high;  // of the tile's lines, all of k: the first byte, and the one behind the last
  };
  struct Halves {
    i64 half;  // by turns: bytes from one half to the other
  };
  // Rests in shared memory: registers are dear here.
  struct Operand : If<APART, Halves, Bounds> {
    const char* first;       // the tile's first element; by index the operand's
    i64 stride, inner;       // bytes from line to line; from element to element
    i64 length;              // of a line, in bytes
    i32 left;                // elements along m or n; by turns of each half
    Way way;
  };
  GG_DEVICE static Operand& operand() {
    __shared__ Operand of;
    return of;
  }
  // By index: where lines begin, counted in bytes from the operand.
  static constexpr i64 NOWHERE = packed_stride;  // a line of zeros
  GG_DEVICE static i64* row_offsets() {
    __shared__ i64 offsets[BY_INDEX ? ROWS : 1];
    return offsets;
  }

  // Where a line begins, counted in bytes from `first`, or NOWHERE.
  GG_DEVICE static i64 offset_of(int row) {
    if constexpr (BY_INDEX) return row_offsets()[row];
    else if constexpr (APART) return row / 2 < operand().left ? row / 2 * operand().stride + row % 2 * operand().half : NOWHERE;
    else return row * operand().stride;
  }

  GG_DEVICE static int thread() { return ptx::renewed(static_cast<int>(threadIdx.x)); }
  // Lines, and bytes of each, of a tile so deep.
  GG_DEVICE static i32 lines(i32 depth) { return !K_OUTER ? operand().left : operand().left > 0 ? depth : 0; }
  GG_DEVICE static i32 bytes(i32 depth) { return (K_OUTER ? operand().left : depth) * SIZE; }
  GG_DEVICE static bool has_line(int row, i32 depth) {
    if constexpr (APART) return offset_of(row) != NOWHERE;
    else return row < lines(depth);
  }
  // Where a tile's line begins.
  GG_DEVICE static const char* line(i32 tile, int row) {
    if constexpr (K_OUTER) return operand().first + (i64(tile) * ROWS + row) * operand().stride;
    else return operand().first + offset_of(row) + i64(tile) * LINE * (operand().way == Way::elements ? operand().inner / SIZE : 1);
  }
  // A line's vector.
  GG_DEVICE static Vector* at(char* slot, int row, int vector) { return reinterpret_cast<Vector*>(slot + (vector / ACROSS * ROWS + row) * panel_bytes + ((vector % ACROSS ^ row % 8) << 4)); }

  // Whether vectors of the tile may reach outside.
  GG_DEVICE static bool at_edge(i32 tile, i32 depth) {
    if constexpr (APART) return realigns(depth) && (tile == 0 || bytes(depth) < LINE);
    else {
      const u64 begin = reinterpret_cast<u64>(line(tile, 0));
      const i64 span = (lines(depth) - 1) * operand().stride;
      const u64 low = begin + static_cast<u64>(min_of(span, i64(0))), high = begin + static_cast<u64>(max_of(span, i64(0)) + bytes(depth));
      return (low & ~u64(15)) < reinterpret_cast<u64>(operand().low) || ((high + 15) & ~u64(15)) > reinterpret_cast<u64>(operand().high);
    }
  }
  // Of the vector that is `from` bytes behind where the tile's line begins: whether nothing of it is outside.
  GG_DEVICE static bool inside(i32 tile, const char* source, int from) {
    const char* const begin = source + from;
    if constexpr (APART) return i64(tile) * LINE + from >= 0 && i64(tile) * LINE + from + 16 <= operand().length;
    else return begin >= operand().low && begin + 16 <= operand().high;
  }

  // All vectors that are not past their line's end lie inside. One address after the other: all of a tile's do not fit in registers.
  GG_DEVICE static void issue_vectors(char* slot, i32 tile, i32 depth) {
    const int row = thread() / ACROSS, across = thread() % ACROSS, left = ptx::renewed(lines(depth) - row), valid = ptx::renewed(bytes(depth) - 16 * across);
    const i64 step = ptx::renewed(STEP * operand().stride);
    const u32 to = ptx::shared_address(at(slot, row, across));
    const char* source = line(tile, APART ? 0 : row) + 16 * across;
#pragma unroll
    for (int panel = 0; panel < PANELS; ++panel) {
      const char* from = source;
#pragma unroll
      for (int down = 0; down < ROWS; down += STEP) {
        if (ROWS < STEP && row >= ROWS) break;
        bool on = down < left;
        if constexpr (APART) {
          const i64 offset = offset_of(row + down);
          on = offset != NOWHERE, from = operand().first + offset + i64(tile) * LINE + 16 * across;
        }
        const int off = static_cast<int>(reinterpret_cast<u64>(from) & 15);
        ptx::cp_async<16>(to + (panel * ROWS + down) * panel_bytes, from - off + panel * panel_bytes, on && panel * panel_bytes - off < valid);
        from = ptx::renewed(from + step);
      }
    }
  }
  // Vectors may reach outside, or be none.
  GG_DEVICE static void issue_slowly(char* slot, i32 tile, i32 depth) {
#pragma unroll 1
    for (int number = thread(); number < VECTORS; number += THREADS) {
      const int row = number / (PANELS * ACROSS), vector = number % (PANELS * ACROSS), valid = bytes(depth);
      const char* const source = line(tile, row);
      const int from = 16 * vector - (operand().way == Way::elements ? 0 : static_cast<int>(reinterpret_cast<u64>(source) & 15));
      const bool on = has_line(row, depth) && from < valid;
      Vector* const to = at(slot, row, vector);
      if (on && (operand().way == Way::elements || !inside(tile, source, from))) *to = gather(tile, source, from, valid);
      else ptx::cp_async<16>(ptx::shared_address(to), on ? source + from : nullptr, on);
    }
  }
  // CUT: lines end before the tile does.
  template <bool CUT>
  GG_DEVICE static void realign_lines(char* slot, char* next, i32 tile, i32 depth, bool last) {
    const int valid = CUT ? bytes(depth) : LINE;
    // Where there are half as many lines as threads, the operands have different halves.
    const int begin = OPERAND == 0 ? thread() : THREADS - 1 - thread();
#pragma unroll 1
    for (int row = begin; row < ROWS; row += THREADS) {
      if (!has_line(row, depth)) continue;
      const int off = line_off(row);
      if (!CUT && off == 0) continue;
      const int first = row * panel_bytes + row % 8 * 16;  // the line's other vectors differ in the bits of their number
#pragma unroll 1
      for (int vector = 0; vector < PANELS * ACROSS; vector += BATCH) {
        char* const panel = slot + vector / ACROSS * ROWS * panel_bytes;
        const int batch = first ^ vector % ACROSS * 16;
        const auto place = [&](int i) { return reinterpret_cast<Vector*>(panel + (batch ^ i * 16)); };
        Vector in[BATCH + 1];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) in[i] = *place(i);
        // What follows the last vector: where lines lie along k, the next tile's first.
        if (vector + BATCH < PANELS * ACROSS) in[BATCH] = *at(slot, row, vector + BATCH);
        else if (!K_OUTER && !CUT && !last) in[BATCH] = *at(next, row, 0);
        else if (valid + off > LINE) in[BATCH] = load(tile, line(tile, row), LINE - off, valid);
        else in[BATCH] = {};
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
          Vector out = joined(in[i], in[i + 1], off);
          if constexpr (CUT) out = cut(out, valid - 16 * (vector + i));
          *place(i) = out;
        }
      }
    }
  }
  // How far behind a multiple of 16 bytes a line begins, which is the same for all tiles.
  GG_DEVICE static int line_off(int row) {
    if constexpr (APART) return static_cast<int>((reinterpret_cast<u64>(operand().first) + static_cast<u64>(offset_of(row))) & 15);
    else return static_cast<int>((static_cast<u32>(reinterpret_cast<u64>(operand().first)) + static_cast<u32>(row) * static_cast<u32>(operand().stride)) & 15);
  }
  GG_DEVICE static Vector load(i32 tile, const char* source, int from, int valid) {
    return inside(tile, source, from) ? ptx::load_constant(reinterpret_cast<const Vector*>(source + from), true) : gather(tile, source, from, valid);
  }

  // Such a vector's elements, those outside being 0. Where lines lie along k, the end of the tile before is not: that tile needs it.
  GG_DEVICE static Vector gather(i32 tile, const char* source, int from, int valid) {
    const int begin = K_OUTER || tile == 0 || operand().way == Way::elements ? 0 : -16;
    using Unsigned = If<SIZE == 1, u8, If<SIZE == 2, u16, u32>>;
    const i64 inner = operand().inner;
    source += from / SIZE * inner;
    Vector out{};
    // So many bytes are under way at once.
    constexpr int ROUND = SIZE == 1 ? 4 : 16;
#pragma unroll 1
    for (int round = 0; round < 16; round += ROUND) {
      Vector in{};
#pragma unroll
      for (int byte = 0; byte < ROUND; byte += SIZE, source = ptx::renewed(source + inner)) {
        const int place = from + round + byte;
        in.word[byte / 4] |= static_cast<u32>(ptx::load_constant(reinterpret_cast<const Unsigned*>(source), place >= begin && place < valid)) << (byte * 8 % 32);
      }
      if constexpr (ROUND == 16) out = in;
      else out = {{out.word[1], out.word[2], out.word[3], in.word[0]}};
    }
    return out;
  }

  // A vector's first so many bytes.
  GG_DEVICE static Vector cut(Vector v, int bytes) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int left = bytes - 4 * i;
      v.word[i] = left <= 0 ? 0 : left >= 4 ? v.word[i] : v.word[i] & ((1u << 8 * left) - 1);
    }
    return v;
  }
};

}  // namespace ggemm::kernels
