// SPDX-License-Identifier: Apache-2.0
#include "scheduler/raster.cuh"
#include "select/model.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <tuple>

#include "core/key.hpp"
#include "core/problem_support.hpp"
#include "devices.hpp"
#include "select/deal.hpp"
#include "select/space.hpp"
#include "select/table.hpp"
#include "tile/depth.cuh"

using namespace ggemm;
using namespace ggemm::tests;
using core::Config;
using core::Family;
using select::Sizes;

namespace {

std::string text(const Sizes& s) { return core::text("groups %lld, m %lld, n %lld, k %lld", static_cast<long long>(s.groups), static_cast<long long>(s.m), static_cast<long long>(s.n), static_cast<long long>(s.k)); }

bool same(const select::Ranking& a, const select::Ranking& b) {
  const auto legal = [](const select::Candidate& x, const select::Candidate& y) { return x.config == y.config && x.microseconds == y.microseconds; };
  const auto rejected = [](const select::Rejected& x, const select::Rejected& y) { return x.config == y.config && x.reason == y.reason; };
  return std::equal(a.legal.begin(), a.legal.end(), b.legal.begin(), b.legal.end(), legal) && std::equal(a.rejected.begin(), a.rejected.end(), b.rejected.begin(), b.rejected.end(), rejected);
}

const std::vector<Sizes>& many_sizes() {
  static const std::vector<Sizes> sizes = {{1, 1, 1, 1},         {1, 64, 64, 64},       {1, 1000, 1000, 1000}, {1, 8192, 8192, 8192},  {1, 1, 8192, 8192},           {1, 8192, 1, 8192}, {1, 128, 128, 1 << 20},
                                           {1, 1 << 20, 16, 16}, {64, 100, 1024, 4096}, {4096, 3, 7, 11},      {1, 5, 5, 0},          {8, 0, 0, 0},                 {0, 0, 0, 0},       {1, 0, 4096, 4096},
                                           {1, 1 << 30, 1 << 30, 1 << 30}, {1, std::int64_t(1) << 40, 1, 1}, {1, 1, 1, std::int64_t(1) << 40}};
  return sizes;
}

const Config& best(const select::Ranking& ranking) {
  REQUIRE_FALSE(ranking.legal.empty());
  return ranking.legal.front().config;
}

}  // namespace

TEST_CASE("model: an estimate is a positive number for every problem, configuration, device and size") {
  for (const core::ProblemType& type : every_type()) {
    for (const int capability : capabilities) {
      const core::DeviceFacts facts = device(capability);
      for (const Config& config : select::table(type)) {
        if (select::illegal(type, config, facts)) continue;
        for (const Sizes& sizes : many_sizes()) {
          const double microseconds = select::estimate(type, config, sizes, facts);
          if (!std::isfinite(microseconds) || microseconds <= 0) FAIL_CHECK(core::config_name(type, config) << " on sm_" << capability << ", " << text(sizes) << ": " << microseconds);
        }
      }
    }
  }
}

TEST_CASE("model: a device that tells nothing of itself still has estimates") {
  core::DeviceFacts facts = device(90);
  facts.multiprocessors = 0;
  facts.shared_per_multiprocessor = 0;
  const core::ProblemType type = type_of(GGEMM_F16);
  for (const select::Candidate& c : select::rank(type, {1, 512, 512, 512}, facts).legal) {
    CHECK(std::isfinite(c.microseconds));
    CHECK(c.microseconds > 0);
    CHECK(c.config.raster >= 1);
  }
}

TEST_CASE("model: a ranking is the whole table, best first, the rest with reasons, and the same every time") {
  for (const core::ProblemType& type : every_type()) {
    for (const int capability : capabilities) {
      const core::DeviceFacts facts = device(capability);
      for (const Sizes& sizes : {Sizes{1, 300, 500, 700}, Sizes{32, 0, 1024, 0}}) {
        const select::Ranking ranking = select::rank(type, sizes, facts);
        bool right = ranking.legal.size() + ranking.rejected.size() == select::table(type).size() && !ranking.legal.empty() && same(ranking, select::rank(type, sizes, facts));
        for (std::size_t i = 1; i < ranking.legal.size(); ++i) right = right && ranking.legal[i - 1].microseconds <= ranking.legal[i].microseconds;
        for (const select::Candidate& c : ranking.legal)
          right = right && !select::illegal(type, c.config, facts) && c.config.family != Family::host && c.microseconds == select::estimate(type, c.config, sizes, facts);
        for (const select::Rejected& r : ranking.rejected) right = right && !r.reason.empty() && select::illegal(type, r.config, facts) == r.reason;
        if (!right) FAIL_CHECK(core::config_name(type, best(ranking)) << " on sm_" << capability << ", " << text(sizes));
      }
    }
  }
}

TEST_CASE("model: the host has its one configuration") {
  for (const core::ProblemType& type : every_type()) {
    const select::Ranking ranking = select::rank(type, {1, 100, 100, 100}, host_device());
    REQUIRE(ranking.legal.size() == 1);
    CHECK(ranking.legal.front().config == Config{});
    CHECK(ranking.legal.front().microseconds == 0);
  }
}

TEST_CASE("model: a larger problem is never cheaper, for one configuration and for the best") {
  constexpr double rounding = 1 - 1e-12;
  const std::int64_t ladder[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 256, 300, 500, 512, 513, 1000, 1024, 2047, 2048, 4096, 6000, 8192, 16384};
  for (const auto& [type, capability] : {std::pair{type_of(GGEMM_BF16), 90}, std::pair{type_of(GGEMM_I8, "nt"), 80}, std::pair{type_of(GGEMM_F32, "tn", true), 120}, std::pair{type_of(GGEMM_F64), 90}, std::pair{type_of(GGEMM_F32), 75}}) {
    const core::DeviceFacts facts = device(capability);
    // Along one size at a time, from two places.
    for (const Sizes& base : {Sizes{1, 200, 300, 400}, Sizes{6, 4096, 2048, 1024}}) {
      for (int along = 0; along < 4; ++along) {
        std::vector<select::Candidate> last;
        double last_best = 0;
        for (const std::int64_t size : ladder) {
          // Lines that are no multiples of 64 bytes take longer than longer ones that are.
          if (along == 2 && type.a == GGEMM_BF16 && size % 32) continue;
          Sizes sizes = base;
          (along == 0 ? sizes.m : along == 1 ? sizes.n : along == 2 ? sizes.k : sizes.groups) = size;
          std::vector<select::Candidate> now = select::rank(type, sizes, facts).legal;
          const double now_best = now.front().microseconds;
          if (now_best < last_best * rounding) FAIL_CHECK(core::dtype_name(type.a) << " on sm_" << capability << ", " << text(sizes) << ": " << now_best << " after " << last_best);
          last_best = now_best;
          // The raster differs with m, so configurations are told apart by the rest.
          for (select::Candidate& c : now) c.config.raster = 1;
          // Clusters that turn share nothing: there a row more may cost less.
          const auto turns = [](const Config& config) { return kernels::clusters_turn(core::upright(config).cluster_m, core::upright(config).cluster_n); };
          for (const select::Candidate& c : now)
            for (const select::Candidate& before : last)
              if (c.config == before.config && !turns(c.config) && c.microseconds < before.microseconds * rounding)
                FAIL_CHECK(core::config_name(type, c.config) << " on sm_" << capability << ", " << text(sizes) << ": " << c.microseconds << " after " << before.microseconds);
          last = std::move(now);
        }
      }
    }
  }
}

TEST_CASE("model: clusters of two rows lose no CTA to groups of one row of tiles, nor to others") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call;
  const core::DeviceFacts facts = device(90);
  const auto time = [&](const char* name, std::int64_t m) { return select::estimate(type, core::parse_config(name).config, {64, m, 4096, 4096}, facts); };
  for (const std::int64_t m : {60, 128, 200, 384, 1000, 4000}) {
    INFO("m " << m);
    CHECK(time("sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r1", m) < 1.05 * time("sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_r1", m));
  }
}

TEST_CASE("model: groups that may differ much in size have larger tiles for the larger; thin groups, and those that are large all alike, have not") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call;
  const auto chosen = [&](std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {groups, m, n, k}, device(90))); };
  CHECK(chosen(32, 24, 4096, 7168).large_above == 64);
  CHECK(chosen(64, 8, 4096, 7168).large_above == 64);
  CHECK(chosen(8, 16, 4096, 14336).large_above == 0);  // 128 rows in all
  for (const std::int64_t m : {1, 4, 256, 1024}) CHECK(chosen(32, m, 4096, 7168).large_above == 0);
  CHECK(chosen(4, 64, 128, 64).large_above == 0);
}

TEST_CASE("model: where groups have rows in the upper halves of tiles alone, tiles in halves cost no more than theirs, and are chosen") {
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_E4M3}) {
    core::ProblemType type = type_of(dtype);
    type.grouped = core::grouped_call;
    const auto chosen = [&](std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {groups, m, n, k}, device(90))); };
    for (const Config& config : {chosen(32, 16, 4096, 7168), chosen(8, 64, 4096, 14336), chosen(8, 16, 4096, 14336)}) CHECK(core::in_halves(core::kernel_type(type, config), config));
    Config config = chosen(8, 64, 4096, 14336);
    const auto time = [&](std::int64_t m) { return select::estimate(type, config, {64, m, 4096, 4096, 1}, device(90)); };
    CHECK(time(64) < 0.95 * time(65));
    config.cluster_m = 2;
    CHECK(time(64) > 0.95 * time(65));
  }
}

TEST_CASE("model: what larger groups have is what would be best if one had all rows, and takes clusters of one CTA where CTAs are limited") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call;
  const auto large = [&](const Sizes& sizes) { return *select::large_tiles(type, sizes, device(90)); };
  CHECK(large({32, 16, 4096, 7168}).tile_n == 128);  // 128 tiles of 128x128: 50 us, 82 by 128x256
  CHECK(large({32, 1024, 4096, 7168}).tile_n == 256);
  CHECK(select::cluster(large({32, 1024, 4096, 7168})) == 2);
  type.limited = true;
  CHECK(select::cluster(large({32, 1024, 4096, 7168})) == 1);
  for (const std::int64_t m : {1, 7, 60, 1000}) {
    const Config config = large({9, m, 500, 900});
    CHECK((config.tile_m == 128 && !config.swap && !config.teams && !config.slices && !config.large_above && !select::illegal(type, config, device(90))));
  }
}

TEST_CASE("model: few tiles of groups are cut along k where one group with all rows would leave most of the device idle, and groups are few enough to be counted") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call;
  const auto chosen = [&](const Sizes& sizes) { return best(select::rank(type, sizes, device(90))); };
  CHECK(chosen({32, 1, 4096, 7168}).slices == core::tail_slices);
  CHECK(chosen({8, 1, 4096, 14336}).slices == core::tail_slices);
  CHECK(chosen({32, 1, 7168, 2048}).slices == 0);
  for (const std::int64_t groups : {255, 256, 257, 300, 384})
    for (const std::int64_t n : {128, 256, 512}) CHECK((chosen({groups, 1, n, 7168}).slices == core::tail_slices) == (groups <= 256));
  type.grouped |= core::checked_groups;
  CHECK(chosen({32, 1, 4096, 7168}).slices == 0);
}

TEST_CASE("model: the largest tiles of groups are cut along k where few rounds of them take long, and there is a kernel for it") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call;
  const auto cut = [](const core::ProblemType& of, const Sizes& sizes) {
    const Config config = best(select::rank(of, sizes, device(90)));
    return config.slices == core::tail_slices && kernels::large_tile(config.tile_m, config.tile_n);
  };
  for (const Sizes& sizes : {Sizes{8, 1024, 4096, 14336}, Sizes{8, 256, 4096, 14336}, Sizes{32, 256, 4096, 7168}}) CHECK(cut(type, sizes));
  // A short k; many rounds; more groups than are counted; lines of D that threads store.
  for (const Sizes& sizes : {Sizes{32, 128, 7168, 2048}, Sizes{8, 1024, 28672, 4096}, Sizes{300, 1024, 1024, 14336}, Sizes{8, 1024, 4097, 14336}}) CHECK_FALSE(cut(type, sizes));
  for (const auto other : {core::apart_groups, core::checked_groups, core::gathered_rows, core::scattered_rows}) {
    core::ProblemType slower = type;
    slower.grouped |= other;
    CHECK_FALSE(cut(slower, {8, 1024, 4096, 14336}));
  }
  core::ProblemType fp8 = type_of(GGEMM_E4M3);
  fp8.grouped = core::grouped_call;
  CHECK(cut(fp8, {8, 1024, 4096, 14336, core::skew_little}));
}

TEST_CASE("model: twice the work takes twice the time where the device is full, and a group's work counts as often as there are groups") {
  const core::ProblemType type = type_of(GGEMM_BF16);
  const core::DeviceFacts facts = device(90);
  for (const Config& config : select::table(type)) {
    if (config.cluster_k > 1 || config.slices > core::tail_slices) continue;  // that the device is full is what they are not for
    if (select::illegal(type, config, facts)) continue;
    const auto time = [&](const Sizes& sizes) { return select::estimate(type, config, sizes, facts); };
    INFO(core::config_name(type, config));
    const double once = time({1, 8192, 8192, 8192});
    for (const double twice : {time({1, 16384, 8192, 8192}), time({1, 8192, 16384, 8192}), time({1, 8192, 8192, 16384}), time({2, 8192, 8192, 8192})}) {
      CHECK(twice > 1.8 * once);
      CHECK(twice < 2.2 * once);
    }
    CHECK(time({64, 2048, 2048, 2048}) > 0.9 * time({1, 8192, 8192, 8192}));
  }
}

TEST_CASE("model: few columns, and rows of what other families serve badly, are read straight to registers; what is wide both ways is not") {
  const core::DeviceFacts facts = device(90);
  const auto chosen = [&](ggemm_dtype dtype, const char* layout, const Sizes& sizes) { return best(select::rank(type_of(dtype, layout), sizes, facts)).family; };
  for (const char* layout : {"tn", "tt", "nn", "nt"}) {
    INFO(layout);
    for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_F16, GGEMM_F32, GGEMM_F64, GGEMM_E4M3, GGEMM_I8}) {
      INFO(core::dtype_name(dtype));
      // (A of 16 bits along m goes by tiles of few columns.)
      CHECK(chosen(dtype, layout, {1, 4096, 1, 4096}) == (std::string(layout) == "nn" && core::dtype_size(dtype) == 2 ? Family::sm90 : Family::gemv));
      CHECK(chosen(dtype, layout, {1, 4096, 4096, 4096}) != Family::gemv);
      CHECK(chosen(dtype, layout, {1, 64, 4096, 4096}) != Family::gemv);
    }
    CHECK(chosen(GGEMM_F32, layout, {1, 1, 4096, 4096}) == Family::gemv);
    CHECK(chosen(GGEMM_F64, layout, {1, 1, 4096, 4096}) == Family::gemv);
    CHECK(chosen(GGEMM_F64, layout, {1, 2, 4096, 4096}) == Family::sm80);
    CHECK(chosen(GGEMM_BF16, layout, {1, 1, 28672, 4096}) == Family::sm90);
  }
}

TEST_CASE("model: many rows of few columns and little of k go from memory to registers, and what is longer does not") {
  const auto chosen = [](ggemm_dtype dtype, const char* layout, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type_of(dtype, layout), {1, m, n, k}, device(90))); };
  const auto tile = [](const Config& c) { return std::tuple<Family, int, int>(c.family, c.tile_m, c.tile_n); };
  for (const char* layout : {"tn", "tt"}) {
    INFO(layout);
    for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_F16}) {
      CHECK(tile(chosen(dtype, layout, 1000000, 32, 32)) == std::tuple(Family::gemv, 512, 32));
      CHECK(tile(chosen(dtype, layout, 1000000, 16, 16)) == std::tuple(Family::gemv, 1024, 16));
      CHECK(chosen(dtype, layout, 1000000, 64, 64).family == Family::sm90);
      CHECK(chosen(dtype, layout, 1000000, 16, 64).family == Family::sm90);
      CHECK(chosen(dtype, layout, 1000000, 30, 32).family == Family::sm90);  // columns that are no vectors
      core::ProblemType apart = type_of(dtype, layout);
      apart.unreachable = core::operand_a | core::operand_b;
      for (const std::int64_t narrow : {3, 30}) CHECK(best(select::rank(apart, {1, 1000000, narrow, narrow}, device(90))).family == Family::gemv);  // lines that would be copied first
    }
    for (const ggemm_dtype dtype : {GGEMM_F32, GGEMM_F64}) {
      CHECK(tile(chosen(dtype, layout, 1000000, 3, 3)) == std::tuple(Family::gemv, 1024, 4));
      CHECK(tile(chosen(dtype, layout, 1000000, 8, 5)) == std::tuple(Family::gemv, 1024, 8));
      CHECK(chosen(dtype, layout, 1000000, 3, 300).tile_m < 1024);
    }
  }
  for (const ggemm_dtype dtype : {GGEMM_F32, GGEMM_F64}) {
    for (const char* layout : {"tt", "nt"}) {
      CHECK(tile(chosen(dtype, layout, 3, 1000000, 3)) == std::tuple(Family::gemv, 4, 512));
      CHECK(tile(chosen(dtype, layout, 8, 1000000, 8)) == std::tuple(Family::gemv, 8, 512));
      CHECK(chosen(dtype, layout, 3, 1000000, 300).tile_n < 512);
    }
    CHECK(chosen(dtype, "tn", 3, 1000000, 3).family != Family::gemv);  // B along k
    CHECK(chosen(dtype, "nt", 1000000, 3, 3).family != Family::gemv);  // A along m
  }
}

TEST_CASE("model: a large product takes a large tile, a small one a small tile, few rows a flat one, few columns a narrow one") {
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_F16}) {
    for (const char* layout : {"tn", "tt", "nn", "nt"}) {
      for (const int capability : {80, 86, 89, 90, 100, 120}) {
        INFO(core::dtype_name(dtype) << ' ' << layout << " on sm_" << capability);
        const core::ProblemType type = type_of(dtype, layout);
        const auto chosen = [&](std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {1, m, n, k}, device(capability))); };
        const Config large = chosen(8192, 8192, 8192);
        CHECK(large.family == (capability == 90 ? Family::sm90 : Family::sm80));
        CHECK(large.tile_m * large.tile_n >= 128 * 128);
        const Config small = chosen(64, 64, 64);
        CHECK(small.tile_m * small.tile_n <= 64 * 64);
        const Config flat = chosen(16, 8192, 8192);
        CHECK(flat.tile_m <= 64);
        const Config narrow = chosen(8192, 16, 8192);
        CHECK(narrow.tile_n <= 64);
      }
    }
  }
}

TEST_CASE("model: few columns take tiles of few, as few rows do; f32 long ones by CUDA cores") {
  const auto chosen = [](const core::ProblemType& type, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {1, m, n, k}, device(90))); };
  const auto tile = [](const Config& c) { return std::pair<int, int>(c.tile_m, c.tile_n); };
  const core::ProblemType bf16 = type_of(GGEMM_BF16, "tn"), f32 = type_of(GGEMM_F32);
  CHECK(tile(chosen(bf16, 8192, 16, 4096)) == std::pair(64, 16));
  CHECK(tile(chosen(bf16, 8192, 32, 4096)) == std::pair(64, 32));
  const Config shared = chosen(bf16, 4096, 16, 14336);
  CHECK(tile(shared) == std::pair(64, 16));
  CHECK(shared.cluster_k == 2);
  CHECK(chosen(type_of(GGEMM_BF16, "tt"), 8192, 16, 4096).tile_n == 64);  // of B along n there are whole panels alone
  const auto by_cuda_cores = [](std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type_of(GGEMM_F32), {1, m, n, k}, slow_f64(90))); };
  CHECK(tile(chosen(f32, 1048576, 16, 16)) == std::pair(256, 16));
  CHECK(tile(chosen(f32, 16, 1048576, 16)) == std::pair(16, 256));
  CHECK(tile(chosen(f32, 10000, 10, 10000)) == std::pair(128, 16));
  CHECK(tile(by_cuda_cores(16, 4096, 4096)) == std::pair(16, 128));
  // In products that are wide both ways they are not better.
  for (const std::int64_t size : {256, 512}) CHECK(tile(chosen(type_of(GGEMM_BF16, "nn"), size, size, size)) == std::pair(64, 64));
  CHECK(chosen(type_of(GGEMM_E4M3, "tt"), 1096, 80, 6544).tile_n >= 64);
  CHECK(tile(by_cuda_cores(128, 512, 784)) == std::pair(32, 64));
}

TEST_CASE("model: operands off 16 bytes are copied first where tensor maps read, and of f32 and f64 where that takes less than it spares") {
  constexpr int a = core::operand_a, b = core::operand_b, strided_a = core::strided_a;
  const auto copied = [](const char* name, int unreachable, Sizes sizes, std::uint8_t grouped = 0, bool limited = false) {
    const core::ParsedConfig parsed = core::parse_config(name);
    core::ProblemType type = parsed.type;
    type.c = type.d = type.a, type.unreachable = static_cast<std::uint8_t>(unreachable), type.grouped = grouped, type.limited = limited;
    return static_cast<int>(select::copied_operands(type, parsed.config, sizes, device(90)));
  };
  const Sizes large{1, 4000, 4000, 4000}, small{1, 200, 200, 200}, thin{1, 64, 4096, 4096};
  for (const char* const name : {"sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_kt_r1", "sm80_f64_f64_f64_tt_128x128x16_w2x4_s3_kt_r1"}) {
    INFO(name);
    for (const int which : {0, a | b}) CHECK(copied(name, which, large) == which);
    CHECK(copied(name, a | b, small) == 0);
    CHECK(copied(name, a | b, thin) == 0);
    CHECK(copied(name, a | b, large, core::grouped_call) == 0);
    CHECK(copied(name, a | b, large, 0, true) == 0);
    CHECK(copied(name, a | b | core::too_long, large) == (a | b));
  }
  for (const int which : {a, b}) CHECK(copied("sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_r1", which, large) == which);
  CHECK(copied("sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_r1", a | b | strided_a, large) == (a | b | strided_a));
  CHECK(copied("sm80_f64_f64_f64_tt_128x128x16_w2x4_s3_r1", a | b | strided_a, large) == b);  // no kernel turns elements of 8 bytes
  for (const char* const name : {"simt_f32_f32_f32_tt_128x256x32_w2x4_s2_r1", "sm80_bf16_bf16_f32_tt_64x64x64_w2x2_s4_r1", "sm80_tf32_tf32_f32_tt_64x64x32_w2x2_s4_r1", "gemv_f32_f32_f32_tt_1x16x128_w1x8_s2_r1"}) CHECK(copied(name, a | b, large) == 0);
  for (const Sizes& sizes : {large, small}) CHECK(copied("sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r8", b, sizes) == b);
}

TEST_CASE("model: a tile that is all there is goes to all multiprocessors, if k is long") {
  for (const auto& [dtype, m, n] : {std::tuple(GGEMM_F32, 32, 32), std::tuple(GGEMM_F32, 8, 8), std::tuple(GGEMM_F64, 32, 32)}) {
    const core::ProblemType type = type_of(dtype, "nt");
    const core::DeviceFacts facts = device(90);
    const Config c = best(select::rank(type, {1, m, n, 1 << 20}, facts));
    REQUIRE(c.slices == core::tail_slices);
    const auto dealt = select::deal_pieces(type, c, 1, (1 << 20) / c.tile_k, facts.multiprocessors, 3);  // by shared memory 3 or 4
    CHECK(dealt.deal.pieces >= static_cast<kernels::u32>(facts.multiprocessors));
  }
}

TEST_CASE("model: tensor cores are preferred where they serve the problem") {
  for (const int capability : {80, 86, 89, 90, 100, 120}) {
    for (const core::ProblemType& type : {type_of(GGEMM_BF16), type_of(GGEMM_F16, "nt"), type_of(GGEMM_I8), type_of(GGEMM_F32, "tn", true)}) {
      INFO(core::dtype_name(type.a) << " on sm_" << capability);
      CHECK(best(select::rank(type, {1, 4096, 4096, 4096}, device(capability))).family == (capability == 90 ? Family::sm90 : Family::sm80));
    }
    // f32 as f64, where that has tensor cores that are fast enough.
    core::ProblemType accurate = type_of(GGEMM_F32);
    for (const std::int64_t size : {200, 512, 1000, 2048, 4096}) CHECK(best(select::rank(accurate, {1, size, size, size}, device(capability))).family == (capability == 90 ? Family::sm80 : Family::simt));
    CHECK(best(select::rank(accurate, {1, 4096, 4096, 64}, device(capability))).family == (capability == 90 ? Family::sm80 : Family::simt));
    CHECK(best(select::rank(accurate, {1, 4096, 4096, 4096}, slow_f64(capability))).family == Family::simt);
    accurate.compute = GGEMM_COMPUTE_F32_ACCURATE;
    for (const std::int64_t size : {1024, 4096}) CHECK(best(select::rank(accurate, {1, size, size, size}, device(capability))).family == (capability == 90 ? Family::sm90 : Family::simt));
    CHECK(best(select::rank(accurate, {1, 512, 512, 512}, device(capability))).family == (capability == 90 ? Family::sm80 : Family::simt));
    CHECK(best(select::rank(accurate, {1, 512, 512, 512}, slow_f64(capability))).family == (capability == 90 ? Family::sm90 : Family::simt));
    for (const std::uint8_t grouped : {core::grouped_call, core::batch_groups}) {
      accurate.grouped = grouped;
      CHECK(best(select::rank(accurate, {8, 512, 512, 512}, device(capability))).family == (capability == 90 ? Family::sm80 : Family::simt));
      CHECK(best(select::rank(accurate, {8, 512, 512, 512}, slow_f64(capability))).family == Family::simt);
    }
  }
}

TEST_CASE("model: raster groups are powers of two from 1 to 16, and no more rows of tiles than twice what there are") {
  for (const core::ProblemType& type : {type_of(GGEMM_BF16), type_of(GGEMM_F64, "nn"), type_of(GGEMM_F32)}) {
    for (const int capability : capabilities) {
      for (const Sizes& sizes : many_sizes()) {
        for (const select::Candidate& c : select::rank(type, sizes, device(capability)).legal) {
          // Of tiles, or of clusters' tiles, down the product (of groups: one with all rows) or the swapped one; 0: not known
          const Config upright = core::upright(c.config);
          const std::int64_t down = c.config.swap ? sizes.n : sizes.groups * sizes.m, height = upright.tile_m * std::max<std::int64_t>(1, upright.cluster_m);
          const std::int64_t rows = down > 0 ? (down + height - 1) / height : 0;
          const int raster = c.config.raster;
          const bool right = raster >= 1 && raster <= 16 && (raster & (raster - 1)) == 0 && (rows == 0 || raster < 2 * rows);
          if (!right) FAIL_CHECK(core::config_name(type, c.config) << " on sm_" << capability << ", " << text(sizes));
        }
      }
    }
  }
  // a large square product has more than one row of tiles walked together
  CHECK(best(select::rank(type_of(GGEMM_BF16), {1, 8192, 8192, 8192}, device(90))).raster > 1);
}

TEST_CASE("model: where it is known how rows are spread over groups, that is what counts") {
  core::ProblemType type = type_of(GGEMM_BF16);
  type.grouped = core::grouped_call;
  const auto of = [&type](const Config& config, int skew) { return select::estimate(type, config, Sizes{32, 4, 4096, 7168, skew}, device(90)); };
  int legal = 0, between = 0, fewer_tiles = 0, small = 0;
  for (const Config& config : select::table(type)) {
    if (select::illegal(type, config, device(90)) || config.family != Family::sm90 || config.large_above) continue;
    const double alike = of(config, core::skew_alike), one = of(config, core::skew_most);
    ++legal;
    between += std::min(alike, one) <= of(config, core::skew_little + 3) * 1.05 && of(config, core::skew_little + 3) <= 1.05 * std::max(alike, one);
    // One group has 128 rows then, so that one part of 32 of B is read; and tiles of few rows are many.
    small += config.tile_m <= 16;
    fewer_tiles += config.tile_m <= 16 && one < alike;
  }
  CHECK((legal > 30 && between == legal));
  CHECK((small > 3 && fewer_tiles == small));
  // Of the other families too: where one group has three quarters of all rows its tiles are many.
  int others = 0, more = 0;
  for (const Config& config : select::table(type)) {
    if (select::illegal(type, config, device(80)) || config.family == Family::sm90 || std::min(config.tile_m, config.tile_n) > 16) continue;
    const auto time = [&](int skew) { return select::estimate(type, config, {128, 16, 4096, 4096, skew}, device(80)); };
    ++others, more += time(core::skew_most - 1) != time(core::skew_alike);
  }
  CHECK((others > 3 && more == others));
  // 128 tokens: four for each of 32 experts, or all for one.
  const auto chosen = [&type](int skew) { return best(select::rank(type, {32, 4, 4096, 7168, skew}, device(90))); };
  CHECK(chosen(core::skew_alike).tile_m <= 32);
  CHECK(chosen(core::skew_most).tile_m >= 64);
  CHECK(best(select::rank(type, {1, 128, 4096, 7168, core::skew_alike}, device(90))).tile_m >= 64);
}

TEST_CASE("model: lines that lie across L2's take longer, and less so where CTAs bring for each other; then such tiles are chosen") {
  const core::ProblemType type = type_of(GGEMM_BF16);
  const auto named = [](const char* name) { return core::parse_config(name).config; };
  const Config alone = named("sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1_r1"), shared = named("sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c2x2_r1");
  // As many steps of k, by lines of 128 bytes and of 64, 32 and 16.
  const auto longer = [&](const Config& config, std::int64_t k) { return select::estimate(type, config, {1, 1280, 320, k}, device(90)) / select::estimate(type, config, {1, 1280, 320, 7040}, device(90)); };
  for (const Config& config : {alone, shared}) {
    CHECK(longer(config, 7008) <= 1);
    CHECK(longer(config, 7024) > 1.02);
    CHECK(longer(config, 7032) > longer(config, 7024));
    CHECK(longer(config, 7035) <= 1);  // read as they are, lines off 16 bytes when packed are padded ones
  }
  CHECK(longer(alone, 7032) > 1.3);
  for (const std::int64_t k : {7024, 7032}) CHECK(select::estimate(type, shared, {1, 1280, 320, k}, device(90)) < select::estimate(type, alone, {1, 1280, 320, k}, device(90)));
  for (const Sizes& sizes : {Sizes{1, 160, 3176, 1976}, {1, 56, 7848, 1656}, {1, 128, 3328, 2808}}) {
    const Config chosen = best(select::rank(type, sizes, device(90)));
    INFO(text(sizes) << ' ' << core::config_name(type, chosen));
    CHECK(chosen.cluster_m * chosen.cluster_n > 1);
  }
}

TEST_CASE("model: copies by threads wait for memory at every step of k, so that few tiles of a long k are the copy engine's") {
  core::ProblemType groups = type_of(GGEMM_BF16);
  groups.grouped = core::grouped_call;
  CHECK(best(select::rank(groups, {4, 85, 4096, 7168, 2}, device(90))).family == core::Family::sm90);
  CHECK(best(select::rank(type_of(GGEMM_I8, "nt"), {1, 16, 2432, 7744}, device(90))).family == core::Family::sm90);
}

TEST_CASE("model: what is written ahead for groups that lie apart counts where they are small") {
  core::ProblemType type = type_of(GGEMM_BF16);
  const auto family = [&](std::uint8_t grouped, const Sizes& sizes) {
    type.grouped = grouped;
    return best(select::rank(type, sizes, device(90))).family;
  };
  const Sizes small{2, 128, 128, 64}, large{2, 2048, 2048, 2048};
  CHECK(family(core::grouped_call | core::apart_groups, small) == core::Family::sm80);
  CHECK(family(core::grouped_call, small) == core::Family::sm90);
  CHECK(family(core::grouped_call | core::apart_groups, large) == core::Family::sm90);
}

// Measured on an H200 (docs/performance.md, "Sizes at random, and thin ones").
TEST_CASE("model: little to read beside few columns or rows is left to few threads") {
  const auto choice = [](const core::ProblemType& type, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {1, m, n, k}, device(90))); };
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_I8, GGEMM_F32}) {
    INFO(core::dtype_name(dtype));
    const Config tiny = choice(type_of(dtype, "tt"), 500, 1, 32);
    CHECK(tiny.family == Family::gemv);
    CHECK(tiny.warps_m * tiny.warps_n == 4);
  }
  // Of thousands of rows small tiles, which are one round; of a million large ones, of which a warp has many rows each (by the model: f64's have a record).
  CHECK(choice(type_of(GGEMM_F64, "tt"), 8000, 8, 8).tile_m == 64);
  CHECK(choice(type_of(GGEMM_F64, "tt"), 1000000, 8, 8).tile_m == 1024);
  CHECK(choice(type_of(GGEMM_BF16, "tn"), 40000, 32, 32).tile_m == 256);
  // Nor are products that are thin no more left to it.
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_I8, GGEMM_F32, GGEMM_F64}) CHECK(choice(type_of(dtype, "tt"), 512, 512, 64).family != Family::gemv);
}

// Measured on an H200 (docs/performance.md, "Small products in batches").
TEST_CASE("model: thousands of small products in a batch go by CTAs of one warp; few, long and large ones do not") {
  const auto choice = [](ggemm_dtype dtype, const char* layout, const select::Sizes& sizes, int capability = 90) {
    core::ProblemType type = type_of(dtype, layout);
    type.grouped = core::grouped_call | core::batch_groups;
    return best(select::rank(type, sizes, device(capability)));
  };
  const auto one_warp = [](const Config& c) { return c.warps_m * c.warps_n == 1; };
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_F16, GGEMM_I8, GGEMM_F32, GGEMM_F64}) {
    INFO(core::dtype_name(dtype));
    CHECK(choice(dtype, "tn", {4096, 16, 16, 16}).tile_m == 16);
    CHECK(choice(dtype, "tn", {4096, 32, 32, 32}).tile_m == 32);
    for (const char* layout : {"tn", "tt", "nn", "nt"}) {
      if (dtype != GGEMM_I8) CHECK(one_warp(choice(dtype, layout, {4096, 16, 16, 16})));
      for (const int capability : {75, 80, 86, 89, 90, 100, 120}) {
        CAPTURE(layout, capability);
        CHECK(choice(dtype, layout, {64, 1024, 1024, 1024}, capability).tile_m >= 64);
        if (capability < 80) continue;  // (there all tiles of CUDA cores wait for each step)
        CHECK(!one_warp(choice(dtype, layout, {1, 16, 16, 16384}, capability)));
        CHECK(!one_warp(choice(dtype, layout, {4, 16, 16, 16384}, capability)));
        CHECK(!one_warp(choice(dtype, layout, {8, 32, 32, 4096}, capability)));
        CHECK(!one_warp(choice(dtype, layout, {1024, 128, 128, 128}, capability)));
      }
    }
  }
}

TEST_CASE("model: small products whose lines lie off 16 bytes do not go by the copy engine's kernels, which would have records and copies made of each") {
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_F16}) {
    core::ProblemType type = type_of(dtype, "nn");
    type.grouped = core::grouped_call | core::batch_groups, type.unreachable = core::operand_a | core::operand_b;
    for (const std::int64_t size : {4, 15, 30}) CHECK(best(select::rank(type, {4096, size, size, size}, device(90))).family != core::Family::sm90);
    CHECK(best(select::rank(type, {1000, 30, 30, 30}, device(90))).family == core::Family::sm80);  // 61 us by sm90's, 13.4 by these
  }
}

TEST_CASE("model: groups are walked as one of them would be that has all rows") {
  for (const ggemm_dtype dtype : {GGEMM_BF16, GGEMM_E4M3, GGEMM_F32}) {
    core::ProblemType type = type_of(dtype);
    type.grouped = core::grouped_call;
    const select::Ranking groups = select::rank(type, {8, 256, 28672, 4096}, device(90)), one = select::rank(type, {1, 2048, 28672, 4096}, device(90));
    std::size_t same = 0;
    for (const select::Candidate& c : groups.legal) same += std::count_if(one.legal.begin(), one.legal.end(), [&](const select::Candidate& other) { return other.config == c.config; });
    CHECK(same == groups.legal.size());
    CHECK(best(groups).raster > 1);
  }
}

TEST_CASE("model: k is cut into slices where D is small and k long, and nowhere else") {
  const auto chosen = [](std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type_of(GGEMM_BF16), {1, m, n, k}, device(90))); };
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{256, 256, 65536}, {128, 128, 65536}, {128, 256, 32768}, {512, 512, 65536}, {256, 256, 16384}, {512, 512, 16384}, {128, 128, 16384}, {384, 384, 32768}}) {
    const Config config = chosen(m, n, k);
    INFO(m << "x" << n << "x" << k);
    CHECK(config.slices > 1);
    // many CTAs, but no more than the device has room for
    const std::int64_t ctas = (m + config.tile_m - 1) / config.tile_m * ((n + config.tile_n - 1) / config.tile_n) * config.cluster_k * config.slices;
    CHECK(ctas > device(90).multiprocessors / 2);
    CHECK(ctas <= device(90).multiprocessors);
  }
  CHECK(chosen(4096, 4096, 4096).slices == 0);
  CHECK(chosen(2048, 2048, 65536).slices <= core::tail_slices);
  // Few slices of a large D are a launch more for little.
  CHECK(chosen(256, 4096, 4096).slices <= core::tail_slices);
  CHECK(chosen(16, 256, 512).slices == 0);
}

TEST_CASE("model: teams take turns at tiles of up to 176 columns where much is stored for what is multiplied, or their waves are fuller; at 128 where the epilogue needs registers") {
  core::ProblemType biased = type_of(GGEMM_BF16);
  biased.bias = GGEMM_BIAS_PER_COLUMN, biased.bias_dtype = GGEMM_BF16, biased.activation = GGEMM_ACTIVATION_GELU_TANH;
  const auto chosen = [](core::ProblemType type, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {1, m, n, k}, device(90))); };
  const core::ProblemType bare = type_of(GGEMM_BF16);
  CHECK(chosen(bare, 4096, 32768, 512).teams == 2);
  CHECK(chosen(bare, 1024, 32768, 512).teams == 2);
  const Config wide = chosen(bare, 2048, 24576, 1536);
  CHECK(wide.teams == 2);
  CHECK(wide.tile_n == 176);
  CHECK(chosen(bare, 4096, 4096, 4096).teams == 0);
  CHECK(chosen(bare, 8192, 8192, 8192).teams == 0);
  // Nor where threads store D's lines.
  CHECK(chosen(bare, 2048, 50256, 768).teams == 2);
  CHECK(chosen(bare, 2048, 50257, 768).teams == 0);
  const Config other = chosen(biased, 2048, 24576, 1536);
  CHECK(other.tile_m * other.tile_n / (32 * other.warps_m * other.warps_n) <= 128);
}

TEST_CASE("model: groups have no teams, which gained nothing in any") {
  for (const char* layout : {"tn", "nt"}) {
    core::ProblemType type = type_of(GGEMM_BF16, layout);
    type.grouped = core::grouped_call;
    // Weight gradients of 8192 tokens, and experts: dsv3, qwen3, mixtral.
    for (const Sizes& s : {Sizes{32, 4096, 7168, 256}, Sizes{32, 7168, 2048, 256}, Sizes{128, 1536, 2048, 64}, Sizes{128, 2048, 768, 64}, Sizes{8, 28672, 4096, 1024}, Sizes{128, 256, 2048, 768}, Sizes{64, 1024, 1024, 1024}}) {
      INFO(layout << ' ' << text(s));
      CHECK(best(select::rank(type, s, device(90))).teams == 0);
    }
  }
}

TEST_CASE("model: k is cut for the tiles that are left over where that shortens the last wave by much, and not where nothing is left over or k is short") {
  const auto chosen = [](std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type_of(GGEMM_BF16), {1, m, n, k}, device(90))); };
  CHECK(best(select::rank(type_of(GGEMM_E4M3), {1, 2048, 2112, 7168}, device(90))).slices == core::tail_slices);
  // For as many tiles as multiprocessors there are tiles, of 64 columns.
  for (const std::int64_t m : {256, 512}) {
    INFO(m << "x2112x7168");
    const Config config = chosen(m, 2112, 7168);
    CHECK((config.tile_m * 4 == m && config.tile_n == 64 && config.slices == 0));
  }
  CHECK(chosen(4096, 4096, 4096).slices == 0);
  CHECK(chosen(2048, 2048, 2048).slices == 0);
  CHECK(chosen(2048, 32768, 512).slices == 0);
  // Two thirds of a wave are left over, which all clusters would share at different places of k: measured slower.
  CHECK(chosen(4096, 2112, 7168).slices == 0);
  // And takes less time than the same tile without; never more but for what it costs that tiles may be cut.
  const core::ProblemType type = type_of(GGEMM_BF16);
  for (const Config& config : select::table(type)) {
    if (config.slices != core::tail_slices) continue;
    Config whole = config;
    whole.slices = 0;
    INFO(core::config_name(type, config));
    for (const Sizes& sizes : {Sizes{1, 2048, 2112, 7168}, {1, 2048, 2048, 2048}, {1, 1000, 3000, 16384}, {1, 1, 1, 0}}) CHECK(select::estimate(type, config, sizes, device(90)) <= 1.1 * select::estimate(type, whole, sizes, device(90)));
    CHECK(select::estimate(type, config, {1, 2048, 2112, 7168}, device(90)) < select::estimate(type, whole, {1, 2048, 2112, 7168}, device(90)));
  }
}

TEST_CASE("model: neighbouring tiles go to one GPC in a round, or two of smaller ones, without clusters; and are walked in blocks that one has") {
  const core::ProblemType type = type_of(GGEMM_BF16);
  const auto config = [](const char* name) { return core::parse_config(name).config; };
  const Config small = config("sm90_bf16_bf16_f32_tn_64x128x64_w4x1_s8_c1x1_r4"), large = config("sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c1x1_r4"), pairs = config("sm90_bf16_bf16_f32_tn_64x128x64_w4x1_s8_c2x1_r4"), slices = config("sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1_k33_r1"), of_simt = config("simt_f32_f32_f32_tn_32x64x32_w2x2_s4_r16");
  const struct {
    const Config& config;
    double down, across;
    bool together;
  } rows[] = {{small, 16, 8, true},   {small, 33, 8, true},  {small, 53, 5, false}, {large, 33, 4, true},   {large, 7, 19, false}, {pairs, 16, 8, false}, {small, 1, 100, false},
              {small, 100, 1, false}, {slices, 2, 1, true}, {slices, 4, 2, true},  {slices, 1, 1, false}, {slices, 3, 3, false}, {of_simt, 4, 4, false}};
  for (const auto& row : rows) {
    INFO(core::config_name(type, row.config) << ", " << row.down << " by " << row.across);
    CHECK(select::neighbours(row.config, row.down, row.across, 132) == row.together);
  }
  const auto raster = [&](const Config& wanted, const Sizes& sizes) {
    for (const select::Candidate& c : select::rank(type, sizes, device(90)).legal)
      if (core::kernel_name(type, c.config) == core::kernel_name(type, wanted)) return static_cast<int>(c.config.raster);
    return 0;
  };
  CHECK(raster(small, {1, 1024, 1024, 1024}) == 4);  // 4 by 4 of 64x128
  CHECK(raster(pairs, {1, 1024, 1024, 1024}) == 8);  // of all that run at one time
  CHECK(raster(small, {1, 4096, 4096, 1024}) == 16);
  // What is read together comes once: of blocks as wide as high sooner than of rows, where lines are whole.
  const auto time = [&](Config c, int rows, std::int64_t k) {
    c.raster = static_cast<std::uint16_t>(rows);
    return select::estimate(type, c, {1, 1088, 1536, k}, device(90));
  };
  CHECK(time(small, 4, 2048) < time(small, 1, 2048));
  CHECK(time(small, 4, 2040) == time(small, 1, 2040));  // lines of no multiple of 64 bytes
  CHECK(time(pairs, 4, 2048) == time(pairs, 1, 2048));
}

TEST_CASE("model: of CTAs that have one thing each those left over are cut where that ends them sooner") {
  const core::ProblemType f64 = type_of(GGEMM_F64), f32 = type_of(GGEMM_F32);
  const auto chosen = [](const core::ProblemType& type, std::int64_t m, std::int64_t n, std::int64_t k) { return best(select::rank(type, {1, m, n, k}, device(90))); };
  // Three quarters of a round are left over; nearly all of one, whose rest is shorter than what pieces cost besides; a quarter of a round at all.
  CHECK(chosen(f64, 4096, 4096, 4096).slices == core::tail_slices);
  CHECK(chosen(f64, 2048, 2048, 2048).slices == 0);
  CHECK(chosen(f32, 128, 512, 784).slices == core::tail_slices);
  CHECK(chosen(f32, 1024, 1024, 1024).slices == 0);
  const auto by_cuda_cores = [](std::int64_t size, const char* layout) { return best(select::rank(type_of(GGEMM_F32, layout), {1, size, size, size}, slow_f64(90))); };
  CHECK(by_cuda_cores(4096, "tn").slices == core::tail_slices);
  CHECK(by_cuda_cores(2048, "tn").slices == 0);
  CHECK(by_cuda_cores(1024, "tn").slices == core::tail_slices);
  // Of this layout the kernel that may cut is slower by more than that brings.
  CHECK(by_cuda_cores(4096, "tt").slices == 0);
  int wrong = 0, cuts = 0, equal = 0, uneven = 0, seen = 0;
  for (const core::ProblemType& type : {f64, f32})
    for (const Config& config : select::table(type)) {
      if (config.family == core::Family::sm90 || config.slices != core::tail_slices) continue;
      ++seen;
      for (const std::int64_t ctas : {1, 3, 8, 132})
        for (std::int64_t tiles = 1; tiles <= 3 * ctas + 1; ++tiles)
          for (const std::int64_t steps : {0, 1, 2, 17, 64, 1000, 1 << 20}) {
            const std::int64_t at_once = ctas % 2 ? 1 : 2;
            const auto [deal, first] = select::deal_pieces(type, config, tiles, steps, ctas / at_once, at_once);
            core::ProblemType off = type;
            off.unreachable = core::operand_a | core::operand_b;
            const auto same = select::deal_pieces(off, config, tiles, steps, ctas / at_once, at_once);
            wrong += same.first != first || same.deal.cut != deal.cut || same.deal.sharers != deal.sharers || deal.sharers < 1;
            const std::int64_t rest = tiles % ctas, pieces = deal.pieces;
            wrong += deal.whole + deal.cut != tiles || (deal.cut != 0 && deal.cut != rest);
            if (deal.cut == 0) continue;
            // As many as workspace is reserved for; and each has a step.
            wrong += pieces < 2 || rest * (pieces - 1) > ctas || first < 1 || first + pieces - 1 > steps;
            ++cuts, ++(first == (steps + pieces - 1) / pieces ? equal : uneven);
          }
    }
  CHECK(wrong == 0);
  CHECK(seen == 22);
  CHECK((cuts > 0 && equal > 0 && uneven > 0));
}

TEST_CASE("model: tiles that are left over are dealt so that every tile is whole or cut, and every sharer has something") {
  const core::ProblemType type = type_of(GGEMM_BF16);
  int cuts = 0, even = 0, rounds = 0, wrong = 0;
  for (const Config& config : select::table(type)) {
    if (config.slices != core::tail_slices) continue;
    for (const std::int64_t clusters : {1, 3, 7, 66, 132})
      for (std::int64_t tiles = 1; tiles <= 3 * clusters + 1; ++tiles)
        for (const std::int64_t steps : {0, 1, 2, 17, 64, 112, 1000, 1 << 20}) {
          const kernels::DepthDeal deal = select::deal_tail(type, config, tiles, steps, clusters);
          const std::int64_t rest = tiles % clusters;
          wrong += deal.whole + deal.cut != tiles || deal.whole % clusters != (deal.cut ? 0 : rest);
          wrong += deal.sharers < 1 || deal.sharers > clusters || (deal.cut && deal.sharers > deal.cut * steps);
          wrong += deal.cut != 0 && deal.cut != rest && deal.cut != rest + clusters;
          cuts += deal.cut > 0, even += deal.cut && deal.sharers % deal.cut == 0, rounds += deal.cut > clusters;
          if (rest == 0 || steps < 17) wrong += deal.cut != 0;
        }
  }
  CHECK(wrong == 0);
  // all ways come
  CHECK(cuts > 0);
  CHECK(even > 0);
  CHECK(even < cuts);
  CHECK(rounds > 0);
}
