// SPDX-License-Identifier: Apache-2.0
// ggemm tune: measures configurations for problems and records the best one of each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/tune_suite.hpp"
#include "commands.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"
#include "common/problems.hpp"
#include "common/table.hpp"

namespace ggemm::tools {
namespace {

struct Options {
  DeviceOptions device;
  ProblemOptions problems;
  double budget = 10;
  std::vector<std::string> configs;
  bool json = false;
  // Of a benchmark's suite.
  bench::Selection selection;
  std::string shard, records;
  bench::SessionOptions session;
  bool by_dtype = false, by_layout = false, by_compute = false;
};

struct Row {
  std::string config, rejected;
  double microseconds, tflops;
};

struct Watch {
  Progress* progress;
  std::string problem;
  std::vector<Row> rows;
};

int32_t watch_row(void* user, const ggemm_tune_row* row) {
  Watch& watch = *static_cast<Watch*>(user);
  watch.rows.resize(std::max(watch.rows.size(), row->index + 1));
  watch.rows[row->index] = {row->config, row->rejected ? row->rejected : "", row->microseconds, row->tflops};
  watch.progress->show(watch.rows.size(), row->total, watch.problem + ": " + row->config);
  return 0;
}

// The winner first, then by time; what was refused last. Rows tell of the first round, the result of all: the winner has one time.
void sort_rows(std::vector<Row>& rows, const ggemm_tune_result& result) {
  const auto wins = [&result](const Row& row) { return row.config == result.best; };
  for (Row& row : rows)
    if (wins(row)) row.microseconds = result.microseconds, row.tflops = result.tflops;
  std::stable_sort(rows.begin(), rows.end(), [&wins](const Row& a, const Row& b) {
    if (a.rejected.empty() != b.rejected.empty()) return a.rejected.empty();
    if (wins(a) != wins(b)) return wins(a);
    return a.rejected.empty() && a.microseconds < b.microseconds;
  });
}

nlohmann::ordered_json to_json(const ProblemSpec& spec, const std::vector<Row>& rows, const ggemm_tune_result& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json each{{"config", row.config}, {"us", row.microseconds}, {"tflops", row.tflops}};
    each["rejected"] = row.rejected.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.rejected);
    list.push_back(each);
  }
  return {{"problem", spec.text()},    {"best", result.best},   {"us", result.microseconds},   {"tflops", result.tflops},
          {"seconds", result.seconds}, {"timed", result.timed}, {"rejected", result.rejected}, {"rows", list}};
}

void print_table(const ProblemSpec& spec, const std::vector<Row>& rows, const ggemm_tune_result& result) {
  std::printf("%s: best %s, %.1f us, %.2f TFLOP/s (%zu timed, %zu rejected, %s)\n", spec.text().c_str(), result.best, result.microseconds,
              result.tflops, result.timed, result.rejected, seconds_text(result.seconds).c_str());
  Table table({"configuration", "us", "TFLOP/s", "why rejected"});
  for (const Row& row : rows) {
    const bool timed = row.microseconds > 0;
    table.add({row.config, timed ? format("%.1f", row.microseconds) : "-", timed ? format("%.2f", row.tflops) : "-",
               row.rejected.substr(0, row.rejected.find('\n'))});
  }
  std::fputs(table.text().c_str(), stdout);
}

// --dtype, --compute and --layout choose among the cases, where they are given.
bench::TuneSuite tune_suite(const Options& options, bool cuda) {
  const ProblemOptions& o = options.problems;
  if (!o.gemm.empty() || !o.grouped.empty() || o.out_dtype != GGEMM_DTYPE_NONE || !options.configs.empty())
    fail_usage("--suite %s has problems and configurations of its own: --gemm, --grouped, --out-dtype and --config do not go with it", o.suite.c_str());
  bench::Selection selection = options.selection;
  if (!options.shard.empty()) bench::parse_shard(options.shard, selection);
  if (options.by_layout) selection.layouts = {o.layout};
  for (const bench::Type& type : bench::types())
    if ((!options.by_dtype || type.input == o.dtype) && (!options.by_compute || type.compute == o.compute)) selection.dtypes.push_back(type.name);
  bench::TuneSuite out{{}, options.budget, options.session, options.records, options.json};
  if (!selection.dtypes.empty()) out.cases = bench::select(bench::suite_cases(o.suite, cuda), selection);
  if (out.cases.empty()) fail_usage("no case of suite %s is selected", o.suite.c_str());
  return out;
}

void run_problems(const Options& options, const Context& context) {
  std::vector<ProblemSpec> specs = options.problems.specs();
  std::vector<const char*> names;
  for (const std::string& name : options.configs) names.push_back(name.c_str());
  const auto begin = std::chrono::steady_clock::now();
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    Progress progress;
    Watch watch{&progress, specs[i].text(), {}};
    progress.show(0, 1, watch.problem);
    ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
    // What is left is shared evenly; a problem that comes late still gets a try.
    tune.budget_seconds = std::max(0.1, (options.budget - spent) / double(specs.size() - i));
    tune.configs = names.empty() ? nullptr : names.data();
    tune.config_count = names.size();
    tune.function = watch_row;
    tune.user = &watch;
    const ggemm_problem problem = specs[i].problem();
    if (specs[i].grouped) {
      tune.sample_sizes = specs[i].sample_sizes().data();
      tune.sample_groups = specs[i].sizes.size();
    }
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    check(ggemm_tune(context.get(), &problem, &tune, &result));
    sort_rows(watch.rows, result);
    if (options.json) {
      json.push_back(to_json(specs[i], watch.rows, result));
    } else {
      progress.clear();
      print_table(specs[i], watch.rows, result);
    }
  }
  if (options.json) std::printf("%s\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void run(const Options& options) {
  const bool named = is_named_suite(options.problems.suite);
  if (!named) {
    options.problems.specs();  // what is wrong with them comes first
    const bool of_named = !options.shard.empty() || !options.records.empty() || !options.session.jsonl.empty() || !options.selection.filter.empty() || options.session.limit_s > 0 ||
                          options.session.keep_any || !options.session.commit.empty();
    if (of_named) fail_usage("--filter, --shard, --limit, --jsonl, --keep-any, --commit and --records go with --suite plain, grouped or quick");
  }
  const Context context = options.device.create();
  const ggemm_device_info info = device_info(context.get());
  if (info.kind == GGEMM_DEVICE_HOST) {
    std::fputs("ggemm: the host device has one configuration for each problem: it is verified and timed, and there is nothing to choose\n", stderr);
  }
  if (named) return bench::run_tune_suite(tune_suite(options, info.kind == GGEMM_DEVICE_CUDA), context.get(), info);
  run_problems(options, context);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tune", "Measure configurations for problems and record the best of each");
  options->problems.add_to(*command);
  add_seconds_option(*command, "--budget", options->budget, "time for all problems together, such as 60s, 500ms or 2m; of a benchmark's suite, for each case")->default_str("10s");
  command->add_option("--config", options->configs, "candidates by name; else the library's own")->type_name("NAME")->expected(1, -1);
  command->add_flag("--json", options->json, "print JSON");
  const std::string group = "Of --suite plain, grouped or quick";
  command->add_option("--filter", options->selection.filter, "only cases whose category/name contains this, or matches it with * and ?")->type_name("TEXT")->group(group);
  command->add_option("--shard", options->shard, "the i-th of n parts, i from 1")->type_name("i/n")->group(group);
  bench::add_limit(*command, options->session, group);
  bench::add_results(*command, options->session, group);
  command->add_option("--records", options->records, "file of shipped records to merge the best configurations into")->type_name("FILE")->group(group);
  options->device.add_to(*command);
  command->footer(std::string(suite_help) +
                  "\n--suite plain, grouped or quick: the cases of `ggemm bench`, where --dtype, --compute and --layout choose among them. Cases that share a record are\n"
                  "tuned once. What is said at the end is by how much the model's own choice is behind the best."
                  "\nThe names of configurations use BLAS letters for column-major matrices: layout nt is `tn` there.\n"
                  "The record goes to the disk cache (`ggemm cache`); later calls of the same class use it.");
  command->callback([options, command] {
    const auto given = [command](const char* name) { return command->get_option(name)->count() > 0; };
    options->by_dtype = given("--dtype"), options->by_layout = given("--layout"), options->by_compute = given("--compute");
    run(*options);
  });
}

}  // namespace ggemm::tools
