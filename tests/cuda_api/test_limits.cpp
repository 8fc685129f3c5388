// SPDX-License-Identifier: Apache-2.0
// max_ctas: how many CTAs are launched, of which kernel.
#include <algorithm>
#include <atomic>
#include <string_view>
#include <thread>

#include "machine.hpp"

namespace ggemm::tests {
namespace {

// A plain product of 64 tiles of 32 x 32, more than the device has multiprocessors.
struct Many {
  static constexpr std::int64_t m = 256, n = 256, k = 8;
  std::vector<std::uint16_t> a = std::vector<std::uint16_t>(m * k, 0x3c00), b = std::vector<std::uint16_t>(k * n, 0x4000);  // f16 1 and 2
  std::vector<float> d = std::vector<float>(m * n);
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  Many() {
    desc.m = m, desc.n = n, desc.k = k;
    desc.a.dtype = desc.b.dtype = GGEMM_F16, desc.d.dtype = GGEMM_F32;
    desc.b.row_stride = 1, desc.b.col_stride = k;
    args.a = a.data(), args.b = b.data(), args.d = d.data();
    for (auto* memory : {&a, &b}) driver().add_memory(memory->data(), memory->size() * 2);
    driver().add_memory(d.data(), d.size() * 4);
  }
  ~Many() {
    driver().wait();
    for (auto* memory : {&a, &b}) driver().remove_memory(memory->data());
    driver().remove_memory(d.data());
  }
};

}  // namespace

TEST_CASE("A limit of CTAs is the most that are launched, by every family, in whole clusters; the result is the same") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Many p;
    const struct {
      const char* config;
      int max_ctas;
      unsigned ctas;
    } rows[] = {
        {"simt_f16_f16_f32_tn_32x32x16_w2x1_s2_r1", 0, 64},    {"simt_f16_f16_f32_tn_32x32x16_w2x1_s2_r1", 7, 7},
        {"simt_f16_f16_f32_tn_32x32x16_w2x1_s2_r1", 1000, 64}, {"sm80_f16_f16_f32_tn_64x64x64_w2x2_s4_r1", 0, 16},
        {"sm80_f16_f16_f32_tn_64x64x64_w2x2_s4_r1", 5, 5},     {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c1x1_r1", 0, 16},
        {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c1x1_r1", 3, 3}, {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c2x1_r1", 7, 6},
        {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c2x1_r1", 2, 2}, {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c2x1_r1", 100, 16},
        {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c2x1_kt_r1", 0, 16}, {"sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c2x1_kt_r1", 7, 6},
    };
    for (const auto& row : rows) {
      INFO(row.config << " with " << row.max_ctas);
      std::fill(p.d.begin(), p.d.end(), -1.0f);
      p.desc.config = row.config, p.desc.max_ctas = row.max_ctas;
      const std::size_t before = driver().all_launches().size();
      const ggemm_status status = ggemm_gemm(context.get(), &p.desc, &p.args, nullptr);
      INFO(ggemm_last_error());
      REQUIRE(status == GGEMM_OK);
      driver().wait();
      const auto launches = driver().all_launches();
      REQUIRE(launches.size() == before + 1);
      CHECK(launches.back().grid[0] == row.ctas);
      // One CTA at most is told as a cluster where CTAs are dealt by turns: not those of one or two rounds, which the limit makes more of.
      if (std::string_view(row.config).find("_c1x1_") != std::string_view::npos) CHECK(launches.back().cluster == (row.max_ctas > 0));
      const std::string kernel = launches.back().kernel;
      CHECK(kernel.ends_with("_grouped") == (row.max_ctas > 0 && !kernel.starts_with("ggemm_sm90")));
      CHECK(std::count(p.d.begin(), p.d.end(), 16.0f) == Many::m * Many::n);
    }
    p.desc.max_ctas = 1;
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_UNSUPPORTED);
    check_sentence({"c2x1", "max_ctas"});
    p.desc.max_ctas = 64, p.desc.config = "sm90_f16_f16_f32_tn_64x64x64_w4x1_s8_c1x1x4_r1";
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_UNSUPPORTED);
    check_sentence({"along k", "max_ctas"});
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("A limit of CTAs holds for groups and for plans, which tell it, and is part of the choice") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    LogLines log;
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    GroupedProblem p;
    p.desc.config = "simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r2";
    const auto grid = [&] {
      driver().wait();
      return driver().all_launches().back().grid[0];
    };
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    const unsigned all = grid();
    CHECK(all > 5);
    p.desc.max_ctas = 5;
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    CHECK(grid() == 5);
    for (const float value : p.d) CHECK(value == 10.0f);
    p.desc.max_ctas = 4;
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create_grouped(context.get(), &p.desc, &plan) == GGEMM_OK);
    char text[1000];
    REQUIRE(ggemm_plan_explain(plan, text, sizeof text, nullptr) == GGEMM_OK);
    CHECK(std::string(text).find("CTAs: 4 at most\n") != std::string::npos);
    REQUIRE(ggemm_plan_run_grouped(plan, &p.args, nullptr) == GGEMM_OK);
    CHECK(grid() == 4);
    ggemm_plan_destroy(plan);
    CHECK(log.count("compiled ") == 1);  // one binary for all limits
    // What is chosen freely is legal within the limit: no cluster is larger.
    PlainProblem<float> plain(GGEMM_F32);
    plain.desc.max_ctas = 1, plain.desc.compute = GGEMM_COMPUTE_TF32;
    CHECK(call_and_wait(context, plain) == GGEMM_OK);
    CHECK(grid() == 1);
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Configurations are enumerated for each problem, however calls for several take turns") {
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    Many few, many, other;
    few.desc.max_ctas = 1, other.desc.m = 32;
    const auto names = [&](const Many& p) {
      const ggemm_problem problem{&p.desc, nullptr};
      std::size_t count = 0;
      REQUIRE(ggemm_config_count(context.get(), &problem, &count) == GGEMM_OK);
      std::vector<std::string> out;
      for (std::size_t i = 0; i < count; ++i) {
        ggemm_config config = GGEMM_CONFIG_INIT;
        REQUIRE(ggemm_config_get(context.get(), &problem, i, &config) == GGEMM_OK);
        out.push_back(config.name);
      }
      return out;
    };
    const std::vector<std::string> of_few = names(few), of_many = names(many), of_other = names(other);
    CHECK(of_few.size() < of_many.size());
    CHECK((of_other.size() == of_many.size() && of_other != of_many));
    for (std::size_t i = 0; i < of_few.size(); ++i)
      for (const auto& [p, expected] : {std::pair{&few, &of_few}, {&many, &of_many}, {&other, &of_other}}) {
        const ggemm_problem problem{&p->desc, nullptr};
        ggemm_config config = GGEMM_CONFIG_INIT;
        REQUIRE(ggemm_config_get(context.get(), &problem, i, &config) == GGEMM_OK);
        CHECK(config.name == (*expected)[i]);
      }
    // And of several threads, whose lists take each other's place.
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (const auto& [p, expected] : {std::pair{&few, &of_few}, {&many, &of_many}, {&other, &of_other}})
      threads.emplace_back([&wrong, p = p, expected = expected, c = context.get()] {
        const ggemm_problem problem{&p->desc, nullptr};
        ggemm_config config = GGEMM_CONFIG_INIT;
        for (std::size_t i = 0; i < 20; ++i)
          if (ggemm_config_get(c, &problem, i, &config) != GGEMM_OK || config.name != (*expected)[i]) ++wrong;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
