// SPDX-License-Identifier: Apache-2.0
// The disk cache when system calls fail, and when many processes use it and are killed.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "core/disk_support.hpp"
#include "core/io.hpp"
#include "support/child.hpp"
#include "support/disk_faults.hpp"

using namespace ggemm;
using namespace ggemm::tests;
namespace fs = std::filesystem;

namespace {

// Everything that the cache does; false if it gave back something that was never written.
bool use(const core::Disk& disk, bool& all_kept) {
  bool right = true;
  const auto expect = [&](const char* key, const std::string& body) {
    const auto entry = disk.read("cubin", key);
    if (entry && (entry->body != body || entry->maker != "13.5")) right = false;
    if (!entry) all_kept = false;
  };
  const std::string large(3000, 'x');
  all_kept &= disk.write("cubin", "a", "body of a", "13.5");
  expect("a", "body of a");
  all_kept &= disk.write("cubin", "a", large, "13.5");
  if (const auto entry = disk.read("cubin", "a"); entry && entry->body != large && entry->body != "body of a") right = false;
  all_kept &= disk.write("cubin", "b", "body of b", "13.5");
  expect("b", "body of b");
  for (const auto& listed : disk.list())
    if (listed.kind != "cubin" || listed.maker != "13.5") right = false;
  disk.remove("cubin", "b");
  disk.clear("13.0");
  return right;
}

}  // namespace

TEST_CASE("disk faults: any call may fail with any error, once or from then on, and the next use works") {
  int calls = 0;
  {
    Cache cache;
    const DiskFaults none(0, 0, 0);
    const core::Disk disk(cache.options, cache.warnings.log());
    bool kept = true;
    REQUIRE(use(disk, kept));
    REQUIRE(kept);
    calls = DiskFaults::calls();
  }
  REQUIRE(calls > 60);
  for (const int error : disk_errors) {
    for (const int count : {1, 1 << 30}) {
      for (int first = 0; first < calls; ++first) {
        INFO("error " << error << " (" << std::strerror(error) << ") at call " << first << (count == 1 ? "" : " and all later ones"));
        Cache cache;
        {
          const DiskFaults faults(first, count, error);
          Warnings warnings;
          const core::Disk disk(cache.options, warnings.log());
          bool kept = true;
          REQUIRE(use(disk, kept));
        }
        const core::Disk after(cache.options, cache.warnings.log());
        REQUIRE(after.write("cubin", "b", "again", "13.5"));
        REQUIRE(after.read("cubin", "b")->body == "again");
        for (const auto& listed : after.list()) REQUIRE(listed.maker == "13.5");
      }
    }
  }
}

TEST_CASE("disk faults: a write that fails says so and leaves no temporary") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "first", "body", ""));
  int failed = 0;
  for (int first = 0; first < 8; ++first) {  // the calls of a write, up to its rename
    bool written = false;
    {
      const DiskFaults faults(first, 1, ENOSPC);
      written = cache.disk.write("cubin", "key", "body", "");
    }
    INFO("call " << first);
    if (!written) failed++;
    CHECK(names_in(cache.options.folder).size() == (fs::exists(cache.file("key")) ? 2u : 1u));
    CHECK(cache.disk.read("cubin", "key").has_value() == written);
    cache.disk.remove("cubin", "key");
  }
  CHECK(failed == 7);  // all but the check of the folder, which opens it again: openat, fchmod, write, write, fsync, close, renameat
  CHECK(cache.warnings.mention("No space left on device"));
}

TEST_CASE("disk faults: short reads and writes change nothing") {
  for (const std::size_t transfer : {1u, 7u, 100u}) {
    Cache cache;
    const DiskFaults faults(0, 0, 0, transfer);
    const core::Disk disk(cache.options, cache.warnings.log());
    bool kept = true;
    CHECK(use(disk, kept));
    CHECK(kept);
    CHECK(cache.warnings.count() == 0);
  }
}

TEST_CASE("disk faults: a file that ends while it is read is a miss, and a write that makes no headway is given up") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  core::io::set_fault([](const char*, std::size_t* bytes) { return *bytes = 0, 0; });
  const bool found = cache.disk.read("cubin", "key").has_value(), written = cache.disk.write("cubin", "other", "body", "");
  core::io::set_fault(nullptr);
  CHECK_FALSE(found);
  CHECK_FALSE(written);
  CHECK(cache.warnings.mention("cannot be read"));
  CHECK(cache.disk.read("cubin", "key")->body == "body");
  CHECK(names_in(cache.options.folder).size() == 1);
}

TEST_CASE("disk faults: threads of one process share a cache") {
  TempFolder parent;
  Warnings warnings;
  const core::Disk disk({parent / "cache", "", 20000}, warnings.log());  // small, so that they evict each other's entries
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const int key = (i * 7 + t) % 40;
        const std::string name = std::to_string(key), body(static_cast<std::size_t>(500 + key), static_cast<char>('A' + key));
        const auto entry = disk.read("cubin", name);
        if (entry ? entry->body != body : !disk.write("cubin", name, body, "")) wrong++;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(warnings.count() == 0);
  std::uint64_t bytes = 0;
  for (const auto& listed : disk.list()) bytes += listed.bytes;
  CHECK(bytes <= 20000 + 4 * 1000);  // writers that overlap may each pass the limit by their own entry
}

namespace {

int number_from(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value ? std::atoi(value) : otherwise;
}

std::string body_of(int key) {
  std::mt19937 random(static_cast<unsigned>(key));
  std::string out(200 + random() % 4000, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

// Looks up all keys in an order of its own and writes those that are missing. 0: all was right.
int worker(const core::DiskOptions& options, int keys, unsigned seed) {
  Warnings warnings;
  const core::Disk disk(options, warnings.log());
  std::vector<int> order(static_cast<std::size_t>(keys));
  for (int i = 0; i < keys; ++i) order[static_cast<std::size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  for (const int key : order) {
    const std::string name = "key " + std::to_string(key);
    if (const auto entry = disk.read("cubin", name)) {
      if (entry->body != body_of(key) || entry->maker != "13.5") return 1;
    } else if (!disk.write("cubin", name, body_of(key), "13.5")) {
      return 2;
    }
  }
  return warnings.count() == 0 ? 0 : 3;  // a torn entry would have been reported
}

}  // namespace

TEST_CASE("disk under load: processes that are killed at random leave no torn entry, no error and no temporary") {
  const int processes = number_from("GGEMM_DISK_PROCESSES", 64), keys = number_from("GGEMM_DISK_KEYS", 1000);
  const unsigned seed = static_cast<unsigned>(number_from("GGEMM_SEED", static_cast<int>(std::random_device()() & 0x7fffffff)));
  INFO("again: GGEMM_SEED=" << seed << " GGEMM_DISK_PROCESSES=" << processes << " GGEMM_DISK_KEYS=" << keys
                            << " ggemm_test_core \"disk under load*\"");
  std::mt19937 random(seed);
  TempFolder parent;
  const core::DiskOptions options{parent / "cache", "", std::uint64_t(1) << 30};
  std::vector<pid_t> running;
  const auto start = [&] {
    const unsigned own = static_cast<unsigned>(random());
    running.push_back(start_child([&] { return worker(options, keys, own); }));
  };
  for (int i = 0; i < processes; ++i) start();
  int killed = 0;
  for (int round = 0; round < 3 * processes; ++round) {
    ::usleep(static_cast<useconds_t>(random() % 20000));
    const std::size_t victim = random() % running.size();
    ::kill(running[victim], SIGKILL);
    const int result = wait_for(running[victim]);
    if (result == 128 + SIGKILL) killed++;
    CHECK((result == 0 || result == 128 + SIGKILL));
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(victim));
    start();
  }
  for (const pid_t child : running) CHECK(wait_for(child) == 0);
  CHECK(killed > 0);
  Warnings warnings;
  const core::Disk disk(options, warnings.log());
  CHECK(disk.list().size() == static_cast<std::size_t>(keys));
  REQUIRE(disk.write("cubin", "last", "body", "13.5"));  // the first write of an object sweeps
  CHECK(names_in(options.folder).size() == static_cast<std::size_t>(keys) + 1);
  CHECK(warnings.count() == 0);
}
