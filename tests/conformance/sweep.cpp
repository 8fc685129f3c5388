// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "support/cuda.hpp"

namespace ggemm::tests {
namespace {

// What each thread is at, for a program that is ended from outside or by a crash.
char lines[64][512];
std::atomic<unsigned> lines_taken = 0;
thread_local char* const line = lines[lines_taken++ % 64];

void say(const char* text) { (void)!write(STDOUT_FILENO, text, strlen(text)); }

void on_crash(int signal) {
  say("\nFAILED: a crash (an access to an unmapped page?) in this case; repeat it with\n  ");
  say(line), say("\n");
  _exit(128 + signal);
}

void on_end(int signal) {
  say("\nFAILED: ended from outside, while this was under way (a product that takes a minute hangs):\n");
  for (const char* each : lines)
    if (*each) say("  "), say(each), say("\n");
  _exit(128 + signal);
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void set_line(const std::string& text) { std::snprintf(line, sizeof lines[0], "%s", text.c_str()); }

void install_handlers() {
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer's own report says more.
  return;
#endif
  struct sigaction action{};
  action.sa_handler = on_crash;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  action.sa_handler = on_end;
  sigaction(SIGTERM, &action, nullptr);
}

Sweep::Sweep(const Options& options, ggemm_context* context, Tally& tally) : options_(options), context_(context), tally_(tally) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int workers = options.workers > 0 ? options.workers : std::min(cores, 32);
  for (int i = 0; i < workers; ++i) sessions_.push_back(make_session());
}

std::unique_ptr<Session> Sweep::make_session() const {
  return std::make_unique<Session>(context_, options_.cuda ? cuda_memory(options_.ordinal, options_.exact_memory) : host_memory(), !options_.cuda);
}

void Sweep::parallel(std::int64_t count, double deadline, const std::function<void(Session&, std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  const auto loop = [&](Session& session) {
    if (options_.cuda) cuda::use_device(options_.ordinal);
    while (!broken_ && (deadline == 0 || now() < deadline)) {
      const std::int64_t i = next++;
      if (i >= count) break;
      work(session, i);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t w = 1; w < sessions_.size() && static_cast<std::int64_t>(w) < count; ++w) threads.emplace_back(loop, std::ref(*sessions_[w]));
  loop(*sessions_[0]);
  for (std::thread& t : threads) t.join();
}

void Sweep::judge(Session& session, const RowKey& row, Kind kind, const Case& input, const std::string& config, const std::string& repeat) {
  set_line(repeat);
  if (options_.only_case >= 0) std::printf("%s\n%s\n", config.empty() ? "the library's choice" : config.c_str(), input.text().c_str()), std::fflush(stdout);
  Outcome outcome;
  for (int i = 0; i < options_.repeats && outcome.verdict == Verdict::right; ++i) {
    outcome = session.run(input, config, check_options(options_.cuda ? row.family : "host", input.type, options_.work));
    if (outcome.verdict == Verdict::wrong && options_.repeats > 1) outcome.what += " (run " + std::to_string(i + 1) + " of " + std::to_string(options_.repeats) + ")";
  }
  set_line("");
  if (session.broken()) broken_ = true;
  if (outcome.verdict == Verdict::right) return tally_.passed(row, kind, input);
  if (outcome.verdict == Verdict::refused) return tally_.refused(row);
  tally_.failed(row, kind, {config, outcome.what, input.text(), repeat});
}

bool Sweep::prepare(const KernelClass& kernel, const KernelCase& first) {
  Call call;
  describe(first.input, call);
  call.force(first.config);
  const ggemm_problem problem = call.problem();
  set_line("compiling " + first.config + ": " + repeat_kernel_case(options_, kernel.number, 0));
  const ggemm_status prepared = ggemm_prepare(context_, &problem, 1, nullptr, nullptr);
  set_line("");
  if (!prepared) return true;
  tally_.failed(kernel.row, Kind::exact,
                {first.config, std::string("ggemm_prepare: ") + ggemm_last_error(), first.input.text(), repeat_kernel_case(options_, kernel.number, 0)});
  return false;
}

// Each worker prepares a kernel by itself and then runs its products, so that some compile while others run.
void Sweep::run_kernel(Session& session, const KernelPool& pool, std::int64_t number) {
  const auto kernel = pool.draw(number);
  if (!kernel) return;
  bool prepared = false;
  for (std::int64_t i = 0; i < options_.per_kernel && !broken_ && !(options_.until_wrong && tally_.failures() > 0); ++i) {
    if (options_.only_case >= 0 && i != options_.only_case) continue;
    const auto drawn = pool.draw_case(*kernel, i);
    if (!drawn) {
      tally_.unfit(kernel->row);
      continue;
    }
    if (!prepared && !prepare(*kernel, *drawn)) return;
    if (!prepared) tally_.kernel(kernel->row, kernel->config);
    prepared = true;
    const bool exact = drawn->input.values == Values::small || drawn->input.values == Values::full_i8;
    judge(session, kernel->row, exact ? Kind::exact : Kind::real, drawn->input, drawn->config, repeat_kernel_case(options_, number, i));
  }
}

void Sweep::kernels(const KernelPool& pool, double deadline) {
  const double begin = now();
  tally_.legal(pool.configurations());
  const std::int64_t first = options_.only_kernel >= 0 ? options_.only_kernel : options_.first_kernel + options_.shard;
  const std::int64_t count = options_.only_kernel >= 0 ? 1 : options_.kernel_count > 0 ? options_.kernel_count : INT64_MAX / options_.shards / 2;
  std::atomic<std::int64_t> begun = 0;
  parallel(count, deadline, [&](Session& session, std::int64_t i) {
    ++begun;
    run_kernel(session, pool, first + i * options_.shards);
  });
  next_kernel_ = options_.first_kernel + begun * options_.shards;
  tally_.add_seconds("kernels", now() - begin);
}

}  // namespace ggemm::tests
