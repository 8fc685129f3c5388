// SPDX-License-Identifier: Apache-2.0
#include "scenarios.hpp"

#include <filesystem>

#include "fake_nvrtc.hpp"

namespace ggemm::tests {
namespace {

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

void open_on_host(Stage& s) { s.context = host_context(); }

constexpr std::int64_t side = 200;
void open_large_on_host(Stage& s) {
  open_on_host(s);
  s.ones.assign(side * side, 1.0f), s.large.assign(side * side, -1.0f);
  s.p.desc.m = s.p.desc.n = s.p.desc.k = side;
  s.p.args.a = s.p.args.b = s.ones.data(), s.p.args.d = s.large.data();
}

}  // namespace

const std::vector<Scenario> scenarios = {
    {"making a context", [](Stage&) {}, [](Stage& s) { return s.open(), s.status; }, always, always},
    {"a first plain call", open, [](Stage& s) { return s.run_plain(); }, plain_right, plain_untouched},
    {"a warm plain call",
     [](Stage& s) {
       open(s);
       REQUIRE(ggemm_prepare(s.context.get(), &s.plain, 1, nullptr, nullptr) == GGEMM_OK);
     },
     [](Stage& s) { return s.run_plain(); }, plain_right, plain_untouched},
    {"a first plain call of the library's own choice", [](Stage& s) { open(s), s.p.desc.config = nullptr; }, [](Stage& s) { return s.run_plain(); },
     plain_right, plain_untouched},
    {"making a plan", open, [](Stage& s) { return s.make_plan(); }, always, always},
    {"making a plan that reserves workspace",
     [](Stage& s) { open(s), s.p.desc.compute = GGEMM_COMPUTE_TF32, s.p.desc.config = "sm90_tf32_tf32_f32_tt_64x64x32_w4x1_s2_c1x1_r1"; },
     [](Stage& s) { return s.make_plan(); }, always, always},
    {"running a plan",
     [](Stage& s) {
       open(s);
       REQUIRE(s.make_plan() == GGEMM_OK);
     },
     [](Stage& s) { return ggemm_plan_run(s.plan.get(), &s.p.args, nullptr); }, plain_right, plain_untouched},
    {"preparing two problems", open,
     [](Stage& s) {
       const ggemm_problem both[] = {s.plain, s.grouped};
       return ggemm_prepare(s.context.get(), both, 2, nullptr, nullptr);
     },
     always, always},
    {"a first grouped call", open, [](Stage& s) { return s.run_grouped(); }, grouped_right, grouped_untouched},
    {"a warm grouped call",
     [](Stage& s) {
       open(s);
       REQUIRE(ggemm_prepare(s.context.get(), &s.grouped, 1, nullptr, nullptr) == GGEMM_OK);
     },
     [](Stage& s) { return s.run_grouped(); }, grouped_right, grouped_untouched},
    {"describing the device", open,
     [](Stage& s) {
       ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
       return ggemm_context_device(s.context.get(), &info);
     },
     always, always},
};
const std::vector<Scenario> tunings = {
    {"tuning a plain problem", open, [](Stage& s) { return s.tune(s.plain); }, always, always, 211},
    {"tuning a grouped problem", open, [](Stage& s) { return s.tune(s.grouped); }, always, always, 211},
};
const std::vector<Scenario> host_scenarios = {
    {"making a host context", [](Stage&) {}, [](Stage& s) {
       const ggemm_context_options options = host_options();
       ggemm_context* made = nullptr;
       const ggemm_status status = ggemm_context_create(&options, &made);
       s.context.reset(made);
       return status;
     }, always, always},
    {"a first plain call on the host", open_on_host, [](Stage& s) { return s.run_plain(); }, plain_right, plain_untouched},
    {"a first plain call of several threads on the host", open_large_on_host, [](Stage& s) { return s.run_plain(); },
     [](const Stage& s) { return s.large == std::vector<float>(side * side, float(side)); }, [](const Stage& s) { return s.large == std::vector<float>(side * side, -1.0f); }},
    {"a first grouped call on the host", open_on_host, [](Stage& s) { return s.run_grouped(); }, grouped_right, grouped_untouched},
    {"making a plan on the host", open_on_host, [](Stage& s) { return s.make_plan(); }, always, always},
};

namespace {

bool typed(ggemm_status status) {
  return status == GGEMM_OK || status == GGEMM_ERROR_DEVICE || status == GGEMM_ERROR_LAUNCH || status == GGEMM_ERROR_OUT_OF_MEMORY ||
         status == GGEMM_ERROR_COMPILE || status == GGEMM_ERROR_UNSUPPORTED;
}

// Runs a scenario with its nth failure; 0: none. Returns how much could have failed in the act.
long play(const Scenario& scenario, const std::string& folder, const std::string& nvrtc_path, const Fault& fault, long nth) {
  Machine machine;
  machine.set_time("ggemm", 60);  // one launch before all others, one sample a round: a tuning makes the same calls however busy this machine is
  long count = 0;
  {
    Stage stage(folder, nvrtc_path);
    scenario.before(stage);
    const long before = fault.count();
    if (nth > 0) fault.begin(nth);
    const ggemm_status status = scenario.act(stage);
    count = fault.count() - before;
    const long failed = fault.end();
    driver().wait();
    INFO(scenario.name << ": " << (nth > 0 ? fault.name(before + nth - 1) : "nothing") << " fails, number " << nth << " of " << count << "; status "
                       << ggemm_status_string(status) << ": " << ggemm_last_error());
    if (nth > 0) CHECK(failed > 0);
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
  INFO(scenario.name << ": number " << nth << " fails");
  machine.check_clean();
  CHECK(nvrtc().live() == 0);
  return count;
}

}  // namespace

void fail_everywhere(const std::vector<Scenario>& scenarios, const std::vector<Fault>& faults, bool cold) {
  for (const Scenario& scenario : scenarios) {
    const TempFolder kept(Where::memory);
    const auto play_once = [&](const Fault& fault, long nth) {
      if (!cold) return play(scenario, kept.path(), GGEMM_FAKE_NVRTC, fault, nth);
      const TempFolder own(Where::memory);  // a file of another name is another NVRTC
      const std::string link = own / "libnvrtc.so.13";
      std::filesystem::create_symlink(GGEMM_FAKE_NVRTC, link);
      return play(scenario, "", link, fault, nth);
    };
    play_once(faults.front(), 0);
    const long count = play_once(faults.front(), 0);
    for (const Fault& fault : faults)
      for (long nth = 1; nth <= count; nth += nth < 60 ? 1 : scenario.step) play_once(fault, nth);
  }
}

}  // namespace ggemm::tests
