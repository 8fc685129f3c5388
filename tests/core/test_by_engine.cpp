// SPDX-License-Identifier: Apache-2.0
// Which calls the tensor copy engine serves alone: one thing at a time keeps a call from it.
#include <array>

#include "problem_support.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

alignas(16) char memory[64];

struct Plain {
  ggemm_gemm_desc desc = plain_desc(GGEMM_BF16, GGEMM_BF16, GGEMM_BF16, 64, 48, 32);
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  float beta = 0;
  Plain() {
    static char a[64 * 32 * 2], b[32 * 48 * 2], d[1 << 16];
    args.a = a, args.b = b, args.d = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(d) + 15) / 16 * 16), args.c = nullptr, args.beta = &beta;
  }
  bool call() const {
    const core::Problem problem = core::check_problem(desc);
    return core::by_engine(problem.type, core::bind(problem, args));
  }
  bool may() const { return core::may_be_by_engine(core::check_problem(desc)); }
};

ggemm_source constant(std::int64_t value) { return {nullptr, 0, value, GGEMM_SOURCE_CONST, 0}; }
ggemm_source in_memory() { return {memory, 8, 0, GGEMM_SOURCE_I64, 0}; }

struct Grouped {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  float beta = 0;
  explicit Grouped(ggemm_grouped_form form = GGEMM_GROUPS_RAGGED_M, ggemm_dtype dtype = GGEMM_BF16) {
    desc.groups = 3, desc.form = form, desc.ends = in_memory();
    if (form == GGEMM_GROUPS_BATCH) desc.ends = {};
    if (form == GGEMM_GROUPS_MASKED) desc.ends = {}, desc.counts = in_memory();
    desc.m = constant(64), desc.n = constant(48), desc.k = constant(32);
    desc.a.dtype = desc.b.dtype = dtype, desc.d.dtype = GGEMM_BF16;
    desc.b.row_stride = constant(1), desc.b.col_stride = constant(32);
    if (form == GGEMM_GROUPS_RAGGED_K) desc.a.row_stride = constant(1), desc.a.col_stride = constant(64), desc.b.row_stride = constant(48), desc.b.col_stride = constant(1);
    desc.d.group_stride = desc.b.group_stride = GGEMM_PACKED;
    if (form == GGEMM_GROUPS_RAGGED_K) desc.b.group_stride = 0;
    if (form == GGEMM_GROUPS_RAGGED_M) desc.d.group_stride = 0;
    if (form == GGEMM_GROUPS_MASKED || form == GGEMM_GROUPS_BATCH) desc.a.group_stride = GGEMM_PACKED;
    if (form == GGEMM_GROUPS_POINTERS) desc.b.group_stride = desc.d.group_stride = 0;
    static char a[1 << 14], b[1 << 14], d[1 << 16];
    const auto aligned = [](char* at) { return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(at) + 15) / 16 * 16); };
    args.a = aligned(a), args.b = aligned(b), args.d = aligned(d);
  }
  bool call() const {
    const core::GroupedProblem problem = core::check_problem(desc);
    ggemm_grouped_args with_beta = args;
    with_beta.beta = &beta;  // here, as these are assigned
    return core::by_engine(problem.type, core::bind(problem, with_beta));
  }
  bool may() const { return core::may_be_by_engine(core::check_problem(desc)); }
};

}  // namespace

TEST_CASE("by_engine: a plain call is, unless C is read or D is none for the copy engine, whatever A and B are") {
  Plain p;
  CHECK(p.call());
  CHECK(p.may());
  SECTION("A and B are copied where they have to be") { p.desc.a.row_stride = 33, p.args.b = static_cast<const char*>(p.args.b) + 2; }
  SECTION("beta is not given") { p.args.beta = nullptr; }
  SECTION("D is contiguous along m") { p.desc.d.row_stride = 1, p.desc.d.col_stride = 64; }
  SECTION("D's rows are apart") { p.desc.d.row_stride = 56, p.desc.d.col_stride = 1; }
  SECTION("there is nothing to multiply") { p.desc.k = 0; }
  SECTION("pairs, whose D has half as many columns") { p.desc.epilogue.gate = GGEMM_GATE_HALVES; }
  CHECK(p.call());
  CHECK(p.may());
}

TEST_CASE("by_engine: what keeps a plain call from it") {
  Plain p;
  bool may = false;  // by the description it would still be
  SECTION("C is read") { p.beta = 1, p.args.c = p.args.d, may = true; }
  SECTION("beta is in device memory") { p.desc.epilogue.scalars_on_device = 1, p.args.c = p.args.d, may = true; }
  SECTION("D begins off 16 bytes") { p.args.d = const_cast<char*>(static_cast<const char*>(p.args.d)) + 2, may = true; }
  SECTION("its rows do") { p.desc.d.row_stride = 49, p.desc.d.col_stride = 1; }
  SECTION("its rows end within 16 bytes") { p.desc.n = 44, p.desc.d.row_stride = 48, p.desc.d.col_stride = 1; }
  SECTION("its columns do") { p.desc.m = 60, p.desc.d.row_stride = 1, p.desc.d.col_stride = 64; }
  SECTION("it has no unit stride") { p.desc.d.row_stride = 96, p.desc.d.col_stride = 2; }
  SECTION("pairs whose rows end within 16 bytes") { p.desc.epilogue.gate = GGEMM_GATE_HALVES, p.desc.n = 40, p.desc.d.row_stride = 24, p.desc.d.col_stride = 1; }
  CHECK_FALSE(p.call());
  CHECK(p.may() == may);
}

TEST_CASE("by_engine: groups of one matrix an operand are, in every form") {
  for (const ggemm_grouped_form form : {GGEMM_GROUPS_RAGGED_M, GGEMM_GROUPS_RAGGED_K, GGEMM_GROUPS_MASKED, GGEMM_GROUPS_BATCH}) {
    INFO(core::form_name(form));
    const Grouped g(form);
    CHECK(g.call());
    CHECK(g.may());
  }
  CHECK(Grouped(GGEMM_GROUPS_RAGGED_M, GGEMM_E4M3).call());
  // Of a batch, which is one where nothing lies in memory: lines by turns, and what all products have.
  Grouped batch(GGEMM_GROUPS_BATCH), masked(GGEMM_GROUPS_MASKED), sizes(GGEMM_GROUPS_BATCH), checked(GGEMM_GROUPS_BATCH), limited(GGEMM_GROUPS_BATCH);
  batch.desc.d.row_stride = constant(3 * 48), batch.desc.d.col_stride = constant(1), batch.desc.d.group_stride = 48, batch.desc.b.group_stride = 0;
  CHECK(batch.call());
  CHECK(batch.may());
  const auto is_batch = [](const Grouped& g) { return (core::check_problem(g.desc).type.grouped & core::batch_groups) != 0; };
  CHECK(is_batch(batch));
  CHECK_FALSE(is_batch(masked));
  sizes.desc.m = in_memory(), sizes.desc.a.group_stride = 64 * 32, sizes.desc.d.group_stride = 64 * 48, sizes.desc.d.row_stride = constant(48);
  CHECK_FALSE(is_batch(sizes));
  checked.desc.checked = 1, limited.desc.max_ctas = 4;
  CHECK_FALSE(is_batch(checked));
  CHECK_FALSE(is_batch(limited));
}

TEST_CASE("by_engine: of a batch it is known which operands lie off 16 bytes, by their lines or from product to product; of other groups it is not") {
  const auto bits = [](auto&& change, ggemm_grouped_form form = GGEMM_GROUPS_BATCH) {
    Grouped g(form);
    change(g.desc);
    return static_cast<int>(core::check_problem(g.desc).type.unreachable);
  };
  constexpr int a = core::operand_a, b = core::operand_b;
  CHECK(bits([](auto&) {}) == 0);
  CHECK(bits([](auto& d) { d.k = constant(36), d.b.col_stride = constant(40); }) == a);  // packed lines of 72 bytes
  CHECK(bits([](auto& d) { d.b.col_stride = constant(33); }) == b);
  CHECK(bits([](auto& d) { d.a.row_stride = constant(40), d.a.group_stride = 64 * 40 + 4; }) == a);
  CHECK(bits([](auto& d) { d.b.group_stride = 0; }) == 0);
  CHECK(bits([](auto& d) { d.a.row_stride = constant(64), d.a.col_stride = constant(2); }) == (a | core::strided_a));
  CHECK(bits([](auto& d) { d.b.col_stride = constant(33); }, GGEMM_GROUPS_RAGGED_M) == 0);
}

TEST_CASE("by_engine: what keeps groups from it") {
  Grouped g;
  REQUIRE(g.call());
  bool may = false;
  SECTION("C is read") { g.beta = 1, g.args.c = g.args.d, may = true; }
  SECTION("groups lie behind pointers") {
    g = Grouped(GGEMM_GROUPS_POINTERS);
    g.desc.ends = {};
    static void* pointers[3] = {memory, memory, memory};
    g.args.a = g.args.b = g.args.d = pointers;
  }
  SECTION("rows of A lie by an index") { g.desc.a_index = {memory, 8, 0, GGEMM_SOURCE_I64, 0}, g.desc.a_rows = 8; }
  SECTION("rows of D do") { g.desc.d_index = {memory, 8, 0, GGEMM_SOURCE_I64, 0}, g.desc.d_rows = 8; }
  SECTION("A begins off 16 bytes") { g.args.a = static_cast<const char*>(g.args.a) + 2, may = true; }
  SECTION("B does") { g.args.b = static_cast<const char*>(g.args.b) + 2, may = true; }
  SECTION("D does") { g.args.d = const_cast<char*>(static_cast<const char*>(g.args.d)) + 2, may = true; }
  SECTION("A's rows do") { g.desc.a.row_stride = constant(33), g.desc.a.col_stride = constant(1); }
  SECTION("groups of B do") { g.desc.b.group_stride = 48 * 32 + 1; }
  SECTION("D's rows end within 16 bytes") { g.desc.n = constant(44), g.desc.d.row_stride = constant(48), g.desc.d.col_stride = constant(1); }
  SECTION("rows of a ragged m along which D is contiguous") { g.desc.d.row_stride = constant(1), g.desc.d.col_stride = constant(64); }
  SECTION("a ragged k along which A is") { g = Grouped(GGEMM_GROUPS_RAGGED_K), g.desc.a.row_stride = constant(32), g.desc.a.col_stride = constant(1); }
  SECTION("8 bits that are turned first") { g = Grouped(GGEMM_GROUPS_RAGGED_M, GGEMM_E4M3), g.desc.b.row_stride = constant(48), g.desc.b.col_stride = constant(1); }
  SECTION("groups of D lie side by side") { g = Grouped(GGEMM_GROUPS_MASKED), g.desc.d.row_stride = constant(3 * 48), g.desc.d.col_stride = constant(1), g.desc.d.group_stride = 48; }
  SECTION("products of a batch lie backwards") { g = Grouped(GGEMM_GROUPS_BATCH), g.desc.a.group_stride = -64 * 32; }
  SECTION("products of a batch lie off 16 bytes") { g = Grouped(GGEMM_GROUPS_BATCH), g.desc.a.group_stride = 64 * 32 + 4; }
  SECTION("lines of a batch's products overlap") { g = Grouped(GGEMM_GROUPS_BATCH), g.desc.a.group_stride = 8; }
  SECTION("f32 by terms") { g = Grouped(GGEMM_GROUPS_RAGGED_M, GGEMM_F32), g.desc.d.dtype = GGEMM_F32, g.desc.compute = GGEMM_COMPUTE_F32_ACCURATE; }
  SECTION("a size that only the device knows") { g = Grouped(GGEMM_GROUPS_BATCH), g.desc.n = in_memory(), g.desc.b.group_stride = 48 * 32, g.desc.d.row_stride = constant(48), g.desc.d.col_stride = constant(1), g.desc.d.group_stride = 64 * 48; }
  SECTION("strides that only the device knows") { g.desc.b.col_stride = in_memory(), g.desc.b.group_stride = 48 * 32; }
  CHECK_FALSE(g.call());
  CHECK(g.may() == may);
}

TEST_CASE("has_lines: D's strides and address, or what calls before have met, tell whether the copy engine reaches its lines") {
  Grouped g;
  // For a call where none were met, and where some were; of a description.
  const auto has = [&] {
    const core::GroupedProblem problem = core::check_problem(g.desc);
    ggemm_grouped_args args = g.args;
    args.beta = &g.beta;
    const kernels::GroupedParams params = core::bind(problem, args);
    return std::array{core::has_lines(problem.type, params, false), core::has_lines(problem.type, params, true), core::may_have_lines(problem)};
  };
  const std::array none{false, false, false}, all{true, true, true}, met{false, true, false}, unknown{false, true, true};
  CHECK(has() == none);  // rows of 48, packed
  g.desc.n = constant(44);
  CHECK(has() == all);
  g.desc.d.row_stride = constant(48), g.desc.d.col_stride = constant(1);
  CHECK(has() == none);
  g.args.d = static_cast<const char*>(g.args.d) + 2;
  CHECK(has() == std::array{true, true, false});
  g.args.d = static_cast<const char*>(g.args.d) - 2;
  g.desc.d.row_stride = constant(49);
  CHECK(has() == all);
  g.beta = 1, g.args.c = g.args.a;
  CHECK(has() == std::array{false, false, true});  // a description does not know
  g.beta = 0, g.args.c = nullptr;
  g.desc.d.col_stride = constant(2), g.desc.d.row_stride = constant(97);
  CHECK(has() == none);  // they are no lines
  g.desc.d.row_stride = constant(1), g.desc.d.col_stride = constant(65);
  CHECK(has() == all);
  g = Grouped(GGEMM_GROUPS_POINTERS), g.desc.ends = {};
  static void* pointers[3] = {memory, memory, memory};
  g.args.a = g.args.b = g.args.d = pointers;
  CHECK(has() == met);
  g.desc.d.row_stride = in_memory(), g.desc.d.col_stride = constant(1);
  CHECK(has() == unknown);
  // A stride between rows of which there is one may be any.
  g = Grouped();
  g.desc.m = constant(1), g.desc.a.row_stride = constant(std::int64_t(1) << 62), g.desc.a.col_stride = constant(1);
  CHECK(has() == none);
}
