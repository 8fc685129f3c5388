// SPDX-License-Identifier: Apache-2.0
// `ggemm bench`: the project's benchmark.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/compile_times.hpp"
#include "bench/report.hpp"
#include "bench/results.hpp"
#include "bench/runner.hpp"
#include "bench/session.hpp"
#include "bench/suites.hpp"
#include "commands.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"
#include "common/output.hpp"
#include "common/table.hpp"
#include "core/library.hpp"

namespace ggemm::bench {
namespace {

struct Options {
  tools::DeviceOptions device;
  std::string suite = "quick";
  std::vector<std::string> shapes;
  Selection selection;
  std::string shard;
  RunOptions run;
  double rest_s = -1;  // below 0: by the device
  bool no_peers = false, list = false;
  SessionOptions session;
  std::string plot;
  Format format = Format::table;
};

// "": own sizes
std::string suite_of(const Options& options) { return options.shapes.empty() ? options.suite : ""; }
std::string named(const Options& options) { return options.shapes.empty() ? "suite " + options.suite : "--shape"; }

// What would not be heeded is refused, so that nobody takes a row for what it is not.
void check_suite(const Options& o) {
  const Selection& s = o.selection;
  const std::string suite = suite_of(o);
  if (suite == "host" && (o.list || !s.dtypes.empty() || !s.layouts.empty() || !s.scalings.empty() || !s.filter.empty() || !o.shard.empty()))
    tools::fail_usage("--suite host has no cases: --dtype, --layout, --scaling, --filter, --shard and --list do not go with it");
  if ((suite == "host" || suite == "compile") && (o.run.tune || o.run.model || o.run.graph))
    tools::fail_usage("--suite %s does not time products: --tune, --choice model and --graph do not go with it", suite.c_str());
  if (suite == "compile" && !o.run.config.empty()) tools::fail_usage("--suite compile takes what is chosen: --config does not go with it");
}

constexpr double host_rest_s = 0.01;  // a CPU's clock has no such memory as a GPU's power limit

std::vector<Case> chosen_cases(const Options& options, bool cuda) {
  Selection selection = options.selection;
  if (!options.shard.empty()) parse_shard(options.shard, selection);
  if (options.shapes.empty()) return select(suite_cases(options.suite == "compile" ? "plain" : options.suite, cuda), selection);
  // The user's own sizes, in each dtype, layout and scaling named.
  const std::vector<std::string> dtypes = selection.dtypes.empty() ? std::vector<std::string>{cuda ? "bf16" : "f32"} : selection.dtypes;
  const std::vector<std::string> layouts = selection.layouts.empty() ? std::vector<std::string>{"nt"} : selection.layouts;
  const std::vector<std::string> scalings = selection.scalings.empty() ? std::vector<std::string>{"none"} : selection.scalings;
  std::vector<Case> cases;
  for (const std::string& shape : options.shapes)
    for (const std::string& dtype : dtypes)
      for (const std::string& layout : layouts)
        for (const std::string& scaling : scalings) cases.push_back(scaled(single_case("shape", dtype, layout, parse_size(shape)), scaling_named(scaling)));
  return select(cases, selection);
}

// For programs: tools/peers measures the same cases.
std::string json_list(const std::vector<Case>& cases) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Case& one : cases) {
    nlohmann::ordered_json each{{"suite", one.suite}, {"category", one.category}, {"case", one.name}, {"dtype", one.dtype}, {"layout", one.layout}};
    if (one.grouped()) {
      each["groups"] = one.generator;
      for (const Size& size : one.groups) each["sizes"].push_back({size.m, size.n, size.k});
    } else {
      each.update({{"m", one.size.m}, {"n", one.size.n}, {"k", one.size.k}, {"padding", one.padding}, {"offset", one.offset}});
    }
    if (one.scaling != Scaling::none) each["scaling"] = scaling_name(one.scaling);
    if (one.form != Form::own) each["form"] = form_name(one.form);
    list.push_back(std::move(each));
  }
  return list.dump(1) + "\n";
}

void print_list(const std::vector<Case>& cases, Format format) {
  if (format == Format::json) {
    std::fputs(json_list(cases).c_str(), stdout);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Case& one : cases) rows.push_back({one.category, one.name, one.dtype, one.layout, one.grouped() ? one.generator : size_name(one.size)});
  std::fputs(table_text({"category", "case", "dtype", "layout", "size"}, rows, format).c_str(), stdout);
}

class Run {
 public:
  Run(const Options& options, ggemm_context* context, const ggemm_device_info& info)
      : options_(options), session_(options.session, {.device = info.name, .config = options.run.config, .tune = options.run.tune, .peers = !options.no_peers}) {
    RunOptions run = options.run;
    const bool cuda = info.kind == GGEMM_DEVICE_CUDA;
    if (run.model && (run.tune || !run.config.empty())) tools::fail_usage("--choice model goes with neither --tune nor --config: it forces the model's first configuration");
    if (run.graph && !cuda) tools::fail_usage("--graph needs a GPU");
    if (suite_of(options) == "compile" && !cuda) tools::fail_usage("--suite compile needs a GPU: nothing is compiled for the CPU");
    run.protocol.rest_s = options.rest_s >= 0 ? options.rest_s : cuda ? run.protocol.rest_s : host_rest_s;
    run.peers = !options.no_peers;
    run.nvrtc = options.device.nvrtc.empty() ? core::environment("GGEMM_NVRTC") : options.device.nvrtc;
    run.note = say;
    runner_ = cuda ? make_cuda_runner(context, info, run) : make_host_runner(context, info, run);
  }

  void cases(const std::vector<Case>& cases) {
    session_.run(cases, [this](const Case& one) { return row_for(one, options_.run); }, [this](const Case& one) {
      const Row row = marked(runner_->run(one));
      tell(row);
      return row;
    });
    for (const Case& one : cases) add_entry(row_for(one, options_.run), one.flops());
  }

  void host_suite() { keep(runner_->host_costs()); }
  void compile_suite(const std::vector<Case>& cases) { keep(compile_times(options_.device, cases, say)); }

  void keep(const std::vector<Row>& rows) {
    for (const Row& measured : rows) {
      const Row row = marked(measured);
      session_.keep(row);
      tell(row);
      add_entry(row, 0);
    }
  }

  void finish() {
    if (const std::string machine = runner_->machine(); !machine.empty()) say(machine);
    std::fputs(report(entries_, options_.format).c_str(), stdout);
    session_.compact();  // then the report is there even if the file cannot be replaced
    if (!options_.plot.empty()) {
      std::ofstream out(options_.plot);
      out << plot_svg(entries_, session_.provenance().device + ", " + named(options_) + ", " + session_.provenance().commit);
      out.close();
      if (!out) tools::fail_file("%s: cannot be written", options_.plot.c_str());
    }
    if (session_.failed() > 0) tools::fail("%d cases failed; their reasons are above", session_.failed());
  }

 private:
  Row marked(Row row) const {
    row.choice = !options_.run.config.empty() ? "forced" : options_.run.tune ? "tuned" : "";
    row.alone = options_.no_peers;
    return row;
  }

  static void tell(const Row& row) {
    const std::string ratio = row.ratio ? tools::format(", ratio %.3f", *row.ratio) : "";
    say(tools::format("  %s: %.2f us%s", row.name.c_str(), row.ours_us, ratio.c_str()));
  }

  void add_entry(const Row& row, double flops) {
    if (const Row* found = session_.file().latest(row, session_.provenance())) entries_.push_back({*found, flops});
  }

  const Options& options_;
  Session<Row> session_;
  std::unique_ptr<Runner> runner_;
  std::vector<Entry> entries_;
};

void run_bench(const Options& options) {
  check_suite(options);
  const tools::Context context = options.device.create();
  const ggemm_device_info info = tools::device_info(context.get());
  const bool host_suite = suite_of(options) == "host";
  const std::vector<Case> cases = host_suite ? std::vector<Case>() : chosen_cases(options, info.kind == GGEMM_DEVICE_CUDA);
  if (options.list) return print_list(cases, options.format);
  if (tools::same_file(options.plot, options.session.jsonl)) tools::fail_usage("--plot and --jsonl name the same file");
  tools::check_output(options.plot, tools::svg_begin);
  if (!host_suite && cases.empty()) tools::fail_usage("no case of %s is selected", named(options).c_str());
  say(tools::describe(info));
  Run run(options, context.get(), info);
  if (host_suite)
    run.host_suite();
  else if (suite_of(options) == "compile")
    run.compile_suite(cases);
  else
    run.cases(cases);
  run.finish();
}

void add_selection(CLI::App& command, Options& o) {
  const std::string group = "Cases";
  std::vector<std::string> dtypes;
  for (const Type& type : types()) dtypes.push_back(type.name);
  CLI::Option* suite = command.add_option("--suite", o.suite, "plain, grouped, host (what calls cost the CPU), compile (GPU: what a new kernel costs, of plain's choices) or quick (about a minute; few and small on the CPU)")
      ->check(CLI::IsMember({"plain", "grouped", "host", "compile", "quick"}).description(""))
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  command.add_option("--shape", o.shapes, "own sizes instead of a suite; without --dtype of bf16 on a GPU and f32 on the CPU, without --layout nt")
      ->excludes(suite)
      ->type_name("MxNxK")
      ->delimiter(',')
      ->group(group);
  command.add_option("--dtype", o.selection.dtypes, "only these: bf16, f16, e4m3, i8, tf32, f32x3, f32, f64")
      ->check(CLI::IsMember(dtypes).description(""))
      ->type_name("TYPE")
      ->delimiter(',')
      ->group(group);
  command.add_option("--layout", o.selection.layouts, "only these: nn, nt, tn, tt; nt is A as [m,k], B as [n,k], both row-major")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}).description(""))
      ->type_name("LAYOUT")
      ->delimiter(',')
      ->group(group);
  command.add_option("--scaling", o.selection.scalings, "only these: none, tensor (a scale each of A and B), row (of A, column of B), block (A 1x128, B 128x128)")
      ->check(CLI::IsMember({"none", "tensor", "row", "block"}).description(""))
      ->type_name("HOW")
      ->delimiter(',')
      ->group(group);
  command.add_option("--filter", o.selection.filter, "only cases whose category/name contains this, or matches it with * and ?")
      ->type_name("TEXT")
      ->group(group);
  command.add_option("--shard", o.shard, "the i-th of n parts, i from 1")->type_name("i/n")->group(group);
  command.add_flag("--list", o.list, "name the cases and measure nothing; with --format json, all that they are")->group(group);
}

void add_measuring(CLI::App& command, Options& o) {
  const std::string group = "Measuring";
  command.add_option("--samples", o.run.protocol.samples, "launches of each provider at least")
      ->check(CLI::Range(4, 100000).description(""))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  command.add_option("--rest", o.rest_s, "seconds before each turn; 0.1 on a GPU")
      ->check(CLI::Range(0.0, 60.0).description(""))
      ->type_name("SECONDS")
      ->group(group);
  command.add_flag("--tune", o.run.tune, "tune each case before it is timed")->group(group);
  command.add_option("--tune-budget", o.run.tune_budget_s, "seconds for it")
      ->check(tools::at_least(0.001))
      ->type_name("SECONDS")
      ->capture_default_str()
      ->group(group);
  command.add_option("--config", o.run.config, "force this configuration")->type_name("NAME")->group(group);
  command.add_option("--choice", o.run.model, "library, or model: its first configuration, without records; rows go to suite NAME-model")
      ->transform(tools::one_of({{"library", 0}, {"model", 1}}))
      ->type_name("BY")
      ->default_str("library")
      ->group(group);
  command.add_flag("--graph", o.run.graph, "launches back to back in a CUDA graph, L2 warm; rows go to suite NAME-graph")->group(group);
  command.add_flag("--no-peers", o.no_peers, "ggemm alone")->group(group);
  command.add_option("--cublaslt", o.run.cublaslt, "cuBLASLt library to compare with")->type_name("FILE")->group(group);
  add_limit(command, o.session, group);
}

void add_output(CLI::App& command, Options& o) {
  const std::string group = "Results";
  add_results(command, o.session, group);
  command.add_option("--format", o.format, "table, csv, json or markdown")
      ->transform(tools::one_of({{"table", int(Format::table)}, {"csv", int(Format::csv)}, {"json", int(Format::json)}, {"markdown", int(Format::markdown)}}))
      ->type_name("FORMAT")
      ->default_str("table")
      ->group(group);
  command.add_option("--plot", o.plot, "picture of TFLOP/s over size (SVG)")->type_name("FILE")->group(group);
}

}  // namespace
}  // namespace ggemm::bench

void ggemm::tools::add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure ggemm against cuBLASLt, cuBLAS or CBLAS and against the limit of the machine");
  auto options = std::make_shared<bench::Options>();
  bench::add_selection(*command, *options);
  bench::add_measuring(*command, *options);
  bench::add_output(*command, *options);
  options->device.add_to(*command);
  command->footer("On the CPU the machine's limit is not measured: `limit us` and `share` are -.");
  command->callback([options] { bench::run_bench(*options); });
}
