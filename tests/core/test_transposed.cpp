// SPDX-License-Identifier: Apache-2.0
// What is described with a D that is contiguous along m alone is the transposed product, D' = B' A': in all that follows, its choice, kernels and launches, it is what its transpose, with D in rows, is.
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/key.hpp"
#include "problem_support.hpp"
#include "support/mirrored.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using core::Major;

namespace {

alignas(16) unsigned char memory[8][1 << 16];
const float two = 2;

ggemm_source constant(std::int64_t value) { return ggemm_const(value); }
ggemm_source in_memory(int which) { return ggemm_i64_at(memory[which], 8); }

template <class Args>
Args operands(Args args) {
  args.a = memory[0], args.b = memory[1], args.c = memory[2], args.d = memory[3], args.bias = memory[4];
  args.scale_a = memory[5], args.scale_b = memory[6], args.beta = &two;
  return args;
}
template <class T>
bool same(const T& x, const T& y) {
  static_assert(std::has_unique_object_representations_v<kernels::Source>);
  return std::memcmp(&x, &y, sizeof x) == 0;
}

ggemm_gemm_desc strided(std::int64_t m, std::int64_t n, std::int64_t k) {
  ggemm_gemm_desc desc = plain_desc(GGEMM_BF16, GGEMM_BF16, GGEMM_F32, m, n, k);
  desc.a.row_stride = k + 1, desc.b.row_stride = n + 2, desc.c.row_stride = n + 3, desc.d.row_stride = n + 4;
  desc.a.col_stride = desc.b.col_stride = desc.c.col_stride = desc.d.col_stride = 1;
  return desc;
}

// But for what sentences say.
core::ProblemType computed(core::ProblemType type) {
  type.transposed = 0;
  return type;
}

void check_same(const ggemm_gemm_desc& desc, const ggemm_gemm_args& args) {
  const ggemm_gemm_desc other = mirrored(desc);
  const core::Problem in_rows = core::check_problem(desc), in_columns = core::check_problem(other);
  REQUIRE_FALSE(in_rows.type.transposed);
  REQUIRE(in_columns.type.transposed);
  CHECK(in_rows.type == computed(in_columns.type));
  const auto key = [](const core::Problem& problem) {
    core::ProblemKey out = core::problem_key(problem);
    out.type = computed(out.type);
    return out;
  };
  CHECK(key(in_rows) == key(in_columns));
  CHECK(core::may_be_by_engine(in_rows) == core::may_be_by_engine(in_columns));
  const kernels::GemmParams p = core::bind(in_rows, args), q = core::bind(in_columns, mirrored_args(args));
  CHECK(same(p, q));
  CHECK(core::unreachable_operands(in_rows.type, p) == core::unreachable_operands(in_columns.type, q));
  CHECK(core::by_engine(in_rows.type, p) == core::by_engine(in_columns.type, q));
}

}  // namespace

TEST_CASE("transposed: a plain product whose D lies in columns is its transpose, whose D lies in rows") {
  ggemm_gemm_desc desc = strided(24, 40, 56);
  ggemm_gemm_args args = operands(ggemm_gemm_args GGEMM_GEMM_ARGS_INIT);
  SECTION("as it is") {}
  SECTION("by dtypes of their own") { desc.a.dtype = GGEMM_F16, desc.b.dtype = GGEMM_F32, desc.c.dtype = GGEMM_BF16; }
  SECTION("A along m") { desc.a.row_stride = 1, desc.a.col_stride = 32; }
  SECTION("B along k") { desc.b.row_stride = 1, desc.b.col_stride = 64; }
  SECTION("A that has no unit stride") { desc.a.col_stride = 2, desc.a.row_stride = 128; }
  SECTION("C by columns") { desc.c.row_stride = 1, desc.c.col_stride = 24; }
  SECTION("a bias of rows") { desc.epilogue.bias = GGEMM_BIAS_PER_ROW; }
  SECTION("a bias of columns, an activation") { desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN, desc.epilogue.activation = GGEMM_ACTIVATION_SILU; }
  SECTION("scales") {
    desc.a.dtype = desc.b.dtype = GGEMM_E4M3;
    desc.scale_a.kind = GGEMM_SCALE_BLOCK_1X128, desc.scale_a.row_stride = 3, desc.scale_a.col_stride = 1;
    desc.scale_b.kind = GGEMM_SCALE_BLOCK_128X128, desc.scale_b.row_stride = 5, desc.scale_b.col_stride = 1;
  }
  SECTION("C is not read") { args.beta = nullptr; }
  SECTION("lines at multiples of 16 bytes") { desc.a.row_stride = 64, desc.b.row_stride = 48, desc.d.row_stride = 40, args.beta = nullptr; }
  SECTION("other sizes than those described") { args.m = 7, args.n = 9, args.k = 11; }
  SECTION("few CTAs") { desc.max_ctas = 3; }
  if (args.m < 0) return check_same(desc, args);
  // Sizes of a call are of the product as it is described, too.
  const kernels::GemmParams p = core::bind(core::check_problem(desc), args);
  ggemm_gemm_args there = mirrored_args(args);
  std::swap(there.m, there.n);
  CHECK(same(p, core::bind(core::check_problem(mirrored(desc)), there)));
}

TEST_CASE("transposed: twice is once more what it was, and what is not D in columns alone is not transposed") {
  ggemm_gemm_desc desc = strided(24, 40, 56);
  const core::Problem problem = core::check_problem(mirrored(desc)), twice = core::transposed(core::transposed(problem));
  CHECK((twice.type == problem.type && twice.type.transposed && twice.m == problem.m && twice.a.row_stride == problem.a.row_stride && twice.scale_b.col_stride == problem.scale_b.col_stride));
  CHECK_FALSE(core::check_problem(desc).type.transposed);
  desc.d.row_stride = 90, desc.d.col_stride = 2;
  CHECK_FALSE(core::check_problem(desc).type.transposed);
  CHECK_FALSE(core::check_problem(mirrored(desc)).type.transposed);
  desc = mirrored(strided(24, 40, 56));
  desc.epilogue.gate = GGEMM_GATE_INTERLEAVED;  // pairs are columns
  const core::Problem pairs = core::check_problem(desc);
  CHECK_FALSE(pairs.type.transposed);
  CHECK(pairs.type.major_d == Major::mn);
}

TEST_CASE("transposed: packed rows of A and B follow the sizes that a call brings") {
  ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 20, 30, 40);
  desc.d.row_stride = 1, desc.d.col_stride = 32;
  const core::Problem problem = core::check_problem(desc);
  REQUIRE(problem.type.transposed);
  ggemm_gemm_args args = operands(ggemm_gemm_args GGEMM_GEMM_ARGS_INIT);
  args.beta = nullptr, args.m = 7, args.n = 11, args.k = 13;
  kernels::GemmParams p = core::bind(problem, args);
  CHECK((p.m == 11 && p.n == 7 && p.k == 13));
  CHECK((p.a.data == args.b && p.a.row_stride == 1 && p.a.col_stride == 11));
  CHECK((p.b.data == args.a && p.b.row_stride == 1 && p.b.col_stride == 13));
  CHECK((p.d.data == args.d && p.d.row_stride == 32 && p.d.col_stride == 1));
  // As the operands of the computed product, too (a tuning's own).
  core::Problem its_own = problem;
  its_own.type.transposed = 0;
  args.m = 11, args.n = 7;
  std::swap(args.a, args.b);
  CHECK(same(p, core::bind(its_own, args)));
}

TEST_CASE("transposed: what is wrong is said of the product as it was described") {
  ggemm_gemm_desc desc = mirrored(strided(24, 40, 56));
  ggemm_gemm_args args = operands(ggemm_gemm_args GGEMM_GEMM_ARGS_INIT);
  const core::Problem problem = core::check_problem(desc);
  args.a = nullptr;
  CHECK(error_of([&] { core::bind(problem, args); }, GGEMM_ERROR_ARGUMENT).find("a is NULL") != std::string::npos);
  args = operands(ggemm_gemm_args GGEMM_GEMM_ARGS_INIT);
  args.m = 60;  // of 40 rows described; columns of D are 44 apart
  CHECK(error_of([&] { core::bind(problem, args); }, GGEMM_ERROR_ARGUMENT).find("m=60") != std::string::npos);
}

TEST_CASE("transposed: groups are where m and n are constants and D's rows in order") {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.form = GGEMM_GROUPS_BATCH, desc.groups = 3;
  desc.a.dtype = desc.b.dtype = GGEMM_BF16, desc.d.dtype = GGEMM_F32;
  desc.m = constant(24), desc.n = constant(40), desc.k = constant(56);
  const auto lay = [](ggemm_grouped_matrix& matrix, std::int64_t rows, std::int64_t stride) { matrix.row_stride = constant(stride), matrix.col_stride = constant(1), matrix.group_stride = rows * stride; };
  lay(desc.a, 24, 56), lay(desc.b, 56, 48), lay(desc.c, 24, 44), lay(desc.d, 24, 40);
  ggemm_grouped_args args = operands(ggemm_grouped_args GGEMM_GROUPED_ARGS_INIT);
  SECTION("a batch") { args.beta = nullptr; }
  SECTION("a batch with C") {}
  SECTION("a batch of one B for all, with a bias of rows") { desc.b.group_stride = 0, desc.epilogue.bias = GGEMM_BIAS_PER_ROW, desc.bias_group_stride = 32; }
  SECTION("a batch with scales") {
    desc.a.dtype = desc.b.dtype = GGEMM_E4M3;
    desc.scale_a.kind = GGEMM_SCALE_VECTOR, desc.scale_a.row_stride = constant(1), desc.scale_a.col_stride = constant(1), desc.scale_a.group_stride = 24;
    desc.scale_b.kind = GGEMM_SCALE_TENSOR, desc.scale_b.group_stride = 1;
  }
  SECTION("pointers, and a size and strides in memory") {
    desc.form = GGEMM_GROUPS_POINTERS;
    desc.k = in_memory(7), desc.d.row_stride = in_memory(7), desc.a.row_stride = in_memory(7);
    for (ggemm_grouped_matrix* matrix : {&desc.a, &desc.b, &desc.c, &desc.d}) matrix->group_stride = 0;
    desc.expected_m = 100, desc.expected_n = 200, desc.expected_k = 300;
  }
  SECTION("few CTAs, scalars of each group, a bias of columns that follow one another") {
    desc.max_ctas = 5, desc.epilogue.scalars_on_device = 1, desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN, desc.bias_group_stride = GGEMM_PACKED;
    args.alpha = memory[7], args.alpha_byte_stride = 4, args.beta = memory[7], args.beta_byte_stride = 8;
  }
  SECTION("ragged k") {
    desc.form = GGEMM_GROUPS_RAGGED_K, desc.ends = in_memory(7);
    desc.a.group_stride = desc.b.group_stride = 0;
  }
  SECTION("ragged k with scales by blocks") {
    desc.form = GGEMM_GROUPS_RAGGED_K, desc.ends = in_memory(7), desc.k = constant(900);
    lay(desc.a, 0, 900);
    desc.a.dtype = desc.b.dtype = GGEMM_E4M3;
    desc.a.group_stride = desc.b.group_stride = 0;
    desc.scale_a.kind = GGEMM_SCALE_BLOCK_1X128, desc.scale_a.row_stride = constant(11), desc.scale_a.col_stride = constant(1);
    desc.scale_b.kind = GGEMM_SCALE_BLOCK_128X128, desc.scale_b.row_stride = constant(1), desc.scale_b.col_stride = constant(11);
  }
  const core::GroupedProblem in_rows = core::check_problem(desc), in_columns = core::check_problem(mirrored(desc));
  REQUIRE_FALSE(in_rows.type.transposed);
  REQUIRE(in_columns.type.transposed);
  CHECK(in_rows.type == computed(in_columns.type));
  core::ProblemKey key = core::problem_key(in_columns);
  key.type = computed(key.type);
  CHECK(core::problem_key(in_rows) == key);
  CHECK(core::may_be_by_engine(in_rows) == core::may_be_by_engine(in_columns));
  CHECK(core::may_have_lines(in_rows) == core::may_have_lines(in_columns));
  const kernels::GroupedParams p = core::bind(in_rows, args), q = core::bind(in_columns, mirrored_args(args));
  CHECK(same(p, q));
  CHECK(core::by_engine(in_rows.type, p) == core::by_engine(in_columns.type, q));
}

TEST_CASE("transposed: groups whose vectors of scales are packed are, whatever k is") {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 3;
  desc.a.dtype = desc.b.dtype = GGEMM_E4M3, desc.d.dtype = GGEMM_F32;
  desc.m = constant(24), desc.n = constant(40), desc.k = in_memory(7);
  desc.a.row_stride = constant(1), desc.a.col_stride = constant(24);
  desc.d.row_stride = constant(1), desc.d.col_stride = constant(24);
  desc.scale_a.kind = desc.scale_b.kind = GGEMM_SCALE_VECTOR;
  const core::GroupedProblem problem = core::check_problem(desc);
  REQUIRE(problem.type.transposed);
  CHECK((problem.scale_b.row_stride.value == 1 && problem.scale_b.col_stride.value == 1 && problem.scale_a.row_stride.value == 1 && problem.scale_a.col_stride.value == 40));
  desc.scale_a.kind = GGEMM_SCALE_BLOCK_1X128;
  CHECK_FALSE(core::check_problem(desc).type.transposed);
}

TEST_CASE("transposed: groups with packed rows are where their columns are known, and what m alone has keeps them as they are") {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.form = GGEMM_GROUPS_BATCH, desc.groups = 3;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.m = constant(24), desc.n = constant(40), desc.k = constant(56);
  desc.d.row_stride = constant(1), desc.d.col_stride = constant(24), desc.d.group_stride = 24 * 40;
  const core::GroupedProblem packed = core::check_problem(desc);
  REQUIRE(packed.type.transposed);
  CHECK((packed.type.grouped & core::batch_groups) != 0);
  CHECK((packed.m.value == 40 && packed.n.value == 24));
  CHECK((packed.a.row_stride.value == 1 && packed.a.col_stride.value == 40 && packed.a.group_stride == 56 * 40));
  CHECK((packed.b.row_stride.value == 1 && packed.b.col_stride.value == 56 && packed.b.group_stride == 24 * 56));
  const auto stays = [](ggemm_grouped_desc changed) {
    const core::GroupedProblem problem = core::check_problem(changed);
    return !problem.type.transposed && problem.type.major_d == Major::mn;
  };
  ggemm_grouped_desc other = desc;
  SECTION("packed rows of A whose length the device alone knows") { other.form = GGEMM_GROUPS_POINTERS, other.k = in_memory(7), other.d.group_stride = 0; }
  SECTION("checked groups, of which a fault names an operand") { other.checked = 1; }
  SECTION("a ragged m") { other.form = GGEMM_GROUPS_RAGGED_M, other.ends = in_memory(7), other.d.group_stride = 0; }
  SECTION("rooms for rows") { other.form = GGEMM_GROUPS_MASKED, other.counts = in_memory(7); }
  SECTION("pairs") { other.epilogue.gate = GGEMM_GATE_HALVES; }
  SECTION("a size of D that the device alone knows, of which hints tell how it is spread") { other.form = GGEMM_GROUPS_POINTERS, other.m = in_memory(7), other.d.group_stride = 0; }
  CHECK(stays(other));
}
