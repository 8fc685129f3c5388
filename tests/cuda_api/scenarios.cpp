// SPDX-License-Identifier: Apache-2.0
#include "scenarios.hpp"

#include <cstring>
#include <filesystem>

#include "cuda/driver_api.hpp"
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

// Of lines that tensor maps cannot describe, so that both operands are copied.
void open_copied(Stage& s) {
  open(s);
  s.p.desc.compute = GGEMM_COMPUTE_TF32, s.p.desc.config = "sm90_tf32_tf32_f32_tt_64x64x32_w4x1_s2_c1x1_r1";
}

// Pointers, sizes and a stride in memory: each group has a record, which a launch before writes.
void open_recorded(Stage& s) {
  open(s);
  s.g.desc.compute = GGEMM_COMPUTE_TF32, s.g.desc.config = "sm90_tf32_tf32_f32_tt_64x64x32_w4x1_s3_c1x1_r1";
}

// As calls before have noted that there are operands to copy, and this one knows how much memory they take.
void open_copied_groups(Stage& s) {
  open_recorded(s);
  s.machine.set_copied_bytes(4096);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(s.run_grouped() == GGEMM_OK);
    driver().wait();
  }
  std::memset(s.g.d.data(), 0x5a, s.g.d.size() * sizeof(float));
}

// Three slices of k, whose sums meet in workspace. pad: elements between the lines of A; with some it is copied.
constexpr std::int64_t sliced_side = 8, sliced_k = 96;
void open_sliced(Stage& s, std::int64_t pad = 0) {
  open(s);
  s.ones.assign(sliced_side * (sliced_k + pad), 1.0f), s.large.assign(sliced_side * sliced_side, -1.0f);
  s.p.desc.m = s.p.desc.n = sliced_side, s.p.desc.k = sliced_k;
  s.p.desc.a.row_stride = sliced_k + pad;
  s.p.desc.b.row_stride = 1, s.p.desc.b.col_stride = sliced_k;
  s.p.desc.compute = GGEMM_COMPUTE_TF32, s.p.desc.config = "sm90_tf32_tf32_f32_tn_64x64x32_w4x1_s2_c1x1_k3_r1";
  s.p.args.a = s.p.args.b = s.ones.data(), s.p.args.d = s.large.data();
}
const auto sliced_right = [](const Stage& s) { return s.large == std::vector<float>(s.large.size(), float(sliced_k)); };
const auto sliced_untouched = [](const Stage& s) { return s.large == std::vector<float>(s.large.size(), -1.0f); };

// Prepared before it is captured; then a graph is made of it and run. So is one of a call that failed, which holds a part of it at most: the caller's
// capture must survive that.
void open_captured(Stage& s) {
  open_sliced(s, 1);
  REQUIRE(ggemm_prepare(s.context.get(), &s.plain, 1, nullptr, nullptr) == GGEMM_OK);
  s.stream = std::make_unique<Stream>();
}
void open_captured_groups(Stage& s) {
  open_recorded(s);
  REQUIRE(ggemm_prepare(s.context.get(), &s.grouped, 1, nullptr, nullptr) == GGEMM_OK);
  s.stream = std::make_unique<Stream>();
}
void begin_capture(Stage& s) {
  std::fill(s.large.begin(), s.large.end(), -1.0f);
  std::memset(s.g.d.data(), 0x5a, s.g.d.size() * sizeof(float));
  s.stream->begin(0);
}
void end_capture(Stage& s) {
  CHECK(driver().capture_calls() == 0);
  s.stream->end();
  s.stream->replay();
  s.stream->drop_graph();
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
    {"making a plan that reserves workspace", open_copied, [](Stage& s) { return s.make_plan(); }, always, always},
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
    {"a first plain call of sm90 with copies of operands", open_copied, [](Stage& s) { return s.run_plain(); }, plain_right, plain_untouched},
    {"a first plain call of sm90 that is cut along k", [](Stage& s) { open_sliced(s); }, [](Stage& s) { return s.run_plain(); }, sliced_right,
     sliced_untouched},
    {"a first grouped call of sm90 with records", open_recorded, [](Stage& s) { return s.run_grouped(); }, grouped_right, grouped_untouched},
    {"a grouped call of sm90 with copies of operands", open_copied_groups, [](Stage& s) { return s.run_grouped(); }, grouped_right,
     grouped_untouched},
    {"a captured plain call of sm90 with copies of operands that is cut along k", open_captured, [](Stage& s) { return s.run_plain(); }, sliced_right,
     sliced_untouched, 1, begin_capture, end_capture},
    {"a captured grouped call of sm90 with records", open_captured_groups, [](Stage& s) { return s.run_grouped(); }, grouped_right,
     grouped_untouched, 1, begin_capture, end_capture},
    {"making a plan of sm90 of whose two kernels one is refused",
     [](Stage& s) {
       open_sliced(s);
       s.p.desc.config = nullptr;
       driver().set_spill("_by_engine", 8);
     },
     [](Stage& s) { return s.make_plan(); }, always, always, 7},
    {"making a plan of sm90 that has two kernels", [](Stage& s) { open_sliced(s); }, [](Stage& s) { return s.make_plan(); }, always, always},
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
  driver().set_attribute(0, static_cast<int>(cuda::cu::DeviceAttribute::l2_cache_size), 1 << 18);  // a tuning fills memory of four times that
  machine.set_time("ggemm", 60);  // one launch before all others, one sample a round: a tuning makes the same calls however busy this machine is
  long count = 0;
  {
    Stage stage(machine, folder, nvrtc_path);
    scenario.before(stage);
    if (scenario.begin) scenario.begin(stage);
    const long before = fault.count();
    if (nth > 0) fault.begin(nth);
    const ggemm_status status = scenario.act(stage);
    count = fault.count() - before;
    const long failed = fault.end();
    const std::string text = ggemm_last_error();
    INFO(scenario.name << ": " << (nth > 0 ? fault.name(before + nth - 1) : "nothing") << " fails, number " << nth << " of " << count << "; status "
                       << ggemm_status_string(status) << ": " << text);
    if (scenario.end) scenario.end(stage);
    driver().wait();
    // There may be fewer than last time: maps of memory that has got an address of before are not encoded again.
    if (nth > 0) CHECK((failed > 0 || nth > count));
    CHECK(typed(status));
    if (status == GGEMM_OK)
      CHECK(scenario.right(stage));
    else
      CHECK((scenario.untouched(stage) && !text.empty()));
    if (scenario.begin) scenario.begin(stage);
    const ggemm_status again = scenario.act(stage);
    if (scenario.end) scenario.end(stage);
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
