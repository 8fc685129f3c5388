// SPDX-License-Identifier: Apache-2.0
// Every call of every operation failing once, and the caller's current context throughout.
#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "machine.hpp"

using namespace ggemm;
using namespace ggemm::test;

namespace {

// An operation of the layer, from an open device to nothing left.
struct Operation {
  const char* name;
  std::function<void(const cuda::Device&)> work;
};

// Streams and events of a test give themselves back when an operation fails half-way.
struct OwnStream {
  explicit OwnStream(const cuda::Device& device) : device(device), handle(device.create_stream()) {}
  ~OwnStream() { device.destroy_stream(handle); }
  const cuda::Device& device;
  void* handle;
};
struct OwnEvent {
  explicit OwnEvent(const cuda::Device& device) : device(device), handle(device.create_event()) {}
  ~OwnEvent() { device.destroy_event(handle); }
  const cuda::Device& device;
  void* handle;
};

const std::array operations{
    Operation{"capturing", [](const cuda::Device& device) { device.capturing(nullptr); }},
    Operation{"load", [](const cuda::Device& device) { device.load(fake::make_cubin(90, {"k"}), "k", 128, 100 * 1024); }},
    Operation{"launch",
              [](const cuda::Device& device) {
                const cuda::Kernel kernel = device.load(fake::make_cubin(90, {"k"}), "k", 128, 0);
                int parameter = 0;
                void* list[] = {&parameter};
                device.launch(kernel, 1, nullptr, list);
              }},
    Operation{"stream",
              [](const cuda::Device& device) {
                const OwnStream stream(device);
                device.synchronize(stream.handle);
              }},
    Operation{"buffer",
              [](const cuda::Device& device) {
                const cuda::Buffer buffer(device, 100, nullptr);
                char bytes[100] = {};
                device.fill(buffer.data(), 0, 100, nullptr);
                device.copy_to_device(buffer.data(), bytes, 100, nullptr);
                device.copy_to_host(bytes, buffer.data(), 100, nullptr);
              }},
    Operation{"events",
              [](const cuda::Device& device) {
                const OwnEvent begin(device), end(device);
                device.record(begin.handle, nullptr);
                device.record(end.handle, nullptr);
                device.milliseconds(begin.handle, end.handle);
              }},
};

void run(const Operation& operation) {
  const cuda::Device device(0, nullptr, {});
  operation.work(device);
}

// Calls whose failure is not an error to the caller: they give something back.
bool releases(const std::string& function) {
  static const std::set<std::string> names{"cuDevicePrimaryCtxRelease", "cuCtxPopCurrent", "cuModuleUnload", "cuStreamDestroy", "cuEventDestroy",
                                           "cuMemFree", "cuMemFreeAsync", "cuThreadExchangeStreamCaptureMode"};
  return names.contains(function);
}

// Whether call number `nth` was on the way to giving something back: entering the context, as every operation does, and then a release.
bool leads_to_release(long nth) {
  const std::set<std::string> entering{"cuCtxGetCurrent", "cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode"};
  for (long i = nth - 1; const char* name = driver().call_name(i); ++i)
    if (!entering.contains(name)) return releases(name) && std::string(name) != "cuCtxPopCurrent";
  return false;
}

// The caller's thread in one of three situations.
enum class Current { none, other, ours };
struct Caller {
  Current situation;
  Machine machine{{90, 90}};
  void *ours = make_context(0), *other = make_context(1);
  explicit Caller(Current situation) : situation(situation) {
    set_current(nullptr);  // takes the second off the stack; the first is left
    set_current(situation == Current::none ? nullptr : situation == Current::ours ? ours : other);
  }
  void* expected() const { return situation == Current::none ? nullptr : situation == Current::ours ? ours : other; }
  void check_untouched() const {
    CHECK(current_context() == expected());
    CHECK(driver().context_depth() == (expected() ? 1 : 0));
    CHECK(driver().capture_mode() == 0);
  }
};

}  // namespace

TEST_CASE("Each driver call that fails once gives a typed error in the driver's words, leaks nothing and leaves the device usable") {
  const Machine machine;
  run(operations[0]);  // loads the driver, where no test has before; those calls are not meant here
  for (const bool pools : {true, false}) {
    for (const Operation& operation : operations) {
      const auto prepare = [&] {
        driver().reset();
        driver().set_attribute(0, 115, pools);
      };
      prepare();
      run(operation);
      const long calls = driver().calls(nullptr);
      REQUIRE(calls > 10);
      for (long nth = 1; nth <= calls; ++nth) {
        prepare();
        driver().fail(nullptr, nth, unknown_error, 1);
        std::string text;
        ggemm_status status = GGEMM_OK;
        try {
          run(operation);
        } catch (const core::Error& error) {
          text = error.text();
          status = error.status();
        }
        const std::string function = driver().call_name(nth - 1);
        INFO(operation.name << (pools ? "" : " without memory pools") << ": call " << nth << " of " << calls << ", " << function << ": " << text);
        REQUIRE(driver().clear_failures() == 1);
        if (status == GGEMM_OK) {
          CHECK((releases(function) || leads_to_release(nth)));
        } else {
          CHECK((status == GGEMM_ERROR_LAUNCH || status == GGEMM_ERROR_DEVICE));
          CHECK(contains(text, function));
          CHECK(contains(text, "CUDA_ERROR_UNKNOWN (unknown error)"));
        }
        driver().wait();
        machine.check_clean();
        REQUIRE_NOTHROW(run(operation));
        driver().wait();
        machine.check_clean();
      }
    }
  }
}

TEST_CASE("A driver that fails for ever after some call gives an error, ends no process and leaks nothing that it would still take") {
  const Machine machine;
  run(operations[0]);  // loads the driver, where no test has before; those calls are not meant here
  for (const Operation& operation : operations) {
    driver().reset();
    run(operation);
    const long calls = driver().calls(nullptr);
    for (long nth = 1; nth <= calls; ++nth) {
      driver().reset();
      driver().fail(nullptr, nth, illegal_address, -1);
      bool failed = false;
      try {
        run(operation);
      } catch (const core::Error&) {
        failed = true;
      }
      const std::string function = driver().call_name(nth - 1);
      INFO(operation.name << ": from call " << nth << " of " << calls << " on, " << function);
      CHECK((failed || releases(function) || function == "cuCtxGetCurrent" || function == "cuCtxPushCurrent"));
      driver().clear_failures();
      CHECK(driver().live("context") == 0);
      CHECK(driver().context_depth() == 0);
      CHECK(driver().capture_mode() == 0);
    }
  }
}

TEST_CASE("A failure has the status that its result means") {
  Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    const auto status_when = [&](const char* function, int result, auto&& work) {
      driver().fail(function, 1, result, 1);
      const ggemm_status status = error_of(work).status();
      REQUIRE(driver().clear_failures() == 1);
      return status;
    };
    const auto load = [&] { device.load(fake::make_cubin(90, {"k"}), "k", 128, 0); };
    const auto allocate = [&] { cuda::Buffer(device, 100, nullptr); };
    CHECK(status_when("cuModuleLoadData", 2, load) == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(status_when("cuModuleLoadData", 200, load) == GGEMM_ERROR_LAUNCH);
    CHECK(status_when("cuModuleLoadData", 900, load) == GGEMM_ERROR_NOT_PREPARED);
    CHECK(status_when("cuModuleLoadData", 214, load) == GGEMM_ERROR_DEVICE);
    CHECK(status_when("cuMemAllocAsync", 2, allocate) == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(status_when("cuMemAllocAsync", 700, allocate) == GGEMM_ERROR_LAUNCH);
    CHECK(status_when("cuStreamSynchronize", 719, [&] { device.synchronize(nullptr); }) == GGEMM_ERROR_LAUNCH);
  }
  machine.check_clean();
}

TEST_CASE("An error without a name in the driver's tables is still reported by its number") {
  Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    driver().fail("cuStreamSynchronize", 1, 4321, 1);
    CHECK(error_of([&] { device.synchronize(nullptr); }).text() == "cuStreamSynchronize: CUDA error 4321");
    driver().fail("cuStreamSynchronize", 1, 999, 1);
    driver().fail("cuGetErrorName", 1, 999, 1);
    CHECK(error_of([&] { device.synchronize(nullptr); }).text() == "cuStreamSynchronize: CUDA error 999 (unknown error)");
    driver().clear_failures();
  }
  machine.check_clean();
}

TEST_CASE("The caller's current context is as it was after every operation, whether it succeeds or fails") {
  for (const Current situation : {Current::none, Current::other, Current::ours}) {
    for (const Operation& operation : operations) {
      Caller caller(situation);
      const cuda::Device device(0, caller.ours, {});
      caller.check_untouched();
      const long before = driver().calls(nullptr);
      operation.work(device);
      const long calls = driver().calls(nullptr) - before;
      caller.check_untouched();
      for (long nth = 1; nth <= calls; ++nth) {
        driver().fail(nullptr, nth, unknown_error, 1);
        try {
          operation.work(device);
        } catch (const core::Error&) {
        }
        INFO(operation.name << ": call " << nth << " of " << calls);
        REQUIRE(driver().clear_failures() == 1);
        caller.check_untouched();
      }
    }
  }
}

TEST_CASE("Opening and closing a device leaves the caller's current context as it was") {
  for (const Current situation : {Current::none, Current::other, Current::ours}) {
    Caller caller(situation);
    {
      const cuda::Device primary(0, nullptr, {});
      caller.check_untouched();
      const cuda::Device given(0, caller.ours, {});
      caller.check_untouched();
    }
    caller.check_untouched();
  }
}
