// SPDX-License-Identifier: Apache-2.0
// What a service does, for a while: results must stay what they were, and memory too.
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <tuple>

#include "checks.hpp"
#include "graph.hpp"

namespace ggemm::tests {
namespace {

constexpr std::int64_t mebi = 1 << 20;
// What the driver keeps for itself comes and goes, of the device in pieces of 32 MiB (its pools). A leak of every call or context is more within seconds, one of few only in a long run.
constexpr std::int64_t device_may_grow = 64 * mebi, host_may_grow = 32 * mebi;

// Bytes in use: of the whole device, and of this process's memory.
struct Used {
  std::int64_t device = 0, host = 0;
};

Used memory_in_use() {
  malloc_trim(0);  // what the allocator has free is not in use
  std::size_t free = 0, total = 0;
  cuda::check(cuda::driver().cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  long long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  const bool read = file && std::fscanf(file, "%*s %lld", &pages) == 1;
  if (file) std::fclose(file);
  if (!read) wrong("/proc/self/statm cannot be read");
  return {static_cast<std::int64_t>(total - free), pages * sysconf(_SC_PAGESIZE)};
}

// Products whose operands lie in the same memory, by turns.
using Subject = std::vector<Case>;

// Plain ones with and without terms and copies, groups with records and without, of other sizes each time. Few, as their kernels are compiled first.
std::vector<Subject> subjects() {
  std::vector<Subject> out;
  for (const Kind& kind : kinds(false))
    if (kind.name == "bf16" || kind.name == "e4m3" || kind.name == "f32x3")
      out.push_back({repeatable_case(kind.type, {{129, 190, 317}}), repeatable_case(kind.type, {{64, 256, 512}})});
  for (const Kind& kind : kinds(true)) {
    if (kind.name == "bf16, grouped")
      out.push_back({repeatable_case(kind.type, {{200, 120, 300}, {0, 90, 40}, {33, 257, 129}}), repeatable_case(kind.type, {{1, 64, 512}, {70, 31, 77}, {64, 64, 64}}),
                     repeatable_case(kind.type, {{0, 64, 64}, {0, 0, 0}, {150, 200, 100}})});
    if (kind.name == "e4m3, grouped")
      out.push_back({uniform_case(kind.type, {{40, 256, 384}, {0, 256, 384}, {90, 256, 384}}), uniform_case(kind.type, {{0, 256, 384}, {130, 256, 384}, {7, 256, 384}})});
  }
  return out;
}

class Soak {
 public:
  Soak(int ordinal, int threads) : ordinal_(ordinal), context_(ordinal), subjects_(subjects()), lanes_(static_cast<std::size_t>(threads)) {
    for (auto& lanes : lanes_)
      for (std::size_t s = 0; s < subjects_.size(); ++s) lanes.push_back(std::make_unique<Loaded>(ordinal));
  }

  // Each thread does everything once; each begins elsewhere, so that they compile different kernels.
  void everything() {
    const std::size_t each = most_cases * ways;
    by_threads([&](std::size_t thread) {
      for (std::size_t i = 0; i < subjects_.size() * each; ++i) {
        const std::size_t s = (i / each + thread) % subjects_.size(), number = i / ways % most_cases;
        if (number < subjects_[s].size()) step(thread, s, number, static_cast<Way>(i % ways));
      }
    });
  }

  void at_random(double seconds, std::uint64_t seed) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    by_threads([&](std::size_t thread) {
      Rng rng(mix(seed, thread));
      while (std::chrono::steady_clock::now() < end) {
        const std::size_t s = rng.below(subjects_.size());
        step(thread, s, rng.below(subjects_[s].size()), rng.pick({one_call, one_call, one_call, plan, plan, graph, graph, own_context}));
      }
    });
  }

  // When all is done, as pools give back what is free when a stream is waited for.
  Used in_use() {
    for (auto& lanes : lanes_)
      for (auto& lane : lanes) lane->memory().wait();
    return memory_in_use();
  }

  std::string counts() const {
    return std::to_string(calls_) + " calls, " + std::to_string(plans_) + " plans, " + std::to_string(graphs_) + " graphs, " + std::to_string(contexts_) + " contexts";
  }

 private:
  enum Way { one_call, plan, graph, own_context };
  static constexpr std::size_t ways = 4, most_cases = 3;

  void by_threads(const std::function<void(std::size_t)>& work) {
    std::mutex mutex;
    std::string fault;
    std::vector<std::thread> pool;
    for (std::size_t t = 0; t < lanes_.size(); ++t)
      pool.emplace_back([&, t] {
        try {
          cuda::use_device(ordinal_);
          work(t);
        } catch (const std::exception& e) {
          const std::lock_guard lock(mutex);
          if (fault.empty()) fault = e.what();
        }
      });
    for (std::thread& t : pool) t.join();
    if (!fault.empty()) wrong(fault);
  }

  void step(std::size_t thread, std::size_t subject, std::size_t number, Way way) {
    const Case& c = subjects_[subject][number];
    Loaded& lane = *lanes_[thread][subject];
    const Key key{subject, number, way};
    if (way == own_context) {
      Loaded fresh(ordinal_);  // memory and a stream of its own as well
      fresh.load(c);
      {
        GpuContext context(ordinal_);
        run(fresh, context.get(), 2);
        fresh.memory().wait();
      }
      ++contexts_;
      return compare(fresh, key);
    }
    lane.load(c);
    if (way == one_call) run(lane, context_.get(), 4);
    if (way == plan) by_plan(lane);
    if (way == graph) by_graph(lane);
    compare(lane, key);
  }

  void run(Loaded& loaded, ggemm_context* context, int times) {
    for (int i = 0; i < times; ++i) loaded.run(context);
    calls_ += times;
  }

  void by_plan(Loaded& lane) {
    Call& call = lane.call();
    ggemm_plan* raw = nullptr;
    expect_ok(call.is_grouped ? ggemm_plan_create_grouped(context_.get(), &call.grouped, &raw) : ggemm_plan_create(context_.get(), &call.gemm, &raw), "creating a plan");
    const std::unique_ptr<ggemm_plan, void (*)(ggemm_plan*)> made(raw, ggemm_plan_destroy);
    for (int i = 0; i < 4; ++i)
      expect_ok(call.is_grouped ? ggemm_plan_run_grouped(raw, &call.grouped_args, lane.stream()) : ggemm_plan_run(raw, &call.gemm_args, lane.stream()), "running a plan");
    lane.memory().wait();
    calls_ += 4, ++plans_;
  }

  // Captured so that other threads may allocate meanwhile.
  void by_graph(Loaded& lane) {
    constexpr int thread_local_mode = 1;
    run(lane, context_.get(), 2);  // what is captured must be loaded, and have its workspace
    Graph captured(lane.stream(), thread_local_mode, [&] { lane.run(context_.get()); });
    for (int i = 0; i < 4; ++i) captured.replay();
    lane.memory().wait();
    calls_ += 4, ++graphs_;
  }

  // Right the first time, and the same bytes ever after, whatever thread, stream and context they come from.
  using Key = std::tuple<std::size_t, std::size_t, Way>;
  void compare(Loaded& loaded, const Key& key) {
    Bytes d = loaded.result();
    const std::lock_guard lock(mutex_);
    Bytes& first = first_[key];
    if (first.empty()) {
      loaded.verify();
      first = std::move(d);
    } else {
      const auto [subject, number, way] = key;
      constexpr const char* by[] = {"one call", "a plan", "a graph", "a context of its own"};
      expect(d == first, std::string("other bytes than the first time, by ") + by[way] + ": " + subjects_[subject][number].text());
    }
  }

  int ordinal_;
  GpuContext context_;
  std::vector<Subject> subjects_;
  std::vector<std::vector<std::unique_ptr<Loaded>>> lanes_;  // a thread's, one a subject
  std::mutex mutex_;
  std::map<Key, Bytes> first_;
  std::atomic<std::int64_t> calls_ = 0, plans_ = 0, graphs_ = 0, contexts_ = 0;
};

std::string grown(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f MiB", static_cast<double>(bytes) / static_cast<double>(mebi));
  return text;
}

void soak(int ordinal, int threads, int seconds) {
  Soak work(ordinal, threads);
  work.everything();
  work.at_random(seconds / 4.0, 1);  // until all that is kept for so much at once is there
  const Used before = work.in_use();
  work.at_random(seconds * 3 / 4.0, 2);
  const Used after = work.in_use();
  figures = work.counts() + "; device " + grown(after.device - before.device) + ", host " + grown(after.host - before.host) + " of " + grown(after.host).substr(1);
  expect(after.device - before.device <= device_may_grow && after.host - before.host <= host_may_grow, "memory has grown: " + figures);
}

}  // namespace

std::vector<Check> soak_checks(int ordinal, int threads, int seconds) {
  return {{"soak, " + std::to_string(threads) + " threads, " + std::to_string(seconds) + " s", [=] { soak(ordinal, threads, seconds); }, true}};
}

}  // namespace ggemm::tests
