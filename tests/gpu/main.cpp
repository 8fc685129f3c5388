// SPDX-License-Identifier: Apache-2.0
// ggemm_gpu_capture: stream capture, products that follow one another, checked groups, concurrency, the caller's context and a soak, on a real GPU.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "checks.hpp"

namespace {

constexpr const char* help = R"(ggemm_gpu_capture: CUDA graphs, products that follow one another, checked groups, threads and streams, the caller's context, and all of it for a while, on a GPU.

  --ordinal N       CUDA device ordinal (0)
  --only TEXT       only checks whose name holds TEXT
  --shard I/N       the part of one of N processes; without the checks that no other process may disturb
  --alone           those alone
  --threads N       for the concurrency checks (8)
  --streams N       streams of each thread (8)
  --repeats N       runs on each stream (20)
  --small-repeats N the same of the small products that have a check of their own (1000)
  --soak-seconds N  of the soak, besides what it does once (5)
  --fill            check nothing: where there is no GPU, but the tests' driver, all kernels are compiled to the disk cache so
  --json FILE       results as JSON
Exit code: 0 if all is right, 1 if a check failed, 2 if the command line is wrong or there is no GPU.
)";

struct Arguments {
  int ordinal = 0, threads = 8, streams = 8, repeats = 20, small_repeats = 1000, soak_seconds = 5;
  int shard = 0, shards = 1;
  bool alone = false;
  std::string only, json;
};

using ggemm::tests::only_filling;

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    if (key == "--alone") {
      a.alone = true;
      continue;
    }
    if (key == "--fill") {
      only_filling = true;
      continue;
    }
    int* const number = key == "--ordinal"         ? &a.ordinal
                        : key == "--threads"       ? &a.threads
                        : key == "--streams"       ? &a.streams
                        : key == "--repeats"       ? &a.repeats
                        : key == "--small-repeats" ? &a.small_repeats
                        : key == "--soak-seconds"  ? &a.soak_seconds
                                                   : nullptr;
    std::string shard, *const text = key == "--only" ? &a.only : key == "--json" ? &a.json : key == "--shard" ? &shard : nullptr;
    if ((!number && !text) || i + 1 >= argc) {
      std::fprintf(stderr, "ggemm_gpu_capture: %s is not an option or lacks its value (see --help)\n", key.c_str());
      std::exit(2);
    }
    ++i;
    if (number)
      *number = std::atoi(argv[i]);
    else
      *text = argv[i];
    if (text == &shard && (std::sscanf(shard.c_str(), "%d/%d", &a.shard, &a.shards) != 2 || a.shard < 0 || a.shard >= a.shards)) {
      std::fprintf(stderr, "ggemm_gpu_capture: --shard %s is not I/N with I below N (see --help)\n", shard.c_str());
      std::exit(2);
    }
  }
  return a;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char ch : text) {
    if (ch == '"' || ch == '\\') out += '\\';
    out += static_cast<unsigned char>(ch) < 0x20 ? ' ' : ch;
  }
  return out + "\"";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ggemm::tests;
  const Arguments arguments = parse(argc, argv);
  try {
    cuda::use_device(arguments.ordinal);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ggemm_gpu_capture: %s\n", e.what());
    return 2;
  }
  if (!cuda::driver().cuMemMap || !cuda::driver().cuGraphGetNodes || !cuda::driver().cuMemGetInfo_v2) {
    std::fprintf(stderr, "ggemm_gpu_capture: this driver lacks mapped memory, nodes of graphs or the count of free memory\n");
    return 2;
  }
  std::vector<Check> checks = capture_checks(arguments.ordinal);
  for (Check& check : chain_checks(arguments.ordinal)) checks.push_back(std::move(check));
  for (Check& check : group_checks(arguments.ordinal)) checks.push_back(std::move(check));
  for (Check& check : concurrency_checks(arguments.ordinal, arguments.threads, arguments.streams, arguments.repeats, arguments.small_repeats))
    checks.push_back(std::move(check));
  for (Check& check : soak_checks(arguments.ordinal, arguments.threads, arguments.soak_seconds)) checks.push_back(std::move(check));
  std::string json = "{\n  \"checks\": [";
  int run = 0, failed = 0;
  int place = 0;
  for (const Check& check : checks) {
    if (check.name.find(arguments.only) == std::string::npos) continue;
    if (arguments.alone ? !check.alone : arguments.shards > 1 && (check.alone || place++ % arguments.shards != arguments.shard)) continue;
    const auto begin = std::chrono::steady_clock::now();
    std::string what;
    figures.clear();
    try {
      check.run();
    } catch (const std::exception& e) {
      what = e.what();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%-6s %6.2f s  %s\n", !what.empty() ? "FAILED" : only_filling ? "filled" : "ok", seconds, check.name.c_str());
    if (what.empty() && !figures.empty()) std::printf("  %s\n", figures.c_str());
    if (!what.empty()) std::printf("  %s\n  repeat: ggemm_gpu_capture --only '%s'\n", what.c_str(), check.name.c_str());
    std::fflush(stdout);
    char time[32];
    std::snprintf(time, sizeof time, "%.2f", seconds);
    json += std::string(run ? "," : "") + "\n    {\"name\": " + json_string(check.name) + ", \"ok\": " + (what.empty() ? "true" : "false") +
            ", \"seconds\": " + time + ", \"figures\": " + json_string(figures) + ", \"what\": " + json_string(what) + "}";
    ++run;
    failed += !what.empty();
  }
  std::printf("%d checks, %d failed\n", run, failed);
  json += "\n  ]\n}\n";
  if (!arguments.json.empty()) {
    std::FILE* file = std::fopen(arguments.json.c_str(), "w");
    if (!file || std::fputs(json.c_str(), file) < 0 || std::fclose(file) != 0) {
      std::fprintf(stderr, "ggemm_gpu_capture: cannot write %s\n", arguments.json.c_str());
      return 2;
    }
  }
  return failed > 0 || run == 0 ? 1 : 0;
}
