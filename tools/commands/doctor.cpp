// SPDX-License-Identifier: Apache-2.0
// ggemm doctor: what was found and where, what is missing and what to install.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "common/cache_folder.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/table.hpp"

namespace ggemm::tools {
namespace {

struct Options {
  DeviceOptions device;
  bool json = false;
};

struct Finding {
  std::string component, detail, advice;
  bool found, needed;
};

void collect(void* user, const ggemm_finding* finding) {
  static_cast<std::vector<Finding>*>(user)->push_back(
      {finding->component, finding->detail, finding->advice, finding->found != 0, finding->needed != 0});
}

// Whether a device works: a context, and on the host a small product that is right, on a GPU its kernel.
struct Trial {
  std::string device;  // its name; "" if there is no context
  std::string error;   // "" if all went well
};

// On a GPU a product needs memory of it, which `ggemm demo` tries; here its kernel is compiled and loaded.
void try_product(ggemm_context* context, ggemm_device_kind kind) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = 2;
  desc.k = 3;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  if (kind == GGEMM_DEVICE_CUDA) {
    const ggemm_problem problem{&desc, nullptr};
    return check(ggemm_prepare(context, &problem, 1, nullptr, nullptr));
  }
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, expected[] = {4, 5, 10, 11};
  float d[4] = {};
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a;
  args.b = b;
  args.d = d;
  check(ggemm_gemm(context, &desc, &args, nullptr));
  for (int i = 0; i < 4; ++i)
    if (d[i] != expected[i]) fail("a product of 2x3 and 3x2 came out wrong: element %d is %g, not %g", i, d[i], expected[i]);
}

Trial try_device(DeviceOptions options, ggemm_device_kind kind) {
  Trial trial;
  try {
    options.device = kind;
    const Context context = options.create();
    const ggemm_device_info info = device_info(context.get());
    trial.device = describe(info);
    try_product(context.get(), info.kind);
  } catch (const Failure& failure) {
    trial.error = failure.what();
  }
  return trial;
}

// Further lines of a text stand below its first.
std::string indented(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\n" + std::string(22, ' ') : std::string(1, c);
  return out;
}

void print_text(const std::vector<Finding>& findings, const Trial& host, const Trial& best) {
  std::printf("ggemm %s\n", ggemm_version_string());
  for (const Finding& finding : findings) {
    std::printf("%-8s %-12s %s\n",
                finding.found    ? "found"
                : finding.needed ? "MISSING"
                                 : "none",
                finding.component.c_str(), indented(finding.detail).c_str());
    if (!finding.advice.empty()) std::printf("%-8s %-12s -> %s\n", "", "", indented(finding.advice).c_str());
  }
  const auto line = [](const char* what, const Trial& trial) {
    std::printf("%-8s %-12s %s\n", trial.error.empty() ? "works" : "FAILS", what,
                trial.error.empty() ? trial.device.c_str() : indented(trial.error).c_str());
  };
  line("host", host);
  line("default", best);
}

void print_json(const std::vector<Finding>& findings, const Trial& host, const Trial& best, bool works) {
  nlohmann::ordered_json out;
  out["version"] = ggemm_version_string();
  for (const Finding& finding : findings) {
    out["findings"].push_back({{"component", finding.component},
                               {"found", finding.found},
                               {"needed", finding.needed},
                               {"detail", finding.detail},
                               {"advice", finding.advice}});
  }
  const auto trial = [](const Trial& each) {
    return nlohmann::ordered_json{{"works", each.error.empty()}, {"device", each.device}, {"error", each.error}};
  };
  out["host"] = trial(host);
  out["default"] = trial(best);
  out["works"] = works;
  std::printf("%s\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

// The library's finding is of the contexts that were made for it, and it knows no --cblas.
void put_right(Finding& finding, const DeviceOptions& device, const CacheFolder& folder) {
  if (finding.component == "cache" && !folder.path.empty()) {
    finding.found = folder.problem.empty();
    finding.needed = !device.cache_dir.empty();  // as it was asked for
    finding.detail = !finding.found ? folder.problem : folder.is_there ? folder.path : folder.path + ", which is not there yet: the first entry will make it";
    if (finding.found) finding.advice.clear();
  } else if (finding.component == "cblas" && device.cblas == "none") {
    finding.detail = "not used, as --cblas none says: ggemm's own kernels compute all";
    finding.advice = "leave out --cblas to have one searched for";
  }
}

void run(const Options& options) {
  const CacheFolder folder = look_at_cache(options.device);
  DeviceOptions device = options.device;
  device.memory_only = !folder.is_there;  // nothing is made by being looked at
  const ggemm_context_options given = device.options();
  std::vector<Finding> findings;
  check(ggemm_diagnose(&given, collect, &findings));
  for (Finding& finding : findings) put_right(finding, device, folder);
  const Trial host = try_device(device, GGEMM_DEVICE_HOST), best = try_device(device, device.device);
  bool works = host.error.empty() && best.error.empty();
  for (const Finding& finding : findings) works &= finding.found || !finding.needed;
  if (options.json) {
    print_json(findings, host, best, works);
  } else {
    print_text(findings, host, best);
  }
  if (!works) throw Failure(exit_failure, "");
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor", "What was found and where, what is missing and what to install");
  command->add_flag("--json", options->json, "print JSON");
  options->device.add_to(*command);
  command->footer("Exit code 1 if something that is needed is missing. A GPU is not needed: the host device works without one; nor is a disk cache, unless --cache-dir names one.");
  command->callback([options] { run(*options); });
}

}  // namespace ggemm::tools
