// SPDX-License-Identifier: Apache-2.0
// The things that a user does, each of which is tried with something failing at every place in turn.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "machine.hpp"

namespace ggemm::tests {

constexpr const char* plain_config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";

// What a scenario works on. Made anew for each failure.
struct Stage {
  Stage(Machine& machine, const std::string& folder, const std::string& nvrtc_path) : machine(machine), folder(folder), nvrtc_path(nvrtc_path) {}
  void open() {
    ggemm_context_options options = cuda_options(folder);
    options.nvrtc_path = nvrtc_path.c_str();
    options.log = [](void*, ggemm_log_level, const char*) {}, options.log_level = GGEMM_LOG_DEBUG;  // what is told must not fail either
    ggemm_context* made = nullptr;
    status = ggemm_context_create(&options, &made);
    context.reset(made);
  }
  Machine& machine;
  std::string folder, nvrtc_path;
  std::unique_ptr<Stream> stream;  // for what is captured
  ContextPointer context{nullptr, ggemm_context_destroy};
  PlanPointer plan{nullptr, ggemm_plan_destroy};
  PlainProblem<float> p{GGEMM_F32};
  std::vector<float> ones, large;  // of a product of another size than p's: what it reads, and D
  GroupedProblem g;
  ggemm_status status = GGEMM_OK;
  ggemm_problem plain{&p.desc, nullptr}, grouped{nullptr, &g.desc};

  ggemm_status run_plain() { return ggemm_gemm(context.get(), &p.desc, &p.args, stream ? stream->get() : nullptr); }
  ggemm_status run_grouped() { return ggemm_grouped_gemm(context.get(), &g.desc, &g.args, stream ? stream->get() : nullptr); }
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
  long step = 1;                                // of its calls beyond the first 60, every so many are made to fail
  std::function<void(Stage&)> begin{}, end{};   // if there are any: around each act, without failures; `end` comes before anyone looks at D
};

extern const std::vector<Scenario> scenarios, tunings, host_scenarios;

// What fails: counts what could, and lets one of it fail.
struct Fault {
  std::function<long()> count;
  std::function<void(long nth)> begin;  // the nth from now on
  std::function<long()> end;            // answers how many failed
  std::function<std::string(long index)> name;
};

// Plays each scenario with each of what could fail failing, once for each fault: a typed error or a fallback, no leak, D right or untouched, and the next try works.
// cold: nothing is on disk, and NVRTC is loaded anew; else all kernels are on disk.
void fail_everywhere(const std::vector<Scenario>& scenarios, const std::vector<Fault>& faults, bool cold);

}  // namespace ggemm::tests
