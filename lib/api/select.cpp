// SPDX-License-Identifier: Apache-2.0
// Configurations, prepare, tune.
#include <algorithm>
#include <cstring>

#include "api/guard.hpp"

namespace ggemm::api {
namespace {

select::TuneProgress tune_progress(const ggemm_tune_options& options, const core::ProblemType& type, const double& flops) {
  if (!options.function) return nullptr;
  return [&options, &type, &flops](std::size_t index, std::size_t total, const select::TuneRow& row) {
    const std::string name = core::config_name(type, row.config);
    const ggemm_tune_row out{sizeof(ggemm_tune_row), index, total, name.c_str(), row.microseconds, row.microseconds > 0 ? flops / row.microseconds * 1e-6 : 0, row.rejected.empty() ? nullptr : row.rejected.c_str()};
    return options.function(options.user, &out) == 0;
  };
}

// A size that the description has for each group alike; 0, which is the default, where it has none.
std::int64_t described(const kernels::Source& size) { return size.kind == GGEMM_SOURCE_CONST ? size.value : 0; }

// A group that the caller wants tuned must be one that calls of the description can have, as the record will be theirs.
void check_sample(const core::GroupedProblem& p, std::size_t group, const int64_t* sizes) {
  const auto ll = [](std::int64_t value) { return static_cast<long long>(value); };
  const kernels::Source* const sources[] = {&p.m, &p.n, &p.k};
  const char* const names[] = {p.form == GGEMM_GROUPS_MASKED ? "counts" : "m", "n", "k"};
  for (int j = 0; j < 3; ++j) {
    if (sizes[j] < 0) core::fail(GGEMM_ERROR_ARGUMENT, "options.sample_sizes[%zu][%d]=%lld: sizes must be 0 or more", group, j, ll(sizes[j]));
    const std::int64_t all = described(*sources[j]);
    const bool empty = sizes[0] == 0 || sizes[1] == 0;  // its other sizes mean nothing
    if (all && !empty && sizes[j] != all) core::fail(GGEMM_ERROR_ARGUMENT, "options.sample_sizes[%zu][%d]=%lld with %s=%lld: the description's groups have no other", group, j, ll(sizes[j]), names[j], ll(all));
  }
  if (p.type.gate && sizes[1] % 2)
    core::fail(GGEMM_ERROR_ARGUMENT, "options.sample_sizes[%zu][1]=%lld with epilogue.gate=%s: columns in pairs must be even in number", group, ll(sizes[1]), core::gate_name(p.type.gate));
}

// Groups of the mean sizes, but of what the description knows. A mean of paired columns may well be odd.
std::vector<select::Sizes> expected_sample(const core::GroupedProblem& p) {
  const auto size = [](const kernels::Source& source, std::int64_t expected) { return described(source) ? described(source) : expected; };
  const std::int64_t m = size(p.m, p.expected_m), n = size(p.n, p.expected_n), k = size(p.k, p.expected_k);
  if (m == 0 || n == 0 || k == 0) return {};
  return select::sample_of({core::groups_with_rows(p), m, p.type.gate ? std::max<std::int64_t>(2, n - n % 2) : n, k}, described(p.m) ? m : p.expected_largest_m);
}

// Of the product as it is computed, of options that speak of the one described.
std::vector<select::Sizes> sample_sizes(const ggemm_tune_options& options, const core::GroupedProblem& p) {
  std::vector<select::Sizes> out;
  if (p.type.transposed) {
    out = sample_sizes(options, core::transposed(p));
    for (select::Sizes& size : out) std::swap(size.m, size.n);
    return out;
  }
  if (p.groups == 0) core::fail(GGEMM_ERROR_ARGUMENT, "groups=0: there is nothing to tune");
  if (options.sample_groups && !options.sample_sizes) core::fail(GGEMM_ERROR_ARGUMENT, "options.sample_sizes is NULL with sample_groups=%zu", options.sample_groups);
  if (options.sample_sizes && !options.sample_groups) core::fail(GGEMM_ERROR_ARGUMENT, "options.sample_groups=0 with sample_sizes: there is nothing to tune");
  if (options.sample_sizes) {
    for (std::size_t i = 0; i < options.sample_groups; ++i) {
      const int64_t* s = options.sample_sizes + 3 * i;
      check_sample(p, i, s);
      out.push_back({1, s[0], s[1], s[2]});
    }
    // A batch's groups are alike, and none of those that have elements is without.
    if (p.type.grouped & core::batch_groups) {
      std::erase_if(out, [](const select::Sizes& size) { return size.m == 0 || size.n == 0; });
      for (const select::Sizes& size : out)
        if (size.m != out[0].m || size.n != out[0].n || size.k != out[0].k)
          core::fail(GGEMM_ERROR_ARGUMENT, "options.sample_sizes has %lldx%lldx%lld and %lldx%lldx%lld: groups of constant sizes are alike", static_cast<long long>(out[0].m), static_cast<long long>(out[0].n), static_cast<long long>(out[0].k),
                     static_cast<long long>(size.m), static_cast<long long>(size.n), static_cast<long long>(size.k));
    }
  } else {
    out = expected_sample(p);
  }
  if (out.empty()) core::fail(GGEMM_ERROR_ARGUMENT, "tuning a grouped problem needs options.sample_sizes, or desc.expected_m=%lld, expected_n=%lld and expected_k=%lld above 0", static_cast<long long>(p.expected_m),
                              static_cast<long long>(p.expected_n), static_cast<long long>(p.expected_k));
  return out;
}

// A configuration's name is cut nowhere: half a name is none.
template <std::size_t Size>
void put_name(char (&out)[Size], const std::string& name) {
  if (name.size() >= Size) core::fail(GGEMM_ERROR_INTERNAL, "the name %s has more than %zu characters", name.c_str(), Size - 1);
  std::memcpy(out, name.c_str(), name.size() + 1);
}

}  // namespace

ggemm_config to_public(const core::ProblemType& type, const core::Config& named) {
  ggemm_config out = GGEMM_CONFIG_INIT;
  put_name(out.name, core::config_name(type, named));
  core::Config config = named;
  if (type.transposed && named.family != core::Family::host) {  // of D as it was described
    config = core::transposed(named), config.swap = !named.swap;
    if (named.family == core::Family::gemv) config.warps_m = named.warps_m, config.warps_n = named.warps_n;  // which share k, or have lines each
  }
  put_name(out.family, core::family_name(config.family));
  out.tile_m = config.tile_m, out.tile_n = config.tile_n, out.tile_k = config.tile_k;
  out.warps_m = config.warps_m, out.warps_n = config.warps_n;
  out.stages = config.stages;
  out.raster = config.raster;
  out.large_above = config.large_above;
  out.cluster_m = config.cluster_m, out.cluster_n = config.cluster_n;
  out.swapped = config.swap;
  out.cluster_k = config.cluster_k;
  out.slices = config.slices;
  out.teams = config.teams;
  return out;
}

}  // namespace ggemm::api

using namespace ggemm;

extern "C" {

ggemm_status ggemm_config_count(ggemm_context* context, const ggemm_problem* problem, size_t* out_count) {
  return api::guard([&] {
    const api::ImportedProblem p = api::import_problem(problem);
    api::required(out_count, "out_count") = api::required(context, "context").engine.list(p.request)->size();
  });
}

ggemm_status ggemm_config_get(ggemm_context* context, const ggemm_problem* problem, size_t index, ggemm_config* out_config) {
  return api::guard([&] {
    const api::ImportedProblem p = api::import_problem(problem);
    const auto legal = api::required(context, "context").engine.list(p.request);
    if (index >= legal->size()) core::fail(GGEMM_ERROR_ARGUMENT, "index=%zu with %zu legal configurations", index, legal->size());
    api::put(out_config, api::to_public(p.request.key.type, (*legal)[index].config), "out_config");
  });
}

ggemm_status ggemm_config_parse(const char* name, ggemm_config* out_config) {
  return api::guard([&] {
    const core::ParsedConfig parsed = core::parse_config(&api::required(name, "name"));
    api::put(out_config, api::to_public(parsed.type, parsed.config), "out_config");
  });
}

ggemm_status ggemm_prepare(ggemm_context* context, const ggemm_problem* problems, size_t count, ggemm_progress_fn progress, void* user) {
  return api::guard([&] {
    Engine& engine = api::required(context, "context").engine;
    if (count) api::required(problems, "problems");
    std::vector<Request> requests;
    for (size_t i = 0; i < count; ++i) {
      try {
        requests.push_back(api::import_problem(problems + i).request);
      } catch (const core::Error& error) {
        if (count == 1) throw;
        throw core::Error(error.status(), core::text("problems[%zu]: %s", i, error.what()));
      }
    }
    engine.prepare(requests, progress ? [&](size_t done, size_t total, const std::string& what) { return progress(user, done, total, what.c_str()) == 0; }
                                      : std::function<bool(size_t, size_t, const std::string&)>());
  });
}

ggemm_status ggemm_tune(ggemm_context* context, const ggemm_problem* problem, const ggemm_tune_options* options, ggemm_tune_result* out_result) {
  return api::guard([&] {
    Engine& engine = api::required(context, "context").engine;
    if (out_result) api::check_struct_size(out_result->struct_size, api::oldest_size<ggemm_tune_result>, "out_result");  // before the work whose result it is for
    const api::ImportedProblem p = api::import_problem(problem);
    const ggemm_tune_options o = options ? api::import(options, "options") : ggemm_tune_options GGEMM_TUNE_OPTIONS_INIT;
    if (!(o.budget_seconds >= 0)) core::fail(GGEMM_ERROR_ARGUMENT, "options.budget_seconds=%g must be 0 or more", o.budget_seconds);
    if (o.config_count && !o.configs) core::fail(GGEMM_ERROR_ARGUMENT, "options.configs is NULL with config_count=%zu", o.config_count);
    const core::ProblemType& type = p.request.key.type;
    const auto* plain = std::get_if<core::Problem>(&p.problem);
    const auto* grouped = std::get_if<core::GroupedProblem>(&p.problem);
    TuneRequest tuning{o.budget_seconds > 0 ? o.budget_seconds : 10.0, {}, {}, nullptr};
    for (size_t i = 0; i < o.config_count; ++i) {
      if (!o.configs[i]) core::fail(GGEMM_ERROR_ARGUMENT, "options.configs[%zu] is NULL", i);
      try {
        tuning.candidates.push_back(engine.forced_config(p.request, o.configs[i]));
      } catch (const core::Error& error) {
        core::fail(error.status(), "options.configs[%zu]: %s", i, error.what());
      }
    }
    if (plain && (plain->m == 0 || plain->n == 0))
      core::fail(GGEMM_ERROR_ARGUMENT, "m=%lld, n=%lld: there is nothing to tune", static_cast<long long>(type.transposed ? plain->n : plain->m), static_cast<long long>(type.transposed ? plain->m : plain->n));
    if (grouped) tuning.sample = api::sample_sizes(o, *grouped);
    if (grouped && std::none_of(tuning.sample.begin(), tuning.sample.end(), [](const select::Sizes& s) { return s.m > 0 && s.n > 0; })) core::fail(GGEMM_ERROR_ARGUMENT, "each group of options.sample_sizes is empty: there is nothing to tune");
    double flops = 0;
    for (const auto& s : tuning.sample) flops += 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    if (plain) flops = 2.0 * static_cast<double>(plain->m) * static_cast<double>(plain->n) * static_cast<double>(plain->k);
    tuning.progress = api::tune_progress(o, type, flops);
    const TuneReport report = engine.tune(p.request, plain, grouped, tuning);
    if (!out_result) return;
    const select::TuneRow& best = report.outcome.rows[static_cast<size_t>(report.outcome.best)];
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    api::put_name(result.best, core::config_name(type, best.config));
    result.microseconds = best.microseconds;
    const select::TuneRow& first = report.outcome.rows[static_cast<size_t>(report.outcome.first)];
    api::put_name(result.first, core::config_name(type, first.config));
    result.first_microseconds = first.microseconds;
    result.tflops = best.microseconds > 0 ? flops / best.microseconds * 1e-6 : 0;
    result.seconds = report.seconds;
    for (const auto& row : report.outcome.rows) ++(row.microseconds > 0 ? result.timed : result.rejected);
    api::put(out_result, result, "out_result");
  });
}

}  // extern "C"
