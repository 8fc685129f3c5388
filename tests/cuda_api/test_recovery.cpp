// SPDX-License-Identifier: Apache-2.0
// What a call, a plan or a tuning leaves behind that failed, or that found memory short: nothing that keeps others from what they need.
#include "cuda/workspace.hpp"
#include "fake_nvrtc.hpp"
#include "operands.hpp"

namespace ggemm::tests {
namespace {

constexpr std::size_t megabyte = std::size_t(1) << 20;

ggemm_status tune(ggemm_context* context, const ggemm_problem& problem, const char* config, const std::vector<std::int64_t>& sample = {}) {
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.configs = &config, options.config_count = 1, options.budget_seconds = 0.01;
  if (!sample.empty()) options.sample_sizes = sample.data(), options.sample_groups = static_cast<std::int64_t>(sample.size() / 3);
  return ggemm_tune(context, &problem, &options, nullptr);
}

std::string explained(const ContextPointer& context, const ggemm_gemm_desc& desc) {
  ggemm_plan* plan = nullptr;
  REQUIRE(ggemm_plan_create(context.get(), &desc, &plan) == GGEMM_OK);
  std::string text(2000, '\0');
  CHECK(ggemm_plan_explain(plan, text.data(), text.size(), nullptr) == GGEMM_OK);
  ggemm_plan_destroy(plan);
  return text;
}

}  // namespace

TEST_CASE("A plan whose workspace there is no memory for keeps no other from its own, nor takes what was reserved") {
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(fake_nvrtc_options(no_folder));
    driver().set_memory_limit(0, 64 * megabyte);
    const auto plan_of = [&](std::int64_t m) {
      ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
      desc.m = m, desc.n = 128, desc.k = 511;  // rows that are copied first
      desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
      desc.b.row_stride = 1, desc.b.col_stride = 512;
      desc.config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_r1";
      ggemm_plan* plan = nullptr;
      const ggemm_status status = ggemm_plan_create(context.get(), &desc, &plan);
      ggemm_plan_destroy(plan);
      return status;
    };
    CHECK(plan_of(64) == GGEMM_OK);
    const long reserved = driver().live("allocation");
    CHECK(plan_of(1 << 20) == GGEMM_ERROR_OUT_OF_MEMORY);
    driver().wait();
    CHECK(driver().live("allocation") == reserved);
    CHECK(plan_of(64) == GGEMM_OK);
    CHECK(plan_of(128) == GGEMM_OK);
  }
  machine.check_clean();
}

TEST_CASE("Workspace grows by half where there is memory for that, and by what is needed where there is not") {
  Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    cuda::Workspace workspace;
    driver().set_memory_limit(0, 95 * megabyte);
    CHECK(workspace.get(device, nullptr, 40 * megabyte).bytes >= 40 * megabyte);
    CHECK(workspace.get(device, nullptr, 45 * megabyte).bytes >= 45 * megabyte);  // while the 40 are still there
    driver().wait();
  }
  machine.check_clean();
}

TEST_CASE("A tuning leaves no memory behind") {
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(fake_nvrtc_options(no_folder));
    const Bytes p;
    long left = -1;
    for (int i = 0; i < 3; ++i) {
      CHECK(tune(context.get(), {&p.desc, nullptr}, "sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_k4_r1") == GGEMM_OK);
      driver().wait();
      if (i > 0) CHECK(driver().live("allocation") == left);
      left = driver().live("allocation");
    }
  }
  machine.check_clean();
}

TEST_CASE("A tuning looks at groups that have elements, wherever they are among empty ones") {
  Machine machine;
  driver().set_answer(nullptr, nullptr);  // kernels that store nothing
  {
    const std::string no_folder;
    const ContextPointer context = make_context(fake_nvrtc_options(no_folder));
    const GroupedProblem p;
    for (const std::int64_t first : {0, 64}) {
      std::vector<std::int64_t> sample;
      for (int g = 0; g < 32; ++g) sample.insert(sample.end(), {g % 2 ? 64 - first : first, 64, 64});
      CHECK(tune(context.get(), {nullptr, &p.desc}, "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1", sample) == GGEMM_ERROR_UNSUPPORTED);
      check_sentence({"wrong result"});
    }
  }
  machine.check_clean();
}

TEST_CASE("A binary in the disk cache that the driver refuses is compiled anew, once") {
  Machine machine;
  const TempFolder folder;
  for (const bool refused : {false, true, false}) {
    LogLines log;
    {
      const ContextPointer context = make_context(fake_nvrtc_options(folder.path(), &log, GGEMM_LOG_DEBUG));
      PlainProblem<float> p(GGEMM_F32);
      p.desc.config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";
      constexpr int no_binary_for_gpu = 209;
      if (refused) driver().fail("cuModuleLoadData", 1, no_binary_for_gpu, 1);
      CHECK(call_and_wait(context, p) == GGEMM_OK);
      CHECK(log.count("the disk cache's binary is refused, and compiled anew") == (refused ? 1 : 0));
    }
    driver().clear_failures();
    machine.check_clean();
  }
}

TEST_CASE("A binary in the disk cache is not compiled anew where the driver fails otherwise") {
  Machine machine;
  const TempFolder folder;
  for (const bool fails : {false, true}) {
    {
      const ContextPointer context = make_context(fake_nvrtc_options(folder.path()));
      PlainProblem<float> p(GGEMM_F32);
      p.desc.config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";
      constexpr int illegal_address = 700;
      const long compiled = nvrtc().calls();
      if (fails) driver().fail("cuModuleLoadData", 1, illegal_address, 1);
      CHECK(call_and_wait(context, p) == (fails ? GGEMM_ERROR_LAUNCH : GGEMM_OK));
      if (fails) CHECK(nvrtc().calls() == compiled);
    }
    driver().clear_failures();
    machine.check_clean();
  }
}

TEST_CASE("A record of one kind of calls is none of those for which other configurations are legal") {
  Machine machine;
  const TempFolder folder;
  {
    LogLines log;
    const ContextPointer context = make_context(fake_nvrtc_options(folder.path(), &log, GGEMM_LOG_WARNING));
    Bytes p;
    REQUIRE(tune(context.get(), {&p.desc, nullptr}, "sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_k4_r1") == GGEMM_OK);
    p.desc.max_ctas = 1000;  // more than there are
    CHECK(explained(context, p.desc).find("(tuned)") == std::string::npos);
    REQUIRE(tune(context.get(), {&p.desc, nullptr}, "simt_i8_i8_i32_tn_32x32x16_w2x1_s2_r1") == GGEMM_OK);
    CHECK(explained(context, p.desc).find("simt_i8_i8_i32_tn_32x32x16_w2x1_s2_r1 (tuned)") != std::string::npos);
    p.desc.max_ctas = 0;
    CHECK(explained(context, p.desc).find("_k4_r1 (tuned)") != std::string::npos);

    Ones groups("");
    groups.desc.config = nullptr;
    REQUIRE(tune(context.get(), {nullptr, &groups.desc}, "sm90_i8_i8_i32_tn_16x128x128_w1x8_s8_c1x1_kt_swap_r1") == GGEMM_OK);
    alignas(16) std::int32_t status[4];
    groups.desc.checked = 1, groups.args.status = status;
    groups.run(context);
    CHECK(log.lines.empty());
  }
  machine.check_clean();
}

TEST_CASE("A plan's call that its kernel cannot serve is chosen by the plan's own key") {
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(fake_nvrtc_options(no_folder));
    Bytes p(nullptr, 1);  // A begins off 16 bytes, which only a call shows, or a description by its strides
    p.desc.tune_key = "mine";
    ggemm_gemm_desc odd = p.desc;
    odd.a.row_stride = Bytes::k + 1;
    REQUIRE(tune(context.get(), {&odd, nullptr}, "simt_i8_i8_i32_tn_32x32x16_w2x1_s2_r1") == GGEMM_OK);
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_OK);
    CHECK(ggemm_plan_run(plan, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(std::string(driver().all_launches().back().kernel).starts_with("ggemm_simt_i8_i8_i32_tn_32x32x16_w2x1_s2_"));
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
