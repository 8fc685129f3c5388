// SPDX-License-Identifier: Apache-2.0
// An operand's way from global memory into the shared-memory ring, a tile of BK at a time, by the threads of one CTA.
//
// The operand is seen as `outer` rows of `inner` contiguous elements: for an operand that is contiguous along k, outer is m (or n) and inner is k; else outer is k.
// Elements outside the operand are never read; zeros take their place. How a tile is brought is decided for each, so that one binary serves every alignment:
//   chunks    rows at multiples of CHUNK bytes, 16 or an element's: cp.async of that much, among the products
//   words     elements of 16 or 8 bits in rows at multiples of 4 bytes, and of 4 or 8 bytes in any (LINES): cp.async of that much
//   halves    16-bit elements in rows at odd multiples of 2 bytes: through registers, 16 bytes at a time
//   elements  anything else, one by one: by cp.async where they have 4 or 8 bytes, else through registers
#pragma once
#include "params.cuh"
#include "ptx/async.cuh"
#include "ptx/memory.cuh"
#include "tile/shared_tile.cuh"

namespace ggemm::kernels {

enum class CopyWay : i32 { chunks, words, halves, elements };

template <int SIZE> struct UnsignedOf;
template <> struct UnsignedOf<1> { using type = u8; };
template <> struct UnsignedOf<2> { using type = u16; };
template <> struct UnsignedOf<4> { using type = u32; };
template <> struct UnsignedOf<8> { using type = u64; };

// Tile: a SharedTile. K_OUTER: k runs along outer. THREADS of the CTA take part. PARTS: a tile's chunks are issued in so many parts.
// HELD: chunks that a thread may hold in registers on the slow ways. OPERAND tells A's from B's. BY_INDEX: each row lies where it is said to.
// LINES: of elements of 4 or 8 bytes whose rows are no multiples of 16 bytes there is code for lines. CHUNK: bytes of a chunk, 16, or, in kernels for such operands, an element's (then there are no lines).
template <int OPERAND, class Tile, bool K_OUTER, int THREADS, int PARTS, int HELD, bool BY_INDEX, bool LINES, int CHUNK = 16>
class TileCopy {
  static_assert(!BY_INDEX || !K_OUTER, "a chunk is of one row");
  static constexpr int SIZE = Tile::SIZE, WORD = SIZE > 4 ? SIZE : 4, CHUNKS = Tile::ROW_BYTES / CHUNK, COUNT = Tile::OUTER * CHUNKS / THREADS;
  static_assert(CHUNK == 16 || (CHUNK == SIZE && SIZE >= 4), "what cp.async copies at once");
  static constexpr int ROW_STEP = THREADS / CHUNKS;  // rows between a thread's successive chunks
  static_assert(Tile::OUTER < 1 << 14 && Tile::INNER < 1 << 14 && Tile::BYTES / CHUNK < 1 << 16, "packed_ holds them");
  static_assert(Tile::OUTER * CHUNKS % THREADS == 0 && THREADS % CHUNKS == 0, "every thread moves the same number of chunks, all in one column");
  static_assert((ROW_STEP & (ROW_STEP - 1)) == 0, "a thread's rows differ from its first one in bits that are 0 there");
  using Unsigned = typename UnsignedOf<SIZE>::type;
  using Word = typename UnsignedOf<WORD>::type;

 public:
  // data: the tile's first element at k = 0. mn_left: rows (or columns) of the operand from there, in elements. A barrier must follow.
  GG_DEVICE TileCopy(const void* data, i64 mn_stride, i64 k_stride, i64 mn_left) {
    outer_stride_ = (K_OUTER ? k_stride : mn_stride) * SIZE;
    const i64 inner = (K_OUTER ? mn_stride : k_stride) * SIZE;
    if (thread() == 0) inner_stride() = inner;
    const u64 low = reinterpret_cast<u64>(data) | static_cast<u64>(outer_stride_);
    const CopyWay way = inner != SIZE ? CopyWay::elements : CHUNK == SIZE || low % 16 == 0 ? CopyWay::chunks : LINES || (SIZE < 4 && low % 4 == 0) ? CopyWay::words : SIZE == 2 ? CopyWay::halves : CopyWay::elements;
    source_ = static_cast<const char*>(data) + chunk_row() * outer_stride_ + chunk_byte() / SIZE * inner;
    packed_ = static_cast<u32>(way) | static_cast<u32>(min_of(mn_left, K_OUTER ? Tile::INNER : Tile::OUTER)) << 2 | static_cast<u32>(chunk_offset(0)) / CHUNK << 16;
  }

  // By index: line_of(i) is the operand's row that the tile's row i is, below 0 if it is none. data: the operand's first element, at k = 0.
  template <class LineOf>
  GG_DEVICE TileCopy(const void* data, i64 mn_stride, i64 k_stride, LineOf line_of) : TileCopy(data, mn_stride, k_stride, i64(Tile::OUTER)) {
    source_ -= chunk_row() * outer_stride_;
    for (int i = thread(); i < Tile::OUTER; i += THREADS) {
      const i64 at = line_of(i);
      row_offsets()[i] = at < 0 ? NOWHERE : at * outer_stride_;
    }
  }

  // Before the parts of the copy of the next BK of k, to the ring's slot at `slot`: makes all of it, if it does not go by whole chunks. k_left: how much of k is left, from 0 to BK.
  GG_DEVICE void start(char* slot, i32 k_left) {
    const bool chunks = way() == CopyWay::chunks && whole_chunks(k_left);
    rows_ = chunks && k_left > 0 ? static_cast<int>(max_of(chunk_rows(k_left), 0)) : -1;
    next_ = source_;
    if (!chunks && k_left > 0) issue_slowly(slot, k_left);
  }
  // Starts part `part` of it, if it goes by chunks. There are no branches, so that products stand among these copies.
  GG_DEVICE void issue(char* slot, int part) {
    const int rows = ptx::renewed(rows_);  // compare anew each time: a predicate a row, kept through the mainloop, would spill
    const bool active = rows >= 0;
    const u32 target = ptx::shared_address(slot) + (packed_ >> 16) * CHUNK;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if (i * PARTS / COUNT != part) continue;
      constexpr int within = 127;  // of a line; a slot begins at a multiple of lines
      const int step = swizzle_128b(i * ROW_STEP * Tile::PANEL_BYTES);
      const u32 to = (target ^ (step & within)) + (step & ~within);
      // A copy that is switched off may name any address.
      if constexpr (BY_INDEX) {
        const i64 offset = row_offsets()[chunk_row() + i * ROW_STEP];
        if (active) ptx::cp_async<CHUNK>(to, source_ + offset, i * ROW_STEP < rows && offset != NOWHERE);
      } else {
        if (active) ptx::cp_async<CHUNK>(to, next_, i * ROW_STEP < rows);
        next_ = ptx::renewed(next_ + ROW_STEP * outer_stride_);  // one after the other: all of a tile's addresses do not fit in registers
      }
    }
  }
  // Moves on to the next BK of k.
  GG_DEVICE void advance() {
    if constexpr (K_OUTER) source_ += Tile::OUTER * outer_stride_;
    else source_ += way() == CopyWay::elements ? Tile::INNER * inner_stride() : Tile::ROW_BYTES;
  }

 private:
  // In bytes. Only elements ask for it, so it rests in shared memory: registers are dear here.
  GG_DEVICE static i64& inner_stride() {
    __shared__ i64 stride;
    return stride;
  }
  // By index: where the tile's rows begin, counted in bytes from the operand.
  static constexpr i64 NOWHERE = packed_stride;  // a row of zeros
  GG_DEVICE static i64* row_offsets() {
    __shared__ i64 offsets[BY_INDEX ? Tile::OUTER : 1];
    return offsets;
  }
  // The first element of the tile at the current k; by index, of the operand.
  GG_DEVICE const char* tile_first() const { return source_ - (BY_INDEX ? 0 : chunk_row() * outer_stride_) - chunk_byte() / SIZE * inner_stride(); }
  // Row `row` of the tile, from its first row's address on, or by index from the operand's.
  GG_DEVICE const char* line(const char* first, int row) const {
    if constexpr (BY_INDEX) return first + row_offsets()[row];
    else return first + row * outer_stride_;
  }
  GG_DEVICE bool has_line(int row, i32 k_left) const {
    if constexpr (BY_INDEX) return row_offsets()[row] != NOWHERE;
    else return row < outer_left(k_left);
  }
  GG_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  GG_DEVICE static int chunk_row() { return thread() / CHUNKS; }
  GG_DEVICE static int chunk_byte() { return thread() % CHUNKS * CHUNK; }
  GG_DEVICE static int clamp_bytes(i32 elements, int byte, int most) {
    const int bytes = elements * SIZE - byte;
    return bytes < 0 ? 0 : bytes > most ? most : bytes;
  }
  GG_DEVICE CopyWay way() const { return static_cast<CopyWay>(packed_ & 3); }
  GG_DEVICE i32 mn_left() const { return static_cast<i32>(packed_ >> 2 & 0x3fff); }
  GG_DEVICE i32 outer_left(i32 k_left) const { return K_OUTER ? k_left : mn_left(); }
  GG_DEVICE i32 inner_left(i32 k_left) const { return K_OUTER ? mn_left() : k_left; }
  // No chunk of the tile is cut by the operand's end.
  GG_DEVICE bool whole_chunks(i32 k_left) const { return inner_left(k_left) * SIZE % CHUNK == 0; }
  GG_DEVICE static int chunk_offset(int i) { return Tile::offset(chunk_row() + i * ROW_STEP, chunk_byte()); }
  // Rows from this thread's first chunk on; none if its column is past the end.
  GG_DEVICE int chunk_rows(i32 k_left) const { return chunk_byte() < inner_left(k_left) * SIZE ? outer_left(k_left) - chunk_row() : 0; }

  GG_DEVICE void issue_slowly(char* slot, i32 k_left) const {
    if constexpr (SIZE < 4) return issue_words(slot, k_left);
    if constexpr (HAS_LINES)
      if (way() != CopyWay::elements) return issue_lines(slot, k_left);
    if constexpr (SIZE >= 4) issue_elements(slot, k_left);
  }

  // Elements of contiguous rows: a thread's lie in the same columns of successive rows. (Not of tf32: it was not timed, and some kernels spill by it.)
  static constexpr int LANES = Tile::INNER < THREADS ? Tile::INNER : THREADS, LINE_STEP = THREADS / LANES;
  static constexpr bool HAS_LINES = LINES && CHUNK == 16 && !BY_INDEX && Tile::INNER % LANES == 0 && THREADS % LANES == 0 && Tile::OUTER % LINE_STEP == 0;
  GG_DEVICE void issue_lines(char* slot, i32 k_left) const {
    // After so many of a thread's rows the swizzle repeats; no more are in code one after the other, for it stands in the mainloop, which is slower the more there is.
    constexpr int PASSES = Tile::OUTER / LINE_STEP, PERIOD = LINE_STEP < Tile::PERIOD ? Tile::PERIOD / LINE_STEP : 1, TOGETHER = PERIOD < 4 && PASSES % 4 == 0 ? 4 : PERIOD;
    static_assert(PASSES % TOGETHER == 0, "whole periods of the swizzle");
    const int from = ptx::renewed(thread()), row = from / LANES, column = from % LANES;  // so that nothing that follows from it is kept through the mainloop
    const int columns = inner_left(k_left) - column;
    int rows = outer_left(k_left) - row;
    const char* next = source_ + (row - from / CHUNKS) * outer_stride_ + (column * SIZE - from % CHUNKS * CHUNK);
    u32 to = ptx::shared_address(slot);
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass += TOGETHER) {
#pragma unroll
      for (int i = 0; i < TOGETHER; ++i) {
#pragma unroll
        for (int across = 0; across < Tile::INNER; across += LANES)
          ptx::cp_async<SIZE>(to + Tile::offset(row + i * LINE_STEP, (column + across) * SIZE), next + across * SIZE, i * LINE_STEP < rows && across < columns);
        next += LINE_STEP * outer_stride_;
      }
      rows -= TOGETHER * LINE_STEP;
      to += TOGETHER * LINE_STEP * Tile::PANEL_BYTES;
    }
  }

  GG_DEVICE void issue_elements(char* slot, i32 k_left) const {
    const i64 inner = inner_stride();
    const char* const first = tile_first();
#pragma unroll 1
    for (int element = thread(); element < Tile::OUTER * Tile::INNER; element += THREADS) {
      const int row = element / Tile::INNER, column = element % Tile::INNER;
      ptx::cp_async<WORD>(ptx::shared_address(slot) + Tile::offset(row, column * SIZE), line(first, row) + column * inner, has_line(row, k_left) && column < inner_left(k_left));
    }
  }

  GG_DEVICE void issue_words(char* slot, i32 k_left) const {
    if (SIZE == 2 && way() == CopyWay::halves && whole_chunks(k_left)) return issue_halves(slot, k_left);
    constexpr int WORDS = Tile::ROW_BYTES / WORD, PER_THREAD = Tile::OUTER * WORDS / THREADS, BATCH = PER_THREAD < 4 ? PER_THREAD : 4;
    static_assert(PER_THREAD % BATCH == 0, "whole batches");
    const char* const first = tile_first();
    const bool async = way() == CopyWay::chunks || way() == CopyWay::words;
#pragma unroll 1
    for (int batch = 0; batch < PER_THREAD; batch += BATCH) {
      if (async) {
#pragma unroll 1
        for (int i = 0; i < BATCH; ++i) {
          const int word = (batch + i) * THREADS + thread(), row = word / WORDS, byte = word % WORDS * WORD;
          const int valid = has_line(row, k_left) ? clamp_bytes(inner_left(k_left), byte, WORD) : 0;
          // A word that the operand's end cuts is gathered: an asynchronous copy of a part of it may touch the rest.
          if (valid == 0 || valid == WORD) ptx::cp_async<WORD>(ptx::shared_address(slot) + Tile::offset(row, byte), line(first, row) + byte, valid != 0);
          else *reinterpret_cast<Word*>(slot + Tile::offset(row, byte)) = gather(first, word, k_left);
        }
      } else {
        Word words[BATCH];  // all loads before the first store, so that they overlap
#pragma unroll
        for (int i = 0; i < BATCH; ++i) words[i] = gather(first, (batch + i) * THREADS + thread(), k_left);
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
          const int word = (batch + i) * THREADS + thread();
          *reinterpret_cast<Word*>(slot + Tile::offset(word / WORDS, word % WORDS * WORD)) = words[i];
        }
      }
    }
  }

  // 16 bytes at `source`, a multiple of 2: three aligned words from the first multiple of 4 on, and what is left in two halves. No byte outside is read.
  GG_DEVICE static ptx::Vector16 load_halves(const char* source, bool on) {
    const bool odd = reinterpret_cast<u64>(source) & 2;
    const auto* middle = reinterpret_cast<const u32*>(source + (odd ? 2 : 0));
    const u32 m0 = ptx::load_constant(middle, on), m1 = ptx::load_constant(middle + 1, on), m2 = ptx::load_constant(middle + 2, on);
    const u32 h0 = ptx::load_constant(reinterpret_cast<const u16*>(source + (odd ? 0 : 12)), on), h1 = ptx::load_constant(reinterpret_cast<const u16*>(source + 14), on);
    const u32 shift = odd ? 16 : 32, end = odd ? h1 : h0 | h1 << 16;
    return {{ptx::funnel_right(h0 << 16, m0, shift), ptx::funnel_right(m0, m1, shift), ptx::funnel_right(m1, m2, shift), ptx::funnel_right(m2, end, shift)}};
  }
  GG_DEVICE void issue_halves(char* slot, i32 k_left) const {
    constexpr int BATCH = COUNT < HELD ? COUNT : HELD;
    static_assert(COUNT % BATCH == 0, "whole batches");
    const int rows = chunk_rows(k_left);
    const char* source = source_;
#pragma unroll 1
    for (int batch = 0; batch < COUNT; batch += BATCH) {
      ptx::Vector16 chunks[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; ++i) {
        if constexpr (BY_INDEX) {
          const int row = chunk_row() + (batch + i) * ROW_STEP;
          chunks[i] = load_halves(line(source_, row), (batch + i) * ROW_STEP < rows && has_line(row, k_left));
        } else {
          chunks[i] = load_halves(source, (batch + i) * ROW_STEP < rows);
          source += ROW_STEP * outer_stride_;
        }
      }
#pragma unroll
      for (int i = 0; i < BATCH; ++i) *reinterpret_cast<ptx::Vector16*>(slot + chunk_offset(batch + i)) = chunks[i];
    }
  }

  // The elements of one word of the tile.
  GG_DEVICE Word gather(const char* first, int word, i32 k_left) const {
    constexpr int WORDS = Tile::ROW_BYTES / WORD, ELEMENTS = WORD / SIZE;
    const int row = word / WORDS, column = word % WORDS * ELEMENTS;
    const char* source = line(first, row) + column * inner_stride();
    Word out = 0;
#pragma unroll
    for (int e = 0; e < ELEMENTS; ++e) {
      const bool on = has_line(row, k_left) && column + e < inner_left(k_left);
      out |= static_cast<Word>(ptx::load_constant(reinterpret_cast<const Unsigned*>(source), on)) << (e * SIZE * 8 % (WORD * 8));
      source += inner_stride();
    }
    return out;
  }

  const char* source_;  // this thread's first chunk at the current k
  const char* next_;    // its next copy of one
  i64 outer_stride_;    // bytes
  int rows_;            // of the tile that is copied, from this thread's first chunk on; below 0 if it does not go by chunks
  u32 packed_;  // way in bits 0-1, what is left along m or n in 2-15, the first chunk's offset in a slot, in chunks, in 16-31
};

}  // namespace ggemm::kernels
