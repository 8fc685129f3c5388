// SPDX-License-Identifier: Apache-2.0
// Every driver call failing once, in each thing that a user does: a typed error or a fallback, no leak, D right or untouched, and the next try works.
#include <functional>

#include "machine.hpp"

namespace ggemm::tests {
namespace {

constexpr const char* plain_config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";
constexpr int out_of_memory = 2, unknown_error = 999;

// What a scenario works on. Made anew for each failure.
struct Stage {
  explicit Stage(const std::string& folder) : folder(folder) {}
  void open() {
    const ggemm_context_options options = cuda_options(folder);
    ggemm_context* made = nullptr;
    status = ggemm_context_create(&options, &made);
    context.reset(made);
  }
  std::string folder;
  ContextPointer context{nullptr, ggemm_context_destroy};
  PlanPointer plan{nullptr, ggemm_plan_destroy};
  PlainProblem<float> p{GGEMM_F32};
  GroupedProblem g;
  ggemm_status status = GGEMM_OK;
  ggemm_problem plain{&p.desc, nullptr}, grouped{nullptr, &g.desc};

  ggemm_status run_plain() { return ggemm_gemm(context.get(), &p.desc, &p.args, nullptr); }
  ggemm_status run_grouped() { return ggemm_grouped_gemm(context.get(), &g.desc, &g.args, nullptr); }
  ggemm_status make_plan() {
    ggemm_plan* made = nullptr;
    const ggemm_status result = ggemm_plan_create(context.get(), &p.desc, &made);
    plan.reset(made);
    return result;
  }
  ggemm_status tune(const ggemm_problem& problem) {
    const char* names[] = {plain_config};
    const std::int64_t sizes[] = {4, 3, 5, 2, 3, 5};
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.budget_seconds = 0.001;
    options.configs = names;
    options.config_count = 1;
    options.sample_sizes = sizes;
    options.sample_groups = problem.grouped ? 2 : 0;
    return ggemm_tune(context.get(), &problem, &options, nullptr);
  }
  bool plain_right() const { return p.d == std::vector<float>(35, 12.0f); }
  bool grouped_right() const { return g.d == std::vector<float>(36, 10.0f); }
};

struct Scenario {
  const char* name;
  std::function<void(Stage&)> before;           // without failures
  std::function<ggemm_status(Stage&)> act;      // may be called again after a failure
  std::function<bool(const Stage&)> right;      // after success
  std::function<bool(const Stage&)> untouched;  // after failure
  long step;                                    // of its calls beyond the first 60, every so many are made to fail
};

const auto always = [](const Stage&) { return true; };
const auto plain_right = [](const Stage& s) { return s.plain_right(); };
const auto plain_untouched = [](const Stage& s) { return s.p.d_untouched(); };
const auto grouped_right = [](const Stage& s) { return s.grouped_right(); };
const auto grouped_untouched = [](const Stage& s) { return s.g.d_untouched(); };

void open(Stage& s) {
  s.open();
  REQUIRE(s.status == GGEMM_OK);
  s.p.desc.config = s.g.desc.config = plain_config;
}

const Scenario scenarios[] = {
    {"making a context", [](Stage&) {}, [](Stage& s) { return s.open(), s.status; }, always, always, 1},
    {"a first plain call", open, [](Stage& s) { return s.run_plain(); }, plain_right, plain_untouched, 1},
    {"a warm plain call",
     [](Stage& s) {
       open(s);
       REQUIRE(ggemm_prepare(s.context.get(), &s.plain, 1, nullptr, nullptr) == GGEMM_OK);
     },
     [](Stage& s) { return s.run_plain(); }, plain_right, plain_untouched, 1},
    {"a first plain call of the library's own choice", [](Stage& s) { open(s), s.p.desc.config = nullptr; }, [](Stage& s) { return s.run_plain(); },
     plain_right, plain_untouched, 1},
    {"making a plan", open, [](Stage& s) { return s.make_plan(); }, always, always, 1},
    {"making a plan that reserves workspace",
     [](Stage& s) { open(s), s.p.desc.compute = GGEMM_COMPUTE_TF32, s.p.desc.config = "sm90_tf32_tf32_f32_tt_64x64x32_w4x1_s2_c1x1_r1"; },
     [](Stage& s) { return s.make_plan(); }, always, always, 1},
    {"running a plan",
     [](Stage& s) {
       open(s);
       REQUIRE(s.make_plan() == GGEMM_OK);
     },
     [](Stage& s) { return ggemm_plan_run(s.plan.get(), &s.p.args, nullptr); }, plain_right, plain_untouched, 1},
    {"preparing two problems", open,
     [](Stage& s) {
       const ggemm_problem both[] = {s.plain, s.grouped};
       return ggemm_prepare(s.context.get(), both, 2, nullptr, nullptr);
     },
     always, always, 1},
    {"a first grouped call", open, [](Stage& s) { return s.run_grouped(); }, grouped_right, grouped_untouched, 1},
    {"a warm grouped call",
     [](Stage& s) {
       open(s);
       REQUIRE(ggemm_prepare(s.context.get(), &s.grouped, 1, nullptr, nullptr) == GGEMM_OK);
     },
     [](Stage& s) { return s.run_grouped(); }, grouped_right, grouped_untouched, 1},
    {"describing the device", open,
     [](Stage& s) {
       ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
       return ggemm_context_device(s.context.get(), &info);
     },
     always, always, 1},
};
const Scenario tunings[] = {
    {"tuning a plain problem", open, [](Stage& s) { return s.tune(s.plain); }, always, always, 211},
    {"tuning a grouped problem", open, [](Stage& s) { return s.tune(s.grouped); }, always, always, 211},
};

bool typed(ggemm_status status) {
  return status == GGEMM_OK || status == GGEMM_ERROR_DEVICE || status == GGEMM_ERROR_LAUNCH || status == GGEMM_ERROR_OUT_OF_MEMORY ||
         status == GGEMM_ERROR_COMPILE || status == GGEMM_ERROR_UNSUPPORTED;
}

// Runs a scenario with its n-th driver call failing; 0: none. Returns how many driver calls the act made.
long play(const Scenario& scenario, const std::string& folder, long nth, int result) {
  Machine machine;
  machine.set_time("ggemm", 60);  // one launch before all others, one sample a round: a tuning makes the same calls however busy this machine is
  long calls = 0;
  {
    Stage stage(folder);
    scenario.before(stage);
    const long before = driver().calls(nullptr);
    if (nth > 0) driver().fail(nullptr, nth, result, 1);
    const ggemm_status status = scenario.act(stage);
    const long failed = driver().clear_failures();
    driver().wait();
    calls = driver().calls(nullptr) - before;
    const char* name = nth > 0 ? driver().call_name(before + nth - 1) : nullptr;
    INFO(scenario.name << ": driver call " << nth << " (" << (name ? name : "none") << ") fails with " << result << "; status "
                       << ggemm_status_string(status) << ": " << ggemm_last_error());
    if (nth > 0) CHECK(failed == 1);
    CHECK(typed(status));
    if (status == GGEMM_OK)
      CHECK(scenario.right(stage));
    else
      CHECK((scenario.untouched(stage) && *ggemm_last_error()));
    const ggemm_status again = scenario.act(stage);
    driver().wait();
    UNSCOPED_INFO("the second try: " << ggemm_status_string(again) << ": " << ggemm_last_error());
    CHECK(again == GGEMM_OK);
    CHECK(scenario.right(stage));
  }
  INFO(scenario.name << ": driver call " << nth << " fails with " << result);
  machine.check_clean();
  return calls;
}

void fail_everywhere(const Scenario& scenario) {
  const TempFolder folder;  // holds the kernels after the first play, so that the failing ones need no compiler
  play(scenario, folder.path(), 0, 0);
  const long calls = play(scenario, folder.path(), 0, 0);
  for (const int result : {out_of_memory, unknown_error})
    for (long nth = 1; nth <= calls; nth += nth < 60 ? 1 : scenario.step) play(scenario, folder.path(), nth, result);
}

}  // namespace

TEST_CASE("Each driver call of each scenario fails once: a typed error or a fallback, no leak, and the next try works") {
  nvrtc_or_skip();
  for (const Scenario& scenario : scenarios) fail_everywhere(scenario);
}

TEST_CASE("The driver calls of a tuning fail once: a typed error or a fallback, no leak, and the next try works", "[slow]") {
  nvrtc_or_skip();
  for (const Scenario& scenario : tunings) fail_everywhere(scenario);
}

TEST_CASE("An allocation that fails is reported as out of memory") {
  nvrtc_or_skip();
  const TempFolder folder;
  Machine machine;
  {
    Stage stage(folder.path());
    open(stage);
    for (const char* function : {"cuMemAllocAsync", "cuMemAlloc"}) driver().fail(function, 1, out_of_memory, -1);
    CHECK(stage.tune(stage.plain) == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(driver().clear_failures() > 0);
    CHECK(stage.tune(stage.plain) == GGEMM_OK);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
