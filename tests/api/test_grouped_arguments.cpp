// SPDX-License-Identifier: Apache-2.0
// The wrong descriptions and arguments of a grouped product.
#include <functional>

#include "fixture.hpp"

namespace ggemm::tests {
namespace {

struct Wrong {
  const char* title;
  std::function<void(GroupedProblem&)> spoil;
  std::vector<std::string> sentence;
};

// So that the transposed product is computed.
void lay_columns(GroupedProblem& p) {
  p.desc.m = ggemm_const(4), p.desc.n = ggemm_const(3);
  p.desc.d.row_stride = ggemm_const(1), p.desc.d.col_stride = ggemm_const(4);
}

const Wrong rows[] = {
    {"negative groups", [](GroupedProblem& p) { p.desc.groups = -1; }, {"groups", "-1"}},
    {"an unknown form", [](GroupedProblem& p) { p.desc.form = static_cast<ggemm_grouped_form>(5); }, {"form", "5"}},
    {"an unknown compute mode", [](GroupedProblem& p) { p.desc.compute = static_cast<ggemm_compute>(-3); }, {"compute", "-3"}},
    {"no dtype for A", [](GroupedProblem& p) { p.desc.a.dtype = GGEMM_DTYPE_NONE; }, {"a.dtype"}},
    {"i32 for B", [](GroupedProblem& p) { p.desc.b.dtype = GGEMM_I32; }, {"b.dtype", "i32"}},
    {"an unknown dtype for D", [](GroupedProblem& p) { p.desc.d.dtype = static_cast<ggemm_dtype>(9); }, {"d.dtype", "9"}},
    {"an unknown activation",
     [](GroupedProblem& p) { p.desc.epilogue.activation = static_cast<ggemm_activation>(99); },
     {"epilogue.activation", "99"}},
    {"an unknown bias", [](GroupedProblem& p) { p.desc.epilogue.bias = static_cast<ggemm_bias>(-1); }, {"epilogue.bias", "-1"}},
    {"a source of an unknown kind", [](GroupedProblem& p) { p.desc.m.kind = static_cast<ggemm_source_kind>(3); }, {"m.kind", "3"}},
    {"a stride source of an unknown kind",
     [](GroupedProblem& p) { p.desc.d.row_stride.kind = static_cast<ggemm_source_kind>(-1); },
     {"d.row_stride.kind", "-1"}},
    {"a reserved word of a source", [](GroupedProblem& p) { p.desc.n.reserved0 = 6; }, {"n.reserved0", "6"}},
    {"a reserved word of a stride", [](GroupedProblem& p) { p.desc.c.col_stride.reserved0 = 7; }, {"c.col_stride.reserved0", "7"}},
    {"a flag of A that is none", [](GroupedProblem& p) { p.desc.a.pointers = 8; }, {"a.pointers=8"}},
    {"a distance of groups that are given by pointers", [](GroupedProblem& p) { p.desc.d.group_stride = 9; }, {"d.group_stride=9", "form=pointers"}},
    {"a distance of biases that are given by pointers", [](GroupedProblem& p) { p.desc.bias_group_stride = 3; }, {"bias_group_stride=3", "form=pointers"}},
    {"a flag of the bias that is none", [](GroupedProblem& p) { p.desc.bias_pointers = 2; }, {"bias_pointers=2"}},
    {"a reserved word", [](GroupedProblem& p) { p.desc.reserved0 = 4; }, {"reserved0=4"}},
    {"ends without a ragged size", [](GroupedProblem& p) { p.desc.ends = ggemm_i32_at(p.sizes.data(), 4); }, {"ends is given", "form=pointers"}},
    {"counts without a mask", [](GroupedProblem& p) { p.desc.counts = ggemm_const(1); }, {"counts is given", "form=pointers"}},
    {"an alpha of each group in host memory", [](GroupedProblem& p) { p.args.alpha = &p.alpha, p.args.alpha_byte_stride = 4; }, {"alpha_byte_stride=4", "scalars_on_device=0"}},
    {"a beta of each group off its alignment",
     [](GroupedProblem& p) { p.args.beta = &p.beta, p.args.beta_byte_stride = 6, p.desc.epilogue.scalars_on_device = 1; },
     {"beta_byte_stride=6", "4"}},
    {"a distance of scalars without scalars", [](GroupedProblem& p) { p.args.beta_byte_stride = 4; }, {"beta is NULL", "beta_byte_stride=4"}},
    {"no array of sizes", [](GroupedProblem& p) { p.desc.k.data = nullptr; }, {"k.data", "groups=3"}},
    {"no array of strides", [](GroupedProblem& p) { p.desc.a.row_stride.data = nullptr; }, {"a.row_stride.data", "groups=3"}},
    {"an array of sizes off its alignment",
     [](GroupedProblem& p) { p.desc.m.data = reinterpret_cast<const char*>(p.sizes.data()) + 2; },
     {"m.data", "4"}},
    {"a byte stride that is no multiple of the number",
     [](GroupedProblem& p) { p.desc.a.row_stride.byte_stride = 12; },
     {"a.row_stride", "byte_stride=12", "8"}},
    {"a negative constant size", [](GroupedProblem& p) { p.desc.n = ggemm_const(-5); }, {"n=", "-5"}},
    {"a constant row stride 0 in D",
     [](GroupedProblem& p) { p.desc.d.row_stride = ggemm_const(0), p.desc.d.col_stride = ggemm_const(1); },
     {"d.row_stride", "0"}},
    {"a constant column stride 0 in D",
     [](GroupedProblem& p) { p.desc.d.row_stride = ggemm_const(1), p.desc.d.col_stride = ggemm_const(0); },
     {"d.", "col_stride", "0"}},
    {"rows of D that overlap, where all is constant",
     [](GroupedProblem& p) { p.desc.m = p.desc.n = p.desc.k = ggemm_const(4), p.desc.d.row_stride = ggemm_const(2), p.desc.d.col_stride = ggemm_const(1); },
     {"d.row_stride=2", "n=4"}},
    {"rows of A that overlap, where all is constant",
     [](GroupedProblem& p) { p.desc.m = p.desc.n = p.desc.k = ggemm_const(4), p.desc.a.row_stride = ggemm_const(2), p.desc.a.col_stride = ggemm_const(1); },
     {"a.row_stride=2", "k=4"}},
    {"a packed row stride with columns apart", [](GroupedProblem& p) { p.desc.b.col_stride = ggemm_const(2); }, {"b.row_stride", "GGEMM_PACKED"}},
    {"a packed row stride with column strides in memory",
     [](GroupedProblem& p) { p.desc.b.col_stride = ggemm_i64_at(p.lds.data(), 8); },
     {"b.row_stride", "GGEMM_PACKED"}},
    {"negative expected_m", [](GroupedProblem& p) { p.desc.expected_m = -1; }, {"expected_m", "-1"}},
    {"negative expected_largest_m", [](GroupedProblem& p) { p.desc.expected_largest_m = -1; }, {"expected_largest_m", "-1"}},
    {"negative expected_n", [](GroupedProblem& p) { p.desc.expected_n = -2; }, {"expected_n", "-2"}},
    {"negative expected_k", [](GroupedProblem& p) { p.desc.expected_k = -3; }, {"expected_k", "-3"}},
    {"no array of A", [](GroupedProblem& p) { p.args.a = nullptr; }, {"a is NULL"}},
    {"no array of B", [](GroupedProblem& p) { p.args.b = nullptr; }, {"b is NULL"}},
    {"no array of D", [](GroupedProblem& p) { p.args.d = nullptr; }, {"d is NULL"}},
    {"no array of C with beta 1", [](GroupedProblem& p) { p.args.beta = &p.beta; }, {"c is NULL", "beta"}},
    {"no array of bias", [](GroupedProblem& p) { p.desc.epilogue.bias = GGEMM_BIAS_PER_ROW; }, {"bias is NULL"}},
    {"an array of pointers off its alignment", [](GroupedProblem& p) { p.args.d = reinterpret_cast<const char*>(p.d_pointers) + 4; }, {"d=0x", "8"}},
    {"a configuration for a plain problem of another type",
     [](GroupedProblem& p) { p.desc.config = "host_f16_f16_f32_tt"; },
     {"host_f16_f16_f32_tt", "host_f32_f32_f32_tt"}},
    // What only the groups' own numbers show; the host device reads them before it writes.
    {"a group without A", [](GroupedProblem& p) { p.a_pointers[1] = nullptr; }, {"a[1]", "NULL"}},
    {"a group without D", [](GroupedProblem& p) { p.d_pointers[2] = nullptr; }, {"d[2]", "NULL"}},
    {"a group with A off its alignment",
     [](GroupedProblem& p) { p.a_pointers[2] = reinterpret_cast<const float*>(reinterpret_cast<const char*>(p.a_pointers[2]) + 1); },
     {"a[2]", "4"}},
    {"a group whose rows of D coincide",
     [](GroupedProblem& p) { p.lds[1] = 0, p.desc.d.row_stride = ggemm_i64_at(p.lds.data(), 8), p.desc.d.col_stride = ggemm_const(1); },
     {"d.row_stride[1]", "m[1]"}},
    {"a group whose rows of D overlap",
     [](GroupedProblem& p) { p.lds[1] = 2, p.desc.d.row_stride = ggemm_i64_at(p.lds.data(), 8), p.desc.d.col_stride = ggemm_const(1); },
     {"d.row_stride[1] = 2", "d.col_stride[1] = 1", "4 x 3"}},
    {"D in columns: a group without A", [](GroupedProblem& p) { lay_columns(p), p.a_pointers[1] = nullptr; }, {"a[1] is NULL"}},
    {"D in columns: a group with B off its alignment",
     [](GroupedProblem& p) { lay_columns(p), p.b_pointers[2] = reinterpret_cast<const float*>(reinterpret_cast<const char*>(p.b_pointers[2]) + 1); },
     {"b[2] = 0x", "4"}},
    {"D in columns: a group whose columns of D coincide",
     [](GroupedProblem& p) { lay_columns(p), p.lds[1] = 0, p.desc.d.col_stride = ggemm_i64_at(p.lds.data(), 8), p.desc.a.row_stride = ggemm_const(5); },
     {"d.col_stride[1] = 0", "n[1] = 3"}},
    {"a group whose strides leave 63 bits", [](GroupedProblem& p) { p.lds[2] = INT64_MAX / 3; }, {"a[2]", "3074457345618258602"}},
};

}  // namespace

TEST_CASE("Every wrong description or argument of a grouped product is refused by name and no D is touched") {
  const ContextPointer context = host_context();
  for (const Wrong& row : rows) {
    GroupedProblem p;
    row.spoil(p);
    INFO(row.title);
    CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(p.d_untouched());
  }
}

TEST_CASE("The unspoilt grouped problem runs, and empty groups need no pointers") {
  const ContextPointer context = host_context();
  GroupedProblem p;
  p.sizes[3] = 0;  // m of group 1
  p.a_pointers[1] = nullptr;
  p.d_pointers[1] = nullptr;
  REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (std::size_t i = 0; i < p.d.size(); ++i) {
    if (i / 12 == 1) continue;
    CHECK(p.d[i] == 10.0f);
  }
}

TEST_CASE("Sizes below zero in memory make a group empty or its sum 0, as the header says") {
  const ContextPointer context = host_context();
  GroupedProblem p;
  p.sizes[0] = -4;  // m of group 0
  p.sizes[5] = -1;  // k of group 1
  REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  unsigned char untouched[4] = {0x5a, 0x5a, 0x5a, 0x5a};
  for (std::size_t i = 0; i < 12; ++i) CHECK(std::memcmp(&p.d[i], untouched, 4) == 0);
  for (std::size_t i = 12; i < 24; ++i) CHECK(p.d[i] == 0.0f);
  for (std::size_t i = 24; i < 36; ++i) CHECK(p.d[i] == 10.0f);
}

TEST_CASE("Arrays of pointers that are not looked at may be anything") {
  const auto* const nothing = reinterpret_cast<const void*>(1);
  const ContextPointer context = host_context();
  GroupedProblem p;
  p.args.c = p.args.bias = p.args.scale_a = p.args.scale_b = nothing;
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (const float value : p.d) CHECK(value == 10.0f);
  p.desc.k = ggemm_const(0);
  p.args.a = p.args.b = nothing;
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (const float value : p.d) CHECK(value == 0.0f);
  p.desc.n = ggemm_const(0);
  p.desc.epilogue.bias = GGEMM_BIAS_PER_ROW;
  p.args.d = nothing;
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
}

TEST_CASE("No groups need no arrays") {
  const ContextPointer context = host_context();
  GroupedProblem p;
  p.desc.groups = 0;
  p.desc.m = p.desc.n = p.desc.k = ggemm_i32_at(nullptr, 4);
  p.args = GGEMM_GROUPED_ARGS_INIT;
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
}

}  // namespace ggemm::tests
