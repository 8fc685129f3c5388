// SPDX-License-Identifier: Apache-2.0
// ggemm_conformance: see options.cpp for what it does.
#include <cstdio>
#include <exception>

#include "sweep.hpp"

namespace ggemm::tests {
namespace {

struct Part {
  std::string mode;
  bool grouped;
};

std::vector<Part> parts_of(const Options& options) {
  std::vector<Part> parts;
  for (const std::string& mode : options.modes) {
    if (mode == "degenerate") {
      parts.push_back({mode, false});
      continue;
    }
    if (options.plain) parts.push_back({mode, false});
    if (options.grouped) parts.push_back({mode, true});
  }
  return parts;
}

void run_part(Sweep& sweep, const Options& options, const Part& part, double deadline) {
  if (part.mode == "degenerate") return sweep.degenerate(deadline);
  if (part.mode == "configs") return sweep.configurations(part.grouped, deadline);
  const Mode mode = part.mode == "exact" ? Mode::exact : part.mode == "real" ? Mode::real : Mode::guard;
  sweep.random(mode, part.grouped, part.grouped ? options.grouped_cases : options.cases, deadline);
}

int run(const Options& options) {
  ggemm_context_options wanted = GGEMM_CONTEXT_OPTIONS_INIT;
  wanted.device = options.cuda ? GGEMM_DEVICE_CUDA : GGEMM_DEVICE_HOST;
  wanted.ordinal = options.ordinal;
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
  std::printf("ggemm %s on %s %s\n", ggemm_version_string(), info.name, info.arch);
  install_crash_handler();
  Tally tally(options.failures_shown);
  const double begin = now();
  {
    Sweep sweep(options, raw, tally);
    const std::vector<Part> parts = parts_of(options);
    for (std::size_t i = 0; i < parts.size() && !sweep.broken(); ++i) {
      const double share = options.time_limit > 0 ? (begin + options.time_limit - now()) / static_cast<double>(parts.size() - i) : 0;
      run_part(sweep, options, parts[i], options.time_limit > 0 ? now() + share : 0);
    }
  }
  const double seconds = now() - begin;
  tally.print();
  std::printf("%lld cases, %lld failed, %.1f s\n", static_cast<long long>(tally.total()), static_cast<long long>(tally.failures()), seconds);
  if (!options.json.empty()) tally.write_json(options.json, info.name, options, seconds);
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
