// SPDX-License-Identifier: Apache-2.0
// Many threads and streams on one context, and what the library must leave alone in the caller's thread.
#include <cstdio>
#include <thread>

#include "checks.hpp"

namespace ggemm::tests {
namespace {

using cuda::check;
using cuda::driver;

std::uint64_t hash_of(const Bytes& bytes) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const unsigned char byte : bytes) h = (h ^ byte) * 0x100000001b3ull;
  return h;
}

Case stressed(const CaseType& type, std::int64_t k = 517) {
  return repeatable_case(type, type.grouped ? std::vector<Size>{{200, 120, 300}, {0, 90, 40}, {33, 257, 129}, {64, 64, 512}, {1, 300, 77}} : std::vector<Size>{{257, 300, k}});
}
// Of which D is read back, and compared, in no more time than a launch takes.
Case small_case(const CaseType& type, std::int64_t k = 517) {
  return repeatable_case(type, type.grouped ? std::vector<Size>{{70, 40, 300}, {0, 90, 40}, {33, 57, 129}, {1, 70, 77}} : std::vector<Size>{{70, 90, k}});
}

// Every thread has streams of its own and the same operands; results must be the same bits every time, and right.
void one_hash(int ordinal, const Kind& kind, int threads, int streams, int repeats, bool small) {
  GpuContext context(ordinal);
  for (const auto& [family, config] : families(context.get(), stressed(kind.type))) {
    const bool cuts = config.find("_kt") != std::string::npos;  // nothing of a small product
    const auto sized = small ? small_case : stressed;
    const Case c = !cuts ? sized(kind.type, 517) : kind.type.grouped ? uniform_case(kind.type, {{40, 384, 2816}, {0, 384, 2816}, {20, 384, 2816}}) : sized(kind.type, 9000);
    const int compiled = context.compiled();
    std::mutex mutex;
    std::vector<std::string> faults;
    std::vector<std::uint64_t> hashes;
    const auto work = [&] {
      try {
        std::vector<std::unique_ptr<Loaded>> lanes;
        for (int s = 0; s < streams; ++s) {
          lanes.push_back(std::make_unique<Loaded>(ordinal));
          lanes.back()->load(c);
          lanes.back()->call().force(config);
        }
        Bytes expected;
        for (int round = 0; round < repeats; ++round) {
          for (auto& lane : lanes) lane->run(context.get());
          for (auto& lane : lanes) {
            Bytes d = lane->result();
            if (expected.empty()) {
              lane->verify();
              expected = std::move(d);
            } else if (d != expected) {
              wrong(config + ": two runs differ");
            }
          }
        }
        std::lock_guard lock(mutex);
        hashes.push_back(hash_of(expected));
      } catch (const std::exception& e) {
        std::lock_guard lock(mutex);
        faults.push_back(e.what());
      }
    };
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) pool.emplace_back(work);
    for (std::thread& t : pool) t.join();
    if (!faults.empty()) wrong(faults[0]);
    for (const std::uint64_t h : hashes) expect(h == hashes[0], config + ": threads got different bits");
    // All threads asked for the same kernel at once.
    // The product's kernel, and one that copies operands that tensor maps cannot describe; of groups also the one that prepares them, and another product's.
    expect(context.compiled() - compiled <= 4, config + " was compiled " + std::to_string(context.compiled() - compiled) + " times");
  }
}

// Calls leave the thread's current context as it was: none, or another one.
void context_is_left_alone(int ordinal) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  const Kind kind = kinds(false)[0];
  loaded.load(stressed(kind.type));
  Call& call = loaded.call();
  const ggemm_problem problem = call.problem();
  void* own = nullptr;
  check(driver().cuCtxGetCurrent(&own), "cuCtxGetCurrent");
  void* second = nullptr;
  check(driver().cuCtxCreate_v2(&second, 0, ordinal), "cuCtxCreate");
  // It came on top of ours: take both off the stack, so that setting none below leaves none.
  for (int depth = 0; depth < 2; ++depth) check(driver().cuCtxSetCurrent(nullptr), "cuCtxSetCurrent");
  for (void* current : {static_cast<void*>(nullptr), second, own}) {
    const auto unchanged = [&](const char* what) {
      void* now = nullptr;
      check(driver().cuCtxGetCurrent(&now), "cuCtxGetCurrent");
      expect(now == current, std::string(what) + " changed the thread's current context");
    };
    check(driver().cuCtxSetCurrent(current), "cuCtxSetCurrent");
    {
      GpuContext another(ordinal);
      unchanged("ggemm_context_create");
      expect_ok(ggemm_gemm(another.get(), &call.gemm, &call.gemm_args, loaded.stream()), "a first call");
      unchanged("a first ggemm_gemm");
      expect_ok(ggemm_gemm(another.get(), &call.gemm, &call.gemm_args, loaded.stream()), "a warm call");
      unchanged("a warm ggemm_gemm");
      ggemm_plan* plan = nullptr;
      expect_ok(ggemm_plan_create(another.get(), &call.gemm, &plan), "ggemm_plan_create");
      unchanged("ggemm_plan_create");
      expect_ok(ggemm_plan_run(plan, &call.gemm_args, loaded.stream()), "ggemm_plan_run");
      unchanged("ggemm_plan_run");
      ggemm_plan_destroy(plan);
      expect_ok(ggemm_prepare(another.get(), &problem, 1, nullptr, nullptr), "ggemm_prepare");
      unchanged("ggemm_prepare");
      call.gemm.d.dtype = static_cast<ggemm_dtype>(99);
      expect(ggemm_gemm(another.get(), &call.gemm, &call.gemm_args, loaded.stream()) == GGEMM_ERROR_ARGUMENT, "a wrong dtype was taken");
      call.gemm.d.dtype = kind.type.d;
      unchanged("a call that fails");
      ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
      tune.budget_seconds = 0.5;
      expect_ok(ggemm_tune(another.get(), &problem, &tune, nullptr), "ggemm_tune");
      unchanged("ggemm_tune");
      cuda::use_device(ordinal);
      loaded.memory().wait();
      check(driver().cuCtxSetCurrent(current), "cuCtxSetCurrent");
    }
    unchanged("ggemm_context_destroy");
  }
  check(driver().cuCtxSetCurrent(own), "cuCtxSetCurrent");
  check(driver().cuCtxDestroy_v2(second), "cuCtxDestroy");
  loaded.verify();
}

// Contexts made and destroyed give their memory back.
void memory_is_given_back(int ordinal) {
  Loaded loaded(ordinal);
  loaded.load(stressed(kinds(false)[0].type));
  std::size_t free_before = 0, free_after = 0, total = 0;
  for (int round = 0; round < 12; ++round) {
    {
      GpuContext context(ordinal);
      loaded.run(context.get());
      loaded.memory().wait();
    }
    // What the driver keeps for itself it keeps after the first rounds.
    if (round == 3) check(driver().cuMemGetInfo_v2(&free_before, &total), "cuMemGetInfo");
  }
  check(driver().cuMemGetInfo_v2(&free_after, &total), "cuMemGetInfo");
  expect(free_after + (std::size_t(8) << 20) >= free_before,
         "8 contexts kept " + std::to_string((free_before - free_after) >> 20) + " MiB of the device");
}

}  // namespace

std::vector<Check> concurrency_checks(int ordinal, int threads, int streams, int repeats, int small_repeats) {
  std::vector<Check> out;
  const auto add = [&](const Kind& kind, bool small) {
    const int times = small ? small_repeats : repeats;
    out.push_back({std::to_string(threads) + " threads x " + std::to_string(streams) + " streams x " + std::to_string(times) + " repeats, one hash: " + kind.name + (small ? ", small" : ""),
                   [=] { one_hash(ordinal, kind, threads, streams, times, small); }});
  };
  for (const bool grouped : {false, true})
    for (const Kind& kind : kinds(grouped)) {
      add(kind, false);
      if (kind.type.a == GGEMM_BF16) add(kind, true);
    }
  out.push_back({"the caller's current context is left alone", [=] { context_is_left_alone(ordinal); }});
  out.push_back({"contexts give their memory back", [=] { memory_is_given_back(ordinal); }, true});
  return out;
}

}  // namespace ggemm::tests
