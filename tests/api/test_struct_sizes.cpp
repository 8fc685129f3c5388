// SPDX-License-Identifier: Apache-2.0
// Callers of other versions: a struct that is too short is refused, a longer one is taken if what this version does not know is zero.
#include <functional>

#include "fixture.hpp"

namespace ggemm::tests {
namespace {

// A struct with the fields of a version to come behind it.
template <class T>
struct Newer {
  T known;
  std::uint64_t unknown[3];
};

// Bytes of the struct in version 0.1, where it has grown since: such a caller is served for ever.
template <class T>
constexpr std::size_t first_size = sizeof(T);
template <>
constexpr std::size_t first_size<ggemm_config> = 152;
template <>
constexpr std::size_t first_size<ggemm_tune_result> = 144;
template <>
constexpr std::size_t first_size<ggemm_tile_grid> = 96;
template <>
constexpr std::size_t first_size<ggemm_gemm_desc> = 232;
template <>
constexpr std::size_t first_size<ggemm_gemm_args> = 88;
template <>
constexpr std::size_t first_size<ggemm_grouped_desc> = 528;
template <>
constexpr std::size_t first_size<ggemm_grouped_args> = 64;

template <class T>
using Call = std::function<ggemm_status(const T*)>;

// `call` succeeds with `good`. Inputs: too short, as short as the first version's, longer with zeros, longer with something set.
template <class T>
void check_input(const char* name, const T& good, const Call<T>& call) {
  INFO(name);
  for (const std::size_t size : {std::size_t(0), std::size_t(1), first_size<T> - 1}) {
    T shorter = good;
    shorter.struct_size = size;
    CHECK(call(&shorter) == GGEMM_ERROR_VERSION);
    check_sentence({name, "struct_size=" + std::to_string(size), std::to_string(first_size<T>)});
  }
  T older = good;
  older.struct_size = first_size<T>;
  std::memset(reinterpret_cast<char*>(&older) + first_size<T>, 0x77, sizeof(T) - first_size<T>);  // what is not the struct's is not read
  CHECK(call(&older) == GGEMM_OK);
  Newer<T> newer{good, {0, 0, 0}};
  newer.known.struct_size = sizeof newer;
  CHECK(call(&newer.known) == GGEMM_OK);
  newer.unknown[2] = std::uint64_t(1) << 63;
  CHECK(call(&newer.known) == GGEMM_ERROR_VERSION);
  check_sentence({name, "struct_size=" + std::to_string(sizeof newer), std::to_string(sizeof(T))});
}

// Outputs: too short is refused with nothing written; of a longer one only what is known is written.
template <class T>
void check_output(const char* name, const std::function<ggemm_status(T*)>& call) {
  INFO(name);
  Newer<T> out;
  std::memset(&out, 0x77, sizeof out);
  out.known.struct_size = first_size<T> - 1;
  const Newer<T> before = out;
  CHECK(call(&out.known) == GGEMM_ERROR_VERSION);
  CHECK(std::memcmp(&out, &before, sizeof out) == 0);
  check_sentence({name, "struct_size=" + std::to_string(first_size<T> - 1), std::to_string(first_size<T>)});
  out.known.struct_size = first_size<T>;
  CHECK(call(&out.known) == GGEMM_OK);
  CHECK(std::memcmp(reinterpret_cast<const char*>(&out) + first_size<T>, reinterpret_cast<const char*>(&before) + first_size<T>, sizeof out - first_size<T>) == 0);
  out.known.struct_size = sizeof out;
  CHECK(call(&out.known) == GGEMM_OK);
  CHECK(out.known.struct_size == sizeof out);
  CHECK(std::memcmp(&out.known, &before.known, sizeof(T)) != 0);
  for (const std::uint64_t word : out.unknown) CHECK(word == 0x7777777777777777u);
}

}  // namespace

TEST_CASE("Descriptions and arguments of other versions are taken or refused by their size") {
  const ContextPointer context = host_context();
  PlainProblem<float> p(GGEMM_F32);
  GroupedProblem g;
  ggemm_context* const c = context.get();
  check_input<ggemm_gemm_desc>("desc", p.desc, [&](const auto* d) { return ggemm_gemm(c, d, &p.args, nullptr); });
  check_input<ggemm_gemm_args>("args", p.args, [&](const auto* a) { return ggemm_gemm(c, &p.desc, a, nullptr); });
  check_input<ggemm_grouped_desc>("desc", g.desc, [&](const auto* d) { return ggemm_grouped_gemm(c, d, &g.args, nullptr); });
  check_input<ggemm_grouped_args>("args", g.args, [&](const auto* a) { return ggemm_grouped_gemm(c, &g.desc, a, nullptr); });
  check_input<ggemm_gemm_desc>("problem.gemm", p.desc, [&](const auto* d) {
    const ggemm_problem problem{d, nullptr};
    return ggemm_prepare(c, &problem, 1, nullptr, nullptr);
  });
  check_input<ggemm_grouped_desc>("problem.grouped", g.desc, [&](const auto* d) {
    const ggemm_problem problem{nullptr, d};
    std::size_t count = 0;
    return ggemm_config_count(c, &problem, &count);
  });
  ggemm_grouped_desc old = g.desc;
  old.struct_size = first_size<ggemm_grouped_desc>;
  old.form = GGEMM_GROUPS_BATCH;
  CHECK(ggemm_grouped_gemm(c, &old, &g.args, nullptr) == GGEMM_ERROR_VERSION);
  check_sentence({"form=batch", "struct_size=528"});
}

TEST_CASE("Options and grids of other versions are taken or refused by their size") {
  const ContextPointer context = host_context();
  PlainProblem<float> p(GGEMM_F32);
  const ggemm_problem problem{&p.desc, nullptr};
  check_input<ggemm_context_options>("options", host_options(), [](const auto* o) {
    ggemm_context* created = nullptr;
    const ggemm_status status = ggemm_context_create(o, &created);
    ggemm_context_destroy(created);
    return status;
  });
  ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
  tune.budget_seconds = 0.05;
  check_input<ggemm_tune_options>("options", tune, [&](const auto* o) { return ggemm_tune(context.get(), &problem, o, nullptr); });
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.m = grid.n = ggemm_const(10);
  grid.tile_m = grid.tile_n = 4;
  check_input<ggemm_tile_grid>("grid", grid, [](const auto* g) {
    std::int64_t count = 0;
    return ggemm_tile_count(g, &count);
  });
}

TEST_CASE("Results are written as far as the caller's struct goes") {
  const ContextPointer context = host_context();
  PlainProblem<float> p(GGEMM_F32);
  const ggemm_problem problem{&p.desc, nullptr};
  ggemm_plan* raw = nullptr;
  REQUIRE(ggemm_plan_create(context.get(), &p.desc, &raw) == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  check_output<ggemm_device_info>("out_info", [&](auto* out) { return ggemm_context_device(context.get(), out); });
  check_output<ggemm_config>("out_config", [&](auto* out) { return ggemm_config_get(context.get(), &problem, 0, out); });
  check_output<ggemm_config>("out_config", [&](auto* out) { return ggemm_config_parse("host_f32_f32_f32_tt", out); });
  check_output<ggemm_config>("out_config", [&](auto* out) { return ggemm_plan_config(raw, out); });
  ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
  tune.budget_seconds = 0.05;
  check_output<ggemm_tune_result>("out_result", [&](auto* out) { return ggemm_tune(context.get(), &problem, &tune, out); });
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.m = grid.n = ggemm_const(10);
  grid.tile_m = grid.tile_n = 4;
  check_output<ggemm_tile>("out_tile", [&](auto* out) { return ggemm_tile_at(&grid, 3, out); });
}

TEST_CASE("Init functions serve callers of newer versions and refuse sizes that cannot be") {
  Newer<ggemm_gemm_desc> newer;
  std::memset(&newer, 0x77, sizeof newer);
  REQUIRE(ggemm_gemm_desc_init(&newer.known, sizeof newer) == GGEMM_OK);
  CHECK(newer.known.struct_size == sizeof newer);
  for (const std::uint64_t word : newer.unknown) CHECK(word == 0);
  newer.known.struct_size = 4321;
  CHECK(ggemm_gemm_desc_init(&newer.known, 8) == GGEMM_ERROR_VERSION);
  check_sentence({"desc.struct_size=8", std::to_string(first_size<ggemm_gemm_desc>)});
  CHECK(newer.known.struct_size == 4321);
}

}  // namespace ggemm::tests
