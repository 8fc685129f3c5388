// SPDX-License-Identifier: Apache-2.0
// The forms of grouped products: what is refused, and small products whose results are seen at once. (Random ones: tests/conformance.)
#include <chrono>
#include <cmath>
#include <functional>

#include "ragged.hpp"

namespace ggemm::tests {
namespace {

using namespace ragged;

struct Wrong {
  const char* title;
  std::function<void(Ragged&)> spoil;
  std::vector<std::string> sentence;
};

const Wrong wrongs[] = {
    {"no ends", [](Ragged& p) { p.desc.ends = ggemm_const(0); }, {"ends", "form=ragged_m", "device memory"}},
    {"ends nowhere", [](Ragged& p) { p.desc.ends.data = nullptr; }, {"ends.data is NULL", "groups=3"}},
    {"ends off their alignment", [](Ragged& p) { p.desc.ends.byte_stride = 6; }, {"ends.data", "byte_stride=6"}},
    {"counts of a ragged size", [](Ragged& p) { p.desc.counts = ggemm_i32_at(p.ends, 4); }, {"counts is given", "form=ragged_m"}},
    {"m of each group's own", [](Ragged& p) { p.desc.m = ggemm_i32_at(p.ends, 4); }, {"m.kind=1", "form=ragged_m", "rows of A and D in all"}},
    {"n of each group's own", [](Ragged& p) { p.desc.n = ggemm_i32_at(p.ends, 4); }, {"n.kind=1", "form=ragged_m"}},
    {"k of each group's own", [](Ragged& p) { p.desc.k = ggemm_i32_at(p.ends, 4); }, {"k.kind=1", "form=ragged_m"}},
    {"pointers of A", [](Ragged& p) { p.desc.a.pointers = 1; }, {"a.pointers=1", "form=ragged_m", "one matrix"}},
    {"pointers of D", [](Ragged& p) { p.desc.d.pointers = 1; }, {"d.pointers=1", "form=ragged_m"}},
    {"a distance in A", [](Ragged& p) { p.desc.a.group_stride = 4; }, {"a.group_stride=4", "form=ragged_m"}},
    {"strides of A in memory", [](Ragged& p) { p.desc.a.row_stride = ggemm_i32_at(p.ends, 4); }, {"a.row_stride", "form=ragged_m", "constant"}},
    {"rows of A that overlap",
     [](Ragged& p) { p.desc.a.row_stride = ggemm_const(-1), p.desc.a.col_stride = ggemm_const(1); },
     {"a.row_stride=-1", "k=2"}},
    {"rows of D that coincide",
     [](Ragged& p) { p.desc.d.row_stride = ggemm_const(0), p.desc.d.col_stride = ggemm_const(1); },
     {"d.row_stride=0", "m=7"}},
    {"a distance of B that is not known",
     [](Ragged& p) { p.desc.b.row_stride = ggemm_i32_at(p.ends, 4), p.desc.b.col_stride = ggemm_const(1); },
     {"b.group_stride=GGEMM_PACKED", "b.row_stride"}},
    {"a distance of B beyond memory", [](Ragged& p) { p.desc.b.group_stride = INT64_MAX / 4; }, {"b.group_stride=2305843009213693951", "2^63"}},
    {"no A", [](Ragged& p) { p.args.a = nullptr; }, {"a is NULL"}},
    {"A off its alignment", [](Ragged& p) { p.args.a = reinterpret_cast<const char*>(p.a.data()) + 2; }, {"a=0x", "4"}},
    {"pointers of B off their alignment",
     [](Ragged& p) { p.desc.b.pointers = 1, p.args.b = reinterpret_cast<const char*>(p.b.data()) + 4; },
     {"b=0x", "8"}},
    {"D over A", [](Ragged& p) { p.args.d = p.a.data() + 2; }, {"d=0x", "overlaps a="}},
    {"D over the last B", [](Ragged& p) { p.b.resize(8 + rows * n), p.args.b = p.b.data(), p.args.d = p.b.data() + 8; }, {"d=0x", "overlaps b="}},  // and over nothing behind it
    {"C that is D in another order",
     [](Ragged& p) { p.desc.c.row_stride = ggemm_const(1), p.desc.c.col_stride = ggemm_const(rows), p.args.c = p.d.data(), p.args.beta = p.scalars; },
     {"c is d", "strides"}},
    {"C partly in D", [](Ragged& p) { p.args.c = p.d.data() + 1, p.args.beta = p.scalars; }, {"d=0x", "overlaps c=0x"}},
    {"a distance of a bias beside the rows",
     [](Ragged& p) { p.desc.epilogue.bias = GGEMM_BIAS_PER_ROW, p.desc.bias_group_stride = 2, p.args.bias = p.bias.data(); },
     {"bias_group_stride=2", "form=ragged_m", "per row"}},
    {"no bias", [](Ragged& p) { p.desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN; }, {"bias is NULL"}},
    {"ragged k: ends", [](Ragged& p) { to_ragged_k(p), p.desc.ends = ggemm_const(4); }, {"ends", "form=ragged_k"}},
    {"ragged k: k of each group's own", [](Ragged& p) { to_ragged_k(p), p.desc.k = ggemm_i32_at(p.ends, 4); }, {"k.kind=1", "form=ragged_k"}},
    {"ragged k: m of each group's own", [](Ragged& p) { to_ragged_k(p), p.desc.m = ggemm_i32_at(p.ends, 4); }, {"m.kind=1", "form=ragged_k"}},
    {"ragged k: n of each group's own", [](Ragged& p) { to_ragged_k(p), p.desc.n = ggemm_i32_at(p.ends, 4); }, {"n.kind=1", "form=ragged_k"}},
    {"ragged k: pointers of B", [](Ragged& p) { to_ragged_k(p), p.desc.b.pointers = 1; }, {"b.pointers=1", "form=ragged_k"}},
    {"ragged k: groups of D that coincide", [](Ragged& p) { to_ragged_k(p), p.desc.d.group_stride = 0; }, {"d.group_stride=0", "groups=3"}},
    {"masked: room of each group's own", [](Ragged& p) { to_masked(p), p.desc.m = ggemm_i32_at(p.ends, 4); }, {"m.kind=1", "form=masked", "room"}},
    {"masked: a negative count", [](Ragged& p) { to_masked(p), p.desc.counts = ggemm_const(-2); }, {"counts=-2"}},
    {"masked: ends", [](Ragged& p) { to_masked(p), p.desc.ends = ggemm_i32_at(p.ends, 4); }, {"ends is given", "form=masked"}},
    {"masked: a distance that is not known",
     [](Ragged& p) { to_masked(p), p.desc.n = ggemm_i32_at(p.ends, 4); },
     {"b.group_stride=GGEMM_PACKED", "n"}},
    {"batch: a distance that is not known", [](Ragged& p) { to_batch(p), p.desc.m = ggemm_i32_at(p.ends, 4); }, {"a.group_stride=GGEMM_PACKED", "m"}},
    {"batch: a distance of C that is not known",
     [](Ragged& p) {
       to_batch(p), p.desc.m = ggemm_i32_at(p.ends, 4);
       p.desc.a.group_stride = p.desc.d.group_stride = 4, p.args.c = p.c.data(), p.args.beta = p.scalars;
     },
     {"c.group_stride=GGEMM_PACKED"}},
    {"batch: a distance of biases that is not known",
     [](Ragged& p) {
       to_batch(p), p.desc.m = ggemm_i32_at(p.ends, 4);
       p.desc.a.group_stride = p.desc.d.group_stride = 4, p.desc.epilogue.bias = GGEMM_BIAS_PER_ROW, p.args.bias = p.bias.data();
     },
     {"bias_group_stride=GGEMM_PACKED"}},
    {"an index of A in another form",
     [](Ragged& p) { to_batch(p), p.desc.a_index = ggemm_i32_at(p.ends, 4), p.desc.a_rows = 3; },
     {"a_index is given", "form=batch"}},
    {"an index of D in another form",
     [](Ragged& p) { to_ragged_k(p), p.desc.d_index = ggemm_i32_at(p.ends, 4), p.desc.d_rows = 3; },
     {"d_index is given", "form=ragged_k"}},
    {"an index of A nowhere", [](Ragged& p) { p.desc.a_index = ggemm_i32_at(nullptr, 4); }, {"a_index.data is NULL"}},
    {"an index that is a constant", [](Ragged& p) { p.desc.a_index = ggemm_const(3); }, {"a_index.kind=0", "value=3", "device memory"}},
    {"scales of rows of A with an index",
     [](Ragged& p) { p.desc.a_index = ggemm_i32_at(p.ends, 4), p.desc.a_rows = 3, p.desc.scale_a.kind = GGEMM_SCALE_BLOCK_128X128, p.args.scale_a = p.bias.data(); },
     {"scale_a.kind=128x128", "a_index"}},
    {"scales of gathered rows behind pointers",
     [](Ragged& p) {
       p.desc.a_index = ggemm_i32_at(p.ends, 4), p.desc.a_rows = 3;
       p.desc.scale_a.kind = GGEMM_SCALE_VECTOR, p.desc.scale_a.pointers = 1, p.args.scale_a = p.bias.data();
     },
     {"scale_a.pointers=1", "a_index"}},
    {"rows of A without their index", [](Ragged& p) { p.desc.a_rows = 5; }, {"a_rows=5", "a_index"}},
    {"a negative number of rows of D", [](Ragged& p) { p.desc.d_index = ggemm_i32_at(p.ends, 4), p.desc.d_rows = -1; }, {"d_rows=-1"}},
    {"rows of D that do not meet, without an index", [](Ragged& p) { p.desc.d_index_unique = 1; }, {"d_index_unique=1", "d_index"}},
    {"a flag of an index that is none", [](Ragged& p) { p.desc.d_index = ggemm_i32_at(p.ends, 4), p.desc.d_index_unique = 2; }, {"d_index_unique=2"}},
    {"weights of rows without an index", [](Ragged& p) { p.args.row_weights = p.scalars; }, {"row_weights=0x", "d_index"}},
    {"C that is D with an index",
     [](Ragged& p) {
       p.desc.d_index = ggemm_i32_at(p.ends, 4), p.desc.d_rows = rows;
       p.args.c = p.d.data(), p.args.beta = p.scalars;
     },
     {"c is d", "d_index"}},
    {"a flag of checked mode that is none", [](Ragged& p) { p.desc.checked = 2; }, {"checked=2"}},
    {"checked mode without a status", [](Ragged& p) { p.desc.checked = 1; }, {"status is NULL", "checked=1"}},
    {"batch: the same D for all", [](Ragged& p) { to_batch(p), p.desc.d.group_stride = 0; }, {"d.group_stride=0"}},
    {"batch: a D that begins within the one before", [](Ragged& p) { to_batch(p), p.desc.d.group_stride = 1; }, {"d.group_stride=1", "groups=3", "2x2"}},
    {"batch: a D that ends within the one before", [](Ragged& p) { to_batch(p), p.desc.d.group_stride = -3; }, {"d.group_stride=-3"}},
    {"batch: rows of D that take turns with those of too many groups",
     [](Ragged& p) { to_batch(p), p.desc.d.group_stride = 2, p.desc.d.row_stride = ggemm_const(4), p.desc.d.col_stride = ggemm_const(1); },
     {"d.group_stride=2"}},
    {"masked: rooms of D that overlap", [](Ragged& p) { to_masked(p), p.desc.d.group_stride = 2; }, {"d.group_stride=2"}},
    {"ragged k: groups of D that overlap", [](Ragged& p) { to_ragged_k(p), p.desc.d.group_stride = 3; }, {"d.group_stride=3"}},
    // What only the groups' own numbers show.
    {"batch: pointers of A, one of them NULL",
     [](Ragged& p) {
       static const void* const pointers[groups] = {};
       to_batch(p), p.desc.a.pointers = 1, p.args.a = pointers;
     },
     {"a[0] is NULL"}},
};

}  // namespace

TEST_CASE("Every wrong description of a form is refused by name and no D is touched") {
  for (const Wrong& row : wrongs) {
    Ragged p;
    row.spoil(p);
    INFO(row.title);
    const auto a = p.a, b = p.b;
    CHECK(p.run() == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(p.d == std::vector<float>(rows * n, -7.0f));
    CHECK((p.a == a && p.b == b));
  }
}

TEST_CASE("ragged m: rows between the ends are their group's, the rest of D stays") {
  Ragged p;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(p.d == std::vector<float>{0, 1, 1, 1, 2, 1, 9, 3, 12, 3, -7, -7, -7, -7});
  SECTION("64-bit ends among other numbers, from the last to the first") {
    const std::int64_t wide[] = {5, -1, 3, -1, 3};
    p.desc.ends = ggemm_i64_at(wide + 4, -16);
    p.d.assign(p.d.size(), -7);
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{0, 1, 1, 1, 2, 1, 9, 3, 12, 3, -7, -7, -7, -7});
  }
  SECTION("B of each group anywhere, and one for all") {
    const float* const pointers[] = {&p.b[8], &p.b[4], &p.b[0]};
    p.desc.b.pointers = 1, p.args.b = pointers;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{0, 3, 3, 3, 6, 3, 3, 1, 4, 1, -7, -7, -7, -7});
    p.desc.b.pointers = 0, p.args.b = p.b.data() + 4, p.desc.b.group_stride = 0;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{0, 2, 2, 2, 4, 2, 6, 2, 8, 2, -7, -7, -7, -7});
  }
  SECTION("column-major A and D") {
    std::vector<float> turned;
    for (const int column : {0, 1})
      for (int i = 0; i < rows; ++i) turned.push_back(p.a[static_cast<std::size_t>(2 * i + column)]);
    p.args.a = turned.data();
    for (ggemm_grouped_matrix* matrix : {&p.desc.a, &p.desc.d}) matrix->row_stride = ggemm_const(1), matrix->col_stride = ggemm_const(rows);
    p.d.assign(p.d.size(), -7);
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{0, 1, 2, 9, 12, -7, -7, 1, 1, 1, 3, 3, -7, -7});
  }
}

TEST_CASE("ragged m: ends that fall, lie below 0 or pass the last row touch nothing outside") {
  Ragged p;
  const std::vector<float> kept = {-7, -7};
  const auto row = [&](std::size_t i) { return std::vector<float>{p.d[2 * i], p.d[2 * i + 1]}; };
  SECTION("below 0 is 0") {
    p.ends[0] = -5, p.ends[1] = 1, p.ends[2] = 1;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(row(0) == std::vector<float>{0, 2});
    for (std::size_t i = 1; i < 7; ++i) CHECK(row(i) == kept);
  }
  SECTION("past the last row is the last row") {
    p.ends[0] = 0, p.ends[1] = 6, p.ends[2] = 1 << 30;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(row(5) == std::vector<float>{10, 2});
    CHECK(row(6) == std::vector<float>{18, 3});
  }
  SECTION("a group that ends before it begins is empty") {
    p.ends[0] = 4, p.ends[1] = 2, p.ends[2] = 3;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(row(0) == std::vector<float>{0, 1});
    CHECK(row(3) == std::vector<float>{3, 1});
    for (std::size_t i = 4; i < 7; ++i) CHECK(row(i) == kept);
  }
}

TEST_CASE("ragged m: bias by column of each group, by row beside D, C and scalars of each group") {
  Ragged p;
  p.desc.epilogue.scalars_on_device = 1;
  p.args.alpha = p.scalars, p.args.alpha_byte_stride = 8;
  SECTION("by column") {
    p.desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN, p.args.bias = p.bias.data();
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{10, 21, 11, 21, 12, 21, 41, 57, 38, 57, -7, -7, -7, -7});
    p.desc.bias_group_stride = 0;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{10, 21, 11, 21, 12, 21, 1, 17, -2, 17, -7, -7, -7, -7});
    const float* const pointers[] = {&p.bias[1], nullptr, &p.bias[0]};
    p.desc.bias_pointers = 1, p.args.bias = pointers;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{20, 31, 21, 31, 22, 31, 1, 17, -2, 17, -7, -7, -7, -7});
  }
  SECTION("by row") {
    p.desc.epilogue.bias = GGEMM_BIAS_PER_ROW, p.args.bias = p.bias.data();
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{10, 11, 21, 21, 32, 31, 31, 37, 38, 47, -7, -7, -7, -7});
  }
  SECTION("C with a beta of each group, 0 among them") {
    const float betas[] = {0, 1, 2};
    p.args.c = p.c.data(), p.args.beta = betas, p.args.beta_byte_stride = 4;
    p.c[0] = p.c[1] = NAN;  // of a row whose beta is 0
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>{0, 1, 1, 1, 2, 1, 191, 197, 188, 197, -7, -7, -7, -7});
    p.args.c = nullptr;
    CHECK(p.run() == GGEMM_ERROR_ARGUMENT);
  }
}

TEST_CASE("ragged k: each group sums its own depth, one of depth 0 gives beta C, and C may be D") {
  Ragged p;
  to_ragged_k(p);  // A [2,7] is the rows i and 1 of before, by columns; B [7,2] is the same by rows
  p.args.b = p.a.data();
  std::vector<float> d(groups * 4, 5.0f);
  p.args.d = d.data();
  SECTION("overwritten") {
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(d == std::vector<float>{5, 3, 3, 3, 0, 0, 0, 0, 25, 7, 7, 2});
  }
  SECTION("accumulated") {
    const float one = 1;
    p.args.c = d.data(), p.args.beta = &one;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(d == std::vector<float>{10, 8, 8, 8, 5, 5, 5, 5, 30, 12, 12, 7});
  }
  SECTION("D of each group anywhere") {
    float* const pointers[] = {&d[8], &d[0], &d[4]};
    p.desc.d.pointers = 1, p.args.d = pointers;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(d == std::vector<float>{0, 0, 0, 0, 25, 7, 7, 2, 5, 3, 3, 3});
  }
}

TEST_CASE("masked: rows behind a group's count are neither read nor written, and a count above the room counts as the room") {
  Ragged p;
  to_masked(p);
  p.ends[0] = 1, p.ends[1] = -3, p.ends[2] = 9;
  p.a[2] = p.a[3] = NAN;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(p.d == std::vector<float>{0, 1, -7, -7, -7, -7, -7, -7, 12, 3, 15, 3, -7, -7});
}

TEST_CASE("batch: groups without elements in D may lie at no distance") {
  for (const bool rows_alone : {false, true}) {
    Ragged p;
    to_batch(p);
    p.desc.d.group_stride = 0;
    CHECK(p.run() == GGEMM_ERROR_ARGUMENT);
    (rows_alone ? p.desc.m : p.desc.n) = ggemm_const(0);
    CHECK(p.run() == GGEMM_OK);
    CHECK(p.d == std::vector<float>(rows * n, -7));
  }
}

TEST_CASE("batch: groups of D may lie in any order, and take turns by rows, by columns or by elements") {
  struct Row {
    std::int64_t group, row, col;
  };
  for (const Row& row : {Row{4, 2, 1}, Row{-4, 2, 1}, Row{4, 1, 2}, Row{2, 6, 1}, Row{-2, -6, 1}, Row{1, 6, 3}, Row{-1, 3, 6}, Row{2, 1, 6}, Row{7, 3, 1}}) {
    Ragged p;
    to_batch(p);
    p.d.assign(24, -7);
    p.desc.d.group_stride = row.group, p.desc.d.row_stride = ggemm_const(row.row), p.desc.d.col_stride = ggemm_const(row.col);
    float* const first = p.d.data() - std::min<std::int64_t>(row.group, 0) * (groups - 1) - std::min<std::int64_t>(row.row, 0);
    p.args.d = first;
    CAPTURE(row.group, row.row, row.col);
    INFO(ggemm_last_error());
    REQUIRE(p.run() == GGEMM_OK);
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          CHECK(first[g * row.group + i * row.row + j * row.col] == static_cast<float>((g + 1)) * p.a[static_cast<std::size_t>(4 * g + 2 * i + j)]);
  }
}

TEST_CASE("batch: constant sizes follow each other, and sizes may be a group's own at a distance") {
  Ragged p;
  to_batch(p);
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(p.d == std::vector<float>{0, 1, 1, 1, 4, 2, 6, 2, 12, 3, 15, 3, -7, -7});
  p.d.assign(p.d.size(), -7);
  p.ends[0] = 2, p.ends[1] = 0, p.ends[2] = 1;
  p.desc.m = ggemm_i32_at(p.ends, 4);
  p.desc.a.group_stride = 4, p.desc.d.group_stride = -4;
  p.args.d = p.d.data() + 8;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(p.d == std::vector<float>{12, 3, -7, -7, -7, -7, -7, -7, 0, 1, 1, 1, -7, -7});
}

TEST_CASE("Empty forms need no memory: no groups, no rows, no columns; without depth A and B are not needed") {
  for (const auto form : {GGEMM_GROUPS_RAGGED_M, GGEMM_GROUPS_RAGGED_K, GGEMM_GROUPS_MASKED, GGEMM_GROUPS_BATCH}) {
    INFO("form " << form);
    for (const char* empty : {"groups", "m", "n"}) {
      INFO(empty);
      Ragged p;
      if (form == GGEMM_GROUPS_RAGGED_K) to_ragged_k(p);
      if (form == GGEMM_GROUPS_MASKED) to_masked(p);
      if (form == GGEMM_GROUPS_BATCH) to_batch(p);
      if (*empty == 'g') p.desc.groups = 0;
      if (*empty == 'm') p.desc.m = ggemm_const(0);
      if (*empty == 'n') p.desc.n = ggemm_const(0);
      p.args = GGEMM_GROUPED_ARGS_INIT;
      CHECK(p.run() == GGEMM_OK);
      INFO(ggemm_last_error());
    }
    Ragged p;
    if (form == GGEMM_GROUPS_RAGGED_K) to_ragged_k(p);
    if (form == GGEMM_GROUPS_MASKED) to_masked(p);
    if (form == GGEMM_GROUPS_BATCH) to_batch(p);
    p.desc.k = ggemm_const(0);
    p.desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN, p.desc.bias_group_stride = 0;
    p.args.a = p.args.b = nullptr, p.args.bias = p.bias.data();
    p.ends[0] = p.ends[1] = p.ends[2] = 1;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d[0] == 10);
    CHECK(p.d[1] == 20);
  }
}

TEST_CASE("Groups that are empty by a constant cost nothing, however many there are") {
  for (const bool rows : {true, false}) {
    INFO((rows ? "no rows" : "no columns"));
    Ragged p;
    to_batch(p);
    (rows ? p.desc.m : p.desc.n) = ggemm_const(0);
    p.desc.groups = (std::int64_t(1) << 31) - 64;
    p.args = GGEMM_GROUPED_ARGS_INIT;
    const auto begin = std::chrono::steady_clock::now();
    const auto status = p.run();
    INFO(ggemm_last_error());
    CHECK(status == GGEMM_OK);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));  // looked at one by one they took 26
  }
}

TEST_CASE("A plan of a form runs with the ends that are there when it runs") {
  Ragged p;
  ggemm_plan* raw = nullptr;
  REQUIRE(ggemm_plan_create_grouped(p.context.get(), &p.desc, &raw) == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  for (const int second : {3, 4, 5}) {
    p.ends[1] = second;
    p.d.assign(p.d.size(), -7);
    REQUIRE(ggemm_plan_run_grouped(raw, &p.args, nullptr) == GGEMM_OK);
    for (int i = 3; i < 5; ++i) CHECK(p.d[static_cast<std::size_t>(2 * i)] == static_cast<float>(i * (i < second ? 2 : 3)));
  }
  char text[600];
  REQUIRE(ggemm_plan_explain(raw, text, sizeof text, nullptr) == GGEMM_OK);
  CHECK(std::string(text).find("ragged_m") != std::string::npos);
}

}  // namespace ggemm::tests
