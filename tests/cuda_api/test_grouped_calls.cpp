// SPDX-License-Identifier: Apache-2.0
// Grouped forms, rows by index and checked mode on a CUDA device: what is launched, with what.
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "api/ragged.hpp"
#include "operands.hpp"

namespace ggemm::tests {
namespace {

constexpr const char* mapped_tile = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_r1";
constexpr const char* small_tile = "simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r2";
using Floats = std::vector<float>;

std::vector<std::string> launched() {
  std::vector<std::string> names;
  for (const auto& launch : driver().all_launches()) names.push_back(launch.kernel);
  return names;
}

}  // namespace

TEST_CASE("Groups are tuned as they lie: what says where each does is written ahead for those that lie apart alone") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  const ContextPointer context = make_context(cuda_options(folder.path()));
  const std::int64_t sample[] = {5, 130, 256, 0, 130, 256, 33, 130, 256};
  alignas(8) std::int32_t numbers[40] = {};
  const auto prepares = [&](const std::function<void(ggemm_grouped_desc&)>& change, const char* config = mapped_tile) {
    ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
    desc.form = GGEMM_GROUPS_RAGGED_M, desc.groups = 3;
    desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
    desc.m = ggemm_const(38), desc.n = ggemm_const(130), desc.k = ggemm_const(256);
    desc.ends = ggemm_i32_at(numbers, 4);
    desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(256);
    change(desc);
    const ggemm_problem problem{nullptr, &desc};
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.configs = &config, options.config_count = 1;
    options.sample_sizes = sample, options.sample_groups = 3;
    const std::size_t before = launched().size();
    const ggemm_status status = ggemm_tune(context.get(), &problem, &options, nullptr);
    INFO(ggemm_last_error());
    CHECK(status == GGEMM_OK);
    const std::vector<std::string> names = launched();
    const auto count = [&](const char* part) { return std::count_if(names.begin() + static_cast<std::ptrdiff_t>(before), names.end(), [&](const std::string& name) { return name.find(part) != std::string::npos; }); };
    CHECK(count(std::string(config).substr(0, std::string(config).find("_w")).c_str()) > 0);
    return count("ggemm_prepare") > 0;
  };
  CHECK_FALSE(prepares([](ggemm_grouped_desc&) {}));
  // Rows by index, which are those in order: right in each group. (The fake driver's sm90 kernels look at no index.)
  const char* simt_tile = "simt_i8_i8_i32_tn_64x64x16_w2x2_s2_r2";
  CHECK_FALSE(prepares([&](ggemm_grouped_desc& desc) { desc.a_index = ggemm_i32_at(numbers, 4), desc.a_rows = 38; }, simt_tile));
  for (const std::uint32_t unique : {0u, 1u})
    CHECK_FALSE(prepares([&](ggemm_grouped_desc& desc) { desc.d_index = ggemm_i32_at(numbers, 4), desc.d_rows = 38, desc.d_index_unique = unique; }, simt_tile));
  CHECK(prepares([](ggemm_grouped_desc& desc) { desc.b.pointers = 1; }));
  CHECK(prepares([&](ggemm_grouped_desc& desc) { desc.checked = 1; }));
}

TEST_CASE("A plan and ggemm_prepare reserve the records of all groups, those that are taken to have no rows among them") {
  nvrtc_or_skip();
  Machine machine;
  {
    const TempFolder folder;
    const ContextPointer context = make_context(cuda_options(folder.path()));
    constexpr std::int64_t groups = 300, m = 320, n = 128, k = 256;
    std::vector<std::int32_t> ends(groups);
    std::vector<std::int8_t> a(m * k), b(n * k);
    std::vector<std::int32_t> d(m * n);
    const std::vector<void*> b_of(groups, b.data());
    ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
    desc.form = GGEMM_GROUPS_RAGGED_M, desc.groups = groups, desc.config = mapped_tile;
    desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
    desc.m = ggemm_const(m), desc.n = ggemm_const(n), desc.k = ggemm_const(k);
    desc.ends = ggemm_i32_at(ends.data(), 4);
    desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(k), desc.b.pointers = 1;  // so that there are records
    desc.expected_m = desc.expected_largest_m = 32;                                              // of ten of them
    ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
    args.a = a.data(), args.b = b_of.data(), args.d = d.data();
    const ggemm_problem problem{nullptr, &desc};
    for (const bool planned : {true, false}) {
      Stream stream;
      ggemm_plan* plan = nullptr;
      REQUIRE((planned ? ggemm_plan_create_grouped(context.get(), &desc, &plan) : ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr)) == GGEMM_OK);
      stream.begin(0);
      const ggemm_status status = planned ? ggemm_plan_run_grouped(plan, &args, stream.get()) : ggemm_grouped_gemm(context.get(), &desc, &args, stream.get());
      INFO(ggemm_last_error());
      CHECK(status == GGEMM_OK);
      stream.end();
      stream.drop_graph();
      ggemm_plan_destroy(plan);
    }
  }
  machine.check_clean();
}

TEST_CASE("Larger groups have a kernel of their own, which runs beside that of the others, or before it where CTAs are limited") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    for (const std::int64_t gap : {std::int64_t(0), Ones::no_line})
      for (const int most : {0, 6, 1}) {
        const bool limited = most > 0, uniform = gap == 0;
        INFO("at most " << most << ", gap " << gap);
        Ones p("sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_m64_swap_r2", gap);
        p.desc.max_ctas = most;
        p.desc.expected_m = 4000, p.desc.expected_n = 4000, p.desc.expected_k = 4000;
        const std::size_t before = launched().size();
        p.run(context);
        const auto launches = driver().all_launches();
        REQUIRE(launches.size() == before + (uniform ? 2 : 3));
        const auto *first = &launches[before], *large = uniform ? first : first + 1, *others = large + 1;
        if (!uniform) CHECK((std::string(first->kernel) == "ggemm_prepare" && first->overlaps == 1));
        CHECK(std::string(large->kernel).starts_with(std::string("ggemm_sm90_i8_i8_i32_tn_128x256x128_w8x1_s4_") + (limited ? "c1x1_" : "c2x1_")));
        CHECK(std::string(others->kernel).starts_with("ggemm_sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_swap_"));
        CHECK((large->overlaps == !uniform && others->overlaps == !limited));
        CHECK((others->cluster == 1 && large->cluster == limited));  // groups are dealt by turns; a kernel of larger clusters has them in its binary
        if (limited) CHECK((large->grid[0] <= unsigned(most) && others->grid[0] <= unsigned(most)));
        const auto& of_large = *static_cast<const kernels::GroupedTensorParams*>(large->parameters[0]);
        const auto& of_others = *static_cast<const kernels::GroupedTensorParams*>(others->parameters[0]);
        CHECK((of_large.taken == nullptr && of_others.taken != nullptr && of_large.beside == 0 && of_others.beside == !limited));
        CHECK((of_large.records == of_others.records && (of_large.records == nullptr) == uniform && of_large.raster == (most == 1 ? 2 : limited ? 4 : 8) && of_others.raster == 2));
        // Each group is one kernel's, and what they count by is 0 before.
        if (uniform) {
          CHECK((of_large.uniform.above == 64 && of_large.uniform.most == INT32_MAX && of_others.uniform.above == 0 && of_others.uniform.most == 64));
          CHECK((of_large.cleared == of_others.taken && of_others.cleared == nullptr));
        } else {
          CHECK((of_large.tiles[0].count == 0 && of_large.tiles[1].count > 0 && of_others.tiles[0].count > 0 && of_others.tiles[1].count == 0));
          CHECK((of_large.cleared == nullptr && of_others.cleared == nullptr));
        }
      }
    // A kernel of one size of tiles tells the next launch nothing of another.
    for (const std::int64_t gap : {std::int64_t(0), Ones::no_line}) {
      Ones p("sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_swap_r2", gap);
      p.run(context);
      const auto last = driver().all_launches().back();
      const auto& params = *static_cast<const kernels::GroupedTensorParams*>(last.parameters[0]);
      CHECK((params.taken == nullptr && params.cleared == nullptr && params.beside == 0 && last.overlaps == 1));
    }
  }
  machine.check_clean();
}

TEST_CASE("Groups of which maps of all of them tell the operands are one launch; others have theirs prepared by another") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    const auto params_of = [&](auto&& change, const char* forced = mapped_tile) {
      Ones p(forced, 2 * Ones::no_line);  // which leaves room for changes
      p.desc.b.group_stride = Ones::n * Ones::k;
      change(p);
      const std::size_t before = launched().size();
      p.run(context);
      const auto launches = driver().all_launches();
      const kernels::GroupedTensorParams params = *static_cast<const kernels::GroupedTensorParams*>(launches.back().parameters[0]);
      CHECK(launches.size() == before + (params.records ? 2 : 1) + (p.desc.checked ? 1 : 0));
      return params;
    };
    const auto uniform = [&](auto&& change, const char* forced = mapped_tile) { return params_of(change, forced).records == nullptr; };
    const auto none = [](Ones&) {};

    // What the kernel is told of them.
    const kernels::GroupedTensorParams p = params_of(none);
    REQUIRE(p.records == nullptr);
    const kernels::UniformGroups& u = p.uniform;
    CHECK((u.lines_a.of_group == 0 && u.lines_a.of_start == 1 && u.lines_b.of_group == 96 && u.lines_b.of_start == 0 && u.lines_d.of_group == 0 && u.lines_d.of_start == 1));
    CHECK((u.other_tiles == 2 && u.steps == 1 && u.swap == 0 && u.above == 0 && u.most == INT32_MAX && std::bit_cast<kernels::GroupFacts>(u.base).reach == 3));
    const kernels::GroupedTensorParams swapped = params_of(none, "sm90_i8_i8_i32_tn_32x64x128_w1x4_s8_c1x1_swap_r1");
    REQUIRE(swapped.records == nullptr);
    CHECK((swapped.uniform.swap == 1 && swapped.uniform.lines_a.of_group == 96 && swapped.uniform.lines_b.of_start == 1 && swapped.uniform.other_tiles == 2));

    // Where tiles that are left over are cut, the pieces of every CTA meet in workspace, in front of the records.
    const kernels::GroupedTensorParams cut = params_of(none, "sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_kt_swap_r1");
    CHECK((cut.records == nullptr && cut.sums && cut.arrivals && p.sums == nullptr && p.arrivals == nullptr));
    const kernels::GroupedTensorParams apart = params_of([](Ones& x) { x.desc.b.group_stride += Ones::no_line; }, "sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_kt_swap_r1");
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    CHECK((apart.records && address(apart.sums) + 132 * 32 * 128 * sizeof(float) == address(apart.records) && address(apart.arrivals) < address(apart.sums)));
    CHECK(address(params_of([](Ones& x) { x.desc.b.group_stride += Ones::no_line, x.desc.max_ctas = 6; }, "sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_kt_swap_r1").records) == address(apart.sums) + 6 * 32 * 128 * sizeof(float));

    // Of the largest tiles, in whole clusters of two.
    const auto sum_bytes = [&](const char* config, int ctas) {
      const kernels::GroupedTensorParams params = params_of([&](Ones& x) { x.desc.b.group_stride += Ones::no_line, x.desc.max_ctas = ctas; }, config);
      return params.records && params.sums ? address(params.records) - address(params.sums) : 0;
    };
    CHECK((sum_bytes("sm90_i8_i8_i32_tn_128x256x128_w8x1_s4_c2x1_kt_r1", 0) == 132 * 128 * 256 * sizeof(float) && sum_bytes("sm90_i8_i8_i32_tn_128x256x128_w8x1_s4_c2x1_kt_r1", 7) == 6 * 128 * 256 * sizeof(float)));

    // One B for all; room for as many rows in each group; the same without counts; a stride that is whole lines.
    CHECK(uniform([](Ones& x) { x.desc.b.group_stride = 0; }));
    const auto rooms = [](Ones& x) {
      x.desc.form = GGEMM_GROUPS_MASKED, x.desc.ends = ggemm_const(0), x.desc.m = ggemm_const(60);
      x.desc.counts = ggemm_i32_at(x.ends.data(), 4), x.ends = {60, 60};
    };
    CHECK(uniform(rooms));
    const auto batch_of = [](Ones& x) { x.desc.form = GGEMM_GROUPS_BATCH, x.desc.counts = ggemm_const(0), x.desc.max_ctas = 100; };  // (a limited one, which is no batch to the kernels)
    CHECK(uniform([&](Ones& x) { rooms(x), batch_of(x); }));

    // How D is stored: by boxes, but where its lines end with a group, which the host does not know.
    const auto store_of = [](const kernels::GroupedTensorParams& of) { return std::bit_cast<kernels::GroupFacts>(of.uniform.base).store; };
    const auto down = [&](Ones& x) { rooms(x), x.desc.m = ggemm_const(60), x.desc.d.row_stride = ggemm_const(1), x.desc.d.col_stride = ggemm_const(60); };
    CHECK(store_of(p) == kernels::TensorStore::inner_boxes);
    CHECK(store_of(params_of(rooms)) == kernels::TensorStore::inner_boxes);
    CHECK(store_of(params_of(down)) == kernels::TensorStore::threads);
    CHECK(store_of(params_of([&](Ones& x) { down(x), batch_of(x); })) == kernels::TensorStore::inner_boxes);

    // A distance that is no whole lines, or leaves room for somebody else's, a single line whose stride is beyond all maps, pointers, sizes and strides on the device, operands off 16 bytes, a check before.
    CHECK(!uniform([](Ones& x) { x.desc.b.group_stride += Ones::no_line; }));
    CHECK(!uniform([](Ones& x) { x.b.resize(x.b.size() + Ones::k, 1), x.args.b = x.b.data(), x.desc.b.group_stride += Ones::k; }));
    CHECK(!uniform([](Ones& x) { x.desc.n = ggemm_const(1), x.d.resize(Ones::rows), x.desc.b.group_stride = 0, x.desc.b.col_stride = ggemm_const(INT64_MAX - 1); }));
    std::int32_t status[4];
    CHECK(!uniform([&](Ones& x) { x.desc.checked = 1, x.args.status = status; }));
    CHECK(!uniform([](Ones& x) { x.args.b = x.b.data() + 1; }));
    void* parts[2];
    CHECK(!uniform([&](Ones& x) {
      x.desc.b.pointers = 1, x.desc.b.group_stride = 0;
      parts[0] = parts[1] = x.b.data(), x.args.b = parts;
    }));
    const std::int32_t stride = Ones::k;
    CHECK(!uniform([&](Ones& x) { rooms(x), x.desc.a.row_stride = ggemm_i32_at(&stride, 0), x.desc.a.group_stride = 60 * Ones::k; }));
    const std::int32_t depth = Ones::k;
    CHECK(!uniform([&](Ones& x) { rooms(x), x.desc.k = ggemm_i32_at(&depth, 0), x.desc.a.group_stride = 60 * Ones::k, x.desc.a.row_stride = ggemm_const(Ones::k); }));
    // Lines along k, which go on in the next group's: no tile of k, of 64, may reach there.
    for (const std::int64_t k : {64, 96}) {
      const std::vector<std::uint16_t> zeros(static_cast<std::size_t>(Ones::rows * 96 + 2 * Ones::n * 96), 0);
      std::vector<std::uint16_t> d(Ones::rows * Ones::n);
      Ones x("sm90_f16_f16_f32_tt_64x64x64_w4x1_s8_c1x1_r1");
      x.desc.a.dtype = x.desc.b.dtype = x.desc.d.dtype = GGEMM_F16;
      x.desc.k = ggemm_const(k), x.desc.b.row_stride = ggemm_const(Ones::n), x.desc.b.col_stride = ggemm_const(1), x.desc.b.group_stride = Ones::n * k;
      x.args.a = zeros.data(), x.args.b = zeros.data(), x.args.d = d.data();
      const std::size_t before = launched().size();
      REQUIRE(ggemm_grouped_gemm(context.get(), &x.desc, &x.args, nullptr) == GGEMM_OK);
      driver().wait();
      CHECK(launched().size() == before + (k == 64 ? 1 : 2));
    }
  }
  machine.check_clean();
}

TEST_CASE("A batch is one launch of a kernel of its own, and tuned as such; where the copy engine does not serve all of it it goes as groups do") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  constexpr const char* tile_of_elements = "simt_i8_i8_i32_tn_64x64x16_w2x2_s2_r1";
  constexpr std::int64_t rows = Ones::rows / 2;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    const auto launches_of = [&](auto&& change, const char* forced = mapped_tile) {
      Ones p(forced, 2 * Ones::no_line);
      p.desc.form = GGEMM_GROUPS_BATCH, p.desc.ends = ggemm_const(0), p.desc.m = ggemm_const(rows), p.desc.b.group_stride = Ones::n * Ones::k;
      change(p);
      const std::size_t before = launched().size();
      p.run(context);
      const auto launches = driver().all_launches();
      return std::vector<fake_launch>(launches.begin() + static_cast<std::ptrdiff_t>(before), launches.end());
    };
    const auto none = [](Ones&) {};
    const auto params_of = [&](auto&& change, const char* forced = mapped_tile) {
      const auto launches = launches_of(change, forced);
      REQUIRE(launches.size() == 1);
      CHECK(std::string(launches[0].kernel).ends_with("_batch_by_engine"));
      CHECK(launches[0].overlaps == 1);
      return *static_cast<const kernels::TensorParams*>(launches[0].parameters[0]);
    };
    // Tiles of both products, each of which has its own of all operands.
    const kernels::TensorParams p = params_of(none);
    CHECK((p.batch.tiles.by == 2 && p.walk.tiles == 4 && p.batch.a == rows * Ones::k && p.batch.b == Ones::k * Ones::n && p.batch.d == rows * Ones::n * 4 && p.batch.alpha == 0));
    const kernels::TensorParams swapped = params_of(none, "sm90_i8_i8_i32_tn_32x64x128_w1x4_s8_c1x1_swap_r1");
    CHECK((swapped.problem.m == Ones::n && swapped.problem.n == rows && swapped.walk.tiles == 8));
    // One B for all; lines of D by turns; a single product; numbers of each.
    CHECK(params_of([](Ones& x) { x.desc.b.group_stride = 0; }).batch.b == 0);
    CHECK(params_of([](Ones& x) { x.desc.d.row_stride = ggemm_const(2 * Ones::n), x.desc.d.group_stride = Ones::n; }).batch.d == Ones::n * 4);
    CHECK(params_of([](Ones& x) { x.desc.groups = 1, x.desc.m = ggemm_const(Ones::rows); }).walk.tiles == 4);
    const std::int32_t ones[] = {1, 1};
    CHECK(params_of([&](Ones& x) { x.desc.epilogue.scalars_on_device = 1, x.args.alpha = ones, x.args.alpha_byte_stride = 4; }).batch.alpha == 4);
    // As groups: a base off 16 bytes, a distance that is, a limit of CTAs.
    const auto goes_as_groups = [&](auto&& change) { return std::string(launches_of(change).back().kernel).find("_grouped") != std::string::npos; };
    CHECK(goes_as_groups([](Ones& x) { x.args.b = x.b.data() + 1; }));
    CHECK(goes_as_groups([](Ones& x) { x.desc.b.group_stride += 8; }));
    CHECK(goes_as_groups([](Ones& x) { x.desc.max_ctas = 8; }));
    // By CUDA cores a CTA a tile, however operands lie.
    for (const int off : {0, 1}) {
      const auto launches = launches_of([off](Ones& x) { x.args.b = x.b.data() + off; }, tile_of_elements);
      REQUIRE(launches.size() == 1);
      CHECK((std::string(launches[0].kernel).ends_with("_i32_batch") && launches[0].grid[0] == 4));
    }
    // A tuning lays it out as a batch.
    Ones tuned(nullptr);
    tuned.desc.form = GGEMM_GROUPS_BATCH, tuned.desc.ends = ggemm_const(0), tuned.desc.m = ggemm_const(rows);
    const ggemm_problem problem{nullptr, &tuned.desc};
    const char* const names[] = {mapped_tile, tile_of_elements};
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.configs = names, options.config_count = 2;
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    const std::size_t before = launched().size();
    REQUIRE(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK((result.timed == 2 && result.rejected == 0));
    std::set<std::string> kernels;
    const auto all = launched();
    for (std::size_t i = before; i < all.size(); ++i)
      if (all[i].find("_i8_i8_i32_") != std::string::npos) kernels.insert(all[i].substr(all[i].find("_i32_tn_")));
    for (const std::string& kernel : kernels) CHECK(kernel.find("_batch") != std::string::npos);
    CHECK(kernels.size() == 2);
    // Of a sample groups without elements say nothing, and others are alike; D may be contiguous along m.
    const std::int64_t uneven[] = {rows, Ones::n, Ones::k, 0, 5, 7, rows, Ones::n, Ones::k}, unlike[] = {40, Ones::n, Ones::k, 20, Ones::n, Ones::k};
    options.sample_sizes = uneven, options.sample_groups = 3;
    CHECK(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK((result.timed == 2 && result.rejected == 0));
    tuned.desc.d.row_stride = ggemm_const(1), tuned.desc.d.col_stride = ggemm_const(rows);
    CHECK(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK((result.timed == 2 && result.rejected == 0));
    tuned.desc.m = ggemm_const(0), options.sample_sizes = unlike, options.sample_groups = 2;
    CHECK(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_ERROR_ARGUMENT);
    CHECK(std::string(ggemm_last_error()).find("groups of constant sizes are alike") != std::string::npos);
  }
  machine.check_clean();
}

TEST_CASE("Groups that the copy engine serves alone have a kernel of their own, others the general one, captured or not; a plan and ggemm_prepare compile both") {
  nvrtc_or_skip();
  Machine machine;
  const std::string no_folder;
  const std::int32_t one = 1;
  for (const bool plan_or_prepare : {true, false}) {
    LogLines log;
    const ContextPointer context = make_context(cuda_options(no_folder, &log));
    Ones p(mapped_tile);
    const ggemm_problem problem{nullptr, &p.desc};
    ggemm_plan* plan = nullptr;
    if (plan_or_prepare) REQUIRE(ggemm_plan_create_grouped(context.get(), &p.desc, &plan) == GGEMM_OK);
    else REQUIRE(ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr) == GGEMM_OK);
    const int compiled = log.count("compiled ");
    Stream stream;
    for (const bool adds : {false, true})
      for (const std::int64_t off : {0, 1}) {  // of D's rows: elements that do not begin at 16 bytes
        INFO("C is read: " << adds << "; D begins " << off << " elements behind 16 bytes");
        std::vector<std::int32_t> d(p.d.size() + 1, 5);
        p.args.d = d.data() + off;
        p.args.c = adds ? p.args.d : nullptr, p.args.beta = adds ? &one : nullptr;
        stream.begin(0);
        CHECK((plan ? ggemm_plan_run_grouped(plan, &p.args, stream.get()) : ggemm_grouped_gemm(context.get(), &p.desc, &p.args, stream.get())) == GGEMM_OK);
        CHECK(driver().capture_calls() == 0);
        stream.end();
        stream.replay();
        driver().wait();
        CHECK(launched().back().ends_with("_by_engine") == (!adds && !off));
        CHECK(std::count(d.begin(), d.end(), adds ? 69 : 64) == static_cast<std::ptrdiff_t>(p.d.size()));
        stream.drop_graph();
      }
    CHECK(log.count("compiled ") == compiled);
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

TEST_CASE("Groups with lines of D that threads store have a kernel of their own, from when that is known, unless it spills") {
  nvrtc_or_skip();
  const bool spills = GENERATE(false, true), forced = GENERATE(true, false);
  INFO("it spills: " << spills << "; the configuration is forced: " << forced);
  Machine machine;
  const TempFolder folder;
  if (spills) driver().set_spill("_lines", 8);
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    constexpr std::uint16_t one = 0x3f80, sum = 0x4280;  // bf16: 1, 64
    constexpr std::int64_t groups = 2, m = 300, n = 200, k = 64;
    const std::vector<std::uint16_t> a(m * k, one), b(k * n, one);
    std::vector<std::uint16_t> d[groups] = {std::vector<std::uint16_t>(m * (n + 1)), std::vector<std::uint16_t>(m * (n + 1))};
    const std::vector<const void*> as(groups, a.data()), bs(groups, b.data());
    const std::vector<void*> ds{d[0].data(), d[1].data()};
    const std::vector<std::int64_t> strides(groups, n + 1);
    ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
    desc.groups = groups, desc.form = GGEMM_GROUPS_POINTERS, desc.m = ggemm_const(m), desc.n = ggemm_const(n), desc.k = ggemm_const(k);
    desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
    desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(k);
    desc.d.col_stride = ggemm_const(1), desc.d.row_stride = ggemm_i64_at(strides.data(), 8);
    desc.c = desc.d;
    desc.config = forced ? "sm90_bf16_bf16_f32_tn_128x64x64_w8x1_s4_c1x1_r1" : nullptr;
    ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
    args.a = const_cast<const void**>(as.data()), args.b = const_cast<const void**>(bs.data()), args.d = const_cast<void**>(ds.data());
    // Says whether the call's kernel is that one. plan: NULL: a call by itself.
    const auto waits = [&](const ggemm_plan* plan, void* stream) {
      for (auto& each : d) std::ranges::fill(each, std::uint16_t(0));
      const ggemm_status status = plan ? ggemm_plan_run_grouped(plan, &args, stream) : ggemm_grouped_gemm(context.get(), &desc, &args, stream);
      INFO(ggemm_last_error());
      CHECK(status == GGEMM_OK);
      return [&] {
        driver().wait();
        for (const auto& each : d) CHECK(std::ranges::count(each, sum) == m * n);
        return launched().back().ends_with("_lines");
      };
    };
    const auto captured = [&](const ggemm_plan* plan) {
      Stream stream;
      stream.begin(0);
      const auto replayed = waits(plan, stream.get());
      stream.end();
      stream.replay();
      const bool out = replayed();
      stream.drop_graph();
      return out;
    };
    // Strides on the device: it notes them.
    CHECK_FALSE(waits(nullptr, nullptr)());
    machine.set_lines(true);
    CHECK_FALSE(waits(nullptr, nullptr)());
    CHECK(waits(nullptr, nullptr)() == (!spills && launched().back().find("_w8x1_") != std::string::npos));
    const bool has = launched().back().ends_with("_lines");
    // It has no code for C.
    const float beta = 1;
    const auto reads_c = [&](const ggemm_plan* plan) {
      args.beta = &beta, args.c = args.d;
      CHECK_FALSE(waits(plan, nullptr)());
      args.beta = nullptr, args.c = nullptr;
    };
    reads_c(nullptr);
    // A plan has both kernels from the first on, and the same configuration for both.
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create_grouped(context.get(), &desc, &plan) == GGEMM_OK);
    const long compiled = driver().calls("cuModuleLoadData");
    CHECK(captured(plan) == has);
    CHECK(waits(plan, nullptr)() == has);
    reads_c(plan);
    CHECK(driver().calls("cuModuleLoadData") == compiled);
    ggemm_plan_destroy(plan);
    // Where the host knows, nothing need be noted; and it knows that lines are in order.
    machine.set_lines(false);
    for (const std::int64_t row : {n + 1, n}) {
      desc.d.row_stride = ggemm_const(row), desc.expected_m = row;  // another class
      if (row == n) {
        for (auto& each : d) each.resize(static_cast<std::size_t>(m * n));
      }
      CHECK(waits(nullptr, nullptr)() == (has && row != n));
    }
  }
  machine.check_clean();
}

TEST_CASE("Groups with lines of D that threads store are tuned by the kernels that calls of them have") {
  nvrtc_or_skip();
  struct Case {
    bool odd, ragged;
    const char* spills;  // which of the larger configuration's two kernels
  };
  const char* names[] = {"sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1_r1", "sm90_bf16_bf16_f32_tn_128x64x64_w8x1_s4_c1x1_r1"};
  const TempFolder folder;  // of all, which have kernels in common
  for (const auto& [odd, ragged, spills] : {Case{true, true, ""}, Case{true, false, ""}, Case{true, true, "lines"}, Case{true, true, "other"}, Case{false, true, ""}}) {
    INFO("D's lines are off 16 bytes: " << odd << "; ragged m: " << ragged << "; which kernel spills, that for such lines or the other: " << spills);
    const bool lines_spill = spills == std::string("lines"), other_spills = spills == std::string("other");
    Machine machine;
    machine.set_lines(odd);  // so the device finds; of a ragged m the host knows
    machine.set_time("_lines", 0.25);
    if (lines_spill || other_spills) driver().set_spill("_lines", lines_spill ? 8 : 0);
    if (other_spills) driver().set_spill("_128x64x64_", 8);
    {
      const ContextPointer context = make_context(cuda_options(folder.path()));
      ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
      const std::int64_t m = 150, n = odd ? 105 : 104, k = 64;
      desc.groups = 2, desc.form = ragged ? GGEMM_GROUPS_RAGGED_M : GGEMM_GROUPS_POINTERS, desc.m = ggemm_const(m), desc.n = ggemm_const(n), desc.k = ggemm_const(k);
      const std::vector<std::int32_t> ends{50, 150};
      if (ragged) desc.ends = ggemm_i32_at(ends.data(), 4), desc.b.group_stride = n * k;
      desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_BF16;
      desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(k);
      const ggemm_problem problem{nullptr, &desc};
      ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
      options.configs = names, options.config_count = 2, options.budget_seconds = 1000;
      ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
      const ggemm_status status = ggemm_tune(context.get(), &problem, &options, &result);
      INFO(ggemm_last_error());
      REQUIRE(status == GGEMM_OK);
      CHECK(result.timed == (other_spills ? 1 : 2));
      driver().wait();
      const bool waits = std::ranges::any_of(launched(), [](const std::string& name) { return name.ends_with("_lines"); });
      CHECK(waits == (odd && !lines_spill && !other_spills));
      if (waits || other_spills) CHECK(result.best == std::string(names[waits]));
    }
    machine.check_clean();
  }
}

TEST_CASE("Operands of groups that the device noted are copied in a launch between, as soon as there is memory, and gathered where there is none") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    Ones p("sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_r2", Ones::no_line);
    p.desc.max_ctas = 6;
    constexpr std::uint64_t bytes = 1 << 20;
    const auto run = [&](void* stream) {
      const std::size_t before = launched().size();
      p.run(context, stream);
      const auto launches = driver().all_launches();
      const bool copies = launches.size() == before + 3;
      REQUIRE((copies || launches.size() == before + 2));
      const auto& prepare = *static_cast<const kernels::PrepareParams*>(launches[before].parameters[0]);
      CHECK((prepare.copies.copies != nullptr) == copies);
      if (!copies) return std::int64_t(-1);
      CHECK(std::string(launches[before + 1].kernel) == "ggemm_repack_groups_1");
      CHECK((launches[before + 1].overlaps == 1 && launches[before + 1].grid[0] <= 6));
      const auto& repack = *static_cast<const kernels::RepackGroupsParams*>(launches[before + 1].parameters[0]);
      CHECK((repack.copies == 4 && repack.groups.room == prepare.copies.room && repack.groups.used == prepare.copies.used));
      return std::int64_t(prepare.copies.room_bytes);
    };
    for (int i = 0; i < 3; ++i) CHECK(run(nullptr) == -1);  // nothing to copy
    machine.set_copied_bytes(bytes);
    CHECK(run(nullptr) == -1);  // it is noted that there is
    const std::int64_t counted = run(nullptr);
    CHECK((counted >= 0 && counted < std::int64_t(bytes)));
    CHECK(run(nullptr) >= std::int64_t(bytes));
    CHECK(run(nullptr) >= std::int64_t(bytes));
    // No memory for more: the call goes on as it can.
    machine.set_copied_bytes(64 * bytes);
    run(nullptr);
    driver().fail("cuMemAllocAsync", 1, 2, 1);
    for (int i = 0; i < 2; ++i) {
      const long asked = driver().calls("cuMemAllocAsync");
      const std::int64_t room = run(nullptr);
      CHECK((room >= std::int64_t(bytes) && room < std::int64_t(64 * bytes)));
      CHECK(driver().calls("cuMemAllocAsync") == asked + (i == 0));
    }
    // A launch that fails between leaves nothing behind that other products count on.
    machine.set_copied_bytes(bytes);
    driver().fail("cuLaunchKernelEx", 2, 999, 1);
    CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_LAUNCH);
    driver().wait();
    const auto& last = *static_cast<const kernels::PrepareParams*>(driver().all_launches().back().parameters[0]);
    const auto* const head = reinterpret_cast<const char*>(last.records) - 256;
    CHECK((reinterpret_cast<const char*>(last.copies.used) == head && reinterpret_cast<const char*>(last.copies.done) == head + 8));
    run(nullptr);
    // Nor is any made during capture: the stream has none of its own, and what is reserved is enough without.
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create_grouped(context.get(), &p.desc, &plan) == GGEMM_OK);
    Stream stream;
    const std::size_t before = launched().size();
    stream.begin(0);
    CHECK(ggemm_plan_run_grouped(plan, &p.args, stream.get()) == GGEMM_OK);
    stream.end();
    stream.replay();
    const auto names = launched();
    CHECK(names.size() > before);
    CHECK(std::none_of(names.begin() + static_cast<std::ptrdiff_t>(before), names.end(), [](const std::string& name) { return name.starts_with("ggemm_repack"); }));
    stream.drop_graph();
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

TEST_CASE("Tokens in the order of their groups are one launch of the ordinary grouped kernel, which is told the whole matrix") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    ragged::Ragged p;
    p.desc.config = small_tile;
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(p.d == Floats{0, 1, 1, 1, 2, 1, 9, 3, 12, 3, -7, -7, -7, -7});
    const auto launches = driver().all_launches();
    REQUIRE(launches.size() == 1);
    CHECK(std::string(launches[0].kernel) == "ggemm_simt_f32_f32_f32_tt_64x64x16_w2x2_s2_f32_grouped");
    const auto& g = *static_cast<const kernels::GroupedParams*>(launches[0].parameters[0]);
    CHECK((g.m.data == p.ends && g.m.value == ragged::rows && g.m.mode == kernels::source_ends && g.k.kind == GGEMM_SOURCE_CONST));
    CHECK((g.a.data == p.a.data() && g.a.start_bytes == 8 && g.a.row_stride.value == 2 && g.a.col_stride.value == 1 && !g.a.pointers));
    CHECK((g.b.data == p.b.data() && g.b.group_bytes == 16 && g.b.start_bytes == 0));
    CHECK((g.status == nullptr && g.rows.weights == nullptr && g.alpha_stride == 0));
  }
  machine.check_clean();
}

TEST_CASE("Rows by index have a kernel of their own; rows of D that may meet are computed in their order, and added up by another launch") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    ragged::Ragged p;
    const std::int32_t index[] = {6, 5, 4, 3, 2, 1, 0}, nowhere[] = {-1, -1, -1, -1, -1, -1, -1};
    p.desc.a_index = ggemm_i32_at(index, 4), p.desc.a_rows = ragged::rows;
    p.desc.d_index = ggemm_i32_at(index, 4), p.desc.d_rows = ragged::rows;
    p.desc.d_index_unique = 1;
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    const Floats wanted{-7, -7, -7, -7, 6, 3, 9, 3, 4, 1, 5, 1, 6, 1};
    CHECK(p.d == wanted);
    REQUIRE(launched().size() == 1);
    CHECK(launched()[0].ends_with("_f32_gather_scatter_grouped"));
    CHECK(launched()[0].starts_with("ggemm_gemv_"));
    CHECK(driver().all_launches().back().overlaps == 1);  // it waits by itself
    p.desc.d_index_unique = 0;
    p.d.assign(p.d.size(), -7);
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(p.d == wanted);
    REQUIRE(launched().size() == 3);
    CHECK(launched()[1].ends_with("_f32_gather_grouped"));
    CHECK(launched()[2] == "ggemm_sum_rows_f32_f32");
    const auto& sum = *static_cast<const kernels::SumParams*>(driver().all_launches()[2].parameters[0]);
    CHECK((sum.columns == 2 && sum.groups == p.desc.groups && sum.ends.data == p.ends && sum.rows.d_index.data == index && sum.d.data == p.d.data()));
    // All to one row, with what is reserved for a captured stream.
    const std::int32_t together[] = {0, 0, 0, 0, 0, -1, 0};
    p.desc.d_index = ggemm_i32_at(together, 4);
    p.d.assign(p.d.size(), -7);
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create_grouped(context.get(), &p.desc, &plan) == GGEMM_OK);
    Stream stream;
    stream.begin(0);
    CHECK(ggemm_plan_run_grouped(plan, &p.args, stream.get()) == GGEMM_OK);
    CHECK(driver().capture_calls() == 0);
    stream.end();
    stream.replay();
    CHECK(p.d == Floats{6 + 5 + 4 + 9 + 6, 1 + 1 + 1 + 3 + 3, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7});
    stream.drop_graph();
    ggemm_plan_destroy(plan);
    // Checked, of no columns, or to no rows: nothing is added up.
    std::int32_t status[4] = {9, 9, 9, 9};
    p.desc.checked = 1, p.args.status = status;
    const std::size_t before = launched().size();
    for (const bool no_rows : {true, false}) {
      if (no_rows) p.desc.d_rows = 0, p.desc.d_index = ggemm_i32_at(nowhere, 4);
      else p.desc.d_rows = ragged::rows, p.desc.n = ggemm_const(0);
      p.d.assign(p.d.size(), -7), status[0] = 9;
      CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
      driver().wait();
      CHECK(p.d == Floats(p.d.size(), -7));
      CHECK(status[0] == GGEMM_FAULT_NONE);
    }
    for (std::size_t i = before; i < launched().size(); ++i) CHECK(launched()[i] != "ggemm_sum_rows_f32_f32");
  }
  machine.check_clean();
}

TEST_CASE("Checked mode launches its kernel before, and nothing is computed after a fault; a capture has both") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    ragged::Ragged p;
    std::int32_t status[4] = {9, 9, 9, 9};
    p.desc.config = small_tile;
    p.desc.checked = 1, p.args.status = status;
    Stream stream;
    const auto run = [&] { return ggemm_grouped_gemm(context.get(), &p.desc, &p.args, stream.get()); };
    const ggemm_problem problem{nullptr, &p.desc};
    REQUIRE(ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr) == GGEMM_OK);
    const int loads = driver().calls("cuModuleLoadData");
    p.ends[1] = 2;
    REQUIRE(run() == GGEMM_OK);
    driver().wait();
    CHECK((status[0] == GGEMM_FAULT_END && status[1] == 1 && status[2] == GGEMM_FIELD_M && status[3] == 0));
    CHECK(p.d == Floats(14, -7));
    CHECK(launched() == std::vector<std::string>{"ggemm_check", "ggemm_simt_f32_f32_f32_tt_64x64x16_w2x2_s2_f32_grouped"});
    CHECK(driver().calls("cuModuleLoadData") == loads);
    p.ends[1] = 3;
    REQUIRE(run() == GGEMM_OK);
    driver().wait();
    CHECK(status[0] == GGEMM_FAULT_NONE);
    CHECK(p.d == Floats{0, 1, 1, 1, 2, 1, 9, 3, 12, 3, -7, -7, -7, -7});
    stream.begin(0);
    REQUIRE(run() == GGEMM_OK);
    stream.end();
    for (const int last : {8, 4}) {
      p.ends[2] = last;
      p.d.assign(p.d.size(), -7);
      stream.replay();
      CHECK((last == 8 ? status[0] == GGEMM_FAULT_END && status[1] == 2 : status[0] == GGEMM_FAULT_NONE && status[1] == 0));
      CHECK(p.d == (last == 8 ? Floats(14, -7) : Floats{0, 1, 1, 1, 2, 1, 9, 3, -7, -7, -7, -7, -7, -7}));
    }
    stream.drop_graph();
    // No groups: the status is written all the same.
    status[0] = 9, p.desc.groups = 0;
    REQUIRE(run() == GGEMM_OK);
    driver().wait();
    CHECK(status[0] == GGEMM_FAULT_NONE);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
