// SPDX-License-Identifier: Apache-2.0
// Plans, configurations, preparing, tuning and the order of tiles, on the host.
#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "fixture.hpp"
#include "support/rng.hpp"
#include "support/temp_folder.hpp"

namespace ggemm::tests {
namespace {

using F32 = PlainProblem<float>;

PlanPointer make_plan(ggemm_context* context, const ggemm_gemm_desc& desc) {
  ggemm_plan* plan = nullptr;
  REQUIRE(ggemm_plan_create(context, &desc, &plan) == GGEMM_OK);
  REQUIRE(plan != nullptr);
  return {plan, ggemm_plan_destroy};
}

}  // namespace

TEST_CASE("A plan runs its own sizes and any others") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  const PlanPointer plan = make_plan(context.get(), p.desc);
  REQUIRE(ggemm_plan_run(plan.get(), &p.args, nullptr) == GGEMM_OK);
  for (const float value : p.d) CHECK(value == 12.0f);
  std::fill(p.d.begin(), p.d.end(), -1.0f);
  p.args.m = 2, p.args.n = 3, p.args.k = 4;
  REQUIRE(ggemm_plan_run(plan.get(), &p.args, nullptr) == GGEMM_OK);
  for (std::size_t i = 0; i < p.d.size(); ++i) CHECK(p.d[i] == (i < 6 ? 8.0f : -1.0f));
}

TEST_CASE("A plan outlives its description and serves many threads") {
  const ContextPointer context = host_context();
  PlanPointer plan(nullptr, ggemm_plan_destroy);
  {
    F32 p(GGEMM_F32);
    std::string config = "host_f32_f32_f32_tt", key = "mine";
    p.desc.config = config.c_str();
    p.desc.tune_key = key.c_str();
    plan = make_plan(context.get(), p.desc);
    config.assign(config.size(), 'x');
    key.assign(key.size(), 'x');
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, -1);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      int bad = 0;
      for (int round = 0; round < 50; ++round) {
        F32 p(GGEMM_F32);
        if (ggemm_plan_run(plan.get(), &p.args, nullptr) != GGEMM_OK || p.d != std::vector<float>(35, 12.0f)) ++bad;
      }
      wrong[static_cast<std::size_t>(t)] = bad;
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == std::vector<int>(8, 0));
}

TEST_CASE("Explaining a plan fits the buffer that is given and says how much it needs") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  const PlanPointer plan = make_plan(context.get(), p.desc);
  std::size_t needed = 0;
  REQUIRE(ggemm_plan_explain(plan.get(), nullptr, 0, &needed) == GGEMM_OK);
  REQUIRE(needed > 1);
  std::string whole(needed + 8, '#');
  REQUIRE(ggemm_plan_explain(plan.get(), whole.data(), needed, nullptr) == GGEMM_OK);
  CHECK(std::strlen(whole.c_str()) == needed - 1);
  CHECK(whole.substr(needed) == "########");
  for (const char* part : {"f32", "5", "7", "6", "host_f32_f32_f32_tt"}) CHECK(whole.find(part) != std::string::npos);
  for (const std::size_t size : {std::size_t(1), std::size_t(2), needed / 2, needed - 1}) {
    std::string cut(needed + 8, '#');
    std::size_t again = 0;
    REQUIRE(ggemm_plan_explain(plan.get(), cut.data(), size, &again) == GGEMM_OK);
    CHECK(again == needed);
    CHECK(std::string(cut.c_str()) == whole.substr(0, size - 1));
    CHECK(cut.substr(size) == std::string(needed + 8 - size, '#'));
  }
  CHECK(ggemm_plan_explain(plan.get(), nullptr, 5, &needed) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"buffer", "NULL"});
}

TEST_CASE("Configurations are enumerated, read back from their names and forced") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  GroupedProblem g;
  for (const ggemm_problem problem : {ggemm_problem{&p.desc, nullptr}, ggemm_problem{nullptr, &g.desc}}) {
    std::size_t count = 0;
    REQUIRE(ggemm_config_count(context.get(), &problem, &count) == GGEMM_OK);
    REQUIRE(count == 1);
    ggemm_config config = GGEMM_CONFIG_INIT, parsed = GGEMM_CONFIG_INIT;
    REQUIRE(ggemm_config_get(context.get(), &problem, 0, &config) == GGEMM_OK);
    CHECK(std::string(config.family) == "host");
    REQUIRE(ggemm_config_parse(config.name, &parsed) == GGEMM_OK);
    CHECK(std::memcmp(&parsed, &config, sizeof config) == 0);
    CHECK(ggemm_config_get(context.get(), &problem, 1, &config) == GGEMM_ERROR_ARGUMENT);
    check_sentence({"index", "1"});
  }
  p.desc.config = "host_f32_f32_f32_tt";
  const PlanPointer plan = make_plan(context.get(), p.desc);
  ggemm_config bound = GGEMM_CONFIG_INIT;
  REQUIRE(ggemm_plan_config(plan.get(), &bound) == GGEMM_OK);
  CHECK(std::string(bound.name) == "host_f32_f32_f32_tt");
}

TEST_CASE("The layout of the operands is part of a configuration's name") {
  const ContextPointer context = host_context();
  const struct {
    std::int64_t a_row, a_col, b_row, b_col;
    const char* name;
  } rows[] = {
      {GGEMM_PACKED, GGEMM_PACKED, GGEMM_PACKED, GGEMM_PACKED, "host_f32_f32_f32_tt"},
      {1, 5, GGEMM_PACKED, GGEMM_PACKED, "host_f32_f32_f32_nt"},
      {6, 1, 1, 6, "host_f32_f32_f32_tn"},
      {1, 5, 1, 6, "host_f32_f32_f32_nn"},
      {12, 2, 1, 6, "host_f32_f32_f32_tn"},
  };
  for (const auto& row : rows) {
    F32 p(GGEMM_F32);
    p.desc.a.row_stride = row.a_row, p.desc.a.col_stride = row.a_col, p.desc.b.row_stride = row.b_row, p.desc.b.col_stride = row.b_col;
    const PlanPointer plan = make_plan(context.get(), p.desc);
    ggemm_config config = GGEMM_CONFIG_INIT;
    REQUIRE(ggemm_plan_config(plan.get(), &config) == GGEMM_OK);
    CHECK(std::string(config.name) == row.name);
  }
}

TEST_CASE("Where D lies in columns, configurations are those of the transposed product, and what is said of them says so") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  p.desc.a.row_stride = 1, p.desc.a.col_stride = 5;  // B', along n
  p.desc.d.row_stride = 1, p.desc.d.col_stride = 5;  // B is packed: A' is along m
  const PlanPointer plan = make_plan(context.get(), p.desc);
  ggemm_config config = GGEMM_CONFIG_INIT;
  REQUIRE(ggemm_plan_config(plan.get(), &config) == GGEMM_OK);
  CHECK(std::string(config.name) == "host_f32_f32_f32_nt");
  char text[2048];
  REQUIRE(ggemm_plan_explain(plan.get(), text, sizeof text, nullptr) == GGEMM_OK);
  CHECK(std::string(text).find("transposed: D is contiguous along m") != std::string::npos);
  p.desc.config = "host_f32_f32_f32_nt";
  make_plan(context.get(), p.desc);
  p.desc.config = "host_f32_f32_f32_tt";
  ggemm_plan* none = nullptr;
  CHECK(ggemm_plan_create(context.get(), &p.desc, &none) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"host_f32_f32_f32_nt", "transposed product", "D is contiguous along m"});
  p.desc.config = nullptr, p.desc.m = 0;
  const ggemm_problem problem{&p.desc, nullptr};
  CHECK(ggemm_tune(context.get(), &problem, nullptr, nullptr) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"m=0", "n=7"});
}

TEST_CASE("Where D lies in columns, tuning checks what it times, with packed operands, scales and a bias, and own keys are of one orientation") {
  const TempFolder folder;
  ggemm_context_options options = host_options();
  options.cache_dir = folder.path().c_str();
  const ContextPointer context = make_context(options);
  for (const ggemm_scale_kind kind : {GGEMM_SCALE_NONE, GGEMM_SCALE_TENSOR, GGEMM_SCALE_VECTOR, GGEMM_SCALE_BLOCK_1X128})
    for (const ggemm_bias bias : {GGEMM_BIAS_PER_COLUMN, GGEMM_BIAS_PER_ROW}) {
      CAPTURE(kind, bias);
      ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
      desc.m = 70, desc.n = 33, desc.k = 300;
      desc.a.dtype = desc.b.dtype = GGEMM_E4M3, desc.d.dtype = GGEMM_F32;
      desc.d.row_stride = 1, desc.d.col_stride = 72;
      desc.scale_a.kind = kind, desc.scale_b.kind = kind == GGEMM_SCALE_BLOCK_1X128 ? GGEMM_SCALE_BLOCK_128X128 : kind;
      desc.epilogue.bias = bias;
      const ggemm_problem problem{&desc, nullptr};
      ggemm_tune_options tuning = GGEMM_TUNE_OPTIONS_INIT;
      tuning.budget_seconds = 0.01;
      const ggemm_status status = ggemm_tune(context.get(), &problem, &tuning, nullptr);
      INFO(ggemm_last_error());
      CHECK(status == GGEMM_OK);
    }
  F32 p(GGEMM_F32);
  p.desc.tune_key = "own";
  const auto key = [&] {
    char text[2048];
    REQUIRE(ggemm_plan_explain(make_plan(context.get(), p.desc).get(), text, sizeof text, nullptr) == GGEMM_OK);
    return std::string(std::strstr(text, "tuning key: "));
  };
  CHECK(key().ends_with(" | own key own\n"));
  p.desc.d.row_stride = 1, p.desc.d.col_stride = 5;
  CHECK(key().ends_with(" | transposed, own key own\n"));
}

TEST_CASE("A configuration's name is read part by part") {
  ggemm_config config = GGEMM_CONFIG_INIT;
  REQUIRE(ggemm_config_parse("sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", &config) == GGEMM_OK);
  CHECK(std::string(config.name) == "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8");
  CHECK(std::string(config.family) == "sm80");
  CHECK((config.tile_m == 128 && config.tile_n == 256 && config.tile_k == 64 && config.warps_m == 2 && config.warps_n == 4 && config.stages == 3 &&
         config.raster == 8));
  CHECK((config.cluster_m == 0 && config.cluster_n == 0 && config.swapped == 0 && config.large_above == 0 && config.cluster_k == 0));
  REQUIRE(ggemm_config_parse("sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r4", &config) == GGEMM_OK);
  CHECK((config.tile_m == 16 && config.tile_n == 128 && config.warps_n == 8 && config.cluster_m == 1 && config.cluster_n == 2 && config.swapped == 1 && config.raster == 4));
  REQUIRE(ggemm_config_parse("sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r8", &config) == GGEMM_OK);
  CHECK((config.cluster_m == 2 && config.cluster_n == 1 && config.swapped == 0));
  const struct {
    const char* name;
    const char* part;
  } wrong[] = {
      {"", "family"},
      {"sm90x_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", "sm90x"},
      {"sm80_bf17_bf16_f32_tn_128x256x64_w2x4_s3_r8", "bf17"},
      {"sm80_bf16_i32_f32_tn_128x256x64_w2x4_s3_r8", "i32"},
      {"sm80_bf16_bf16_f16_tn_128x256x64_w2x4_s3_r8", "f16"},
      {"sm80_bf16_bf16_f32_tx_128x256x64_w2x4_s3_r8", "tx"},
      {"sm80_bf16_bf16_f32_tn_128x256_w2x4_s3_r8", "128x256"},
      {"sm80_bf16_bf16_f32_tn_128x0x64_w2x4_s3_r8", "128x0x64"},
      {"sm80_bf16_bf16_f32_tn_128x-6x64_w2x4_s3_r8", "128x-6x64"},
      {"sm80_bf16_bf16_f32_tn_128x256x99999999999_w2x4_s3_r8", "99999999999"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_2x4_s3_r8", "2x4"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x999_s3_r8", "w2x999"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s0_r8", "s0"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r", "r"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8_", "10"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3", "8"},
      {"host_f32_f32_f32_tt_64x64x64_w1x1_s1_r1", "9"},
  };
  for (const auto& row : wrong) {
    INFO(row.name);
    std::memset(config.name, 'q', 4);
    CHECK(ggemm_config_parse(row.name, &config) == GGEMM_ERROR_ARGUMENT);
    check_sentence({row.part});
    CHECK(std::memcmp(config.name, "qqqq", 4) == 0);
  }
}

TEST_CASE("Preparing many problems reports each and can be cancelled") {
  const ContextPointer context = host_context();
  std::vector<std::unique_ptr<F32>> owners;
  std::vector<ggemm_problem> problems;
  for (int i = 0; i < 20; ++i) {
    owners.push_back(std::make_unique<F32>(GGEMM_F32));
    owners.back()->desc.m = i + 1;
    problems.push_back({&owners.back()->desc, nullptr});
  }
  GroupedProblem g;
  problems.push_back({nullptr, &g.desc});
  struct Progress {
    std::vector<std::size_t> done;
    std::size_t total = 0, stop_at = 0;
    int unnamed = 0;
    std::set<std::thread::id> threads;
  };
  const ggemm_progress_fn watch = [](void* user, std::size_t done, std::size_t total, const char* what) -> std::int32_t {
    Progress& p = *static_cast<Progress*>(user);
    p.done.push_back(done);
    p.total = total;
    p.threads.insert(std::this_thread::get_id());
    if (!what || !*what) ++p.unnamed;
    return done == p.stop_at;
  };
  Progress whole;
  REQUIRE(ggemm_prepare(context.get(), problems.data(), problems.size(), watch, &whole) == GGEMM_OK);
  REQUIRE(whole.done.size() == 21);
  for (std::size_t i = 0; i < whole.done.size(); ++i) CHECK(whole.done[i] == i + 1);
  CHECK(whole.total == 21);
  CHECK(whole.unnamed == 0);
  CHECK(whole.threads == std::set{std::this_thread::get_id()});
  Progress stopped;
  stopped.stop_at = 3;
  CHECK(ggemm_prepare(context.get(), problems.data(), problems.size(), watch, &stopped) == GGEMM_ERROR_CANCELLED);
  CHECK(stopped.done.size() == 3);
  check_sentence({"progress"});
  CHECK(ggemm_prepare(context.get(), nullptr, 0, nullptr, nullptr) == GGEMM_OK);
  owners[4]->desc.d.dtype = GGEMM_DTYPE_NONE;
  CHECK(ggemm_prepare(context.get(), problems.data(), problems.size(), nullptr, nullptr) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"problems[4]: ", "d.dtype"});
}

TEST_CASE("Tuning on the host verifies and times its one configuration") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  GroupedProblem g;
  g.desc.expected_m = g.desc.expected_n = g.desc.expected_k = 8;
  for (const ggemm_problem problem : {ggemm_problem{&p.desc, nullptr}, ggemm_problem{nullptr, &g.desc}}) {
    struct Rows {
      int count = 0, wrong = 0;
      std::string config;
    } rows;
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.budget_seconds = 0.5;
    options.function = [](void* user, const ggemm_tune_row* row) -> std::int32_t {
      Rows& r = *static_cast<Rows*>(user);
      ++r.count;
      r.config = row->config;
      if (row->struct_size != sizeof *row || row->index != 0 || row->total != 1 || row->rejected || !(row->microseconds > 0) || !(row->tflops > 0))
        ++r.wrong;
      return 0;
    };
    options.user = &rows;
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    REQUIRE(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK(rows.count == 1);
    CHECK(rows.wrong == 0);
    CHECK(result.best == rows.config);
    CHECK(result.microseconds > 0);
    CHECK(result.tflops > 0);
    CHECK(result.seconds > 0);
    CHECK(result.timed == 1);
    CHECK(result.rejected == 0);
  }
  const PlanPointer plan = make_plan(context.get(), p.desc);
  std::string text(4096, '\0');
  REQUIRE(ggemm_plan_explain(plan.get(), text.data(), text.size(), nullptr) == GGEMM_OK);
  CHECK(text.find("tuned") != std::string::npos);
}

TEST_CASE("Wrong tuning options are refused by name") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  GroupedProblem g;
  ggemm_gemm_desc rowless = p.desc;
  rowless.m = 0;
  ggemm_grouped_desc groupless = g.desc;
  groupless.groups = 0;
  const ggemm_problem plain{&p.desc, nullptr}, grouped{nullptr, &g.desc}, no_rows{&rowless, nullptr}, no_groups{nullptr, &groupless};
  const char* names[] = {"host_f32_f32_f32_tt", "nonsense"};
  const char* null_name[] = {nullptr};
  const std::int64_t sizes[] = {4, 4, 4}, negative[] = {4, -4, 4}, empty[] = {0, 4, 4, 4, 0, 4};
  struct Row {
    const char* title;
    const ggemm_problem& problem;
    std::function<void(ggemm_tune_options&)> spoil;
    std::vector<std::string> sentence;
  };
  const Row rows[] = {
      {"a negative budget", plain, [](ggemm_tune_options& o) { o.budget_seconds = -1; }, {"budget_seconds", "-1"}},
      {"a name that is none", plain, [&](ggemm_tune_options& o) { o.configs = names, o.config_count = 2; }, {"nonsense"}},
      {"a NULL name", plain, [&](ggemm_tune_options& o) { o.configs = null_name, o.config_count = 1; }, {"configs[0]", "NULL"}},
      {"a count without names", plain, [](ggemm_tune_options& o) { o.config_count = 3; }, {"configs", "3"}},
      {"sample groups without sizes", grouped, [](ggemm_tune_options& o) { o.sample_groups = 2; }, {"sample_sizes", "2"}},
      {"a negative sample size", grouped, [&](ggemm_tune_options& o) { o.sample_sizes = negative, o.sample_groups = 1; }, {"sample_sizes", "-4"}},
      {"a sample of empty groups", grouped, [&](ggemm_tune_options& o) { o.sample_sizes = empty, o.sample_groups = 2; }, {"sample_sizes", "empty"}},
      {"sample sizes of no groups", grouped, [&](ggemm_tune_options& o) { o.sample_sizes = sizes; }, {"sample_groups", "0"}},
      {"no groups", no_groups, [&](ggemm_tune_options& o) { o.sample_sizes = sizes, o.sample_groups = 1; }, {"groups=0", "nothing to tune"}},
      {"no rows", no_rows, [](ggemm_tune_options&) {}, {"m=0", "nothing to tune"}},
      {"grouped sizes that nobody gave", grouped, [](ggemm_tune_options&) {}, {"expected_m"}},
  };
  for (const Row& row : rows) {
    INFO(row.title);
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    row.spoil(options);
    CHECK(ggemm_tune(context.get(), &row.problem, &options, nullptr) == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
  }
}

TEST_CASE("A sample says what is tuned where the description has no sizes") {
  const ContextPointer context = host_context();
  GroupedProblem g;
  g.desc.m = g.desc.n = g.desc.k = ggemm_const(0);
  const std::int64_t sizes[] = {4, 5, 6};
  const ggemm_problem problem{nullptr, &g.desc};
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = 0.1, options.sample_sizes = sizes, options.sample_groups = 1;
  ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
  REQUIRE(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
  CHECK(result.tflops > 0);
}

TEST_CASE("Products over no terms can be tuned") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  p.desc.k = 0;
  GroupedProblem g;
  const std::int64_t sizes[] = {4, 4, 0};
  for (const ggemm_problem problem : {ggemm_problem{&p.desc, nullptr}, ggemm_problem{nullptr, &g.desc}}) {
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.budget_seconds = 0.1, options.sample_sizes = sizes, options.sample_groups = 1;
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    REQUIRE(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK(result.microseconds > 0);
    CHECK(result.tflops == 0);
  }
}

TEST_CASE("A tuning whose result has no room is refused before anything is timed") {
  const ContextPointer context = host_context();
  F32 p(GGEMM_F32);
  const ggemm_problem problem{&p.desc, nullptr};
  int rows = 0;
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.function = [](void* user, const ggemm_tune_row*) -> std::int32_t { return ++*static_cast<int*>(user), 0; };
  options.user = &rows;
  ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
  result.struct_size = 8;
  CHECK(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_ERROR_VERSION);
  check_sentence({"out_result", "8"});
  CHECK(rows == 0);
}

TEST_CASE("A tile's place follows the raster formula") {
  // The worked examples of Triton's matmul tutorial order.
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  ggemm_tile tile = GGEMM_TILE_INIT;
  grid.m = ggemm_const(4 * 16), grid.n = ggemm_const(4 * 16), grid.tile_m = grid.tile_n = 16, grid.raster = 2;
  REQUIRE(ggemm_tile_at(&grid, 15, &tile) == GGEMM_OK);
  CHECK((tile.tile_row == 3 && tile.tile_col == 3));
  grid.m = ggemm_const(1024), grid.n = ggemm_const(768), grid.tile_m = 128, grid.tile_n = 64;
  REQUIRE(ggemm_tile_at(&grid, 60, &tile) == GGEMM_OK);
  CHECK((tile.tile_row == 4 && tile.tile_col == 6 && tile.row_begin == 512 && tile.row_end == 640 && tile.col_begin == 384 && tile.col_end == 448));
  Rng rng(3);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t m = rng.between(1, 900), n = rng.between(1, 900), bm = rng.between(1, 200), bn = rng.between(1, 200),
                       raster = rng.between(1, 9);
    grid.m = ggemm_const(m), grid.n = ggemm_const(n), grid.tile_m = static_cast<std::int32_t>(bm), grid.tile_n = static_cast<std::int32_t>(bn),
    grid.raster = static_cast<std::int32_t>(raster);
    const std::int64_t tiles_m = (m + bm - 1) / bm, tiles_n = (n + bn - 1) / bn;
    std::int64_t count = 0, wrong = 0;
    REQUIRE(ggemm_tile_count(&grid, &count) == GGEMM_OK);
    REQUIRE(count == tiles_m * tiles_n);
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::int64_t pid = 0; pid < count; ++pid) {
      REQUIRE(ggemm_tile_at(&grid, pid, &tile) == GGEMM_OK);
      const std::int64_t in_group = raster * tiles_n, first = pid / in_group * raster, size = std::min(tiles_m - first, raster);
      const std::int64_t row = first + pid % in_group % size, col = pid % in_group / size;
      const bool right = tile.group == 0 && tile.tile_row == row && tile.tile_col == col && tile.row_begin == row * bm &&
                         tile.row_end == std::min(m, (row + 1) * bm) && tile.col_begin == col * bn && tile.col_end == std::min(n, (col + 1) * bn);
      if (!right) ++wrong;
      seen.insert({tile.tile_row, tile.tile_col});
    }
    CHECK(wrong == 0);
    CHECK(static_cast<std::int64_t>(seen.size()) == count);
  }
}

TEST_CASE("Tiles of groups are counted through all of them") {
  const std::int32_t m[] = {100, 0, 33, -5, 64}, n[] = {20, 50, 65, 8, 0};
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.groups = 5;
  grid.m = ggemm_i32_at(m, 4), grid.n = ggemm_i32_at(n, 4);
  grid.tile_m = grid.tile_n = 32;
  std::int64_t count = 0;
  REQUIRE(ggemm_tile_count(&grid, &count) == GGEMM_OK);
  REQUIRE(count == 4 + 6);
  ggemm_tile tile = GGEMM_TILE_INIT;
  for (std::int64_t pid = 0; pid < count; ++pid) {
    REQUIRE(ggemm_tile_at(&grid, pid, &tile) == GGEMM_OK);
    CHECK(tile.group == (pid < 4 ? 0 : 2));
    if (pid >= 4) CHECK((tile.tile_row == (pid - 4) / 3 && tile.tile_col == (pid - 4) % 3));
  }
  CHECK(ggemm_tile_at(&grid, 10, &tile) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"pid=10", "10"});
  CHECK(ggemm_tile_at(&grid, -1, &tile) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"pid=-1"});
  grid.n = ggemm_i32_at(n, 2);
  CHECK(ggemm_tile_count(&grid, &count) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"grid.n.data=", "byte_stride=2", "must be multiples of 4 bytes"});
}

// By hand; tests/kernels compares it with the kernels' own scheduler.
TEST_CASE("The programs of a cluster compute neighbouring tiles, down the rows first, side by side at a single row, and those past the edge compute nothing") {
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.m = ggemm_const(40), grid.n = ggemm_const(25), grid.tile_m = 16, grid.tile_n = 10;  // 3x3 tiles
  grid.cluster_m = 2, grid.raster = 2;                                                      // 3 clusters of two rows, and 2 of the single one
  struct Place {
    std::int64_t row, col, row_begin, row_end, col_begin, col_end;
  };
  const auto check = [&grid](std::int64_t pid, const Place& place) {
    ggemm_tile tile = GGEMM_TILE_INIT;
    INFO("pid " << pid);
    REQUIRE(ggemm_tile_at(&grid, pid, &tile) == GGEMM_OK);
    CHECK((tile.tile_row == place.row && tile.tile_col == place.col));
    CHECK((tile.row_begin == place.row_begin && tile.row_end == place.row_end && tile.col_begin == place.col_begin && tile.col_end == place.col_end));
  };
  std::int64_t count = 0;
  REQUIRE(ggemm_tile_count(&grid, &count) == GGEMM_OK);
  CHECK(count == 10);
  check(0, {0, 0, 0, 16, 0, 10});
  check(1, {1, 0, 16, 32, 0, 10});
  check(3, {1, 1, 16, 32, 10, 20});
  check(4, {2, 0, 32, 40, 0, 10});
  check(5, {2, 1, 32, 40, 10, 20});
  check(7, {1, 2, 16, 32, 20, 25});
  check(8, {2, 2, 32, 40, 20, 25});
  check(9, {2, 3, 32, 40, 25, 25});
  grid.swapped = 1;  // columns of D are walked first: 3 of them, one cluster each, two at a time
  REQUIRE(ggemm_tile_count(&grid, &count) == GGEMM_OK);
  CHECK(count == 12);
  check(0, {0, 0, 0, 16, 0, 10});
  check(1, {1, 0, 16, 32, 0, 10});
  check(2, {0, 1, 0, 16, 10, 20});
  check(4, {2, 0, 32, 40, 0, 10});
  check(8, {0, 2, 0, 16, 20, 25});
  grid.cluster_m = 0, grid.raster = 1;
  check(1, {1, 0, 16, 32, 0, 10});
  check(3, {0, 1, 0, 16, 10, 20});
}

TEST_CASE("Wrong tile grids are refused by name") {
  struct Row {
    const char* title;
    void (*spoil)(ggemm_tile_grid&);
    std::vector<std::string> sentence;
  };
  const Row rows[] = {
      {"a tile of no rows", [](ggemm_tile_grid& g) { g.tile_m = 0; }, {"tile_m", "0"}},
      {"a tile of negative columns", [](ggemm_tile_grid& g) { g.tile_n = -8; }, {"tile_n", "-8"}},
      {"raster 0", [](ggemm_tile_grid& g) { g.raster = 0; }, {"raster", "0"}},
      {"negative groups", [](ggemm_tile_grid& g) { g.groups = -2; }, {"groups", "-2"}},
      {"a reserved word", [](ggemm_tile_grid& g) { g.reserved0 = 12; }, {"reserved0", "12"}},
      {"another reserved word", [](ggemm_tile_grid& g) { g.reserved1 = 13; }, {"reserved1", "13"}},
      {"a negative cluster", [](ggemm_tile_grid& g) { g.cluster_n = -2; }, {"cluster_n", "-2"}},
      {"swapped by more than a turn", [](ggemm_tile_grid& g) { g.swapped = 2; }, {"swapped", "2"}},
      {"2^63 programs", [](ggemm_tile_grid& g) { g.m = ggemm_const(INT64_MAX), g.cluster_n = 32; }, {"2^63"}},
      {"an unknown source", [](ggemm_tile_grid& g) { g.n.kind = static_cast<ggemm_source_kind>(7); }, {"n.kind", "7"}},
      {"an array that is not there", [](ggemm_tile_grid& g) { g.m = ggemm_i64_at(nullptr, 8); }, {"m", "NULL"}},
      {"a negative size", [](ggemm_tile_grid& g) { g.m = ggemm_const(-100); }, {"m=", "-100"}},
  };
  for (const Row& row : rows) {
    INFO(row.title);
    ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
    grid.m = grid.n = ggemm_const(100);
    grid.tile_m = grid.tile_n = 32;
    row.spoil(grid);
    std::int64_t count = 77;
    CHECK(ggemm_tile_count(&grid, &count) == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(count == 77);
    ggemm_tile tile = GGEMM_TILE_INIT;
    CHECK(ggemm_tile_at(&grid, 0, &tile) == GGEMM_ERROR_ARGUMENT);
  }
}

}  // namespace ggemm::tests
