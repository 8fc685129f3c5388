// SPDX-License-Identifier: Apache-2.0
// The calls that compute: one-call forms and plans.
#include <cstdio>

#include "api/guard.hpp"

namespace ggemm::api {
namespace {

// Of a description, ahead of its calls.
template <class Problem, class Desc>
Request request_ahead(const Problem& problem, const Desc& desc) {
  Request request = request_for(problem, desc.config, desc.tune_key);
  request.may_be_by_engine = core::may_be_by_engine(problem);
  if constexpr (std::is_same_v<Problem, core::GroupedProblem>) request.may_have_lines = core::may_have_lines(problem);
  return request;
}

template <class Desc>
ggemm_plan* make_plan(ggemm_context* context, const Desc* desc) {
  Engine& engine = required(context, "context").engine;
  const Desc d = import(desc, "desc");
  const auto problem = core::check_problem(d);
  const Request request = request_ahead(problem, d);
  return new ggemm_plan{engine, problem, engine.choose_ahead(request, engine.threads() > 1), select::record_key(request.key, d.tune_key, engine.facts_for(request))};
}

template <class Problem>
const Problem& problem_of(const ggemm_plan& plan) {
  const auto* problem = std::get_if<Problem>(&plan.problem);
  if (!problem) core::fail(GGEMM_ERROR_ARGUMENT, "plan is of a %s problem", std::holds_alternative<core::Problem>(plan.problem) ? "plain" : "grouped");
  return *problem;
}

const core::ProblemType& type_of(const ggemm_plan& plan) {
  return std::visit([](const auto& problem) -> const core::ProblemType& { return problem.type; }, plan.problem);
}

std::string sizes_text(const core::Problem& p) { return core::text("plain, m %lld, n %lld, k %lld", static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k)); }
std::string sizes_text(const core::GroupedProblem& p) {
  return core::text("grouped (%s), %lld groups, expected m %lld (of the largest %lld), n %lld, k %lld (0: not known)", core::form_name(p.form), static_cast<long long>(p.groups), static_cast<long long>(p.expected_m), static_cast<long long>(p.expected_largest_m), static_cast<long long>(p.expected_n), static_cast<long long>(p.expected_k));
}

std::string explain(const ggemm_plan& plan) {
  const core::ProblemType& t = type_of(plan);
  std::string out = "problem: " + std::visit([](const auto& p) { return sizes_text(p); }, plan.problem) + "\n";
  if (t.transposed) out += "transposed: D is contiguous along m, so that D' = B' A' is computed, of which all here is said\n";
  out += core::text("types: A %s, B %s, sums %s, C %s, D %s", core::dtype_name(t.a), core::dtype_name(t.b), core::sum_name(t.sum), core::dtype_name(t.c), core::dtype_name(t.d));
  out += core::text("; activation %s; bias %s\n", core::activation_name(t.activation), t.bias == GGEMM_BIAS_NONE ? "none" : t.bias == GGEMM_BIAS_PER_COLUMN ? "per column" : "per row");
  if (t.scale_a || t.scale_b) out += core::text("scales: A %s, B %s\n", core::scale_name(t.scale_a), core::scale_name(t.scale_b));
  if (t.gate) out += core::text("gated pairs: %s\n", core::gate_name(t.gate));
  if (const int most = std::visit([](const auto& p) { return p.max_ctas; }, plan.problem)) out += core::text("CTAs: %d at most\n", most);
  out += "device: " + plan.engine.facts().name + "\n";
  const Choice& choice = *plan.prepared.any;
  out += "configuration: " + core::config_name(t, choice.config) + " (" + choice.origin + ")\n";
  const auto tell = [&](const char* name, const cuda::Kernel& kernel) {
    out += core::text("%s: %d threads, %d registers a thread, %d bytes of shared memory, %d CTAs a multiprocessor\n", name, kernel.threads, kernel.registers, kernel.dynamic_shared, kernel.ctas_per_multiprocessor);
  };
  if (choice.kernel) tell("kernel", *choice.kernel);
  if (const Choice* other = plan.prepared.by_engine.get(); other && other->kernel != choice.kernel) tell("where C is not read and all is aligned", *other->kernel);
  if (const Choice* other = plan.prepared.lines.get(); other && other->kernel != choice.kernel) tell("where lines of D are off 16 bytes", *other->kernel);
  if (choice.large) {
    out += "larger groups: " + core::config_name(t, choice.large_config) + "\n";
    tell("their kernel", *choice.large);
  }
  return out + "tuning key: " + plan.record_key + "\n";
}

}  // namespace

ImportedProblem import_problem(const ggemm_problem* problem) {
  const ggemm_problem& p = required(problem, "problem");
  if ((p.gemm == nullptr) == (p.grouped == nullptr)) core::fail(GGEMM_ERROR_ARGUMENT, "problem.gemm=%p, problem.grouped=%p: exactly one must be set", static_cast<const void*>(p.gemm), static_cast<const void*>(p.grouped));
  const auto imported = [](const auto& desc) {
    const auto checked = core::check_problem(desc);
    return ImportedProblem{checked, request_ahead(checked, desc)};
  };
  return p.gemm ? imported(import(p.gemm, "problem.gemm")) : imported(import(p.grouped, "problem.grouped"));
}

}  // namespace ggemm::api

using namespace ggemm;

extern "C" {

ggemm_status ggemm_gemm(ggemm_context* context, const ggemm_gemm_desc* desc, const ggemm_gemm_args* args, void* stream) {
  return api::guard([&] {
    Engine& engine = api::required(context, "context").engine;
    ggemm_gemm_desc own_desc;
    ggemm_gemm_args own_args;
    const ggemm_gemm_desc& d = api::view(desc, "desc", own_desc);
    core::Problem problem = core::check_problem(d);
    const kernels::GemmParams params = core::bind(problem, api::view(args, "args", own_args));
    problem.m = params.m, problem.n = params.n, problem.k = params.k;
    problem.type.unreachable = core::unreachable_operands(problem.type, params), problem.type.by_engine = core::by_engine(problem.type, params);
    engine.call(request_for(problem, d.config, d.tune_key), params, stream);
  });
}

ggemm_status ggemm_grouped_gemm(ggemm_context* context, const ggemm_grouped_desc* desc, const ggemm_grouped_args* args, void* stream) {
  return api::guard([&] {
    Engine& engine = api::required(context, "context").engine;
    ggemm_grouped_desc own_desc;
    ggemm_grouped_args own_args;
    const ggemm_grouped_desc& d = api::view(desc, "desc", own_desc);
    core::GroupedProblem problem = core::check_problem(d);
    const kernels::GroupedParams params = core::bind(problem, api::view(args, "args", own_args));
    problem.type.by_engine = core::by_engine(problem.type, params);
    engine.call(request_for(problem, d.config, d.tune_key), params, stream);
  });
}

ggemm_status ggemm_plan_create(ggemm_context* context, const ggemm_gemm_desc* desc, ggemm_plan** out_plan) {
  return api::guard([&] {
    api::required(out_plan, "out_plan") = nullptr;
    *out_plan = api::make_plan(context, desc);
  });
}

ggemm_status ggemm_plan_create_grouped(ggemm_context* context, const ggemm_grouped_desc* desc, ggemm_plan** out_plan) {
  return api::guard([&] {
    api::required(out_plan, "out_plan") = nullptr;
    *out_plan = api::make_plan(context, desc);
  });
}

ggemm_status ggemm_plan_run(const ggemm_plan* plan, const ggemm_gemm_args* args, void* stream) {
  return api::guard([&] {
    const ggemm_plan& p = api::required(plan, "plan");
    const core::Problem& problem = api::problem_of<core::Problem>(p);
    ggemm_gemm_args own_args;
    p.engine.run_plan(p.prepared, problem, core::bind(problem, api::view(args, "args", own_args)), stream);
  });
}

ggemm_status ggemm_plan_run_grouped(const ggemm_plan* plan, const ggemm_grouped_args* args, void* stream) {
  return api::guard([&] {
    const ggemm_plan& p = api::required(plan, "plan");
    const core::GroupedProblem& problem = api::problem_of<core::GroupedProblem>(p);
    ggemm_grouped_args own_args;
    p.engine.run_plan(p.prepared, problem, core::bind(problem, api::view(args, "args", own_args)), stream);
  });
}

ggemm_status ggemm_plan_explain(const ggemm_plan* plan, char* buffer, size_t size, size_t* out_size) {
  return api::guard([&] {
    const std::string text = api::explain(api::required(plan, "plan"));
    if (size) std::snprintf(&api::required(buffer, "buffer"), size, "%s", text.c_str());
    if (out_size) *out_size = text.size() + 1;
  });
}

ggemm_status ggemm_plan_config(const ggemm_plan* plan, ggemm_config* out_config) {
  return api::guard([&] {
    const ggemm_plan& p = api::required(plan, "plan");
    api::put(out_config, api::to_public(api::type_of(p), p.prepared.any->config), "out_config");
  });
}

void ggemm_plan_destroy(ggemm_plan* plan) { delete plan; }

}  // extern "C"
