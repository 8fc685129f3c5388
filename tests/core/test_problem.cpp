// SPDX-License-Identifier: Apache-2.0
// What descriptions and arguments become. (That wrong ones are refused, with which words, is tested through the C API in tests/api.)
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <climits>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "core/key.hpp"
#include "problem_support.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using core::Major;
using core::Sum;

namespace {

constexpr std::int64_t unit = 1, packed = GGEMM_PACKED;

// Operands of no more than these bytes.
struct Buffers {
  alignas(16) unsigned char a[64], b[64], c[64], d[64], bias[64];
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  Buffers() { args.a = a, args.b = b, args.c = c, args.d = d, args.bias = bias; }
  Buffers(const Buffers&) = delete;
};

void set(ggemm_matrix& matrix, std::int64_t row_stride, std::int64_t col_stride) { matrix.row_stride = row_stride, matrix.col_stride = col_stride; }

template <class T>
T low_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

kernels::Scalar alpha_of(ggemm_dtype a, ggemm_dtype d, const void* alpha, bool on_device = false) {
  ggemm_gemm_desc desc = plain_desc(a, a, d, 1, 1, 1);
  desc.epilogue.scalars_on_device = on_device;
  Buffers buffers;
  buffers.args.alpha = alpha;
  return core::bind(core::check_problem(desc), buffers.args).epilogue.alpha;
}

}  // namespace

TEST_CASE("problem: every pair of dtypes is summed as documented, in any layout, and D, C and bias take D's dtype unless told otherwise") {
  int pairs = 0;
  for (const ggemm_dtype a : input_dtypes) {
    for (const ggemm_dtype b : input_dtypes) {
      const core::ProblemType type = core::check_problem(plain_desc(a, b, natural_d(a, b))).type;
      const bool right = type.a == a && type.b == b && type.sum == documented_sum(a, b) && type.c == natural_d(a, b) && type.d == natural_d(a, b) && type.bias_dtype == 0 && type.grouped == 0 &&
                         type.compute == GGEMM_COMPUTE_DEFAULT;
      if (!right) FAIL_CHECK(core::dtype_name(a) << " and " << core::dtype_name(b));
      ++pairs;
    }
  }
  CHECK(pairs == 49);
  ggemm_gemm_desc desc = plain_desc(GGEMM_F16, GGEMM_F16, GGEMM_BF16);
  desc.epilogue.bias = GGEMM_BIAS_PER_ROW;
  desc.epilogue.activation = GGEMM_ACTIVATION_SILU;
  core::ProblemType type = core::check_problem(desc).type;
  CHECK(type.c == GGEMM_BF16);
  CHECK(type.bias_dtype == GGEMM_BF16);
  CHECK(type.bias == GGEMM_BIAS_PER_ROW);
  CHECK(type.activation == GGEMM_ACTIVATION_SILU);
  desc.c.dtype = GGEMM_F32, desc.epilogue.bias_dtype = GGEMM_F64;
  type = core::check_problem(desc).type;
  CHECK(type.c == GGEMM_F32);
  CHECK(type.bias_dtype == GGEMM_F64);
  desc.epilogue.bias = GGEMM_BIAS_NONE;
  CHECK(core::check_problem(desc).type.bias_dtype == 0);
  desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F16);
  desc.compute = GGEMM_COMPUTE_TF32;
  CHECK(core::check_problem(desc).type.compute == GGEMM_COMPUTE_TF32);
  CHECK(core::check_problem(desc).type.sum == Sum::f32);
}

TEST_CASE("problem: an operand's class is the direction of its unit stride") {
  struct Row {
    const char* title;
    std::int64_t row_stride, col_stride;
    Major a, b;  // as A and as B
  };
  // k is A's second index and B's first.
  const Row rows[] = {
      {"packed", packed, packed, Major::k, Major::mn},
      {"packed rows of unit columns", packed, unit, Major::k, Major::mn},
      {"row-major", 100, unit, Major::k, Major::mn},
      {"column-major", unit, 100, Major::mn, Major::k},
      {"no unit stride", 200, 2, Major::k, Major::k},
      {"no unit stride, columns further apart", 2, 200, Major::k, Major::k},
      {"row-major, backwards", 100, -1, Major::k, Major::k},
      {"column-major, backwards", -1, 100, Major::k, Major::k},
      {"rows backwards", -100, unit, Major::k, Major::mn},
      {"one row repeated", 0, unit, Major::k, Major::mn},
      {"one column repeated", unit, 0, Major::mn, Major::k},
      {"one element repeated", 0, 0, Major::k, Major::k},
  };
  for (const Row& row : rows) {
    INFO(row.title);
    ggemm_gemm_desc desc = plain_desc(GGEMM_F16, GGEMM_F16, GGEMM_F16, 64, 64, 64);
    set(desc.a, row.row_stride, row.col_stride);
    set(desc.b, row.row_stride, row.col_stride);
    const core::Problem problem = core::check_problem(desc);
    CHECK(problem.type.major_a == row.a);
    CHECK(problem.type.major_b == row.b);
  }
}

TEST_CASE("problem: a packed operand's class does not depend on its sizes, though one column makes both strides 1") {
  for (const std::int64_t size : {0, 1, 2, 64}) {
    const core::Problem problem = core::check_problem(plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, size, size, size));
    CHECK(problem.type.major_a == Major::k);
    CHECK(problem.type.major_b == Major::mn);
  }
}

TEST_CASE("problem: packed rows follow the sizes that a call brings, strides that were given stay") {
  ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 20, 30, 40);
  set(desc.c, 64, unit);
  set(desc.d, 128, unit);
  const core::Problem problem = core::check_problem(desc);
  Buffers buffers;
  kernels::GemmParams p = core::bind(problem, buffers.args);
  CHECK((p.m == 20 && p.n == 30 && p.k == 40));
  CHECK((p.a.row_stride == 40 && p.a.col_stride == 1));
  CHECK((p.b.row_stride == 30 && p.b.col_stride == 1));
  buffers.args.m = 7, buffers.args.n = 11, buffers.args.k = 13;
  const float beta = 1;
  buffers.args.beta = &beta;
  p = core::bind(problem, buffers.args);
  CHECK((p.m == 7 && p.n == 11 && p.k == 13));
  CHECK((p.a.row_stride == 13 && p.a.col_stride == 1));
  CHECK((p.b.row_stride == 11 && p.b.col_stride == 1));
  CHECK((p.c.row_stride == 64 && p.c.col_stride == 1));
  CHECK((p.d.row_stride == 128 && p.d.col_stride == 1));
  CHECK((p.a.data == buffers.a && p.b.data == buffers.b && p.c.data == buffers.c && p.d.data == buffers.d && p.bias == buffers.bias));
  CHECK(p.raster == 1);
  // only some of them
  buffers.args.m = GGEMM_AS_DESCRIBED, buffers.args.k = GGEMM_AS_DESCRIBED;
  p = core::bind(problem, buffers.args);
  CHECK((p.m == 20 && p.n == 11 && p.k == 40));
  // more columns than rows of C are apart
  buffers.args.n = 65;
  error_of([&] { core::bind(problem, buffers.args); }, GGEMM_ERROR_ARGUMENT);
}

TEST_CASE("problem: strides that fit are taken, those that make elements of one matrix meet are not") {
  const auto accepts = [](auto spoil) {
    ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 6, 8, 10);
    spoil(desc);
    try {
      core::check_problem(desc);
      return true;
    } catch (const core::Error& error) {
      CHECK(error.status() == GGEMM_ERROR_ARGUMENT);
      return false;
    }
  };
  using Desc = ggemm_gemm_desc;
  CHECK(accepts([](Desc& d) { set(d.a, 10, 1); }));
  CHECK_FALSE(accepts([](Desc& d) { set(d.a, 9, 1); }));
  CHECK(accepts([](Desc& d) { set(d.a, -10, 1); }));
  CHECK_FALSE(accepts([](Desc& d) { set(d.a, -9, 1); }));
  CHECK(accepts([](Desc& d) { set(d.a, 1, 6); }));
  CHECK_FALSE(accepts([](Desc& d) { set(d.a, 1, 5); }));
  CHECK(accepts([](Desc& d) { set(d.a, 3, 7); }));
  CHECK(accepts([](Desc& d) { set(d.a, std::int64_t(1) << 40, 1); }));
  CHECK(accepts([](Desc& d) { set(d.a, 0, 1); }));
  CHECK(accepts([](Desc& d) { set(d.c, 0, 0); }));
  CHECK_FALSE(accepts([](Desc& d) { set(d.d, 0, 1); }));
  CHECK_FALSE(accepts([](Desc& d) { set(d.d, 1, 0); }));
  CHECK(accepts([](Desc& d) { d.m = 1, set(d.d, 0, 1); }));
  CHECK(accepts([](Desc& d) { d.n = 1, set(d.d, 1, 0); }));
  CHECK(accepts([](Desc& d) { d.m = 1, set(d.d, 2, 1); }));
  CHECK(accepts([](Desc& d) { d.m = 0, set(d.d, 0, 0); }));
  CHECK_FALSE(accepts([](Desc& d) { set(d.b, INT64_MAX / 8, 1); }));
  CHECK(accepts([](Desc& d) { set(d.b, INT64_MAX / 64, 1); }));
}

TEST_CASE("problem: operands that are not used may be NULL") {
  struct Row {
    const char* title;
    std::int64_t m, n, k;
    bool needs_ab, needs_d;
  };
  const Row rows[] = {{"a product", 2, 3, 4, true, true}, {"m = 0", 0, 3, 4, false, false}, {"n = 0", 2, 0, 4, false, false}, {"k = 0", 2, 3, 0, false, true}, {"nothing at all", 0, 0, 0, false, false}};
  for (const Row& row : rows) {
    INFO(row.title);
    const core::Problem problem = core::check_problem(plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, row.m, row.n, row.k));
    const auto works = [&](auto without) {
      Buffers buffers;
      buffers.args.c = buffers.args.bias = nullptr;
      without(buffers.args);
      try {
        core::bind(problem, buffers.args);
        return true;
      } catch (const core::Error& error) {
        CHECK(error.status() == GGEMM_ERROR_ARGUMENT);
        return false;
      }
    };
    CHECK(works([](ggemm_gemm_args&) {}));
    CHECK(works([](ggemm_gemm_args& args) { args.a = nullptr; }) != row.needs_ab);
    CHECK(works([](ggemm_gemm_args& args) { args.b = nullptr; }) != row.needs_ab);
    CHECK(works([](ggemm_gemm_args& args) { args.d = nullptr; }) != row.needs_d);
  }
}

TEST_CASE("problem: without a beta, or with a zero one, C is neither needed nor kept") {
  const core::Problem problem = core::check_problem(plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 2, 2, 2));
  Buffers buffers;
  CHECK(core::bind(problem, buffers.args).c.data == nullptr);
  for (const float zero : {0.0f, -0.0f}) {
    buffers.args.beta = &zero;
    CHECK(core::bind(problem, buffers.args).c.data == nullptr);
  }
  for (const float other : {1.0f, -2.0f, 1e-45f, std::numeric_limits<float>::quiet_NaN()}) {
    buffers.args.beta = &other;
    CHECK(core::bind(problem, buffers.args).c.data == buffers.c);
  }
}

TEST_CASE("problem: D may be C itself with the same dtype and strides, and must not be A or B") {
  const float one = 1;
  const auto works = [&](const ggemm_gemm_desc& desc, auto place) {
    Buffers buffers;
    buffers.args.beta = &one;
    place(buffers);
    try {
      core::bind(core::check_problem(desc), buffers.args);
      return true;
    } catch (const core::Error& error) {
      CHECK(error.status() == GGEMM_ERROR_ARGUMENT);
      return false;
    }
  };
  const auto in_place = [](Buffers& b) { b.args.c = b.args.d; };
  ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 2, 3, 4);
  CHECK(works(desc, in_place));
  set(desc.c, 3, 1);  // what packed is
  CHECK(works(desc, in_place));
  set(desc.c, 8, 1);
  CHECK_FALSE(works(desc, in_place));
  CHECK_FALSE(works(desc, [&](Buffers& b) { in_place(b), b.args.k = 0; }));
  CHECK(works(desc, [](Buffers&) {}));
  CHECK(works(desc, [&](Buffers& b) { in_place(b), b.args.beta = nullptr; }));  // C is not read
  CHECK(works(desc, [&](Buffers& b) { in_place(b), b.args.m = 1; }));           // one row: its stride says nothing
  set(desc.c, packed, packed);
  desc.c.dtype = GGEMM_F16;
  CHECK_FALSE(works(desc, in_place));
  CHECK(works(desc, [](Buffers&) {}));
  desc.c.dtype = GGEMM_DTYPE_NONE;
  CHECK_FALSE(works(desc, [](Buffers& b) { b.args.d = b.a; }));
  CHECK_FALSE(works(desc, [](Buffers& b) { b.args.d = b.b; }));
  CHECK(works(desc, [](Buffers& b) { b.args.d = b.a, b.args.k = 0; }));  // A is not read
}

TEST_CASE("problem: pointers need their element's alignment and no more") {
  for (const auto& [dtype, size] : {std::pair{GGEMM_F64, 8}, std::pair{GGEMM_F32, 4}, std::pair{GGEMM_F16, 2}, std::pair{GGEMM_E5M2, 1}, std::pair{GGEMM_I8, 1}}) {
    INFO(core::dtype_name(dtype));
    const core::Problem problem = core::check_problem(plain_desc(dtype, dtype, dtype, 1, 1, 1));
    for (int offset = 0; offset < 8; ++offset) {
      for (int operand = 0; operand < 3; ++operand) {
        Buffers buffers;
        if (operand == 0) buffers.args.a = buffers.a + offset;
        if (operand == 1) buffers.args.b = buffers.b + offset;
        if (operand == 2) buffers.args.d = buffers.d + offset;
        bool worked = true;
        try {
          core::bind(problem, buffers.args);
        } catch (const core::Error&) {
          worked = false;
        }
        if (worked != (offset % size == 0)) FAIL_CHECK("operand " << operand << " at " << offset << " bytes");
      }
    }
  }
}

TEST_CASE("problem: alpha and beta are read as the type that the epilogue computes in") {
  const double d = 2.5;
  const float f = -3.25f;
  const std::int32_t i = -7;
  CHECK(low_bits<double>(alpha_of(GGEMM_F64, GGEMM_F64, &d).bits) == 2.5);
  CHECK(low_bits<double>(alpha_of(GGEMM_F64, GGEMM_F16, &d).bits) == 2.5);  // by the sums, not by D
  CHECK(low_bits<float>(alpha_of(GGEMM_F16, GGEMM_F16, &f).bits) == -3.25f);
  CHECK(low_bits<float>(alpha_of(GGEMM_F32, GGEMM_F64, &f).bits) == -3.25f);
  CHECK(low_bits<std::int32_t>(alpha_of(GGEMM_I8, GGEMM_I32, &i).bits) == -7);
  CHECK(low_bits<float>(alpha_of(GGEMM_I8, GGEMM_I8, &f).bits) == -3.25f);  // int32 sums that are not stored as such
  CHECK(alpha_of(GGEMM_F16, GGEMM_F16, &f).pointer == nullptr);
  CHECK((alpha_of(GGEMM_F16, GGEMM_F16, &f).bits >> 32) == 0);
  // defaults
  CHECK(low_bits<double>(alpha_of(GGEMM_F64, GGEMM_F64, nullptr).bits) == 1.0);
  CHECK(low_bits<float>(alpha_of(GGEMM_BF16, GGEMM_BF16, nullptr).bits) == 1.0f);
  CHECK(low_bits<std::int32_t>(alpha_of(GGEMM_I8, GGEMM_I32, nullptr).bits) == 1);
  CHECK(low_bits<float>(alpha_of(GGEMM_I8, GGEMM_F32, nullptr).bits) == 1.0f);
  Buffers buffers;
  const kernels::GemmParams p = core::bind(core::check_problem(plain_desc(GGEMM_F16, GGEMM_F16, GGEMM_F16, 1, 1, 1)), buffers.args);
  CHECK(p.epilogue.beta.bits == 0);
  CHECK(p.epilogue.beta.pointer == nullptr);
}

TEST_CASE("problem: scalars in device memory stay where they are, and C with them") {
  alignas(8) unsigned char memory[16];
  CHECK(alpha_of(GGEMM_F16, GGEMM_F16, memory + 4, true).pointer == memory + 4);
  CHECK(alpha_of(GGEMM_F64, GGEMM_F64, memory + 8, true).pointer == memory + 8);
  error_of([&] { alpha_of(GGEMM_F16, GGEMM_F16, memory + 2, true); }, GGEMM_ERROR_ARGUMENT);
  error_of([&] { alpha_of(GGEMM_F64, GGEMM_F64, memory + 4, true); }, GGEMM_ERROR_ARGUMENT);
  CHECK(alpha_of(GGEMM_F16, GGEMM_F16, nullptr, true).pointer == nullptr);
  CHECK(low_bits<float>(alpha_of(GGEMM_F16, GGEMM_F16, nullptr, true).bits) == 1.0f);
  ggemm_gemm_desc desc = plain_desc(GGEMM_F16, GGEMM_F16, GGEMM_F16, 1, 1, 1);
  desc.epilogue.scalars_on_device = 1;
  Buffers buffers;
  buffers.args.beta = memory;  // whether it is 0 is known on the device only
  CHECK(core::bind(core::check_problem(desc), buffers.args).c.data == buffers.c);
}

TEST_CASE("problem: an activation's parameters reach the kernel") {
  ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 1, 1, 1);
  desc.epilogue.activation = GGEMM_ACTIVATION_CLAMP;
  desc.epilogue.activation_p0 = -1.5, desc.epilogue.activation_p1 = 6;
  Buffers buffers;
  const kernels::EpilogueParams clamp = core::bind(core::check_problem(desc), buffers.args).epilogue;
  CHECK(clamp.activation_p0 == -1.5);
  CHECK(clamp.activation_p1 == 6);
  desc.epilogue.activation = GGEMM_ACTIVATION_LEAKY_RELU;
  desc.epilogue.activation_p0 = 0.125, desc.epilogue.activation_p1 = 0;
  CHECK(core::bind(core::check_problem(desc), buffers.args).epilogue.activation_p0 == 0.125);
  // A slope that f32 has not would make NaN of 0; f64 has it.
  desc.epilogue.activation_p0 = -std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(core::check_problem(desc), Catch::Matchers::ContainsSubstring("epilogue.activation_p0=-inf"));
  desc.epilogue.activation_p0 = 1e300;
  CHECK_THROWS_WITH(core::check_problem(desc), Catch::Matchers::ContainsSubstring("epilogue.activation_p0=1e+300"));
  desc.a.dtype = desc.d.dtype = GGEMM_F64;
  CHECK(core::bind(core::check_problem(desc), buffers.args).epilogue.activation_p0 == 1e300);
}

TEST_CASE("problem: a C that is missing is told from a beta that only the device knows") {
  ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 1, 1, 1);
  Buffers buffers;
  buffers.args.c = nullptr;
  const float two = 2;
  buffers.args.beta = &two;
  CHECK_THROWS_WITH(core::bind(core::check_problem(desc), buffers.args), Catch::Matchers::ContainsSubstring("c is NULL with beta other than 0"));
  desc.epilogue.scalars_on_device = 1;
  CHECK_THROWS_WITH(core::bind(core::check_problem(desc), buffers.args), Catch::Matchers::ContainsSubstring("c is NULL with beta in device memory"));
}

TEST_CASE("problem: i8 products stored as i32 take integer epilogues only") {
  const auto accepts = [](auto change) {
    ggemm_gemm_desc desc = plain_desc(GGEMM_I8, GGEMM_I8, GGEMM_I32);
    change(desc);
    try {
      return core::check_problem(desc).type.sum == Sum::i32;
    } catch (const core::Error& error) {
      CHECK(error.status() == GGEMM_ERROR_ARGUMENT);
      return false;
    }
  };
  using Desc = ggemm_gemm_desc;
  for (int activation = GGEMM_ACTIVATION_NONE; activation <= GGEMM_ACTIVATION_CLAMP; ++activation) {
    const bool whole = activation == GGEMM_ACTIVATION_NONE || activation == GGEMM_ACTIVATION_RELU || activation == GGEMM_ACTIVATION_CLAMP;
    INFO(core::activation_name(activation));
    CHECK(accepts([&](Desc& d) { d.epilogue.activation = static_cast<ggemm_activation>(activation); }) == whole);
    CHECK(accepts([&](Desc& d) { d.d.dtype = GGEMM_I8, d.epilogue.activation = static_cast<ggemm_activation>(activation); }));  // computed in f32
  }
  CHECK(accepts([](Desc& d) { d.c.dtype = GGEMM_I32, d.epilogue.bias = GGEMM_BIAS_PER_COLUMN; }));
  CHECK_FALSE(accepts([](Desc& d) { d.c.dtype = GGEMM_F32; }));
  CHECK_FALSE(accepts([](Desc& d) { d.epilogue.bias = GGEMM_BIAS_PER_COLUMN, d.epilogue.bias_dtype = GGEMM_F32; }));
  const auto clamp = [](double low, double high) { return [=](Desc& d) { d.epilogue.activation = GGEMM_ACTIVATION_CLAMP, d.epilogue.activation_p0 = low, d.epilogue.activation_p1 = high; }; };
  CHECK(accepts(clamp(-2147483648.0, 2147483647.0)));
  CHECK_FALSE(accepts(clamp(0, 2147483648.0)));
  CHECK_FALSE(accepts(clamp(0, 0.5)));
}

TEST_CASE("problem: groups that have rows are counted by their mean and what there is in all, and only so many are chosen for") {
  alignas(8) std::int32_t ends[128] = {};
  const auto key = [&](std::int64_t rows, std::int64_t mean, std::int64_t largest) {
    ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
    desc.form = GGEMM_GROUPS_RAGGED_M, desc.groups = 128;
    desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
    desc.m = ggemm_const(rows), desc.n = ggemm_const(256), desc.k = ggemm_const(128);
    desc.ends = ggemm_i32_at(ends, 4);
    desc.expected_m = mean, desc.expected_largest_m = largest;
    return core::problem_key(core::check_problem(desc));
  };
  const auto is = [](const core::ProblemKey& key, std::int64_t groups, std::int64_t skew) { return key.groups == groups && key.skew == skew; };
  CHECK(is(key(8, 1, 8), 8, core::skew_most));
  CHECK(is(key(8, 1, 1), 8, core::skew_alike));
  CHECK(is(key(128, 1, 1), 128, core::skew_alike));
  CHECK(is(key(128, 1, 128), 128, core::skew_most));
  CHECK(is(key(1024, 4, 512), 128, core::skew_most));  // there may be room for more
  CHECK(is(key(8, 1, 0), 128, 0));  // not known how they are spread: calls of all numbers of rows are of one class
  CHECK(is(key(1024, 16, 16), 64, core::skew_alike));  // each second has none
  CHECK(is(key(1024, 1024, 1024), 1, core::skew_alike));
  CHECK(is(key(9, 8, 8), 2, core::skew_alike));
  CHECK(is(key(0, 8, 8), 128, core::skew_alike));
  CHECK(is(key(1024, 0, 0), 128, 0));
}

TEST_CASE("problem: the class of groups says whether they lie apart, or differ in m and where they begin alone") {
  alignas(8) std::int32_t numbers[2] = {};
  const auto apart = [&](ggemm_grouped_form form, const std::function<void(ggemm_grouped_desc&)>& change) {
    ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
    desc.form = form, desc.groups = 2;
    desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
    desc.m = ggemm_const(64), desc.n = ggemm_const(256), desc.k = ggemm_const(128);
    if (form == GGEMM_GROUPS_RAGGED_M || form == GGEMM_GROUPS_RAGGED_K) desc.ends = ggemm_i32_at(numbers, 4);
    if (form == GGEMM_GROUPS_MASKED) desc.counts = ggemm_i32_at(numbers, 4);
    if (form == GGEMM_GROUPS_RAGGED_K) desc.a.row_stride = ggemm_const(1), desc.a.col_stride = ggemm_const(64);
    change(desc);
    return (core::check_problem(desc).type.grouped & core::apart_groups) != 0;
  };
  const auto as_it_is = [](ggemm_grouped_desc&) {};
  for (const ggemm_grouped_form form : {GGEMM_GROUPS_RAGGED_M, GGEMM_GROUPS_MASKED, GGEMM_GROUPS_BATCH}) {
    CHECK_FALSE(apart(form, as_it_is));
    CHECK(apart(form, [](ggemm_grouped_desc& desc) { desc.b.pointers = 1; }));
  }
  CHECK(apart(GGEMM_GROUPS_POINTERS, as_it_is));
  CHECK(apart(GGEMM_GROUPS_RAGGED_K, as_it_is));
  CHECK(apart(GGEMM_GROUPS_BATCH, [&](ggemm_grouped_desc& desc) { desc.m = ggemm_i32_at(numbers, 4), desc.a.group_stride = desc.d.group_stride = 1 << 20; }));
  CHECK(apart(GGEMM_GROUPS_RAGGED_M, [](ggemm_grouped_desc& desc) { desc.a.row_stride = ggemm_const(1), desc.a.col_stride = ggemm_const(64); }));
  CHECK(apart(GGEMM_GROUPS_BATCH, [](ggemm_grouped_desc& desc) { desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN, desc.bias_pointers = 1; }));
  CHECK(apart(GGEMM_GROUPS_BATCH, [&](ggemm_grouped_desc& desc) { desc.n = ggemm_i32_at(numbers, 4), desc.b.group_stride = desc.d.group_stride = 1 << 20; }));
}

TEST_CASE("problem: a grouped description keeps its sources, and its class is that of constant unit strides") {
  alignas(8) std::int32_t sizes[6] = {};
  alignas(8) std::int64_t strides[2] = {};
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 2;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
  desc.m = ggemm_source{sizes, 12, 0, GGEMM_SOURCE_I32, 0};
  desc.n = ggemm_source{nullptr, 0, 256, GGEMM_SOURCE_CONST, 0};
  desc.k = ggemm_source{sizes + 2, 12, 0, GGEMM_SOURCE_I32, 0};
  desc.a.row_stride = ggemm_source{strides, 8, 0, GGEMM_SOURCE_I64, 0};
  desc.expected_m = 33;
  const core::GroupedProblem problem = core::check_problem(desc);
  CHECK(problem.groups == 2);
  CHECK(problem.type.grouped == (core::grouped_call | core::apart_groups));
  CHECK((problem.m.data == sizes && problem.m.byte_stride == 12 && problem.m.kind == GGEMM_SOURCE_I32));
  CHECK((problem.n.data == nullptr && problem.n.value == 256 && problem.n.kind == GGEMM_SOURCE_CONST));
  CHECK((problem.a.row_stride.data == strides && problem.a.row_stride.kind == GGEMM_SOURCE_I64));
  CHECK((problem.a.col_stride.kind == GGEMM_SOURCE_CONST && problem.a.col_stride.value == 1));
  CHECK((problem.b.row_stride.value == kernels::packed_stride && problem.b.col_stride.value == 1));
  CHECK((problem.expected_m == 33 && problem.expected_n == 256 && problem.expected_k == 0));
  CHECK(problem.type.major_a == Major::k);
  CHECK(problem.type.major_b == Major::mn);

  const auto constant = [](std::int64_t value) { return ggemm_source{nullptr, 0, value, GGEMM_SOURCE_CONST, 0}; };
  ggemm_grouped_desc other = desc;
  other.a.row_stride = constant(1), other.a.col_stride = ggemm_source{strides, 8, 0, GGEMM_SOURCE_I64, 0};
  CHECK(core::check_problem(other).type.major_a == Major::mn);
  other = desc;
  other.b.row_stride = constant(1), other.b.col_stride = ggemm_source{strides, 8, 0, GGEMM_SOURCE_I64, 0};
  CHECK(core::check_problem(other).type.major_b == Major::k);
  other = desc;
  other.a.col_stride = other.b.col_stride = ggemm_source{strides, 8, 0, GGEMM_SOURCE_I64, 0};
  other.b.row_stride = constant(64);
  CHECK(core::check_problem(other).type.major_a == Major::k);
  CHECK(core::check_problem(other).type.major_b == Major::k);
}

TEST_CASE("problem: a size whose tiles, or those of a cluster past the end, would begin behind 2^31 is noted, of groups where the description tells it") {
  constexpr std::int64_t most = (std::int64_t(1) << 31) - 4096;
  for (int which = 0; which < 3; ++which)
    for (const std::int64_t size : {most, most + 1, std::int64_t(1) << 31, std::int64_t(1) << 40}) {
      std::int64_t sizes[3] = {1, 1, 1};
      sizes[which] = size;
      const int expected = size > most ? core::too_long : 0;
      CHECK((core::check_problem(plain_desc(GGEMM_E4M3, GGEMM_E4M3, GGEMM_F32, sizes[0], sizes[1], sizes[2])).type.unreachable & core::too_long) == expected);
      ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
      desc.groups = 2;
      desc.a.dtype = desc.b.dtype = GGEMM_E4M3, desc.d.dtype = GGEMM_F32;
      ggemm_source* const sources[3] = {&desc.m, &desc.n, &desc.k};
      for (int i = 0; i < 3; ++i) *sources[i] = ggemm_source{nullptr, 0, sizes[i], GGEMM_SOURCE_CONST, 0};
      CHECK(core::check_problem(desc).type.unreachable == expected);
      // What all groups have together, of which one may have all.
      alignas(8) std::int64_t ends[2] = {};
      if (which == 1) continue;
      desc.form = which == 0 ? GGEMM_GROUPS_RAGGED_M : GGEMM_GROUPS_RAGGED_K;
      desc.ends = ggemm_source{ends, 8, 0, GGEMM_SOURCE_I64, 0};
      CHECK(core::check_problem(desc).type.unreachable == expected);
    }
  for (const std::int64_t k : {most / 3, most / 3 + 1}) {
    ggemm_gemm_desc desc = plain_desc(GGEMM_F32, GGEMM_F32, GGEMM_F32, 1, 1, k);
    CHECK((core::check_problem(desc).type.unreachable & core::too_long) == 0);
    desc.compute = GGEMM_COMPUTE_F32_ACCURATE;
    CHECK((core::check_problem(desc).type.unreachable & core::too_long) == (k > most / 3 ? core::too_long : 0));
  }
}

TEST_CASE("problem: a grouped call joins pointer arrays with the description") {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = 2;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.m = desc.n = desc.k = ggemm_source{nullptr, 0, 4, GGEMM_SOURCE_CONST, 0};
  const void* pointers[2] = {};
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = args.b = args.c = args.d = pointers;
  const float alpha = 2, beta = 3;
  args.alpha = &alpha;
  kernels::GroupedParams p = core::bind(core::check_problem(desc), args);
  CHECK((p.groups == 2 && p.m.value == 4 && p.raster == 1));
  CHECK((p.a.data == pointers && p.b.data == pointers && p.d.data == pointers));
  CHECK(p.c.data == nullptr);
  CHECK(low_bits<float>(p.epilogue.alpha.bits) == 2);
  args.beta = &beta;
  p = core::bind(core::check_problem(desc), args);
  CHECK(p.c.data == pointers);
  CHECK(low_bits<float>(p.epilogue.beta.bits) == 3);
  // without groups nothing is needed
  desc.groups = 0;
  const ggemm_grouped_args none = GGEMM_GROUPED_ARGS_INIT;
  CHECK(core::bind(core::check_problem(desc), none).groups == 0);
  desc.groups = 1;
  error_of([&] { core::bind(core::check_problem(desc), none); }, GGEMM_ERROR_ARGUMENT);
}

TEST_CASE("problem: dtypes have the names and sizes of the header") {
  const std::pair<const char*, std::size_t> known[] = {{"none", 0}, {"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"e4m3", 1}, {"e5m2", 1}, {"i8", 1}, {"i32", 4}};
  for (int dtype = 0; dtype <= GGEMM_I32; ++dtype) {
    CHECK(core::dtype_name(dtype) == std::string(known[dtype].first));
    CHECK(core::dtype_size(dtype) == known[dtype].second);
  }
  for (const int dtype : {-1, 9, INT_MAX, INT_MIN}) {
    CHECK(core::dtype_name(dtype) == std::string("none"));
    CHECK(core::dtype_size(dtype) == 0);
  }
}
