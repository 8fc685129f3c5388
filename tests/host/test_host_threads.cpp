// SPDX-License-Identifier: Apache-2.0
// The pool: every participant's work, exceptions, callers at the same time, forks.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "host/host_device.hpp"
#include "host/pool.hpp"
#include "host_case.hpp"
#include "support/child.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

// Large enough to be shared among threads.
HostCase shared_product(std::uint64_t seed) {
  HostCase x;
  x.m = 130, x.n = 140, x.k = 150, x.exact = true;
  x.allocate();
  Rng random(seed);
  for (HostMatrix* matrix : {&x.a, &x.b})
    for (std::int64_t i = 0; i < matrix->rows; ++i)
      for (std::int64_t j = 0; j < matrix->cols; ++j) matrix->set(i, j, static_cast<double>(random.between(-2, 2)));
  return x;
}

}  // namespace

TEST_CASE("pool: a shared counter is drained once, whoever turns up") {
  host::Pool pool(4, 1000);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> times(37);
    std::atomic<int> next{0};
    pool.run(4, [&](host::Scratch& scratch) {
      scratch.data()[999] = 1;
      for (int i; (i = next++) < 37;) ++times[static_cast<std::size_t>(i)];
    });
    int once = 0;
    for (const auto& count : times) once += count == 1;
    REQUIRE(once == 37);
  }
}

TEST_CASE("pool: participants have scratch memory of their own, aligned for vectors") {
  host::Pool pool(3, 100);
  std::mutex mutex;
  std::vector<char*> seen;
  std::atomic<int> arrived{0};
  pool.run(3, [&](host::Scratch& scratch) {
    {
      std::lock_guard lock(mutex);
      seen.push_back(scratch.data());
    }
    ++arrived;
    while (arrived < 3) std::this_thread::yield();  // all at once, so none can come twice
  });
  REQUIRE(seen.size() == 3);
  CHECK(seen[0] != seen[1]);
  CHECK(seen[1] != seen[2]);
  CHECK(seen[0] != seen[2]);
  for (char* data : seen) CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
}

TEST_CASE("pool: an exception comes back to the caller, and the pool goes on") {
  host::Pool pool(3, 64);
  CHECK_THROWS_AS(pool.run(3, [](host::Scratch&) { throw std::runtime_error("no"); }), std::runtime_error);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> worker_threw{false};
  CHECK_THROWS_AS(pool.run(2,
                           [&](host::Scratch&) {
                             if (std::this_thread::get_id() == caller) {
                               while (!worker_threw) std::this_thread::yield();
                               return;
                             }
                             worker_threw = true;
                             throw std::runtime_error("no");
                           }),
                  std::runtime_error);
  int runs = 0;
  pool.run(1, [&](host::Scratch&) { ++runs; });
  CHECK(runs == 1);
}

TEST_CASE("pool: there are as many workers as calls at once have had use for, and no more") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  // A thread that has been joined may be listed a moment longer.
  auto before = threads();
  for (int same = 0; same < 20; ++same) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (const auto now = threads(); now != before) before = now, same = 0;
  }
  host::Pool pool(64, 64);
  const auto all_at_once = [&](int participants) {
    std::atomic<int> arrived{0};
    pool.run(participants, [&](host::Scratch&) {
      ++arrived;
      while (arrived < participants) std::this_thread::yield();
    });
  };
  all_at_once(1);
  CHECK(threads() == before);
  all_at_once(3);
  CHECK(threads() == before + 2);
  all_at_once(5);
  all_at_once(2);
  CHECK(threads() == before + 4);
  // One within another, which leaves none of them without a worker of its own.
  std::atomic<bool> begun{false};
  pool.run(5, [&](host::Scratch&) {
    if (begun.exchange(true)) return;
    all_at_once(4);
  });
  CHECK(threads() <= before + 4 + 3);
}

TEST_CASE("host threads: callers at the same time, each with its own product") {
  const host::HostDevice device(3, "");
  std::vector<HostCase> products;
  for (std::uint64_t i = 0; i < 6; ++i) products.push_back(shared_product(i));
  std::vector<std::string> verdicts(products.size());
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < products.size(); ++i) {
    callers.emplace_back([&, i] {
      for (int round = 0; round < 20 && verdicts[i].empty(); ++round) {
        products[i].restore();
        device.run(products[i].type(), products[i].params());
        if (round % 10 == 0) verdicts[i] = products[i].judge();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::string& verdict : verdicts) CHECK(verdict == "");
}

TEST_CASE("host threads: a forked child computes with threads of its own, also when the parent's were busy") {
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer allows no threads in a forked child");
#endif
  const host::HostDevice device(3, "");
  HostCase x = shared_product(9);
  device.run(x.type(), x.params());
  REQUIRE(x.judge() == "");
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    HostCase other = shared_product(10);
    while (!stop) device.run(other.type(), other.params());
  });
  for (int i = 0; i < 10; ++i) {
    x.restore();
    const int result = wait_for(start_child([&] {
      ::alarm(60);
      device.run(x.type(), x.params());
      const bool right = x.judge().empty();
      return right ? 0 : 1;
    }));
    CHECK(result == 0);
  }
  stop = true;
  busy.join();
}

TEST_CASE("host threads: a device that is destroyed in a forked child leaves the parent's threads alone") {
  auto device = std::make_unique<host::HostDevice>(3, "");
  HostCase x = shared_product(11);
  device->run(x.type(), x.params());
  const int result = wait_for(start_child([&] {
    ::alarm(60);
    device.reset();
    return 0;
  }));
  CHECK(result == 0);
  x.restore();
  device->run(x.type(), x.params());
  CHECK(x.judge() == "");
}
