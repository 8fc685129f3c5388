// SPDX-License-Identifier: Apache-2.0
// ggemm_conformance: see options.cpp for what it does.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>

#include "sweep.hpp"

namespace ggemm::tests {
namespace {

// What the library's log says of its kernels.
struct Compiles {
  std::atomic<int> kernels = 0, by_engine = 0, spilled = 0;
  std::atomic<std::int64_t> milliseconds = 0;
  static void receive(void* user, ggemm_log_level, const char* message) {
    Compiles& self = *static_cast<Compiles*>(user);
    double spent = 0;
    if (std::sscanf(message, "compiled %*s in %lf ms", &spent) == 1) {
      ++self.kernels, self.milliseconds += static_cast<std::int64_t>(spent);
      if (std::strstr(message, "_by_engine in ")) ++self.by_engine;
    }
    if (std::strstr(message, "bytes of local memory")) ++self.spilled;
  }
};

int run(const Options& options) {
  Compiles compiles;
  ggemm_context_options wanted = GGEMM_CONTEXT_OPTIONS_INIT;
  wanted.device = options.cuda ? GGEMM_DEVICE_CUDA : GGEMM_DEVICE_HOST;
  wanted.ordinal = options.ordinal;
  wanted.log = Compiles::receive;
  wanted.log_user = &compiles;
  ggemm_context* raw = nullptr;
  if (ggemm_context_create(&wanted, &raw)) {
    std::fprintf(stderr, "ggemm_conformance: no context: %s\n", ggemm_last_error());
    return 2;
  }
  const std::unique_ptr<ggemm_context, void (*)(ggemm_context*)> context(raw, ggemm_context_destroy);
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  if (ggemm_context_device(raw, &info)) {
    std::fprintf(stderr, "ggemm_conformance: %s\n", ggemm_last_error());
    return 2;
  }
  const double begin = now();
  const KernelPool pool(options, raw);
  if (options.list_families) {
    for (const std::string& family : pool.families()) std::printf("%s\n", family.c_str());
    return pool.empty() ? 1 : 0;
  }
  std::printf("ggemm %s on %s %s\n", ggemm_version_string(), info.name, info.arch);
  install_handlers();
  Tally tally(options.failures_shown);
  Tally::Run result;
  {
    Sweep sweep(options, raw, tally);
    const double deadline = options.budget > 0 ? begin + options.budget : 0;
    if (options.degenerate) sweep.degenerate(deadline);
    if (options.kernels && !sweep.broken() && !pool.empty()) sweep.kernels(pool, deadline);
    result.next_kernel = sweep.next_kernel();
  }
  result.device = info.name;
  result.seconds = now() - begin;
  result.compiled = compiles.kernels, result.by_engine = compiles.by_engine, result.spilled = compiles.spilled;
  result.compile_seconds = static_cast<double>(compiles.milliseconds) / 1e3;
  tally.print();
  std::printf("%lld products, %lld failed, %.1f s", static_cast<long long>(tally.total()), static_cast<long long>(tally.failures()), result.seconds);
  if (result.compiled > 0) std::printf("; %d kernels compiled, %d of them for calls by the copy engine alone, in %.1f s of all threads", result.compiled, result.by_engine, result.compile_seconds);
  if (options.kernels && options.only_kernel < 0) std::printf("; go on with --first-kernel %lld", static_cast<long long>(result.next_kernel));
  std::printf("\n");
  if (!options.json.empty()) tally.write_json(options.json, options, result);
  if (tally.total() == 0) std::printf("no case fits the options\n");
  return tally.failures() > 0 || tally.total() == 0 ? 1 : 0;
}

}  // namespace
}  // namespace ggemm::tests

int main(int argc, char** argv) {
  try {
    return ggemm::tests::run(ggemm::tests::parse_options(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ggemm_conformance: %s\n", e.what());
    return 2;
  }
}
