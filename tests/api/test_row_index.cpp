// SPDX-License-Identifier: Apache-2.0
// Rows of A and D that lie where an index says. (Random ones: tests/conformance.)
#include <cmath>

#include "ragged.hpp"

namespace ggemm::tests {
namespace {

using namespace ragged;

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("rows of A are taken from where the index says, and an index outside is a row of zeros") {
  Ragged p;
  const std::int64_t index[] = {2, -1, 0, 6, 7, 0, 0};  // 7 rows: 7 is none
  p.desc.a_index = ggemm_i64_at(index, 8), p.desc.a_rows = rows;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(p.d == Floats{2, 1, 0, 0, 0, 1, 18, 3, 0, 0, -7, -7, -7, -7});
  SECTION("from a matrix of its own size and order, backwards") {
    const std::int32_t backwards[] = {9, 9, 1, 9, 0, 9, 2, 9, 1};
    p.desc.a_index = ggemm_i32_at(backwards + 8, -8), p.desc.a_rows = 3;
    Floats columns = {5, 6, 7, 1, 2, 3};  // three rows: 5 1, 6 2, 7 3
    p.args.a = columns.data();
    p.desc.a.row_stride = ggemm_const(1), p.desc.a.col_stride = ggemm_const(3);
    p.ends[0] = 1, p.ends[1] = 1, p.ends[2] = 5;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == Floats{6, 2, 21, 9, 15, 3, 18, 6, 0, 0, -7, -7, -7, -7});
  }
  SECTION("bf16, few columns, whatever the tile") {
    std::vector<std::uint16_t> a(14), b(12);
    REQUIRE(ggemm_convert(GGEMM_BF16, a.data(), GGEMM_F32, p.a.data(), a.size()) == GGEMM_OK);
    REQUIRE(ggemm_convert(GGEMM_BF16, b.data(), GGEMM_F32, p.b.data(), b.size()) == GGEMM_OK);
    p.desc.a.dtype = p.desc.b.dtype = GGEMM_BF16;
    p.args.a = a.data(), p.args.b = b.data();
    p.d.assign(p.d.size(), -7);
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == Floats{2, 1, 0, 0, 0, 1, 18, 3, 0, 0, -7, -7, -7, -7});
  }
}

TEST_CASE("rows of D go where the index says; those that meet are added up, those that none goes to stay") {
  Ragged p;  // 0 1, 1 1, 2 1 of the first group, 9 3, 12 3 of the third
  const std::int32_t index[] = {5, 0, 5, 0, -1, 3, 3};
  p.desc.d_index = ggemm_i32_at(index, 4), p.desc.d_rows = 6;
  p.d.resize(12);
  SECTION("without weights") {
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == Floats{10, 4, -7, -7, -7, -7, -7, -7, -7, -7, 2, 2});
  }
  SECTION("with weights, after activation and bias") {
    const Floats weights = {10, 1, 100, 0.5f, NAN, NAN, NAN};  // the last three belong to no row that is stored
    p.args.row_weights = weights.data();
    p.desc.epilogue.activation = GGEMM_ACTIVATION_CLAMP, p.desc.epilogue.activation_p1 = 5;
    p.desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN, p.desc.bias_group_stride = 0, p.args.bias = p.bias.data();
    p.bias = {1, 0};
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == Floats{2 + 2.5f, 1 + 1.5f, -7, -7, -7, -7, -7, -7, -7, -7, 10 + 300, 10 + 100});
  }
  SECTION("with C in the groups' order, and gathered rows of A") {
    const float two = 2;
    p.args.c = p.c.data(), p.args.beta = &two;
    const std::int32_t gathered[] = {0, 0, 0, 1, 0, 0, 0};
    p.desc.a_index = ggemm_i32_at(gathered, 4), p.desc.a_rows = 7;
    p.c[0] = 1;
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == Floats{403, 404, -7, -7, -7, -7, -7, -7, -7, -7, 202, 402});
  }
  SECTION("gated pairs, scaled by the rows of the groups' order, with weights after the gate") {
    const Floats scales = {1, 2, 3, 1, 1, 1, 1}, weights = {10, 0.5f, 2, 1, NAN, NAN, NAN};
    p.desc.epilogue.gate = GGEMM_GATE_INTERLEAVED;
    p.desc.scale_a.kind = GGEMM_SCALE_VECTOR, p.args.scale_a = scales.data(), p.args.row_weights = weights.data();
    p.d.resize(6);
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(p.d == Floats{0.5f * (2 * 2) + 9 * 3, -7, -7, -7, -7, 2 * (6 * 3)});
  }
  SECTION("column-major, another type") {
    std::vector<std::int8_t> d(12, -7);
    p.args.d = d.data(), p.desc.d.dtype = GGEMM_I8;
    p.desc.d.row_stride = ggemm_const(1), p.desc.d.col_stride = ggemm_const(6);
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(d == std::vector<std::int8_t>{10, -7, -7, -7, -7, 2, 4, -7, -7, -7, -7, 2});
  }
  SECTION("no groups, no rows") {
    p.desc.groups = 0;
    CHECK(p.run() == GGEMM_OK);
    p.desc.groups = groups, p.ends[0] = p.ends[1] = p.ends[2] = 0;
    CHECK(p.run() == GGEMM_OK);
    CHECK(std::vector<float>(p.d.begin(), p.d.begin() + 12) == Floats(12, -7));
    p.desc.m = ggemm_const(0), p.desc.d_index = ggemm_i32_at(nullptr, 4), p.desc.a_index = ggemm_i64_at(nullptr, 8);
    CHECK(p.run() == GGEMM_OK);
    p.desc.m = ggemm_const(1);
    CHECK(p.run() == GGEMM_ERROR_ARGUMENT);
  }
  SECTION("no columns") {
    const Floats weights(7, 1);
    p.args.row_weights = weights.data();
    p.desc.n = ggemm_const(0);
    for (const std::uint32_t checked : {0u, 1u}) {
      std::int32_t status[4] = {1, 1, 1, 1};
      p.desc.checked = checked, p.args.status = checked ? status : nullptr;
      CHECK(p.run() == GGEMM_OK);
      CHECK(status[0] == (checked ? 0 : 1));
    }
    CHECK(p.d == Floats(12, -7));
  }
}

TEST_CASE("rows of D are added up in their order, rounded once") {
  // 1 + 2^-9 + ... in bf16 would lose what f32 keeps; and f32 sums differ by their order.
  Ragged p;
  constexpr int many = 600;
  std::vector<float> a(2 * many), b = {1, 0, 0, 1}, d(2, 0.0f);
  std::vector<std::int32_t> index(many, 0);
  float expected = 0;
  for (int i = 0; i < many; ++i) {
    a[static_cast<std::size_t>(2 * i)] = 1.0f / static_cast<float>(i % 7 + 1) + static_cast<float>(i % 3) * 1e5f;
    expected += a[static_cast<std::size_t>(2 * i)];
  }
  const std::int32_t end = many;
  p.desc.groups = 1, p.desc.m = ggemm_const(many), p.desc.ends = ggemm_i32_at(&end, 4);
  p.desc.d_index = ggemm_i32_at(index.data(), 4), p.desc.d_rows = 1;
  p.args.a = a.data(), p.args.b = b.data(), p.args.d = d.data();
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(d[0] == expected);
}

TEST_CASE("D may have any number of rows of which few are written") {
  Ragged p;
  std::vector<std::int8_t> operands = {2, 3, 5, -7, -7, -7};  // A, B, and the first of D
  const std::int32_t end = 2;
  std::int64_t index[] = {0, 1};
  p.desc.groups = 1, p.desc.m = ggemm_const(2), p.desc.n = p.desc.k = ggemm_const(1), p.desc.ends = ggemm_i32_at(&end, 4);
  p.desc.a.dtype = p.desc.b.dtype = p.desc.d.dtype = GGEMM_I8;
  p.desc.d_index = ggemm_i64_at(index, 8), p.desc.d_rows = std::int64_t(1) << 61;
  p.args.a = &operands[0], p.args.b = &operands[2], p.args.d = &operands[3];
  for (const std::uint32_t unique : {0u, 1u}) {
    p.desc.d_index_unique = unique;
    operands[3] = operands[4] = -7;
    INFO(ggemm_last_error());
    REQUIRE(p.run() == GGEMM_OK);
    CHECK(operands == std::vector<std::int8_t>{2, 3, 5, 10, 15, -7});
  }
  index[0] = 1;  // which is not as it was said
  operands[3] = operands[4] = -7;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(operands[3] == -7);
  CHECK((operands[4] == 10 || operands[4] == 15));
}

TEST_CASE("a product with rows by index is tuned like others, checked mode or not") {
  Ragged p;
  const std::int32_t index[] = {0, 0, 0, 0, 0, 0, 0};
  p.desc.a_index = ggemm_i32_at(index, 4), p.desc.a_rows = rows;
  p.desc.d_index = ggemm_i32_at(index, 4), p.desc.d_rows = rows;
  for (const std::uint32_t checked : {0u, 1u}) {
    p.desc.checked = checked;
    const ggemm_problem problem{nullptr, &p.desc};
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    const std::int64_t sizes[] = {5, n, k, 0, n, k, 17, n, k};
    options.budget_seconds = 0.01, options.sample_sizes = sizes, options.sample_groups = 3;
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    CHECK(ggemm_tune(p.context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK(result.timed == 1);
  }
}

TEST_CASE("int32 sums take no weights, and go to rows of D as they are") {
  Ragged p;
  const std::vector<std::int8_t> a(14, 3), b(12, 2);
  std::vector<std::int32_t> d(14, -7);
  const std::int32_t index[] = {1, 1, 1, 1, 0, 0, 0};
  p.desc.a.dtype = p.desc.b.dtype = GGEMM_I8, p.desc.d.dtype = GGEMM_I32;
  p.desc.d_index = ggemm_i32_at(index, 4), p.desc.d_rows = 2;
  p.args.a = a.data(), p.args.b = b.data(), p.args.d = d.data();
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(d == std::vector<std::int32_t>{12, 12, 48, 48, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7});
  p.args.row_weights = p.scalars;
  CHECK(p.run() == GGEMM_ERROR_ARGUMENT);
  check_sentence({"row_weights", "i32"});
}

}  // namespace ggemm::tests
