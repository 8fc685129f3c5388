// SPDX-License-Identifier: Apache-2.0
// Every call of the driver and of NVRTC, and every allocation, failing in each thing that a user does: a typed error or a fallback, no leak (of host memory
// under the address sanitizer), D right or untouched, and the next try works.
#include <new>

#include "core/log.hpp"
#include "fake_nvrtc.hpp"
#include "scenarios.hpp"
#include "support/allocations.hpp"

namespace ggemm::tests {
namespace {

constexpr int out_of_memory = 2, unknown_error = 999;

Fault driver_fault(int result) {
  return {[] { return driver().calls(nullptr); }, [result](long nth) { driver().fail(nullptr, nth, result, 1); }, [] { return driver().clear_failures(); },
          [result](long index) {
            const char* const name = driver().call_name(index);
            return std::string(name ? name : "no call") + " with " + std::to_string(result);
          }};
}

Fault nvrtc_fault(int result) {
  return {[] { return nvrtc().calls(); }, [result](long nth) { nvrtc().fail(nullptr, nth, result, 1); }, [] { return nvrtc().clear_failures(); },
          [result](long) { return "a call of NVRTC with " + std::to_string(result); }};
}

// An allocation, and `more` after it; -1: all.
Fault allocation_fault(long more) {
  return {allocations, [more](long nth) { fail_allocations(nth, more < 0 ? -1 : 1 + more); }, clear_failed_allocations,
          [more](long) { return std::string(more ? "an allocation and all after it" : "an allocation"); }};
}

class CountsAllocations {
 public:
  CountsAllocations() { leave_out_allocations(driver().inside, nvrtc().inside); }
  ~CountsAllocations() { leave_out_allocations(nullptr, nullptr); }
};

}  // namespace

TEST_CASE("Each driver call of each scenario fails once: a typed error or a fallback, no leak, and the next try works") {
  fail_everywhere(scenarios, {driver_fault(out_of_memory), driver_fault(unknown_error)}, false);
}

TEST_CASE("The driver calls of a tuning fail once: a typed error or a fallback, no leak, and the next try works", "[slow]") {
  fail_everywhere(tunings, {driver_fault(out_of_memory), driver_fault(unknown_error)}, false);
}

TEST_CASE("Each call of NVRTC of each scenario fails once: a typed error or a fallback, no leak, and the next try works") {
  constexpr int compilation_failed = 6, internal_error = 11;
  fail_everywhere(scenarios, {nvrtc_fault(compilation_failed), nvrtc_fault(internal_error)}, true);
  fail_everywhere(tunings, {nvrtc_fault(compilation_failed)}, true);
}

TEST_CASE("Each allocation of each scenario fails, alone and with all after it: a typed error or a fallback, no leak, and the next try works") {
  const CountsAllocations counts;
  fail_everywhere(scenarios, {allocation_fault(-1), allocation_fault(0)}, false);
  fail_everywhere(host_scenarios, {allocation_fault(-1), allocation_fault(0)}, false);
}

TEST_CASE("The allocations of a tuning fail: a typed error or a fallback, no leak, and the next try works", "[slow]") {
  const CountsAllocations counts;
  fail_everywhere(tunings, {allocation_fault(0)}, false);
}

TEST_CASE("A line of the log for which there is no memory is left out, and fails nothing") {
  const std::string words(100, 'x');
  std::string line;
  const core::Log log([](void* user, ggemm_log_level, const char* told) { *static_cast<std::string*>(user) = told; }, &line, GGEMM_LOG_WARNING);
  fail_allocations(1, -1);
  bool threw = false;
  try {
    log.write(GGEMM_LOG_WARNING, "%s", words.c_str());
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  CHECK(clear_failed_allocations() > 0);
  CHECK((!threw && line.empty()));
  log.write(GGEMM_LOG_WARNING, "%s", words.c_str());
  CHECK(line == words);
}

TEST_CASE("An allocation that fails is reported as out of memory") {
  const TempFolder folder;
  Machine machine;
  {
    Stage stage(machine, folder.path(), GGEMM_FAKE_NVRTC);
    scenarios[1].before(stage);
    for (const char* function : {"cuMemAllocAsync", "cuMemAlloc"}) driver().fail(function, 1, out_of_memory, -1);
    CHECK(stage.tune(stage.plain) == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(driver().clear_failures() > 0);
    CHECK(stage.tune(stage.plain) == GGEMM_OK);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
