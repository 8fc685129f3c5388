// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/single_flight.hpp"

using Cache = ggemm::core::SingleFlight<std::string, int>;

namespace {

void until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

}  // namespace

TEST_CASE("single flight: a value is made once and then found") {
  Cache cache;
  int made = 0;
  CHECK(cache.find("a") == nullptr);
  const auto first = cache.get("a", [&] { return ++made; });
  const auto second = cache.get("a", [&] { return ++made; });
  CHECK(*first == 1);
  CHECK(first == second);
  CHECK(cache.find("a") == first);
  CHECK(made == 1);
  CHECK(cache.size() == 1);
}

TEST_CASE("single flight: a maker may return a shared pointer") {
  Cache cache;
  const auto own = std::make_shared<const int>(7);
  CHECK(cache.get("a", [&] { return own; }) == own);
}

TEST_CASE("single flight: callers of one key wait for one maker") {
  Cache cache;
  std::atomic<int> made{0}, asked{0};
  std::vector<std::shared_ptr<const int>> values(8);
  std::vector<std::thread> threads;
  for (auto& value : values)
    threads.emplace_back([&] {
      asked++;
      value = cache.get("a", [&] {
        while (asked < 8) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the others reach the wait
        return ++made;
      });
    });
  for (auto& thread : threads) thread.join();
  CHECK(made == 1);
  for (const auto& value : values) CHECK(value == values[0]);
}

TEST_CASE("single flight: another key is not held up, nor is find") {
  Cache cache;
  std::atomic<bool> started{false}, release{false};
  std::thread slow([&] {
    cache.get("slow", [&] {
      started = true;
      until(release);
      return 1;
    });
  });
  until(started);
  CHECK(*cache.get("quick", [] { return 2; }) == 2);
  CHECK(cache.find("slow") == nullptr);
  release = true;
  slow.join();
  CHECK(*cache.find("slow") == 1);
}

TEST_CASE("single flight: all who waited get the maker's error, and the next call tries again") {
  Cache cache;
  std::atomic<bool> started{false}, release{false};
  std::atomic<int> failures{0}, made{0};
  const auto failing = [&]() -> int {
    made++;
    started = true;
    until(release);
    throw std::runtime_error("no");
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      try {
        cache.get("a", failing);
      } catch (const std::runtime_error& error) {
        if (std::string(error.what()) == "no") failures++;
      }
    });
  until(started);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  release = true;
  for (auto& thread : threads) thread.join();
  CHECK(failures == 4);
  CHECK(made >= 1);
  CHECK(cache.find("a") == nullptr);
  CHECK(*cache.get("a", [] { return 5; }) == 5);
}

TEST_CASE("single flight: a value that was being made when the cache was cleared reaches its caller but is not kept") {
  Cache cache;
  cache.get("old", [] { return 1; });
  std::atomic<bool> started{false}, release{false};
  std::shared_ptr<const int> value;
  std::thread slow([&] {
    value = cache.get("a", [&] {
      started = true;
      until(release);
      return 3;
    });
  });
  until(started);
  cache.clear();
  CHECK(cache.find("old") == nullptr);
  CHECK(*cache.get("a", [] { return 4; }) == 4);  // does not wait for the forgotten flight
  release = true;
  slow.join();
  CHECK(*value == 3);
  CHECK(*cache.find("a") == 4);
}

TEST_CASE("single flight: a maker may ask for another key") {
  Cache cache;
  const auto outer = cache.get("outer", [&] { return *cache.get("inner", [] { return 20; }) + 1; });
  CHECK(*outer == 21);
  CHECK(*cache.find("inner") == 20);
}
