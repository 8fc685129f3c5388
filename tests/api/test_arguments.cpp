// SPDX-License-Identifier: Apache-2.0
// Every wrong description and argument of a product gives its status and a sentence that names the field and the values; nothing is written to D.
#include <functional>
#include <limits>

#include "fixture.hpp"

namespace ggemm::tests {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// One thing spoilt, and what must be said about it.
template <class Problem>
struct Wrong {
  const char* title;
  std::function<void(Problem&)> spoil;
  ggemm_status status;
  std::vector<std::string> sentence;
};

using F32 = PlainProblem<float>;
using F16 = PlainProblem<std::uint16_t>;
using I8 = PlainProblem<std::int8_t>;

const std::vector<Wrong<F32>>& wrong_plain() {
  static const std::vector<Wrong<F32>> rows = {
      // dtypes
      {"no dtype for A", [](F32& p) { p.desc.a.dtype = GGEMM_DTYPE_NONE; }, GGEMM_ERROR_ARGUMENT, {"a.dtype", "0"}},
      {"no dtype for D", [](F32& p) { p.desc.d.dtype = GGEMM_DTYPE_NONE; }, GGEMM_ERROR_ARGUMENT, {"d.dtype", "0"}},
      {"an unknown dtype for B", [](F32& p) { p.desc.b.dtype = static_cast<ggemm_dtype>(42); }, GGEMM_ERROR_ARGUMENT, {"b.dtype", "42"}},
      {"a negative dtype for C", [](F32& p) { p.desc.c.dtype = static_cast<ggemm_dtype>(-1); }, GGEMM_ERROR_ARGUMENT, {"c.dtype", "-1"}},
      {"i32 for A", [](F32& p) { p.desc.a.dtype = GGEMM_I32; }, GGEMM_ERROR_ARGUMENT, {"a.dtype", "i32"}},
      {"i32 for B", [](F32& p) { p.desc.b.dtype = GGEMM_I32; }, GGEMM_ERROR_ARGUMENT, {"b.dtype", "i32"}},
      {"an unknown dtype for bias",
       [](F32& p) {
         p.desc.epilogue.bias = GGEMM_BIAS_PER_ROW, p.desc.epilogue.bias_dtype = static_cast<ggemm_dtype>(77), p.args.bias = p.bias.data();
       },
       GGEMM_ERROR_ARGUMENT,
       {"bias_dtype", "77"}},
      // sizes
      {"a negative number of CTAs", [](F32& p) { p.desc.max_ctas = -3; }, GGEMM_ERROR_ARGUMENT, {"max_ctas", "-3"}},
      {"negative m", [](F32& p) { p.desc.m = -4; }, GGEMM_ERROR_ARGUMENT, {"m=", "-4"}},
      {"negative n", [](F32& p) { p.desc.n = -1; }, GGEMM_ERROR_ARGUMENT, {"n=", "-1"}},
      {"negative k", [](F32& p) { p.desc.k = INT64_MIN; }, GGEMM_ERROR_ARGUMENT, {"k=", "-9223372036854775808"}},
      {"negative m in the arguments", [](F32& p) { p.args.m = -2; }, GGEMM_ERROR_ARGUMENT, {"args.m", "-2"}},
      {"negative n in the arguments", [](F32& p) { p.args.n = -7; }, GGEMM_ERROR_ARGUMENT, {"args.n", "-7"}},
      {"negative k in the arguments", [](F32& p) { p.args.k = -9; }, GGEMM_ERROR_ARGUMENT, {"args.k", "-9"}},
      {"sizes whose product overflows", [](F32& p) { p.desc.m = p.desc.n = int64_t(1) << 40; }, GGEMM_ERROR_ARGUMENT, {"1099511627776"}},
      // strides
      {"rows of A that overlap", [](F32& p) { p.desc.a.row_stride = 5, p.desc.a.col_stride = 1; }, GGEMM_ERROR_ARGUMENT, {"a.row_stride=5", "k=6"}},
      {"columns of B that overlap",
       [](F32& p) { p.desc.b.row_stride = 1, p.desc.b.col_stride = 4; },
       GGEMM_ERROR_ARGUMENT,
       {"b.col_stride=4", "k=6"}},
      {"rows of D that overlap", [](F32& p) { p.desc.d.row_stride = 6, p.desc.d.col_stride = 1; }, GGEMM_ERROR_ARGUMENT, {"d.row_stride=6", "n=7"}},
      {"rows of C that overlap",
       [](F32& p) { p.desc.c.row_stride = 3, p.desc.c.col_stride = 1, p.args.c = p.c.data(), p.args.beta = &p.beta; },
       GGEMM_ERROR_ARGUMENT,
       {"c.row_stride=3", "n=7"}},
      {"D with row stride 0", [](F32& p) { p.desc.d.row_stride = 0, p.desc.d.col_stride = 1; }, GGEMM_ERROR_ARGUMENT, {"d.row_stride=0", "m=5"}},
      {"D with column stride 0", [](F32& p) { p.desc.d.row_stride = 1, p.desc.d.col_stride = 0; }, GGEMM_ERROR_ARGUMENT, {"d.col_stride=0", "n=7"}},
      {"D whose elements coincide with no unit stride",
       [](F32& p) { p.desc.d.row_stride = 2, p.desc.d.col_stride = 3; },
       GGEMM_ERROR_ARGUMENT,
       {"d.", "2", "3"}},
      {"a packed row stride with columns apart",
       [](F32& p) { p.desc.a.col_stride = 2; },
       GGEMM_ERROR_ARGUMENT,
       {"a.row_stride", "GGEMM_PACKED", "a.col_stride=2"}},
      {"strides that leave 63 bits",
       [](F32& p) { p.desc.b.row_stride = INT64_MAX / 2, p.desc.b.col_stride = 1; },
       GGEMM_ERROR_ARGUMENT,
       {"b", "4611686018427387903"}},
      {"rows that overlap at the call's size only",
       [](F32& p) { p.desc.a.row_stride = 6, p.desc.a.col_stride = 1, p.args.k = 7; },
       GGEMM_ERROR_ARGUMENT,
       {"a.row_stride=6", "k=7"}},
      // reserved words
      {"a reserved word of A", [](F32& p) { p.desc.a.reserved0 = 3; }, GGEMM_ERROR_ARGUMENT, {"a.reserved0", "3"}},
      {"a reserved word of B", [](F32& p) { p.desc.b.reserved1 = 4; }, GGEMM_ERROR_ARGUMENT, {"b.reserved1", "4"}},
      {"a reserved word of C", [](F32& p) { p.desc.c.reserved0 = 5; }, GGEMM_ERROR_ARGUMENT, {"c.reserved0", "5"}},
      {"a reserved word of D", [](F32& p) { p.desc.d.reserved1 = -6; }, GGEMM_ERROR_ARGUMENT, {"d.reserved1", "-6"}},
      {"the description's reserved word", [](F32& p) { p.desc.reserved0 = 8; }, GGEMM_ERROR_ARGUMENT, {"reserved0", "8"}},
      {"the epilogue's first reserved word", [](F32& p) { p.desc.epilogue.reserved0 = 9; }, GGEMM_ERROR_ARGUMENT, {"epilogue.reserved0", "9"}},
      {"the epilogue's second reserved word", [](F32& p) { p.desc.epilogue.reserved1 = 10; }, GGEMM_ERROR_ARGUMENT, {"epilogue.reserved1", "10"}},
      // epilogue and compute
      {"an unknown activation",
       [](F32& p) { p.desc.epilogue.activation = static_cast<ggemm_activation>(9); },
       GGEMM_ERROR_ARGUMENT,
       {"epilogue.activation", "9"}},
      {"a negative activation",
       [](F32& p) { p.desc.epilogue.activation = static_cast<ggemm_activation>(-1); },
       GGEMM_ERROR_ARGUMENT,
       {"epilogue.activation", "-1"}},
      {"an unknown bias", [](F32& p) { p.desc.epilogue.bias = static_cast<ggemm_bias>(3); }, GGEMM_ERROR_ARGUMENT, {"epilogue.bias", "3"}},
      {"scalars neither here nor there", [](F32& p) { p.desc.epilogue.scalars_on_device = 2; }, GGEMM_ERROR_ARGUMENT, {"scalars_on_device", "2"}},
      {"a NaN slope",
       [](F32& p) { p.desc.epilogue.activation = GGEMM_ACTIVATION_LEAKY_RELU, p.desc.epilogue.activation_p0 = nan_value; },
       GGEMM_ERROR_ARGUMENT,
       {"activation_p0", "nan"}},
      {"a clamp with its ends crossed",
       [](F32& p) { p.desc.epilogue.activation = GGEMM_ACTIVATION_CLAMP, p.desc.epilogue.activation_p0 = 2.5, p.desc.epilogue.activation_p1 = -1; },
       GGEMM_ERROR_ARGUMENT,
       {"activation_p0=2.5", "activation_p1=-1"}},
      {"an unknown compute mode", [](F32& p) { p.desc.compute = static_cast<ggemm_compute>(5); }, GGEMM_ERROR_ARGUMENT, {"compute", "5"}},
      // pointers
      {"no A", [](F32& p) { p.args.a = nullptr; }, GGEMM_ERROR_ARGUMENT, {"a is NULL"}},
      {"no B", [](F32& p) { p.args.b = nullptr; }, GGEMM_ERROR_ARGUMENT, {"b is NULL"}},
      {"no D", [](F32& p) { p.args.d = nullptr; }, GGEMM_ERROR_ARGUMENT, {"d is NULL"}},
      {"no C with beta 1", [](F32& p) { p.args.beta = &p.beta; }, GGEMM_ERROR_ARGUMENT, {"c is NULL", "beta"}},
      {"no bias", [](F32& p) { p.desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN; }, GGEMM_ERROR_ARGUMENT, {"bias is NULL"}},
      {"A off its alignment", [](F32& p) { p.args.a = reinterpret_cast<const char*>(p.a.data()) + 2; }, GGEMM_ERROR_ARGUMENT, {"a=0x", "4"}},
      {"D off its alignment", [](F32& p) { p.args.d = reinterpret_cast<char*>(p.d.data()) + 1; }, GGEMM_ERROR_ARGUMENT, {"d=0x", "4"}},
      {"alpha on the device off its alignment",
       [](F32& p) { p.desc.epilogue.scalars_on_device = 1, p.args.alpha = reinterpret_cast<const char*>(&p.alpha) + 1; },
       GGEMM_ERROR_ARGUMENT,
       {"alpha=0x", "4"}},
      {"D in A", [](F32& p) { p.args.a = p.d.data(); }, GGEMM_ERROR_ARGUMENT, {"d=0x", "a"}},
      {"D in B", [](F32& p) { p.args.b = p.d.data(); }, GGEMM_ERROR_ARGUMENT, {"d=0x", "b"}},
      {"D partly in A", [](F32& p) { p.args.a = p.d.data() + 3; }, GGEMM_ERROR_ARGUMENT, {"d=0x", "a"}},
      {"C is D with other strides",
       [](F32& p) { p.desc.c.row_stride = 1, p.desc.c.col_stride = 5, p.args.c = p.args.d, p.args.beta = &p.beta; },
       GGEMM_ERROR_ARGUMENT,
       {"c is d", "1, 5", "7, 1"}},
      {"C is D with another dtype",
       [](F32& p) { p.desc.c.dtype = GGEMM_F16, p.args.c = p.args.d, p.args.beta = &p.beta; },
       GGEMM_ERROR_ARGUMENT,
       {"c is d", "f16", "f32"}},
      {"C partly in D", [](F32& p) { p.args.c = p.d.data() + 3, p.args.beta = &p.beta; }, GGEMM_ERROR_ARGUMENT, {"d=0x", "overlaps c=0x"}},
      {"a D without end, and no C", [](F32& p) { p.desc.m = p.desc.n = int64_t(1) << 31, p.desc.k = 1; }, GGEMM_ERROR_ARGUMENT, {"d: 2147483648x2147483648"}},
      // configurations
      {"a word for a configuration", [](F32& p) { p.desc.config = "fast"; }, GGEMM_ERROR_ARGUMENT, {"config", "fast"}},
      {"an empty configuration", [](F32& p) { p.desc.config = ""; }, GGEMM_ERROR_ARGUMENT, {"config"}},
      {"a configuration for another problem",
       [](F32& p) { p.desc.config = "host_f64_f64_f64_tt"; },
       GGEMM_ERROR_ARGUMENT,
       {"host_f64_f64_f64_tt", "host_f32_f32_f32_tt"}},
      {"a GPU's configuration on the host",
       [](F32& p) { p.desc.config = "simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r1"; },
       GGEMM_ERROR_UNSUPPORTED,
       {"simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r1", "CUDA"}},
  };
  return rows;
}

}  // namespace

TEST_CASE("Every wrong description or argument of a plain product is refused by name and D stays as it was") {
  const ContextPointer context = host_context();
  for (const Wrong<F32>& row : wrong_plain()) {
    F32 p(GGEMM_F32);
    row.spoil(p);
    INFO(row.title);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == row.status);
    check_sentence(row.sentence);
    CHECK(p.d_untouched());
  }
}

TEST_CASE("The unspoilt plain problem runs") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (const float value : p.d) CHECK(value == 12.0f);
}

TEST_CASE("A description that is wrong for any call is refused when its plan is made") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  p.desc.d.row_stride = 6;
  p.desc.d.col_stride = 1;
  ggemm_plan* plan = nullptr;
  CHECK(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_ERROR_ARGUMENT);
  CHECK(plan == nullptr);
  check_sentence({"d.row_stride=6", "n=7"});
}

TEST_CASE("A plan refuses the wrong arguments of a call") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  ggemm_plan* raw = nullptr;
  REQUIRE(ggemm_plan_create(context.get(), &p.desc, &raw) == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  p.args.b = nullptr;
  CHECK(ggemm_plan_run(raw, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"b is NULL"});
  CHECK(p.d_untouched());
  GroupedProblem g;
  CHECK(ggemm_plan_run_grouped(raw, &g.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"plan", "plain"});
  CHECK(g.d_untouched());
  ggemm_plan* raw_grouped = nullptr;
  REQUIRE(ggemm_plan_create_grouped(context.get(), &g.desc, &raw_grouped) == GGEMM_OK);
  const PlanPointer grouped(raw_grouped, ggemm_plan_destroy);
  CHECK(ggemm_plan_run(raw_grouped, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"plan", "grouped"});
}

TEST_CASE("tf32 is for f32 alone") {
  const ContextPointer context = host_context();
  F16 p(GGEMM_F16);
  p.desc.compute = GGEMM_COMPUTE_TF32;
  CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"tf32", "a.dtype=f16", "b.dtype=f16"});
  CHECK(p.d_untouched());
}

TEST_CASE("i8 products stored as i32 take only what int32 arithmetic has") {
  const ContextPointer context = host_context();
  struct Row {
    const char* title;
    std::function<void(ggemm_gemm_desc&)> spoil;
    std::vector<std::string> sentence;
  };
  const Row rows[] = {
      {"gelu", [](ggemm_gemm_desc& d) { d.epilogue.activation = GGEMM_ACTIVATION_GELU; }, {"activation", "gelu"}},
      {"leaky relu", [](ggemm_gemm_desc& d) { d.epilogue.activation = GGEMM_ACTIVATION_LEAKY_RELU; }, {"activation", "leaky_relu"}},
      {"C as f32", [](ggemm_gemm_desc& d) { d.c.dtype = GGEMM_F32; }, {"c.dtype", "f32", "i32"}},
      {"bias as i8",
       [](ggemm_gemm_desc& d) { d.epilogue.bias = GGEMM_BIAS_PER_COLUMN, d.epilogue.bias_dtype = GGEMM_I8; },
       {"bias_dtype", "i8", "i32"}},
      {"a clamp between fractions",
       [](ggemm_gemm_desc& d) { d.epilogue.activation = GGEMM_ACTIVATION_CLAMP, d.epilogue.activation_p1 = 1.5; },
       {"activation_p1=1.5"}},
      {"a clamp beyond int32", [](ggemm_gemm_desc& d) { d.epilogue.activation = GGEMM_ACTIVATION_CLAMP, d.epilogue.activation_p1 = 3e9; }, {"3e+09"}},
  };
  for (const Row& row : rows) {
    INFO(row.title);
    I8 p(GGEMM_I8);
    std::vector<std::int32_t> d(35, 1234567);
    p.desc.d.dtype = GGEMM_I32;
    p.args.d = d.data();
    p.args.bias = d.data();
    row.spoil(p.desc);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(d == std::vector<std::int32_t>(35, 1234567));
  }
}

TEST_CASE("Unset pointers and an unread C are no errors") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  p.args.m = 0;
  p.args.a = p.args.b = p.args.d = nullptr;
  CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  p.args.m = GGEMM_AS_DESCRIBED;
  p.args.k = 0;
  p.args.d = p.d.data();
  CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  for (const float value : p.d) CHECK(value == 0.0f);
  p.beta = 0;
  p.args.beta = &p.beta;
  CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
}

TEST_CASE("NULL for the context, the description, the arguments or an output is an argument error") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  GroupedProblem g;
  const ggemm_problem problem{&p.desc, nullptr};
  std::size_t count = 0;
  std::int64_t tiles = 0;
  ggemm_config config = GGEMM_CONFIG_INIT;
  ggemm_plan* plan = nullptr;
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.m = grid.n = ggemm_const(8);
  grid.tile_m = grid.tile_n = 8;
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  ggemm_context* const c = context.get();
  struct Row {
    const char* field;
    ggemm_status status;
    std::string sentence;
  };
  // Each is called in turn, and its sentence kept before the next.
  const auto call = [](const char* field, ggemm_status status) { return Row{field, status, ggemm_last_error()}; };
  const Row rows[] = {
      call("context", ggemm_gemm(nullptr, &p.desc, &p.args, nullptr)),
      call("desc", ggemm_gemm(c, nullptr, &p.args, nullptr)),
      call("args", ggemm_gemm(c, &p.desc, nullptr, nullptr)),
      call("context", ggemm_grouped_gemm(nullptr, &g.desc, &g.args, nullptr)),
      call("desc", ggemm_grouped_gemm(c, nullptr, &g.args, nullptr)),
      call("args", ggemm_grouped_gemm(c, &g.desc, nullptr, nullptr)),
      call("context", ggemm_plan_create(nullptr, &p.desc, &plan)),
      call("desc", ggemm_plan_create(c, nullptr, &plan)),
      call("out_plan", ggemm_plan_create(c, &p.desc, nullptr)),
      call("desc", ggemm_plan_create_grouped(c, nullptr, &plan)),
      call("out_plan", ggemm_plan_create_grouped(c, &g.desc, nullptr)),
      call("plan", ggemm_plan_run(nullptr, &p.args, nullptr)),
      call("plan", ggemm_plan_run_grouped(nullptr, &g.args, nullptr)),
      call("plan", ggemm_plan_explain(nullptr, nullptr, 0, &count)),
      call("plan", ggemm_plan_config(nullptr, &config)),
      call("context", ggemm_config_count(nullptr, &problem, &count)),
      call("problem", ggemm_config_count(c, nullptr, &count)),
      call("out_count", ggemm_config_count(c, &problem, nullptr)),
      call("out_config", ggemm_config_get(c, &problem, 0, nullptr)),
      call("name", ggemm_config_parse(nullptr, &config)),
      call("out_config", ggemm_config_parse("host_f32_f32_f32_tt", nullptr)),
      call("context", ggemm_prepare(nullptr, &problem, 1, nullptr, nullptr)),
      call("problems", ggemm_prepare(c, nullptr, 1, nullptr, nullptr)),
      call("context", ggemm_tune(nullptr, &problem, nullptr, nullptr)),
      call("problem", ggemm_tune(c, nullptr, nullptr, nullptr)),
      call("out_context", ggemm_context_create(nullptr, nullptr)),
      call("options", ggemm_context_options_init(nullptr, sizeof(ggemm_context_options))),
      call("context", ggemm_context_device(nullptr, &info)),
      call("out_info", ggemm_context_device(c, nullptr)),
      call("context", ggemm_context_set_log(nullptr, nullptr, nullptr, GGEMM_LOG_INFO)),
      call("function", ggemm_diagnose(nullptr, nullptr, nullptr)),
      call("grid", ggemm_tile_count(nullptr, &tiles)),
      call("out_count", ggemm_tile_count(&grid, nullptr)),
      call("out_tile", ggemm_tile_at(&grid, 0, nullptr)),
      call("context", ggemm_cache_visit(
                          nullptr, [](void*, const ggemm_cache_entry*) {}, nullptr)),
      call("function", ggemm_cache_visit(c, nullptr, nullptr)),
      call("context", ggemm_cache_clear(nullptr, nullptr, nullptr)),
  };
  for (const Row& row : rows) {
    INFO(&row - rows << ": " << row.field << " in: " << row.sentence);
    CHECK(row.status == GGEMM_ERROR_ARGUMENT);
    CHECK(row.sentence.find(row.field) != std::string::npos);
    CHECK(row.sentence.find("NULL") != std::string::npos);
  }
  CHECK(p.d_untouched());
  CHECK(g.d_untouched());
}

TEST_CASE("A problem names one description, plain or grouped") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  GroupedProblem g;
  std::size_t count = 7;
  const ggemm_problem none{nullptr, nullptr}, both{&p.desc, &g.desc};
  CHECK(ggemm_config_count(context.get(), &none, &count) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"gemm", "grouped"});
  CHECK(ggemm_config_count(context.get(), &both, &count) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"gemm", "grouped"});
  CHECK(count == 7);
}

}  // namespace ggemm::tests
