// SPDX-License-Identifier: Apache-2.0
// The swizzled tile in shared memory, for every shape that a legal configuration uses.
#include "tile/shared_tile.cuh"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "select/space.hpp"
#include "select/table.hpp"

using namespace ggemm;
using kernels::SharedTile;

namespace {

using Shape = std::tuple<int, int, int>;  // outer rows, inner elements, bytes of an element

// What a tile's shape is found to be; one function for all shapes, so that it is compiled once.
struct Tile {
  int outer, inner, size, row_bytes, panel_bytes, bytes, period;
  int (*offset)(int outer, int byte);
  int (*step)(int offset, int d_outer, int d_byte);
};

template <int OUTER, int INNER, int SIZE>
void add(std::map<Shape, Tile>& out) {
  // The same conditions as in the header's assertions, and rows of 64 bytes or more, as selection demands.
  constexpr int row = INNER * SIZE, panel = row < 128 ? row : 128;
  if constexpr (INNER > 0 && OUTER > 0 && row >= 64 && row % panel == 0 && (panel & (panel - 1)) == 0 && OUTER * row % 1024 == 0) {
    using T = SharedTile<OUTER, INNER, SIZE>;
    out[{OUTER, INNER, SIZE}] = {OUTER, INNER, SIZE, T::ROW_BYTES, T::PANEL_BYTES, T::BYTES, T::PERIOD, [](int outer, int byte) { return T::offset(outer, byte); },
                                 [](int offset, int d_outer, int d_byte) { return T::step(offset, d_outer, d_byte); }};
  }
}
// A tile that is `SPAN` along m or n and `DEPTH_BYTES` of a row along k, contiguous along k, and along m or n.
template <int SPAN, int DEPTH_BYTES, int SIZE>
void add_majors(std::map<Shape, Tile>& out) {
  add<SPAN, DEPTH_BYTES / SIZE, SIZE>(out);
  add<DEPTH_BYTES / SIZE, SPAN, SIZE>(out);
}
template <int SPAN>
void add_span(std::map<Shape, Tile>& out) {
  add_majors<SPAN, 64, 1>(out), add_majors<SPAN, 64, 2>(out), add_majors<SPAN, 64, 4>(out), add_majors<SPAN, 64, 8>(out);
  add_majors<SPAN, 128, 1>(out), add_majors<SPAN, 128, 2>(out), add_majors<SPAN, 128, 4>(out), add_majors<SPAN, 128, 8>(out);
}

const std::map<Shape, Tile>& tiles() {
  static const std::map<Shape, Tile> all = [] {
    std::map<Shape, Tile> out;
    add_span<16>(out), add_span<32>(out), add_span<64>(out), add_span<128>(out), add_span<256>(out);
    add_majors<32, 256, 8>(out), add_majors<64, 256, 8>(out), add_majors<128, 256, 8>(out), add_majors<32, 256, 4>(out), add_majors<64, 256, 4>(out), add_majors<128, 256, 4>(out);
    return out;
  }();
  return all;
}

std::string name(const Tile& t) { return std::to_string(t.outer) + " rows of " + std::to_string(t.inner) + " elements of " + std::to_string(t.size) + " bytes"; }

int bank_group(int offset) { return offset / 16 % 8; }

// The shapes of both operands of every legal tensor-core configuration.
std::set<Shape> shapes_in_use() {
  core::DeviceFacts facts;
  facts.cuda = true;
  facts.compute_capability = 90;
  facts.shared_per_block = 227 * 1024;
  facts.f64_slower = 2;
  std::set<Shape> out;
  for (const auto& [dtype, compute] : {std::pair(GGEMM_F64, GGEMM_COMPUTE_DEFAULT), {GGEMM_F32, GGEMM_COMPUTE_TF32}, {GGEMM_F32, GGEMM_COMPUTE_DEFAULT}, {GGEMM_F16, GGEMM_COMPUTE_DEFAULT}, {GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {GGEMM_I8, GGEMM_COMPUTE_DEFAULT}}) {
    for (int majors = 0; majors < 4; ++majors) {
      core::ProblemType type{};
      type.a = type.b = type.c = type.d = static_cast<std::uint8_t>(dtype);
      type.compute = static_cast<std::uint8_t>(compute);
      type.sum = dtype == GGEMM_F64 ? core::Sum::f64 : dtype == GGEMM_I8 ? core::Sum::i32 : core::Sum::f32;
      type.major_a = static_cast<core::Major>(majors % 2), type.major_b = static_cast<core::Major>(majors / 2);
      const int size = static_cast<int>(core::dtype_size(dtype));
      for (const core::Config& c : select::table(type)) {
        if (c.family != core::Family::sm80 || select::illegal(type, c, facts)) continue;
        const auto shape = [&](int span, core::Major major) { return major == core::Major::k ? Shape{span, c.tile_k, size} : Shape{c.tile_k, span, size}; };
        out.insert(shape(c.tile_m, type.major_a));
        out.insert(shape(c.tile_n, type.major_b));
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("shared tile: these tests cover every shape that a legal configuration of the table uses") {
  const std::set<Shape> used = shapes_in_use();
  CHECK(used.size() >= 20);
  for (const Shape& shape : used) {
    INFO(std::get<0>(shape) << " rows of " << std::get<1>(shape) << " elements of " << std::get<2>(shape) << " bytes: add it to tiles()");
    CHECK(tiles().contains(shape));
  }
}

TEST_CASE("shared tile: bytes lie where the 128-byte swizzle puts them") {
  using Line = SharedTile<64, 64, 2>;  // 128 bytes a row
  CHECK(Line::offset(0, 0) == 0);
  CHECK(Line::offset(0, 127) == 127);
  CHECK(Line::offset(1, 0) == 128 + 16);
  CHECK(Line::offset(3, 5 * 16 + 2) == 3 * 128 + (5 ^ 3) * 16 + 2);
  CHECK(Line::offset(8, 16) == 1024 + 16);
  using Half = SharedTile<64, 32, 2>;  // 64 bytes a row: two to a line
  CHECK(Half::offset(1, 0) == 64);
  CHECK(Half::offset(2, 0) == 128 + 16);
  CHECK(Half::offset(15, 48) == 7 * 128 + ((4 + 3) ^ 7) * 16);
  using Wide = SharedTile<16, 128, 2>;  // 256 bytes a row: two panels
  CHECK(Wide::offset(2, 130) == 16 * 128 + 2 * 128 + 2 * 16 + 2);
  CHECK(Wide::BYTES == 4096);
}

TEST_CASE("shared tile: offset is one to one onto the tile's bytes") {
  for (const auto& [shape, t] : tiles()) {
    INFO(name(t));
    std::vector<int> hits(static_cast<std::size_t>(t.bytes), 0);
    int outside = 0, missed = 0;
    for (int outer = 0; outer < t.outer; ++outer) {
      for (int byte = 0; byte < t.row_bytes; ++byte) {
        const int at = t.offset(outer, byte);
        if (at < 0 || at >= t.bytes) ++outside;
        else ++hits[static_cast<std::size_t>(at)];
      }
    }
    for (const int n : hits) missed += n != 1;
    CHECK(t.bytes == t.outer * t.inner * t.size);
    CHECK(outside == 0);
    CHECK(missed == 0);
  }
}

TEST_CASE("shared tile: a 16-byte chunk stays whole and aligned to 16 bytes") {
  for (const auto& [shape, t] : tiles()) {
    INFO(name(t));
    int wrong = 0;
    for (int outer = 0; outer < t.outer; ++outer) {
      for (int chunk = 0; chunk < t.row_bytes; chunk += 16) {
        const int at = t.offset(outer, chunk);
        wrong += at % 16 != 0;
        for (int byte = 1; byte < 16; ++byte) wrong += t.offset(outer, chunk + byte) != at + byte;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("shared tile: the chunks of eight rows at one column, which ldmatrix reads together, lie in eight different bank groups") {
  for (const auto& [shape, t] : tiles()) {
    INFO(name(t));
    if (t.outer < 8) continue;
    int wrong = 0, checked = 0;
    for (int outer = 0; outer + 8 <= t.outer; outer += 8) {
      for (int chunk = 0; chunk < t.row_bytes; chunk += 16, ++checked) {
        unsigned groups = 0;
        for (int row = 0; row < 8; ++row) groups |= 1u << bank_group(t.offset(outer + row, chunk));
        wrong += groups != 0xff;
      }
    }
    CHECK(wrong == 0);
    CHECK(checked == t.outer / 8 * (t.row_bytes / 16));
  }
}

TEST_CASE("shared tile: the chunks that eight neighbouring threads of a copy write together lie in eight different bank groups") {
  for (const auto& [shape, t] : tiles()) {
    INFO(name(t));
    const int chunks = t.row_bytes / 16, all = t.outer * chunks;
    int wrong = 0;
    for (int first = 0; first < all; first += 8) {
      unsigned groups = 0;
      for (int thread = first; thread < first + 8; ++thread) groups |= 1u << bank_group(t.offset(thread / chunks, thread % chunks * 16));
      wrong += groups != 0xff;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("shared tile: step goes from one offset to another that is whole periods of rows and unused bits of the byte away") {
  for (const auto& [shape, t] : tiles()) {
    INFO(name(t));
    CHECK(t.period * t.panel_bytes == 1024);
    int wrong = 0, checked = 0;
    for (int outer = 0; outer < t.outer; ++outer) {
      for (int d_outer = 0; outer + d_outer < t.outer; d_outer += t.period) {
        for (int byte = 0; byte < t.row_bytes; byte += 4) {
          for (int d_byte = 0; byte + d_byte < t.row_bytes; d_byte += 16) {
            if (byte & d_byte) continue;
            wrong += t.step(t.offset(outer, byte), d_outer, d_byte) != t.offset(outer + d_outer, byte + d_byte);
            ++checked;
          }
        }
      }
    }
    CHECK(wrong == 0);
    CHECK(checked >= t.outer * t.row_bytes / 4);
  }
}

// Of an operand that ldmatrix reads: the lane's address at k step 0 and block 0, then steps to every other block and k step.
TEST_CASE("shared tile: the steps of a warp's fragments lead to the rows and bytes that they name") {
  for (const auto& [shape, t] : tiles()) {
    INFO(name(t));
    // Contiguous along k: blocks of 16 rows, k steps of 32 bytes; any warp's first row.
    int wrong = 0;
    if (t.period <= 16) {
      for (int first = 0; first < t.outer; first += 16)
        for (int row = 0; row < 16 && first + row < t.outer; ++row)
          for (int k = 0; k < 32; k += 16)
            for (int i = 0; first + row + 16 * i < t.outer; ++i)
              for (int ks = 0; 32 * ks < t.row_bytes; ++ks) wrong += t.step(t.offset(first + row, k), 16 * i, 32 * ks) != t.offset(first + row + 16 * i, k + 32 * ks);
    }
    // 16-bit elements contiguous along m or n: k steps of 16 rows, blocks of 32 bytes; a warp's part is a power of two and begins at a multiple of it.
    if (t.size == 2 && t.period <= 16) {
      for (int part = 16; part <= t.inner; part *= 2)
        for (int first = 0; first < t.inner; first += part)
          for (int mn = 0; mn < 16; mn += 8)
            for (int row = 0; row < 16 && row < t.outer; ++row)
              for (int i = 0; i < part / 16; ++i)
                for (int ks = 0; row + 16 * ks < t.outer; ++ks)
                  wrong += t.step(t.offset(row, (first + mn) * 2), 16 * ks, 32 * i) != t.offset(row + 16 * ks, (first + mn) * 2 + 32 * i);
    }
    CHECK(wrong == 0);
  }
}
