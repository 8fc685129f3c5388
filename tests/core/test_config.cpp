// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"

#include "problem_support.hpp"
#include "select/table.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

constexpr const char* example = "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8";

core::ProblemType type_of(ggemm_dtype a, ggemm_dtype b, core::Major major_a, core::Major major_b) {
  core::ProblemType type{};
  type.a = static_cast<std::uint8_t>(a), type.b = static_cast<std::uint8_t>(b);
  type.sum = documented_sum(a, b);
  type.major_a = major_a, type.major_b = major_b;
  return type;
}

}  // namespace

TEST_CASE("config: names are as the manual shows them") {
  const core::ProblemType bf16 = type_of(GGEMM_BF16, GGEMM_BF16, core::Major::k, core::Major::k);
  const core::Config config{128, 256, 64, 8, core::Family::sm80, 2, 4, 3};
  CHECK(core::config_name(bf16, config) == example);
  CHECK(core::kernel_name(bf16, config) == "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3");
  core::ProblemType tf32 = type_of(GGEMM_F32, GGEMM_F32, core::Major::mn, core::Major::mn);
  tf32.compute = GGEMM_COMPUTE_TF32;
  CHECK(core::config_name(tf32, {32, 128, 32, 1, core::Family::sm80, 1, 4, 4}) == "sm80_tf32_tf32_f32_nt_32x128x32_w1x4_s4_r1");
  core::ProblemType terms = tf32;
  terms.compute = GGEMM_COMPUTE_F32_ACCURATE;
  CHECK(core::config_name(terms, {128, 128, 64, 1, core::Family::sm90, 8, 1, 6, 1, 1, 1}) == "sm90_f32x3_f32x3_f32_nt_128x128x64_w8x1_s6_c1x1_r1");
  const core::ProblemType mixed = type_of(GGEMM_I8, GGEMM_F64, core::Major::mn, core::Major::k);
  CHECK(core::config_name(mixed, {64, 64, 16, 2, core::Family::simt, 2, 2, 2}) == "simt_i8_f64_f64_nn_64x64x16_w2x2_s2_r2");
  core::Config left_over{64, 64, 16, 2, core::Family::simt, 2, 2, 2};
  left_over.slices = core::tail_slices;
  CHECK(core::config_name(mixed, left_over) == "simt_i8_f64_f64_nn_64x64x16_w2x2_s2_kt_r2");
  CHECK(core::parse_config("simt_i8_f64_f64_nn_64x64x16_w2x2_s2_kt_r2").config == left_over);
  const core::ProblemType fp8 = type_of(GGEMM_E4M3, GGEMM_E5M2, core::Major::k, core::Major::mn);
  const core::Config cluster{128, 256, 64, 8, core::Family::sm90, 8, 1, 4, 2, 1, 1}, swapped{16, 128, 64, 8, core::Family::sm90, 1, 8, 6, 1, 1, 1, 1},
      along{16, 64, 64, 1, core::Family::sm90, 1, 4, 8, 1, 1, 4, 1}, sliced{128, 64, 64, 1, core::Family::sm90, 8, 1, 8, 2, 1, 1, 0, 12}, tail{128, 64, 64, 1, core::Family::sm90, 8, 1, 8, 2, 1, 1, 0, core::tail_slices}, both{16, 64, 64, 1, core::Family::sm90, 1, 4, 8, 1, 1, 8, 1, 3};
  CHECK(core::config_name(bf16, cluster) == "sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r8");
  CHECK(core::config_name(bf16, swapped) == "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s6_c1x1_swap_r8");
  CHECK(core::config_name(bf16, along) == "sm90_bf16_bf16_f32_tn_16x64x64_w1x4_s8_c1x1x4_swap_r1");
  CHECK(core::config_name(bf16, sliced) == "sm90_bf16_bf16_f32_tn_128x64x64_w8x1_s8_c2x1_k12_r1");
  CHECK(core::config_name(bf16, both) == "sm90_bf16_bf16_f32_tn_16x64x64_w1x4_s8_c1x1x8_k3_swap_r1");
  CHECK(core::kernel_name(bf16, both) == "sm90_bf16_bf16_f32_tn_16x64x64_w1x4_s8_c1x1x8_k_swap");
  CHECK(core::config_name(bf16, tail) == "sm90_bf16_bf16_f32_tn_128x64x64_w8x1_s8_c2x1_kt_r1");
  CHECK(core::kernel_name(bf16, tail) == "sm90_bf16_bf16_f32_tn_128x64x64_w8x1_s8_c2x1_kt");
  core::Config teams = cluster;
  teams.warps_m = 4, teams.teams = 2;
  CHECK(core::config_name(bf16, teams) == "sm90_bf16_bf16_f32_tn_128x256x64_w4x1x2_s4_c2x1_r8");
  core::Config swapped_tail = swapped, large = swapped;
  swapped_tail.slices = core::tail_slices;
  large.large_above = 64;
  CHECK(core::config_name(bf16, large) == "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s6_c1x1_m64_swap_r8");
  core::Config all = swapped_tail;
  all.large_above = 64;
  CHECK(core::config_name(bf16, all) == "sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s6_c1x1_kt_m64_swap_r8");
  for (const core::Config& config : {cluster, swapped, along, sliced, both, tail, swapped_tail, teams, large, all}) CHECK(core::parse_config(core::config_name(bf16, config)).config == config);
  CHECK(core::config_name(fp8, core::Config{}) == "host_e4m3_e5m2_f32_tt");
  CHECK(core::kernel_name(fp8, core::Config{}) == "host_e4m3_e5m2_f32_tt");
}

TEST_CASE("config: every name of the table, for every type, is read back as what it was made of") {
  std::size_t names = 0, rows = 0;
  for (const core::ProblemType& type : every_type()) {
    for (core::Config config : select::table(type)) {
      ++rows;
      for (const int raster : {1, 2, 7, 4096}) {
        if (config.family != core::Family::host) config.raster = static_cast<std::uint16_t>(raster);
        const std::string name = core::config_name(type, config);
        const core::ParsedConfig read = core::parse_config(name);
        const bool same = read.config == config && read.type.a == type.a && read.type.b == type.b && read.type.sum == type.sum && read.type.compute == type.compute && read.type.major_a == type.major_a &&
                          read.type.major_b == type.major_b && core::config_name(read.type, read.config) == name;
        if (!same) FAIL_CHECK(name);
        ++names;
      }
    }
  }
  CHECK(names == 4 * rows);
  CHECK(rows >= 408 * 10);
}

TEST_CASE("config: what is not contiguous along k is turned first, unless it has 16 bits or comes through registers") {
  const auto copied = [](ggemm_dtype dtype, int compute, core::Major a, core::Major b, bool swap, std::uint8_t grouped) {
    core::ProblemType type = type_of(dtype, dtype, a, b);
    type.compute = static_cast<std::uint8_t>(compute), type.grouped = grouped;
    core::Config config{};
    config.swap = swap;
    return static_cast<int>(core::repacked_operands(type, config));
  };
  using enum core::Major;
  constexpr int turned_a = core::operand_a | core::strided_a, turned_b = core::operand_b | core::strided_b;
  for (const bool swap : {false, true}) {
    CAPTURE(swap);
    CHECK(copied(GGEMM_BF16, 0, mn, mn, swap, 0) == 0);
    CHECK(copied(GGEMM_I8, 0, mn, k, swap, 0) == turned_a);
    CHECK(copied(GGEMM_E4M3, 0, mn, mn, swap, 0) == (turned_a | turned_b));
    CHECK(copied(GGEMM_F32, GGEMM_COMPUTE_TF32, k, k, swap, 0) == 0);
    CHECK(copied(GGEMM_F32, GGEMM_COMPUTE_TF32, mn, k, swap, 0) == (swap ? turned_a : 0));
    CHECK(copied(GGEMM_F32, GGEMM_COMPUTE_TF32, k, mn, swap, 0) == (swap ? 0 : turned_b));
    CHECK(copied(GGEMM_F32, GGEMM_COMPUTE_TF32, mn, mn, swap, 0) == (swap ? turned_a : turned_b));
    CHECK(copied(GGEMM_F32, GGEMM_COMPUTE_TF32, mn, mn, swap, core::grouped_call) == (turned_a | turned_b));
  }
}

TEST_CASE("config: tiles of groups are in halves where two warpgroups lie one above the other, no other CTA shares the tile, and A can be cut there") {
  const auto in_halves = [](const char* name, bool grouped = true) {
    core::ParsedConfig parsed = core::parse_config(name);
    if (grouped) parsed.type.grouped = core::grouped_call;
    const core::Config upright = core::upright(parsed.config);
    const core::ProblemType kernel = core::kernel_type(parsed.type, parsed.config);
    CHECK(core::parts_of_a(kernel, upright) == (core::in_halves(kernel, upright) ? 2 : upright.cluster_n));
    return core::in_halves(kernel, upright);
  };
  for (const char* name : {"sm90_bf16_bf16_f32_tn_128x128x64_w8x1_s6_c1x1_r1", "sm90_bf16_bf16_f32_nt_128x64x64_w8x1_s8_c1x1_r1", "sm90_e4m3_e4m3_f32_nn_128x128x128_w8x1_s6_c1x1_kt_r1", "sm90_i8_i8_i32_tn_128x256x128_w8x1_s4_c1x1_r1"}) {
    INFO(name);
    CHECK(in_halves(name));
    CHECK_FALSE(in_halves(name, false));
  }
  for (const char* name : {"sm90_bf16_bf16_f32_tn_128x128x64_w8x1_s6_c2x1_r1", "sm90_bf16_bf16_f32_tn_128x128x64_w8x1_s6_c1x2_r1", "sm90_bf16_bf16_f32_tn_128x128x64_w4x1_s6_c1x1_r1", "sm90_bf16_bf16_f32_tn_128x128x64_w4x1x2_s6_c1x1_r1",
                           "sm90_bf16_bf16_f32_tn_128x128x64_w1x8_s6_c1x1_swap_r1", "sm90_bf16_bf16_f32_tn_256x64x64_w8x1_s4_c1x1_r1", "sm80_bf16_bf16_f32_tn_128x128x64_w8x1_s3_r1"}) {
    INFO(name);
    CHECK_FALSE(in_halves(name));
  }
}

TEST_CASE("config: the raster group and the number of slices are no part of a kernel's name, everything else is") {
  const core::ProblemType type = type_of(GGEMM_F16, GGEMM_F16, core::Major::k, core::Major::mn);
  const core::Config config{128, 64, 32, 4, core::Family::sm80, 2, 2, 4};
  const auto changed = [&](auto change) {
    core::Config other = config;
    change(other);
    return core::kernel_name(type, other) != core::kernel_name(type, config);
  };
  CHECK_FALSE(changed([](core::Config& c) { c.raster = 9; }));
  const core::Config whole{128, 64, 64, 1, core::Family::sm90, 8, 1, 8, 1, 1, 1};
  core::Config two = whole, three = whole, tail = whole;
  two.slices = 2, three.slices = 3, tail.slices = core::tail_slices;
  CHECK(core::kernel_name(type, tail) != core::kernel_name(type, two));
  CHECK(core::kernel_name(type, two) == core::kernel_name(type, three));
  CHECK(core::kernel_name(type, two) != core::kernel_name(type, whole));
  core::Config teams = whole;
  teams.teams = 2;
  CHECK(core::kernel_name(type, teams) != core::kernel_name(type, whole));
  core::Config large = whole;
  large.large_above = 64;
  CHECK(core::kernel_name(type, large) == core::kernel_name(type, whole));
  CHECK(changed([](core::Config& c) { c.tile_m = 64; }));
  CHECK(changed([](core::Config& c) { c.tile_n = 128; }));
  CHECK(changed([](core::Config& c) { c.tile_k = 64; }));
  CHECK(changed([](core::Config& c) { c.warps_m = 4; }));
  CHECK(changed([](core::Config& c) { c.warps_n = 4; }));
  CHECK(changed([](core::Config& c) { c.stages = 3; }));
  CHECK(changed([](core::Config& c) { c.family = core::Family::simt; }));
}

TEST_CASE("config: the smallest and the largest numbers of a name") {
  const core::Config small = core::parse_config("simt_f32_f32_f32_nn_1x1x1_w1x1_s1_r1").config;
  CHECK(small == core::Config{1, 1, 1, 1, core::Family::simt, 1, 1, 1});
  const core::Config large = core::parse_config("sm80_f32_f32_f32_nn_4096x4096x4096_w32x32_s32_r4096").config;
  CHECK(large == core::Config{4096, 4096, 4096, 4096, core::Family::sm80, 32, 32, 32});
}

TEST_CASE("config: a name that is malformed is refused with the part that is wrong") {
  struct Wrong {
    const char* name;
    const char* part;      // as it is quoted
    const char* expected;  // what it should have been
  };
  const Wrong rows[] = {
      {"", "", "a kernel family"},
      {"sm81_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", "sm81", "a kernel family"},
      {"SM80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", "SM80", "a kernel family"},
      {" sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", " sm80", "a kernel family"},
      {"sm80_int4_bf16_f32_tn_128x256x64_w2x4_s3_r8", "int4", "a dtype of A or B"},
      {"sm80_i32_bf16_f32_tn_128x256x64_w2x4_s3_r8", "i32", "a dtype of A or B"},
      {"sm80_bf16__f32_tn_128x256x64_w2x4_s3_r8", "", "a dtype of A or B"},
      {"sm80_bf16_none_f32_tn_128x256x64_w2x4_s3_r8", "none", "a dtype of A or B"},
      {"sm80_bf16_bf16_f16_tn_128x256x64_w2x4_s3_r8", "f16", "a type of sums"},
      {"sm80_bf16_bf16_F32_tn_128x256x64_w2x4_s3_r8", "F32", "a type of sums"},
      {"sm80_bf16_bf16_f32_t_128x256x64_w2x4_s3_r8", "t", "a layout"},
      {"sm80_bf16_bf16_f32_tnn_128x256x64_w2x4_s3_r8", "tnn", "a layout"},
      {"sm80_bf16_bf16_f32_xn_128x256x64_w2x4_s3_r8", "xn", "a layout"},
      {"sm80_bf16_bf16_f32_tT_128x256x64_w2x4_s3_r8", "tT", "a layout"},
      {"sm80_bf16_bf16_f32_tn_128x256_w2x4_s3_r8", "128x256", "a tile"},
      {"sm80_bf16_bf16_f32_tn_128x256x64x2_w2x4_s3_r8", "128x256x64x2", "a tile"},
      {"sm80_bf16_bf16_f32_tn_128x256x_w2x4_s3_r8", "128x256x", "a tile"},
      {"sm80_bf16_bf16_f32_tn_0x256x64_w2x4_s3_r8", "0x256x64", "a tile"},
      {"sm80_bf16_bf16_f32_tn_-128x256x64_w2x4_s3_r8", "-128x256x64", "a tile"},
      {"sm80_bf16_bf16_f32_tn_+128x256x64_w2x4_s3_r8", "+128x256x64", "a tile"},
      {"sm80_bf16_bf16_f32_tn_128x4097x64_w2x4_s3_r8", "128x4097x64", "a tile"},
      {"sm80_bf16_bf16_f32_tn_128x256x99999999999999999999_w2x4_s3_r8", "128x256x99999999999999999999", "a tile"},
      {"sm80_bf16_bf16_f32_tn_128*256*64_w2x4_s3_r8", "128*256*64", "a tile"},
      {"sm80_bf16_bf16_f32_tn_0128x256x64_w2x4_s3_r8", "0128x256x64", "a tile"},
      {"sm80_bf16_bf16_f32_tn_128x256x064_w2x4_s3_r8", "128x256x064", "a tile"},
      {"sm80_tf32_f32_f32_tn_128x256x64_w2x4_s3_r8", "tf32_f32", "a pair of dtypes"},
      {"sm80_f32_tf32_f32_tn_128x256x64_w2x4_s3_r8", "f32_tf32", "a pair of dtypes"},
      {"simt_bf16_tf32_f32_tn_128x256x64_w2x4_s3_r8", "bf16_tf32", "a pair of dtypes"},
      {"host_tf32_i8_f32_tn", "tf32_i8", "a pair of dtypes"},
      {"host_tf32_f32x3_f32_tn", "tf32_f32x3", "a pair of dtypes"},
      {"host_f32x3_f32_f32_tn", "f32x3_f32", "a pair of dtypes"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_2x4_s3_r8", "2x4", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2_s3_r8", "w2", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4x1_s3_r8", "w2x4x1", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w33x1_s3_r8", "w33x1", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w02x4_s3_r8", "w02x4", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x-4_s3_r8", "w2x-4", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w1x0_s3_r8", "w1x0", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_3_r8", "3", "stages"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s_r8", "s", "stages"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s0_r8", "s0", "stages"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s33_r8", "s33", "stages"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s03_r8", "s03", "stages"},
      {"sm90_bf16_bf16_f32_tn_128x128x64_w4x1x1_s6_c2x1_r8", "w4x1x1", "warps"},
      {"sm90_bf16_bf16_f32_tn_128x128x64_w4x1x3_s6_c2x1_r8", "w4x1x3", "warps"},
      {"sm80_bf16_bf16_f32_tn_128x128x64_w4x1x2_s3_r8", "w4x1x2", "warps"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1x1_r8", "c2x1x1", "a cluster"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1x17_r8", "c1x1x17", "a cluster"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1x2x2_r8", "c1x1x2x2", "a cluster"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_k1_r8", "k1", "slices of k"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_k_r8", "k", "slices of k"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_k02_r8", "k02", "slices of k"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_k2x2_swap_r8", "k2x2", "slices of k"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_kt2_r8", "kt2", "slices of k"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_kT_r8", "kT", "slices of k"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_k4_r8", "k4", "kt"},
      {"simt_bf16_bf16_f32_tn_128x256x64_w2x4_s3_k_r8", "k", "kt"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_8", "8", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r0", "r0", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r-8", "r-8", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r+8", "r+8", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r08", "r08", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8 ", "r8 ", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_R8", "R8", "a raster group"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_", "", "a raster group"},
      {"host_bf16_bf16_i8_tn", "i8", "a type of sums"},
  };
  for (const Wrong& row : rows) {
    INFO(row.name);
    const std::string text = error_of([&] { core::parse_config(row.name); }, GGEMM_ERROR_ARGUMENT);
    INFO(text);
    CHECK(text.rfind("config=\"" + std::string(row.name) + "\": \"" + row.part + "\" is not " + row.expected, 0) == 0);
  }
}

TEST_CASE("config: a name with too few or too many parts is refused with their number and the number due") {
  struct Wrong {
    const char* name;
    const char *has, *due;
  };
  const Wrong rows[] = {
      {"sm80", "has 1 parts", "has 9"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3", "has 8 parts", "has 9"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8_", "has 10 parts", "has 9"},
      {"simt_f32_f32_f32_nn_64x64x16_w2x2_s2_r1_x", "has 10 parts", "has 9"},
      {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_kt_swap_r8", "has 11 parts", "has 10"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1", "has 9 parts", "has 10"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_swap_k2_r8", "has 12 parts", "has 11"},
      {"sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_k2_swap_swap_r8", "has 13 parts", "has 12"},
      {"host", "has 1 parts", "has 5"},
      {"host_f32_f32_f32_nn_64x64x16_w2x2_s2_r1", "has 9 parts", "has 5"},
  };
  for (const Wrong& row : rows) {
    const std::string text = error_of([&] { core::parse_config(row.name); }, GGEMM_ERROR_ARGUMENT);
    INFO(text);
    CHECK(text.find("config=\"" + std::string(row.name) + "\"") == 0);
    CHECK(text.find(row.has) != std::string::npos);
    CHECK(text.find(row.due) != std::string::npos);
    // The example is a name, and one of the family.
    const std::size_t example = text.rfind("such as ");
    REQUIRE(example != std::string::npos);
    const std::string such = text.substr(example + 8), name = row.name;
    CHECK(such.substr(0, such.find('_')) == name.substr(0, name.find('_')));
    CHECK_NOTHROW(core::parse_config(such));
  }
}

TEST_CASE("config: a name with one character changed, left out or put in is refused or is the exact name of what is read") {
  int refused = 0, passed = 0;
  const auto look = [&](const std::string& name) {
    try {
      const core::ParsedConfig read = core::parse_config(name);
      ++passed;
      if (core::config_name(read.type, read.config) != name) FAIL_CHECK(name << " is read as " << core::config_name(read.type, read.config));
    } catch (const core::Error& error) {
      ++refused;
      if (error.status() != GGEMM_ERROR_ARGUMENT) FAIL_CHECK(name << ": " << error.text());
    }
  };
  for (const std::string good : {example, "sm90_bf16_bf16_f32_tn_16x64x64_w1x4_s8_c1x1x8_k3_swap_r1", "simt_tf32_tf32_f32_nn_64x64x16_w2x2_s2_r10", "host_e4m3_e5m2_f32_tt"}) {
    for (std::size_t at = 0; at <= good.size(); ++at) {
      if (at < good.size()) look(good.substr(0, at) + good.substr(at + 1));
      look(good.substr(0, at));
      for (const char c : {'_', 'x', '0', '1', '3', '7', 'n', 't', 'z', ' ', '-', '+', '\n', '\0', '\x7f', '\xff'}) {
        look(good.substr(0, at) + c + good.substr(at));
        if (at < good.size()) look(good.substr(0, at) + c + good.substr(at + 1));
      }
    }
  }
  CHECK(refused > 2500);
  CHECK(passed > 100);
}

TEST_CASE("config: kernels for operands off 16 bytes are sm80's, of f64 and of f32 as f64, of plain products and batches") {
  const auto [type0, tile] = core::parse_config("sm80_f64_f64_f64_tt_32x32x32_w2x2_s4_r1");
  core::ProblemType type = type0;
  CHECK(core::unaligned_operands(type, tile) == 0);
  for (const int which : {1, 2, 3}) {
    type.unreachable = static_cast<std::uint8_t>(which | core::too_long);
    CHECK(core::unaligned_operands(type, tile) == which);
    core::Config other = tile;
    other.family = core::Family::gemv;
    CHECK(core::unaligned_operands(type, other) == 0);
  }
  type.limited = 1;
  CHECK(core::unaligned_operands(type, tile) == 0);
  type.limited = 0;
  type.unreachable = core::operand_a | core::strided_a | core::operand_b;  // elements that are no neighbours
  CHECK(core::unaligned_operands(type, tile) == core::operand_b);
  type.grouped = core::batch_groups;
  CHECK(core::unaligned_operands(type, tile) == core::operand_b);
  for (const std::uint8_t grouped : {core::grouped_call, static_cast<std::uint8_t>(core::grouped_call | core::batch_groups)}) {
    type.grouped = grouped;
    CHECK(core::unaligned_operands(type, tile) == 0);
  }
  for (const char* const name : {"sm80_bf16_bf16_f32_tt_64x64x64_w2x2_s4_r1", "sm80_tf32_tf32_f32_tt_64x64x32_w2x2_s4_r1"}) {
    core::ParsedConfig other = core::parse_config(name);
    other.type.unreachable = core::operand_a;
    CHECK(core::unaligned_operands(other.type, other.config) == 0);
  }
  // Lines that are longer than a CTA has threads.
  core::ParsedConfig few = core::parse_config("sm80_f64_f64_f64_nn_128x32x16_w2x1_s2_r1");
  few.type.unreachable = core::operand_a | core::operand_b;
  CHECK(core::unaligned_operands(few.type, few.config) == core::operand_b);
}
