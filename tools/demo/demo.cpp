// SPDX-License-Identifier: Apache-2.0
// ggemm demo: routes a real text through a small mixture-of-experts layer.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"
#include "common/npy.hpp"
#include "common/output.hpp"
#include "common/table.hpp"
#include "common/temporary_folder.hpp"
#include "demo/report.hpp"
#include "demo/text.hpp"

namespace ggemm::tools {
namespace {

struct Options {
  DeviceOptions device;
  LayerShape shape;  // 0 where not given
  std::string text, json, output;
  int runs = 10;
  std::int64_t sample = 64;
  double tune = 0;
  bool explain = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string read_text(const Options& options, DemoReport& report) {
  std::string text(demo_text());
  report.text_name = "ggemm's licence and header";
  if (!options.text.empty()) {
    std::ifstream file(options.text, std::ios::binary);
    if (!file) fail_file("%s: %s", options.text.c_str(), std::strerror(errno));
    constexpr std::size_t most = std::size_t(64) << 20;  // more than there are tokens; a device may have no end
    text.resize(most);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    text.shrink_to_fit();
    if (file.bad() || text.empty()) fail_file("%s: %s", options.text.c_str(), file.bad() ? "cannot be read" : "the text is empty");
    report.text_name = options.text;
  }
  report.text_bytes = text.size();
  return text;
}

// Some seconds on two cores; on a GPU, products that are worth its while.
LayerShape fill_defaults(LayerShape shape, bool gpu) {
  const auto choose = [](std::int64_t& value, std::int64_t otherwise) { value = value > 0 ? value : otherwise; };
  choose(shape.tokens, gpu ? 16384 : 4096);
  choose(shape.d_model, gpu ? 2048 : 256);
  choose(shape.d_ff, gpu ? 1536 : 512);
  choose(shape.experts, gpu ? 64 : 16);
  choose(shape.top_k, std::min<std::int64_t>(2, shape.experts));
  if (shape.dtype == GGEMM_DTYPE_NONE) shape.dtype = gpu ? GGEMM_BF16 : GGEMM_F32;
  if (shape.top_k > shape.experts)
    fail_usage("--top-k %lld is more than %lld experts", static_cast<long long>(shape.top_k), static_cast<long long>(shape.experts));
  return shape;
}

double first_call(DeviceMemory& memory, const Products& products, ggemm_context* context, Stage stage) {
  const double begin = now();
  products.run(context, stage);
  memory.synchronize();
  return now() - begin;
}

// The whole layer once; what lies between the products is not timed.
void run_layer(DeviceMemory& memory, Products& products, ggemm_context* context, FirstCalls& calls) {
  calls.product[stage_router] = first_call(memory, products, context, stage_router);
  products.route_tokens();
  calls.product[stage_gate] = first_call(memory, products, context, stage_gate);
  calls.product[stage_up] = first_call(memory, products, context, stage_up);
  products.multiply_gate_up();
  calls.product[stage_down] = first_call(memory, products, context, stage_down);
}

Context timed_context(const DeviceOptions& device, FirstCalls& calls) {
  const double begin = now();
  Context context = device.create();
  calls.context = now() - begin;
  return context;
}

void tune_products(const Products& products, ggemm_context* context, double budget) {
  for (int i = 0; i < stage_count; ++i) {
    const ggemm_tune_result result = products.tune(context, Stage(i), budget / double(stage_count));
    std::printf("tuned    %s: %s, %zu timed, %zu rejected, %s\n", stage_names[i], result.best, result.timed, result.rejected,
                seconds_text(result.seconds).c_str());
  }
}

void measure(DeviceMemory& memory, const Products& products, ggemm_context* context, DemoReport& report) {
  const LayerShape& s = report.shape;
  for (int i = 0; i < stage_count; ++i) {
    const auto stage = Stage(i);
    ProductReport& out = report.product[std::size_t(i)];
    products.run(context, stage);  // so that a configuration that tuning changed is loaded
    memory.synchronize();
    std::vector<double> times;
    for (int run = 0; run < report.runs; ++run) times.push_back(memory.seconds([&] { products.run(context, stage); }));
    std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(times.size() / 2), times.end());
    out.seconds = times[times.size() / 2];
    out.flops = products.flops(stage);
    const Plan plan = products.plan(context, stage);
    out.config = config_of(plan.get());
    out.explain = explain(plan.get());
    const auto ll = [](std::int64_t value) { return static_cast<long long>(value); };
    out.size = stage == stage_router ? format("%lldx%lldx%lld", ll(s.tokens), ll(s.experts), ll(s.d_model))
                                     : format("%lld x [rows,%lld,%lld]", ll(s.experts), ll(stage == stage_down ? s.d_model : s.d_ff),
                                              ll(stage == stage_down ? s.d_ff : s.d_model));
  }
}

void write_output(const std::string& path, const LayerShape& shape, const Products& products) {
  const std::vector<float> sums = combine(shape, products.output(stage_down), products.routing());
  Array out = make_array(GGEMM_F32, {shape.tokens, shape.d_model});
  std::memcpy(out.bytes.data(), sums.data(), out.bytes.size());
  write_npy(path, out);
}

void write_json(const std::string& path, const DemoReport& report) {
  std::ofstream file(path);
  if (!file) fail_file("%s: %s", path.c_str(), std::strerror(errno));
  file << to_json(report).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  file.close();
  if (!file) fail_file("%s: cannot be written", path.c_str());
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void run(const Options& options) {
  check_output(options.output, npy_begin);
  check_output(options.json, demo_begin);
  if (same_file(options.output, options.json)) fail_usage("-o and --json name the same file");
  DemoReport report;
  report.runs = options.runs;
  report.fresh_cache = options.device.cache_dir.empty();
  const std::string text = read_text(options, report);
  const TemporaryFolder folder;
  DeviceOptions device = options.device;
  if (report.fresh_cache) device.cache_dir = folder.path();

  const Context context = timed_context(device, report.cold);
  report.device = device_info(context.get());
  report.shape = fill_defaults(options.shape, report.device.kind == GGEMM_DEVICE_CUDA);
  print(head_text(report));
  const LayerData data = make_layer(report.shape, text);
  const auto memory = DeviceMemory::create(report.device);
  Products products(*memory, report.shape, data);
  run_layer(*memory, products, context.get(), report.cold);
  report.routing = products.routing();
  print(routing_text(report));
  if (options.tune > 0) tune_products(products, context.get(), options.tune);
  measure(*memory, products, context.get(), report);
  report.accuracy = check_accuracy(report.shape, data, products, options.sample);
  {
    const Context again = timed_context(device, report.warm);
    run_layer(*memory, products, again.get(), report.warm);
  }
  print(result_text(report, options.explain));
  if (!options.output.empty()) write_output(options.output, report.shape, products);
  if (!options.json.empty()) write_json(options.json, report);
  if (!report.accuracy.passed()) throw Failure(exit_failure, "");
}

void add_sizes(CLI::App& command, LayerShape& shape) {
  const auto add = [&command](const char* name, std::int64_t& value, const char* help, const char* otherwise) {
    command.add_option(name, value, help)->check(at_least(1))->type_name("N")->default_str(otherwise);
  };
  add("--tokens", shape.tokens, "tokens", "4096; GPU 16384");
  add("--d-model", shape.d_model, "width of a token", "256; GPU 2048");
  add("--d-ff", shape.d_ff, "width between the experts' products", "512; GPU 1536");
  add("--experts", shape.experts, "experts", "16; GPU 64");
  add("--top-k", shape.top_k, "experts of a token", "2");
  command.add_option("--seed", shape.seed, "of the weights")->type_name("N")->default_str("1");
  command.add_option("--dtype", shape.dtype, "bf16, f16, f32 or f64")
      ->transform(one_of({{"bf16", GGEMM_BF16}, {"f16", GGEMM_F16}, {"f32", GGEMM_F32}, {"f64", GGEMM_F64}}))
      ->type_name("DTYPE")
      ->default_str("f32; GPU bf16");
}

}  // namespace

void add_demo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->shape.dtype = GGEMM_DTYPE_NONE;
  CLI::App* command = app.add_subcommand("demo", "Route a real text through a mixture-of-experts layer; time it and check it");
  command->add_option("text", options->text, "file whose bytes are the tokens; else ggemm's own licence and header")->type_name("FILE");
  add_sizes(*command, options->shape);
  command->add_option("--runs", options->runs, "warm calls of each product; their median is shown")
      ->check(at_least(1))
      ->type_name("N")
      ->default_str("10");
  command->add_option("--sample", options->sample, "rows of the experts that are checked against float64")
      ->check(at_least(1))
      ->type_name("N")
      ->default_str("64");
  add_seconds_option(*command, "--tune", options->tune, "tune the products first, for this long in all");
  command->add_flag("--explain", options->explain, "print why each product runs as it does");
  command->add_option("-o,--output", options->output, "write the layer's output, [tokens,d_model] in f32")->type_name("FILE");
  command->add_option("--json", options->json, "write the report as JSON too")->type_name("FILE");
  options->device.add_to(*command);
  command->footer(
      "The router is a plain product; gate, up and down are grouped ones over the tokens that each expert got.\n"
      "Cold is a fresh folder for the disk cache, warm a second context with what the first left there.\n"
      "Exit code 1 if an element is over the bound.");
  command->callback([options] { run(*options); });
}

}  // namespace ggemm::tools
