// SPDX-License-Identifier: Apache-2.0
// The mainloop of products that are narrow one way, of few rows of A or few columns of B: the thin operand, beside the wide one. All warps multiply the whole tile, each its part of k, straight from
// global memory to registers, so that nothing lies between the launch and the loads. Their sums meet in shared memory at the end. sm_80 and up.
#pragma once
#include "grouped_call.cuh"
#include "ptx/convert.cuh"
#include "ptx/memory.cuh"
#include "ptx/mma.cuh"
#include "tile/columns.cuh"
#include "traits.cuh"

namespace ggemm::kernels {

// A row of A or a column of B.
struct OperandLine {
  const char* at;
  bool on;  // false: it is nowhere, and counts as zeros
};
// COUNT elements of a line from k on, of which those outside count as zeros.
template <int SIZE, int COUNT>
GG_DEVICE ptx::Vector16 line_elements(const OperandLine& line, i64 unit, i64 k, i64 from, i64 to) {
  using Bits = If<SIZE == 8, u64, If<SIZE == 4, u32, If<SIZE == 2, u16, u8>>>;
  union { ptx::Vector16 vector; Bits element[16 / SIZE]; } out;
  out.vector = {};
#pragma unroll
  for (int e = 0; e < COUNT; ++e)
    out.element[e] = static_cast<Bits>(ptx::load_constant(reinterpret_cast<const Bits*>(line.at + (k + e) * unit * SIZE), line.on && k + e >= from && k + e < to));
  return out.vector;
}

// Elements that CUDA cores multiply.
template <class Element, bool TF32> struct ByFma { static constexpr bool value = IsSame<Element, double>::value || (IsSame<Element, float>::value && !TF32); };

// A word of a vector as mma.sync takes it.
template <class Element> struct MmaWord {
  static constexpr int WORDS = 1;
  GG_DEVICE static void expand(u32 word, u32* out) { *out = word; }
};
template <> struct MmaWord<float> {
  static constexpr int WORDS = 1;
  GG_DEVICE static void expand(u32 word, u32* out) { *out = bit_cast<u32>(round_tf32(bit_cast<float>(word))); }
};
template <> struct MmaWord<E4m3> {
  static constexpr int WORDS = 2;
  GG_DEVICE static void expand(u32 word, u32* out) { out[0] = ptx::f16_pair_of_e4m3(static_cast<u16>(word)), out[1] = ptx::f16_pair_of_e4m3(static_cast<u16>(word >> 16)); }
};
// The upper half of an f16.
template <> struct MmaWord<E5m2> {
  static constexpr int WORDS = 2;
  GG_DEVICE static void expand(u32 word, u32* out) { out[0] = ptx::permute(word, 0, 0x1404), out[1] = ptx::permute(word, 0, 0x3424); }
};
template <class Element> struct MmaOf;
template <> struct MmaOf<F16> { using type = ptx::F16Mma; };
template <> struct MmaOf<Bf16> { using type = ptx::Bf16Mma; };
template <> struct MmaOf<float> { using type = ptx::Tf32Mma; };
template <> struct MmaOf<i8> { using type = ptx::I8Mma; };
template <> struct MmaOf<E4m3> { using type = ptx::F16Mma; };
template <> struct MmaOf<E5m2> { using type = ptx::F16Mma; };

// A warp's product of a tile, 64 bytes along k. Lane 4 g + t has vector t of them, of the wide operand's places g, g + 8, ...
//   LINES         of the thin operand, that a lane has a vector of; thin_line(i) is the i-th
//   SUMS          a lane's. That of a place and a thin line is number sum(place, thin), of SHARERS lanes from lane(place, thin) on, which have a term each
//   add(sums, wide, thin)  adds the products of vectors; the whole warp together

// By tensor cores: the wide operand is mma.sync's A. k may come in any order, so long as it is the same one for both: a lane's words are next to each other in memory, not in the instruction's order.
template <class Wide, class Thin, class Sum, int WIDE, int THIN>
struct GemvByMma {
  static constexpr int LINES = THIN / 8, SUMS = WIDE * THIN / 32, SHARERS = 1;
  GG_DEVICE static int thin_line(int i, int lane) { return 8 * i + lane / 4; }
  GG_DEVICE static u32 sum(u32 place, u32 thin) { return (place / 16 * LINES + thin / 8) * 4 + place / 8 % 2 * 2 + thin % 2; }
  GG_DEVICE static u32 lane(u32 place, u32 thin) { return place % 8 * 4 + thin % 8 / 2; }

  GG_DEVICE static void add(Sum (&sums)[SUMS], const ptx::Vector16 (&wide)[WIDE / 8], const ptx::Vector16 (&thin)[LINES]) {
    constexpr int WORDS = MmaWord<Wide>::WORDS;
    static_assert(WORDS == MmaWord<Thin>::WORDS, "operands of one size");
    u32 b[LINES][4 * WORDS];
#pragma unroll
    for (int j = 0; j < LINES; ++j)
#pragma unroll
      for (int w = 0; w < 4; ++w) MmaWord<Thin>::expand(thin[j].word[w], b[j] + w * WORDS);
#pragma unroll
    for (int i = 0; i < WIDE / 16; ++i) {
      u32 a[2][4 * WORDS];
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int w = 0; w < 4; ++w) MmaWord<Wide>::expand(wide[2 * i + half].word[w], a[half] + w * WORDS);
#pragma unroll
      for (int j = 0; j < LINES; ++j)
#pragma unroll
        for (int w = 0; w < 4 * WORDS; w += 2) {
          const u32 rows[4] = {a[0][w], a[1][w], a[0][w + 1], a[1][w + 1]}, columns[2] = {b[j][w], b[j][w + 1]};
          MmaOf<Wide>::type::mma(*reinterpret_cast<Sum(*)[4]>(&sums[4 * (i * LINES + j)]), rows, columns);
        }
    }
  }
};

// By CUDA cores.
template <class Element, int WIDE, int THIN>
struct GemvByFma {
  static constexpr int LINES = THIN, SUMS = WIDE / 8 * THIN, SHARERS = 4;
  GG_DEVICE static int thin_line(int i, int) { return i; }
  GG_DEVICE static u32 sum(u32 place, u32 thin) { return place / 8 * THIN + thin; }
  GG_DEVICE static u32 lane(u32 place, u32) { return place % 8 * 4; }

  GG_DEVICE static void add(Element (&sums)[SUMS], const ptx::Vector16 (&wide)[WIDE / 8], const ptx::Vector16 (&thin)[LINES]) {
    struct Elements { Element of[16 / sizeof(Element)]; };
#pragma unroll
    for (int j = 0; j < THIN; ++j) {
      const Elements y = bit_cast<Elements>(thin[j]);
#pragma unroll
      for (int i = 0; i < WIDE / 8; ++i) {
        const Elements x = bit_cast<Elements>(wide[i]);
#pragma unroll
        for (int e = 0; e < static_cast<int>(16 / sizeof(Element)); ++e) sums[i * THIN + j] = multiply_add(x.of[e], y.of[e], sums[i * THIN + j]);
      }
    }
  }
};

// What a lane loads of the wide operand for WIDE / 8 vectors along k, where that is contiguous along its other index: two neighbours at a time, of each k.
template <int SIZE, int WIDE>
struct NeighbourPairs {
  static constexpr int DEPTH = 16 / SIZE;
  using Pair = If<SIZE == 8, ptx::Vector16, If<SIZE == 4, u64, u32>>;
  using Stored = If<SIZE == 1, u16, Pair>;
  Pair of[WIDE / 16][DEPTH];

  GG_DEVICE void along_k(ptx::Vector16 (&out)[WIDE / 8]) const {
#pragma unroll
    for (int block = 0; block < WIDE / 16; ++block) {
      const auto& pair = of[block];
      auto &first = out[2 * block].word, &second = out[2 * block + 1].word;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if constexpr (SIZE == 8) {
          first[w] = pair[w / 2].word[w % 2], second[w] = pair[w / 2].word[2 + w % 2];
        } else if constexpr (SIZE == 4) {
          first[w] = static_cast<u32>(pair[w]), second[w] = static_cast<u32>(pair[w] >> 32);
        } else {
          u32 low = pair[2 * w % DEPTH], high = pair[(2 * w + 1) % DEPTH];
          if constexpr (SIZE == 1) low = ptx::permute(pair[4 * w], pair[4 * w + 1], 0x5140), high = ptx::permute(pair[4 * w + 2], pair[4 * w + 3], 0x5140);
          first[w] = ptx::permute(low, high, 0x5410), second[w] = ptx::permute(low, high, 0x7632);
        }
      }
    }
  }
};

template <class T>
class GemvMainloop {
  static constexpr bool THIN_A = T::BM < T::BN;
  using Wide = If<THIN_A, typename T::B, typename T::A>;
  using Thin = If<THIN_A, typename T::A, typename T::B>;
  static constexpr int WIDE = THIN_A ? T::BN : T::BM, THIN = THIN_A ? T::BM : T::BN;
  static constexpr int SIZE = sizeof(Wide), VECTOR = 16 / SIZE, WARPS = T::THREADS / 32;
  static constexpr bool PAIRS = (THIN_A ? T::B_MN_MAJOR : T::A_MN_MAJOR) && (THIN_A || !T::GATHER);  // the wide operand's neighbours lie side by side
  static_assert(sizeof(Thin) == SIZE && T::BK == WARPS * 4 * VECTOR, "a step is 64 bytes along k for each warp");
  using Product = If<ByFma<Wide, T::TF32>::value, GemvByFma<If<SIZE == 8, double, float>, WIDE, THIN>, GemvByMma<Wide, Thin, typename T::Sum, WIDE, THIN>>;
  static constexpr int WIDE_LINES = WIDE / 8, THIN_LINES = Product::LINES;

 public:
  using Sum = typename T::Sum;

  GG_DEVICE explicit GemvMainloop(char* shared) : parts_(reinterpret_cast<Sum*>(shared)) {}

  // As MultistageMainloop::run.
  GG_DEVICE void run(const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column) {
    Sum part[Product::SUMS];
#pragma unroll
    for (Sum& sum : part) sum = 0;
    if (p.k > 0) multiply(part, p, group_rows, row, column);
#pragma unroll
    for (int i = 0; i < Product::SUMS; ++i) parts_[(warp() * Product::SUMS + i) * 32 + lane()] = part[i];
    __syncthreads();
  }

  // Of a row and a column of the tile, for any thread: the warps' terms in their order.
  GG_DEVICE Sum sum(int i, int j) const {
    const u32 wide = static_cast<u32>(THIN_A ? j : i), thin = static_cast<u32>(THIN_A ? i : j);
    const u32 place = PAIRS ? wide / 16 * 16 + wide % 16 / 2 + wide % 2 * 8 : wide;
    const Sum* const first = parts_ + Product::sum(place, thin) * 32 + Product::lane(place, thin);
    Sum sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w)
#pragma unroll
      for (int s = 0; s < Product::SHARERS; ++s) sum += first[w * Product::SUMS * 32 + s];
    return sum;
  }

 private:
  GG_DEVICE static int warp() { return static_cast<int>(threadIdx.x / 32); }
  GG_DEVICE static int lane() { return static_cast<int>(threadIdx.x % 32); }

  // Of rows and columns beyond the end, whose sums are not stored, the tile's first is taken.
  using Line = OperandLine;
  GG_DEVICE static Line line_of_a(const GemmParams& p, const GroupRows& group_rows, i64 row, int i) {
    i64 of = row + i < p.m ? row + i : row;
    if constexpr (T::GATHER) of = read_row(group_rows.a_index, of);
    return {static_cast<const char*>(p.a.data) + max_of(of, 0) * p.a.row_stride * SIZE, !T::GATHER || of >= 0};
  }
  GG_DEVICE static Line line_of_b(const GemmParams& p, i64 column, int j) {
    const TileColumns<T::GATE, T::BN> columns(p.n, column);
    return {static_cast<const char*>(p.b.data) + (columns.first() + (columns.inside(j) ? columns.at(j) : 0)) * p.b.col_stride * SIZE, true};
  }

  // Which of the wide operand's lines is at this lane's i-th place.
  GG_DEVICE static int wide_line(int i) { return PAIRS ? i / 2 * 16 + lane() / 4 * 2 + i % 2 : 8 * i + lane() / 4; }

  GG_DEVICE static void multiply(Sum (&sums)[Product::SUMS], const GemmParams& p, const GroupRows& group_rows, i64 row, i64 column) {
    Line wide[WIDE_LINES], thin[THIN_LINES];
    u64 wide_addresses = 0, thin_addresses = 0;
#pragma unroll
    for (int i = 0; i < WIDE_LINES; ++i) {
      const int line = wide_line(i);
      wide[i] = THIN_A ? line_of_b(p, column, line) : line_of_a(p, group_rows, row, line);
      if (!PAIRS || i % 2 == 0) wide_addresses |= reinterpret_cast<u64>(wide[i].at);
    }
#pragma unroll
    for (int j = 0; j < THIN_LINES; ++j) {
      const int line = Product::thin_line(j, lane());
      thin[j] = THIN_A ? line_of_a(p, group_rows, row, line) : line_of_b(p, column, line);
      thin_addresses |= reinterpret_cast<u64>(thin[j].at);
    }
    const i64 wide_unit = THIN_A ? p.b.row_stride : p.a.col_stride, thin_unit = THIN_A ? p.a.col_stride : p.b.row_stride;
    bool by_vectors = wide_unit == 1;
    if constexpr (PAIRS) {
      // No pair crosses an end: that of the matrix, or of each half.
      const bool whole = !THIN_A ? p.m % 2 == 0 || row + WIDE <= p.m : T::GATE == 1 ? p.n / 2 % 2 == 0 : p.n % 2 == 0 || column + WIDE <= p.n;
      by_vectors = (THIN_A ? p.b.col_stride : p.a.row_stride) == 1 && wide_unit % 2 == 0 && whole;
    }
    by_vectors = by_vectors && all_aligned(wide_addresses, PAIRS ? 2 * SIZE : 16);
    const bool thin_vectors = thin_unit == 1 && all_aligned(thin_addresses, 16);
    // Loads are asm that a compiler may move, ahead of the wait for the launch before as well: but not ahead of `renewed`, on which it depends whether they are made.
    const u64 vectors = static_cast<u64>(ptx::renewed(p.k)) / VECTOR;  // k is above 0, and shifts suffice
    if (by_vectors && thin_vectors) add_vectors<T::STAGES, true>(sums, wide, thin, wide_unit, 1, vectors);
    else if (by_vectors) add_vectors<1, false>(sums, wide, thin, wide_unit, thin_unit, vectors);
    const i64 to = ptx::renewed(p.k), from = by_vectors ? static_cast<i64>(static_cast<u64>(to) / VECTOR * VECTOR) : 0;
    if (from < to) add_elements(sums, wide, thin, wide_unit, thin_unit, from, to);
  }
  GG_DEVICE static bool all_aligned(u64 addresses, int bytes) { return __ballot_sync(0xffffffffu, (addresses & static_cast<u64>(bytes - 1)) == 0) == 0xffffffffu; }

  // Of a step the vector that is this lane's.
  GG_DEVICE static int first() { return warp() * 4 + lane() % 4; }
  using WideVectors = ptx::Vector16[WIDE_LINES];
  using ThinVectors = ptx::Vector16[THIN_LINES];
  using Pairs = NeighbourPairs<SIZE, WIDE>;

  // The first `vectors` of k, STAGES steps ahead of the products. The thin operand's, where a lane has many or they are no vectors in memory, come with the products: other CTAs have brought them to L2, and
  // other lanes to L1.
  template <int STAGES, bool THIN_VECTORS>
  GG_DEVICE static void add_vectors(Sum (&sums)[Product::SUMS], const Line (&wide)[WIDE_LINES], const Line (&thin)[THIN_LINES], i64 wide_unit, i64 thin_unit, u64 vectors) {
    const i64 k_end = static_cast<i64>(vectors * VECTOR);
    const i32 steps = static_cast<i32>((vectors + 4 * WARPS - 1) / (4 * WARPS)), own = static_cast<i32>((vectors + 4 * WARPS - 1 - static_cast<u32>(first())) / (4 * WARPS));  // k is below 2^31 BK
    constexpr bool AHEAD = THIN_VECTORS && THIN_LINES == 1;
    If<PAIRS, Pairs, WideVectors> a[STAGES];
    ThinVectors b[AHEAD ? STAGES : 1];
    const auto vector = [](i32 step) { return i64(step) * (4 * WARPS) + first(); };
    const auto load_thin = [&](int slot, i32 step) {
#pragma unroll
      for (int j = 0; j < THIN_LINES; ++j)
        if constexpr (THIN_VECTORS) b[slot][j] = ptx::load_constant(reinterpret_cast<const ptx::Vector16*>(thin[j].at + vector(step) * 16), step < own && thin[j].on);
        else b[slot][j] = line_elements<SIZE, VECTOR>(thin[j], thin_unit, vector(step) * VECTOR, 0, step < own ? k_end : 0);
    };
    const auto load = [&](int slot, i32 step) {
      if constexpr (PAIRS) {
        using Stored = typename Pairs::Stored;
#pragma unroll
        for (int block = 0; block < WIDE / 16; ++block)
#pragma unroll
          for (int e = 0; e < VECTOR; ++e)
            a[slot].of[block][e] = ptx::load_constant(reinterpret_cast<const Stored*>(wide[2 * block].at + (vector(step) * VECTOR + e) * wide_unit * SIZE), step < own);
      } else {
#pragma unroll
        for (int i = 0; i < WIDE_LINES; ++i) a[slot][i] = ptx::load_streamed(reinterpret_cast<const ptx::Vector16*>(wide[i].at + vector(step) * 16), step < own && wide[i].on);
      }
      if constexpr (AHEAD) load_thin(slot, step);
    };
#pragma unroll
    for (int s = 0; s < STAGES; ++s) load(s, s);
#pragma unroll 1
    for (i32 step = 0; step < steps; step += STAGES)
#pragma unroll
      for (int s = 0; s < STAGES; ++s) {
        if constexpr (!AHEAD) load_thin(0, step + s);
        if constexpr (PAIRS) {
          WideVectors along;
          a[s].along_k(along);
          Product::add(sums, along, b[AHEAD ? s : 0]);
        } else {
          Product::add(sums, a[s], b[AHEAD ? s : 0]);
        }
        load(s, step + STAGES + s);
      }
  }

  // What of k lies from `from` to `to`, of any strides: single elements, half a vector of them at a time, as registers are the other loop's.
  GG_DEVICE static void add_elements(Sum (&sums)[Product::SUMS], const Line (&wide)[WIDE_LINES], const Line (&thin)[THIN_LINES], i64 wide_unit, i64 thin_unit, i64 from, i64 to) {
    constexpr int HALF = VECTOR / 2;
#pragma unroll 1
    for (i64 k = from / T::BK * T::BK + first() * VECTOR; k - first() * VECTOR < to; k += k / HALF % 2 ? T::BK - HALF : HALF) {
      WideVectors a;
      ThinVectors b;
#pragma unroll
      for (int i = 0; i < WIDE_LINES; ++i) a[i] = line_elements<SIZE, HALF>(wide[i], wide_unit, k, from, to);
#pragma unroll
      for (int j = 0; j < THIN_LINES; ++j) b[j] = line_elements<SIZE, HALF>(thin[j], thin_unit, k, from, to);
      Product::add(sums, a, b);
    }
  }

  Sum* parts_;
};

}  // namespace ggemm::kernels
