// SPDX-License-Identifier: Apache-2.0
#include "common/context.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <mutex>
#include <set>

#include "common/failure.hpp"
#include "common/names.hpp"

namespace ggemm::tools {
namespace {

// Called by any thread. A command may make several contexts, each of which finds the same wrong with the machine.
void log_line(void*, ggemm_log_level level, const char* message) {
  static const char* const names[] = {"", "error", "warning", "info", "debug"};
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (level <= GGEMM_LOG_WARNING && !said.insert(message).second) return;
  const bool known = level >= GGEMM_LOG_ERROR && level <= GGEMM_LOG_DEBUG;
  std::fprintf(stderr, "ggemm: %s: %s\n", known ? names[level] : "log", message);
}

}  // namespace

void DeviceOptions::add_to(CLI::App& command) {
  const std::string group = "Device";
  command.add_option("--device", device, "best (the GPU if there is one, else the CPU), cuda or host")
      ->transform(one_of({{"best", GGEMM_DEVICE_BEST}, {"cuda", GGEMM_DEVICE_CUDA}, {"host", GGEMM_DEVICE_HOST}}))
      ->type_name("KIND")
      ->default_str("best")
      ->group(group);
  command.add_option("--ordinal", ordinal, "which CUDA device")->check(at_least(0))->type_name("N")->group(group);
  command.add_option("--threads", threads, "host threads; 0: the cores allowed")
      ->check(at_least(0))
      ->type_name("N")
      ->group(group);
  command.add_option("--cache-dir", cache_dir, "folder of the disk cache")->type_name("FOLDER")->group(group);
  command.add_option("--nvrtc", nvrtc, "NVRTC library to use")->type_name("FILE")->group(group);
  command.add_option("--cblas", cblas, "CBLAS library to use on the host; none: own kernels only")->type_name("FILE")->group(group);
  command.add_flag("-v,--verbose", verbose, "log compiles, loads and tunings to stderr")->group(group);
}

ggemm_context_options DeviceOptions::options() const {
  ggemm_context_options out = GGEMM_CONTEXT_OPTIONS_INIT;
  out.device = device;
  out.ordinal = ordinal;
  out.threads = threads;
  out.log = log_line;
  out.log_level = verbose ? GGEMM_LOG_DEBUG : GGEMM_LOG_WARNING;
  if (memory_only) out.cache_dir = "";
  else if (!cache_dir.empty()) out.cache_dir = cache_dir.c_str();
  if (!nvrtc.empty()) out.nvrtc_path = nvrtc.c_str();
  if (!cblas.empty()) out.cblas_path = cblas == "none" ? "" : cblas.c_str();
  return out;
}

Context DeviceOptions::create() const {
  const ggemm_context_options given = options();
  ggemm_context* context = nullptr;
  check(ggemm_context_create(&given, &context));
  return Context(context);
}

ggemm_device_info device_info(const ggemm_context* context) {
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  check(ggemm_context_device(context, &info));
  return info;
}

std::string describe(const ggemm_device_info& info) {
  const std::string name = info.name;
  if (info.kind == GGEMM_DEVICE_CUDA) return name + " (" + info.arch + ")";
  const std::string threads = std::to_string(info.threads) + (info.threads == 1 ? " thread" : " threads");
  return "host: " + name + ", " + threads + (info.blas[0] ? std::string(", CBLAS ") + info.blas : ", no CBLAS");
}

std::string explain(const ggemm_plan* plan) {
  size_t size = 0;
  check(ggemm_plan_explain(plan, nullptr, 0, &size));
  std::string text(size, '\0');
  check(ggemm_plan_explain(plan, text.data(), text.size(), &size));
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

std::string config_of(const ggemm_plan* plan) {
  ggemm_config config = GGEMM_CONFIG_INIT;
  check(ggemm_plan_config(plan, &config));
  return config.name;
}

}  // namespace ggemm::tools
