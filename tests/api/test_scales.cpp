// SPDX-License-Identifier: Apache-2.0
// Scales of A and B, and gated pairs: what is refused, what is not looked at, and small products by hand.
#include <cmath>
#include <functional>

#include "fixture.hpp"
#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

using F32 = PlainProblem<float>;
constexpr ggemm_scale_kind kinds[] = {GGEMM_SCALE_TENSOR, GGEMM_SCALE_VECTOR, GGEMM_SCALE_BLOCK_1X128, GGEMM_SCALE_BLOCK_128X128};

// A problem that is right, with scales of A by row and of B by column: 3 and 0.5 throughout.
struct Scaled : F32 {
  Scaled() : F32(GGEMM_F32), scale_a(m, 3.0f), scale_b(n, 0.5f) {
    desc.scale_a.kind = desc.scale_b.kind = GGEMM_SCALE_VECTOR;
    args.scale_a = scale_a.data(), args.scale_b = scale_b.data();
  }
  std::vector<float> scale_a, scale_b;
};

// Six of B's columns in pairs.
struct Gated : F32 {
  Gated() : F32(GGEMM_F32) {
    desc.n = 6;
    desc.epilogue.gate = GGEMM_GATE_HALVES;
  }
};

template <class Problem>
struct Wrong {
  const char* title;
  std::function<void(Problem&)> spoil;
  std::vector<std::string> sentence;
};

template <class Problem, std::size_t N>
void check_refused(const Wrong<Problem> (&rows)[N]) {
  const ContextPointer context = host_context();
  for (const auto& row : rows) {
    Problem p;
    row.spoil(p);
    INFO(row.title);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(p.d_untouched());
  }
}

// Three groups as the fixture's, scaled by one number each.
struct ScaledGroups : GroupedProblem {
  ScaledGroups() {
    desc.scale_a.kind = GGEMM_SCALE_TENSOR;
    args.scale_a = numbers;
  }
  float numbers[3] = {2, 3, 5};
};

}  // namespace

TEST_CASE("Every wrong scale is refused by name") {
  static const Wrong<Scaled> rows[] = {
      {"an unknown kind for A", [](Scaled& p) { p.desc.scale_a.kind = static_cast<ggemm_scale_kind>(5); }, {"scale_a.kind", "5"}},
      {"a negative kind for B", [](Scaled& p) { p.desc.scale_b.kind = static_cast<ggemm_scale_kind>(-1); }, {"scale_b.kind", "-1"}},
      {"a reserved word", [](Scaled& p) { p.desc.scale_b.reserved0 = 7; }, {"scale_b.reserved0", "7"}},
      {"no scales of A", [](Scaled& p) { p.args.scale_a = nullptr; }, {"scale_a is NULL"}},
      {"no scales of B", [](Scaled& p) { p.args.scale_b = nullptr; }, {"scale_b is NULL"}},
      {"scales off their alignment", [](Scaled& p) { p.args.scale_a = reinterpret_cast<const char*>(p.scale_a.data()) + 2; }, {"scale_a=0x", "4"}},
      {"scales that are D", [](Scaled& p) { p.args.scale_b = p.d.data(); }, {"d=0x", "scale_b"}},
      {"rows of blocks that overlap",
       [](Scaled& p) { p.desc.k = 300, p.desc.scale_a = {GGEMM_SCALE_BLOCK_1X128, 0, 2, 1}, p.desc.b.row_stride = 0, p.desc.b.col_stride = 1, p.desc.a.row_stride = 0, p.desc.a.col_stride = 1; },
       {"scale_a.row_stride=2", "3"}},
      {"a packed row stride with columns apart", [](Scaled& p) { p.desc.scale_b.col_stride = 3; }, {"scale_b.row_stride", "GGEMM_PACKED", "scale_b.col_stride=3"}},
      {"scales of f64 products", [](Scaled& p) { p.desc.a.dtype = GGEMM_F64; }, {"scale_a.kind=vector", "f64"}},
      {"scales of i8 products stored as i32", [](Scaled& p) { p.desc.a.dtype = p.desc.b.dtype = GGEMM_I8, p.desc.d.dtype = GGEMM_I32; }, {"scale_a.kind=vector", "i8", "i32"}},
      {"scales by blocks of i8 products stored as i32",
       [](Scaled& p) { p.desc.a.dtype = p.desc.b.dtype = GGEMM_I8, p.desc.d.dtype = GGEMM_I32, p.desc.scale_a.kind = GGEMM_SCALE_NONE, p.desc.scale_b.kind = GGEMM_SCALE_BLOCK_1X128; },
       {"scale_b.kind=1x128", "i32"}},
      {"fast fp8 of f32", [](Scaled& p) { p.desc.compute = GGEMM_COMPUTE_FP8_FAST; }, {"compute=fp8_fast", "f32"}},
      {"fast fp8 of fp8 and bf16", [](Scaled& p) { p.desc.compute = GGEMM_COMPUTE_FP8_FAST, p.desc.a.dtype = GGEMM_E4M3, p.desc.b.dtype = GGEMM_BF16; }, {"compute=fp8_fast", "e4m3", "bf16"}},
  };
  check_refused(rows);
}

TEST_CASE("Every wrong gate is refused by name") {
  static const float one = 1, zero = 0;
  static const Wrong<Gated> rows[] = {
      {"an unknown gate", [](Gated& p) { p.desc.epilogue.gate = static_cast<ggemm_gate>(3); }, {"epilogue.gate", "3"}},
      {"an odd n", [](Gated& p) { p.desc.n = 7; }, {"n=7", "halves"}},
      {"an odd n in the arguments", [](Gated& p) { p.desc.epilogue.gate = GGEMM_GATE_INTERLEAVED, p.args.n = 5; }, {"n=5", "interleaved"}},
      {"a C", [](Gated& p) { p.args.c = p.c.data(), p.args.beta = &one; }, {"beta", "gate=halves"}},
      {"a beta that is not known", [](Gated& p) { p.args.c = p.c.data(), p.args.beta = &zero, p.desc.epilogue.scalars_on_device = 1; }, {"beta", "device memory", "gate=halves"}},
      {"i8 products stored as i32", [](Gated& p) { p.desc.a.dtype = p.desc.b.dtype = GGEMM_I8, p.desc.d.dtype = GGEMM_I32; }, {"epilogue.gate=halves", "i32"}},
      {"rows of D that overlap", [](Gated& p) { p.desc.d.row_stride = 2, p.desc.d.col_stride = 1; }, {"d.row_stride=2", "n/2=3"}},
  };
  check_refused(rows);
}

TEST_CASE("Scales of groups are checked as their operands are") {
  const ContextPointer context = host_context();
  struct Row {
    const char* title;
    std::function<void(ScaledGroups&)> spoil;
    std::vector<std::string> sentence;
  };
  const Row rows[] = {
      {"no numbers", [](ScaledGroups& p) { p.args.scale_a = nullptr; }, {"scale_a is NULL"}},
      {"numbers off their alignment", [](ScaledGroups& p) { p.args.scale_a = reinterpret_cast<const char*>(p.numbers) + 1; }, {"scale_a=0x", "4"}},
      {"pointers that are neither there nor not", [](ScaledGroups& p) { p.desc.scale_a.pointers = 2; }, {"scale_a.pointers=2"}},
      {"numbers too far apart", [](ScaledGroups& p) { p.desc.scale_a.group_stride = INT64_MAX / 2; }, {"scale_a.group_stride=4611686018427387903", "groups=3"}},
      {"a distance where there are pointers",
       [](ScaledGroups& p) { p.desc.scale_a.kind = GGEMM_SCALE_VECTOR, p.desc.scale_a.group_stride = 4; },
       {"scale_a.group_stride=4", "form=pointers"}},
      {"an unknown stride", [](ScaledGroups& p) { p.desc.scale_a.kind = GGEMM_SCALE_VECTOR, p.desc.scale_a.row_stride.kind = static_cast<ggemm_source_kind>(3); }, {"scale_a.row_stride.kind", "3"}},
      {"a group without scales",
       [](ScaledGroups& p) {
         static const float ones[4] = {1, 1, 1, 1};
         static const float* pointers[3] = {ones, nullptr, ones};
         p.desc.scale_a.kind = GGEMM_SCALE_VECTOR, p.args.scale_a = pointers;
       },
       {"scale_a[1]", "NULL"}},
      {"an odd n of a group", [](ScaledGroups& p) { p.desc.epilogue.gate = GGEMM_GATE_HALVES; }, {"n[0] = 3", "halves"}},
  };
  for (const Row& row : rows) {
    ScaledGroups p;
    row.spoil(p);
    INFO(row.title);
    CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(p.d_untouched());
  }
}

TEST_CASE("Without a product no scale is looked at") {
  const ContextPointer context = host_context();
  for (const ggemm_scale_kind kind : kinds) {
    INFO(kind);
    Scaled p;
    p.desc.scale_a.kind = p.desc.scale_b.kind = kind;
    p.args.scale_a = p.args.scale_b = nullptr;
    p.args.k = 0;
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    for (const float value : p.d) CHECK(value == 0.0f);
    p.args.k = GGEMM_AS_DESCRIBED, p.args.m = 0;
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    ScaledGroups g;
    const float* nowhere[3] = {nullptr, nullptr, nullptr};
    g.desc.k = ggemm_const(0);
    g.desc.scale_a.kind = kind;
    g.args.scale_a = kind == GGEMM_SCALE_TENSOR ? nullptr : nowhere;
    CHECK(ggemm_grouped_gemm(context.get(), &g.desc, &g.args, nullptr) == GGEMM_OK);
    for (const float value : g.d) CHECK(value == 0.0f);
  }
}

TEST_CASE("Rows, columns and tensors scale the sum before alpha, C, bias and activation") {
  const ContextPointer context = host_context();
  Scaled p;  // every sum is 12
  for (int i = 0; i < 5; ++i) p.scale_a[static_cast<std::size_t>(i)] = static_cast<float>(i - 2);
  for (int j = 0; j < 7; ++j) p.scale_b[static_cast<std::size_t>(j)] = 0.5f * static_cast<float>(j);
  p.alpha = 2, p.args.alpha = &p.alpha;
  p.args.c = p.c.data(), p.args.beta = &p.beta;  // 3
  p.desc.epilogue.activation = GGEMM_ACTIVATION_RELU;
  REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j) CHECK(p.d[static_cast<std::size_t>(i * 7 + j)] == std::fmax(0.0f, 2 * 12 * static_cast<float>(i - 2) * 0.5f * static_cast<float>(j) + 3));
  p.desc.scale_a.kind = GGEMM_SCALE_TENSOR;
  p.desc.scale_b = {GGEMM_SCALE_VECTOR, 0, GGEMM_PACKED, GGEMM_PACKED};
  p.desc.scale_b.row_stride = 0, p.desc.scale_b.col_stride = 0;  // one for all columns
  p.scale_a[0] = 7, p.scale_b[0] = 0.25f;
  REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (const float value : p.d) CHECK(value == 2 * 12 * 7 * 0.25f + 3);
}

TEST_CASE("The products of a block are summed apart, and added to a sum in f32") {
  const ContextPointer context = host_context();
  // 2^24 and then ones: f32 can count them only where they are summed apart.
  constexpr std::int64_t k = 256;
  std::vector<float> a(k, 1.0f), b(k, 1.0f), d(1), scales{1.0f, 1.0f};
  for (std::size_t i = 0; i < 128; ++i) a[i] = i == 0 ? 0x1p24f : 0.0f;
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = 1, desc.k = k;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = d.data();
  args.scale_a = args.scale_b = scales.data();
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d[0] == 0x1p24f);
  for (const ggemm_scale_kind kind : {GGEMM_SCALE_BLOCK_1X128, GGEMM_SCALE_BLOCK_128X128}) {
    desc.scale_a.kind = kind, desc.scale_b.kind = GGEMM_SCALE_NONE;
    REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
    CHECK(d[0] == 0x1p24f + 128);
    desc.scale_a.kind = GGEMM_SCALE_NONE, desc.scale_b.kind = kind;
    REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
    CHECK(d[0] == 0x1p24f + 128);
  }
}

TEST_CASE("Blocks are of 128, from 0 on, the last as long as there is left") {
  const ContextPointer context = host_context();
  constexpr std::int64_t m = 130, n = 257, k = 200;
  std::vector<float> a(m * k, 1.0f), b(k * n, 1.0f), d(m * n);
  const std::vector<float> scale_a = {1, 2, 4, 8}, scale_b = {1, 3, 5, 7, 9, 11};  // [2,2], [2,3]
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = m, desc.n = n, desc.k = k;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.scale_a.kind = desc.scale_b.kind = GGEMM_SCALE_BLOCK_128X128;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = d.data(), args.scale_a = scale_a.data(), args.scale_b = scale_b.data();
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      REQUIRE(d[i * n + j] == 128 * scale_a[i / 128 * 2] * scale_b[j / 128] + 72 * scale_a[i / 128 * 2 + 1] * scale_b[3 + j / 128]);
}

TEST_CASE("i8 scaled by blocks is summed in f32, each block exactly") {
  const ContextPointer context = host_context();
  constexpr std::size_t k = 256;
  std::vector<std::int8_t> a(k, 127), b(k, 127);
  a[0] = 126;
  float d = 0;
  const std::vector<float> scales = {1, -1};
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = 1, desc.k = k;
  desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_F32;
  desc.scale_b.kind = GGEMM_SCALE_BLOCK_1X128;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = &d, args.scale_b = scales.data();
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == -127.0f);
}

TEST_CASE("Numbers of groups' tensors lie one after another, once for all, or behind pointers") {
  const ContextPointer context = host_context();
  const auto run = [&](ScaledGroups& p, std::vector<float> factors) {
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    for (std::size_t i = 0; i < p.d.size(); ++i) CHECK(p.d[i] == 10 * factors[i / 12]);
  };
  ScaledGroups p;
  run(p, {2, 3, 5});
  p.desc.scale_a.group_stride = 0;
  run(p, {2, 2, 2});
  p.desc.scale_a.group_stride = -1, p.args.scale_a = p.numbers + 2;
  run(p, {5, 3, 2});
  const float* const pointers[3] = {p.numbers + 1, p.numbers, p.numbers + 1};
  p.desc.scale_a.pointers = 1, p.desc.scale_a.group_stride = GGEMM_PACKED, p.args.scale_a = pointers;
  run(p, {3, 2, 3});
}

TEST_CASE("In a ragged k each group's blocks begin where it does, one block at least apart") {
  const ContextPointer context = host_context();
  // Depths 100, 0, 200, 128: blocks 0; none; 1 and 2 (of 100 / 128 + 2 = 2: 2 and 3); 300 / 128 + 3 = 5.
  const std::int32_t ends[4] = {100, 100, 300, 428};
  std::vector<float> a(428, 1.0f), b(428, 1.0f), d(4, -1.0f), scales(428 / 128 + 4, std::nanf(""));
  scales[0] = 2, scales[2] = 3, scales[3] = 5, scales[5] = 7;
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 4, desc.form = GGEMM_GROUPS_RAGGED_K;
  desc.m = desc.n = ggemm_const(1), desc.k = ggemm_const(428);
  desc.ends = ggemm_i32_at(ends, 4);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.scale_a.kind = GGEMM_SCALE_BLOCK_1X128;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = d.data(), args.scale_a = scales.data();
  REQUIRE(ggemm_grouped_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == std::vector<float>{200, 0, 128 * 3 + 72 * 5, 128 * 7});
  // Without room between them, for groups that begin at multiples of 128.
  const std::int32_t whole[4] = {128, 128, 384, 428};
  const std::vector<float> tight = {2, 3, 5, 7};
  desc.ends = ggemm_i32_at(whole, 4);
  desc.scale_a.group_stride = 0, args.scale_a = tight.data();
  REQUIRE(ggemm_grouped_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == std::vector<float>{256, 0, 128 * 3 + 128 * 5, 44 * 7});
}

TEST_CASE("In a ragged m each group's blocks may lie behind a pointer, as close as the group's own rows") {
  const ContextPointer context = host_context();
  constexpr std::int64_t rows = 128, k = 256;
  const std::int32_t ends[2] = {2, 4};
  std::vector<float> a(rows * k, 1.0f), b(2 * k, 1.0f), d(rows, -1.0f);
  const std::vector<float> first = {1, 2, 10, 20}, second = {3, 4, 30, 40};  // [2,2] by columns
  const float* const scales[2] = {first.data(), second.data()};
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 2, desc.form = GGEMM_GROUPS_RAGGED_M;
  desc.m = ggemm_const(rows), desc.n = ggemm_const(1), desc.k = ggemm_const(k);
  desc.ends = ggemm_i32_at(ends, 4);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.scale_a.kind = GGEMM_SCALE_BLOCK_1X128, desc.scale_a.pointers = 1, desc.scale_a.row_stride = ggemm_const(1), desc.scale_a.col_stride = ggemm_const(2);
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = d.data(), args.scale_a = scales;
  REQUIRE(ggemm_grouped_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(std::vector<float>(d.begin(), d.begin() + 5) == std::vector<float>{128 * 11, 128 * 22, 128 * 33, 128 * 44, -1});
}

TEST_CASE("Rows of A by index bring their scales, by row and by block of k") {
  const ContextPointer context = host_context();
  // Tokens 2, nowhere, 0 | 2, 1: rows of 4 tokens, all ones, 130 deep.
  constexpr std::int64_t k = 130;
  const std::int32_t ends[2] = {3, 5}, index[5] = {2, -1, 0, 2, 1};
  std::vector<float> a(4 * k, 1.0f), b(2 * k, 1.0f), d(5, -1.0f);
  const std::vector<float> by_row = {3, 5, 7, std::nanf("")};                                // of each token; the last is in no group
  const std::vector<float> by_block = {1, 2, 10, 20, 100, 200, std::nanf(""), std::nanf("")};  // [4,2]
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 2, desc.form = GGEMM_GROUPS_RAGGED_M;
  desc.m = ggemm_const(5), desc.n = ggemm_const(1), desc.k = ggemm_const(k);
  desc.ends = ggemm_i32_at(ends, 4);
  desc.a_index = ggemm_i32_at(index, 4), desc.a_rows = 4;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.scale_a.kind = GGEMM_SCALE_VECTOR;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = d.data(), args.scale_a = by_row.data();
  REQUIRE(ggemm_grouped_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == std::vector<float>{7 * k, 0, 3 * k, 7 * k, 5 * k});
  desc.scale_a.kind = GGEMM_SCALE_BLOCK_1X128, args.scale_a = by_block.data();
  REQUIRE(ggemm_grouped_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == std::vector<float>{128 * 100 + 2 * 200, 0, 128 * 1 + 2 * 2, 128 * 100 + 2 * 200, 128 * 10 + 2 * 20});
}

TEST_CASE("Gated pairs: halves and neighbours, gate first, bias before both") {
  const ContextPointer context = host_context();
  // One row; column j of the product is j + 1, plus a bias.
  const std::vector<float> a = {1}, b = {1, 2, 3, 4, 5, 6}, bias = {0, 0, -4, 0, 10, 0};
  std::vector<float> d(3);
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.k = 1, desc.n = 6;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.epilogue.activation = GGEMM_ACTIVATION_RELU;
  desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a.data(), args.b = b.data(), args.d = d.data(), args.bias = bias.data();
  desc.epilogue.gate = GGEMM_GATE_HALVES;
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == std::vector<float>{1 * 4, 2 * 15, 0 * 6});
  desc.epilogue.gate = GGEMM_GATE_INTERLEAVED;
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d == std::vector<float>{1 * 2, 0 * 4, 15 * 6});
  desc.epilogue.activation = GGEMM_ACTIVATION_SILU, desc.epilogue.bias = GGEMM_BIAS_NONE;
  const float half = 0.5f;
  args.alpha = &half;
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  for (int j = 0; j < 3; ++j) {
    const double gate = 0.5 * (2 * j + 1), up = 0.5 * (2 * j + 2);
    CHECK(std::fabs(d[static_cast<std::size_t>(j)] - gate / (1 + std::exp(-gate)) * up) < 1e-6);
  }
  double wide[3] = {};
  const std::vector<double> a64 = {1}, b64 = {1, 2, 3, 4, 5, 6};
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F64;
  desc.epilogue.activation = GGEMM_ACTIVATION_NONE;
  args.a = a64.data(), args.b = b64.data(), args.d = wide, args.alpha = nullptr;
  REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK((wide[0] == 2 && wide[1] == 12 && wide[2] == 30));
}

TEST_CASE("Gated pairs have no C whose strides could be wrong") {
  const ContextPointer context = host_context();
  const float a[] = {1, 2, 1, 2}, b[] = {0, 1, 2, 3};
  float d[4] = {};
  ggemm_gemm_desc plain = GGEMM_GEMM_DESC_INIT;
  plain.m = 2, plain.n = 4, plain.k = 1;
  plain.a.dtype = plain.b.dtype = plain.d.dtype = GGEMM_F32;
  plain.epilogue.gate = GGEMM_GATE_INTERLEAVED;
  plain.d.row_stride = 2, plain.d.col_stride = 1;
  plain.c = plain.d;  // as D is, which would be too narrow for n columns
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a, args.b = b, args.d = d;
  CHECK(ggemm_gemm(context.get(), &plain, &args, nullptr) == GGEMM_OK);
  CHECK(std::vector<float>(d, d + 4) == std::vector<float>{0, 6, 0, 24});
  plain.m = 1, args.m = 2;  // other sizes than described
  CHECK(ggemm_gemm(context.get(), &plain, &args, nullptr) == GGEMM_OK);
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 2;
  desc.m = ggemm_const(2), desc.n = ggemm_const(4), desc.k = ggemm_const(1);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.epilogue.gate = GGEMM_GATE_INTERLEAVED;
  desc.d.row_stride = ggemm_const(2), desc.d.col_stride = ggemm_const(1);
  desc.c = desc.d;
  float d_all[8] = {};
  const void *as[] = {a, a + 2}, *bs[] = {b, b};
  void* ds[] = {d_all, d_all + 4};
  ggemm_grouped_args grouped = GGEMM_GROUPED_ARGS_INIT;
  grouped.a = as, grouped.b = bs, grouped.d = ds;
  CHECK(ggemm_grouped_gemm(context.get(), &desc, &grouped, nullptr) == GGEMM_OK);
  desc.form = GGEMM_GROUPS_BATCH, desc.b.group_stride = 0;
  grouped.a = a, grouped.b = b, grouped.d = d_all;
  CHECK(ggemm_grouped_gemm(context.get(), &desc, &grouped, nullptr) == GGEMM_OK);
  CHECK(std::vector<float>(d_all, d_all + 8) == std::vector<float>{0, 6, 0, 24, 0, 6, 0, 24});
}

TEST_CASE("Scaled bits depend on neither D's layout nor the threads") {
  constexpr std::int64_t m = 150, n = 170, k = 300;
  std::vector<std::uint8_t> a(m * k), b(k * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(i * 37 % 120 + (i % 3 == 0 ? 128 : 0));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint8_t>(i * 53 % 120 + (i % 5 == 0 ? 128 : 0));
  std::vector<float> scales(m * n);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 1.0f / static_cast<float>(1 + i % 97);
  for (const ggemm_scale_kind kind_a : kinds)
    for (const ggemm_scale_kind kind_b : kinds) {
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2})
        for (const bool by_columns : {false, true}) {
          ggemm_context_options options = host_options();
          options.threads = threads;
          const ContextPointer context = make_context(options);
          std::vector<float> d(m * n);
          ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
          desc.m = m, desc.n = n, desc.k = k;
          desc.a.dtype = desc.b.dtype = GGEMM_E4M3, desc.d.dtype = GGEMM_F32;
          if (by_columns) desc.d.row_stride = 1, desc.d.col_stride = m;
          desc.scale_a.kind = kind_a, desc.scale_b.kind = kind_b;
          ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
          args.a = a.data(), args.b = b.data(), args.d = d.data(), args.scale_a = scales.data(), args.scale_b = scales.data() + 11;
          REQUIRE(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
          std::vector<float> rows(m * n);
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) rows[static_cast<std::size_t>(i * n + j)] = d[static_cast<std::size_t>(by_columns ? j * m + i : i * n + j)];
          results.push_back(rows);
        }
      INFO(kind_a << " and " << kind_b);
      for (const auto& other : results) CHECK(std::memcmp(other.data(), results[0].data(), m * n * sizeof(float)) == 0);
    }
}

TEST_CASE("A plan says how its operands are scaled and gated") {
  const ContextPointer context = host_context();
  Scaled p;
  p.desc.n = 6, p.desc.scale_b.kind = GGEMM_SCALE_BLOCK_128X128, p.desc.epilogue.gate = GGEMM_GATE_INTERLEAVED;
  ggemm_plan* raw = nullptr;
  REQUIRE(ggemm_plan_create(context.get(), &p.desc, &raw) == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  char text[2000];
  REQUIRE(ggemm_plan_explain(raw, text, sizeof text, nullptr) == GGEMM_OK);
  CHECK(std::string(text).find("scales: A vector, B 128x128") != std::string::npos);
  CHECK(std::string(text).find("gated pairs: interleaved") != std::string::npos);
}

TEST_CASE("Products with scales and gated pairs are tuned") {
  const ContextPointer context = host_context();
  for (const ggemm_gate gate : {GGEMM_GATE_NONE, GGEMM_GATE_HALVES, GGEMM_GATE_INTERLEAVED})
    for (const ggemm_scale_kind kind : kinds) {
      ggemm_gemm_desc plain = GGEMM_GEMM_DESC_INIT;
      plain.m = 33, plain.n = 130, plain.k = 260;
      plain.a.dtype = plain.b.dtype = GGEMM_E4M3, plain.d.dtype = GGEMM_F32;
      plain.scale_a.kind = kind, plain.scale_b.kind = GGEMM_SCALE_BLOCK_128X128;
      plain.epilogue.gate = gate, plain.epilogue.activation = GGEMM_ACTIVATION_SILU;
      ggemm_grouped_desc grouped = GGEMM_GROUPED_DESC_INIT;
      const std::int64_t sample[6] = {33, 130, 260, 7, 34, 100};
      grouped.groups = 2;
      grouped.m = ggemm_i64_at(sample, 24), grouped.n = ggemm_i64_at(sample + 1, 24), grouped.k = ggemm_i64_at(sample + 2, 24);
      grouped.a.dtype = grouped.b.dtype = GGEMM_E4M3, grouped.d.dtype = GGEMM_F32;
      grouped.scale_a.kind = kind, grouped.scale_b.kind = GGEMM_SCALE_BLOCK_1X128;
      grouped.epilogue = plain.epilogue;
      ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
      options.budget_seconds = 0.01;
      ggemm_problem problem{&plain, nullptr};
      INFO(ggemm_last_error());
      CHECK(ggemm_tune(context.get(), &problem, &options, nullptr) == GGEMM_OK);
      problem = {nullptr, &grouped};
      options.sample_sizes = sample, options.sample_groups = 2;
      CHECK(ggemm_tune(context.get(), &problem, &options, nullptr) == GGEMM_OK);
    }
}

}  // namespace ggemm::tests
