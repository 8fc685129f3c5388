// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "support/cuda.hpp"
#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

thread_local char crash_line[512];

void on_crash(int signal) {
  static const char text[] = "\nFAILED: a crash (an access to an unmapped page?) in this case; repeat it with\n  ";
  (void)!write(STDOUT_FILENO, text, sizeof text - 1);
  (void)!write(STDOUT_FILENO, crash_line, strlen(crash_line));
  (void)!write(STDOUT_FILENO, "\n", 1);
  _exit(128 + signal);
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string dtype_label(const CaseType& type) { return type.compute == GGEMM_COMPUTE_TF32 ? "tf32" : type.a == type.b ? name_of(type.a) : "mixed"; }

void set_crash_line(const std::string& line) { std::snprintf(crash_line, sizeof crash_line, "%s", line.c_str()); }

void install_crash_handler() {
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer's own report says more.
  return;
#endif
  struct sigaction action{};
  action.sa_handler = on_crash;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

Sweep::Sweep(const Options& options, ggemm_context* context, Tally& tally) : options_(options), context_(context), tally_(tally) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int workers = options.workers > 0 ? options.workers : std::min(cores, 16);
  for (int i = 0; i < workers; ++i)
    sessions_.push_back(
        std::make_unique<Session>(context, options.cuda ? cuda_memory(options.ordinal, options.exact_memory) : host_memory(), !options.cuda));
}

Drawing Sweep::drawing(Mode mode, bool grouped) const {
  Drawing d;
  d.seed = options_.seed;
  d.mode = mode;
  d.grouped = grouped;
  d.per_class = options_.per_class;
  d.tf32 = options_.dtype == "tf32";
  if (!options_.dtype.empty() && !d.tf32) d.dtype = dtype_of(options_.dtype.c_str());
  d.work = options_.work;
  return d;
}

void Sweep::parallel(std::size_t count, double deadline, const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto loop = [&](std::size_t worker) {
    if (options_.cuda) cuda::use_device(options_.ordinal);
    for (std::size_t i = next++; i < count && !broken_ && (deadline == 0 || now() < deadline); i = next++) work(worker, i);
  };
  std::vector<std::thread> threads;
  for (std::size_t w = 1; w < std::min(sessions_.size(), count); ++w) threads.emplace_back(loop, w);
  loop(0);
  for (std::thread& t : threads) t.join();
}

// Picks one of the legal configurations by the case's own choice: first a family, then one of its configurations, so that small families get their
// share.
std::optional<Job> Sweep::choose(Case input, const std::string& mode, std::int64_t number) {
  Job job{std::move(input), "", "", mode, number, ""};
  try {
    Call call;
    describe(job.input, call);
    const std::vector<Configuration> all = legal_configurations(context_, call);
    std::vector<std::string> families, names;
    for (const Configuration& c : all)
      if ((options_.family == "any" || c.family == options_.family) && std::find(families.begin(), families.end(), c.family) == families.end())
        families.push_back(c.family);
    if (!options_.config.empty()) {
      for (const Configuration& c : all)
        if (c.name == options_.config) job.config = c.name, job.family = c.family;
      return job.config.empty() ? std::nullopt : std::optional(std::move(job));
    }
    if (families.empty() && options_.family != "any") return std::nullopt;
    if (families.empty()) throw std::runtime_error("no configuration is legal");
    const double scaled = job.input.config_choice * static_cast<double>(families.size());
    job.family = families[static_cast<std::size_t>(scaled)];
    for (const Configuration& c : all)
      if (c.family == job.family) names.push_back(c.name);
    std::sort(names.begin(), names.end());  // the library's order depends on the sizes; cases of one class are to share a kernel
    tally_.legal(names);
    job.config = names[static_cast<std::size_t>((scaled - std::floor(scaled)) * static_cast<double>(names.size()))];
  } catch (const std::exception& e) {
    job.refused = e.what();
  }
  return job;
}

void Sweep::prepare(const std::vector<Job>& jobs) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<ggemm_problem> problems;
  for (const Job& job : jobs) {
    if (!job.refused.empty()) continue;
    calls.push_back(std::make_unique<Call>());
    describe(job.input, *calls.back());
    calls.back()->force(job.config);
    problems.push_back(calls.back()->problem());
  }
  // A failure shows again in the case that it belongs to.
  if (!problems.empty() && ggemm_prepare(context_, problems.data(), problems.size(), nullptr, nullptr))
    std::printf("ggemm_prepare: %s\n", ggemm_last_error());
}

void Sweep::run_one(Session& session, const Job& job) {
  const std::string label = dtype_label(job.input.type), repeat = repeat_command(options_, job.mode, job.input.type.grouped, job.number);
  const std::string mode = job.mode + (job.input.type.grouped ? ", grouped" : "");
  set_crash_line(repeat);
  CheckOptions check;
  check.sums_flush_denormals = job.family == "sm80";
  check.smallest_operand = job.family == "sm80" && job.input.type.a == GGEMM_F16 ? 0x1p-14 : 0;
  check.work = std::max(options_.work * 2, 1e6);
  const auto wrong = job.refused.empty() ? session.run(job.input, job.config, check) : std::optional(job.refused);
  if (session.broken()) broken_ = true;
  if (wrong)
    tally_.failed(job.family, label, mode, {mode, job.config, *wrong, job.input.text(), repeat});
  else
    tally_.passed(job.family, label, mode, job.config);
}

void Sweep::run(std::vector<Job>& jobs, double deadline) {
  if (options_.cuda) prepare(jobs);
  parallel(jobs.size(), deadline, [&](std::size_t worker, std::size_t i) { run_one(*sessions_[worker], jobs[i]); });
  jobs.clear();
}

void Sweep::random(Mode mode, bool grouped, std::int64_t count, double deadline) {
  const Drawing from = drawing(mode, grouped);
  const double begin = now();
  const std::int64_t first = options_.only_case >= 0 ? options_.only_case : 0, end = options_.only_case >= 0 ? first + 1 : count;
  // On CUDA a chunk brings several compiles for each core.
  const std::int64_t chunk = options_.cuda ? 16 * options_.per_class : 512;
  for (std::int64_t at = first; at < end && !broken_ && (deadline == 0 || now() < deadline); at += chunk) {
    const std::size_t size = static_cast<std::size_t>(std::min(chunk, end - at));
    std::vector<std::optional<Job>> drawn(size);
    parallel(size, 0, [&](std::size_t, std::size_t i) {
      const std::int64_t number = at + static_cast<std::int64_t>(i);
      drawn[i] = choose(draw_case(from, static_cast<std::uint64_t>(number)), mode_name(mode), number);
    });
    std::vector<Job> jobs;
    for (auto& job : drawn)
      if (job) jobs.push_back(std::move(*job));
    run(jobs, deadline);
  }
  tally_.add_seconds(std::string(mode_name(mode)) + (grouped ? ", grouped" : ""), now() - begin);
}

}  // namespace ggemm::tests
