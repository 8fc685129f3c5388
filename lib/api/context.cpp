// SPDX-License-Identifier: Apache-2.0
// Contexts, diagnosis, the disk cache.
#include <cstdio>

#include "api/guard.hpp"
#include "core/library.hpp"

namespace ggemm::api {
namespace {

void copy_text(char* out, std::size_t size, const std::string& text) { std::snprintf(out, size, "%s", text.c_str()); }

ggemm_context_options import_options(const ggemm_context_options* options) {
  const ggemm_context_options o = options ? import(options, "options") : ggemm_context_options GGEMM_CONTEXT_OPTIONS_INIT;
  if (static_cast<unsigned>(o.device) > GGEMM_DEVICE_HOST) core::fail(GGEMM_ERROR_ARGUMENT, "options.device=%d is not a ggemm_device_kind", static_cast<int>(o.device));
  if (o.ordinal < 0) core::fail(GGEMM_ERROR_ARGUMENT, "options.ordinal=%d must be 0 or more", o.ordinal);
  if (o.threads < 0) core::fail(GGEMM_ERROR_ARGUMENT, "options.threads=%d must be 0 or more", o.threads);
  if (static_cast<unsigned>(o.log_level) > GGEMM_LOG_DEBUG) core::fail(GGEMM_ERROR_ARGUMENT, "options.log_level=%d is not a ggemm_log_level", static_cast<int>(o.log_level));
  if (o.device == GGEMM_DEVICE_HOST && o.cuda_context)
    core::fail(GGEMM_ERROR_ARGUMENT, "options.cuda_context=%p with options.device=GGEMM_DEVICE_HOST: the host has no CUDA context", o.cuda_context);
  return o;
}

struct Report {
  ggemm_finding_fn function;
  void* user;
  void operator()(const char* component, bool found, bool needed, const std::string& detail, const char* advice) const {
    const ggemm_finding finding{sizeof(ggemm_finding), component, found, needed, detail.c_str(), found ? "" : advice};
    function(user, &finding);
  }
};

void report_cuda(const Report& report, const ggemm_context_options& options) {
  const cuda::DriverReport driver = cuda::diagnose();
  const std::string version = driver.version ? core::text("CUDA %d.%d, ", driver.version / 1000, driver.version % 1000 / 10) : "";
  report("driver", driver.found, false, driver.found ? version + driver.path : driver.detail,
         "to run on a GPU, install the NVIDIA driver for CUDA 12.0 or newer; where it is installed, nvidia-smi must list a GPU (in a container: run it with "
         "--gpus all) and CUDA_VISIBLE_DEVICES must not hide it");
  for (const auto& d : driver.devices)
    report(core::text("device %d", d.ordinal).c_str(), true, false, core::text("%s, compute capability %d.%d, %.1f GiB", d.name.c_str(), d.compute_capability / 10, d.compute_capability % 10, static_cast<double>(d.memory_bytes) / (1 << 30)), "");
  const std::string path = options.nvrtc_path ? options.nvrtc_path : core::environment("GGEMM_NVRTC");
  int compute_capability = 0;
  for (const auto& d : driver.devices)
    if (d.ordinal == options.ordinal) compute_capability = d.compute_capability;
  const jit::NvrtcReport nvrtc = jit::diagnose({path, driver.version, false, compute_capability});
  // Of what went wrong, the last line (or the whole, if it is one) says what to install for this driver.
  const std::size_t advice = nvrtc.detail.rfind('\n');
  // Without a GPU nothing is compiled.
  report("nvrtc", nvrtc.found, !driver.devices.empty(), nvrtc.found ? nvrtc.version + ", " + nvrtc.path : nvrtc.detail.substr(0, advice), nvrtc.detail.c_str() + advice + 1);
}

}  // namespace
}  // namespace ggemm::api

using namespace ggemm;

extern "C" {

ggemm_status ggemm_context_create(const ggemm_context_options* options, ggemm_context** out_context) {
  return api::guard([&] {
    api::required(out_context, "out_context") = nullptr;
    *out_context = new ggemm_context{Engine(api::import_options(options))};
  });
}

void ggemm_context_destroy(ggemm_context* context) { delete context; }

ggemm_status ggemm_context_device(const ggemm_context* context, ggemm_device_info* out_info) {
  return api::guard([&] {
    const Engine& engine = api::required(context, "context").engine;
    const core::DeviceFacts& facts = engine.facts();
    ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
    info.kind = facts.cuda ? GGEMM_DEVICE_CUDA : GGEMM_DEVICE_HOST;
    info.ordinal = engine.device() ? engine.device()->ordinal() : 0;
    api::copy_text(info.name, sizeof info.name, facts.name);
    info.compute_capability = facts.compute_capability;
    info.multiprocessors = facts.multiprocessors;
    info.threads = engine.threads();
    info.driver_version = facts.driver_version;
    info.memory_bytes = facts.memory_bytes;
    info.l2_bytes = facts.l2_bytes;
    info.shared_memory_bytes = facts.shared_per_block;
    api::copy_text(info.arch, sizeof info.arch, facts.arch);
    if (engine.host()) api::copy_text(info.blas, sizeof info.blas, engine.host()->blas());
    api::put(out_info, info, "out_info");
  });
}

ggemm_status ggemm_context_set_log(ggemm_context* context, ggemm_log_fn log, void* user, ggemm_log_level level) {
  return api::guard([&] {
    if (static_cast<unsigned>(level) > GGEMM_LOG_DEBUG) core::fail(GGEMM_ERROR_ARGUMENT, "level=%d is not a ggemm_log_level", static_cast<int>(level));
    api::required(context, "context").engine.log().set(log, user, level);
  });
}

ggemm_status ggemm_diagnose(const ggemm_context_options* options, ggemm_finding_fn function, void* user) {
  return api::guard([&] {
    if (!function) core::fail(GGEMM_ERROR_ARGUMENT, "function is NULL");
    const ggemm_context_options o = api::import_options(options);
    ggemm_context_options host = o;
    host.device = GGEMM_DEVICE_HOST;
    const Engine engine(host);  // ahead of all findings: it refuses what is left that is wrong
    const api::Report report{function, user};
    api::report_cuda(report, o);
    report("host", true, true, core::text("%s, %d threads", engine.facts().name.c_str(), engine.facts().threads), "");
    const std::string blas = engine.host()->blas();
    const bool unwanted = o.cblas_path && !*o.cblas_path;
    report("cblas", !blas.empty(), false, blas.empty() ? engine.host()->blas_tried() : blas, unwanted ? "give no path to have one searched for" : "install a recent OpenBLAS (Debian, Ubuntu: libopenblas0), or set GGEMM_CBLAS to a CBLAS library's file, for faster f32 and f64 on the CPU; an older one may not know this processor, and be told of one that is like it by OPENBLAS_CORETYPE");
    const std::string problem = engine.disk().problem();
    report("cache", problem.empty() && !engine.disk().folder().empty(), false, engine.disk().folder().empty() ? (problem.empty() ? "memory only" : problem) : engine.disk().folder(),
           "set GGEMM_CACHE_DIR to a folder that only you may write to, so that kernels are compiled once");
  });
}

ggemm_status ggemm_cache_visit(ggemm_context* context, ggemm_cache_fn function, void* user) {
  return api::guard([&] {
    if (!function) core::fail(GGEMM_ERROR_ARGUMENT, "function is NULL");
    for (const auto& listing : api::required(context, "context").engine.disk().list()) {
      const ggemm_cache_entry entry{sizeof(ggemm_cache_entry), listing.kind.c_str(), listing.key.c_str(), listing.path.c_str(), listing.maker.c_str(), listing.bytes, listing.last_used};
      function(user, &entry);
    }
  });
}

ggemm_status ggemm_cache_clear(ggemm_context* context, const char* nvrtc, size_t* out_removed) {
  return api::guard([&] {
    Engine& engine = api::required(context, "context").engine;
    if (nvrtc && !*nvrtc) core::fail(GGEMM_ERROR_ARGUMENT, "nvrtc is \"\", which is no version; NULL removes all entries");
    const size_t removed = engine.clear_cache(nvrtc);
    if (out_removed) *out_removed = removed;
  });
}

}  // extern "C"
