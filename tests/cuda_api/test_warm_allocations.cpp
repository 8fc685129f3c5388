// SPDX-License-Identifier: Apache-2.0
// A warm call and a plan's run take nothing from the heap on a CUDA device, whatever they launch.
#include "fake_nvrtc.hpp"
#include "operands.hpp"
#include "support/allocations.hpp"

namespace ggemm::tests {
namespace {

constexpr const char* tune_key = "a key of the caller's own, longer than any text that a string holds within itself";

ggemm_status make_plan(ggemm_context* context, const ggemm_gemm_desc& desc, ggemm_plan** out) { return ggemm_plan_create(context, &desc, out); }
ggemm_status make_plan(ggemm_context* context, const ggemm_grouped_desc& desc, ggemm_plan** out) { return ggemm_plan_create_grouped(context, &desc, out); }
ggemm_status run(ggemm_context* context, const ggemm_gemm_desc& desc, const ggemm_gemm_args& args) { return ggemm_gemm(context, &desc, &args, nullptr); }
ggemm_status run(ggemm_context* context, const ggemm_grouped_desc& desc, const ggemm_grouped_args& args) { return ggemm_grouped_gemm(context, &desc, &args, nullptr); }
ggemm_status run(const ggemm_plan* plan, const ggemm_gemm_args& args) { return ggemm_plan_run(plan, &args, nullptr); }
ggemm_status run(const ggemm_plan* plan, const ggemm_grouped_args& args) { return ggemm_plan_run_grouped(plan, &args, nullptr); }

// The call, with a tuning key and without, and a plan of it, each with `launches` launches.
template <class Problem>
void check_takes_nothing(const char* config, Problem& p, long launches) {
  INFO((config ? config : "the library's own choice"));
  const std::string no_folder;
  const ContextPointer context = make_context(fake_nvrtc_options(no_folder));
  p.desc.config = config;
  for (const char* key : {static_cast<const char*>(nullptr), tune_key}) {
    p.desc.tune_key = key;
    const long before = driver().launches();
    CHECK(taken_by([&] { return run(context.get(), p.desc, p.args); }) == 0);
    INFO(ggemm_last_error());
    CHECK(driver().launches() - before == 13 * launches);
  }
  ggemm_plan* raw = nullptr;
  REQUIRE(make_plan(context.get(), p.desc, &raw) == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  const long before = driver().launches();
  CHECK(taken_by([&] { return run(raw, p.args); }) == 0);
  CHECK(driver().launches() - before == 13 * launches);
  driver().wait();
}

}  // namespace

TEST_CASE("A warm plain call on a CUDA device, and a plan's run, allocate nothing") {
  Machine machine;
  leave_out_allocations(driver().inside, nullptr);
  PlainProblem<float> p(GGEMM_F32);
  check_takes_nothing(nullptr, p, 1);
  check_takes_nothing("simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1", p, 1);
  Bytes aligned, off(nullptr, 1);
  check_takes_nothing(nullptr, aligned, 1);
  check_takes_nothing("sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1_r2", aligned, 1);
  check_takes_nothing("sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c2x1_k3_r1", aligned, 2);
  check_takes_nothing("sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1_r2", off, 2);  // copied to workspace first
  leave_out_allocations(nullptr, nullptr);
  CHECK(machine.faults() == "");
  machine.check_clean();
}

TEST_CASE("A warm grouped call on a CUDA device, and a plan's run, allocate nothing") {
  Machine machine;
  leave_out_allocations(driver().inside, nullptr);
  GroupedProblem p;
  check_takes_nothing("simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1", p, 1);
  Ones uniform(nullptr), apart(nullptr, Ones::no_line);
  check_takes_nothing("sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_r1", uniform, 1);
  check_takes_nothing("sm90_i8_i8_i32_tn_64x64x128_w4x1_s8_c1x1_r1", apart, 2);  // records first
  check_takes_nothing("sm90_i8_i8_i32_tn_32x128x128_w1x8_s8_c1x1_m64_swap_r2", uniform, 2);  // two kernels
  std::int32_t status[4] = {};
  apart.desc.checked = 1, apart.args.status = status;
  check_takes_nothing("simt_i8_i8_i32_tn_64x64x16_w2x2_s2_r1", apart, 2);  // checked first
  leave_out_allocations(nullptr, nullptr);
  CHECK(machine.faults() == "");
  machine.check_clean();
}

}  // namespace ggemm::tests
